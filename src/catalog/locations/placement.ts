/**
 * Chooses and claims the location of a new table. A root table becomes a directory of its name:
 *
 *     check the neighbours ─ make the directory ─ under the catalog's lock: check again ─ row
 *
 * The directory and the row together claim the name. The second of two writers finds the claim of the first.
 */

import { TableAlreadyExistsError } from "../../errors.js";
import { checkObjectName, formatIdentifier } from "../../ident.js";
import { codeOf } from "../../io/disk/errno.js";
import { join } from "../../platform/native.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import type { Catalog } from "../rows/catalogRows.js";
import { readCatalog } from "../rows/catalogTable.js";
import { objectIdOf, parentOf, requireNamespace } from "../rows/objects.js";
import { freeOfNeighbours, refuseNeighbours } from "./foldedNames.js";
import { isDropped } from "./markerChanges.js";
import { isDeregistered } from "./markers.js";
import { checkNewRootTableName, newLocation } from "./newLocations.js";
import { freeDropped } from "./orphans.js";
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
