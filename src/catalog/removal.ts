/**
 * Taking tables' directories away. A directory first gets a name that no listing shows, in one step:
 *
 *   rename to .tiltyard-dropping-…     out of everybody's way, and still whole
 *   look at what was moved             another table may have come to lie there since the caller looked: it goes back
 *   rename to .tiltyard-dropped-…      decided
 *   remove
 *
 * What a crash leaves of it goes with the next one; what was not decided only after an hour.
 */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Disk } from "../io/disk.js";
import { codeOf } from "../io/errno.js";
import { isUnmovable } from "../io/publish.js";
import { type DirectoryIdentity, isSameDirectory } from "../table/identity.js";

/** Start of the names that dropped tables' directories carry until they are gone. */
const DROPPED_PREFIX = ".tiltyard-dropped-";
/** Start of the names that they carry before that is decided. */
const DROPPING_PREFIX = ".tiltyard-dropping-";
/** All of such a name: what merely begins so may be a table that another engine made. */
const DROPPED_NAME = /^\.tiltyard-(dropp(?:ed|ing))-[0-9a-f-]{36}$/;
/** A directory whose dropping was begun so long ago goes: who began it is dead. */
const ABANDONED_MS = 60 * 60 * 1000;

/**
 * Makes a directory vanish, durably; false where there is none that is doomed. Where it can't be renamed, it is removed
 * in place. {@link sweepDropped} frees the space.
 * @param isDoomed whether what lay under the path is what the caller means; looked at where it can still be put back
 */
export async function takeAway(
  disk: Disk,
  root: string,
  directory: string,
  isDoomed: (movedTo: string) => Promise<boolean> = async () => true,
): Promise<boolean> {
  const id = randomUUID();
  const moved = join(root, DROPPING_PREFIX + id);
  try {
    await disk.rename(directory, moved);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    if (!isUnmovable(error)) throw error;
    if (!(await isDoomed(directory))) return false;
    await disk.removeTree(directory);
    await disk.syncDirectory(root);
    return true;
  }
  if (!(await isDoomed(moved))) {
    await putBack(disk, moved, directory);
    return false;
  }
  await disk.rename(moved, join(root, DROPPED_PREFIX + id));
  await disk.syncDirectory(root);
  return true;
}

/** A directory that somebody made in its place is empty, or a table of its own by now: that one stays. */
async function putBack(disk: Disk, moved: string, directory: string): Promise<void> {
  await disk.removeEmptyDirectory(directory);
  if ((await disk.stat(directory)) === null) await disk.rename(moved, directory);
}

/** Looks whether a directory that was moved is the one that was seen before. */
export const isDirectory =
  (disk: Disk, seen: DirectoryIdentity | null) =>
  async (movedTo: string): Promise<boolean> => {
    const stat = await disk.stat(movedTo);
    return seen !== null && stat !== null && isSameDirectory(seen, stat);
  };

/**
 * Removes what was taken away. That is decided by then, so a failure here is not the caller's: the next one tries
 * again.
 */
export async function sweepDropped(disk: Disk, root: string): Promise<void> {
  const entries = (await disk.list(root).catch(() => null)) ?? [];
  const doomed: string[] = [];
  for (const { name } of entries) {
    const state = DROPPED_NAME.exec(name)?.[1];
    const path = join(root, name);
    if (state === "dropped" || (state === "dropping" && (await isAbandoned(disk, path)))) doomed.push(path);
  }
  await Promise.allSettled(doomed.map((path) => disk.removeTree(path)));
}

/** A renaming changes the time of the directory's inode. */
async function isAbandoned(disk: Disk, directory: string): Promise<boolean> {
  const stat = await disk.stat(directory).catch(() => null);
  return stat !== null && Date.now() - Number(stat.changedNs / 1_000_000n) > ABANDONED_MS;
}
