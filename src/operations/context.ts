/**
 * Context of every operation: the directory, the disk, locks and caches. Cache keys only name immutable data,
 * so that engines that share a directory see each other's commits in the next call. Caches are bounded in
 * bytes and in open files.
 */

import { type Lazy, lazy, lazyModule } from "../async/lazy.js";
import { pageProcessorCount, webThreads } from "../async/webThread.js";
import { WorkerPool, type WorkerPoolOptions } from "../async/workerPool.js";
import { unfinishedBatches } from "../catalog/batches/unfinishedBatches.js";
import { hasVersionsIn, lookAtRootTable } from "../catalog/locations/versionsIn.js";
import { CatalogCache, type CatalogEnvironment } from "../catalog/rows/catalogEnvironment.js";
import { RootNames } from "../catalog/rows/rootNames.js";
import { InternalError, messageOf, ServiceUnavailableError } from "../errors.js";
import type { FileVersion } from "../file/container/page.js";
import type { DataFileMetadata } from "../file/container/reader.js";
import type { PageChecks } from "../file/pages/checkedParts.js";
import type { ChunkMap } from "../file/pages/pageSlice.js";
import { formatIdentifier } from "../ident.js";
import type { IndexPart } from "../indexes/kind.js";
import type { SketchStore } from "../indexes/vector/sketches/sketchStore.js";
import { completeDisk } from "../io/completeDisk.js";
import { HostDirectories } from "../io/disk/admittedDirectories.js";
import { ConfinedDisk } from "../io/disk/confinedDisk.js";
import { type Confinement, ConfirmedDirectories, confinedByText } from "../io/disk/confinement.js";
import type { Disk } from "../io/disk/disk.js";
import { HandlePool } from "../io/disk/handles.js";
import { confinedTo } from "../io/disk/localConfinement.js";
import { NodeDisk, temporaryDirectory } from "../io/disk/nodeDisk.js";
import { UnchangedDirectories } from "../io/disk/unchangedDirectories.js";
import { releaseKeptLocks } from "../io/lock/keptLocks.js";
import type { Arena } from "../io/memory/arena.js";
import { LruCache } from "../io/memory/cache.js";
import type { ScratchMemory } from "../io/memory/scratch.js";
import { takeScratch } from "../io/memory/spareScratch.js";
import { Spelling } from "../io/names/spelling.js";
import type { UnlistedJob } from "../jobs/jobFiles.js";
import type { JobRecord } from "../jobs/jobRecord.js";
import type { Jobs } from "../jobs/jobs.js";
import type { CacheStatistics, CacheUse } from "../namespace/caches.js";
import type { ClusterExecutor } from "../namespace/clusters.js";
import type { DirectoryNamespaceOptions, NamespaceWarning } from "../namespace/options.js";
import { processorCount } from "../platform/native.js";
import type { CachedIndex } from "../query/indexes/tableIndexes.js";
import type { UnreadIndex } from "../query/indexes/unreadIndexes.js";
import { SharedReadAhead } from "../rows/readAhead.js";
import type { RowBlock } from "../rows/rowBlocks.js";
import type { KeptDeletions } from "../table/fragments/deletions.js";
import { LatestVersions } from "../table/versions/latestVersion.js";
import { ManifestCache } from "../table/versions/manifestCache.js";
import type { NamingScheme } from "../table/versions/paths.js";
import { errorOfFailure, type FailureRecord, isErrorType } from "../typedErrors.js";
import type { AppendGroups } from "../write/appendGroups.js";
import type { RegisteredFunction } from "../write/userFunctions.js";
import { cacheSizesOf } from "./cacheSizes.js";
import { DataFiles } from "./dataFiles.js";
import type { ContextOptions } from "./namespaceOptions.js";

const sketchStores = lazyModule(() => import("../indexes/vector/sketches/sketchStore.js"));
const jobsModule = lazyModule(() => import("../jobs/jobs.js"));
/** Loaded with the first table of an old release. */
const oldManifests = lazyModule(() => import("../table/fragments/oldManifests.js"));
/** Loaded with the first change of the catalog. */
const oldVersions = lazyModule(() => import("../catalog/rows/oldVersions.js"));
/** Loaded with the first insert, if inserts may be grouped. */
const appendGroups = lazyModule(() => import("../write/appendGroups.js"));
/** Loaded with the first lock of a table. */
const tableLocks = lazyModule(() => import("../table/versions/tableLock.js"));
/** Loaded with the first commit. */
const autoCleanup = lazyModule(() => import("../table/cleanup/autoCleanup.js"));

