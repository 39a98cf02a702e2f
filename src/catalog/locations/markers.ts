/**
 * Handles the marker files in a table's directory. They mark a table without data, or a hidden one. Markers
 * stay when data arrives, so they never mean that a table is empty. Other engines ignore their content. This
 * engine writes into them which batch declared the table, or that a dropped table may be removed, unlike a
 * deregistered one.
 */

import { ConcurrentModificationError, UnsupportedError } from "../../errors.js";
import type { Disk, WriteHandle } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { temporaryName } from "../../io/names/temporaryNames.js";
import { createExclusive, hasContent, replaceFile } from "../../io/publish.js";
import { join } from "../../platform/native.js";

/** Marker of a declared table in the interface document. */
const RESERVED_MARKER = ".ns-reserved";
/** Marker that the reference implementation looks for. */
const REFERENCE_RESERVED_MARKER = ".lance-reserved";
const RESERVED_MARKERS: readonly string[] = [RESERVED_MARKER, REFERENCE_RESERVED_MARKER];
const DEREGISTERED_MARKER = ".lance-deregistered";
/** Content of the reference's marker; nobody reads it. */
const RESERVED_CONTENT = new TextEncoder().encode("reserved");
const DEREGISTERED_CONTENT = new TextEncoder().encode("deregistered");
const DROPPED_CONTENT = new TextEncoder().encode("dropped by tiltyard");

export async function isReserved(disk: Disk, directory: string): Promise<boolean> {
  const markers = await Promise.all([
    disk.stat(join(directory, RESERVED_MARKER)),
    disk.stat(join(directory, REFERENCE_RESERVED_MARKER)),
  ]);
  return markers.some((marker) => marker !== null);
}

export const isDeregistered = async (disk: Disk, directory: string): Promise<boolean> =>
  (await disk.stat(join(directory, DEREGISTERED_MARKER))) !== null;

/** Returns the path of the marker that every engine makes for a declared table. */
export const reservationPath = (directory: string): string => join(directory, REFERENCE_RESERVED_MARKER);

/** Returns true if a directory is hidden because its table was dropped, so that anybody may remove it. */
export const isDropped = (disk: Disk, directory: string): Promise<boolean> =>
  hasContent(disk, hidingMarkerPath(directory), DROPPED_CONTENT);

/** Returns true if a file in a table's directory is the marker that hides it. */
export const isHidingMarker = (name: string): boolean => name === DEREGISTERED_MARKER;

export const hidingMarkerPath = (directory: string): string => join(directory, DEREGISTERED_MARKER);

/** Codes of failures to make a directory whose name exists. */
const TAKEN_CODES: ReadonlySet<string | undefined> = new Set(["EEXIST", "ENOTDIR"]);

/**
 * Reserves a directory for a table; returns false if another writer has reserved it, or it is not a
 * directory.
 * @throws ConcurrentModificationError if another process removes it at the same time
 */
export async function reserve(disk: Disk, directory: string): Promise<boolean> {
  try {
    await disk.makeDirectory(directory);
  } catch (error) {
    if (TAKEN_CODES.has(codeOf(error))) return false;
    throw error;
  }
  try {
    if (!(await create(disk, directory, RESERVED_MARKER, RESERVED_CONTENT))) return false;
    return await create(disk, directory, REFERENCE_RESERVED_MARKER, RESERVED_CONTENT);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new ConcurrentModificationError(`${directory} was dropped while a table was declared there`, {
      cause: error,
    });
  }
}

/** "new": made just now; "same": made before by this declaration; "other": another one was first. */
export type Reservation = "new" | "same" | "other";

/**
 * Like {@link reserve}, with a reservation that is unique and can be resumed.
 * @param mark text that identifies the declaration
 */
export async function reserveAs(disk: Disk, directory: string, mark: string): Promise<Reservation> {
  try {
    await disk.makeDirectory(directory);
  } catch (error) {
    if (TAKEN_CODES.has(codeOf(error))) return "other";
    throw error;
  }
  let reservation: Reservation = "same";
  for (const name of RESERVED_MARKERS) {
    if (await create(disk, directory, name, contentOf(mark))) reservation = "new";
    else if (!(await isMarkedAs(disk, join(directory, name), mark))) return "other";
  }
  return reservation;
}

/** Reservations of a directory, from the view of one declaration. */
export interface Reservations {
  /** Paths of its own markers. */
  readonly ownPaths: readonly string[];
  /** True if other declarations have markers. */
  readonly hasOthers: boolean;
}

export async function readReservations(disk: Disk, directory: string, mark: string): Promise<Reservations> {
  const ownPaths: string[] = [];
  let hasOthers = false;
  for (const path of RESERVED_MARKERS.map((name) => join(directory, name))) {
    if (await isMarkedAs(disk, path, mark)) ownPaths.push(path);
    else if ((await disk.stat(path)) !== null) hasOthers = true;
  }
  return { ownPaths, hasOthers };
}

