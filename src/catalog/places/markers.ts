/**
 * Marker files in a table's directory. They say what it is while it has no data, or that it is hidden.
 * Markers stay when data arrives, so their presence never means that a table is empty. Other engines ignore
 * their content. Here it tells which declaration of a batch made them, and tells a dropped table, which is to
 * be removed, from a deregistered one, which is kept.
 */

import { ConcurrentModificationError, UnsupportedError } from "../../errors.js";
import type { Disk, WriteHandle } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { temporaryName } from "../../io/names/temporaryNames.js";
import { createExclusive, hasContent, replaceFile } from "../../io/publish.js";
import { join } from "../../platform/native.js";

/** The interface document's marker of a declared table. */
const RESERVED_MARKER = ".ns-reserved";
/** The marker the reference implementation looks for. */
const REFERENCE_RESERVED_MARKER = ".lance-reserved";
const RESERVED_MARKERS: readonly string[] = [RESERVED_MARKER, REFERENCE_RESERVED_MARKER];
const DEREGISTERED_MARKER = ".lance-deregistered";
/** What the reference writes into its marker; nobody reads it. */
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

/** The marker of a declared table that every engine makes. */
export const reservationPath = (directory: string): string => join(directory, REFERENCE_RESERVED_MARKER);

/** True if a directory is hidden because its table was dropped, so that anybody may remove it. */
export const isDropped = (disk: Disk, directory: string): Promise<boolean> =>
  hasContent(disk, hidingMarkerPath(directory), DROPPED_CONTENT);

/** True if a file in a table's directory is the marker that hides it. */
export const isHidingMarker = (name: string): boolean => name === DEREGISTERED_MARKER;

export const hidingMarkerPath = (directory: string): string => join(directory, DEREGISTERED_MARKER);

/** Failures to make a directory where something else has the name. */
const TAKEN_CODES: ReadonlySet<string | undefined> = new Set(["EEXIST", "ENOTDIR"]);

/**
 * Reserves a directory for a table; false where somebody else has reserved it, or has put something there
 * that is no directory.
 * @throws ConcurrentModificationError where somebody removes it at the same time
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

/** "new": made just now; "same": made by the same declaration before; "other": another one was first. */
export type Reservation = "new" | "same" | "other";

/**
 * Like {@link reserve}, but the reservation can be told from all others, and an interrupted one can be begun
 * again.
 * @param mark a text that no other declaration has
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

/** The reservations of a directory, as one declaration sees them. */
export interface Reservations {
  /** Paths of its own markers. */
  readonly own: readonly string[];
  /** True if there are markers of others. */
  readonly hasOthers: boolean;
}

export async function readReservations(disk: Disk, directory: string, mark: string): Promise<Reservations> {
  const own: string[] = [];
  let hasOthers = false;
  for (const path of RESERVED_MARKERS.map((name) => join(directory, name))) {
    if (await isMarkedAs(disk, path, mark)) own.push(path);
    else if ((await disk.stat(path)) !== null) hasOthers = true;
  }
  return { own, hasOthers };
}

const contentOf = (mark: string): Uint8Array => new TextEncoder().encode(`reserved ${mark}`);

const isMarkedAs = (disk: Disk, path: string, mark: string): Promise<boolean> =>
  hasContent(disk, path, contentOf(mark));

/**
 * Hides a root table; false where somebody else has hidden it, or another table has come to lie there.
 * @param isTable whether the table that is meant lies under a path; asked as late as possible
 */
export function hide(
  disk: Disk,
  directory: string,
  isTable: (directory: string) => Promise<boolean>,
): Promise<boolean> {
  return create(disk, directory, DEREGISTERED_MARKER, DEREGISTERED_CONTENT, () => isTable(directory));
}

/**
 * Hides the directory of a table that is dropped; false where somebody else has hidden it, or it is not the
 * one that is meant.
 * @param verify whether it is the one; asked right before the decision, with a temporary file in the
 *   directory that would vanish with it
 */
export async function hideAsDropped(
  disk: Disk,
  directory: string,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  try {
    return await createExclusive(disk, directory, DEREGISTERED_MARKER, [DROPPED_CONTENT], { verify });
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
  }
  // Without hard links. Root tables are hidden under the catalog's lock, and nobody else hides others.
  return await replaceFile(disk, hidingMarkerPath(directory), DROPPED_CONTENT, {
    sync: true,
    verify: async () => (await verify()) && !(await isDeregistered(disk, directory)),
  });
}

/**
 * What came of showing a table. "taken": somebody else was first, the table was dropped, or another has come
 * to lie there. "gone": it was shown, and its directory was dropped or renamed at once.
 */
export type Showing = "shown" | "taken" | "gone";

/**
 * Shows a hidden root table again.
 * @param isTable whether the table that is meant lies under a path
 */
export async function unhide(
  disk: Disk,
  directory: string,
  isTable: (directory: string) => Promise<boolean>,
): Promise<Showing> {
  const marker = hidingMarkerPath(directory);
  // Of several callers that would remove the marker, only one can move it.
  const moved = join(directory, temporaryName());
  try {
    await disk.rename(marker, moved);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "taken";
    throw error;
  }
  // From here on anybody sees the table.
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

/**
 * Makes a marker that must not be there; false where it is.
 * @param verify the last look at what must hold
 */
async function create(
  disk: Disk,
  directory: string,
  name: string,
  content: Uint8Array,
  verify?: () => Promise<boolean>,
): Promise<boolean> {
  try {
    return await createExclusive(disk, directory, name, [content], { verify });
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
  }
  return createInPlace(disk, directory, name, content, verify);
}

/**
 * The same without hard links. A marker means what its name says as soon as it is there; after a crash its
 * content, which tells whose it is, may be missing.
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
    // The failure to write tells more than a failure of the cleanup.
    await handle.close().catch(() => undefined);
    await disk.remove(join(directory, name)).catch(() => undefined);
    throw error;
  }
  await handle.close();
  await disk.syncDirectory(directory);
  return true;
}
