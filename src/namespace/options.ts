/** Options of a namespace. */

import type { DataType, Vector } from "apache-arrow";
import type { ClusterExecutor } from "./clusters.js";
import type { Identity, Principal } from "./request.js";

/** How a namespace is closed. */
export interface CloseOptions {
  /** What becomes of the jobs that this instance runs. Default: `cancel`. */
  readonly jobs?: "wait" | "cancel" | undefined;
}

/**
 * A function that computes the values of a column, row by row or for many rows at once; it runs on the caller's thread,
 * while `alterTableBackfillColumns` fills the column. Either kind may be async:
 *
 *     functions: {
 *       words: { version: "1", inputs: ["text"], output: new Int32(), row: ({ text }) => String(text).split(" ").length },
 *     }
 */
export type UserFunction = RowFunction | BatchFunction;

interface FunctionDeclaration {
  /** Told apart from the versions that other programs may have registered; kept with the column. Not empty. */
  readonly version: string;
  /** Paths of the fields that it is handed, at least one. */
  readonly inputs: readonly string[];
  /** Type of the values: one of apache-arrow, of whichever copy of it. Dictionaries are not supported. */
  readonly output: DataType;
  /** False: it fails where a value is null. A null counts as not computed yet. Default: true. */
  readonly nullable?: boolean | undefined;
  /**
   * How often a call that failed is made again: after 100 milliseconds, then after four times as long each time, up to 30
   * seconds; 0 to 100. Default: 2.
   */
  readonly retries?: number | undefined;
}

/** Computes one row at a time. */
export interface RowFunction extends FunctionDeclaration {
  /**
   * @param values of the inputs, by their paths, as apache-arrow gives them: int64 as bigint, null for null
   * @returns the row's value, as rows of objects have it; undefined, as of a function that returns nothing, is null
   */
  row(values: Readonly<Record<string, unknown>>, call: FunctionCall): unknown;
  /** Absent: a function is called either by row or by batch. */
  readonly batch?: undefined;
}

/** Computes many rows at a time. */
export interface BatchFunction extends FunctionDeclaration {
  /**
   * @param columns the inputs, by their paths; only to be read. Vectors of texts last until the call is settled: what is to
   *   be kept of them must be copied (`toArray` does), later looks at them fail. `toArray` of numbers has some number in the
   *   place of a null: `get`, or the vector's iterator, gives null
   * @returns `rowCount` values: a vector of the output's type, a typed array, or an array of values as rows of objects have
   *   them. For fixed-size lists of numbers also a typed array of all items, one list after the other: of the items' own
   *   kind, or of any numbers where the items are float32 or float64
   */
  batch(columns: Readonly<Record<string, Vector>>, call: BatchCall): unknown;
  /** Absent: a function is called either by row or by batch. */
  readonly row?: undefined;
}

/** What a function is handed along with the values. */
export interface FunctionCall {
  /** Aborts when the result is not wanted any more: the job was cancelled, or another call failed for good. */
  readonly signal: AbortSignal;
}
/** What a function is handed along with the columns. */
export interface BatchCall extends FunctionCall {
  /** Number of rows, which each of the columns has and the result must have. */
  readonly rowCount: number;
}

/**
 * Called before every operation, for every object that the operation reads, makes, moves or removes. Throwing denies
 * the call. `docs/security.md` has the table of all questions.
 *
 * Any error that is not one of the engine's denies with a PermissionDeniedError (403), which keeps the error as its
 * cause and does not reveal its text. The engine's own errors pass through with their text and status: a
 * TableNotFoundError hides that the table exists, a ServiceUnavailableError says that nobody can decide at the moment.
 *
 * Listings leave out objects that are denied or reported as not found; any other of the engine's errors fails them.
 */
export type Authorize = (call: AuthorizeCall) => void | Promise<void>;
/** What `authorize` is asked. */
export interface AuthorizeCall {
  /** Name of the operation, e.g. `"insertIntoTable"`. */
  readonly operation: string;
  /** Path of the object; empty for the root namespace. */
  readonly id: readonly string[];
  /** The branch that the call names, if it is not the main one. */
  readonly branch?: string;
  /**
   * For `registerTable`: the directory below the root that the table is to have. For `createTableVersion`, asked about
   * the root: the absolute path of a directory outside the root that a table's first version names as a base.
   */
  readonly location?: string;
  /** As the caller gave it, unverified. */
  readonly identity?: Identity;
  /** The caller, once verified: set by the REST handler, or by the program itself. */
  readonly principal?: Principal;
  /** Whatever the caller sends along, for `authorize`. The engine gives it no meaning. */
  readonly context?: Readonly<Record<string, string>>;
}

