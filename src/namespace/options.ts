/** Options of a namespace. */

import type { Vector } from "apache-arrow";
import type { WebWorker } from "../platform/thread.js";
import type { ClusterExecutor } from "./clusters.js";
import type { Identity, Principal } from "./request.js";
import type { ArrowType } from "./schema.js";

/** Options of {@link DirectoryNamespace.close}. */
export interface CloseOptions {
  /** `wait`: waits for the jobs of this instance. `cancel`: ends them now. Default: that of the namespace. */
  readonly jobs?: "wait" | "cancel" | undefined;
}

/**
 * A function that computes the values of a column, per row or per batch. It may be async.
 * `alterTableBackfillColumns` calls it on the caller's thread:
 *
 *     functions: {
 *       words: {
 *         version: "1",
 *         inputs: ["text"],
 *         output: new Int32(),
 *         row: ({ text }) => String(text).split(" ").length,
 *       },
 *     }
 */
export type UserFunction = RowFunction | BatchFunction;

interface FunctionDeclaration {
  /** Version of the function, not empty. The column stores it to detect another program's version. */
  readonly version: string;
  /** Paths of the input fields; at least one. */
  readonly inputs: readonly string[];
  /** Type of the values, from any release of apache-arrow. Dictionaries are not supported. */
  readonly output: ArrowType;
  /** True: a null value counts as not computed. False: the function fails for it. Default: true. */
  readonly nullable?: boolean | undefined;
  /**
   * Number of retries of a failed call, 0 to 100. The first retry waits 100 milliseconds, each later one four
   * times as long, up to 30 seconds. Default: 2.
   */
  readonly retries?: number | undefined;
}

/** A function that computes one row per call. */
export interface RowFunction extends FunctionDeclaration {
  /**
   * Computes the value of a row.
   * @param values input values by path, as apache-arrow returns them: bigint for int64, null for null
   * @returns the value, in the form of {@link RowObject}; undefined means null
   */
  row(values: Readonly<Record<string, unknown>>, call: FunctionCall): unknown;
  /** Absent: a function has either `row` or `batch`. */
  readonly batch?: undefined;
}

/** A function that computes many rows per call. */
export interface BatchFunction extends FunctionDeclaration {
  /**
   * Computes the values of many rows.
   * @param columns read-only inputs by path. A vector of strings is valid only until the call settles:
   *   copy what you keep (`toArray` copies). Later reads fail. `toArray` of numbers contains arbitrary
   *   numbers for nulls; `get` and the vector's iterator return null
   * @returns `rowCount` values: a vector of the output type, a typed array, or an array of values in the form
   *   of {@link RowObject}. Fixed-size lists of numbers may also be one typed array of all items in order: of
   *   the item type, or of any number type for float32 and float64 items
   */
  batch(columns: Readonly<Record<string, Vector>>, call: BatchCall): unknown;
  /** Absent: a function has either `row` or `batch`. */
  readonly row?: undefined;
}

/** Context of a call by row. */
export interface FunctionCall {
  /** Aborts when the result is no longer needed: the job was cancelled, or another call failed for good. */
  readonly signal: AbortSignal;
}
/** Context of a call by batch. */
export interface BatchCall extends FunctionCall {
  /** Number of rows of each column and of the result. */
  readonly rowCount: number;
}

/**
 * Callback before every operation, for each object that the operation reads, creates, moves or removes. It
 * denies the call by throwing; `docs/security.md` lists all calls.
 *
 * An error of the engine passes through with its message and status: a TableNotFoundError hides the table, a
 * ServiceUnavailableError reports that no decision is possible now. Any other error becomes the cause of a
 * PermissionDeniedError (403), which hides its message.
 *
 * Listings omit objects that are denied or reported as not found. Any other error of the engine fails the
 * listing.
 */
export type Authorize = (call: AuthorizeCall) => void | Promise<void>;
/** Argument of {@link Authorize}. */
export interface AuthorizeCall {
  /** Name of the operation, such as `"insertIntoTable"`. */
  readonly operation: string;
  /** Path of the object. Empty: the root namespace. */
  readonly id: readonly string[];
  /** Branch that the call names. Absent: main. */
  readonly branch?: string;
  /**
   * For `registerTable`: the requested directory of the table, relative to the root. For `createTableVersion`
   * on the root namespace: the absolute path of a directory outside the root that a table's first version
   * names as a base.
   */
  readonly location?: string;
  /** Unverified credentials of the caller. */
  readonly identity?: Identity;
  /** The caller after verification. The REST handler or the program sets it. */
  readonly principal?: Principal;
  /** Values from the caller. The engine ignores them. */
  readonly context?: Readonly<Record<string, string>>;
}

/**
 * A problem that the namespace works around.
 *
 * - `indexNotRead`: this release can't read an index. Queries scan all rows instead, so answers are correct
 *   but slower. The index and its files stay unchanged.
 * - `upkeepFailed`: the option `upkeep` could not do its work on a table. It is told once, and tried again.
 * - `jobsCancelled`: `close` ended jobs that were not finished, although no option `jobs` told it to.
 * - `jobNotListed`: the record of a job is malformed or unreadable. `listJobs` omits the job.
 */
