/** Disks with unusual directories, like those of a lower layer of overlayfs. */

import type { FileStat } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";

/** Refuses to rename directories. */
export class ImmovableDisk extends NodeDisk {
  /** Code of its errors. */
  code = "EXDEV";

  constructor() {
    super({ durability: "none" });
  }

  override async rename(from: string, to: string): Promise<void> {
    if ((await this.stat(from))?.kind !== "directory") return super.rename(from, to);
    throw Object.assign(new Error(`${this.code}: rename '${from}' -> '${to}'`), { code: this.code });
  }
}

/** Resets the birth time of an old directory at its first change. */
export class CopyingUpDisk extends NodeDisk {
  /** Birth of changed directories, by inode. */
  readonly #births = new Map<string, bigint>();
  readonly #changed = new Set<string>();
  readonly #immovable: boolean;

  constructor({ immovable }: { readonly immovable: boolean }) {
    super({ durability: "none" });
    this.#immovable = immovable;
  }

  override async rename(from: string, to: string): Promise<void> {
    const stat = await this.stat(from);
    if (stat?.kind === "directory" && this.#immovable) {
      throw Object.assign(new Error(`EXDEV: rename '${from}' -> '${to}'`), { code: "EXDEV" });
    }
    await super.rename(from, to);
    if (stat?.kind === "directory") this.#changed.add(stat.inode);
  }

  override async stat(path: string): Promise<FileStat | null> {
    const stat = await super.stat(path);
    if (stat?.kind !== "directory") return stat;
    const before = this.#births.get(stat.inode) ?? stat.changedNs;
    this.#births.set(stat.inode, before);
    if (stat.changedNs !== before) this.#changed.add(stat.inode);
    return { ...stat, birthNs: this.#changed.has(stat.inode) ? stat.birthNs + 1n : stat.birthNs };
  }
}
