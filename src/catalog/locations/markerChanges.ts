/** Writes the marker files of tables, and reads what this engine wrote into them. */

import { ConcurrentModificationError, UnsupportedError } from "../../errors.js";
import type { Disk, WriteHandle } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { temporaryName } from "../../io/names/temporaryNames.js";
import { createExclusive, hasContent, replaceFile } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import {
  DEREGISTERED_MARKER,
  hidingMarkerPath,
  isDeregistered,
  REFERENCE_RESERVED_MARKER,
  RESERVED_MARKER,
} from "./markers.js";

const RESERVED_MARKERS: readonly string[] = [RESERVED_MARKER, REFERENCE_RESERVED_MARKER];
/** Content of the reference's marker; nobody reads it. */
const RESERVED_CONTENT = new TextEncoder().encode("reserved");
const DEREGISTERED_CONTENT = new TextEncoder().encode("deregistered");
const DROPPED_CONTENT = new TextEncoder().encode("dropped by tiltyard");

/** Returns true if a directory is hidden because its table was dropped, so that anybody may remove it. */
export const isDropped = (disk: Disk, directory: string): Promise<boolean> =>
  hasContent(disk, hidingMarkerPath(directory), DROPPED_CONTENT);

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
  // If several callers want to remove the marker, only one of them can move it.
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
