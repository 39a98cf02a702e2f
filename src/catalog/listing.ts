/**
 * Lists the names of tables in order, page by page. It sorts the candidates and checks them group by group,
 * so that the cost of a page depends on its length.
 */

import { firstIndex } from "../bytes/search.js";
import { CorruptFileError, InvalidInputError } from "../errors.js";
import { join } from "../platform/native.js";
import { versionsDirectory } from "../table/versions/paths.js";
import { directoryOfRow, rootLocation, rootTableAt } from "./locations/locations.js";
import { isReserved } from "./locations/markers.js";
import type { CatalogEnvironment } from "./rows/catalogEnvironment.js";
import { type Catalog, compareNames } from "./rows/catalogRows.js";
import { readCatalog, requireLiveRoot } from "./rows/catalogTable.js";
import { objectIdOf, pathOf, requireNamespace } from "./rows/objects.js";

/** The requested part of a listing. */
export interface NamePageRequest {
  /** Names up to and including this one are omitted. */
  readonly after: string;
  readonly limit: number;
}

export interface NamePage {
  readonly names: readonly string[];
  /** Last name of the page, if more may follow. */
  readonly pageToken?: string;
}

/** Number of directories that are checked concurrently. */
const PARALLELISM = 16;

/** Number of names from which directories are listed rather than checked one by one. */
const MANY = 64;

/** Returns a page of sorted names that all exist. */
export function pageOf(names: readonly string[], { after, limit }: NamePageRequest): NamePage {
  const start = firstAfter(names, after);
  const end = Math.min(names.length, start + limit);
  const page = names.slice(start, end);
  return end < names.length && page.length > 0
    ? { names: page, pageToken: page[page.length - 1] }
    : { names: page };
}

/** @param names sorted */
const firstAfter = (names: readonly string[], after: string): number =>
  firstIndex(0, names.length, (index) => compareNames(names[index], after) > 0);

/** Returns true if a name belongs on the page; a promise if the disk or a callback must be asked. */
export type Probe = (name: string) => boolean | Promise<boolean>;

/** Returns true if the caller may know of an object; null if everybody may. */
export type Visibility = ((id: readonly string[]) => Promise<boolean>) | null;

/** Returns a page of those sorted names that exist. */
export async function pageOfExisting(
  names: readonly string[],
  { after, limit }: NamePageRequest,
  exists: Probe,
): Promise<NamePage> {
  const kept: string[] = [];
  let position = firstAfter(names, after);
  while (position < names.length && kept.length <= limit) {
    const group: [name: string, answer: boolean | Promise<boolean>][] = [];
    let asked = 0;
    for (; asked < PARALLELISM && position < names.length; position++) {
      const answer = exists(names[position]);
      if (answer === false) continue;
      if (answer !== true) asked++;
      group.push([names[position], answer]);
      if (kept.length + group.length > limit) {
        position++;
        break;
      }
    }
    const answers = asked === 0 ? null : await Promise.all(group.map(([, answer]) => answer));
    for (let index = 0; index < group.length; index++)
      if (answers?.[index] !== false) kept.push(group[index][0]);
  }
  if (kept.length <= limit) return { names: kept };
  return { names: kept.slice(0, limit), pageToken: kept[limit - 1] };
}

/** Combines the checks that a name exists and that the caller may see it. */
function visible(exists: Probe, isVisible: Visibility, idOf: (name: string) => readonly string[]): Probe {
  if (isVisible === null) return exists;
  return async (name) => (await exists(name)) && (await isVisible(idOf(name)));
}

/**
 * Lists the names of the tables in a namespace.
 * @param includeDeclared true if tables without data are listed
 * @throws NamespaceNotFoundError
 */
