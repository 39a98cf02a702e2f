/**
 * Finds tables.
 *
 * - A root table is the directory `<name>.lance`. It exists if the directory contains versions or a
 *   reservation marker, and is hidden by a deregistration marker. Its catalog row serves the reference, and
 *   holds properties.
 * - A table of another namespace exists if it has a catalog row and the directory that the row names. A row
 *   without its directory means nothing: a crash interrupted a change.
 */

import { lazyModule } from "../../async/lazy.js";
import { TableAlreadyExistsError, TableNotFoundError } from "../../errors.js";
import { checkObjectName, checkRootTableName, formatIdentifier } from "../../ident.js";
import { join } from "../../platform/native.js";
import { versionsDirectory } from "../../table/versions/paths.js";
import type { LatestVersion } from "../../table/versions/versions.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import type { Catalog, CatalogRow } from "../rows/catalogRows.js";
import { decodeProperties, objectIdOf, parentOf, requireNamespace } from "../rows/objects.js";
import { directoryOfRow, rootLocation } from "./locations.js";
import { isDeregistered, isReserved } from "./markers.js";

/** The first look at the catalog loads this module. A root table is found without one. */
const catalogTable = lazyModule(() => import("../rows/catalogTable.js"));

/** Waits for the module only if it is not loaded. */
const readCatalog = (environment: CatalogEnvironment): Promise<Catalog> =>
  catalogTable.current?.readCatalog(environment) ??
  catalogTable.get().then((module) => module.readCatalog(environment));

const requireLiveRoot = async (environment: CatalogEnvironment): Promise<void> =>
  (await catalogTable.get()).requireLiveRoot(environment);

/** Location of a table, which may not exist. */
export interface TableLocation {
  readonly id: readonly string[];
  /** Directory relative to the namespace's. */
  readonly location: string;
  /** Absolute path of the table's directory. */
  readonly directory: string;
}

export interface TableEntry extends TableLocation {
  /** Latest version, or any version if any was asked for; null if the table is only declared. */
  readonly latest: LatestVersion | null;
  /** Row of a child namespace's table; null for a root table, which does not need one. */
  readonly row: CatalogRow | null;
}

/** Version to look for: the latest, or any, which is cheaper and shows that the table exists. */
export type WantedVersion = "latest" | "any";

/**
 * Finds a table by id; null if it does not exist.
 * @param recentCatalog current catalog; absent: it is read when needed
 * @throws InvalidInputError for an illegal name, NamespaceNotFoundError if a parent does not exist
 */
export async function findTable(
  environment: CatalogEnvironment,
  id: readonly string[],
  wanted: WantedVersion = "latest",
  recentCatalog?: Catalog,
): Promise<TableEntry | null> {
  if (id.length === 1) return await findRootTable(environment, id, wanted);
  const catalog = recentCatalog ?? (await readCatalog(environment));
  const row = tableRow(catalog, id);
  if (row !== null) return findAt(environment, locationOf(environment, id, row), row, wanted);
  checkObjectName(id[id.length - 1]);
  requireNamespace(catalog, parentOf(id));
  return null;
}

/**
 * @throws TableNotFoundError if it does not exist, and the errors of {@link findTable} and
 *   `requireLiveRoot`
 */
export async function requireTable(
  environment: CatalogEnvironment,
  id: readonly string[],
  wanted: WantedVersion = "latest",
): Promise<TableEntry> {
  const entry = await findTable(environment, id, wanted);
  if (entry !== null) return entry;
  await requireLiveRoot(environment);
  throw new TableNotFoundError(`table ${formatIdentifier(id)} does not exist`);
}

/**
 * Returns the directory of a table without a look at its versions.
 * @throws TableNotFoundError, NamespaceNotFoundError; InvalidInputError for an illegal name
 */
export async function requireTableDirectory(
  environment: CatalogEnvironment,
  id: readonly string[],
): Promise<string> {
  const directory = await (id.length === 1
    ? rootTableDirectory(environment, id)
    : childTableDirectory(environment, id));
  if (directory !== null) return directory;
  await requireLiveRoot(environment);
  throw new TableNotFoundError(`table ${formatIdentifier(id)} does not exist`);
}

async function rootTableDirectory(
  environment: CatalogEnvironment,
  id: readonly string[],
): Promise<string | null> {
  const { directory, location } = rootTableLocation(environment, id);
  if (!(await isDirectory(environment, versionsDirectory(directory)))) return null;
  if (await isDeregistered(environment.disk, directory)) return null;
  return (await isSpelledSo(environment, location)) ? directory : null;
}

