/**
 * Reads and changes the catalog's table, `<root>/__manifest`: an ordinary Lance table with a row per
 * namespace and table. The first change makes it. Invariants:
 *
 * - A change is one version: all rows in one file, committed directly on the version that they were computed
 *   from. A writer that loses the number to another one reads and computes again.
 * - Reading costs a look for the latest version; its rows are decoded once and kept.
 * - Old versions are emptied, but keep their numbers: see oldVersions.ts.
 * - Unknown settings, metadata and columns stay as they are. Unknown feature flags in the table's metadata
 *   prevent reading, or writing.
 */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { lazyModule } from "../../async/lazy.js";
import { sleep } from "../../async/sleep.js";
import {
  ConcurrentModificationError,
  CorruptFileError,
  NamespaceNotFoundError,
  UnsupportedError,
} from "../../errors.js";
import { type Manifest, Overwrite } from "../../format/table.js";
import { codeOf } from "../../io/disk/errno.js";
import type { LockLease } from "../../io/disk/locks.js";
import { UNSHARED_LEASE } from "../../io/lock/lease.js";
import { join } from "../../platform/native.js";
import { resolveProjection } from "../../query/columns/projection.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import { scanColumns } from "../../query/scan/scan.js";
import { KEPT } from "../../rows/readAhead.js";
import { assignFieldIds, decodeSchema, type NewField, PRIMARY_KEY_POSITION } from "../../schema/schema.js";
import { encodeSchema } from "../../schema/schemaEncoder.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { ABSENT } from "../../table/versions/identity.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { type OpenLatest, type OpenVersion, type TableAt, tableAt } from "../../table/versions/tableAt.js";
import { withSteadyLock } from "../../table/versions/tableLock.js";
import type { LatestVersion } from "../../table/versions/versions.js";
import { CATALOG_DIRECTORY, type CatalogEnvironment } from "./catalogEnvironment.js";
import { Catalog, type CatalogChange } from "./catalogRows.js";

// The first change loads the writing and the commit of rows.
const writing = lazyModule(() => import("../../write/rewriteTable.js"));

const committing = lazyModule(() => import("../../table/commit/commit.js"));

/** Maximum number of lost races before a change fails. */
const MAX_ATTEMPTS = 50;

const MAX_BACKOFF_MS = 50;

/** Maximum number of times that the latest version may be cleaned away while it is opened. */
const MAX_OPEN_ATTEMPTS = 5;

const DATA_FORMAT = "2.2";

// Keys of feature flags in the table's metadata.
const READER_FLAGS = "lance.namespace.manifest.reader_feature_flags";

const WRITER_FLAGS = "lance.namespace.manifest.writer_feature_flags";

/**
 * Set once the root may have been deleted: a writer that ignores {@link DELETED} would add to a missing root.
 */
const LIFECYCLE_FLAG = 1n << 0n;

/** Bits that this build implements, in either word. */
const KNOWN_FLAGS = LIFECYCLE_FLAG;

/** Key in the table's metadata: "true" if the root was deleted for good. */
const DELETED = "lance.namespace.manifest.deleted";

const NO_METADATA: ReadonlyMap<string, string> = new Map();

const textField = (name: string, nullable: boolean, metadata = NO_METADATA): NewField => ({
  name,
  type: { kind: "string", large: false },
  nullable,
  metadata,
  children: [],
});

const FIELDS: readonly NewField[] = [
  textField("object_id", false, new Map([[PRIMARY_KEY_POSITION, "0"]])),
  textField("object_type", false),
  textField("location", true),
  textField("metadata", true),
  {
    name: "base_objects",
    type: { kind: "list", large: false, ofStructs: false },
    nullable: true,
    metadata: NO_METADATA,
    children: [textField("object_id", true)],
  },
];

const catalogAt = (environment: CatalogEnvironment): TableAt<CatalogEnvironment> =>
  // A message is about the table that the call changes.
  tableAt(
    environment.commitMessage === undefined ? environment : { ...environment, commitMessage: undefined },
    join(environment.root, CATALOG_DIRECTORY),
  );

interface OpenCatalog extends OpenLatest<CatalogEnvironment> {
  readonly catalog: Catalog;
}

/**
 * Reads the current catalog; empty if there is none.
 * @throws UnsupportedError for an unknown feature flag, CorruptFileError for invalid rows,
 *   NamespaceNotFoundError if the root was deleted
 */
export async function readCatalog(environment: CatalogEnvironment): Promise<Catalog> {
  return (await openCatalog(environment))?.catalog ?? Catalog.empty;
}

