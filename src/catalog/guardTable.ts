/** Watches that a table to be moved or hidden stays the same one. */

import type { Disk, FileStat } from "../io/disk/disk.js";
import { relative } from "../platform/native.js";
import { isSeenDirectory, seeDirectory } from "../table/versions/directoryIdentity.js";
import { reservationPath } from "./locations/markers.js";
import type { TableEntry } from "./locations/tables.js";

/**
 * Looks at the directory of a table that is about to be moved or hidden.
 * @returns function that returns true if a path leads to that directory, even after it was moved
 */
export async function guardTable(
  disk: Disk,
  { directory, latest }: Pick<TableEntry, "directory" | "latest">,
): Promise<(movedTo: string, stat?: FileStat) => Promise<boolean>> {
  const file = relative(directory, latest?.path ?? reservationPath(directory));
  const seen = await seeDirectory(disk, directory, file);
  return async (movedTo, stat) => seen !== null && (await isSeenDirectory(disk, movedTo, seen, stat));
}