export async function listTableNames(
  environment: CatalogEnvironment,
  namespace: readonly string[],
  page: NamePageRequest,
  includeDeclared: boolean,
  isVisible: Visibility,
): Promise<NamePage> {
  const idOf = (name: string) => [...namespace, name];
  if (namespace.length === 0) {
    const [names] = await Promise.all([rootTableNames(environment), requireLiveRoot(environment)]);
    const isTable: Probe = (name) => isRootTable(environment, name, includeDeclared);
    return pageOfExisting(names, page, visible(isTable, isVisible, idOf));
  }
  const catalog = await readCatalog(environment);
  requireNamespace(catalog, namespace);
  const names = catalog.childrenOf(objectIdOf(namespace)).tables;
  const exists = await childProbe(environment, catalog, names.length, page, includeDeclared);
  const prefix = objectIdOf([...namespace, "x"]).slice(0, -1);
  return pageOfExisting(
    names,
    page,
    visible((name) => exists(prefix + name), isVisible, idOf),
  );
}

/** Lists the ids of all tables in all namespaces, joined by `$`. */
export async function listAllTableNames(
  environment: CatalogEnvironment,
  page: NamePageRequest,
  includeDeclared: boolean,
  isVisible: Visibility,
): Promise<NamePage> {
  const catalog = await readCatalog(environment);
  const roots = await rootTableNames(environment);
  const children = new Set<string>();
  for (const { objectId, objectType } of catalog.rows) {
    if (objectType === "table" && /^[^$]+(\$[^$]+)+$/.test(objectId)) children.add(objectId);
  }
  const names = [...roots, ...children].sort(compareNames);
  const exists = await childProbe(environment, catalog, children.size, page, includeDeclared);
  const isTable: Probe = (name) =>
    children.has(name) ? exists(name) : isRootTable(environment, name, includeDeclared);
  return pageOfExisting(names, page, visible(isTable, isVisible, pathOf));
}

/** Makes a probe for tables of the catalog by their ids, prepared for a number of candidates. */
async function childProbe(
  environment: CatalogEnvironment,
  catalog: Catalog,
  candidates: number,
  page: NamePageRequest,
  includeDeclared: boolean,
): Promise<Probe> {
  const { disk, root, rootNames } = environment;
  const listsRoot = includeDeclared && Math.min(candidates, page.limit) >= MANY;
  const inRoot = listsRoot ? await rootNames.all() : null;
  return (objectId) => {
    let directory: string;
    try {
      const location = catalog.find(objectId)?.location ?? null;
      if (location !== null && inRoot?.has(location) === true) return true;
      directory = directoryOfRow(root, location, objectId);
    } catch (error) {
      // A damaged row must not hide the others: its name is listed, and using it reports the damage.
      if (error instanceof CorruptFileError) return true;
      throw error;
    }
    if (!includeDeclared) return hasVersions(environment, directory);
    return disk.stat(directory).then((stat) => stat !== null);
  };
}

/**
 * Refuses a root that is not a directory, because an empty list would hide the mistake. A missing root is
 * empty.
 * @throws InvalidInputError
 */
export async function refuseFileAsRoot({ disk, root }: CatalogEnvironment): Promise<void> {
  const stat = await disk.stat(root);
  if (stat === null || stat.kind === "directory") return;
  throw new InvalidInputError(`root: ${root} is not the path of a directory: there is a file`);
}

/** Lists the directories in the root whose names root tables may have, in order. */
async function rootTableNames(environment: CatalogEnvironment): Promise<string[]> {
  const entries = await environment.disk.list(environment.root);
  if (entries === null) await refuseFileAsRoot(environment);
  const names: string[] = [];
  for (const entry of entries ?? []) {
    const name = entry.kind === "directory" ? rootTableAt(entry.name) : null;
    if (name !== null) names.push(name);
  }
  // Names are ASCII, so the order of UTF-16 units is the order of bytes.
  return names.sort();
}

async function isRootTable(
  environment: CatalogEnvironment,
  name: string,
  includeDeclared: boolean,
): Promise<boolean> {
  const { disk, root, rootTables } = environment;
  const directory = join(root, rootLocation(name));
  const state = await rootTables.find(directory);
  if (state === null || state.isHidden) return false;
  if (state.hasVersions || (await hasVersions(environment, directory))) return true;
  return includeDeclared && isReserved(disk, directory);
}

async function hasVersions({ versionsIn }: CatalogEnvironment, directory: string): Promise<boolean> {
  return (await versionsIn.find(versionsDirectory(directory))) === true;
}