const contentOf = (mark: string): Uint8Array => new TextEncoder().encode(`reserved ${mark}`);

const isMarkedAs = (disk: Disk, path: string, mark: string): Promise<boolean> =>
  hasContent(disk, path, contentOf(mark));

/**
 * Hides a root table; returns false if another process has hidden it, or another table has replaced it.
 * @param isTable returns true if the directory under a path is the right table; called as late as possible
 */
export function hide(
  disk: Disk,
  directory: string,
  isTable: (directory: string) => Promise<boolean>,
): Promise<boolean> {
  return create(disk, directory, DEREGISTERED_MARKER, DEREGISTERED_CONTENT, () => isTable(directory));
}

/**
 * Hides the directory of a dropped table; returns false if another process has hidden it, or another table
 * has replaced it.
 * @param verify returns true if the table is the right one. It is called right before the decision, with a
 *   temporary file in the directory that would vanish with it
 */
export async function hideAsDropped(
  disk: Disk,
  directory: string,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  try {
    const content = [DROPPED_CONTENT];
    return (await createExclusive(disk, directory, DEREGISTERED_MARKER, content, { verify })) !== false;
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
  }
  // Without hard links: root tables are hidden under the catalog's lock, and nobody else hides other
  // tables.
  return await replaceFile(disk, hidingMarkerPath(directory), DROPPED_CONTENT, {
    sync: true,
    verify: async () => (await verify()) && !(await isDeregistered(disk, directory)),
  });
}

/**
 * Outcome of showing a table. "taken": another process was first, the table was dropped, or another has
 * replaced it. "gone": it was shown, and its directory was dropped or renamed at once.
 */
export type Showing = "shown" | "taken" | "gone";

/**
 * Shows a hidden root table again.
 * @param isTable returns true if the directory under a path is the right table
 */
export async function unhide(
  disk: Disk,
  directory: string,
  isTable: (directory: string) => Promise<boolean>,
): Promise<Showing> {
  const marker = hidingMarkerPath(directory);
  if (disk.hasRename === false) return unhideInPlace(disk, directory, isTable);
  // Of several callers that would remove the marker, only one can move it.
  const moved = join(directory, temporaryName());
  try {
    await disk.rename(marker, moved);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "taken";
    throw error;
  }
  // From here on, everybody sees the table.
  try {
    const isDropping = await hasContent(disk, moved, DROPPED_CONTENT);
    if (isDropping || !(await isTable(directory))) {
      await disk.rename(moved, marker);
      return "taken";
    }
    await disk.remove(moved);
    await disk.syncDirectory(directory);
    return "shown";
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "gone";
    throw error;
  }
}

/** Like {@link unhide}, on a disk without renames: of several callers, one replaces the marker. */
async function unhideInPlace(
  disk: Disk,
  directory: string,
  isTable: (directory: string) => Promise<boolean>,
): Promise<Showing> {
  const marker = hidingMarkerPath(directory);
  const stat = await disk.stat(marker);
  if (stat === null || (await hasContent(disk, marker, DROPPED_CONTENT))) return "taken";
  if (!(await isTable(directory))) return "taken";
  const claim = new TextEncoder().encode(`shown by ${crypto.randomUUID()}`);
  if ((await disk.replaceIf?.(marker, [claim], stat.identity)) == null) return "taken";
  await disk.remove(marker);
  return "shown";
}

/**
 * Makes a new marker; returns false if it exists.
 * @param verify last check before the decision
 */
async function create(
  disk: Disk,
  directory: string,
  name: string,
  content: Uint8Array,
  verify?: () => Promise<boolean>,
): Promise<boolean> {
  try {
    return (await createExclusive(disk, directory, name, [content], { verify })) !== false;
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
  }
  return createInPlace(disk, directory, name, content, verify);
}

/**
 * Like {@link create}, without hard links. The marker's name takes effect at once. After a crash its content,
 * which identifies its maker, may be missing.
 */
async function createInPlace(
  disk: Disk,
  directory: string,
  name: string,
  content: Uint8Array,
  verify: (() => Promise<boolean>) | undefined,
): Promise<boolean> {
  if ((await verify?.()) === false) return false;
  let handle: WriteHandle;
  try {
    handle = await disk.create(join(directory, name));
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
  try {
    await handle.write([content]);
    await handle.sync();
  } catch (error) {
    // The failed write tells more than a failed close.
    await handle.close().catch(() => undefined);
    await disk.remove(join(directory, name)).catch(() => undefined);
    throw error;
  }
  await handle.close();
  await disk.syncDirectory(directory);
  return true;
}
