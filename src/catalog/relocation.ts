/**
 * Gives a table another id. Inside child namespaces only its row changes. A table of the root lies under its
 * own name, so there its directory moves, and the move decides:
 *
 *   row of the new place ─ rename the directory ─ remove the old row
 *
 * A row without its directory means nothing. So the table has its old id up to the move and its new one from
 * then on, wherever the process ends.
 */

import { ConcurrentModificationError, TableAlreadyExistsError, UnsupportedError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import { codeOf } from "../io/disk/errno.js";
import type { LockLease } from "../io/lock/lease.js";
import { branchesDirectory } from "../table/versions/paths.js";
import { tableAt } from "../table/versions/tableAt.js";
import { withTableLock } from "../table/versions/tableLock.js";
import { noteFormerId, renewFormerId } from "./places/formerIds.js";
import { mayOverlap } from "./places/locations.js";
import { isDeregistered } from "./places/markers.js";
import { clearPlace } from "./places/orphans.js";
import { planPlace, refuseHolders } from "./places/placement.js";
import { isNamed } from "./places/sharedPlaces.js";
import {
  findTable,
  hasDirectory,
  refuseOtherObject,
  type TableEntry,
  type TableLocation,
  tableRow,
} from "./places/tables.js";
import type { Catalog, CatalogChange } from "./rows/catalogRows.js";
import { type CatalogEnvironment, changeCatalog, readCatalog } from "./rows/catalogTable.js";
import { objectIdOf, parentOf, requireNamespace } from "./rows/objects.js";
import { rowOf, tableNotFound } from "./tableRows.js";
import { watchTable } from "./watchTable.js";

/**
 * @param entry an existing table
 * @param newId the new id, which must be free
 * @throws InvalidInputError for an illegal name and one that folds together with another's,
 *   NamespaceNotFoundError where the new parent does not exist, TableAlreadyExistsError where the id is
 *   taken, UnsupportedError for a table with branches that would move, and for one that the file system does
 *   not move
 */
export async function relocateTable(
  environment: CatalogEnvironment,
  entry: TableEntry,
  newId: readonly string[],
  signal?: AbortSignal,
): Promise<TableLocation> {
  if ((await findTable(environment, newId)) !== null) throw taken(newId);
  const location = await planPlace(environment, newId, entry);
  if (entry.id.length > 1 && newId.length > 1) {
    await changeId(environment, entry, newId, signal);
    return { id: newId, location: entry.location, directory: entry.directory };
  }
  const isTable = await watchTable(environment.disk, entry);
  await refuseBranches(environment, entry);
  // Where only case changes, a disk that ignores case finds the table itself there.
  const isTaken = newId.length === 1 && (await environment.rootNames.all()).has(location.location);
  if (isTaken) await clearPlace(environment, location, signal);
  // A note in the directory holds the id that the table had before it came into the root.
  if (newId.length > 1) await renewFormerId(environment, { ...entry, id: newId });
  await move(environment, entry, location, isTable, signal);
  return location;
}

const taken = (id: readonly string[]): TableAlreadyExistsError =>
  new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);

const immovable = (id: readonly string[], cause: unknown): UnsupportedError =>
  new UnsupportedError(
    `table ${formatIdentifier(id)} cannot be renamed: its directory would have to move, which the file system refuses (EXDEV), as overlayfs does for directories of an image`,
    { cause },
  );

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
      if (row === null || row.location !== table.location) throw tableNotFound(table.id);
      requireNamespace(catalog, parentOf(newId));
      refuseOtherObject(catalog, newId);
      const present = tableRow(catalog, newId);
      if (present !== null && (await hasDirectory(environment, newId, present))) throw taken(newId);
      await noteFormerId(environment, { ...table, id: newId });
      return {
        replace: new Map([[row.objectId, rowOf(newId, table.location, row.metadata)]]),
        remove: new Set(present === null ? [] : [present.objectId]),
      };
    },
    signal,
  );
}

