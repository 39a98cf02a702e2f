/**
 * Requests and responses of the operations, as programs see them. Names are the namespace spec's in camelCase; maps
 * supplied by users keep their keys. Types only: nothing here runs.
 */

import type { DataType, RecordBatch, Schema, Table, Vector } from "apache-arrow";
import type { MemoryShare } from "./memory.js";

/** The caller, as given in the request; the REST handler fills this from headers. */
export interface Identity {
  readonly apiKey?: string;
  readonly authToken?: string;
}

/** The caller, once verified. */
export interface Principal {
  /**
   * Name of the caller: the `sub` of a token; `api-key-` and the position of the key, from 0, for a list of API keys;
   * `anonymous` for a caller without credentials where such callers are allowed. A position in the list names another
   * key when the list changes: give a function instead of a list where rights depend on it.
   */
  readonly subject: string;
  /** How the caller was verified: `apiKey`, `bearer`, `anonymous`, or the name that a lookup of the host gives. */
  readonly method: string;
  /** The claims of a verified token. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** Members that every request may have. */
export interface RequestBase {
  /** As the caller gave it, unverified. */
  readonly identity?: Identity;
  /** Set by the code that verified the identity: the REST handler, or the program itself. */
  readonly principal?: Principal;
  readonly context?: Readonly<Record<string, string>>;
  /** Path of the object: namespaces, then the name. */
  readonly id?: readonly string[];
  /**
   * Aborting it ends the operation; changes that were not committed by then are dropped. The call rejects with a
   * ServiceUnavailableError, whose cause is the signal's reason.
   */
  readonly signal?: AbortSignal;
}

export interface TableRequest extends RequestBase {
  readonly id: readonly string[];
}

/**
 * Rows as users hand them in: see the README's section on input.
 *
 * Values of a blob column of version 2, a field of the extension `lance.blob.v2`, come as structs of `data`
 * (large_binary) and `uri` (utf8). When appended to a table that has the column, they may also be plain large_binary or
 * binary. A value with a uri is refused. The field's metadata may set three bounds in bytes: the largest value that
 * goes into the data file (`lance-encoding:blob-inline-size-threshold`, default 64 KiB), the largest value that shares
 * a side file with others (`lance-encoding:blob-dedicated-size-threshold`, default 4 MiB), and the size of such a side
 * file (`lance-encoding:blob-pack-file-size-threshold`, default 1 GiB).
 */
export type RowsInput =
  /** Plain objects, one per row. */
  | Iterable<RowObject>
  | AsyncIterable<RowObject>
  | ReadableStream<RowObject>
  | Table
  | RecordBatch
  | Iterable<RecordBatch>
  | AsyncIterable<RecordBatch>
  | Uint8Array
  | ArrayBuffer
  | Iterable<Uint8Array>
  | AsyncIterable<Uint8Array>
  | ReadableStream<Uint8Array>
  | ReadableStream<RecordBatch>
  /** A table or batch of another apache-arrow release. */
  | ForeignArrow;

/**
 * A row as a plain object: values by the names of columns. Where rows go to a table that has columns, or a `schema` is
 * given, values are fitted to these; otherwise their types are inferred: numbers are float64, bigints int64, strings utf8,
 * dates timestamps of milliseconds in UTC, views of bytes binary, arrays lists, objects structs. Arrays of numbers are
 * vectors, fixed-size lists of float32, if all have one length of at least 2, or stand under the name `vector`.
 */
export type RowObject = Readonly<Record<string, unknown>>;

/** The members that the engine reads of Arrow objects that its own apache-arrow did not make. */
export interface ForeignArrow {
  readonly schema: { readonly fields: readonly unknown[] };
}

// ------------------------------------------------------------------------------------------------ namespaces

/** Properties of a namespace or table, for its users; the engine gives them no meaning. */
export type Properties = Readonly<Record<string, string>>;

export interface CreateNamespaceRequest extends RequestBase {
  readonly id: readonly string[];
  /**
   * `Create` (default) fails if the namespace exists, `ExistOk` leaves it as it is, `Overwrite` replaces it if it is
   * empty.
   */
  readonly mode?: string;
  readonly properties?: Properties;
}
export interface CreateNamespaceResponse {
  readonly transactionId?: string;
  readonly properties: Properties;
}

/** An absent or empty id means the root namespace, here and below. */
export interface DescribeNamespaceRequest extends RequestBase {}
export interface DescribeNamespaceResponse {
  readonly properties: Properties;
}

export interface NamespaceExistsRequest extends RequestBase {}

export interface ListNamespacesRequest extends RequestBase {
  /** Token of the previous page. */
  readonly pageToken?: string;
  /** Inclusive upper bound of the names returned, > 0. */
  readonly limit?: number;
}
export interface ListNamespacesResponse {
  /** Names in ascending order of their bytes. */
  readonly namespaces: readonly string[];
  /** Absent on the last page. */
  readonly pageToken?: string;
}

export interface DropNamespaceRequest extends RequestBase {
  readonly id: readonly string[];
  /** If the namespace does not exist: `Fail` (default) or `Skip`. */
  readonly mode?: string;
  /** `Restrict` (default) refuses to drop a namespace that is not empty, `Cascade` drops it with everything in it. */
  readonly behavior?: string;
}
export interface DropNamespaceResponse {
  /** Absent if there was nothing to drop. */
  readonly properties?: Properties;
  /** An array here, unlike everywhere else. */
  readonly transactionId?: readonly string[];
}

// ------------------------------------------------------------------------------------------------ tables

export interface DeclareTableRequest extends TableRequest {
  /** If given, must be the location that the namespace would choose. */
  readonly location?: string;
  readonly properties?: Properties;
  /** There are no credentials to vend: files of the local file system need none. */
  readonly vendCredentials?: boolean;
}
export interface DeclareTableResponse {
  readonly transactionId?: string;
  /** Absolute path of the table's directory. */
  readonly location: string;
  /** Always absent, here and below: files of the local file system need none. */
  readonly storageOptions?: Readonly<Record<string, string>>;
  readonly properties: Properties;
  readonly managedVersioning: boolean;
}

export interface CreateTableRequest extends TableRequest {
  /** `Create` (default) fails if the table exists, `ExistOk` leaves it as it is, `Overwrite` replaces its content. */
  readonly mode?: string;
  readonly properties?: Properties;
  /**
   * Whether rows of the new table keep their ids (`_rowid`) when they move, and the table records the versions that added
   * and last changed them. Decided for good when a table is created. Default false.
   */
  readonly stableRowIds?: boolean;
  /**
   * The columns of rows that come as objects, of any release of apache-arrow. Columns that no row names are null.
   * Default: the types of the values, or the columns of the table that is appended to.
   */
  readonly schema?: Schema | ForeignArrow["schema"];
  /**
   * Upper bound in bytes for input that is IPC bytes: of one record batch, uncompressed; of its dictionaries together;
   * and of an IPC file that comes in pieces. Larger input is refused before it is held in memory. Default: no bound.
   */
  readonly maxBatchBytes?: number;
  /** Maximum number of rows in the input. Default: no bound. */
  readonly maxRows?: number;
  /** Memory bound that the rows count against on their way, shared with other work. */
  readonly memory?: MemoryShare;
}
export interface CreateTableResponse {
  readonly transactionId?: string;
  readonly location: string;
  readonly version: number;
  readonly numInsertedRows: number;
  /** The table's properties. */
  readonly properties: Properties;
  readonly storageOptions?: Readonly<Record<string, string>>;
}

export interface InsertIntoTableRequest extends TableRequest {
  readonly branch?: string;
  /** `Append` (default) or `Overwrite`, in any case. */
  readonly mode?: string;
  /**
   * The columns of rows that come as objects, of any release of apache-arrow. Columns that no row names are null.
   * Default: the types of the values, or the columns of the table that is appended to.
   */
  readonly schema?: Schema | ForeignArrow["schema"];
  /**
   * Upper bound in bytes for input that is IPC bytes: of one record batch, uncompressed; of its dictionaries together;
   * and of an IPC file that comes in pieces. Larger input is refused before it is held in memory. Default: no bound.
   */
  readonly maxBatchBytes?: number;
  /** Maximum number of rows in the input. Default: no bound. */
  readonly maxRows?: number;
  /** Memory bound that the rows count against on their way, shared with other work. */
  readonly memory?: MemoryShare;
}
export interface InsertIntoTableResponse {
  readonly transactionId: string;
  readonly version: number;
  readonly numInsertedRows: number;
}

export interface TableExistsRequest extends TableRequest {
  readonly version?: number;
  readonly branch?: string;
  /** Excludes `version` and `branch`. */
  readonly tag?: string;
}

export interface DescribeTableRequest extends TableRequest {
  readonly version?: number;
  readonly branch?: string;
  /** Excludes `version` and `branch`. */
  readonly tag?: string;
  readonly withTableUri?: boolean;
  readonly loadDetailedMetadata?: boolean;
  readonly checkDeclared?: boolean;
  /** As in {@link DeclareTableRequest}. */
  readonly vendCredentials?: boolean;
}
export interface DescribeTableResponse {
  readonly table: string;
  readonly namespace: readonly string[];
  /** Absent while the table is only declared. */
  readonly version?: number;
  /** Absolute path of the table's directory. */
  readonly location: string;
  /** `file:` URL of the location. */
  readonly tableUri: string;
  readonly storageOptions?: Readonly<Record<string, string>>;
  /** The Arrow schema as JSON; absent while the table is only declared. */
  readonly schema?: JsonSchema;
  readonly stats?: { readonly numDeletedRows: number; readonly numFragments: number };
  /** Schema metadata of the version. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Properties that the table was declared, created or registered with. */
  readonly properties: Properties;
  readonly managedVersioning: boolean;
  readonly isOnlyDeclared: boolean;
}

/** An Arrow schema in the namespace spec's JSON form. */
export interface JsonSchema {
  readonly fields: readonly JsonField[];
  readonly metadata?: Readonly<Record<string, string>>;
}
export interface JsonField {
  readonly name: string;
  readonly nullable: boolean;
  readonly type: JsonType;
  readonly metadata?: Readonly<Record<string, string>>;
}
export interface JsonType {
  readonly type: string;
  readonly length?: number;
  readonly fields?: readonly JsonField[];
}

export interface DropTableRequest extends TableRequest {}
export interface DropTableResponse {
  readonly transactionId?: string;
  readonly id: readonly string[];
  readonly location: string;
  readonly properties: Properties;
}

export interface RegisterTableRequest extends TableRequest {
  /** Directory of the table, relative to the namespace's, with `/`. A root table's is `<name>.lance`. */
  readonly location: string;
  /** `Create` (default) fails if the table exists, `Overwrite` takes the id from it. */
  readonly mode?: string;
  readonly properties?: Properties;
}
export interface RegisterTableResponse {
  readonly transactionId?: string;
  /** Absolute path of the table's directory. */
  readonly location: string;
  readonly properties: Properties;
}

export interface DeregisterTableRequest extends TableRequest {}
export interface DeregisterTableResponse {
  readonly transactionId?: string;
  readonly id: readonly string[];
  /** Absolute path of the table's former directory. */
  readonly location: string;
  readonly properties: Properties;
}

export interface RenameTableRequest extends TableRequest {
  readonly newTableName: string;
  /** Absent: the table's current namespace. Empty: the root. */
  readonly newNamespaceId?: readonly string[];
}
export interface RenameTableResponse {
  readonly transactionId?: string;
}

export interface ListTablesRequest extends RequestBase {
  /** Absent or empty: the root namespace. */
  readonly id?: readonly string[];
  /** Token of the previous page. */
  readonly pageToken?: string;
  /** Inclusive upper bound of the names returned, > 0. */
  readonly limit?: number;
  /** Whether tables that are only declared are listed; default true. */
  readonly includeDeclared?: boolean;
}
/** Lists the tables of all namespaces, regardless of the id. */
export interface ListAllTablesRequest extends RequestBase {
  readonly pageToken?: string;
  readonly limit?: number;
  readonly includeDeclared?: boolean;
}
export interface ListTablesResponse {
  /** Names in ascending order of their bytes. For `listAllTables`: identifiers, their parts joined by `$`. */
  readonly tables: readonly string[];
  /** Absent on the last page. */
  readonly pageToken?: string;
}

export interface GetTableStatsRequest extends TableRequest {
  readonly branch?: string;
  readonly version?: number;
  /** Excludes `version` and `branch`. */
  readonly tag?: string;
}
export interface GetTableStatsResponse {
  /** Bytes of data files and index files. */
  readonly totalBytes: number;
  /** Live rows. */
  readonly numRows: number;
  readonly numIndices: number;
  readonly fragmentStats: FragmentStats;
}
export interface FragmentStats {
  readonly numFragments: number;
  /** Fragments of fewer than 100,000 physical rows. */
  readonly numSmallFragments: number;
  /** Physical rows per fragment. */
  readonly lengths: {
    readonly min: number;
    readonly max: number;
    readonly mean: number;
    readonly p25: number;
    readonly p50: number;
    readonly p75: number;
    readonly p99: number;
  };
}

export interface RestoreTableRequest extends TableRequest {
  /** The version whose content becomes the latest. */
  readonly version: number;
  readonly branch?: string;
}
export interface RestoreTableResponse {
  readonly transactionId: string;
  /** The new version. */
  readonly version: number;
}

// ------------------------------------------------------------------------------------------------ upkeep

/** What a cleanup removes: which versions, and which other files. */
export interface CleanupSettings {
  /**
   * Removes versions that were superseded at least this many milliseconds ago, so a reader of the latest version can go
   * on for at least as long; default 7 days. A query of a version that is removed while the query runs may fail.
   */
  readonly olderThanMs?: number;
  /** Number of newest versions to keep, the latest included; default 1. */
  readonly retainVersions?: number;
  /**
   * Removes files that no version refers to at any age, rather than only from 7 days on. Use this when nobody is
   * writing to the table: commits of this engine that lose files this way fail, and those of other engines may be
   * damaged. Files younger than the oldest version that stays by age or number are kept in any case. Default false.
   */
  readonly deleteUnverified?: boolean;
  /**
   * Fails if a version that would be removed has a tag. Default false: that version stays, and the others are removed.
   */
  readonly errorIfTagged?: boolean;
}

/** Which fragments a compaction rewrites. */
export interface OptimizeSettings {
  /**
   * Fragments with fewer rows are merged with their neighbours, into fragments with at least this many rows; 1 to
   * 1,048,576, which is the default.
   */
  readonly targetRowsPerFragment?: number;
  /** Rewrites fragments with many deleted rows without these, regardless of size; default true. */
  readonly materializeDeletions?: boolean;
  /** A fragment has many deleted rows if their share of its rows, 0 to 1, exceeds this; default 0.1. */
  readonly materializeDeletionsThreshold?: number;
}

/** How far long work is. */
export interface Progress {
  readonly done: number;
  /** Absent while it is not known. */
  readonly total?: number;
  readonly unit: JobUnit;
}

/** What requests for long work may have. */
export interface LongWork {
  /** Called whenever the work has got on. In the background: while this process runs the job. */
  readonly onProgress?: (progress: Progress) => void;
  /** Whether to start a job, and resolve to its id at once. Default false: the call resolves when the work is done. */
  readonly background?: boolean;
}
export interface StartedJob {
  readonly jobId: string;
}

export interface OptimizeTableRequest extends TableRequest, OptimizeSettings, LongWork {
  /** The branch whose fragments are rewritten; absent: the main branch. */
  readonly branch?: string;
}
export interface OptimizeTableResponse {
  /** Absent if there was nothing to do, and no version was made. */
  readonly transactionId?: string;
  /** The latest version. */
  readonly version: number;
  readonly fragmentsRemoved: number;
  readonly fragmentsAdded: number;
  /** Data and deletion files that the version before has and this one does not; they stay until a cleanup. */
  readonly filesRemoved: number;
  readonly filesAdded: number;
  /**
   * Fragments left as they are because an index covers them that this release can't write: its entries would no longer
   * be right. None in tables with stable row ids.
   */
  readonly indexedFragmentsLeft: number;
  /** Indexes that cover more fragments than before, or have fewer segments. */
  readonly indexesUpdated: number;
}

export interface CleanupTableRequest extends TableRequest, CleanupSettings, LongWork {
  /** The branch whose versions are cleaned up; absent: the main branch. */
  readonly branch?: string;
}
export interface CleanupTableResponse {
  /** Bytes of all files removed, manifests included. */
  readonly bytesRemoved: number;
  readonly versionsRemoved: number;
  /**
   * All files except manifests of versions; includes temporary files and the like, which the counts below leave out.
   */
  readonly filesRemoved: number;
  readonly dataFilesRemoved: number;
  readonly deletionFilesRemoved: number;
  readonly transactionFilesRemoved: number;
  readonly indexFilesRemoved: number;
}

// ------------------------------------------------------------------------------------------------ versions

/** One version of a table. */
export interface TableVersion {
  readonly version: number;
  /** Absolute path of the manifest. */
  readonly manifestPath: string;
  /** Bytes. */
  readonly manifestSize: number;
  readonly eTag?: string;
  /** Commit time, as recorded in the manifest; milliseconds since the epoch. */
  readonly timestampMillis: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface CreateTableVersionRequest extends TableRequest {
  /** Must be free, and equal to the number in the staged manifest; at most 2^32 above the latest. */
  readonly version: number;
  /** Path of the staged manifest: absolute, relative to the table, or absolute without its leading slash. */
  readonly manifestPath: string;
  /** Bytes of the staged manifest; a file of another size is refused. */
  readonly manifestSize?: number;
  /** Stored and returned with the version; not compared with anything. */
  readonly eTag?: string;
  /** Stored and returned with the version. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** `V1` or `V2`; default: the table's own, V2 for a table without versions. */
  readonly namingScheme?: string;
  readonly branch?: string;
  /**
   * Treats a branch as existing even before it is registered, and without versions if it has none. Writers that let the
   * namespace publish their versions publish a branch's first version before they register the branch. Default false.
   */
  readonly unregisteredBranch?: boolean;
}
export interface CreateTableVersionResponse {
  readonly transactionId?: string;
  readonly version: TableVersion;
}

/** One version of {@link BatchCreateTableVersionsRequest}. */
export type CreateTableVersionEntry = Omit<CreateTableVersionRequest, keyof RequestBase> & {
  readonly id: readonly string[];
};

export interface BatchCreateTableVersionsRequest extends RequestBase {
  readonly entries: readonly CreateTableVersionEntry[];
}
export interface BatchCreateTableVersionsResponse {
  readonly transactionId?: string;
  /** In the order of the entries. */
  readonly versions: readonly TableVersion[];
}

/** A range of consecutive version numbers. */
export interface VersionRange {
  readonly startVersion: number;
  /** Exclusive; -1 stands for the number after the latest. */
  readonly endVersion: number;
}

export interface BatchDeleteTableVersionsRequest extends TableRequest {
  /** Numbers in the ranges that have no version are ignored. */
  readonly ranges: readonly VersionRange[];
  /** Absent: the main branch. */
  readonly branch?: string;
}
export interface BatchDeleteTableVersionsResponse {
  readonly transactionId?: string;
  /** Number of versions deleted. */
  readonly deletedCount: number;
}

/** Versions of one table to delete as part of a batch. */
export type DeleteTableVersionsEntry = Omit<BatchDeleteTableVersionsRequest, keyof RequestBase> & {
  readonly id: readonly string[];
};

/** One part of a batch; has exactly one member. */
export interface BatchCommitOperation {
  readonly declareTable?: Omit<DeclareTableRequest, Exclude<keyof RequestBase, "id">>;
  readonly createTableVersion?: CreateTableVersionEntry;
  /** Applies to the table as it is before the batch. */
  readonly deleteTableVersions?: DeleteTableVersionsEntry;
  readonly deregisterTable?: Omit<DeregisterTableRequest, Exclude<keyof RequestBase, "id">>;
}
export interface BatchCommitTablesRequest extends RequestBase {
  readonly operations: readonly BatchCommitOperation[];
}
/** Result of one part, in the same member as the operation. */
export interface BatchCommitResult {
  readonly declareTable?: DeclareTableResponse;
  readonly createTableVersion?: CreateTableVersionResponse;
  readonly deleteTableVersions?: BatchDeleteTableVersionsResponse;
  readonly deregisterTable?: DeregisterTableResponse;
}
export interface BatchCommitTablesResponse {
  readonly transactionId?: string;
  /** In the order of the operations. */
  readonly results: readonly BatchCommitResult[];
}

export interface DescribeTableVersionRequest extends TableRequest {
  /** Absent: the latest. */
  readonly version?: number;
  readonly branch?: string;
  /**
   * Treats a branch as existing even before it is registered, and without versions if it has none. Writers that let the
   * namespace publish their versions publish a branch's first version before they register the branch. Default false.
   */
  readonly unregisteredBranch?: boolean;
}
export interface DescribeTableVersionResponse {
  readonly version: TableVersion;
}

export interface ListTableVersionsRequest extends TableRequest {
  readonly branch?: string;
  /**
   * Treats a branch as existing even before it is registered, and without versions if it has none. Writers that let the
   * namespace publish their versions publish a branch's first version before they register the branch. Default false.
   */
  readonly unregisteredBranch?: boolean;
  readonly pageToken?: string;
  readonly limit?: number;
  /** Newest first; default false. */
  readonly descending?: boolean;
}
export interface ListTableVersionsResponse {
  readonly versions: readonly TableVersion[];
  readonly pageToken?: string;
}

// ------------------------------------------------------------------------------------------------ branches

/** What the namespace has registered about a branch. */
export interface BranchContents {
  /** Absent: the main branch. */
  readonly parentBranch?: string;
  /** The version that the branch was made from, which is also its first. */
  readonly parentVersion: number;
  /** Seconds since the epoch. */
  readonly createAt: number;
  /** Bytes of the parent's manifest. */
  readonly manifestSize: number;
  /** Absent if there is none. */
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface ListTableBranchesRequest extends TableRequest {
  /** Token of the previous page. */
  readonly pageToken?: string;
  /** Inclusive upper bound of the branches returned, > 0. */
  readonly limit?: number;
}
export interface ListTableBranchesResponse {
  /** By name; names in ascending order of their bytes. The main branch is not included. */
  readonly branches: Readonly<Record<string, BranchContents>>;
  /** Absent on the last page. */
  readonly pageToken?: string;
}

export interface CreateTableBranchRequest extends TableRequest {
  /** Parts made of letters, digits, '.', '-' and '_', joined by '/'. */
  readonly name: string;
  /** Absent: the main branch. */
  readonly fromBranch?: string;
  /** Absent: the latest. */
  readonly fromVersion?: number;
  /** Excludes `fromBranch` and `fromVersion`. */
  readonly fromTag?: string;
}
export interface CreateTableBranchResponse {
  readonly transactionId?: string;
}

export interface DeleteTableBranchRequest extends TableRequest {
  readonly name: string;
}
export interface DeleteTableBranchResponse {
  readonly transactionId?: string;
}

// ------------------------------------------------------------------------------------------------ tags

/** What a tag names. */
export interface TagContents {
  /** Absent: the main branch. */
  readonly branch?: string;
  readonly version: number;
  /** Bytes of the version's manifest. */
  readonly manifestSize: number;
}

export interface ListTableTagsRequest extends TableRequest {
  /** Token of the previous page. */
  readonly pageToken?: string;
  /** Inclusive upper bound of the tags returned, > 0. */
  readonly limit?: number;
}
export interface ListTableTagsResponse {
  /** By name; names in ascending order of their bytes. */
  readonly tags: Readonly<Record<string, TagContents>>;
  /** Absent on the last page. */
  readonly pageToken?: string;
}

export interface GetTableTagVersionRequest extends TableRequest {
  readonly tag: string;
}
export interface GetTableTagVersionResponse {
  readonly version: number;
  /** Absent: the main branch. */
  readonly branch?: string;
}

export interface CreateTableTagRequest extends TableRequest {
  /** 1 to 240 of the characters A-Z a-z 0-9 . - _ */
  readonly tag: string;
  readonly version: number;
  /** Branch that the version is on. */
  readonly branch?: string;
}
export interface CreateTableTagResponse {
  readonly transactionId?: string;
}

export interface UpdateTableTagRequest extends TableRequest {
  readonly tag: string;
  /** The version that the tag is moved to. */
  readonly version: number;
  /** Branch that the version is on. */
  readonly branch?: string;
}
export interface UpdateTableTagResponse {
  readonly transactionId?: string;
}

export interface DeleteTableTagRequest extends TableRequest {
  readonly tag: string;
}
export interface DeleteTableTagResponse {
  readonly transactionId?: string;
}

// ------------------------------------------------------------------------------------------------ rows

/**
 * Which columns a query returns: a list of them, or an object with a name for each.
 *
 * A text in a list is the path of a column, which is returned under that text, or `*` for all columns of the table. A
 * text under a name may also be an SQL expression, and an expression made with `col`, `lit` or `sql` may stand in either.
 * Every row also has the columns `_rowid`, `_rowaddr`, `_rowoffset`, `_row_created_at_version` and
 * `_row_last_updated_at_version`.
 *
 *     ["id", "address.city", "_rowid"]
 *     { columnAliases: { city: "address.city", total: "price * amount", short: sql`substr(title, 1, 20)` } }
 */
export type ColumnSelection =
  | readonly (string | FilterExpression)[]
  | {
      readonly columnNames?: readonly (string | FilterExpression)[];
      readonly columnAliases?: Readonly<Record<string, string | FilterExpression>>;
    };

export interface QueryTableRequest extends TableRequest {
  readonly columns?: ColumnSelection;
  /** Maximum number of rows, ≥ 1. */
  readonly limit?: number;
  /** The spec's name for the limit, ≥ 0. */
  readonly k?: number;
  /** Rows to skip, ≥ 0. */
  readonly offset?: number;
  readonly version?: number;
  readonly branch?: string;
  readonly tag?: string;
  readonly withRowId?: boolean;
  /** Maximum rows per batch; absent: as the data lies on disk. */
  readonly batchSize?: number;
  /**
   * Maximum number of columns that `columns` may name; a table with more fields allows as many as it has. Default: no
   * bound.
   */
  readonly maxColumns?: number;
  /** Approximate bytes per batch; absent: as the data lies on disk. */
  readonly batchBytes?: number;
  /** Memory bound that rows count against until the next rows are asked for, shared with other work. */
  readonly memory?: MemoryShare;
  /** Selects rows: SQL text, or an expression. */
  readonly filter?: string | FilterExpression;
  /** Values of the parameters of the filter and of expressions: `$name` in their text. */
  readonly params?: FilterParameters;
  /**
   * Whether scalar indexes find the rows of the filter: `false` reads all rows instead, `true` asks indexes even where
   * reading all rows should be quicker. The rows are the same. Default: whatever should be quicker.
   */
  readonly useScalarIndex?: boolean;
  readonly vector?: unknown;
  /** Of a search by vector; so are the members that follow, up to `upperBound`. */
  readonly vectorColumn?: string;
  readonly distanceType?: string;
  /** Partitions of an index to look into. */
  readonly nprobes?: number;
  /** Rows that are compared exactly, as a multiple of the limit. */
  readonly refineFactor?: number;
  /** Candidates to keep while a graph is searched. */
  readonly ef?: number;
  /** Whether the filter comes before the search. Default true. */
  readonly prefilter?: boolean;
  readonly bypassVectorIndex?: boolean;
  /** Only indexed rows are searched. */
  readonly fastSearch?: boolean;
  /** Least distance, inclusive. */
  readonly lowerBound?: number;
  /** Distances are below this. */
  readonly upperBound?: number;
  readonly fullTextQuery?: FullTextQuery;
  /**
   * Columns to sort by; the first one has the highest priority, and rows with equal values keep the order in which they
   * lie on disk. Text is sorted by its bytes, floats in the total order of IEEE 754, so NaN comes after all other numbers.
   * Lists and structs can't be sorted by. Without a limit, large results are sorted in files in the table's directory.
   */
  readonly orderBy?: readonly OrderByColumn[];
}

/** One of the columns that a result is sorted by. */
export interface OrderByColumn {
  /** Path of the column, which need not be among those that are returned. */
  readonly columnName: string;
  /** Default true. */
  readonly ascending?: boolean;
  /** Whether nulls come before values, ascending or not. Default false. */
  readonly nullsFirst?: boolean;
}

/** An expression made with `col`, `lit` and `sql`. */
export interface FilterExpression {
  readonly syntax: object;
  /** The expression as SQL text. */
  toString(): string;
}

/** A value in a filter. Whole numbers are integers; a `Date` is a timestamp. */
export type FilterValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Date
  | Uint8Array
  | readonly FilterValue[];

/** Values of parameters, by their names without `$`. */
export type FilterParameters = Readonly<Record<string, FilterValue>>;

/** Rows of a query, to read batch by batch or all at once. Each iteration, and each call, runs the query again. */
export interface QueryResult extends AsyncIterable<RecordBatch>, RowForms {
  readonly schema: Schema;
}

/** The forms in which rows can be read. */
export interface RowForms {
  /** All rows as one Arrow table. */
  toArrow(): Promise<Table>;
  /**
   * All rows as plain objects. Integers of 64 bits are bigints; dates and timestamps are numbers of milliseconds since
   * 1970, as apache-arrow gives them; times and durations are in their own unit; decimals are texts; bytes are
   * Uint8Array; lists are arrays, and vectors typed arrays; structs are objects, maps are Map.
   */
  toArray(): Promise<Record<string, unknown>[]>;
  /** The rows one by one, as {@link toArray} gives them; a batch of them is in memory. */
  rows(): AsyncIterable<Record<string, unknown>>;
  /** All rows as the bytes of an Arrow IPC stream, for any release of apache-arrow and for other programs. */
  toIPC(): Promise<Uint8Array>;
  /** The same as {@link toIPC}, at the pace of its reader. */
  toIPCStream(): ReadableStream<Uint8Array>;
}

/** A list or typed array of row offsets. */
export type RowOffsets =
  | readonly number[]
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int32Array
  | Float64Array;

export interface TakeRowsRequest extends TableRequest {
  /** Integers from 0 to the number of live rows, exclusive; in any order, with repeats. */
  readonly rowOffsets: RowOffsets;
  readonly columns?: ColumnSelection;
  readonly version?: number;
  readonly branch?: string;
  readonly tag?: string;
}

export interface TakeBlobsRequest extends TableRequest {
  /**
   * Path of a blob column, which may be in structs but not in a list: a large_binary whose field has the key
   * `lance-encoding:blob`, or structs of the extension `lance.blob.v2`.
   */
  readonly column: string;
  /** As in {@link TakeRowsRequest}. */
  readonly rowOffsets: RowOffsets;
  readonly version?: number;
  readonly branch?: string;
  readonly tag?: string;
}

/**
 * An unread value of a blob column. It stays readable as long as its file exists: until the table is dropped, or the
 * value's version is cleaned up.
 */
export interface LazyBlob {
  /** Bytes, as recorded in the table; 0 if the table does not record them. */
  readonly size: number;
  /** URI of a blob outside the table, which is not read; null for all other blobs. */
  readonly uri: string | null;
  /**
   * Reads these bytes and no others.
   * @param offset first byte; there is nothing to read at or after the end of the value. Default 0
   * @param length maximum number of bytes. Default: all that follow
   * @throws CorruptFileError if the file is gone or too short, UnsupportedError for a blob outside the table
   */
  read(offset?: number, length?: number): Promise<Uint8Array>;
}

export interface CountTableRowsRequest extends TableRequest {
  /** Selects the rows to count: SQL text, or an expression. Default: all. */
  readonly predicate?: string | FilterExpression;
  /** Values of the parameters of the predicate: `$name` in its text. */
  readonly params?: FilterParameters;
  /** As in {@link QueryTableRequest}. */
  readonly useScalarIndex?: boolean;
  readonly version?: number;
  readonly branch?: string;
  readonly tag?: string;
}

/** Columns and their new values: at least one, each at most once. */
export interface UpdateTableRequest extends TableRequest {
  /** Paths of columns, each with an SQL expression over the values before the update: `[["n", "n + 1"]]`. */
  readonly updates?: readonly (readonly [path: string, expression: string])[];
  /**
   * Values by the names of top-level columns: numbers, bigints, booleans, strings, dates, bytes, arrays of these; null and
   * undefined set null.
   */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Selects the rows to update: SQL text, or an expression. Default: all. */
  readonly predicate?: string | FilterExpression;
  /** Values of the parameters of the predicate and the expressions: `$name` in their text. */
  readonly params?: FilterParameters;
  readonly branch?: string;
  readonly properties?: Properties;
}
export interface UpdateTableResponse {
  readonly transactionId?: string;
  readonly version: number;
  readonly updatedRows: number;
  readonly properties?: Properties;
}

export interface DeleteFromTableRequest extends TableRequest {
  /** Selects the rows to delete: SQL text, or an expression. `true` selects all. */
  readonly predicate: string | FilterExpression;
  /** Values of the parameters of the predicate: `$name` in its text. */
  readonly params?: FilterParameters;
  readonly branch?: string;
}
export interface DeleteFromTableResponse {
  readonly transactionId?: string;
  readonly version: number;
  readonly numDeletedRows: number;
}

/** Full-text search of a query; not supported by this release. */
export interface FullTextQuery {
  readonly stringQuery?: { readonly query: string; readonly columns?: readonly string[] };
  readonly structuredQuery?: unknown;
}

/**
 * What becomes of rows by their key; at least one of the three clauses is wanted. Keys are the same as in SQL: one with
 * a null in it is the same as no other.
 */
export interface MergeInsertIntoTableRequest extends TableRequest {
  /** Paths of the columns of the key. */
  readonly on: string | readonly string[];
  readonly branch?: string;
  /** Rows of the table whose key one of the given rows has get its values. Columns that it lacks stay as they are. */
  readonly whenMatchedUpdateAll?: boolean;
  /** Which of them: a condition on `source.<column>` and `target.<column>`. The others stay as they are. */
  readonly whenMatchedUpdateAllFilt?: string | FilterExpression;
  /** Given rows whose key no row of the table has are added. */
  readonly whenNotMatchedInsertAll?: boolean;
  /** Rows of the table whose key none of the given rows has are removed. */
  readonly whenNotMatchedBySourceDelete?: boolean;
  /** Which of them: a condition on the table's columns. */
  readonly whenNotMatchedBySourceDeleteFilt?: string | FilterExpression;
  /** Values of the parameters of the conditions: `$name` in their texts. */
  readonly params?: FilterParameters;
  /** As in `30s`: ends the merge, and leaves the table as it was, where it takes longer. Default: none. */
  readonly timeout?: string;
  /** There are no indexes to use. */
  readonly useIndex?: boolean;
  /** As of {@link InsertIntoTableRequest}; so are the next two. */
  readonly maxBatchBytes?: number;
  readonly maxRows?: number;
  readonly memory?: MemoryShare;
}
export interface MergeInsertIntoTableResponse {
  readonly transactionId?: string;
  readonly version: number;
  readonly numUpdatedRows: number;
  readonly numInsertedRows: number;
  /** Rows that the given rows lack; not those that were updated. */
  readonly numDeletedRows: number;
}

/** Not supported by this release, like the next. */
export interface ExplainTableQueryPlanRequest extends TableRequest {
  readonly query: Omit<QueryTableRequest, keyof TableRequest>;
  /** Whether long lists and conditions are shown whole. Default false. */
  readonly verbose?: boolean;
  readonly branch?: string;
  /** `Text` (default): a line for each node. `Json`: the text of a {@link QueryPlanNode}. */
  readonly format?: string;
}
export interface AnalyzeTableQueryPlanRequest extends QueryTableRequest {
  /** As in {@link ExplainTableQueryPlanRequest}. */
  readonly format?: string;
}

/** A step of a query. */
export interface QueryPlanNode {
  /** `Scan`, `IndexSearch`, `Filter`, `ReadSelected`, `FirstRows`, `Sort`, `Take` or `Project`. */
  readonly operator: string;
  readonly detail: Readonly<Record<string, string | number | readonly string[]>>;
  /** The steps that its rows come from. */
  readonly inputs: readonly QueryPlanNode[];
  /** What it did; absent where the query was not run, and where nothing is measured. */
  readonly metrics?: QueryPlanMetrics;
}

/** What a step of a query did. */
export interface QueryPlanMetrics {
  /** Rows that it gave. */
  readonly rows: number;
  readonly batches: number;
  /** Bytes of these rows in memory. */
  readonly bytes: number;
  /** Reads of files, without those of footers and of what is cached. */
  readonly reads: number;
  readonly bytesRead: number;
  /** Its own time, without that of its inputs. */
  readonly milliseconds: number;
}

// ------------------------------------------------------------------------------------------------ schema

/** What to change about the metadata of one field. */
export interface FieldMetadataUpdate {
  /** Path of the field; segments with a dot are in backticks. */
  readonly path: string;
  /** Keys to set; null deletes a key. */
  readonly metadata: Readonly<Record<string, string | null>>;
  /** True: the field keeps no other keys. Default false: the keys are merged into its metadata. */
  readonly replace?: boolean;
}
export interface UpdateFieldMetadataRequest extends TableRequest {
  /** Applied in order, all or none. */
  readonly updates: readonly FieldMetadataUpdate[];
  readonly branch?: string;
}
export interface UpdateFieldMetadataResponse {
  readonly transactionId?: string;
  /** The new version. */
  readonly version: number;
  /** All metadata that the named fields now have, by their canonical paths. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface UpdateTableSchemaMetadataRequest extends TableRequest {
  /** Replaces all metadata of the schema. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly branch?: string;
}
export interface UpdateTableSchemaMetadataResponse {
  readonly transactionId?: string;
  readonly version: number;
  /** The schema's metadata after the change. */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * A type: in the namespace spec's JSON form, as a type name of the spec or of table schemas, or as an apache-arrow
 * type.
 */
export type ColumnType = JsonType | string | DataType;

/** A column to add: either with an expression, or with a type and null in all rows. */
export interface NewColumn {
  readonly name: string;
  /** SQL over the other columns of a row, or a constant: `lower(name)`, `price * 1.19`, `CAST(NULL AS DOUBLE)`. */
  readonly expression?: string;
  /** Type of a column that is null in all rows. */
  readonly dataType?: ColumnType;
  /** With `dataType`: metadata of the field. */
  readonly metadata?: Readonly<Record<string, string>>;
  /**
   * SQL over the other columns of a row, kept as the rule of the column: it is null in all rows, new ones included, until
   * `alterTableBackfillColumns` computes them.
   */
  readonly computed?: string;
  /** The registered function whose values the column has. It is null in all rows until it is backfilled. */
  readonly virtualColumn?: VirtualColumn;
}

/**
 * Which function computes a column. What is given besides `udfName` must be as the function is registered. Members that
 * describe how other engines run it (`image`, `udf`, `udfBackend`, `manifest`, `manifestChecksum`) are ignored.
 */
export interface VirtualColumn {
  /** Name under which the function is registered, see the option `functions`. */
  readonly udfName: string;
  readonly udfVersion?: string;
  readonly inputColumns?: readonly string[];
  /** Metadata of the field, beside that which declares it. */
  readonly fieldMetadata?: Readonly<Record<string, string>>;
}
export interface AlterTableAddColumnsRequest extends TableRequest {
  readonly newColumns: readonly NewColumn[];
  readonly branch?: string;
}
export interface AlterTableAddColumnsResponse {
  readonly transactionId?: string;
  readonly version: number;
}

/** What to change about one field; needs at least one member besides `path`. */
export interface ColumnAlteration {
  readonly path: string;
  /** The new name; not a path. */
  readonly rename?: string;
  readonly nullable?: boolean;
  /**
   * The new type; the rows are rewritten. `schema/cast.ts` says which types can be cast to which. The call fails if a
   * value has no exact equivalent in the new type (floats may be rounded). Not for a column with an index.
   */
  readonly dataType?: ColumnType;
  /** Not supported by this release. */
  readonly virtualColumn?: unknown;
}
export interface AlterTableAlterColumnsRequest extends TableRequest {
  /** Applied all or none. The paths are those of the version before. */
  readonly alterations: readonly ColumnAlteration[];
  readonly branch?: string;
}
export interface AlterTableAlterColumnsResponse {
  readonly transactionId?: string;
  readonly version: number;
}

export interface AlterTableDropColumnsRequest extends TableRequest {
  /** Paths. A struct that loses its last member is dropped too, and so is an index on a dropped column. */
  readonly columns: readonly string[];
  readonly branch?: string;
}
export interface AlterTableDropColumnsResponse {
  readonly transactionId?: string;
  readonly version: number;
}

/**
 * Which rows of a computed column to fill, and how. All numbers are whole. What is chosen besides `column`, `branch`,
 * `where`, `readVersion` and `numFrags` changes only how the work is cut, not what is filled.
 */
export interface AlterTableBackfillColumnsRequest extends TableRequest {
  /** Path of a column that was added with `virtualColumn` or `computed`. */
  readonly column: string;
  readonly branch?: string;
  /**
   * SQL that selects the rows to compute, filled or not: `true` computes all of them anew. Default: the rows in which the
   * column is null.
   */
  readonly where?: string;
  /** Pieces of work, see `taskSize`, that are under way at a time; 1 to 1024. Default: 1. */
  readonly concurrency?: number;
  /**
   * Calls of the function that are under way at a time in one piece of work, of an async function; 1 to 1024. Default: 1.
   */
  readonly intraApplierConcurrency?: number;
  /** Rows that a function is handed at a time, at most; 1 to 16,384. Default: 1024, or `maxCheckpointSize`. */
  readonly checkpointSize?: number;
  /**
   * Rows that a function is handed at least, as long as there are so many. Where a call takes more than ten seconds, the
   * next ones get half as many rows, but not less; they get twice as many again where one takes less than a quarter of
   * that. At most `maxCheckpointSize`. Default: 1.
   */
  readonly minCheckpointSize?: number;
  /** Rows that a function is handed at most, however quick it is. Capped at `checkpointSize`, which is the default. */
  readonly maxCheckpointSize?: number;
  /**
   * Seconds for which computed values may be in memory only; those that are older are written to the table's directory
   * when a call ends, and are not computed again after a crash. 0: after each call. Default: 5.
   */
  readonly batchCheckpointFlushIntervalSeconds?: number;
  /**
   * Version whose rows are filled; rows that are in fragments added later are not. Default: the latest. Fragments that
   * were rewritten since are filled as they are now.
   */
  readonly readVersion?: number;
  /** Rows of one piece of work. Default: a whole fragment. */
  readonly taskSize?: number;
  /** Fragments in which rows are filled, at most. Default: all. */
  readonly numFrags?: number;
  /** Fragments that are committed together, at most: each commit makes a version. Default: 16. */
  readonly commitGranularity?: number;
  /** Ignored: there is no cluster. */
  readonly cluster?: string;
  /** Ignored: functions run in this process. */
  readonly manifest?: string;
}
export interface AlterTableBackfillColumnsResponse {
  readonly jobId: string;
}

export interface DescribeComputedColumnsRequest extends TableRequest {
  readonly branch?: string;
  readonly version?: number;
  readonly tag?: string;
}
export interface DescribeComputedColumnsResponse {
  readonly columns: readonly ComputedColumnState[];
}
/** A computed column, and how far it is filled. */
export interface ComputedColumnState {
  readonly column: string;
  readonly kind: "function" | "sql";
  /** Of a function. */
  readonly udfName?: string;
  /** Of a function; absent where another engine declared the column. */
  readonly udfVersion?: string;
  /** Of SQL. */
  readonly expression?: string;
  readonly inputs: readonly string[];
  /** Of a function: whether one of that name and version is registered in this process. */
  readonly isRegistered?: boolean;
  /** Rows without a value. Their number counts those whose value is null for good, too. */
  readonly staleRows: number;
  /** Ids of the fragments that have such rows, ascending. */
  readonly staleFragments: readonly number[];
}

// ------------------------------------------------------------------------------------------------ indexes

/**
 * An index on one column. Indexes of kinds for text (`FTS`, `FM`) and for vectors (`IVF_…`) are not built by this release;
 * the members that are about them are checked all the same, and mean nothing for other kinds.
 */
export interface CreateTableIndexRequest extends TableRequest {
  /** Path of the column; members of structs as in `a.b`. */
  readonly column: string;
  /**
   * `BTREE` (also `SCALAR`), `BITMAP`, `LABEL_LIST`, `ZONEMAP`, `BLOOMFILTER`, `NGRAM`, `FTS`, `FM`, `IVF_FLAT`, `IVF_SQ`,
   * `IVF_PQ` (also `VECTOR`), `IVF_RQ`, `IVF_HNSW_FLAT`, `IVF_HNSW_SQ` or `IVF_HNSW_PQ`, in any case, with or without
   * underscores. Default: `BTREE`, or `IVF_PQ` for vectors.
   */
  readonly indexType?: string;
  readonly branch?: string;
  /**
   * Default: `<path>_idx`, with a number after it where an index on another column, or of another kind, has that name.
   */
  readonly name?: string;
  /** Whether an index of that name on the same column may be replaced, rather than be in the way. Default false. */
  readonly replace?: boolean;
  /** Of `ZONEMAP` and `BLOOMFILTER`: rows of a zone; 1 to 1,048,576. Default 8192. */
  readonly rowsPerZone?: number;
  /** Of vectors: `l2` (default), `cosine`, `dot` or `hamming`. */
  readonly distanceType?: string;
  readonly withPosition?: boolean;
  readonly baseTokenizer?: string;
  readonly language?: string;
  readonly maxTokenLength?: number;
  readonly lowerCase?: boolean;
  readonly stem?: boolean;
  readonly removeStopWords?: boolean;
  readonly asciiFolding?: boolean;
  readonly minNgramLength?: number;
  readonly maxNgramLength?: number;
  readonly prefixOnly?: boolean;
  /** 128 or 256. */
  readonly blockSize?: number;
  readonly numPartitions?: number;
  readonly numSubVectors?: number;
  readonly numBits?: number;
  readonly sampleRate?: number;
  readonly maxIterations?: number;
  readonly targetPartitionSize?: number;
  readonly m?: number;
  readonly efConstruction?: number;
}
export interface CreateTableIndexResponse {
  /** The same as `jobId`: `describeTransaction` tells how far it is. */
  readonly transactionId: string;
  readonly jobId: string;
}

export interface ListTableIndicesRequest extends TableRequest {
  readonly branch?: string;
  readonly version?: number;
  readonly pageToken?: string;
  readonly limit?: number;
}
export interface ListTableIndicesResponse {
  readonly indexes: readonly TableIndex[];
  readonly pageToken?: string;
}
export interface TableIndex {
  readonly indexName: string;
  /** Of its first segment. */
  readonly indexUuid: string;
  /** Paths. */
  readonly columns: readonly string[];
  /** `SUCCEEDED`: an index that is being built is a job, and no index yet. */
  readonly status: string;
  /** As in {@link CreateTableIndexRequest}, in upper case; `UNKNOWN` for a type that this release does not know. */
  readonly indexType?: string;
  readonly typeUrl?: string;
  /** Rows, deleted ones left out, that a query finds by the index; all others it looks at. */
  readonly numIndexedRows?: number;
  readonly numUnindexedRows?: number;
  /** Bytes of its files; absent where the version does not record them. */
  readonly sizeBytes?: number;
  readonly numSegments?: number;
  /** RFC 3339. */
  readonly createdAt?: string;
  readonly indexVersion?: number;
  /** JSON text. */
  readonly indexDetails?: string;
}

export interface DescribeTableIndexStatsRequest extends TableRequest {
  readonly indexName: string;
  readonly branch?: string;
  readonly version?: number;
}
export interface DescribeTableIndexStatsResponse {
  /** Of an index on vectors. */
  readonly distanceType?: string;
  readonly indexType?: string;
  readonly numIndexedRows?: number;
  readonly numUnindexedRows?: number;
  /** Segments. */
  readonly numIndices?: number;
}

export interface DropTableIndexRequest extends TableRequest {
  readonly indexName: string;
  readonly branch?: string;
}
export interface DropTableIndexResponse {
  readonly transactionId: string;
  readonly version: number;
}

// ------------------------------------------------------------------------------------------------ transactions

export interface DescribeTransactionRequest extends RequestBase {
  /**
   * The path of the table, followed by the id that an operation returned. With the id alone, the engine searches the
   * transaction files of all tables, unless it returned this id recently. A transaction that is only in a manifest,
   * like some that clients staged, is found only if the table is given.
   */
  readonly id: readonly string[];
}
export interface DescribeTransactionResponse {
  /** `Succeeded` for a transaction; of a job, also `Queued`, `Running`, `Failed`, `Canceled`. */
  readonly status: string;
  /**
   * What the transaction's writer attached to it, and `uuid`, `table`, `branch` (absent: main), `version` (the version
   * it made), `read_version` (the version it was planned on), `operation`, `tag` (absent: none), `timestamp_millis`
   * (commit time; milliseconds since the epoch). Of a job: `uuid`, `table`, `branch`, `operation` (its kind), `done`,
   * `total`, `unit`, `timestamp_millis` (when it was asked for), `error` (the name of the code that it failed with).
   */
  readonly properties: Readonly<Record<string, string>>;
}

/** The one change that there is: a job's status, to `Canceled`. */
export interface AlterTransactionRequest extends RequestBase {
  readonly id: readonly string[];
  readonly actions: readonly {
    readonly setStatusAction?: { readonly status?: string };
    readonly setPropertyAction?: {
      readonly key?: string;
      readonly value?: string;
      readonly mode?: string;
    };
    readonly unsetPropertyAction?: { readonly key?: string; readonly mode?: string };
  }[];
}
export interface AlterTransactionResponse {
  readonly status: string;
  readonly properties?: Properties;
}

// ------------------------------------------------------------------------------------------------ jobs

export type JobKind = "index" | "backfill" | "optimize" | "cleanup";
/**
 * `Queued`: waits until other jobs of its process have ended. `Cancelled`: by `cancelJob`, or because the namespace was
 * closed. `Failed`: with an error, or because the process that ran it ended.
 */
export type JobState = "Queued" | "Running" | "Succeeded" | "Failed" | "Cancelled";
/** What the progress of a job is counted in. */
export type JobUnit = "rows" | "fragments" | "files" | "versions";

export interface JobRequest extends RequestBase {
  readonly jobId: string;
}
export interface ListJobsRequest extends RequestBase {
  /** Of a table: only its jobs. Default: those of all tables. */
  readonly id?: readonly string[];
  /** Default: any. */
  readonly state?: JobState;
}
export interface WaitForJobRequest extends JobRequest {
  /** Milliseconds after which the call resolves to the job as it is then. Default: no limit. */
  readonly timeoutMs?: number;
  /** Called with the job when the call begins to wait, and whenever its progress or state has changed since. */
  readonly onProgress?: (job: Job) => void;
}
/** What is known about a job. Times are RFC 3339. */
export interface Job {
  readonly jobId: string;
  readonly kind: JobKind;
  /** Id that the table had when the job was started. */
  readonly table: readonly string[];
  /** Absent: main. */
  readonly branch?: string;
  readonly state: JobState;
  /** Units done, those of earlier runs that it went on from included. */
  readonly done: number;
  /** Absent while it is not known. */
  readonly total?: number;
  readonly unit: JobUnit;
  /** Units per second of late; absent while it is not known. */
  readonly rate?: number;
  /** When it will end at this rate. */
  readonly estimatedEnd?: string;
  readonly createdAt: string;
  /** When it was started first; absent while it is queued. */
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /**
   * Whether its process ended, or its namespace was closed, before it did: asking for the same work again goes on with
   * this job, from its last checkpoint.
   */
  readonly isInterrupted?: boolean;
  /** Of a job that failed. */
  readonly error?: JobError;
  /** What the job made; depends on its kind. */
  readonly result?: unknown;
}
/** An error that a job failed with: its code in the table of errors, the name of that code, and the message. */
export interface JobError {
  readonly code: number;
  readonly type: string;
  readonly message: string;
}
export interface ListJobsResponse {
  /** Those started last come first. */
  readonly jobs: readonly Job[];
}

// ------------------------------------------------------------------------------------------------ options

/** How a namespace is closed. */
export interface CloseOptions {
  /** What becomes of the jobs that this instance runs. Default: `cancel`. */
  readonly jobs?: "wait" | "cancel";
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
  readonly nullable?: boolean;
  /**
   * How often a call that failed is made again: after 100 milliseconds, then after four times as long each time, up to 30
   * seconds. Default: 2.
   */
  readonly retries?: number;
}

/** Computes one row at a time. */
export interface RowFunction extends FunctionDeclaration {
  /**
   * @param values of the inputs, by their paths, as apache-arrow gives them: int64 as bigint, null for null
   * @returns the row's value, as rows of objects have it
   */
  row(values: Readonly<Record<string, unknown>>, call: FunctionCall): unknown;
  readonly batch?: undefined;
}

/** Computes many rows at a time. */
export interface BatchFunction extends FunctionDeclaration {
  /**
   * @param columns the inputs, by their paths; only to be read
   * @returns `rowCount` values: a vector of the output's type, a typed array, or an array of values as rows of objects have
   *   them. For fixed-size lists of numbers also a typed array of all items, one list after the other
   */
  batch(columns: Readonly<Record<string, Vector>>, call: BatchCall): unknown;
  readonly row?: undefined;
}

export interface FunctionCall {
  /** Aborts when the result is not wanted any more: the job was cancelled, or another call failed for good. */
  readonly signal: AbortSignal;
}
export interface BatchCall extends FunctionCall {
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
export interface AuthorizeCall {
  readonly operation: string;
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
  readonly principal?: Principal;
  readonly context?: Readonly<Record<string, string>>;
}

export interface DirectoryNamespaceOptions {
  /** Directory of the namespace, as a path or a `file:` URL; made on the first write. */
  readonly root: string;
  /**
   * `fsync` (default): an acknowledged change survives a power cut. `none`: it survives only the end of the process.
   */
  readonly durability?: "fsync" | "none";
  readonly authorize?: Authorize;
  /** Functions of computed columns, by name. */
  readonly functions?: Readonly<Record<string, UserFunction>>;
  readonly lock?: {
    /** Milliseconds without renewal after which a writer's lock is taken over; ≥ 2000, default 10,000. */
    readonly staleMs?: number;
    /**
     * Attempts to take a lock after the first. Default: as many as fit into the wait, 60 seconds for most operations.
     */
    readonly retries?: number;
  };
  /**
   * Most threads for long work, such as compaction: they are started when they are needed and go away when idle. 0, the
   * default: it is done in the calling thread, in short pieces. Threads hold pages of their own, hundreds of megabytes
   * together, and pay where columns are large and processors idle: measure before you ask for them.
   */
  readonly workers?: number;
  /**
   * Directories outside the root, as paths or `file:` URLs, below which files of tables may lie: those that a base path
   * in a manifest, or a symbolic link in the root, leads to. Any other place outside the root is refused with a
   * PermissionDeniedError. Default: none.
   */
  readonly allowedBases?: readonly string[];
  /**
   * File version of new tables; default 2.2, the only one with maps, fixed-size lists of structs and blobs of version
   * 2. Blobs of the key `lance-encoding:blob` need 2.0 or 2.1.
   */
  readonly dataStorageVersion?: "2.0" | "2.1" | "2.2";
  /** Manifest names of new tables; default V2. */
  readonly manifestNaming?: "V1" | "V2";
}
