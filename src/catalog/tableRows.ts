/** Adds tables to the catalog and removes them, each by one change of a row. */

import { ConcurrentModificationError, TableAlreadyExistsError, TableNotFoundError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import { PublishUncertainError } from "../io/publish.js";
import type { Properties } from "../namespace/request.js";
import { refuseNeighbours } from "./locations/foldedNames.js";
import { claimLocation } from "./locations/placement.js";
import { discardDirectory, sweepDropped } from "./locations/removal.js";
import { isUnshared } from "./locations/sharedLocations.js";
import { hasDirectory, refuseOtherObject, type TableLocation, tableRow } from "./locations/tables.js";
import type { CatalogEnvironment } from "./rows/catalogEnvironment.js";
import type { Catalog, CatalogChange, CatalogRow } from "./rows/catalogRows.js";
import { type CatalogPlan, changeCatalog, readCatalog } from "./rows/catalogTable.js";
import {
  decodeProperties,
  encodeProperties,
  objectIdOf,
  parentOf,
  requireNamespace,
} from "./rows/objects.js";

/**
 * Writes the row of a table that is being made, unless the row exists. Also makes a root table's directory,
 * and removes it again if the row is refused.
 * @param refuse throws if a table exists; called under the catalog's lock
 * @throws NamespaceNotFoundError if the parent is gone, TableAlreadyExistsError if the id exists
 * @throws InvalidInputError if the name of a root table folds together with another's
 */
export async function publishTable(
  environment: CatalogEnvironment,
  location: TableLocation,
  properties: Properties,
  signal?: AbortSignal,
  refuse?: () => Promise<void>,
): Promise<void> {
  if (location.id.length > 1) return republishTable(environment, location, properties, signal);
  const isMade = await claimLocation(environment, location);
  try {
    await publishClaimed(environment, location, properties, signal, refuse);
  } catch (error) {
    // If the row may exist, its directory must stay: together they claim the name.
    if (isMade && !(error instanceof PublishUncertainError)) {
      await environment.disk.removeEmptyDirectory(location.directory).catch(() => false);
    }
    throw error;
  }
}

/** Like {@link publishTable}, for a root table whose directory is claimed and exists. */
export async function publishClaimed(
  environment: CatalogEnvironment,
  location: TableLocation,
  properties: Properties,
  signal?: AbortSignal,
  refuse?: () => Promise<void>,
): Promise<void> {
  const publication = publicationOf(environment, location, properties);
  const plan: CatalogPlan = async (catalog) => {
    await refuseNeighbours(environment, catalog, location);
    await refuse?.();
    return publication(catalog);
  };
  await changeCatalog(environment, plan, signal);
}

/**
 * Makes sure that an existing table has its row.
 * @param properties undefined keeps those of the row
 */
export async function republishTable(
  environment: CatalogEnvironment,
  location: TableLocation,
  properties: Properties | undefined,
  signal?: AbortSignal,
): Promise<void> {
  await changeCatalog(environment, publicationOf(environment, location, properties), signal);
}

function publicationOf(
  environment: CatalogEnvironment,
  { id, location }: TableLocation,
  properties: Properties | undefined,
): (catalog: Catalog) => Promise<CatalogChange | null> {
  return async (catalog) => {
    requireNamespace(catalog, parentOf(id));
    refuseOtherObject(catalog, id);
    const present = tableRow(catalog, id);
    const metadata = properties === undefined ? (present?.metadata ?? null) : encodeProperties(properties);
    if (present === null) return { add: [rowOf(id, location, metadata)] };
    if (present.location === location && present.metadata === metadata) return null;
    if (present.location !== location && (await hasDirectory(environment, id, present))) {
      throw new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);
    }
    return { replace: new Map([[present.objectId, rowOf(id, location, metadata)]]) };
  };
}

export const rowOf = (id: readonly string[], location: string, metadata: string | null): CatalogRow => ({
  objectId: objectIdOf(id),
  objectType: "table",
  location,
  metadata,
});

/**
 * Like {@link publishTable}, for a child namespace's table whose directory was just made. If the table is not
 * published, the directory is removed, unless another table uses it now.
 * @param refuse throws if another table exists; called under the catalog's lock
 * @throws ConcurrentModificationError if the directory was removed as abandoned
 */
export async function publishNewTable(
  environment: CatalogEnvironment,
  location: TableLocation,
  properties: Properties | undefined,
  signal?: AbortSignal,
  refuse?: () => Promise<void>,
): Promise<void> {
  const { disk } = environment;
  const publication = publicationOf(environment, location, properties);
  const plan: CatalogPlan = async (catalog) => {
    await refuse?.();
    // Checked under the lock that protects orphans from removal.
    if ((await disk.stat(location.directory)) !== null) return publication(catalog);
    throw new ConcurrentModificationError(`${location.directory} was removed before the table was published`);
  };
  try {
    await changeCatalog(environment, plan, signal);
  } catch (error) {
    // If the row may exist, its directory must stay. A directory that remains is an orphan, to which nothing
    // refers.
    if (!(error instanceof PublishUncertainError)) {
      const isNobodys = async () =>
        isUnshared(environment, location.location, (await readCatalog(environment)).rows);
      await discardDirectory(environment, location.directory, isNobodys).catch(() => undefined);
      await sweepDropped(environment);
    }
    throw error;
  }
}

export interface RemovedTable {
  readonly properties: Properties;
}

export const tableNotFound = (id: readonly string[], cause?: unknown): TableNotFoundError =>
  new TableNotFoundError(`table ${formatIdentifier(id)} does not exist`, { cause });

/**
 * Removes a root table: first its directory, which is the commit point, then its row. A row that remains
 * means nothing.
 * @param vanish makes the table vanish; returns false if another caller was first
 * @throws TableNotFoundError if another caller was first
 */
export async function removeRootTable(
  environment: CatalogEnvironment,
  { id, location }: TableLocation,
  vanish: (catalog: Catalog) => Promise<boolean>,
  signal?: AbortSignal,
): Promise<RemovedTable> {
  let vanished = false;
  let properties: Properties = {};
  const plan = async (catalog: Catalog): Promise<CatalogChange | null> => {
    const row = tableRow(catalog, id);
    const isOurs = row !== null && row.location === location;
    if (!vanished) {
      if (isOurs) properties = decodeProperties(row);
      if (!(await vanish(catalog))) throw tableNotFound(id);
      vanished = true;
    }
    return isOurs ? { remove: new Set([row.objectId]) } : null;
  };
  try {
    await changeCatalog(environment, plan, signal);
  } catch (error) {
    if (!vanished) throw error;
  }
  return { properties };
}

/**
 * Removes the row of a child namespace's table, which is the commit point of its removal.
 * @returns the properties, and true if no other table uses the directory
 * @throws TableNotFoundError if another caller was first
 */
export async function removeTableRow(
  environment: CatalogEnvironment,
  { id, location }: TableLocation,
  signal?: AbortSignal,
): Promise<RemovedTable & { readonly ownsDirectory: boolean }> {
  let removed: RemovedTable & { ownsDirectory: boolean } = { properties: {}, ownsDirectory: false };
  await changeCatalog(
    environment,
    async (catalog) => {
      const row = tableRow(catalog, id);
      if (row === null || row.location !== location) throw tableNotFound(id);
      const others = catalog.rows.filter((each) => each !== row);
      const ownsDirectory = await isUnshared(environment, location, others);
      removed = { properties: decodeProperties(row), ownsDirectory };
      return { remove: new Set([row.objectId]) };
    },
    signal,
  );
  return removed;
}
