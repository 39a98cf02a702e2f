/** Decides which unfinished batches block an operation: those that change what it reads or changes. */

import { NamespaceError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { sep } from "../../platform/native.js";
import { directoryAt, rootLocation, rootTableAt } from "../locations/locations.js";
import { tableRow } from "../locations/tables.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import type { Catalog } from "../rows/catalogRows.js";
import { readCatalog } from "../rows/catalogTable.js";
import { pathOf } from "../rows/objects.js";
import type { BatchNames } from "./journalFormat.js";

export type BatchScope =
  | {
      /** Some tables, which need not exist. */
      readonly kind: "tables";
      readonly ids?: readonly (readonly string[])[];
      /** Directories of tables or branches. */
      readonly directories?: readonly string[];
    }
  | {
      /** The tables of a namespace. */
      readonly kind: "namespace";
      readonly path: readonly string[];
      /** True if the tables of nested namespaces count, too. */
      readonly isDeep: boolean;
    }
  | { readonly kind: "everything" };

/** Returns true if a batch that changes the named tables changes anything in a scope. */
export async function isConcerned(
  environment: CatalogEnvironment,
  names: BatchNames,
  scope: BatchScope,
): Promise<boolean> {
  switch (scope.kind) {
    case "everything":
      return true;
    case "namespace":
      return isWithin(environment, names, scope.path, scope.isDeep);
    case "tables":
      return areConcerned(environment, names, scope.ids ?? [], scope.directories ?? []);
  }
}

async function isWithin(
  environment: CatalogEnvironment,
  { ids, locations }: BatchNames,
  path: readonly string[],
  isDeep: boolean,
): Promise<boolean> {
  const isBelow = (id: readonly string[]): boolean =>
    (isDeep || id.length === path.length + 1) && path.every((part, index) => id[index] === part);
  if (ids.some(isBelow)) return true;
  let catalog: Catalog | null = null;
  for (const location of locations) {
    const name = rootTableAt(location);
    if (name !== null && isBelow([name])) return true;
    if (name !== null) continue;
    try {
      catalog ??= await readCatalog(environment);
    } catch (error) {
      // A caller that needs the catalog will learn of its error; any other only waits.
      if (error instanceof NamespaceError) return true;
      throw error;
    }
    const rows = catalog.rows.filter((row) => row.objectType === "table" && row.location === location);
    if (rows.some(({ objectId }) => isBelow(pathOf(objectId)))) return true;
  }
  return false;
}

async function areConcerned(
  environment: CatalogEnvironment,
  { ids: changedIds, locations }: BatchNames,
  ids: readonly (readonly string[])[],
  directories: readonly string[],
): Promise<boolean> {
  const isSame = (a: readonly string[], b: readonly string[]) =>
    a.length === b.length && a.every((part, index) => part === b[index]);
  if (ids.some((id) => changedIds.some((changed) => isSame(id, changed)))) return true;
  if (locations.length === 0) return false;
  const { disk, root } = environment;
  const wanted = [...directories, ...(await directoriesOf(environment, ids))];
  const changed = locations.map((location) => directoryAt(root, location));
  if (wanted.some((a) => changed.some((b) => overlap(a, b)))) return true;
  // A directory may have several names: by links, and on file systems that fold them.
  const [realWanted, realChanged] = await Promise.all([realPaths(disk, wanted), realPaths(disk, changed)]);
  return realWanted.some((a) => realChanged.some((b) => overlap(a, b)));
}

/** Returns the actual or planned directories of tables; none for an id that would get a new location. */
async function directoriesOf(
  environment: CatalogEnvironment,
  ids: readonly (readonly string[])[],
): Promise<string[]> {
  const directories: string[] = [];
  let catalog: Catalog | null = null;
  for (const id of ids) {
    let location: string | null | undefined;
    if (id.length === 1) location = rootLocation(id[0]);
    else if (id.length > 1 && id.every((part) => part !== "" && !part.includes("$"))) {
      catalog ??= await readCatalog(environment);
      location = tableRow(catalog, id)?.location;
    }
    if (location != null) directories.push(directoryAt(environment.root, location));
  }
  return directories;
}

/** Returns true if directories are equal or nested, as a branch is in its table. */
const overlap = (a: string, b: string): boolean => a === b || a.startsWith(b + sep) || b.startsWith(a + sep);

const realPaths = (disk: Disk, paths: readonly string[]): Promise<string[]> =>
  Promise.all(paths.map(async (path) => (await disk.realPath(path)) ?? path));
