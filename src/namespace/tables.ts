/** Requests and responses of the operations on whole tables. */

import type { Schema } from "apache-arrow";
import type {
  BranchRequest,
  ChangeAnswer,
  CommitAnswer,
  InputLimits,
  Moment,
  PageAnswer,
  PageRequest,
  VersionRequest,
  WithMessage,
  WithProperties,
} from "./members.js";
import type { AnyCase, ObjectId, Properties, RequestBase, TableRequest } from "./request.js";
import type { ForeignArrow } from "./rows.js";
import type { CleanupRule, LsmWriteSpec, UpkeepThresholds, WithProgress } from "./upkeep.js";

/** Members of an answer about a table with a directory. */
interface DirectoryAnswer extends ChangeAnswer {
  /** Absolute path of the table's directory; that of a dropped table no longer exists. */
  readonly location: string;
  /** Properties of the table. */
  readonly properties: Properties;
}

/** Answer of an operation that takes the id from a table. */
interface RemovalAnswer extends DirectoryAnswer {
  /** Path of the former table. */
  readonly id: readonly string[];
}

/** Request of `declareTable`. The table has no version until rows or a manifest are added. */
export interface DeclareTableRequest extends TableRequest, WithProperties {
  /** Directory of the table. If present, it must equal the location that the namespace chooses. */
  readonly location?: string | undefined;
  /**
   * False: over HTTP, the answer omits the storage options of the server. In process it has no effect,
   * because local files need no credentials.
   */
  readonly vendCredentials?: boolean | undefined;
}
/** Answer of `declareTable`. */
export interface DeclareTableResponse extends DirectoryAnswer {
  /**
   * Storage options for the table's files. Over HTTP: the return value of the handler's `storageOptions`. In
   * process: absent.
   */
  readonly storageOptions?: Readonly<Record<string, string>>;
  /** True: clients should commit through the namespace. False: clients write manifests themselves. */
  readonly managedVersioning: boolean;
}

/** Request of `createTable`. */
export interface CreateTableRequest
  extends TableRequest,
    WithProgress,
    InputLimits,
    WithProperties,
    WithMessage {
  /** `Create` (default) fails if it exists; `ExistOk` keeps it; `Overwrite` replaces rows and schema. */
  readonly mode?: AnyCase<"Create" | "ExistOk" | "Overwrite"> | undefined;
  /**
   * Storage options as LanceDB's programs give them. Three decide about a new table:
   *
   * - `new_table_data_storage_version`: `2.0`, `2.1`, `2.2` or `stable`
   * - `new_table_enable_v2_manifest_paths`: `true` or `false`
   * - `new_table_enable_stable_row_ids`: `true` or `false`; `stableRowIds` comes first
   *
   * All others are ignored, because the engine writes to its own directory.
   */
  readonly storageOptions?: Readonly<Record<string, string>> | undefined;
  /** See {@link DeclareTableRequest.vendCredentials}. */
  readonly vendCredentials?: boolean | undefined;
  /**
   * True: rows keep their `_rowid` when they move, and the table records the versions that added and last
   * changed each row. The choice is permanent. Default: false.
   */
  readonly stableRowIds?: boolean | undefined;
  /**
   * Schema for rows that are plain objects, from any release of apache-arrow. Columns that no row contains
   * are null. Default: types inferred from the values.
   */
  readonly schema?: Schema | ForeignArrow["schema"] | undefined;
}
/** Answer of `createTable`. */
export interface CreateTableResponse extends DirectoryAnswer {
  /** Number of the version with the rows. With `ExistOk`: the latest version of the existing table. */
  readonly version: number;
  /** Number of inserted rows. */
  readonly numInsertedRows: number;
  /** See {@link DeclareTableResponse.storageOptions}. */
  readonly storageOptions?: Readonly<Record<string, string>>;
}

