/** Registers tables whose data lies below the root, and deregisters them; the data stays in its directory. */

import { InvalidInputError, TableAlreadyExistsError, TableNotFoundError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import type { Disk } from "../io/disk/disk.js";
import { codeOf } from "../io/disk/errno.js";
import type { Properties } from "../namespace/request.js";
import { join, sep } from "../platform/native.js";
import { findLatestVersion } from "../table/versions/latestVersion.js";
import { guardTable } from "./guardTable.js";
import { refuseNeighbours } from "./locations/foldedNames.js";
import { formerIdsOf, noteFormerId } from "./locations/formerIds.js";
import { checkLocation, directoryAt, directoryOfRow, rootLocation } from "./locations/locations.js";
import { hide, isDropped, unhide } from "./locations/markerChanges.js";
import { isDeregistered, isReserved } from "./locations/markers.js";
import { checkNewLocation, checkNewRootTableName } from "./locations/newLocations.js";
import { isInUse } from "./locations/sharedLocations.js";
import {
  findTable,
  hasDirectory,
  refuseOtherObject,
  requireTable,
  type TableLocation,
  tableRow,
} from "./locations/tables.js";
import type { CatalogEnvironment } from "./rows/catalogEnvironment.js";
import type { CatalogRow } from "./rows/catalogRows.js";
import { changeCatalog } from "./rows/catalogTable.js";
import { encodeProperties, objectIdOf, parentOf, requireNamespace } from "./rows/objects.js";
import { type RemovedTable, removeRootTable, removeTableRow, rowOf } from "./tableRows.js";

export interface RegistrationOptions {
  readonly properties: Properties | undefined;
  /** True to take the id from a table that has it; its data stays, too. */
  readonly overwrite: boolean;
  /** Throws if the caller may not take a table that last had another id. */
  readonly allow: (formerId: readonly string[]) => Promise<void>;
  readonly signal?: AbortSignal;
}

/**
 * Registers a table.
 * @throws InvalidInputError if the location has no table, or is another table's on some file system
 * @throws TableAlreadyExistsError, NamespaceNotFoundError
 */
export async function attachTable(
  environment: CatalogEnvironment,
  id: readonly string[],
  location: string,
  { properties, overwrite, allow, signal }: RegistrationOptions,
): Promise<TableLocation> {
  checkLocation(location);
  const isRoot = id.length === 1;
  const entry = await findTable(environment, id);
  if (entry !== null && !overwrite) {
    throw new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);
  }
  if (isRoot && location !== rootLocation(id[0])) {
    throw new InvalidInputError(`location: a table ${id[0]} of the root lies at ${rootLocation(id[0])}`);
  }
  const isNewName = isRoot && entry === null;
  if (isNewName) checkNewRootTableName(id[0]);
  else if (!isRoot) checkNewLocation(location);
  const tableLocation = { id, location, directory: directoryAt(environment.root, location) };
  const { realLocation, isTable } = await requireData(environment, tableLocation);
  const allowFormer = async (): Promise<void> => {
    for (const former of isRoot ? [] : await formerIdsOf(environment, realLocation)) {
      if (objectIdOf(former) !== objectIdOf(id)) await allow(former);
    }
  };
  // First without the lock, because the callback may be slow. The check under the lock asks about a later
  // id.
  await allowFormer();
  const row = rowOf(id, location, encodeProperties(properties));
  let before: CatalogRow | null = null;
  await changeCatalog(
    environment,
    async (catalog) => {
      requireNamespace(catalog, parentOf(id));
      refuseOtherObject(catalog, id);
      // Root tables are dropped under the lock that this function holds.
      await refuseDropped(environment.disk, tableLocation);
      const present = tableRow(catalog, id);
      const others = catalog.rows.filter((each) => each !== present);
      // A link, or a short name of Windows, may lead to another table's location.
      if (!isRoot && (isInUse(location, others) || isInUse(realLocation, others))) {
        throw new InvalidInputError(`location: ${location} is the location of another table`);
      }
      if (!isRoot && !(await isTable(tableLocation.directory))) throw noTable(tableLocation);
      await allowFormer();
      before = present;
      if (isNewName) {
        await refuseNeighbours(environment, catalog, tableLocation);
        if (!(await isDeregistered(environment.disk, tableLocation.directory)))
          throw await notHidden(environment, tableLocation);
      }
      if (!isRoot) await noteFormerId(environment, tableLocation);
      if (present === null) return { add: [row] };
      if (!overwrite && !isRoot && (await hasDirectory(environment, id, present))) {
        throw new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);
      }
      // The previous table loses the id.
      if (!isRoot && present.location !== location) await noteDisplaced(environment, id, present);
      return { replace: new Map([[objectIdOf(id), row]]) };
    },
    signal,
  );
  if (isNewName) await show(environment, tableLocation, row, isTable, signal);
  // Another caller may have removed the directory, on dropping a table, before the row was visible. If the
  // row has changed since, others have continued from it: the table was registered, and then dropped or
  // renamed.
  else if (!isRoot && !(await isTable(tableLocation.directory)) && (await withdraw(environment, row, before)))
    throw noTable(tableLocation);
  return tableLocation;
}

