/**
 * Handles locations that several tables share, or that some file system treats as one. A new table never gets
 * such a location. If rows of another engine share a location, or a disk treats two as one, dropping a table
 * leaves the other's files alone.
 */

import { areApart } from "../../io/names/spelling.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import type { CatalogRow } from "../rows/catalogRows.js";
import { isInRootTable } from "./locations.js";
import { mayOverlap } from "./newLocations.js";

/** Returns true if, on any file system, a location overlaps that of a root table or of a row. */
export const isInUse = (location: string, rows: readonly CatalogRow[]): boolean =>
  isInRootTable(location) || overlapping(location, rows).length > 0;

/**
 * Returns true if none of the rows names a location on this disk, and no root table can have it on any disk.
 */
export const isUnshared = async (
  environment: CatalogEnvironment,
  location: string,
  rows: readonly CatalogRow[],
): Promise<boolean> => !isInRootTable(location) && !(await isNamed(environment, location, rows));

/** Returns true if one of the rows names a location, on this disk. */
export async function isNamed(
  { disk, root }: CatalogEnvironment,
  location: string,
  rows: readonly CatalogRow[],
): Promise<boolean> {
  for (const otherLocation of overlapping(location, rows)) {
    if (!(await areApart(disk, root, location, otherLocation))) return true;
  }
  return false;
}

const overlapping = (location: string, rows: readonly CatalogRow[]): string[] =>
  rows.flatMap(({ objectType, location: otherLocation }) =>
    objectType === "table" && otherLocation !== null && mayOverlap(location, otherLocation)
      ? [otherLocation]
      : [],
  );
