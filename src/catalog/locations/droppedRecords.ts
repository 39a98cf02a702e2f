/**
 * Removes dropped tables whose directories could not be moved:
 *
 *     write the file .tiltyard-dropped-<uuid>      a record that names the directory, for the sweep
 *     hide the directory by a marker with the reason  this decides
 *     empty the directory                          under its lock; the marker goes last
 *     remove the directory, then the record
 *
 * The marker is published from a temporary file in the same directory. If another table replaces the
 * directory, the file is gone, so that table is not hidden. If a later table's file may have the same name,
 * the file is first moved into a temporary directory; that move fails after the lock was taken over. So a
 * process that was suspended while it emptied the directory removes nothing of a later table in the same
 * directory.
 */

import { ageOfChangeMs } from "../../async/timers.js";
import { decodeSealedJson, encodeSealedJson } from "../../bytes/sealedJson.js";
import { InvalidInputError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/disk/locks.js";
import { LOCK_NAME } from "../../io/lock/lease.js";
import { withLock } from "../../io/lock/lock.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import { fenceOff, PublishUncertainError, Removal } from "../../io/publish.js";
import { basename, dirname, join, relative, sep } from "../../platform/native.js";
import { hasUniqueNames, sideDirectory, versionsDirectory } from "../../table/versions/paths.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import { checkLocation, directoryAt } from "./locations.js";
import { hideAsDropped, isDropped } from "./markerChanges.js";
import { hidingMarkerPath, isHidingMarker } from "./markers.js";

/** Maximum size in bytes; locations are shorter. */
const MAX_RECORD_BYTES = 64 * 1024;
/** Age from which no process is about to hide the directory that a record names. */
const STALE_RECORD_MS = 60 * 60 * 1000;
/** Milliseconds after which a directory in use is left to the next sweep. */
const SWEEP_WAIT_MS = 2_000;

/** Dependencies of removing directories. */
export type RemovalEnvironment = Pick<CatalogEnvironment, "disk" | "root" | "lock" | "handles">;

/** Returns true if links lead a path elsewhere than its text says. */
export async function isLink(disk: Disk, root: string, directory: string): Promise<boolean> {
  const [realRoot, real] = [await disk.realPath(root), await disk.realPath(directory)];
  return real !== null && (realRoot === null || real !== join(realRoot, relative(root, directory)));
}

// -------------------------------------------------------------------------------------------------- hiding

/**
 * Hides a directory for good.
 * @param record path of the record, which does not exist yet
 * @param isDoomed returns true if the directory is the one to remove
 * @returns false if the directory is hidden already, was emptied, does not exist or is not doomed
 */
export async function hideInPlace(
  { disk, root }: RemovalEnvironment,
  directory: string,
  record: string,
  isDoomed: (directory: string) => Promise<boolean>,
): Promise<boolean> {
  const location = relative(root, directory).split(sep).join("/");
  let isHidden = false;
  let wasEmptied = false;
  const verify = async (): Promise<boolean> => {
    if (!(await isDoomed(directory))) return false;
    wasEmptied = await isEmptied(disk, directory);
    return !wasEmptied;
  };
  try {
    await writeRecord(disk, record, location);
    isHidden = await hideAsDropped(disk, directory, verify);
  } catch (error) {
    // The marker may exist, and then the record is needed.
    if (error instanceof PublishUncertainError) throw error;
    await disk.remove(record).catch(() => undefined);
    // The directory is gone, or another process was first to hide it and is emptying it.
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
  if (!isHidden) await disk.remove(record);
  // Another process found the record stale meanwhile and removed it.
  else if ((await disk.stat(record)) === null) await writeRecord(disk, record, location);
  // This call's temporary file may have kept another process from removing the emptied directory.
  if (wasEmptied) await disk.removeEmptyDirectory(directory);
  return isHidden;
}

/** Writes a record in place. A truncated record names nothing, and is removed when it is stale. */
async function writeRecord(disk: Disk, record: string, location: string): Promise<void> {
  const handle = await disk.create(record);
  try {
    await handle.write([encodeSealedJson({ location })]);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await disk.syncDirectory(dirname(record));
}

// ------------------------------------------------------------------------------------------------ sweeping

/** Removes the directory that a record names, if its table was dropped, and then the record. */
export async function removeRecorded(environment: RemovalEnvironment, record: string): Promise<void> {
  const { disk, root } = environment;
  const location = await readRecord(disk, record);
  // A directory that is not hidden may be hidden at any moment.
  const isOld = await isStale(disk, record);
  const directory = location === null ? null : directoryAt(root, location);
  if (directory === null || (await isLink(disk, root, directory))) {
    if (isOld) await disk.remove(record);
    return;
  }
  const wasDropped = await isDropped(disk, directory);
  const isToGo = wasDropped || (isOld && (await isEmptied(disk, directory)));
  if (isToGo) await removeDropped(environment, directory);
  // Another process has made something there meanwhile.
  if (await isDropped(disk, directory)) return;
  const isDone = wasDropped && !(await isEmptied(disk, directory));
  if (isOld || isDone || (await disk.stat(directory)) === null) await disk.remove(record);
}

/**
 * Removes the directory of a dropped table that could not be moved.
 * @throws ServiceUnavailableError if it stays in use for long
 */
export async function removeDropped(environment: RemovalEnvironment, directory: string): Promise<void> {
  const { disk, lock, handles } = environment;
  handles.evict(directory);
  await withLock(directory, { ...lock, waitMs: SWEEP_WAIT_MS }, async (lease) => {
    // Another process may have removed it, and another table may lie there.
    if (await isDropped(disk, directory)) await removeContent(disk, directory, lease);
    else if (await isEmptied(disk, directory)) await removeTemporaries(disk, directory, lease);
  });
  await disk.removeEmptyDirectory(directory);
}

/** Removes a hidden directory's content: versions first, as a reader may know the path; the marker last. */
async function removeContent(disk: Disk, directory: string, lease: LockLease): Promise<void> {
  const side = sideDirectory(directory);
  const remove = async (work: (removal: Removal) => Promise<unknown>): Promise<void> => {
    const removal = new Removal(disk, side, directory, lease, hasUniqueNames);
    try {
      await work(removal);
    } finally {
      await removal.finish();
    }
    await removeTemporaries(disk, directory, lease);
  };
  await remove(async (removal) => {
    const removeFrom = async (parent: string, stays: (name: string) => boolean): Promise<void> => {
      for (const { name, kind } of (await disk.list(parent)) ?? []) {
        if (stays(name)) continue;
        const path = join(parent, name);
        await (kind === "directory" ? removal.empty(path) : removal.takeOut(path));
      }
    };
    await removal.empty(versionsDirectory(directory));
    await removeFrom(directory, staysToTheEnd);
    await removeFrom(side, isTemporary);
  });
  // If somebody has added a file meanwhile, the directory stays hidden until the next sweep.
  if (await hasContent(disk, directory)) return;
  await remove((removal) => removal.takeOut(hidingMarkerPath(directory)));
}

/** Returns true if a directory has more than what stays to the end. */
async function hasContent(disk: Disk, directory: string): Promise<boolean> {
  for (const { name, kind } of (await disk.list(directory)) ?? []) {
    if (name !== SIDE_NAME && staysToTheEnd(name)) continue;
    // Some S3 servers list a directory for a while after its last object is gone.
    if (kind === "file" || (await disk.list(join(directory, name))) !== null) return true;
  }
  return false;
}

const SIDE_NAME = basename(sideDirectory("/"));
const isTemporary = (name: string): boolean => name.startsWith(TEMPORARY_PREFIX);
/** Returns true for the marker, the lock, and the directory that files are moved into. */
const staysToTheEnd = (name: string): boolean =>
  isHidingMarker(name) || name.startsWith(LOCK_NAME) || name === SIDE_NAME;

/** Returns true if a directory has only what remains after the removal of its last file: no table. */
export async function isEmptied(disk: Disk, directory: string): Promise<boolean> {
  const entries = await disk.list(directory);
  if (entries === null) return false;
  const isRest = (name: string) => name === SIDE_NAME || name.startsWith(LOCK_NAME) || isTemporary(name);
  if (!entries.every(({ name }) => isRest(name))) return false;
  return ((await disk.list(sideDirectory(directory))) ?? []).every(({ name }) => isTemporary(name));
}

/** Removes the temporary directories of moved files. Under the lock, any other maker is dead. */
async function removeTemporaries(disk: Disk, directory: string, lease: LockLease): Promise<void> {
  const side = sideDirectory(directory);
  await lease.confirm();
  for (const location of [side, directory]) await fenceOff(disk, location);
  await disk.removeEmptyDirectory(side);
}

async function isStale(disk: Disk, record: string): Promise<boolean> {
  const stat = await disk.stat(record);
  return stat !== null && ageOfChangeMs(stat.modifiedNs) >= STALE_RECORD_MS;
}

/** Reads a record; null if it does not exist or is not a record of ours. */
async function readRecord(disk: Disk, record: string): Promise<string | null> {
  const stat = await disk.stat(record);
  if (stat === null || stat.size > MAX_RECORD_BYTES) return null;
  const bytes = await disk.readFile(record);
  const value = bytes && decodeSealedJson(bytes);
  const { location } = (value ?? {}) as { readonly location?: unknown };
  if (typeof location !== "string") return null;
  try {
    checkLocation(location);
  } catch (error) {
    if (error instanceof InvalidInputError) return null;
    throw error;
  }
  return location;
}