async function noteDisplaced(
  environment: CatalogEnvironment,
  id: readonly string[],
  { objectId, location }: CatalogRow,
): Promise<void> {
  if (location === null) return;
  const directory = directoryOfRow(environment.root, location, objectId);
  await noteFormerId(environment, { id, location, directory });
}

/** Restores the earlier content of a row; returns false if the row has changed since it was written. */
async function withdraw(
  environment: CatalogEnvironment,
  { objectId, location, metadata }: CatalogRow,
  before: CatalogRow | null,
): Promise<boolean> {
  let isOurs = false;
  await changeCatalog(environment, (catalog) => {
    const present = catalog.find(objectId);
    isOurs = present?.location === location && present.metadata === metadata;
    if (!isOurs) return null;
    return before === null ? { remove: new Set([objectId]) } : { replace: new Map([[objectId, before]]) };
  });
  return isOurs;
}

/**
 * Shows a hidden root table. Of several callers that do so, one wins. The winner makes sure that the row is
 * its own.
 * @throws TableAlreadyExistsError if another caller was first, InvalidInputError if the table is gone
 */
async function show(
  environment: CatalogEnvironment,
  location: TableLocation,
  row: CatalogRow,
  isTable: (directory: string) => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  let isShown = false;
  await changeCatalog(
    environment,
    async (catalog) => {
      if (!isShown) {
        const showing = await unhide(environment.disk, location.directory, isTable);
        if (showing === "taken") throw await notHidden(environment, location);
        // Others have continued from the table. A row of that name belongs to a table that they made.
        if (showing === "gone") return null;
        isShown = true;
      }
      const present = tableRow(catalog, location.id);
      if (present === null) return { add: [row] };
      if (present.location === row.location && present.metadata === row.metadata) return null;
      return { replace: new Map([[present.objectId, row]]) };
    },
    signal,
  );
}

/** Returns the error for a root table that turned out not to be hidden. */
async function notHidden(environment: CatalogEnvironment, location: TableLocation): Promise<Error> {
  const entry = await findTable(environment, location.id);
  if (entry === null) return noTable(location);
  return new TableAlreadyExistsError(`table ${formatIdentifier(location.id)} already exists`);
}

interface RegistrableData {
  /** Location without symbolic links. */
  readonly realLocation: string;
  /** Returns true if the directory lies under a path. */
  readonly isTable: (directory: string) => Promise<boolean>;
}

/** @throws InvalidInputError unless a table lies there, inside the root */
async function requireData(
  environment: CatalogEnvironment,
  location: TableLocation,
): Promise<RegistrableData> {
  const { disk, root } = environment;
  const [realRoot, real] = [await disk.realPath(root), await disk.realPath(location.directory)];
  const isInside = realRoot !== null && real?.startsWith(realRoot + sep) === true;
  if (!isInside || !(await isSpelledSo(environment, location))) {
    throw new InvalidInputError(`location: there is no directory ${location.location} inside the root`);
  }
  const realLocation = real
    .slice(realRoot.length + 1)
    .split(sep)
    .join("/");
  checkLocation(realLocation);
  await refuseDropped(disk, location);
  const latest = await findLatestVersion({ disk, root: location.directory });
  if (latest === null && !(await isReserved(disk, location.directory))) throw noTable(location);
  return { realLocation, isTable: await guardTable(disk, { ...location, latest }) };
}

const noTable = ({ location }: TableLocation): InvalidInputError =>
  new InvalidInputError(`location: there is no table at ${location}`);

/** @throws InvalidInputError if only the orphans of a dropped table lie there */
async function refuseDropped(disk: Disk, location: TableLocation): Promise<void> {
  if (await isDropped(disk, location.directory)) throw noTable(location);
}

/** Returns true if an existing location has exactly this spelling, as case-sensitive disks need. */
async function isSpelledSo({ root, spelling }: CatalogEnvironment, { location }: TableLocation) {
  let parent = root;
  for (const name of location.split("/")) {
    if (!(await spelling.isExact(parent, name))) return false;
    parent = join(parent, name);
  }
  return true;
}

/**
 * Deregisters a table. A root table is hidden, because its directory would still be listed.
 * @throws TableNotFoundError, NamespaceNotFoundError
 */
export async function detachTable(
  environment: CatalogEnvironment,
  id: readonly string[],
  signal?: AbortSignal,
): Promise<TableLocation & RemovedTable> {
  const { disk } = environment;
  const entry = await requireTable(environment, id);
  const { location, directory } = entry;
  const tableLocation = { id, location, directory };
  if (id.length > 1) {
    await noteFormerId(environment, tableLocation);
    const { properties } = await removeTableRow(environment, tableLocation, signal);
    return { ...tableLocation, properties };
  }
  const isTable = await guardTable(disk, entry);
  const vanish = async () => {
    try {
      return await hide(disk, directory, isTable);
    } catch (error) {
      if (codeOf(error) === "ENOENT") {
        throw new TableNotFoundError(`table ${formatIdentifier(id)} does not exist`, { cause: error });
      }
      throw error;
    }
  };
  const { properties } = await removeRootTable(environment, tableLocation, vanish, signal);
  return { ...tableLocation, properties };
}
