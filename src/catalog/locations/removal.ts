/**
 * Removes the directories of tables. A directory is first renamed to a name that no listing shows:
 *
 *     rename to .tiltyard-dropping-…     hidden from all, and still whole; the name identifies the directory
 *     check the moved directory          another table may have replaced it: that one moves back
 *     rename to .tiltyard-dropped-…      decided
 *     remove
 *
 * A directory that cannot be renamed is hidden instead, and emptied in place (droppedRecords.ts). On
 * overlayfs these are directories of a lower layer; on Windows, those that contain an open file; and all
 * directories of a disk without renames.
 *
 * The next removal also removes what a crash left. A directory whose removal was not decided is removed only
 * after an hour, and only if its name identifies it.
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
import { isDropped } from "./markerChanges.js";

/** Prefix of dropped tables' directories, and of records of them, until they are removed. */
const DROPPED_PREFIX = ".tiltyard-dropped-";
/** Prefix of directories whose removal is not decided yet. */
const DROPPING_PREFIX = ".tiltyard-dropping-";
/** Pattern of whole names, because another engine's table may have a name with the same prefix. */
const DROPPED_NAME = /^\.tiltyard-(dropp(?:ed|ing))-[0-9a-f-]{36}(?:-([0-9a-f]{16}))?$/;
/** Milliseconds after which an undecided removal counts as dead. */
const ABANDONED_MS = 60 * 60 * 1000;

/**
 * Returns true if a directory is the one to remove; called while it can still be put back.
 * @param stat current stat of the directory
 */
export type IsDoomed = (directory: string, stat?: FileStat) => Promise<boolean>;

const always: IsDoomed = async () => true;

/**
 * Hides a directory durably; returns false if it does not exist, is not doomed or is hidden already.
 * {@link sweepDropped} frees the space.
 */
export async function takeAway(
  environment: RemovalEnvironment,
  directory: string,
  isDoomed: IsDoomed = always,
): Promise<boolean> {
  const { disk, root, handles } = environment;
  // Windows does not rename a directory that contains an open file.
  handles.evict(directory);
  // One stat serves the check and the signature, so that both concern the same directory.
  const seen = await disk.stat(directory);
  if (seen === null || !(await isDoomed(directory, seen))) return false;
  const id = crypto.randomUUID();
  if (disk.hasRename === false) {
    return hideInPlace(environment, directory, join(root, DROPPED_PREFIX + id), isDoomed);
  }
  const birthNs = seen.birthNs === seen.changedNs ? UNKNOWN : seen.birthNs;
  const moved = join(root, `${DROPPING_PREFIX}${id}-${signatureOf(seen.inode, birthNs)}`);
  try {
    await disk.rename(directory, moved);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    // Renaming would move a link, whose target belongs to somebody else.
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
    // If it cannot be put back, the directory stays hidden, and the next sweep removes it for good.
    await putBack(disk, moved, directory).catch(() => undefined);
    throw error;
  }
  await putBack(disk, moved, directory);
  return false;
}

/**
 * Puts a directory back. It replaces an empty directory in its place; a directory with content is a new
 * table.
 */
async function putBack(disk: Disk, moved: string, directory: string): Promise<void> {
  if ((await disk.stat(moved)) === null) return;
  await disk.removeEmptyDirectory(directory);
  if ((await disk.stat(directory)) === null) await disk.rename(moved, directory);
}

/**
 * Removes a directory that is not a table's any more, by any reliable means. {@link sweepDropped} frees the
 * space.
 * @throws InternalError if all means fail: the directory stays, and the caller must report it
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
  const reason = cause === null ? "it is hidden as a deregistered table's" : tellFailure(cause);
  throw new InternalError(`${directory} cannot be removed: ${reason}`, { cause });
}

/**
 * Removes hidden directories. Their removal is already decided, so a failure does not fail the caller: the
 * next sweep tries again.
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
 * Returns true if a process moved a directory long ago, died before it decided, and the directory is the one
 * that it meant. Any other directory stays: it is somebody's table, and can be renamed back by hand.
 */
async function isAbandoned(disk: Disk, directory: string, signature: string | undefined): Promise<boolean> {
  const stat = await disk.stat(directory).catch(() => null);
  if (stat === null) return false;
  const signatures = [signatureOf(stat.inode, stat.birthNs), signatureOf(stat.inode, UNKNOWN)];
  if (signature !== undefined && !signatures.includes(signature)) return false;
  // Renaming sets the directory's change time.
  return ageOfChangeMs(stat.changedNs) > ABANDONED_MS;
}

/** Stands for an unknown birth time, for which some platforms report the change time. */
const UNKNOWN = 0n;

/** Returns a short signature of a directory, for its name. */
const signatureOf = (inode: string, birthNs: bigint): string => sha256(`${inode}-${birthNs}`).slice(0, 16);
