/** Makes and drops namespaces, which are rows of the catalog and nothing else. */

import {
  InternalError,
  NamespaceAlreadyExistsError,
  NamespaceNotEmptyError,
  NamespaceNotFoundError,
  TableAlreadyExistsError,
} from "../errors.js";
import { checkNamespaceName, formatIdentifier, isRootTableName } from "../ident.js";
import { tellFailure } from "../io/disk/diskErrors.js";
import type { Properties } from "../namespace/request.js";
import { directoryOfRow } from "./locations/locations.js";
import { isDeregistered } from "./locations/markers.js";
import { clearLocation } from "./locations/orphans.js";
import { discardDirectory, sweepDropped } from "./locations/removal.js";
import { isUnshared } from "./locations/sharedLocations.js";
import { findTable, hasDirectory, rootTableLocation, tableRow } from "./locations/tables.js";
import type { CatalogEnvironment } from "./rows/catalogEnvironment.js";
import type { Catalog, CatalogRow } from "./rows/catalogRows.js";
import { changeCatalog, readCatalog } from "./rows/catalogTable.js";
import {
  decodeProperties,
  encodeProperties,
  findNamespace,
  namespaceNotFound,
  objectIdOf,
  parentOf,
  pathOf,
  requireNamespace,
} from "./rows/objects.js";

/** `existOk` leaves an existing namespace as it is; `overwrite` replaces an empty one. */
export type CreationMode = "fail" | "existOk" | "overwrite";

/**
 * Makes a namespace.
 * @returns the namespace's properties
 * @throws NamespaceNotFoundError if the parent does not exist, NamespaceAlreadyExistsError if the id exists
 * @throws NamespaceNotEmptyError if `overwrite` would replace a namespace that contains something
 */
export async function addNamespace(
  environment: CatalogEnvironment,
  path: readonly string[],
  properties: Properties | undefined,
  mode: CreationMode,
  signal?: AbortSignal,
): Promise<Properties> {
  if (path.length === 0) throw new NamespaceAlreadyExistsError("the root namespace always exists");
  checkNamespaceName(path[path.length - 1]);
  const row: CatalogRow = {
    objectId: objectIdOf(path),
    objectType: "namespace",
    location: null,
    metadata: encodeProperties(properties),
  };
  let result: Properties = properties ?? {};
  if (path.length === 1 && isRootTableName(path[0])) await clearClaim(environment, path, signal);
  await changeCatalog(
    environment,
    async (catalog) => {
      requireNamespace(catalog, parentOf(path));
      const present = catalog.find(row.objectId);
      if (present?.objectType !== "namespace") {
        await refuseTable(environment, path, present);
        return present === null ? { add: [row] } : { replace: new Map([[row.objectId, row]]) };
      }
      if (mode === "existOk") {
        result = decodeProperties(present);
        return null;
      }
      if (mode === "fail") {
        throw new NamespaceAlreadyExistsError(`namespace ${formatIdentifier(path)} already exists`);
      }
      const left = await leftBelow(environment, catalog, path);
      if (left !== null) throw notEmpty(path, left);
      return {
        replace: new Map([[row.objectId, row]]),
        remove: new Set(catalog.rowsBelow(row.objectId).map(({ objectId }) => objectId)),
      };
    },
    signal,
  );
  return result;
}

/** Removes the orphans of a root table's creation, unless they may still become a table. */
async function clearClaim(
  environment: CatalogEnvironment,
  path: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const row = tableRow(await readCatalog(environment), path);
  if (row === null || !(await hasDirectory(environment, path, row))) return;
  try {
    await clearLocation(environment, rootTableLocation(environment, path), signal);
  } catch (error) {
    if (!(error instanceof TableAlreadyExistsError)) throw error;
  }
}

/**
 * Refuses the id of a table, because tables and namespaces share their ids. A table's row without a directory
 * does not count. A row with a directory but no table in it belongs to a table that is being made.
 * @throws NamespaceAlreadyExistsError
 */
async function refuseTable(
  environment: CatalogEnvironment,
  path: readonly string[],
  row: CatalogRow | null,
): Promise<void> {
  const refuse = (kind: string): never => {
    throw new NamespaceAlreadyExistsError(`${formatIdentifier(path)} is the id of a ${kind}`);
  };
  if (row !== null && row.objectType !== "table") refuse(row.objectType.slice(0, 40));
  const isTable =
    path.length > 1
      ? row !== null && (await hasDirectory(environment, path, row))
      : isRootTableName(path[0]) && (await isTakenInRoot(environment, path, row));
  if (isTable) refuse("table");
}