async function childTableDirectory(
  environment: CatalogEnvironment,
  id: readonly string[],
): Promise<string | null> {
  const catalog = await readCatalog(environment);
  const row = tableRow(catalog, id);
  if (row === null) {
    checkObjectName(id[id.length - 1]);
    requireNamespace(catalog, parentOf(id));
    return null;
  }
  const { directory } = locationOf(environment, id, row);
  return (await isDirectory(environment, directory)) ? directory : null;
}

/**
 * Checks that an entry's directory still belongs to a table, possibly under another id.
 * @throws TableNotFoundError
 */
export async function requireStillTable(environment: CatalogEnvironment, entry: TableEntry): Promise<void> {
  const { id, location, directory } = entry;
  const isStillTable =
    id.length === 1
      ? !(await isDeregistered(environment.disk, directory))
      : (await readCatalog(environment)).rows.some(
          (row) => row.objectType === "table" && row.location === location,
        );
  if (!isStillTable)
    throw new TableNotFoundError(`table ${formatIdentifier(id)} was dropped by another writer`);
}

async function findRootTable(
  environment: CatalogEnvironment,
  id: readonly string[],
  wanted: WantedVersion,
): Promise<TableEntry | null> {
  const { disk } = environment;
  const { directory, location } = rootTableLocation(environment, id);
  const [latest, hidden] = await Promise.all([
    findWanted(environment, directory, wanted),
    isDeregistered(disk, directory),
  ]);
  if (hidden) return null;
  if (latest === null) {
    const isThere = await isDirectory(environment, directory);
    if (!isThere || !(await isReserved(disk, directory))) return null;
  }
  // On a disk that ignores case, this is another table.
  const isSpelled = isSpelledSo(environment, location);
  if (isSpelled !== true && !(await isSpelled)) return null;
  return { id, directory, location, latest, row: null };
}

/** Returns true if an existing entry of the namespace's directory has exactly that name. */
const isSpelledSo = ({ root, spelling, rootNames }: CatalogEnvironment, name: string) =>
  spelling.isExact(root, name, () => rootNames.all());

/** Finds a child namespace's table, if its directory exists. */
async function findAt(
  environment: CatalogEnvironment,
  location: TableLocation,
  row: CatalogRow,
  wanted: WantedVersion,
): Promise<TableEntry | null> {
  const latest = await findWanted(environment, location.directory, wanted);
  if (latest === null && !(await isDirectory(environment, location.directory))) return null;
  return { ...location, latest, row };
}

const findWanted = (
  { latestVersions }: CatalogEnvironment,
  directory: string,
  wanted: WantedVersion,
): Promise<LatestVersion | null> =>
  wanted === "latest" ? latestVersions.find(directory) : latestVersions.findAny(directory);

/** Returns the row of a table, or null; rows of other objects do not count. */
export function tableRow(catalog: Catalog, id: readonly string[]): CatalogRow | null {
  const row = catalog.find(objectIdOf(id));
  return row?.objectType === "table" ? row : null;
}

/** @throws CorruptFileError if the row's location is invalid */
export function locationOf(
  environment: CatalogEnvironment,
  id: readonly string[],
  row: CatalogRow,
): TableLocation {
  const directory = directoryOfRow(environment.root, row.location, row.objectId);
  return { id, location: row.location ?? "", directory };
}

export function rootTableLocation(environment: CatalogEnvironment, id: readonly string[]): TableLocation {
  const [name] = id;
  checkRootTableName(name);
  const location = rootLocation(name);
  return { id, location, directory: join(environment.root, location) };
}

/** @throws TableAlreadyExistsError if the id belongs to a namespace, or to another engine's object */
export function refuseOtherObject(catalog: Catalog, id: readonly string[]): void {
  const row = catalog.find(objectIdOf(id));
  if (row === null || row.objectType === "table") return;
  throw new TableAlreadyExistsError(`${formatIdentifier(id)} is the id of a ${row.objectType.slice(0, 40)}`);
}

/** Returns true if the directory that a table's row names exists. */
export async function hasDirectory(
  environment: CatalogEnvironment,
  id: readonly string[],
  row: CatalogRow,
): Promise<boolean> {
  return isDirectory(environment, locationOf(environment, id, row).directory);
}

const isDirectory = async ({ disk }: CatalogEnvironment, path: string): Promise<boolean> =>
  (await disk.stat(path))?.kind === "directory";

/**
 * Reads the properties of an existing table.
 * @throws CorruptFileError if they are damaged
 */
export async function readTableProperties(
  environment: CatalogEnvironment,
  { id, location, row: entryRow }: TableEntry,
): Promise<Record<string, string>> {
  const row = entryRow ?? tableRow(await readCatalog(environment), id);
  return row === null || row.location !== location ? {} : decodeProperties(row);
}
