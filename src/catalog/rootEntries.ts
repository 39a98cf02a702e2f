/**
 * The names in the namespace's directory, kept as long as they are the same: making, removing or renaming one
 * changes the directory's time. Times are coarse, so a list that was read right after a change is not kept.
 */

import type { Disk } from "../io/disk.js";

/** A change of the directory so shortly before its names were read may have a second one with the same time. */
const TIME_GRAIN_MS = 50;

export class RootEntries {
  readonly #disk: Disk;
  readonly #root: string;
  #kept: { readonly time: string; readonly names: ReadonlySet<string> } | null = null;

  constructor(disk: Disk, root: string) {
    this.#disk = disk;
    this.#root = root;
  }

  /** Names of all files and directories directly below the root. */
  async read(): Promise<ReadonlySet<string>> {
    const stat = await this.#disk.stat(this.#root);
    const time = stat === null ? "" : `${stat.modifiedNs} ${stat.changedNs} ${stat.identity}`;
    if (this.#kept?.time === time) return this.#kept.names;
    const readAtMs = Date.now();
    const names = new Set((await this.#disk.list(this.#root))?.map((entry) => entry.name));
    const isSettled = stat !== null && Number(stat.changedNs / 1_000_000n) + TIME_GRAIN_MS < readAtMs;
    this.#kept = isSettled ? { time, names } : null;
    return names;
  }
}