/** Default of the option `vectorCacheBytes`. */
const SKETCH_BYTES = 256 * 1024 * 1024;
/** Maximum number of remembered transactions. */
const MAX_TRANSACTIONS = 10_000;
/** Reason of signals of closed namespaces. Made once: an abort without a reason makes an error each time. */
const CLOSED = new ServiceUnavailableError("the namespace is closed");
/** Maximum number of remembered warnings of a kind. The host gets a remembered warning only once. */
const MAX_WARNINGS = 1000;
/** Default maximum of threads, because each thread holds pages of its own. */
const MAX_DEFAULT_WORKERS = 8;

export interface OperationContext extends CatalogEnvironment {
  /** Directories in which the engine may work. */
  readonly confinement: Confinement;
  readonly confirmed: ConfirmedDirectories;
  readonly handles: HandlePool;
  /** Chunk positions of partially read pages. */
  readonly chunkMaps: LruCache<ChunkMap>;
  /** Verified checksums of partially read pages. */
  readonly pageChecks: LruCache<PageChecks>;
  /** Decoded rows near rows that were looked up. */
  readonly rowBlocks: LruCache<RowBlock>;
  /** Indexes that queries have opened. An entry is valid while its files are unchanged. */
  readonly openIndexes: LruCache<CachedIndex>;
  /** Pages of index files. */
  readonly indexParts: LruCache<IndexPart>;
  /** Deleted rows of fragments. An entry is valid while its file is unchanged. */
  readonly deletions: LruCache<KeptDeletions>;
  readonly scratch: ScratchMemory;
  /** Sketches of vectors for exact searches. */
  readonly sketches: Lazy<SketchStore>;
  /** Memory of queries whose rows are read batch by batch. */
  readonly streams: SharedReadAhead;
  readonly recentTransactions: RecentTransactions;
  readonly jobs: Lazy<Jobs>;
  /** Ends the jobs of this process, or waits for them. Later jobs are refused. */
  closeJobs(way: "wait" | "cancel", saysSo: boolean): Promise<void>;
  /** Returns a signal that aborts when the namespace is closed. Made for the first caller: few ask for it. */
  closed(): AbortSignal;
  readonly workers: WorkerPool;
  /** Appends that may be committed together; undefined if each is a version of its own. */
  readonly appendGroups: Lazy<AppendGroups> | undefined;
  /** Registered functions by name. */
  readonly functions: ReadonlyMap<string, RegisteredFunction>;
  /** Registered executors of backfills by name. */
  readonly clusters: ReadonlyMap<string, ClusterExecutor>;
  /** File version of new tables. */
  readonly newTableVersion: FileVersion;
  /** Naming scheme of manifests in new tables. */
  readonly newTableNaming: NamingScheme;
  /** See {@link DataFiles.open}. */
  openDataFile: DataFiles["open"];
  /** See {@link DataFiles.openOnce}. */
  openDataFileOnce(path: string, isScanned?: boolean, arena?: Arena): Promise<DataFileMetadata>;
  /** Returns the counts of all caches. */
  cacheStatistics(): CacheStatistics;
  close(): Promise<void>;
}

/**
 * Remembers the tables of this engine's latest transactions, so that a lookup by transaction id needs no
 * search. An entry may be wrong: the table may have been renamed or dropped since.
 */
class RecentTransactions {
  readonly #tableIds = new LruCache<readonly string[]>(MAX_TRANSACTIONS);

  /**
   * Remembers the transaction of a response.
   * @param response ignored without a transaction id
   */
  note(tableId: readonly string[], response: unknown): void {
    if (typeof response !== "object" || response === null || !("transactionId" in response)) return;
    const { transactionId } = response;
    if (typeof transactionId !== "string" || tableId.length === 0) return;
    this.#tableIds.set(transactionId, tableId, 1);
  }

  tableOf(transactionId: string): readonly string[] | undefined {
    return this.#tableIds.peek(transactionId);
  }
}

/** Leaves one processor to the calling thread. */
const defaultWorkers = (processors: number): number =>
  Math.min(MAX_DEFAULT_WORKERS, Math.max(0, processors - 1));

function threadsOf({ workers, startWorker }: ContextOptions): Pick<WorkerPoolOptions, "size" | "start"> {
  if (startWorker === undefined) return { size: workers ?? defaultWorkers(processorCount()) };
  return { size: workers ?? defaultWorkers(pageProcessorCount()), start: webThreads(startWorker) };
}

/** Returns the error that a thread reported, or that ended it. */
function errorOfThread(failure: unknown): Error {
  const { type, message } = failure as Partial<FailureRecord>;
  if (isErrorType(type) && typeof message === "string") return errorOfFailure({ type, message });
  return new InternalError(`a thread ended while it worked: ${messageOf(failure)}`, { cause: failure });
}

