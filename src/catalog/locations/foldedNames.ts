/**
 * Refuses names of root tables that fold together. A root table becomes a directory of its name, and some
 * file systems treat several names as one ({@link foldName}). No two root tables may have such names, so that
 * the namespace's directory can move between all file systems.
 */

import { InvalidInputError, TableAlreadyExistsError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { DirectoryEntry } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import type { Catalog } from "../rows/catalogRows.js";
import { rootTableAt } from "./locations.js";
import { isDropped } from "./markerChanges.js";
import { isDeregistered, isReserved } from "./markers.js";
import { clearLocation, freeDropped } from "./orphans.js";
import { rootTableLocation, type TableLocation, tableRow } from "./tables.js";

/**
 * Checks that no other table's name folds together with that of a root table whose directory exists. Under
 * the catalog's lock, no table can get such a name until the row is written.
 * @throws InvalidInputError naming the other table
 */
export async function refuseNeighbours(
  environment: CatalogEnvironment,
  catalog: Catalog,
  location: TableLocation,
): Promise<void> {
  const { isThere, others } = await environment.rootNames.neighbours(location.location, catalog, true);
  for (const neighbour of others) {
    const holder = await holderOf(environment, catalog, neighbour);
    // If the spelling differs, the existing directory is the other entry.
    if (holder !== null || !isThere) throw foldsTogether(location, holder ?? neighbour.name);
  }
}

/**
 * Like {@link refuseNeighbours}, for a location without a directory.
 * @param moved table that is about to leave its location
 */
export async function refuseHolders(
  environment: CatalogEnvironment,
  catalog: Catalog,
  location: TableLocation,
  moved: TableLocation,
): Promise<void> {
  const { others } = await environment.rootNames.neighbours(location.location, catalog, false);
  for (const neighbour of others) {
    if (neighbour.name === moved.location) continue;
    const holder = await holderOf(environment, catalog, neighbour);
    if (holder !== null) throw foldsTogether(location, holder);
  }
}

/**
 * Like {@link refuseHolders}, and removes the orphans of failed creations.
 * @returns true if something may lie at the location
 */
export async function freeOfNeighbours(
  environment: CatalogEnvironment,
  catalog: Catalog,
  location: TableLocation,
  moved: TableLocation | undefined,
): Promise<boolean> {
  const { isThere, others } = await environment.rootNames.neighbours(location.location, catalog, false);
  for (const neighbour of others) {
    if (neighbour.name === moved?.location) continue;
    const holder = await holderOf(environment, catalog, neighbour);
    const isInTheWay =
      holder !== null || (!isThere && (await environment.disk.stat(location.directory)) !== null);
    if (isInTheWay && !(await clearDead(environment, neighbour)))
      throw foldsTogether(location, holder ?? neighbour.name);
  }
  return isThere || others.length > 0;
}

/** Removes the orphans of a creation. False if there is more, or they may still become a table. */
async function clearDead(environment: CatalogEnvironment, { name }: DirectoryEntry): Promise<boolean> {
  const tableName = rootTableAt(name);
  if (tableName === null) return false;
  try {
    const location = rootTableLocation(environment, [tableName]);
    if (await isDropped(environment.disk, location.directory)) await freeDropped(environment, location);
    await clearLocation(environment, location);
    return true;
  } catch (error) {
    if (error instanceof TableAlreadyExistsError) return false;
    throw error;
  }
}

/** Describes for messages what holds a root table's location: a table or an entry; null if nothing. */
async function holderOf(
  { disk, root, latestVersions }: CatalogEnvironment,
  catalog: Catalog,
  { name, kind }: DirectoryEntry,
): Promise<string | null> {
  const tableName = rootTableAt(name);
  if (tableName === null || kind !== "directory") return `${name}, which is not a table`;
  const directory = join(root, name);
  if (await isDeregistered(disk, directory)) return `table ${tableName}, which is deregistered`;
  const isTable = (await latestVersions.find(directory)) !== null || (await isReserved(disk, directory));
  if (isTable) return `table ${tableName}`;
  const isClaimed =
    tableRow(catalog, [tableName])?.location === name && (await disk.stat(directory)) !== null;
  return isClaimed ? `table ${tableName}, which is being made` : null;
}

const foldsTogether = ({ id }: TableLocation, otherTable: string): InvalidInputError =>
  new InvalidInputError(
    `table ${formatIdentifier(id)}: some file systems would take its directory for that of ${otherTable}`,
  );
