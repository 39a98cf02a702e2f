/**
 * Chooses and claims the place of a new table. A table of the root becomes a directory of its name, and some
 * file systems treat several names as one ({@link foldName}). No two tables of the root may have such names
 * on any file system, so that the namespace's directory can be moved between all of them:
 *
 *   look at the neighbours ─ make the directory ─ under the catalog's lock: look again ─ row
 *
 * The directory and the row together are the claim to the name. The writer that is second to have both finds
 * the other's.
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
import { clearPlace } from "./orphans.js";
import { sweepDropped } from "./removal.js";
import { isInUse } from "./sharedPlaces.js";
import { locationOf, refuseOtherObject, rootPlace, type TableLocation, tableRow } from "./tables.js";

/** A place for a new table. */
export interface PlannedPlace extends TableLocation {
  /** True where the place was made up just now: nobody else can know of it. */
  readonly unshared: boolean;
}

/**
 * The place where a new table would be put. Makes nothing.
 * @param moved the place of a table that would be moved there
 * @param known the catalog as it was a moment ago; read where it is absent
 * @throws InvalidInputError for an illegal name, and for one that folds together with another's
 * @throws NamespaceNotFoundError where a parent does not exist, TableAlreadyExistsError where the id is
 *   another object's, or the place is that of a deregistered table or of a file
 */
export async function planPlace(
  environment: CatalogEnvironment,
  id: readonly string[],
  moved?: TableLocation,
  known?: Catalog,
): Promise<PlannedPlace> {
  const isRoot = id.length === 1;
  if (isRoot) checkNewRootTableName(id[0]);
  else checkObjectName(id[id.length - 1]);
  const catalog = known ?? (await readCatalog(environment));
  requireNamespace(catalog, parentOf(id));
  refuseOtherObject(catalog, id);
  if (isRoot) {
    const tableLocation = rootPlace(environment, id);
    if (await freeOfNeighbours(environment, catalog, tableLocation, moved))
      await refuseKeptPlace(environment, tableLocation);
    return { ...tableLocation, unshared: false };
  }
  // A row that a crash, or a creation under way, left in the catalog keeps its place.
  const row = tableRow(catalog, id);
  if (row !== null) {
    const place = locationOf(environment, id, row);
    const others = catalog.rows.filter((each) => each !== row);
    if (!isInUse(place.location, others)) return { ...place, unshared: false };
  }
  const location = newLocation(objectIdOf(id));
  return { id, location, directory: join(environment.root, location), unshared: true };
}

/**
 * Refuses a place that is not free: the directory of a deregistered table, where a new table would stay
 * hidden, or a name that something other than a directory has. The orphans of a dropped table are removed.
 * @throws TableAlreadyExistsError; ServiceUnavailableError where a dropped table can't be removed yet
 */
async function refuseKeptPlace(environment: CatalogEnvironment, location: TableLocation): Promise<void> {
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
    `the place of table ${formatIdentifier(location.id)} is kept by a deregistered table of that name`,
  );
}

/**
 * Removes the orphans at the place of a table that was dropped and could not be moved.
 * @throws ServiceUnavailableError where that can't be done yet
 */
async function freeDropped(environment: CatalogEnvironment, { id, directory }: TableLocation): Promise<void> {
  // A sweep at the same time may have removed it.
  const cause = await removeDropped(environment, directory).catch((error: unknown) => error);
  if (await isDropped(environment.disk, directory)) {
    throw new ServiceUnavailableError(
      `table ${formatIdentifier(id)} was dropped, and its files are still to be removed; try again later`,
      { cause },
    );
  }
  await sweepDropped(environment);
}

const noDirectory = ({ id, location }: TableLocation, cause?: unknown): TableAlreadyExistsError =>
  new TableAlreadyExistsError(
    `the place of table ${formatIdentifier(id)}, ${location}, is taken by something that is no directory`,
    { cause },
  );

/**
 * Makes the directory of a root table that is being made, if it is not there.
 * @returns true if it was made
 * @throws InvalidInputError where the disk treats another entry as the same, TableAlreadyExistsError where it
 *   is a file
 */