/**
 * Checks that no other engine has deleted the root. Reads no rows of the catalog.
 * @throws NamespaceNotFoundError if the root was deleted
 */
export async function requireLiveRoot(environment: CatalogEnvironment): Promise<void> {
  await openLatest(environment, async (table, entry) => {
    const open = await openVersion(table, entry);
    if (open !== null) checkLive(open.file.manifest);
    return open;
  });
}

const openCatalog = (environment: CatalogEnvironment): Promise<OpenCatalog | null> =>
  openLatest(environment, openAt);

/**
 * Opens the latest version of the catalog; null if the namespace has no catalog.
 * @param open returns null if the version was cleaned away
 */
async function openLatest<Opened>(
  environment: CatalogEnvironment,
  open: (table: TableAt<CatalogEnvironment>, entry: LatestVersion) => Promise<Opened | null>,
): Promise<Opened | null> {
  const table = catalogAt(environment);
  for (let attempt = 1; ; attempt++) {
    const entry = await environment.latestVersions.find(table.root);
    if (entry === null) return null;
    const opened = await open(table, entry);
    if (opened !== null) return opened;
    if (attempt === MAX_OPEN_ATTEMPTS) {
      throw new ConcurrentModificationError(`${entry.path} was cleaned away while it was opened`);
    }
  }
}

/** Opens the rows of a version; null if the version was emptied or cleaned away meanwhile. */
async function openAt(table: TableAt<CatalogEnvironment>, entry: LatestVersion): Promise<OpenCatalog | null> {
  let file: ManifestFile | null = null;
  try {
    const open = await openVersion(table, entry);
    if (open === null) return null;
    file = open.file;
    checkFlags(file.manifest, READER_FLAGS, entry.path);
    checkLive(file.manifest);
    const catalog = await table.environment.catalogs.get(keyOf(file), () => loadCatalog(open));
    return { ...open, catalog };
  } catch (error) {
    if (await isLeftBehind(table, entry, file, error)) return null;
    throw error;
  }
}

/**
 * Returns true if a failure shows no damage, only that the version is not the latest any more: it was emptied
 * after newer ones, or another catalog replaced it.
 * @param file the version's manifest, as far as it was read
 */
async function isLeftBehind(
  { environment, root }: TableAt<CatalogEnvironment>,
  entry: LatestVersion,
  file: ManifestFile | null,
  error: unknown,
): Promise<boolean> {
  if (!(error instanceof CorruptFileError)) return false;
  const latest = await environment.latestVersions.find(root);
  if (latest?.version !== entry.version) return true;
  if (file === null) return false;
  const current = await environment.manifests.read(environment.disk, entry.path);
  return current?.isCopyOf(file) !== true;
}

/** Returns a key that distinguishes a catalog's manifest from its successor's under the same path. */
function keyOf(file: ManifestFile): string {
  const { timestamp } = file.manifest;
  return [file.path, file.byteLength, timestamp?.seconds, timestamp?.nanos, file.transaction?.uuid].join(
    "\0",
  );
}

async function loadCatalog(open: OpenVersion<CatalogEnvironment>) {
  const { manifest, path } = open.file;
  const fields = decodeSchema(manifest.fields, path);
  const projection = resolveProjection(fields, new Map(), undefined);
  const layouts = projection.outputs.map(({ layout }) => layout);
  const pieces: Column[][] = layouts.map(() => []);
  const request = {
    fragments: manifest.fragments,
    projection,
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: Number.POSITIVE_INFINITY,
    readAhead: KEPT,
  };
  for await (const { columns } of scanColumns(versionSource(open), request)) {
    for (const [index, column] of columns.entries()) pieces[index].push(column);
  }
  // The file is read once only.
  open.table.environment.handles.evict(open.table.root);
  const columns = pieces.map((column, index) =>
    column.length === 0 ? nullColumn(layouts[index], 0) : concatColumns(column),
  );
  const value = Catalog.decode(fields, columns, path);
  return { value, weight: value.byteLength };
}

/** @throws NamespaceNotFoundError if the root was deleted, UnsupportedError for an unknown marker */
function checkLive({ tableMetadata }: Manifest): void {
  const marker = tableMetadata.get(DELETED);
  if (marker === undefined || marker === "false") return;
  if (marker === "true") {
    throw new NamespaceNotFoundError("the root of this namespace was deleted, and everything in it");
  }
  throw new UnsupportedError(
    `the catalog's ${DELETED} is neither true nor false: ${JSON.stringify(marker.slice(0, 40))}`,
  );
}