/**
 * Something that a namespace works around.
 *
 * - `indexNotRead`: an index that this release can't read, such as one of a kind that is unknown to it. Queries look at all
 *   rows in its place, so that their answers are right but take longer; its entry and its files stay as they are.
 * - `jobNotListed`: a record of a job that is malformed or can't be read. `listJobs` leaves it out.
 */
export interface NamespaceWarning {
  readonly kind: "indexNotRead" | "jobNotListed";
  /** A sentence that names the index and the table's directory, or the job, and the reason. */
  readonly message: string;
  /** Name of the index; absent for jobs. */
  readonly indexName?: string;
  /** Id of the job; absent for indexes. */
  readonly jobId?: string;
  /** Directory of the table or branch, or of the job's record. */
  readonly location: string;
}

/** Options of a {@link DirectoryNamespace}: `root` is wanted, all others have defaults. */
export interface DirectoryNamespaceOptions {
  /** Directory of the namespace, as a path or a `file:` URL; made on the first write. */
  readonly root: string | URL;
  /**
   * `fsync` (default): an acknowledged change survives a power cut. `none`: it survives only the end of the process.
   */
  readonly durability?: "fsync" | "none" | undefined;
  /** Called before every operation; throwing denies it. Default: everything is allowed. */
  readonly authorize?: Authorize | undefined;
  /** Functions of computed columns, by name. */
  readonly functions?: Readonly<Record<string, UserFunction>> | undefined;
  /** Executors of backfills, by the name that a request has as its `cluster`: such as `rayCluster` of `tiltyard/ray`. */
  readonly clusters?: Readonly<Record<string, ClusterExecutor>> | undefined;
  /**
   * Called with each warning: once for each index or job, while the last thousand of them are remembered. It runs after the call
   * that it is about has gone on; what it throws is ignored. Default: warnings are dropped.
   */
  readonly onWarning?: ((warning: NamespaceWarning) => void) | undefined;
  /** How locks of tables are taken. */
  readonly lock?:
    | {
        /** Milliseconds without renewal after which a writer's lock is taken over; ≥ 2000, default 10,000. */
        readonly staleMs?: number | undefined;
        /**
         * Attempts to take a lock after the first. Default: as many as fit into the wait, 60 seconds for most operations.
         */
        readonly retries?: number | undefined;
      }
    | undefined;
  /**
   * Most threads for long work, such as compaction, indexes on vectors and large pages that are written or read: they are
   * started when they are needed and go away when idle for some seconds, also after the namespace is closed, while other ones
   * may use them; no process waits for that. Default: one fewer than there are processors, at most 8. 0: all is
   * done in the calling thread, in short pieces; so it is where no thread can be started. The results are the same. Threads
   * hold pages of their own, hundreds of megabytes together.
   */
  readonly workers?: number | undefined;
  /**
   * Most bytes of memory for sketches of vectors: about a byte for each value, and 16 for each vector, by which searches that
   * compare all rows of a column find those worth reading, from the second search on. A column of a fragment has one whole
   * or none. 0: none are kept. Default: 256 MiB, which is taken when it is needed.
   */
  readonly vectorCacheBytes?: number | undefined;
  /**
   * Directories outside the root, as paths or `file:` URLs, below which files of tables may lie: those that a base path
   * in a manifest, or a symbolic link in the root, leads to. Any other place outside the root is refused with a
   * PermissionDeniedError. Default: none.
   */
  readonly allowedBases?: readonly (string | URL)[] | undefined;
  /**
   * File version of new tables; default 2.2, the only one with maps, fixed-size lists of structs and blobs of version
   * 2. Blobs of the key `lance-encoding:blob` need 2.0 or 2.1.
   */
  readonly dataStorageVersion?: "2.0" | "2.1" | "2.2" | undefined;
  /** Manifest names of new tables; default V2. */
  readonly manifestNaming?: "V1" | "V2" | undefined;
}