export async function claimPlace(environment: CatalogEnvironment, location: TableLocation): Promise<boolean> {
  try {
    if (await environment.disk.makeDirectory(location.directory)) {
      environment.rootNames.made(location.location);
      return true;
    }
  } catch (error) {
    if (codeOf(error) === "EEXIST" || codeOf(error) === "ENOTDIR") throw noDirectory(location, error);
    throw error;
  }
  // A table that is put there would stay hidden.
  if (await isDropped(environment.disk, location.directory)) await freeDropped(environment, location);
  await refuseNeighbours(environment, await readCatalog(environment), location);
  return false;
}

/**
 * Makes sure that no other table has a name which folds together with that of a root table whose directory is
 * there. Under the catalog's lock nobody can get such a name until the row is written.
 * @throws InvalidInputError naming the other
 */
export async function refuseNeighbours(
  environment: CatalogEnvironment,
  catalog: Catalog,
  location: TableLocation,
): Promise<void> {
  const { isThere, others } = await environment.rootNames.neighbours(location.location, catalog, true);
  for (const other of others) {
    const holder = await holderOf(environment, catalog, other);
    // If the place is spelled otherwise, the directory that is there is the other entry.
    if (holder !== null || !isThere) throw foldsTogether(location, holder ?? other.name);
  }
}

/**
 * The same for a place where nothing is yet.
 * @param moved the table that is about to leave its place
 */
export async function refuseHolders(
  environment: CatalogEnvironment,
  catalog: Catalog,
  location: TableLocation,
  moved: TableLocation,
): Promise<void> {
  const { others } = await environment.rootNames.neighbours(location.location, catalog, false);
  for (const other of others) {
    if (other.name === moved.location) continue;
    const holder = await holderOf(environment, catalog, other);
    if (holder !== null) throw foldsTogether(location, holder);
  }
}

/**
 * Like {@link refuseHolders}, but also takes away the orphans of failed creations.
 * @returns true if there may be something at the place
 */
async function freeOfNeighbours(
  environment: CatalogEnvironment,
  catalog: Catalog,
  location: TableLocation,
  moved: TableLocation | undefined,
): Promise<boolean> {
  const { isThere, others } = await environment.rootNames.neighbours(location.location, catalog, false);
  for (const other of others) {
    if (other.name === moved?.location) continue;
    const holder = await holderOf(environment, catalog, other);
    const isInTheWay =
      holder !== null || (!isThere && (await environment.disk.stat(location.directory)) !== null);
    if (isInTheWay && !(await clearDead(environment, other)))
      throw foldsTogether(location, holder ?? other.name);
  }
  return isThere || others.length > 0;
}

/**
 * Takes away the orphans of a creation; false where there is more than that, or they may still become a
 * table.
 */
async function clearDead(environment: CatalogEnvironment, { name }: DirectoryEntry): Promise<boolean> {
  const tableName = rootTableAt(name);
  if (tableName === null) return false;
  try {
    const location = rootPlace(environment, [tableName]);
    if (await isDropped(environment.disk, location.directory)) await freeDropped(environment, location);
    await clearPlace(environment, location);
    return true;
  } catch (error) {
    if (error instanceof TableAlreadyExistsError) return false;
    throw error;
  }
}

/**
 * What holds a root table's place, for messages: a table, one that is being made, or no table; null for
 * nothing.
 */
async function holderOf(
  { disk, root, latestVersions }: CatalogEnvironment,
  catalog: Catalog,
  { name, kind }: DirectoryEntry,
): Promise<string | null> {
  const tableName = rootTableAt(name);
  if (tableName === null || kind !== "directory") return `${name}, which is no table`;
  const directory = join(root, name);
  if (await isDeregistered(disk, directory)) return `table ${tableName}, which is deregistered`;
  const isTable = (await latestVersions.find(directory)) !== null || (await isReserved(disk, directory));
  if (isTable) return `table ${tableName}`;
  const isClaimed =
    tableRow(catalog, [tableName])?.location === name && (await disk.stat(directory)) !== null;
  return isClaimed ? `table ${tableName}, which is being made` : null;
}

const foldsTogether = ({ id }: TableLocation, other: string): InvalidInputError =>
  new InvalidInputError(
    `table ${formatIdentifier(id)}: some file systems would take its directory for that of ${other}`,
  );