/** Request of `cloneTable`. */
export interface CloneTableRequest extends TableRequest, WithMessage {
  /** Id of the table whose version is cloned. */
  readonly from: ObjectId;
  /** Number of a version of that table. Default: the latest version. */
  readonly version?: number | undefined;
  /** Tag of that table, which may name a version of a branch. Not allowed with `version`. */
  readonly tag?: string | undefined;
  /** Properties of the new table. */
  readonly properties?: Readonly<Record<string, string>> | undefined;
}
/** Answer of `cloneTable`. */
export interface CloneTableResponse extends DirectoryAnswer {
  /** Number of the first version of the new table, which is that of the cloned version. */
  readonly version: number;
}

/** Request of `tableExists`. */
export interface TableExistsRequest extends VersionRequest {
  /** Number of a version that must exist. Default: any version. */
  readonly version?: number | undefined;
}

/** Request of `describeTable`. */
export interface DescribeTableRequest extends VersionRequest {
  /** Ignored: the answer always has the URI. */
  readonly withTableUri?: boolean | undefined;
  /** Ignored: the answer is always complete. */
  readonly loadDetailedMetadata?: boolean | undefined;
  /** Ignored: the answer always has `isOnlyDeclared`. */
  readonly checkDeclared?: boolean | undefined;
  /** See {@link DeclareTableRequest.vendCredentials}. */
  readonly vendCredentials?: boolean | undefined;
}
/** Answer of `describeTable`. */
export interface DescribeTableResponse {
  /** Name of the table. */
  readonly table: string;
  /** Path of the table's namespace. */
  readonly namespace: readonly string[];
  /** Number of the version. Absent for a declared table. */
  readonly version?: number;
  /** Absolute path of the table's directory. */
  readonly location: string;
  /** Location as a `file:` URL. */
  readonly tableUri: string;
  /** See {@link DeclareTableResponse.storageOptions}. */
  readonly storageOptions?: Readonly<Record<string, string>>;
  /** Arrow schema as JSON. Absent for a declared table. */
  readonly schema?: JsonSchema;
  /** Counts of the version. Absent for a declared table. */
  readonly stats?: {
    /** Number of deleted rows that are still in files. */
    readonly numDeletedRows: number;
    /** Number of fragments. */
    readonly numFragments: number;
  };
  /** Metadata of the schema. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Rule of `configureCleanup`. Absent if commits clean nothing up. */
  readonly cleanup?: CleanupRule;
  /** The table's own thresholds of `configureUpkeep`. Absent if all have their defaults. */
  readonly upkeep?: UpkeepThresholds;
  /** Settings of `configureLsmWrites`. Absent: LanceDB's writers keep no logs. */
  readonly lsmWriteSpec?: LsmWriteSpec;
  /** Properties from the table's declaration, creation or registration. */
  readonly properties: Properties;
  /** True: clients should commit through the namespace. False: clients write manifests themselves. */
  readonly managedVersioning: boolean;
  /** True if the table has no version yet. */
  readonly isOnlyDeclared: boolean;
}

/** An Arrow schema in the JSON form of the namespace spec. */
export interface JsonSchema {
  /** Top-level fields in order. */
  readonly fields: readonly JsonField[];
  /** Metadata of the schema. Absent if empty. */
  readonly metadata?: Readonly<Record<string, string>>;
}
/** A field of a {@link JsonSchema}. */
export interface JsonField {
  /** Name of the field, without a path. */
  readonly name: string;
  /** True if values may be null. */
  readonly nullable: boolean;
  /** Type of the field. */
  readonly type: JsonType;
  /** Metadata of the field. Absent if empty. */
  readonly metadata?: Readonly<Record<string, string>>;
}
/** A type in the JSON form of the namespace spec. */
export interface JsonType {
  /** Name of the type, such as `"int64"` or `"fixed_size_list"`. */
  readonly type: string;
  /** Number of items or bytes of a fixed-size type. */
  readonly length?: number;
  /** Fields of a struct, or the item of a list. */
  readonly fields?: readonly JsonField[];
}

