/**
 * Giving a table another id. Inside child namespaces only its row changes. A table of the root lies under its own
 * name, so there its directory moves, and the moving decides:
 *
 *   row of the new place ─ rename the directory ─ remove the old row
 *
 * A row without its directory means nothing, so that the table has its old id up to the moving and its new one from
 * then on, wherever the process ends.
 */

import { TableAlreadyExistsError, TableNotFoundError, UnsupportedError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import { codeOf } from "../io/errno.js";
import { withLock } from "../io/lock.js";
import { branchesDirectory } from "../table/paths.js";
import type { Catalog, CatalogChange } from "./catalogRows.js";
import { type CatalogEnvironment, changeCatalog, readCatalog } from "./catalogTable.js";
import { clearPlace } from "./leftovers.js";
import { mayOverlap } from "./locations.js";
import { objectIdOf, parentOf, requireNamespace } from "./objects.js";
import { planPlace, refuseHolders } from "./placement.js";
import { isDirectory } from "./removal.js";
import { rowOf } from "./tableRows.js";
import {
  type FoundTable,
  findTable,
  hasDirectory,
  refuseOtherObject,
  type TableLocation,
  tableRow,
} from "./tables.js";

/**
 * @param table that exists
 * @param newId where nothing may exist
 * @throws InvalidInputError for an illegal name and one that folds together with another's, NamespaceNotFoundError
 *   where the new parent does not exist, TableAlreadyExistsError where the id is taken, UnsupportedError for a table
 *   with branches that would move
 */
export async function renameTable(
  environment: CatalogEnvironment,
  table: FoundTable,
  newId: readonly string[],
  signal?: AbortSignal,
): Promise<TableLocation> {
  if ((await findTable(environment, newId)) !== null) throw taken(newId);
  const place = await planPlace(environment, newId, table);
  if (table.id.length > 1 && newId.length > 1) {
    await changeId(environment, table, newId, signal);
    return { id: newId, location: table.location, directory: table.directory };
  }
  const isTable = isDirectory(environment.disk, await environment.disk.stat(table.directory));
  await refuseBranches(environment, table);
  // Where only case changes, a disk that ignores it finds the table itself there.
  const isTaken = newId.length === 1 && (await environment.rootNames.all()).has(place.location);
  if (isTaken) await clearPlace(environment, place, signal);
  await move(environment, table, place, isTable, signal);
  return place;
}

const taken = (id: readonly string[]): TableAlreadyExistsError =>
  new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);

const gone = (id: readonly string[], cause?: unknown): TableNotFoundError =>
  new TableNotFoundError(`table ${formatIdentifier(id)} does not exist`, { cause });

async function changeId(
  environment: CatalogEnvironment,
  table: TableLocation,
  newId: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  await changeCatalog(
    environment,
    async (catalog) => {
      const row = tableRow(catalog, table.id);
      if (row === null || row.location !== table.location) throw gone(table.id);
      requireNamespace(catalog, parentOf(newId));
      refuseOtherObject(catalog, newId);
      const present = tableRow(catalog, newId);
      if (present !== null && (await hasDirectory(environment, newId, present))) throw taken(newId);
      return {
        replace: new Map([[row.objectId, rowOf(newId, table.location, row.metadata)]]),
        remove: new Set(present === null ? [] : [present.objectId]),
      };
    },
    signal,
  );
}

/**
 * Branches name the directory they came from by its absolute path.
 * @throws UnsupportedError
 */
async function refuseBranches({ disk }: CatalogEnvironment, { id, directory }: TableLocation): Promise<void> {
  const branches = ((await disk.list(branchesDirectory(directory))) ?? []).filter((entry) =>
    entry.name.endsWith(".json"),
  );
  if (branches.length === 0) return;
  throw new UnsupportedError(
    `table ${formatIdentifier(id)} has branches: they would lose the table, whose directory has to move`,
  );
}