/** Says which jobs a closed namespace ended, and how to choose. */
function cancelMessage(jobs: readonly Pick<JobRecord, "kind" | "table">[]): string {
  const names = jobs
    .slice(0, 3)
    .map(({ kind, table }) => `${kind} of ${JSON.stringify(formatIdentifier(table))}`);
  const others = jobs.length > names.length ? ` and ${jobs.length - names.length} more` : "";
  return (
    `closing the namespace cancelled unfinished jobs (${names.join(", ")}${others}); the same request resumes them. ` +
    'The option jobs: "wait" of the namespace waits for jobs; jobs: "cancel" cancels them without this message'
  );
}

/** Returns the jobs of this process, which are opened with the first use. */
function jobsOf(
  options: ContextOptions,
  disk: Disk,
  lock: OperationContext["lock"],
): Pick<OperationContext, "jobs" | "closeJobs"> {
  const { root, onWarning } = options;
  let closing: "wait" | "cancel" | null = null;
  const jobs = lazy(async () => {
    const { Jobs } = await jobsModule.get();
    const opened = new Jobs({
      ...{ root, disk, lock },
      noteUnlisted: onWarning && unlistedWarnings(onWarning),
    });
    if (closing !== null) await opened.close(closing);
    return opened;
  });
  return {
    jobs,
    async closeJobs(way, saysSo) {
      closing = way;
      const { onWarning = ({ message }: NamespaceWarning) => console.warn(message) } = options;
      const onCancel = (cancelled: readonly Pick<JobRecord, "kind" | "table">[]) =>
        tell(onWarning, { kind: "jobsCancelled", message: cancelMessage(cancelled), location: root });
      await (await jobs.started)?.close(way, saysSo ? onCancel : undefined);
    },
  };
}

export function openContext(options: ContextOptions): OperationContext {
  const inner = options.disk && completeDisk(options.disk, temporaryDirectory());
  const hasLinks = inner?.hasLinks ?? true;
  const places = new HostDirectories(options.root, options.allowedBases, hasLinks);
  const confinement = hasLinks ? confinedTo(places) : confinedByText(places);
  const locks = inner?.locks;
  const disk =
    inner === undefined
      ? new NodeDisk({ durability: options.durability ?? "fsync", confinement })
      : new ConfinedDisk(inner, confinement);
  const handles = new HandlePool(disk);
  const sizes = cacheSizesOf(options);
  const dataFiles = new DataFiles(disk, handles, sizes.dataFiles);
  const chunkMaps = new LruCache<ChunkMap>(sizes.chunkMaps);
  const pageChecks = new LruCache<PageChecks>(sizes.pageChecks);
  const rowBlocks = new LruCache<RowBlock>(sizes.rowBlocks);
  const openIndexes = new LruCache<CachedIndex>(sizes.openIndexes);
  const indexParts = new LruCache<IndexPart>(sizes.indexParts);
  const deletions = new LruCache<KeptDeletions>(sizes.deletions);
  const { scratch, leave } = takeScratch();
  const sketches = lazy(async () => {
    const { SketchStore } = await sketchStores.get();
    return new SketchStore(options.vectorCacheBytes ?? SKETCH_BYTES);
  });
  const lock = {
    staleMs: options.lock?.staleMs,
    retries: options.lock?.retries,
    locks,
    confinement,
    fence: async (tableRoot: string) => (await tableLocks.get()).fenceOffTable(disk, tableRoot),
  };
  let closing: AbortController | null = null;
  let isClosed = false;
  const context: OperationContext = {
    root: options.root,
    disk,
    confinement,
    confirmed: new ConfirmedDirectories(confinement),
    handles,
    chunkMaps,
    pageChecks,
    rowBlocks,
    openIndexes,
    indexParts,
    deletions,
    scratch,
    sketches,
    streams: new SharedReadAhead(),
    recentTransactions: new RecentTransactions(),
    closed() {
      closing ??= new AbortController();
      if (isClosed) closing.abort(CLOSED);
      return closing.signal;
    },
    workers: new WorkerPool({
      ...threadsOf(options),
      errorOf: errorOfThread,
      memory: scratch.shared,
    }),
    appendGroups: options.groupInserts
      ? lazy(async () => new (await appendGroups.get()).AppendGroups())
      : undefined,
    functions: options.functions ?? new Map(),
    clusters: options.clusters ?? new Map(),
    ...(options.onWarning !== undefined && { noteUnread: unreadWarnings(options.onWarning) }),
    ...jobsOf(options, disk, lock),
    lock,
    mayUseBase: (path) => places.isAllowedBase(path),
    manifests: new ManifestCache(sizes.manifests, async (...incomplete) =>
      (await oldManifests.get()).completeManifest(...incomplete),
    ),
    // Every operation needs the latest catalog, so it always stays in the cache.
    catalogs: new CatalogCache(sizes.catalogs, 1),
    oldCatalogs: lazy(async () => new (await oldVersions.get()).OldVersions()),
    latestVersions: new LatestVersions(disk),
    rootNames: new RootNames(disk, options.root),
    spelling: new Spelling(disk),
    versionsIn: new UnchangedDirectories(disk, (path) => hasVersionsIn(disk, path)),
    rootTables: new UnchangedDirectories(disk, (path) => lookAtRootTable(context, path)),
    newTableVersion: options.dataStorageVersion ?? "2.2",
    newTableNaming: options.manifestNaming ?? "V2",
    openDataFile: (path, isScanned, version) => dataFiles.open(path, isScanned, version),
    openDataFileOnce: (path, isScanned, arena) => dataFiles.openOnce(path, isScanned, arena),
    cacheStatistics: () =>
      withTotal({
        manifests: context.manifests.counts,
        catalogs: context.catalogs.counts,
        dataFiles: dataFiles.counts,
        chunkMaps: chunkMaps.counts,
        pageChecks: pageChecks.counts,
        rowBlocks: rowBlocks.counts,
        deletions: deletions.counts,
        indexes: openIndexes.counts,
        indexParts: indexParts.counts,
        vectors: sketches.current?.counts ?? {
          ...UNUSED,
          maxBytes: options.vectorCacheBytes ?? SKETCH_BYTES,
        },
      }),
    async close() {
      isClosed = true;
      closing?.abort(CLOSED);
      const wasQuiet = context.workers.close();
      dataFiles.clear();
      chunkMaps.clear();
      pageChecks.clear();
      rowBlocks.clear();
      openIndexes.clear();
      indexParts.clear();
      deletions.clear();
      leave(wasQuiet);
      sketches.current?.clear();
      await handles.close();
      if (locks === undefined) await releaseKeptLocks(options.root);
    },
  };
  const environment = { ...context, batches: unfinishedBatches(context) };
  return {
    ...environment,
    async afterCommit(committed) {
      const { cleanUpAfterCommit } = await autoCleanup.get();
      await cleanUpAfterCommit(committed);
    },
  };
}