/**
 * Refuses a table with branches: they name the directory they came from by its absolute path.
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
  location: TableLocation,
  isTable: (movedTo: string) => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const before = tableRow(await readCatalog(environment), location.id);
  try {
    // No writer of this engine is in the middle of a commit while the directory moves; nor is a batch, which
    // knows the table by its directory, and would be neither done nor undone.
    await withTableLock(tableAt(environment, table.directory), { signal }, async (lease) => {
      await reservePlace(environment, table, location, signal);
      environment.handles.evict(table.directory);
      const move = new Move(environment, table, location, isTable, lease);
      try {
        await changeCatalog(environment, (catalog, catalogLease) => move.plan(catalog, catalogLease));
      } catch (error) {
        if (move.outcome === "no") await forgetRow(environment, location, before?.location ?? null);
        // The table has moved: a row of its old id that can't be removed means nothing.
        if (move.outcome !== "yes") throw error;
      }
    });
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw tableNotFound(table.id, error);
    throw error;
  }
}

/** Gives the new place its row, which means nothing as long as there is no directory. */
async function reservePlace(
  environment: CatalogEnvironment,
  table: TableLocation,
  location: TableLocation,
  signal: AbortSignal | undefined,
): Promise<void> {
  await changeCatalog(
    environment,
    async (catalog) => {
      refuseMove(catalog, table, location);
      const present = tableRow(catalog, location.id);
      if (present !== null && (await hasDirectory(environment, location.id, present)))
        throw taken(location.id);
      const row = rowOf(location.id, location.location, tableRow(catalog, table.id)?.metadata ?? null);
      return present === null ? { add: [row] } : { replace: new Map([[present.objectId, row]]) };
    },
    signal,
  );
}

/**
 * @throws NamespaceNotFoundError, TableAlreadyExistsError, TableNotFoundError where the catalog forbids the
 *   move
 */
function refuseMove(catalog: Catalog, table: TableLocation, location: TableLocation): void {
  requireNamespace(catalog, parentOf(location.id));
  refuseOtherObject(catalog, location.id);
  if (table.id.length > 1 && tableRow(catalog, table.id)?.location !== table.location)
    throw tableNotFound(table.id);
}

/**
 * The codes that a move back fails with where the new place is empty by now, or something else lies in the
 * old one.
 */
const LEFT_CODES: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTEMPTY", "EEXIST"]);

/**
 * Moves a directory under the catalog's lock. Meanwhile no other table gets a name that folds together with
 * the new one, and nobody removes the row of the old place or the new one. As the process may have been
 * suspended in between, it looks again once the directory has moved, and moves it back if the move was wrong.
 */
class Move {
  /** True if the directory has moved for good. */
  outcome: "no" | "unknown" | "yes" = "no";
  readonly #environment: CatalogEnvironment;
  readonly #table: TableLocation;
  readonly #location: TableLocation;
  readonly #isTable: (movedTo: string) => Promise<boolean>;
  readonly #lease: LockLease;

  /**
   * @param isTable whether the table that is meant lies under a path
   * @param lease of the table's lock
   */
  constructor(
    environment: CatalogEnvironment,
    table: TableLocation,
    location: TableLocation,
    isTable: (movedTo: string) => Promise<boolean>,
    lease: LockLease,
  ) {
    this.#environment = environment;
    this.#table = table;
    this.#location = location;
    this.#isTable = isTable;
    this.#lease = lease;
  }

  /** Moves the directory, unless it has moved already, and returns the change of the rows. */
  async plan(catalog: Catalog, catalogLease: LockLease): Promise<CatalogChange | null> {
    if (this.outcome === "no") await this.#move(catalog, catalogLease);
    return this.#rowsAfter(catalog);
  }

  async #move(catalog: Catalog, catalogLease: LockLease): Promise<void> {
    const { disk, root, rootNames } = this.#environment;
    const table = this.#table;
    const location = this.#location;
    refuseMove(catalog, table, location);
    await this.#requireReserved(catalog);
    await this.#refuseShared(catalog);
    await refuseBranches(this.#environment, table);
    await this.#confirm(catalogLease);
    try {
      await disk.rename(table.directory, location.directory);
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") throw tableNotFound(table.id, error);
      if (code === "EXDEV") throw immovable(table.id, error);
      // Somebody has begun to make a table there since the place was found free.
      if (code === "ENOTEMPTY" || code === "EEXIST") throw taken(location.id);
      // After any other failure it is not known whether the directory moved. If it did, the new row is its
      // row.
      if ((await disk.stat(table.directory).catch(() => null)) === null) this.outcome = "unknown";
      throw error;
    }
    // The table's lock has moved with it.
    this.#lease.movedTo(location.directory);
    rootNames.forget();
    // A table that is not there any more has moved, and was then taken away from there.
    if ((await disk.stat(location.directory)) !== null) await this.#lookAgain(catalogLease);
    this.outcome = "unknown";
    await disk.syncDirectory(root);
    this.outcome = "yes";
  }

