/** Requests and responses of the operations on whole tables. */

import type { Schema } from "apache-arrow";
import type { MemoryShare } from "../memory.js";
import type { AnyCase, ObjectId, Properties, RequestBase, TableRequest } from "./request.js";
import type { ForeignArrow } from "./rows.js";
import type { WithProgress } from "./upkeep.js";

/** Which name to reserve; the table has no versions until rows or a manifest come. */
export interface DeclareTableRequest extends TableRequest {
  /** If given, must be the location that the namespace would choose. */
  readonly location?: string | undefined;
  /** Properties for users of the table; the engine gives them no meaning. */
  readonly properties?: Properties | undefined;
  /**
   * Of no effect in process: files of the local file system need no credentials. Over HTTP, `false` keeps the storage
   * options of the server's program out of the answer.
   */
  readonly vendCredentials?: boolean | undefined;
}
/** What `declareTable` resolves to. */
export interface DeclareTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** Absolute path of the table's directory. */
  readonly location: string;
  /** Absent in process, here and below. Over HTTP: what `storageOptions` of the handler returned. */
  readonly storageOptions?: Readonly<Record<string, string>>;
  /** Properties for users of the object; the engine gives them no meaning. */
  readonly properties: Properties;
  /** Whether clients are to commit through the namespace rather than write manifests themselves. */
  readonly managedVersioning: boolean;
}

/** How to make a table from rows. */
export interface CreateTableRequest extends TableRequest, WithProgress {
  /** `Create` (default) fails if the table exists, `ExistOk` leaves it as it is, `Overwrite` replaces its content. */
  readonly mode?: AnyCase<"Create" | "ExistOk" | "Overwrite"> | undefined;
  /** Properties for users of the object; the engine gives them no meaning. */
  readonly properties?: Properties | undefined;
  /**
   * How to reach the storage, as other engines need it. Checked to be texts, and of no effect: the engine writes into its
   * own directory.
   */
  readonly storageOptions?: Readonly<Record<string, string>> | undefined;
  /** As in {@link DeclareTableRequest}. */
  readonly vendCredentials?: boolean | undefined;
  /**
   * Whether rows of the new table keep their ids (`_rowid`) when they move, and the table records the versions that added
   * and last changed them. Decided for good when a table is created. Default false.
   */
  readonly stableRowIds?: boolean | undefined;
  /**
   * The columns of rows that come as objects, of any release of apache-arrow. Columns that no row names are null.
   * Default: the types of the values, or the columns of the table that is appended to.
   */
  readonly schema?: Schema | ForeignArrow["schema"] | undefined;
  /**
   * Upper bound in bytes for input that is IPC bytes: of one record batch, uncompressed; of its dictionaries together;
   * and of an IPC file that comes in pieces. Larger input is refused before it is held in memory. Default: no bound.
   */
  readonly maxBatchBytes?: number | undefined;
  /** Maximum number of rows in the input. Default: no bound. */
  readonly maxRows?: number | undefined;
  /** Memory bound that the rows count against on their way, shared with other work. */
  readonly memory?: MemoryShare | undefined;
}
/** What `createTable` resolves to. */
export interface CreateTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** Absolute path of the table's directory. */
  readonly location: string;
  /** The version that holds the rows; with `ExistOk`, the latest of the table that was there. */
  readonly version: number;
  /** Rows inserted. */
  readonly numInsertedRows: number;
  /** The table's properties. */
  readonly properties: Properties;
  /** As in {@link DeclareTableResponse}. */
  readonly storageOptions?: Readonly<Record<string, string>>;
}

/** Asks whether a table exists, or a version, branch or tag of it. */
export interface TableExistsRequest extends TableRequest {
  /** Asks for this version; absent: for any. */
  readonly version?: number | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
}

/** Which table, and which version of it, to describe. */
export interface DescribeTableRequest extends TableRequest {
  /** The version to read; absent: the latest. */
  readonly version?: number | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
  /** Of no effect: the URI is always told. */
  readonly withTableUri?: boolean | undefined;
  /** Of no effect: everything is always told. */
  readonly loadDetailedMetadata?: boolean | undefined;
  /** Of no effect: `isOnlyDeclared` is always told. */
  readonly checkDeclared?: boolean | undefined;
  /** As in {@link DeclareTableRequest}. */
  readonly vendCredentials?: boolean | undefined;
}
/** What `describeTable` resolves to. */
export interface DescribeTableResponse {
  /** Name of the table. */
  readonly table: string;
  /** Path of its namespace. */
  readonly namespace: readonly string[];
  /** Absent while the table is only declared. */
  readonly version?: number;
  /** Absolute path of the table's directory. */
  readonly location: string;
  /** `file:` URL of the location. */
  readonly tableUri: string;
  /** As in {@link DeclareTableResponse}. */
  readonly storageOptions?: Readonly<Record<string, string>>;
  /** The Arrow schema as JSON; absent while the table is only declared. */
  readonly schema?: JsonSchema;
  /** Counts of the version; absent while the table is only declared. */
  readonly stats?: {
    /** Rows that are deleted and still in files. */
    readonly numDeletedRows: number;
    /** Number of fragments. */
    readonly numFragments: number;
  };
  /** Schema metadata of the version. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Properties that the table was declared, created or registered with. */
  readonly properties: Properties;
  /** Whether clients are to commit through the namespace rather than write manifests themselves. */
  readonly managedVersioning: boolean;
  /** Whether the table has no version yet. */
  readonly isOnlyDeclared: boolean;
}

