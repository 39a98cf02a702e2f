/**
 * Chooses and claims the location of a new table. A root table becomes a directory of its name, and some file
 * systems treat several names as one ({@link foldName}). No two root tables may have such names, so that the
 * namespace's directory can move between all file systems:
 *
 *     check the neighbours ─ make the directory ─ under the catalog's lock: check again ─ row
 *
 * The directory and the row together claim the name. The second of two writers finds the claim of the first.
 */

import { InvalidInputError, ServiceUnavailableError, TableAlreadyExistsError } from "../../errors.js";
import { checkObjectName, formatIdentifier } from "../../ident.js";
import type { DirectoryEntry } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { join } from "../../platform/native.js";
import type { Catalog } from "../rows/catalogRows.js";
import { type CatalogEnvironment, readCatalog } from "../rows/catalogTable.js";
import { objectIdOf, parentOf, requireNamespace } from "../rows/objects.js";
import { removeDropped } from "./droppedRecords.js";
import { checkNewRootTableName, newLocation, rootTableAt } from "./locations.js";
import { isDeregistered, isDropped, isReserved } from "./markers.js";
import { clearLocation } from "./orphans.js";
import { sweepDropped } from "./removal.js";
import { isInUse } from "./sharedLocations.js";
import { locationOf, refuseOtherObject, rootTableLocation, type TableLocation, tableRow } from "./tables.js";

export interface PlannedLocation extends TableLocation {
  /** True if the location was generated just now, so that nobody else knows it. */
  readonly unshared: boolean;
}

/**
 * Chooses the location of a new table. Makes nothing.
 * @param moved location of a table that would move there
 * @param recentCatalog current catalog; absent: it is read
 * @throws InvalidInputError for an illegal name, or one that folds together with another's
 * @throws NamespaceNotFoundError if a parent does not exist
 * @throws TableAlreadyExistsError if another object has the id, or a deregistered table or a file has the
 *   location
 */
export async function planLocation(
  environment: CatalogEnvironment,
  id: readonly string[],
  moved?: TableLocation,
  recentCatalog?: Catalog,
): Promise<PlannedLocation> {
  const isRoot = id.length === 1;
  if (isRoot) checkNewRootTableName(id[0]);
  else checkObjectName(id[id.length - 1]);
  const catalog = recentCatalog ?? (await readCatalog(environment));
  requireNamespace(catalog, parentOf(id));
  refuseOtherObject(catalog, id);
  if (isRoot) {
    const tableLocation = rootTableLocation(environment, id);
    if (await freeOfNeighbours(environment, catalog, tableLocation, moved))
      await refuseUsedLocation(environment, tableLocation);
    return { ...tableLocation, unshared: false };
  }
  // A row that a crash or a running creation left in the catalog keeps its location.
  const row = tableRow(catalog, id);
  if (row !== null) {
    const rowLocation = locationOf(environment, id, row);
    const others = catalog.rows.filter((each) => each !== row);
    if (!isInUse(rowLocation.location, others)) return { ...rowLocation, unshared: false };
  }
  const location = newLocation(objectIdOf(id));
  return { id, location, directory: join(environment.root, location), unshared: true };
}

/**
 * Refuses a location that is in use: the directory of a deregistered table, where a new table would stay
 * hidden, or an entry that is not a directory. Removes the orphans of a dropped table.
 * @throws TableAlreadyExistsError; ServiceUnavailableError if a dropped table cannot be removed yet
 */
async function refuseUsedLocation(environment: CatalogEnvironment, location: TableLocation): Promise<void> {
  const { disk } = environment;
  const stat = await disk.stat(location.directory);
  if (stat === null) return;
  if (stat.kind !== "directory") throw noDirectory(location);
  if (!(await isDeregistered(disk, location.directory))) return;
  if (await isDropped(disk, location.directory)) {
    await freeDropped(environment, location);
    return;
  }
  throw new TableAlreadyExistsError(
    `a deregistered table of that name has the location of table ${formatIdentifier(location.id)}`,
  );
}

/**
 * Removes the orphans of a dropped table that could not be moved.
 * @throws ServiceUnavailableError if that is not possible yet
 */
async function freeDropped(environment: CatalogEnvironment, { id, directory }: TableLocation): Promise<void> {
  // A concurrent sweep may have removed it.
  const cause = await removeDropped(environment, directory).catch((error: unknown) => error);
  if (await isDropped(environment.disk, directory)) {
    throw new ServiceUnavailableError(
      `table ${formatIdentifier(id)} was dropped, but its files are not removed yet; try again later`,
      { cause },
    );
  }
  await sweepDropped(environment);
}

const noDirectory = ({ id, location }: TableLocation, cause?: unknown): TableAlreadyExistsError =>
  new TableAlreadyExistsError(
    `the location of table ${formatIdentifier(id)}, ${location}, is not a directory`,
    { cause },
  );

/**
 * Makes the directory of a new root table, if it does not exist.
 * @returns true if it was made
 * @throws InvalidInputError if the disk treats another entry as the same, TableAlreadyExistsError if it is a
 *   file
 */
export async function claimLocation(
  environment: CatalogEnvironment,
  location: TableLocation,
): Promise<boolean> {
  try {
    if (await environment.disk.makeDirectory(location.directory)) {
      environment.rootNames.made(location.location);
      return true;
    }
  } catch (error) {
    if (codeOf(error) === "EEXIST" || codeOf(error) === "ENOTDIR") throw noDirectory(location, error);
    throw error;
  }
  // A table in a hidden directory would stay hidden.
  if (await isDropped(environment.disk, location.directory)) await freeDropped(environment, location);
  await refuseNeighbours(environment, await readCatalog(environment), location);
  return false;
}

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
async function freeOfNeighbours(
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
