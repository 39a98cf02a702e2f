/** Requests and responses of the operations on whole tables. */

import type { Schema } from "apache-arrow";
import type { MemoryShare } from "../memory.js";
import type { AnyCase, ObjectId, Properties, RequestBase, TableRequest } from "./request.js";
import type { ForeignArrow } from "./rows.js";
import type { WithProgress } from "./upkeep.js";

export interface DeclareTableRequest extends TableRequest {
  /** If given, must be the location that the namespace would choose. */
  readonly location?: string | undefined;
  readonly properties?: Properties | undefined;
  /** There are no credentials to vend: files of the local file system need none. */
  readonly vendCredentials?: boolean | undefined;
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

export interface CreateTableRequest extends TableRequest, WithProgress {
  /** `Create` (default) fails if the table exists, `ExistOk` leaves it as it is, `Overwrite` replaces its content. */
  readonly mode?: AnyCase<"Create" | "ExistOk" | "Overwrite"> | undefined;
  readonly properties?: Properties | undefined;
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
export interface CreateTableResponse {
  readonly transactionId?: string;
  readonly location: string;
  readonly version: number;
  readonly numInsertedRows: number;
  /** The table's properties. */
  readonly properties: Properties;
  readonly storageOptions?: Readonly<Record<string, string>>;
}

export interface TableExistsRequest extends TableRequest {
  readonly version?: number | undefined;
  readonly branch?: string | undefined;
  /** Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
}

export interface DescribeTableRequest extends TableRequest {
  readonly version?: number | undefined;
  readonly branch?: string | undefined;
  /** Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
  readonly withTableUri?: boolean | undefined;
  readonly loadDetailedMetadata?: boolean | undefined;
  readonly checkDeclared?: boolean | undefined;
  /** As in {@link DeclareTableRequest}. */
  readonly vendCredentials?: boolean | undefined;
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
  readonly mode?: AnyCase<"Create" | "Overwrite"> | undefined;
  readonly properties?: Properties | undefined;
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
  readonly newNamespaceId?: readonly string[] | undefined;
}
export interface RenameTableResponse {
  readonly transactionId?: string;
}

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
  readonly pageToken?: string | undefined;
  readonly limit?: number | undefined;
  readonly includeDeclared?: boolean | undefined;
}
export interface ListTablesResponse {
  /** Names in ascending order of their bytes. For `listAllTables`: identifiers, their parts joined by `$`. */
  readonly tables: readonly string[];
  /** Absent on the last page. */
  readonly pageToken?: string;
}

export interface GetTableStatsRequest extends TableRequest {
  readonly branch?: string | undefined;
  readonly version?: number | undefined;
  /** Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
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
  readonly branch?: string | undefined;
}
export interface RestoreTableResponse {
  readonly transactionId: string;
  /** The new version. */
  readonly version: number;
}
