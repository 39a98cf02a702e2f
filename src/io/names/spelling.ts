/**
 * How names are spelled on disk. File systems that ignore case, and those that normalise, find an entry by
 * other names than the one it was made with. Only a list of the directory tells the entry's own name.
 */

import { join } from "node:path";
import type { Disk } from "../disk/disk.js";

/** Names of the direct entries of a directory; empty where there is no such directory. */
export const namesIn = async (disk: Disk, directory: string): Promise<ReadonlySet<string>> =>
  new Set((await disk.list(directory))?.map((entry) => entry.name));

/** Tells whether an entry that was found by a name has exactly that name. */
export class Spelling {
  readonly #disk: Disk;
  /** True if the disk finds nothing by another name; null until it is known. */
  #isExact: boolean | null = null;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /**
   * True if an entry that was found in a directory has exactly this spelling, case included. On a
   * case-sensitive disk, which is found out once, this costs nothing.
   * @param names the names in the directory, where they can be had more cheaply than by listing it
   */
  async isExact(
    directory: string,
    name: string,
    names: () => Promise<ReadonlySet<string>> = () => namesIn(this.#disk, directory),
  ): Promise<boolean> {
    if (this.#isExact === true) return true;
    const other = swapCase(name);
    if (this.#isExact === null && other !== name) {
      if ((await this.#disk.stat(join(directory, other))) === null) {
        // If the entry is gone by now, that tells nothing about the disk.
        if ((await this.#disk.stat(join(directory, name))) !== null) this.#isExact = true;
        return true;
      }
    }
    const present = await names();
    if (other !== name && present.has(name)) this.#isExact ??= present.has(other);
    return present.has(name);
  }
}

/** Swaps the case of each ASCII letter. */
const swapCase = (name: string): string =>
  name.replace(/[A-Za-z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) ^ 0x20));

/**
 * True if two paths lead to separate places, neither of them the same as the other or inside it. The paths
 * are relative, with `/`, and some file systems treat them, or one and the beginning of the other, as the
 * same.
 */
export async function areApart(disk: Disk, directory: string, path: string, other: string): Promise<boolean> {
  const names = path.split("/");
  const otherNames = other.split("/");
  const depth = names.findIndex((name, index) => name !== otherNames[index]);
  if (depth < 0 || depth >= otherNames.length) return false;
  const parent = join(directory, ...names.slice(0, depth));
  const present = await namesIn(disk, parent);
  if (present.has(names[depth]) && present.has(otherNames[depth])) return true;
  return (
    (await disk.stat(join(parent, names[depth]))) === null ||
    (await disk.stat(join(parent, otherNames[depth]))) === null
  );
}
