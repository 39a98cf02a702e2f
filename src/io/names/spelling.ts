/**
 * How names are spelled on disk. File systems that ignore case, and those that normalise, find an entry by other names
 * than the one it was made with. Only a list of the directory tells its own.
 */

import { join } from "node:path";
import type { Disk } from "../disk/disk.js";

/** Names of all that is directly in a directory; none where there is no such directory. */
export const namesIn = async (disk: Disk, directory: string): Promise<ReadonlySet<string>> =>
  new Set((await disk.list(directory))?.map((entry) => entry.name));

/** Tells whether what was found by a name has just that name. */
export class Spelling {
  readonly #disk: Disk;
  /** Whether the disk finds nothing by another name; null until it is known. */
  #isExact: boolean | null = null;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /**
   * Whether an entry that was found in a directory is spelled so, case included. On a disk that tells upper from lower
   * case, which is found out once, this costs nothing.
   * @param names what lies in the directory, if that is known at a smaller price than by listing it
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
        // That tells nothing of an entry that is gone by now.
        if ((await this.#disk.stat(join(directory, name))) !== null) this.#isExact = true;
        return true;
      }
    }
    const present = await names();
    if (other !== name && present.has(name)) this.#isExact ??= present.has(other);
    return present.has(name);
  }
}

/** The other case for each letter of ASCII. */
const swapCase = (name: string): string =>
  name.replace(/[A-Za-z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) ^ 0x20));

/**
 * Whether what one path leads to lies outside of all that another one leads to, and the other way round. The paths are
 * relative, with `/`, and some file systems take them, or the beginning of one for the other.
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