/** Request of `dropTable`. */
export interface DropTableRequest extends TableRequest {}
/** Answer of `dropTable`. */
export interface DropTableResponse extends RemovalAnswer {}

/** Request of `registerTable`. */
export interface RegisterTableRequest extends TableRequest, WithProperties {
  /** Directory relative to the root, with `/` as separator. A root table lies in `<name>.lance`. */
  readonly location: string;
  /** `Create` (default) fails if the id is taken. `Overwrite` takes the id from the other table. */
  readonly mode?: AnyCase<"Create" | "Overwrite"> | undefined;
}
/** Answer of `registerTable`. */
export interface RegisterTableResponse extends DirectoryAnswer {}

/** Request of `deregisterTable`. The files of the table stay. */
export interface DeregisterTableRequest extends TableRequest {}
/** Answer of `deregisterTable`. */
export interface DeregisterTableResponse extends RemovalAnswer {}

/** Request of `renameTable`. */
export interface RenameTableRequest extends TableRequest {
  /** New name of the table. */
  readonly newTableName: string;
  /** Path of the new namespace; an empty path is the root. Default: the current namespace. */
  readonly newNamespaceId?: readonly string[] | undefined;
}
/** Answer of `renameTable`. */
export interface RenameTableResponse extends ChangeAnswer {}

/** Request of `listTables`. */
export interface ListTablesRequest extends RequestBase, PageRequest {
  /** Path of the namespace. Default: the root namespace. */
  readonly id?: ObjectId | undefined;
  /** True: includes declared tables. Default: true. */
  readonly includeDeclared?: boolean | undefined;
}
/** Request of `listAllTables`. An id has no effect. */
export interface ListAllTablesRequest extends RequestBase, PageRequest {
  /** True: includes declared tables. Default: true. */
  readonly includeDeclared?: boolean | undefined;
}
/** Answer of `listTables` and `listAllTables`. */
export interface ListTablesResponse extends PageAnswer {
  /** Names ascending by UTF-8 bytes. `listAllTables` returns whole ids, with parts joined by `$`. */
  readonly tables: readonly string[];
}

/** Request of `getTableStats`. */
export interface GetTableStatsRequest extends VersionRequest, WithProgress {}
/** Answer of `getTableStats`. */
export interface GetTableStatsResponse {
  /** Total bytes of data files and index files. */
  readonly totalBytes: number;
  /** Number of live rows. */
  readonly numRows: number;
  /** Number of indexes. */
  readonly numIndices: number;
  /** Number and sizes of the fragments. */
  readonly fragmentStats: FragmentStats;
}
/** Number and sizes of fragments. */
export interface FragmentStats {
  /** Number of fragments. */
  readonly numFragments: number;
  /** Number of fragments with fewer than 100,000 physical rows. */
  readonly numSmallFragments: number;
  /** Statistics of the number of physical rows per fragment. */
  readonly lengths: {
    /** Smallest fragment. */
    readonly min: number;
    /** Largest fragment. */
    readonly max: number;
    /** Average, rounded down. */
    readonly mean: number;
    /** 25th percentile. */
    readonly p25: number;
    /** Median. */
    readonly p50: number;
    /** 75th percentile. */
    readonly p75: number;
    /** 99th percentile. */
    readonly p99: number;
  };
}

/** Request of `restoreTable`. Exactly one of `version`, `tag` and `asOf` names the version to restore. */
export interface RestoreTableRequest extends BranchRequest, WithMessage {
  /** Number of the version whose content becomes the latest. */
  readonly version?: number | undefined;
  /** Tag of a version of the same branch. */
  readonly tag?: string | undefined;
  /** Restores the latest version whose commit time is not later than this moment. */
  readonly asOf?: Moment | undefined;
}
/** Answer of `restoreTable`. */
export interface RestoreTableResponse extends CommitAnswer {}
