/** Putting data that lies below the root under an id, and taking the id from it; the data stays where it is. */

import { join, sep } from "node:path";
import { InvalidInputError, TableAlreadyExistsError, TableNotFoundError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import type { Properties } from "../namespace.js";
import { findLatestVersion } from "../table/versions.js";
import { type CatalogEnvironment, changeCatalog } from "./catalogTable.js";
import { checkLocation, rootLocation } from "./locations.js";
import { hide, isReserved, unhide } from "./markers.js";
import { encodeProperties, objectIdOf, parentOf, requireNamespace } from "./objects.js";
import { isInUse, type RemovedTable, removeRootTable, removeTableRow, rowOf } from "./tableRows.js";
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
 * @throws InvalidInputError where there is no table at the location, or it is another table's
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
  const place = { id, location, directory: join(environment.root, ...location.split("/")) };
  await requireData(environment, place);
  const row = rowOf(id, location, encodeProperties(properties));
  await changeCatalog(
    environment,
    async (catalog) => {
      requireNamespace(catalog, parentOf(id));
      refuseOtherObject(catalog, id);
      const present = tableRow(catalog, id);
      const others = catalog.rows.filter((each) => each !== present);
      if (!isRoot && isInUse(location, others)) {
        throw new InvalidInputError(`location: ${location} is the place of another table`);
      }
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

/** @throws InvalidInputError unless a table lies there, inside the root */
async function requireData({ disk, root }: CatalogEnvironment, place: TableLocation): Promise<void> {
  const [realRoot, real] = [await disk.realPath(root), await disk.realPath(place.directory)];
  if (realRoot === null || real === null || !real.startsWith(realRoot + sep)) {
    throw new InvalidInputError(`location: there is no directory ${place.location} inside the root`);
  }
  if ((await findLatestVersion(disk, place.directory)) !== null) return;
  if (await isReserved(disk, place.directory)) return;
  throw new InvalidInputError(`location: there is no table at ${place.location}`);
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