export interface NamespaceWarning {
  readonly kind: "indexNotRead" | "jobNotListed" | "jobsCancelled" | "upkeepFailed";
  /** Sentence that names the reason, and the index and its table's directory, the job, or the table. */
  readonly message: string;
  /** Name of the index of `indexNotRead`. */
  readonly indexName?: string;
  /** Id of the job of `jobNotListed`. */
  readonly jobId?: string;
  /**
   * Directory of the table or branch, or of the job's record. If upkeep can't open a table or list tables,
   * the namespace's directory.
   */
  readonly location: string;
}

/** Options of a {@link DirectoryNamespace}. Only `root` is required. */
export interface DirectoryNamespaceOptions {
  /** Directory of the namespace, as a path or a `file:` URL. The first write creates it. */
  readonly root: string | URL;
  /** `fsync` (default): acknowledged changes survive a power cut. `none`: only the process's death. */
  readonly durability?: "fsync" | "none" | undefined;
  /** Callback before every operation; throwing denies the operation. Default: everything is allowed. */
  readonly authorize?: Authorize | undefined;
  /** Functions of computed columns by name. */
  readonly functions?: Readonly<Record<string, UserFunction>> | undefined;
  /** Executors of backfills by name, such as `rayCluster` of `tiltyard/ray`. `cluster` names one. */
  readonly clusters?: Readonly<Record<string, ClusterExecutor>> | undefined;
  /**
   * Callback for each warning. An index or job is reported once while it is among the last thousand. The call
   * that caused the warning does not wait for the callback, and errors of the callback are ignored. Default:
   * `upkeepFailed` and `jobsCancelled` are written to the console, and other warnings are dropped.
   */
  readonly onWarning?: ((warning: NamespaceWarning) => void) | undefined;
  /**
   * Fate of unfinished jobs of this instance at `close` and `await using`. `wait`: they are awaited.
   * `cancel`: they end, and a request for the same work resumes them. Default: `cancel`, and a warning if
   * there are any, on the console or by `onWarning`.
   */
  readonly jobs?: "wait" | "cancel" | undefined;
  /** Timing of table locks. */
  readonly lock?:
    | {
        /**
         * Milliseconds without renewal after which another writer takes over the lock, ≥ 2000. Default:
         * 10,000.
         */
        readonly staleMs?: number | undefined;
        /**
         * Number of attempts to take a lock after the first. Default: as many as fit into the wait, which is
         * 60 seconds for most operations.
         */
        readonly retries?: number | undefined;
      }
    | undefined;
  /**
   * Maximum number of threads for long work: compaction, vector indexes and large pages. Threads start on
   * demand, are shared by all namespaces, and end after some idle seconds; no process waits for them.
   * Together they may hold hundreds of megabytes. 0 works in the calling thread, in short pieces, and so does
   * a runtime without threads; results are the same. Default: one less than the number of processors, at most
   * 8.
   */
  readonly workers?: number | undefined;
  /**
   * Starts a thread where the engine starts none by itself, such as in a page: returns a new module worker
   * whose script imports `tiltyard/worker`. Threads share memory, so the page must be cross-origin isolated.
   * In another page, and by default, work is done in the calling thread, in short pieces.
   */
  readonly startWorker?: (() => WebWorker) | undefined;
  /**
   * Maximum bytes of memory for sketches of vectors, about one byte per value and 16 per vector. Sketches
   * speed up exact vector searches from the second search on. A column of a fragment has a whole sketch or
   * none. 0 turns sketches off. Default: 256 MiB, taken on demand.
   */
  readonly vectorCacheBytes?: number | undefined;
  /**
   * Maximum bytes of the caches of manifests, catalogs, metadata of data files, deleted rows and looked-up
   * rows. Default: 336 MiB, taken on demand.
   */
  readonly metadataCacheBytes?: number | undefined;
  /** Maximum bytes of the caches of open indexes and their parts. Default: 544 MiB, taken on demand. */
  readonly indexCacheBytes?: number | undefined;
  /**
   * Directories outside the root, as paths or `file:` URLs, in which files of tables may lie. A base path of
   * a manifest or a symbolic link in the root may lead there. A path outside these directories and the root
   * fails with a PermissionDeniedError. Default: none.
   */
  readonly allowedBases?: readonly (string | URL)[] | undefined;
  /**
   * File version of new tables. Only 2.2 supports maps, fixed-size lists of structs and blobs of version 2.
   * Blobs with the key `lance-encoding:blob` require 2.0 or 2.1. Default: 2.2.
   */
  readonly dataStorageVersion?: "2.0" | "2.1" | "2.2" | undefined;
  /** Naming scheme of manifests in new tables. Default: V2. */
  readonly manifestNaming?: "V1" | "V2" | undefined;
  /**
   * True: appends of this instance to one table that wait for each other are committed together, so many
   * concurrent inserts become few versions. Each insert has its own answer; those that share a version share
   * the transaction. If one fails, the others do not. Inserts with a `message` stay versions of their own.
   * Default: false, each insert is a version.
   */
  readonly groupInserts?: boolean | undefined;
  /**
   * True, or an object: tables are compacted, indexed and cleaned up by themselves. From the first call on,
   * this instance looks at all tables every `intervalMs` milliseconds (100 to 2^31 - 1; default 60,000). It
   * starts one job at a time, for a table that has passed a threshold of `configureUpkeep`. One process at
   * a time does so. `onWarning` learns of failures. No process waits for the timer. Default: false.
   */
  readonly upkeep?: boolean | { readonly intervalMs?: number | undefined } | undefined;
}
