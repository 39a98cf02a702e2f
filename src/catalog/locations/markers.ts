/**
 * Names the marker files in a table's directory. They mark a table without data, or a hidden one. Markers
 * stay when data arrives, so they never mean that a table is empty. Other engines ignore their content. This
 * engine writes into them which batch declared the table, or that a dropped table may be removed, unlike a
 * deregistered one (markerChanges.ts).
 */

import type { Disk } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";

/** Marker of a declared table in the interface document. */
export const RESERVED_MARKER = ".ns-reserved";
/** Marker that the reference implementation looks for. */
export const REFERENCE_RESERVED_MARKER = ".lance-reserved";
export const DEREGISTERED_MARKER = ".lance-deregistered";

export async function isReserved(disk: Disk, directory: string): Promise<boolean> {
  const markers = await Promise.all([
    disk.stat(join(directory, RESERVED_MARKER)),
    disk.stat(join(directory, REFERENCE_RESERVED_MARKER)),
  ]);
  return markers.some((marker) => marker !== null);
}

export const isDeregistered = (disk: Disk, directory: string): Promise<boolean> =>
  disk.stat(join(directory, DEREGISTERED_MARKER)).then((marker) => marker !== null);

/** Returns the path of the marker that every engine makes for a declared table. */
export const reservationPath = (directory: string): string => join(directory, REFERENCE_RESERVED_MARKER);

/** Returns true if a file in a table's directory is the marker that hides it. */
export const isHidingMarker = (name: string): boolean => name === DEREGISTERED_MARKER;

export const hidingMarkerPath = (directory: string): string => join(directory, DEREGISTERED_MARKER);