/** @throws UnsupportedError for an unknown bit, CorruptFileError for a word that is not a number */
function checkFlags(manifest: Manifest, key: string, path: string): void {
  const word = manifest.tableMetadata.get(key);
  if (word === undefined) return;
  if (!/^\d{1,20}$/.test(word))
    throw new CorruptFileError(path, 0, `${key} is not a number: ${word.slice(0, 40)}`);
  const foreign = BigInt(word) & ~KNOWN_FLAGS;
  if (foreign === 0n) return;
  const bit = foreign.toString(2).length - 1;
  throw new UnsupportedError(
    `cannot ${key === READER_FLAGS ? "read" : "write"} the catalog ${path}: feature flag bit ${bit} is not supported by this release`,
  );
}

/**
 * Decides the change of the current catalog; null for none. It is called again if another writer was first.
 * If it throws, nothing is written. It runs under the catalog's lock and must not take a table's. It confirms
 * the lease right before any step of its own that cannot be undone.
 */
export type CatalogPlan = (
  catalog: Catalog,
  lease: LockLease,
) => CatalogChange | null | Promise<CatalogChange | null>;

/**
 * Changes the catalog in one step.
 * @param signal ends the wait for the lock
 * @returns the catalog after the change
 * @throws ConcurrentModificationError after too many lost races
 * @throws PublishUncertainError if the change may have been committed
 */
export async function changeCatalog(
  environment: CatalogEnvironment,
  plan: CatalogPlan,
  signal?: AbortSignal,
): Promise<Catalog> {
  const { root } = catalogAt(environment);
  for (let attempt = 1; ; attempt++) {
    let isLocked = false;
    try {
      const changed = await withSteadyLock(root, { ...environment.lock, signal, keep: true }, (lease) => {
        isLocked = true;
        return changeUnderLock(environment, plan, lease);
      });
      if (changed !== null) return changed;
    } catch (error) {
      // Neither the catalog nor its directory exists.
      if (isLocked || codeOf(error) !== "ENOENT") throw error;
    }
    if (attempt === MAX_OPEN_ATTEMPTS) {
      throw new ConcurrentModificationError("the catalog was removed while it was changed");
    }
    // A refused change must not leave an empty catalog.
    if ((await plan(Catalog.empty, UNSHARED_LEASE)) === null) return Catalog.empty;
    await createCatalog(environment, signal);
  }
}

/** Changes an existing catalog; null if there is none. */
async function changeUnderLock(
  environment: CatalogEnvironment,
  plan: CatalogPlan,
  lease: LockLease,
): Promise<Catalog | null> {
  for (let attempt = 1; ; attempt++) {
    const open = await openCatalog(environment);
    if (open === null) return null;
    checkFlags(open.file.manifest, WRITER_FLAGS, open.file.path);
    open.catalog.checkUnique();
    const change = await plan(open.catalog, lease);
    if (change === null) return open.catalog;
    const catalog = open.catalog.after(change);
    const committed = await commitOver(open, catalog, lease);
    if (committed !== null) {
      environment.catalogs.set(keyOf(committed.file), catalog, catalog.byteLength);
      environment.rootNames.followed(open.catalog, catalog);
      await (await environment.oldCatalogs.get()).emptySome(committed, lease);
      return catalog;
    }
    if (attempt === MAX_ATTEMPTS) {
      throw new ConcurrentModificationError(`the catalog: another writer won ${attempt} races in a row`);
    }
    await sleep(Math.min(2 ** attempt, MAX_BACKOFF_MS) * (0.5 + Math.random() / 2));
  }
}

/** Commits a change over a version; null if another writer was first. */
async function commitOver(
  open: OpenCatalog,
  catalog: Catalog,
  lease: LockLease,
): Promise<OpenVersion | null> {
  try {
    const { rewriteTable } = await writing.get();
    return await rewriteTable(open, catalog.columns, catalog.rows.length, lease);
  } catch (error) {
    // Other writers were first so often that the base version is emptied.
    if (await isLeftBehind(open.table, open, open.file, error)) return null;
    throw error;
  }
}

/** Makes version 1, without rows, unless another writer has made it. */
async function createCatalog(
  environment: CatalogEnvironment,
  signal: AbortSignal | undefined,
): Promise<void> {
  const schema = encodeSchema(assignFieldIds(FIELDS));
  const transaction = newTransaction(0, "overwrite", Overwrite.create({ schema }));
  const { commitCreation } = await committing.get();
  await commitCreation(catalogAt(environment), ABSENT, transaction, {
    dataFormatVersion: DATA_FORMAT,
    scheme: "V2",
    signal,
  });
}
