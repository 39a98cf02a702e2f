/**
 * Takes tables' directories away. A directory first gets a name that no listing shows, in one step:
 *
 *   rename to .tiltyard-dropping-…     out of everybody's way, and still whole; the name tells which one was meant
 *   look at what was moved             another table may have come to lie there since the caller looked: it goes back
 *   rename to .tiltyard-dropped-…      decided
 *   remove
 *
 * A directory that can't be renamed (of a lower layer of overlayfs; on Windows, one in which a file is open)
 * is hidden instead, and emptied where it is (droppedRecords.ts).
 *
 * The next removal also removes what a crash left of an earlier one. A directory whose removal was not
 * decided goes only after an hour, and only if it is the one that was meant.
 */

import { ageOfChangeMs } from "../../async/timers.js";
import { InternalError } from "../../errors.js";
import type { Disk, FileStat } from "../../io/disk/disk.js";
import { tellFailure } from "../../io/disk/diskErrors.js";
import { codeOf } from "../../io/disk/errno.js";
import { sha256 } from "../../io/names/sha256.js";
import { isUnmovable } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import { hideInPlace, isEmptied, isLink, type RemovalEnvironment, removeRecorded } from "./droppedRecords.js";
import { isDropped } from "./markers.js";

/** Start of the names that dropped tables' directories, and records of them, carry until they are gone. */
const DROPPED_PREFIX = ".tiltyard-dropped-";
/** Start of the names that directories carry before their removal is decided. */
const DROPPING_PREFIX = ".tiltyard-dropping-";
/** The whole of such a name: a table of another engine may have a name that merely begins like this. */
const DROPPED_NAME = /^\.tiltyard-(dropp(?:ed|ing))-[0-9a-f-]{36}(?:-([0-9a-f]{16}))?$/;
/** A directory whose removal began this many milliseconds ago goes: the process that began it is dead. */
const ABANDONED_MS = 60 * 60 * 1000;

/**
 * True if a directory holds what the caller means to remove; asked while it can still be put back.
 * @param stat of the directory, from a moment ago
 */
export type IsDoomed = (directory: string, stat?: FileStat) => Promise<boolean>;

const always: IsDoomed = async () => true;

/**
 * Makes a directory vanish, durably; false where there is no doomed one, or it is hidden already.
 * {@link sweepDropped} frees the space.
 */
export async function takeAway(
  environment: RemovalEnvironment,
  directory: string,
  isDoomed: IsDoomed = always,
): Promise<boolean> {
  const { disk, root, handles } = environment;
  // Windows does not rename a directory in which a file is open.
  handles.evict(directory);
  // Judged by the same stat, so that the signature can't be that of a directory which replaced the doomed
  // one.
  const seen = await disk.stat(directory);
  if (seen === null || !(await isDoomed(directory, seen))) return false;
  const id = crypto.randomUUID();
  const birthNs = seen.birthNs === seen.changedNs ? UNKNOWN : seen.birthNs;
  const moved = join(root, `${DROPPING_PREFIX}${id}-${signatureOf(seen.inode, birthNs)}`);
  try {
    await disk.rename(directory, moved);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    // The renaming of a link would have moved the link; its target is somebody else's.
    if (!isUnmovable(error) || (await isLink(disk, root, directory))) throw error;
    return hideInPlace(environment, directory, join(root, DROPPED_PREFIX + id), isDoomed);
  }
  try {
    if (await isDoomed(moved)) {
      await disk.rename(moved, join(root, DROPPED_PREFIX + id));
      await disk.syncDirectory(root);
      return true;
    }
  } catch (error) {
    // If it can't be put back either, the directory is gone, and is removed for good when it is swept.
    await putBack(disk, moved, directory).catch(() => undefined);
    throw error;
  }
  await putBack(disk, moved, directory);
  return false;
}

/**
 * Puts a directory back. One that somebody made in its place gives way if it is empty; else it is a table of
 * its own by now, and stays.
 */
async function putBack(disk: Disk, moved: string, directory: string): Promise<void> {
  if ((await disk.stat(moved)) === null) return;
  await disk.removeEmptyDirectory(directory);
  if ((await disk.stat(directory)) === null) await disk.rename(moved, directory);
}

/**
 * Takes away a directory that is no table's any more, in any way that is sure to work. {@link sweepDropped}
 * frees the space.
 * @throws InternalError where there is no such way: the directory stays, and the caller has to say so
 */
export async function discardDirectory(
  environment: RemovalEnvironment,
  directory: string,
  isDoomed: IsDoomed = always,
): Promise<void> {
  const { disk, root } = environment;
  let cause: unknown = null;
  try {
    if (await takeAway(environment, directory, isDoomed)) return;
  } catch (error) {
    cause = error;
    const record = join(root, DROPPED_PREFIX + crypto.randomUUID());
    try {
      const isHidden =
        !(await isLink(disk, root, directory)) &&
        (await hideInPlace(environment, directory, record, isDoomed));
      if (isHidden) return;
    } catch {
      // The failure to move the directory tells more.
    }
  }
  if ((await disk.stat(directory)) === null || (await isDropped(disk, directory))) return;
  if (!(await isDoomed(directory))) return;
  if ((await disk.removeEmptyDirectory(directory)) || (await isEmptied(disk, directory))) return;
  const reason = cause === null ? "it is hidden as that of a deregistered table" : tellFailure(cause);
  throw new InternalError(`${directory} cannot be removed: ${reason}`, { cause });
}

/**
 * Removes what was taken away. The removal is decided by then, so a failure here does not fail the caller:
 * the next sweep tries again.
 */
export async function sweepDropped(environment: RemovalEnvironment): Promise<void> {
  const { disk, root } = environment;
  const entries = (await disk.list(root).catch(() => null)) ?? [];
  const removals: Promise<void>[] = [];
  for (const { name, kind } of entries) {
    const [, state, signature] = DROPPED_NAME.exec(name) ?? [];
    const path = join(root, name);
    if (state === "dropped" && kind === "file") removals.push(removeRecorded(environment, path));
    else if (state === "dropped" || (state === "dropping" && (await isAbandoned(disk, path, signature))))
      removals.push(disk.removeTree(path));
  }
  await Promise.allSettled(removals);
}

/**
 * True if a directory was moved long ago by a process that died before it decided, and is the one that was
 * meant. Another directory, which had come to lie there, stays: it is somebody's table, and can be given its
 * name back by hand.
 */
async function isAbandoned(disk: Disk, directory: string, signature: string | undefined): Promise<boolean> {
  const stat = await disk.stat(directory).catch(() => null);
  if (stat === null) return false;
  const own = [signatureOf(stat.inode, stat.birthNs), signatureOf(stat.inode, UNKNOWN)];
  if (signature !== undefined && !own.includes(signature)) return false;
  // A renaming changes the time of the directory's inode.
  return ageOfChangeMs(stat.changedNs) > ABANDONED_MS;
}

/** Stands for an unknown time of birth, in place of which some platforms give that of the last change. */
const UNKNOWN = 0n;

/** What tells a directory from another in the same place, short enough for a name. */
const signatureOf = (inode: string, birthNs: bigint): string => sha256(`${inode}-${birthNs}`).slice(0, 16);
