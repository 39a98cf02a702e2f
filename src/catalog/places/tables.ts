/**
 * Which tables there are, and where.
 *
 * - A table of the root is the directory `<name>.lance`: it exists when that holds versions or a reservation
 *   marker, and is hidden by a deregistration marker. Its catalog row is for the reference, and for
 *   properties.
 * - A table of another namespace exists when it has a catalog row and the directory that the row names. A row
 *   without the directory means nothing: a crash left it of a change that did not come to pass.
 */

import { TableAlreadyExistsError, TableNotFoundError } from "../../errors.js";
import { checkObjectName, checkRootTableName, formatIdentifier } from "../../ident.js";
import { join } from "../../platform/native.js";
import type { LatestVersion } from "../../table/versions/versions.js";
import type { Catalog, CatalogRow } from "../rows/catalogRows.js";
import { type CatalogEnvironment, readCatalog, requireLiveRoot } from "../rows/catalogTable.js";
import { decodeProperties, objectIdOf, parentOf, requireNamespace } from "../rows/objects.js";
import { directoryOfRow, rootLocation } from "./locations.js";
import { isDeregistered, isReserved } from "./markers.js";

/** The place of a table, whether or not the table exists. */
export interface TableLocation {
  readonly id: readonly string[];
  /** Relative to the namespace's directory. */
  readonly location: string;
  /** Absolute path of the table's directory. */
  readonly directory: string;
}

/** A table that exists. */
export interface TableEntry extends TableLocation {
  /** Null while the table is only declared. A version before the latest where any was asked for. */
  readonly latest: LatestVersion | null;
  /**
   * The row that makes it a table, in child namespaces; null for a root table, whose row is not looked at.
   */
  readonly row: CatalogRow | null;
}

/**
 * Which version of a table is looked for: the latest, or any, which is cheaper and tells that the table
 * exists.
 */
export type WantedVersion = "latest" | "any";

/**
 * The table of an id, or null where its namespace has none of that name.
 * @param known the catalog as it was a moment ago; read where it is absent and needed
 * @throws InvalidInputError for an illegal name, NamespaceNotFoundError where a parent does not exist
 */
export async function findTable(
  environment: CatalogEnvironment,
  id: readonly string[],
  wanted: WantedVersion = "latest",
  known?: Catalog,
): Promise<TableEntry | null> {
  if (id.length === 1) return findRootTable(environment, id, wanted);
  const catalog = known ?? (await readCatalog(environment));
  const row = tableRow(catalog, id);
  if (row !== null) return findAt(environment, locationOf(environment, id, row), row, wanted);
  checkObjectName(id[id.length - 1]);
  requireNamespace(catalog, parentOf(id));
  return null;
}

/**
 * @throws TableNotFoundError where none exists, and what {@link findTable} and {@link requireLiveRoot} throw
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
 * Makes sure that a table that was found is still known as a table. It may have another id by now.
 * @throws TableNotFoundError
 */
export async function requireKnown(environment: CatalogEnvironment, entry: TableEntry): Promise<void> {
  const { id, location, directory } = entry;
  const isKnown =
    id.length === 1
      ? !(await isDeregistered(environment.disk, directory))
      : (await readCatalog(environment)).rows.some(
          (row) => row.objectType === "table" && row.location === location,
        );
  if (!isKnown) throw new TableNotFoundError(`table ${formatIdentifier(id)} was dropped by another writer`);
}

async function findRootTable(
  environment: CatalogEnvironment,
  id: readonly string[],
  wanted: WantedVersion,
): Promise<TableEntry | null> {
  const { disk } = environment;
  const location = rootPlace(environment, id);
  const [latest, hidden] = await Promise.all([
    findWanted(environment, location.directory, wanted),
    isDeregistered(disk, location.directory),
  ]);
  if (hidden) return null;
  if (latest === null) {
    const isThere = await isDirectory(environment, location.directory);
    if (!isThere || !(await isReserved(disk, location.directory))) return null;
  }
  // On a disk that ignores case, this is another table.
  if (!(await isSpelledSo(environment, location.location))) return null;
  return { ...location, latest, row: null };
}

/** True if an entry that was found in the namespace's directory has exactly that name. */
const isSpelledSo = ({ root, spelling, rootNames }: CatalogEnvironment, name: string): Promise<boolean> =>
  spelling.isExact(root, name, () => rootNames.all());

/** A table of a child namespace, if its directory is there. */
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

/** The row that makes the id a table, or null; rows of other objects don't count. */
export function tableRow(catalog: Catalog, id: readonly string[]): CatalogRow | null {
  const row = catalog.find(objectIdOf(id));
  return row?.objectType === "table" ? row : null;
}

/** @throws CorruptFileError where the row's location is invalid */
export function locationOf(
  environment: CatalogEnvironment,
  id: readonly string[],
  row: CatalogRow,
): TableLocation {
  const directory = directoryOfRow(environment.root, row.location, row.objectId);
  return { id, location: row.location ?? "", directory };
}

export function rootPlace(environment: CatalogEnvironment, id: readonly string[]): TableLocation {
  const [name] = id;
  checkRootTableName(name);
  const location = rootLocation(name);
  return { id, location, directory: join(environment.root, location) };
}

/** @throws TableAlreadyExistsError where the id is that of a namespace, or of an object of another engine */
export function refuseOtherObject(catalog: Catalog, id: readonly string[]): void {
  const row = catalog.find(objectIdOf(id));
  if (row === null || row.objectType === "table") return;
  throw new TableAlreadyExistsError(`${formatIdentifier(id)} is the id of a ${row.objectType.slice(0, 40)}`);
}

/** True if the directory that a table's row names is there. */
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
 * The properties of a table that exists.
 * @throws CorruptFileError where they are damaged
 */
export async function readTableProperties(
  environment: CatalogEnvironment,
  { id, location, row: known }: TableEntry,
): Promise<Record<string, string>> {
  const row = known ?? tableRow(await readCatalog(environment), id);
  return row === null || row.location !== location ? {} : decodeProperties(row);
}