async function isTakenInRoot(
  environment: CatalogEnvironment,
  path: readonly string[],
  row: CatalogRow | null,
): Promise<boolean> {
  if ((await findTable(environment, path)) !== null) return true;
  if (row === null || !(await hasDirectory(environment, path, row))) return false;
  return !(await isDeregistered(environment.disk, rootTableLocation(environment, path).directory));
}

export interface DropOptions {
  /** True to drop all nested objects as well, with the data of their tables. */
  readonly cascade: boolean;
  /** True if a missing namespace is not an error. */
  readonly skipMissing: boolean;
  /** Throws if a nested object may not be dropped; called for each, and again under the lock. */
  readonly allow: (objectType: string, id: readonly string[]) => Promise<void>;
}

/**
 * Removes a namespace in one step.
 * @returns its properties, or null if it did not exist
 * @throws NamespaceNotFoundError, NamespaceNotEmptyError; InternalError if it was dropped and files of tables
 *   remain
 */
export async function removeNamespace(
  environment: CatalogEnvironment,
  path: readonly string[],
  { cascade, skipMissing, allow }: DropOptions,
  signal?: AbortSignal,
): Promise<Properties | null> {
  let properties: Properties | null = null;
  let doomed: DoomedDirectory[] = [];
  const allowAll = async (rows: readonly CatalogRow[]): Promise<void> => {
    for (const { objectType, objectId } of rows) await allow(objectType, pathOf(objectId));
  };
  // First without the lock, because the callback may be slow. Under the lock only new objects are asked
  // about.
  if (cascade) await allowAll((await readCatalog(environment)).rowsBelow(objectIdOf(path)));
  await changeCatalog(
    environment,
    async (catalog) => {
      const row = findNamespace(catalog, path);
      if (row === null) {
        const reason = namespaceNotFound(path);
        if (skipMissing && reason instanceof NamespaceNotFoundError) return null;
        throw reason;
      }
      properties = decodeProperties(row);
      const below = catalog.rowsBelow(row.objectId);
      if (!cascade) {
        const left = await leftBelow(environment, catalog, path);
        if (left !== null) throw notEmpty(path, left);
      } else {
        await allowAll(below);
      }
      const remove = new Set([row, ...below].map(({ objectId }) => objectId));
      doomed = await directoriesOf(environment, catalog, remove);
      return { remove };
    },
    signal,
  );
  if (doomed.length > 0) await discardAll(environment, path, doomed);
  return properties;
}

/** @throws InternalError if directories remain; the namespace is dropped already */
async function discardAll(
  environment: CatalogEnvironment,
  path: readonly string[],
  doomed: readonly DoomedDirectory[],
): Promise<void> {
  const failures: unknown[] = [];
  for (const { location, directory } of doomed) {
    const isDoomed = async () => isUnshared(environment, location, (await readCatalog(environment)).rows);
    await discardDirectory(environment, directory, isDoomed).catch((error: unknown) => failures.push(error));
  }
  await sweepDropped(environment);
  if (failures.length === 0) return;
  throw new InternalError(
    `namespace ${formatIdentifier(path)} was dropped, but the files of ${failures.length} of its tables stay: ${tellFailure(failures[0])}`,
    { cause: failures[0] },
  );
}

/** A directory that is removed with its row. */
interface DoomedDirectory {
  readonly location: string;
  readonly directory: string;
}

/** Returns the directories that only the removed rows use. */
async function directoriesOf(
  environment: CatalogEnvironment,
  catalog: Catalog,
  removed: ReadonlySet<string>,
): Promise<DoomedDirectory[]> {
  const others = catalog.rows.filter((row) => !removed.has(row.objectId));
  const directories: DoomedDirectory[] = [];
  for (const row of catalog.rows) {
    if (row.objectType !== "table" || !removed.has(row.objectId)) continue;
    const directory = directoryOfRow(environment.root, row.location, row.objectId);
    const { location } = row;
    if (location !== null && (await isUnshared(environment, location, others))) {
      directories.push({ location, directory });
    }
  }
  return directories;
}

/** Returns the id of an object below a namespace, or null. */
async function leftBelow(
  environment: CatalogEnvironment,
  catalog: Catalog,
  path: readonly string[],
): Promise<string | null> {
  for (const row of catalog.rowsBelow(objectIdOf(path))) {
    if (row.objectType !== "table") return row.objectId;
    if (await hasDirectory(environment, pathOf(row.objectId), row)) return row.objectId;
  }
  return null;
}

const notEmpty = (path: readonly string[], left: string): NamespaceNotEmptyError =>
  new NamespaceNotEmptyError(`namespace ${formatIdentifier(path)} is not empty: it holds ${left}`);