const UNUSED: CacheUse = { entries: 0, bytes: 0, maxBytes: 0, hits: 0, misses: 0 };

/** Adds the sums of all caches. */
function withTotal(caches: Omit<CacheStatistics, "total">): CacheStatistics {
  const total = Object.values<CacheUse>(caches).reduce(
    (sum, use) => ({
      entries: sum.entries + use.entries,
      bytes: sum.bytes + use.bytes,
      maxBytes: sum.maxBytes + use.maxBytes,
      hits: sum.hits + use.hits,
      misses: sum.misses + use.misses,
    }),
    UNUSED,
  );
  return { ...caches, total };
}

/** Returns a function that warns about an index, unless it is among the recent warnings. */
function unreadWarnings(
  onWarning: NonNullable<DirectoryNamespaceOptions["onWarning"]>,
): (index: UnreadIndex) => void {
  const isNew = newKeys();
  return ({ location, name, segment, reason }) => {
    if (!isNew(JSON.stringify([location, name, segment, reason]))) return;
    const message = `index ${name} of ${location} is not used, queries scan all rows instead: ${reason}`;
    tell(onWarning, { kind: "indexNotRead", message, indexName: name, location });
  };
}

/** Returns a function that warns about an unlisted job, unless it is among the recent warnings. */
function unlistedWarnings(
  onWarning: NonNullable<DirectoryNamespaceOptions["onWarning"]>,
): (job: UnlistedJob) => void {
  const isNew = newKeys();
  return ({ jobId, location, reason }) => {
    if (!isNew(JSON.stringify([jobId, reason]))) return;
    const message = `listJobs leaves out job ${jobId} because its record cannot be read: ${reason}`;
    tell(onWarning, { kind: "jobNotListed", message, jobId, location });
  };
}

/** Returns a function that is true for keys that it did not receive recently. */
function newKeys(): (key: string) => boolean {
  const keys = new Set<string>();
  return (key) => {
    if (keys.has(key)) return false;
    keys.add(key);
    const [oldest] = keys;
    if (keys.size > MAX_WARNINGS) keys.delete(oldest);
    return true;
  };
}

function tell(onWarning: (warning: NamespaceWarning) => unknown, warning: NamespaceWarning): void {
  // The callback may be async and may fail. The call must not fail with it.
  const warn = async (): Promise<unknown> => onWarning(warning);
  Promise.resolve()
    .then(warn)
    .catch(() => undefined);
}
