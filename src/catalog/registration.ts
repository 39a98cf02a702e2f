/** Putting data that lies below the root under an id, and taking the id from it; the data stays where it is. */

import { join, sep } from "node:path";
import { InvalidInputError, TableAlreadyExistsError, TableNotFoundError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import type { Properties } from "../namespace.js";
import { findLatestVersion } from "../table/versions.js";
import { type CatalogEnvironment, changeCatalog } from "./catalogTable.js";
import { checkLocation, checkNewLocation, checkNewRootTableName, rootLocation } from "./locations.js";
import { hide, isReserved, unhide } from "./markers.js";
import { encodeProperties, objectIdOf, parentOf, requireNamespace } from "./objects.js";
import { refuseNeighbours } from "./placement.js";
import { isInUse } from "./sharedPlaces.js";
import { type RemovedTable, removeRootTable, removeTableRow, rowOf } from "./tableRows.js";
import {
  findTable,
  hasDirectory,
  refuseOtherObject,
  requireTable,
  type TableLocation,
  tableRow,
} from "./tables.js";

/**
 * @param overwrite a table that has the id loses it; its data stays, too
 * @throws InvalidInputError where there is no table at the location, or it is another table's, be it only on file systems
 *   that fold names
 * @throws TableAlreadyExistsError, NamespaceNotFoundError
 */
export async function registerTable(
  environment: CatalogEnvironment,
  id: readonly string[],
  location: string,
  properties: Properties | undefined,
  overwrite: boolean,
  signal?: AbortSignal,
): Promise<TableLocation> {
  checkLocation(location);
  const isRoot = id.length === 1;
  const found = await findTable(environment, id);
  if (found !== null && !overwrite) {
    throw new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);
  }
  if (isRoot && location !== rootLocation(id[0])) {
    throw new InvalidInputError(`location: a table ${id[0]} of the root lies at ${rootLocation(id[0])}`);
  }
  const isNewName = isRoot && found === null;
  if (isNewName) checkNewRootTableName(id[0]);
  else if (!isRoot) checkNewLocation(location);
  const place = { id, location, directory: join(environment.root, ...location.split("/")) };
  const realLocation = await requireData(environment, place);
  const row = rowOf(id, location, encodeProperties(properties));
  await changeCatalog(
    environment,
    async (catalog) => {
      requireNamespace(catalog, parentOf(id));
      refuseOtherObject(catalog, id);
      const present = tableRow(catalog, id);
      const others = catalog.rows.filter((each) => each !== present);
      // A link, or a short name of Windows, may lead to the place of another.
      if (!isRoot && (isInUse(location, others) || isInUse(realLocation, others))) {
        throw new InvalidInputError(`location: ${location} is the place of another table`);
      }
      if (isNewName) await refuseNeighbours(environment, catalog, place);
      if (present === null) return { add: [row] };
      if (!overwrite && !isRoot && (await hasDirectory(environment, id, present))) {
        throw new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);
      }
      return { replace: new Map([[objectIdOf(id), row]]) };
    },
    signal,
  );
  if (isRoot) await unhide(environment.disk, place.directory);
  return place;
}

/**
 * @returns the place of the directory without symbolic links
 * @throws InvalidInputError unless a table lies there, inside the root
 */
async function requireData(environment: CatalogEnvironment, place: TableLocation): Promise<string> {
  const { disk, root } = environment;
  const [realRoot, real] = [await disk.realPath(root), await disk.realPath(place.directory)];
  const isInside = realRoot !== null && real?.startsWith(realRoot + sep) === true;
  if (!isInside || !(await isSpelledSo(environment, place))) {
    throw new InvalidInputError(`location: there is no directory ${place.location} inside the root`);
  }
  const realLocation = real
    .slice(realRoot.length + 1)
    .split(sep)
    .join("/");
  checkLocation(realLocation);
  if ((await findLatestVersion(disk, place.directory)) !== null) return realLocation;
  if (await isReserved(disk, place.directory)) return realLocation;
  throw new InvalidInputError(`location: there is no table at ${place.location}`);
}

/** Whether a place that was found has just that name, and would be found on a disk that tells upper from lower case. */
async function isSpelledSo({ root, spelling }: CatalogEnvironment, { location }: TableLocation) {
  let parent = root;
  for (const name of location.split("/")) {
    if (!(await spelling.isExact(parent, name))) return false;
    parent = join(parent, name);
  }
  return true;
}

/**
 * Takes a table's id from it. A root table is hidden, as its directory would still be listed otherwise.
 * @throws TableNotFoundError, NamespaceNotFoundError
 */
export async function deregisterTable(
  environment: CatalogEnvironment,
  id: readonly string[],
  signal?: AbortSignal,
): Promise<TableLocation & RemovedTable> {
  const { location, directory } = await requireTable(environment, id);
  const place = { id, location, directory };
  if (id.length > 1) {
    const { properties } = await removeTableRow(environment, place, signal);
    return { ...place, properties };
  }
  const vanish = async () => {
    try {
      return await hide(environment.disk, directory);
    } catch (error) {
      if ((await environment.disk.stat(directory)) === null) {
        throw new TableNotFoundError(`table ${formatIdentifier(id)} does not exist`, { cause: error });
      }
      throw error;
    }
  };
  const { properties } = await removeRootTable(environment, place, vanish, signal);
  return { ...place, properties };
}
