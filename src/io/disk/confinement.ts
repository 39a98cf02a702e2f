/**
 * Confines steps to directories where the engine may work (admittedDirectories.ts). Every step that opens,
 * makes, renames or removes an entry goes through a confinement, with the directory of the entry. On the
 * local file system (localConfinement.ts), links may lead elsewhere. On disks without links, the text of a
 * path says where it leads.
 */

import { LruCache } from "../memory/cache.js";
import { type AdmittedDirectories, outside } from "./admittedDirectories.js";
import type { FileStat } from "./disk.js";
import { nullIfMissing } from "./errno.js";

/**
 * A step on the entries of one directory.
 * @param alias path that leads to the directory during the step
 * @param real path of the directory without links
 */
export type Step<T> = (alias: string, real: string) => T;

/** Maximum number of directories in the cache of {@link ConfirmedDirectories}. */
const MAX_CONFIRMED = 65_536;

export interface Confinement {
  readonly admitted: AdmittedDirectories;
  /** True if a step follows a link that appears right before it. */
  readonly mayFollow: boolean;
  /**
   * Makes a step in a directory, with synchronous calls.
   * @param expected path without links that the directory must have. Default: any admitted directory
   * @throws PermissionDeniedError if the directory lies elsewhere; the platform's error if it does not exist
   */
  withinNow<T>(directory: string, step: Step<T>, expected?: string): T;
  /** Like {@link withinNow}, with a step on the thread pool. */
  within<T>(directory: string, step: Step<Promise<T>>, expected?: string): Promise<T>;
  /** Makes no step in a directory, by the quickest way. Throws like {@link withinNow}. */
  confirm(directory: string): Promise<void>;
}

/** Confines steps on a disk without links: the text of a path says where it leads. */
export function confinedByText(admitted: AdmittedDirectories): Confinement {
  const check = (directory: string, expected: string | undefined): string => {
    const isRight = expected === undefined ? admitted.homeOf(directory) !== null : directory === expected;
    if (isRight) return directory;
    throw outside(directory);
  };
  return {
    admitted,
    mayFollow: false,
    withinNow: (directory, step, expected) => step(check(directory, expected), directory),
    within: async (directory, step, expected) => step(check(directory, expected), directory),
    confirm: async (directory) => void check(directory, undefined),
  };
}

/**
 * Checks that the engine may work in a directory. A missing directory passes, because it holds nothing.
 * @throws PermissionDeniedError
 */
export async function confirmDirectory(confinement: Confinement, directory: string): Promise<void> {
  await confinement.confirm(directory).catch(nullIfMissing);
}

/** Members that distinguish a directory from a later one under the same path. */
type Seen = Pick<FileStat, "inode" | "birthNs">;

/** Checks directories, and skips the check while a directory keeps its identity. */
export class ConfirmedDirectories {
  readonly #confinement: Confinement;
  /** Identity of each directory at its last check. */
  readonly #seen = new LruCache<Seen>(MAX_CONFIRMED);

  constructor(confinement: Confinement) {
    this.#confinement = confinement;
  }

  /**
   * Checks that the engine may work in a directory.
   * @param stat current stat of the directory
   * @returns undefined if the check is complete
   * @throws PermissionDeniedError
   */
  confirm(directory: string, { inode, birthNs }: Seen): Promise<void> | undefined {
    const seen = this.#seen.peek(directory);
    if (seen?.inode === inode && seen.birthNs === birthNs) return undefined;
    return confirmDirectory(this.#confinement, directory).then(() =>
      this.#seen.set(directory, { inode, birthNs }, 1),
    );
  }
}