async function move(
  environment: CatalogEnvironment,
  table: TableLocation,
  place: TableLocation,
  isTable: (movedTo: string) => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const newObjectId = objectIdOf(place.id);
  const before = tableRow(await readCatalog(environment), place.id);
  const lock = { ...environment.lock, signal };
  const moving: Moving = { outcome: "no" };
  try {
    // No writer of ours is in the middle of a commit while its directory moves.
    await withLock(table.directory, lock, async (lease) => {
      await changeCatalog(
        environment,
        async (catalog) => {
          requireNamespace(catalog, parentOf(place.id));
          refuseOtherObject(catalog, place.id);
          const source = tableRow(catalog, table.id);
          if (table.id.length > 1 && source?.location !== table.location) throw gone(table.id);
          const present = tableRow(catalog, place.id);
          if (present !== null && (await hasDirectory(environment, place.id, present))) throw taken(place.id);
          const row = rowOf(place.id, place.location, source?.metadata ?? null);
          return present === null ? { add: [row] } : { replace: new Map([[newObjectId, row]]) };
        },
        signal,
      );
      environment.handles.evict(table.directory);
      try {
        await changeCatalog(environment, async (catalog) => {
          if (moving.outcome === "no") {
            await lease.confirm();
            await moveDirectory(environment, catalog, table, place, isTable, moving);
          }
          return withoutOldRow(catalog, table, place);
        });
      } catch (error) {
        if (moving.outcome === "no") await forgetRow(environment, place, before?.location ?? null);
        // The table has moved: a row of its old id that can't be removed means nothing.
        if (moving.outcome !== "yes") throw error;
      }
      lease.movedTo(place.directory);
    });
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw gone(table.id, error);
    throw error;
  }
}

interface Moving {
  /** Whether the directory has moved for good. */
  outcome: "no" | "unknown" | "yes";
}

/** Under the catalog's lock: meanwhile no other table gets a name that folds together with the new one. */
async function moveDirectory(
  environment: CatalogEnvironment,
  catalog: Catalog,
  table: TableLocation,
  place: TableLocation,
  isTable: (movedTo: string) => Promise<boolean>,
  moving: Moving,
): Promise<void> {
  const { disk, root, rootNames } = environment;
  if (place.id.length === 1) await refuseHolders(environment, catalog, place, table);
  try {
    await disk.rename(table.directory, place.directory);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") throw gone(table.id, error);
    // Somebody has begun to make a table there since the place was found free.
    if (code === "ENOTEMPTY" || code === "EEXIST") throw taken(place.id);
    // Of any other failure it is not known whether the directory moved: if so, the row is its row.
    if ((await disk.stat(table.directory).catch(() => null)) === null) moving.outcome = "unknown";
    throw error;
  }
  rootNames.forget();
  if (!(await isTable(place.directory))) {
    // Another table has come to lie there since it was opened.
    await disk.rename(place.directory, table.directory);
    rootNames.forget();
    throw gone(table.id);
  }
  // Some file systems take a change of case alone for none.
  if (mayOverlap(table.location, place.location) && !(await rootNames.all()).has(place.location)) {
    throw new UnsupportedError(
      `the file system does not change ${table.location} to ${place.location}; please rename by a third name`,
    );
  }
  moving.outcome = "unknown";
  await disk.syncDirectory(root);
  moving.outcome = "yes";
}

/**
 * What becomes of the rows when a table has moved. There always is another version of the catalog: it tells other
 * processes to look what there is in the root.
 */
function withoutOldRow(catalog: Catalog, table: TableLocation, place: TableLocation): CatalogChange | null {
  const row = tableRow(catalog, table.id);
  if (row?.location === table.location) return { remove: new Set([row.objectId]) };
  const moved = tableRow(catalog, place.id);
  return moved && { replace: new Map([[moved.objectId, moved]]) };
}

/** Takes the row of a place without a directory away, unless it was there before with that location. */
async function forgetRow(
  environment: CatalogEnvironment,
  { id, location }: TableLocation,
  locationBefore: string | null,
): Promise<void> {
  if (locationBefore === location) return;
  await changeCatalog(environment, (catalog) => {
    const row = tableRow(catalog, id);
    return row?.location === location ? { remove: new Set([row.objectId]) } : null;
  }).catch(() => undefined);
}
