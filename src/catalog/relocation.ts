/**
 * Gives a table another id. Inside child namespaces only its row changes. A root table lies under its own
 * name, so its directory moves, and the move decides:
 *
 *     row of the new location ─ rename the directory ─ remove the old row
 *
 * A row without its directory means nothing. So the table has its old id before the move and its new one
 * after it, wherever the process dies.
 */

import { ConcurrentModificationError, TableAlreadyExistsError, UnsupportedError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import { codeOf } from "../io/disk/errno.js";
import type { LockLease } from "../io/disk/locks.js";
import { MissingVerbError } from "../io/disk/missingVerb.js";
import { branchesDirectory } from "../table/versions/paths.js";
import { tableAt } from "../table/versions/tableAt.js";
import { withTableLock } from "../table/versions/tableLock.js";
import { guardTable } from "./guardTable.js";
import { refuseHolders } from "./locations/foldedNames.js";
import { noteFormerId, renewFormerId } from "./locations/formerIds.js";
import { isDeregistered } from "./locations/markers.js";
import { mayOverlap } from "./locations/newLocations.js";
import { clearLocation } from "./locations/orphans.js";
import { planLocation } from "./locations/placement.js";
import { isNamed } from "./locations/sharedLocations.js";
import {
  findTable,
  hasDirectory,
  refuseOtherObject,
  type TableEntry,
  type TableLocation,
  tableRow,
} from "./locations/tables.js";
import type { CatalogEnvironment } from "./rows/catalogEnvironment.js";
import type { Catalog, CatalogChange } from "./rows/catalogRows.js";
import { changeCatalog, readCatalog } from "./rows/catalogTable.js";
import { objectIdOf, parentOf, requireNamespace } from "./rows/objects.js";
import { rowOf, tableNotFound } from "./tableRows.js";

/**
 * Renames a table.
 * @param entry an existing table
 * @param newId the new id, which must be free
 * @throws InvalidInputError for an illegal name, or one that folds together with another's
 * @throws NamespaceNotFoundError if the new parent does not exist, TableAlreadyExistsError if the id exists
 * @throws UnsupportedError if the directory must move but branches refer to it, or the file system cannot
 *   move it; MissingVerbError if the disk cannot rename
 */
export async function relocateTable(
  environment: CatalogEnvironment,
  entry: TableEntry,
  newId: readonly string[],
  signal?: AbortSignal,
): Promise<TableLocation> {
  if ((await findTable(environment, newId)) !== null) throw taken(newId);
  const location = await planLocation(environment, newId, entry);
  if (entry.id.length > 1 && newId.length > 1) {
    await changeId(environment, entry, newId, signal);
    return { id: newId, location: entry.location, directory: entry.directory };
  }
  if (environment.disk.hasRename === false) throw new MissingVerbError("rename", entry.directory);
  const isTable = await guardTable(environment.disk, entry);
  await refuseBranches(environment, entry);
  // If only case changes, a disk that ignores case finds the table itself there.
  const isTaken = newId.length === 1 && (await environment.rootNames.all()).has(location.location);
  if (isTaken) await clearLocation(environment, location, signal);
  // A note in the directory contains the id from before the table came to the root.
  if (newId.length > 1) await renewFormerId(environment, { ...entry, id: newId });
  await move(environment, entry, location, isTable, signal);
  return location;
}

const taken = (id: readonly string[]): TableAlreadyExistsError =>
  new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);