/** An Arrow schema in the namespace spec's JSON form. */
export interface JsonSchema {
  /** Top-level fields, in order. */
  readonly fields: readonly JsonField[];
  /** Keys and values for users; absent if there are none. */
  readonly metadata?: Readonly<Record<string, string>>;
}
/** A field of a {@link JsonSchema}. */
export interface JsonField {
  /** Name; not a path. */
  readonly name: string;
  /** Whether values may be null. */
  readonly nullable: boolean;
  /** Its type. */
  readonly type: JsonType;
  /** Keys and values for users; absent if there are none. */
  readonly metadata?: Readonly<Record<string, string>>;
}
/** A type in the namespace spec's JSON form. */
export interface JsonType {
  /** Name of the type, e.g. `"int64"` or `"fixed_size_list"`. */
  readonly type: string;
  /** Of fixed-size types: the number of items or bytes. */
  readonly length?: number;
  /** Of nested types: members, or the item. */
  readonly fields?: readonly JsonField[];
}

/** Which table to drop. */
export interface DropTableRequest extends TableRequest {}
/** What `dropTable` resolves to. */
export interface DropTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** Path that the table had. */
  readonly id: readonly string[];
  /** Absolute path of the table's directory. */
  readonly location: string;
  /** Properties that the table had. */
  readonly properties: Properties;
}

/** Which directory becomes a table, under which id. */
export interface RegisterTableRequest extends TableRequest {
  /** Directory of the table, relative to the namespace's, with `/`. A root table's is `<name>.lance`. */
  readonly location: string;
  /** `Create` (default) fails if the table exists, `Overwrite` takes the id from it. */
  readonly mode?: AnyCase<"Create" | "Overwrite"> | undefined;
  /** Properties for users of the object; the engine gives them no meaning. */
  readonly properties?: Properties | undefined;
}
/** What `registerTable` resolves to. */
export interface RegisterTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** Absolute path of the table's directory. */
  readonly location: string;
  /** Properties for users of the object; the engine gives them no meaning. */
  readonly properties: Properties;
}

/** Which table to hide; its files stay. */
export interface DeregisterTableRequest extends TableRequest {}
/** What `deregisterTable` resolves to. */
export interface DeregisterTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** Path that the table had. */
  readonly id: readonly string[];
  /** Absolute path of the table's former directory. */
  readonly location: string;
  /** Properties that the table had. */
  readonly properties: Properties;
}

/** Which table to rename, or to move to another namespace. */
export interface RenameTableRequest extends TableRequest {
  /** The new name. */
  readonly newTableName: string;
  /** Absent: the table's current namespace. Empty: the root. */
  readonly newNamespaceId?: readonly string[] | undefined;
}
/** What `renameTable` resolves to. */
export interface RenameTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
}

/** Which namespace's tables to list. */
export interface ListTablesRequest extends RequestBase {
  /** Absent or empty: the root namespace. */
  readonly id?: ObjectId | undefined;
  /** Token of the previous page. */
  readonly pageToken?: string | undefined;
  /** Inclusive upper bound of the names returned, > 0. */
  readonly limit?: number | undefined;
  /** Whether tables that are only declared are listed; default true. */
  readonly includeDeclared?: boolean | undefined;
}
/** Lists the tables of all namespaces, regardless of the id. */
export interface ListAllTablesRequest extends RequestBase {
  /** Token of the previous page. */
  readonly pageToken?: string | undefined;
  /** Inclusive upper bound of what is returned, > 0. */
  readonly limit?: number | undefined;
  /** Whether tables that are only declared are listed; default true. */
  readonly includeDeclared?: boolean | undefined;
}
/** What `listTables` and `listAllTables` resolve to. */
export interface ListTablesResponse {
  /** Names in ascending order of their bytes. For `listAllTables`: identifiers, their parts joined by `$`. */
  readonly tables: readonly string[];
  /** Absent on the last page. */
  readonly pageToken?: string;
}

/** Which version to count. */
export interface GetTableStatsRequest extends TableRequest, WithProgress {
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** The version to read; absent: the latest. */
  readonly version?: number | undefined;
  /** Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
}
/** What `getTableStats` resolves to. */
export interface GetTableStatsResponse {
  /** Bytes of data files and index files. */
  readonly totalBytes: number;
  /** Live rows. */
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
  /** Fragments of fewer than 100,000 physical rows. */
  readonly numSmallFragments: number;
  /** Physical rows per fragment. */
  readonly lengths: {
    /** Of the smallest fragment. */
    readonly min: number;
    /** Of the largest. */
    readonly max: number;
    /** On average, rounded down. */
    readonly mean: number;
    /** A quarter of the fragments have at most so many. */
    readonly p25: number;
    /** The median. */
    readonly p50: number;
    /** Three quarters of the fragments have at most so many. */
    readonly p75: number;
    /** 99 of 100 fragments have at most so many. */
    readonly p99: number;
  };
}

/** Which version to restore. */
export interface RestoreTableRequest extends TableRequest {
  /** The version whose content becomes the latest. */
  readonly version: number;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
}
/** What `restoreTable` resolves to. */
export interface RestoreTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId: string;
  /** The new version. */
  readonly version: number;
}
