/**
 * Checks how names are spelled on disk. A file system that ignores case, or normalises, finds an entry by
 * several names. Only a listing of the directory shows the entry's real name.
 */

import { join } from "../../platform/native.js";
import type { Disk } from "../disk/disk.js";

/** Lists the names in a directory; empty if it does not exist. */
export const namesIn = async (disk: Disk, directory: string): Promise<ReadonlySet<string>> =>
  new Set((await disk.list(directory))?.map((entry) => entry.name));

/** Checks the spelling of names that the disk has found. */
export class Spelling {
  readonly #disk: Disk;
  /** True if the disk finds each entry by one name only; null before the first check. */
  #isExact: boolean | null = null;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /**
   * Returns true if an existing entry of a directory has exactly this spelling, case included. On a
   * case-sensitive disk, which is detected once, the answer comes at once.
   * @param names names in the directory, if the caller has them already
   */
  isExact(
    directory: string,
    name: string,
    names: () => Promise<ReadonlySet<string>> = () => namesIn(this.#disk, directory),
  ): true | Promise<boolean> {
    return this.#isExact === true || this.#lookFor(directory, name, names);
  }

  async #lookFor(
    directory: string,
    name: string,
    names: () => Promise<ReadonlySet<string>>,
  ): Promise<boolean> {
    const swapped = swapCase(name);
    if (this.#isExact === null && swapped !== name) {
      if ((await this.#disk.stat(join(directory, swapped))) === null) {
        // An entry that disappeared meanwhile shows nothing about the disk.
        if ((await this.#disk.stat(join(directory, name))) !== null) this.#isExact = true;
        return true;
      }
    }
    const present = await names();
    if (swapped !== name && present.has(name)) this.#isExact ??= present.has(swapped);
    return present.has(name);
  }
}

const swapCase = (name: string): string =>
  name.replace(/[A-Za-z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) ^ 0x20));

/**
 * Returns true if two paths lead to separate entries, neither of them equal to the other or inside it. The
 * paths are relative, with `/`; on some file systems, one may be equal to the other or contain it.
 */
export async function areApart(
  disk: Disk,
  directory: string,
  path: string,
  otherPath: string,
): Promise<boolean> {
  const names = path.split("/");
  const otherNames = otherPath.split("/");
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