  /** Makes sure that the place still has its row, and nothing else. */
  async #requireReserved(catalog: Catalog): Promise<void> {
    const { id, location, directory } = this.#location;
    const { disk } = this.#environment;
    const isRoot = id.length === 1;
    if (isRoot) await refuseHolders(this.#environment, catalog, this.#location, this.#table);
    else if (tableRow(catalog, id)?.location !== location) {
      throw new ConcurrentModificationError(
        `the place of table ${formatIdentifier(id)} was taken away by another writer; please retry`,
      );
    }
    // A writer that is about to make a table there has made its directory, which would give way as long as it
    // is empty. Where only case changes, a disk that ignores case finds the table itself there.
    if (mayOverlap(this.#table.location, location)) return;
    if ((await disk.stat(directory)) !== null) throw taken(id);
  }

  /**
   * Rows of another engine may name the directory as well.
   * @throws UnsupportedError
   */
  async #refuseShared(catalog: Catalog): Promise<void> {
    const { id, location } = this.#table;
    const own = [objectIdOf(id), objectIdOf(this.#location.id)];
    const others = catalog.rows.filter(({ objectId }) => !own.includes(objectId));
    if (!(await isNamed(this.#environment, location, others))) return;
    throw new UnsupportedError(
      `table ${formatIdentifier(id)} shares its directory with another, which would lose it`,
    );
  }

  /**
   * @throws LeaseLostError where the catalog's lock is lost, ConcurrentModificationError where the table's is
   */
  async #confirm(catalogLease: LockLease): Promise<void> {
    await this.#lease.confirm().catch((cause: unknown) => {
      // The change of the catalog can't be retried with a lost lock.
      throw new ConcurrentModificationError(
        `table ${formatIdentifier(this.#table.id)}: its lock was lost, and it was not moved; please retry`,
        { cause },
      );
    });
    await catalogLease.confirm();
  }

  /** The last look at which the move can still be taken back. */
  async #lookAgain(catalogLease: LockLease): Promise<void> {
    const { disk, rootNames } = this.#environment;
    const { id, location } = this.#table;
    const tableLocation = this.#location;
    try {
      const isHidden = id.length === 1 && (await isDeregistered(disk, tableLocation.directory));
      // Another table may have come to lie there since this one was opened.
      if (isHidden || !(await this.#isTable(tableLocation.directory))) throw tableNotFound(id);
      await refuseBranches(this.#environment, { ...tableLocation, id });
      // Some file systems ignore a rename that changes case alone.
      if (
        mayOverlap(location, tableLocation.location) &&
        !(await rootNames.all()).has(tableLocation.location)
      ) {
        throw new UnsupportedError(
          `the file system does not change ${location} to ${tableLocation.location}; please rename by a third name`,
        );
      }
      // If the table's own lock was lost, the move stands: others may have changed the table in its new place
      // by now. But a table on which a batch has begun in the old place must stay there.
      if (await this.#environment.batches?.present(this.#table.directory)) {
        throw new ConcurrentModificationError(
          `table ${formatIdentifier(id)}: a batch of changes came in between, and it was not moved; please retry`,
        );
      }
      await catalogLease.confirm();
    } catch (error) {
      if (await this.#moveBack()) throw error;
    }
  }

  /** False where others have gone on from what they found after the move; then the move stands. */
  async #moveBack(): Promise<boolean> {
    const { disk, rootNames } = this.#environment;
    // A directory that can't go back stays, and so does its row.
    this.outcome = "unknown";
    try {
      await disk.rename(this.#location.directory, this.#table.directory);
    } catch (error) {
      if (LEFT_CODES.has(codeOf(error))) return false;
      throw error;
    }
    this.#lease.movedTo(this.#table.directory);
    rootNames.forget();
    this.outcome = "no";
    return true;
  }

  /**
   * The change of the rows when the table has moved. It makes another version of the catalog even where the
   * rows stay the same: that tells other processes to look at the root again.
   */
  async #rowsAfter(catalog: Catalog): Promise<CatalogChange | null> {
    const environment = this.#environment;
    const { id, location } = this.#table;
    const old = tableRow(catalog, id);
    // If there is a directory, it is the row of a table that was made there since.
    const isLeft = old?.location === location && !(await hasDirectory(environment, id, old));
    const remove = new Set(isLeft ? [old.objectId] : []);
    const moved = tableRow(catalog, this.#location.id);
    if (moved !== null) return isLeft ? { remove } : { replace: new Map([[moved.objectId, moved]]) };
    // The row was removed during the move, by a writer that found no directory.
    const { id: newId, location: newLocation } = this.#location;
    const row = rowOf(newId, newLocation, old?.metadata ?? null);
    return (await hasDirectory(environment, newId, row)) ? { add: [row], remove } : null;
  }
}

/**
 * Removes the row of a place to which nothing was moved, unless the row was there before with that location,
 * or another writer has made its table there. A writer that is about to do so writes its row once the
 * directory is there.
 */
async function forgetRow(
  environment: CatalogEnvironment,
  { id, location }: TableLocation,
  locationBefore: string | null,
): Promise<void> {
  if (locationBefore === location) return;
  await changeCatalog(environment, async (catalog) => {
    const row = tableRow(catalog, id);
    if (row?.location !== location || (await hasDirectory(environment, id, row))) return null;
    return { remove: new Set([row.objectId]) };
  }).catch(() => undefined);
}