const immovable = (id: readonly string[], cause: unknown): UnsupportedError =>
  new UnsupportedError(
    `table ${formatIdentifier(id)} cannot be renamed: the file system refuses to move its directory (EXDEV), as overlayfs does for directories of an image`,
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
 * Refuses a table with branches: they name their source directory by its absolute path.
 * @throws UnsupportedError
 */
async function refuseBranches({ disk }: CatalogEnvironment, { id, directory }: TableLocation): Promise<void> {
  const branches = ((await disk.list(branchesDirectory(directory))) ?? []).filter((entry) =>
    entry.name.endsWith(".json"),
  );
  if (branches.length === 0) return;
  throw new UnsupportedError(
    `table ${formatIdentifier(id)} cannot be renamed: its directory would move, and its branches would lose the files that they inherit`,
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
    // During the move no writer of this engine is in the middle of a commit. Nor is a batch: it finds the
    // table by its directory, and after the move could neither be finished nor undone.
    await withTableLock(tableAt(environment, table.directory), { signal }, async (lease) => {
      await reserveLocation(environment, table, location, signal);
      environment.handles.evict(table.directory);
      const move = new Move(environment, table, location, isTable, lease);
      try {
        await changeCatalog(environment, (catalog, catalogLease) => move.plan(catalog, catalogLease));
      } catch (error) {
        if (move.outcome === "no") await forgetRow(environment, location, before?.location ?? null);
        // The table has moved: a remaining row of its old id means nothing.
        if (move.outcome !== "yes") throw error;
      }
    });
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw tableNotFound(table.id, error);
    throw error;
  }
}

/** Writes the row of the new location, which means nothing without a directory. */
async function reserveLocation(
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
 * @throws NamespaceNotFoundError, TableAlreadyExistsError or TableNotFoundError if the catalog forbids the
 *   move
 */
function refuseMove(catalog: Catalog, table: TableLocation, location: TableLocation): void {
  requireNamespace(catalog, parentOf(location.id));
  refuseOtherObject(catalog, location.id);
  if (table.id.length > 1 && tableRow(catalog, table.id)?.location !== table.location)
    throw tableNotFound(table.id);
}

/** Codes with which a move back fails if the new location is empty, or the old one is occupied. */
const LEFT_CODES: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTEMPTY", "EEXIST"]);

/**
 * Moves a directory under the catalog's lock. Meanwhile no other table gets a name that folds together with
 * the new one, and nobody removes the row of either location. The process may be suspended in between, so it
 * checks again after the move, and moves the directory back if the move was wrong.
 */
class Move {
  /** "yes" if the directory has moved for good. */
  outcome: "no" | "unknown" | "yes" = "no";
  readonly #environment: CatalogEnvironment;
  readonly #table: TableLocation;
  readonly #location: TableLocation;
  readonly #isTable: (movedTo: string) => Promise<boolean>;
  readonly #lease: LockLease;

  /**
   * @param isTable returns true if the directory under a path is the right table
   * @param lease lease of the table's lock
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
      // Another writer has begun to make a table there since the location was checked.
      if (code === "ENOTEMPTY" || code === "EEXIST") throw taken(location.id);
      // After any other failure the directory may have moved. If it has moved, the new row is its row.
      if ((await disk.stat(table.directory).catch(() => null)) === null) this.outcome = "unknown";
      throw error;
    }
    // The table's lock has moved with it.
    this.#lease.movedTo(location.directory);
    rootNames.forget();
    // If the table is missing, it has moved, and another caller has removed it from there.
    if ((await disk.stat(location.directory)) !== null) await this.#lookAgain(catalogLease);
    this.outcome = "unknown";
    await disk.syncDirectory(root);
    this.outcome = "yes";
  }

  /** Checks that the location still has its row, and nothing else. */
  async #requireReserved(catalog: Catalog): Promise<void> {
    const { id, location, directory } = this.#location;
    const { disk } = this.#environment;
    const isRoot = id.length === 1;
    if (isRoot) await refuseHolders(this.#environment, catalog, this.#location, this.#table);
    else if (tableRow(catalog, id)?.location !== location) {
      throw new ConcurrentModificationError(
        `another writer removed the new location of table ${formatIdentifier(id)}; please retry`,
      );
    }
    // A writer that is about to make a table there has made its directory, which would give way while it
    // is empty. If only case changes, a disk that ignores case finds the table itself there.
    if (mayOverlap(this.#table.location, location)) return;
    if ((await disk.stat(directory)) !== null) throw taken(id);
  }

  /**
   * Refuses a directory that rows of another engine name as well.
   * @throws UnsupportedError
   */
  async #refuseShared(catalog: Catalog): Promise<void> {
    const { id, location } = this.#table;
    const objectIds = [objectIdOf(id), objectIdOf(this.#location.id)];
    const others = catalog.rows.filter(({ objectId }) => !objectIds.includes(objectId));
    if (!(await isNamed(this.#environment, location, others))) return;
    throw new UnsupportedError(
      `table ${formatIdentifier(id)} shares its directory with another table, which would lose it`,
    );
  }

  /** @throws LeaseLostError if the catalog's lock is lost, ConcurrentModificationError if the table's is */
  async #confirm(catalogLease: LockLease): Promise<void> {
    await this.#lease.confirm().catch((cause: unknown) => {
      // The change of the catalog cannot be retried with a lost lock.
      throw new ConcurrentModificationError(
        `table ${formatIdentifier(this.#table.id)}: its lock was lost, so it was not moved; please retry`,
        { cause },
      );
    });
    await catalogLease.confirm();
  }

  /** Checks the move for the last time before it becomes final. */
  async #lookAgain(catalogLease: LockLease): Promise<void> {
    const { disk, rootNames } = this.#environment;
    const { id, location } = this.#table;
    const tableLocation = this.#location;
    try {
      const isHidden = id.length === 1 && (await isDeregistered(disk, tableLocation.directory));
      // Another table may have replaced this one since it was opened.
      if (isHidden || !(await this.#isTable(tableLocation.directory))) throw tableNotFound(id);
      await refuseBranches(this.#environment, { ...tableLocation, id });
      // Some file systems ignore a rename that only changes case.
      if (
        mayOverlap(location, tableLocation.location) &&
        !(await rootNames.all()).has(tableLocation.location)
      ) {
        throw new UnsupportedError(
          `the file system does not rename ${location} to ${tableLocation.location}; please rename to a third name first`,
        );
      }
      // If the table's own lock was lost, the move stands, because others may have changed the table in
      // its new location. But a table on which a batch has begun in the old location must stay there.
      if (await this.#environment.batches?.present(this.#table.directory)) {
        throw new ConcurrentModificationError(
          `table ${formatIdentifier(id)}: a batch came in between, so it was not moved; please retry`,
        );
      }
      await catalogLease.confirm();
    } catch (error) {
      if (await this.#moveBack()) throw error;
    }
  }

  /** Moves the directory back. False if others have continued from the moved table: the move stands. */
  async #moveBack(): Promise<boolean> {
    const { disk, rootNames } = this.#environment;
    // A directory that cannot move back stays, and so does its row.
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
   * Returns the change of the rows after the move. It makes another version of the catalog even if the rows
   * stay the same, so that other processes look at the root again.
   */
  async #rowsAfter(catalog: Catalog): Promise<CatalogChange | null> {
    const environment = this.#environment;
    const { id, location } = this.#table;
    const old = tableRow(catalog, id);
    // If the directory exists, the row belongs to a table that was made there since.
    const isLeft = old?.location === location && !(await hasDirectory(environment, id, old));
    const remove = new Set(isLeft ? [old.objectId] : []);
    const moved = tableRow(catalog, this.#location.id);
    if (moved !== null) return isLeft ? { remove } : { replace: new Map([[moved.objectId, moved]]) };
    // A writer that found no directory removed the row during the move.
    const { id: newId, location: newLocation } = this.#location;
    const row = rowOf(newId, newLocation, old?.metadata ?? null);
    return (await hasDirectory(environment, newId, row)) ? { add: [row], remove } : null;
  }
}

/**
 * Removes the row of a location to which nothing was moved, unless the row existed before or another writer
 * has made its table there. A writer that is about to do so writes its row after making the directory.
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
