/**
 * Taking tables' directories away. A directory first gets a name that no listing shows, in one step, and is then
 * removed; what a crash leaves of it goes with the next one.
 */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Disk } from "../io/disk.js";
import { codeOf } from "../io/errno.js";

/** Start of the names that dropped tables' directories carry until they are gone. */
const DROPPED_PREFIX = ".tiltyard-dropped-";
/** What Windows answers to the renaming of a directory in which a file is open. */
const OPEN_FILE_CODES: ReadonlySet<string | undefined> = new Set(["EPERM", "EACCES", "EBUSY"]);

/**
 * Makes a directory vanish, durably; false where there is none. Where Windows refuses the step because a file is
 * open, the directory is removed in place. {@link sweepDropped} frees the space.
 */
export async function takeAway(disk: Disk, root: string, directory: string): Promise<boolean> {
  try {
    await disk.rename(directory, join(root, DROPPED_PREFIX + randomUUID()));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    // Elsewhere the same codes mean that the caller may not, and must not lose files by trying.
    if (process.platform !== "win32" || !OPEN_FILE_CODES.has(codeOf(error))) throw error;
    await disk.removeTree(directory);
  }
  await disk.syncDirectory(root);
  return true;
}

/**
 * Removes what was taken away. That is decided by then, so a failure here is not the caller's: the next one tries
 * again.
 */
export async function sweepDropped(disk: Disk, root: string): Promise<void> {
  const entries = (await disk.list(root).catch(() => null)) ?? [];
  const leftovers = entries.filter((entry) => entry.name.startsWith(DROPPED_PREFIX));
  await Promise.allSettled(leftovers.map((entry) => disk.removeTree(join(root, entry.name))));
}
