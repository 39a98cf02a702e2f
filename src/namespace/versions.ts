/** Requests and responses of the operations on versions. */

import type { AnyCase, ObjectId, RequestBase, TableRequest } from "./request.js";
import type {
  DeclareTableRequest,
  DeclareTableResponse,
  DeregisterTableRequest,
  DeregisterTableResponse,
} from "./tables.js";

/** One version of a table. */
export interface TableVersion {
  /** Its number. */
  readonly version: number;
  /** Absolute path of the manifest. */
  readonly manifestPath: string;
  /** Bytes. */
  readonly manifestSize: number;
  /** As it was given with the version; absent if it was not. */
  readonly eTag?: string;
  /** Commit time, as recorded in the manifest; milliseconds since the epoch. */
  readonly timestampMillis: number;
  /** As it was given with the version; absent if it was not. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Which staged manifest becomes which version. */
export interface CreateTableVersionRequest extends TableRequest {
  /** Must be free, and equal to the number in the staged manifest; at most 2^32 above the latest. */
  readonly version: number;
  /** Path of the staged manifest: absolute, relative to the table, or absolute without its leading slash. */
  readonly manifestPath: string;
  /** Bytes of the staged manifest; a file of another size is refused. */
  readonly manifestSize?: number | undefined;
  /** Stored and returned with the version; not compared with anything. */
  readonly eTag?: string | undefined;
  /** Stored and returned with the version. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** `V1` or `V2`; default: the table's own, V2 for a table without versions. */
  readonly namingScheme?: AnyCase<"V1" | "V2"> | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /**
   * Treats a branch as existing even before it is registered, and without versions if it has none. Writers that let the
   * namespace publish their versions publish a branch's first version before they register the branch. Default false.
   */
  readonly unregisteredBranch?: boolean | undefined;
}
/** What `createTableVersion` resolves to. */
export interface CreateTableVersionResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** The version as it was published. */
  readonly version: TableVersion;
}

/** One version of {@link BatchCreateTableVersionsRequest}. */
export type CreateTableVersionEntry = Omit<CreateTableVersionRequest, keyof RequestBase> & {
  /** Path of the table. */
  readonly id: ObjectId;
};

/** Versions of several tables to publish, all or none. */
export interface BatchCreateTableVersionsRequest extends RequestBase {
  /** At least one; a table may have several, with ascending numbers. */
  readonly entries: readonly CreateTableVersionEntry[];
}
/** What `batchCreateTableVersions` resolves to. */
export interface BatchCreateTableVersionsResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** In the order of the entries. */
  readonly versions: readonly TableVersion[];
}

/** A range of consecutive version numbers. */
export interface VersionRange {
  /** The first number. */
  readonly startVersion: number;
  /** Exclusive; -1 stands for the number after the latest. */
  readonly endVersion: number;
}

/** Which versions of a table to delete. */
export interface BatchDeleteTableVersionsRequest extends TableRequest {
  /** Numbers in the ranges that have no version are ignored. */
  readonly ranges: readonly VersionRange[];
  /** Absent: the main branch. */
  readonly branch?: string | undefined;
}
/** What `batchDeleteTableVersions` resolves to. */
export interface BatchDeleteTableVersionsResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** Number of versions deleted. */
  readonly deletedCount: number;
}

/** Versions of one table to delete as part of a batch. */
export type DeleteTableVersionsEntry = Omit<BatchDeleteTableVersionsRequest, keyof RequestBase> & {
  /** Path of the table. */
  readonly id: ObjectId;
};

/** One part of a batch; has exactly one member. */
export interface BatchCommitOperation {
  /** Declares a table. */
  readonly declareTable?: Omit<DeclareTableRequest, Exclude<keyof RequestBase, "id">> | undefined;
  /** Publishes a staged manifest. */
  readonly createTableVersion?: CreateTableVersionEntry | undefined;
  /** Applies to the table as it is before the batch. */
  readonly deleteTableVersions?: DeleteTableVersionsEntry | undefined;
  /** Hides a table. */
  readonly deregisterTable?: Omit<DeregisterTableRequest, Exclude<keyof RequestBase, "id">> | undefined;
}
/** Changes of several tables, all or none. */
export interface BatchCommitTablesRequest extends RequestBase {
  /** The changes, in order; at least one. */
  readonly operations: readonly BatchCommitOperation[];
}
/** Result of one part, in the same member as the operation. */
export interface BatchCommitResult {
  /** Of a declaration. */
  readonly declareTable?: DeclareTableResponse;
  /** Of a published version. */
  readonly createTableVersion?: CreateTableVersionResponse;
  /** Of deleted versions. */
  readonly deleteTableVersions?: BatchDeleteTableVersionsResponse;
  /** Of a hidden table. */
  readonly deregisterTable?: DeregisterTableResponse;
}
/** What `batchCommitTables` resolves to. */
export interface BatchCommitTablesResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** In the order of the operations. */
  readonly results: readonly BatchCommitResult[];
}

/** Which version to describe. */
export interface DescribeTableVersionRequest extends TableRequest {
  /** Absent: the latest. */
  readonly version?: number | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /**
   * Treats a branch as existing even before it is registered, and without versions if it has none. Writers that let the
   * namespace publish their versions publish a branch's first version before they register the branch. Default false.
   */
  readonly unregisteredBranch?: boolean | undefined;
}
/** What `describeTableVersion` resolves to. */
export interface DescribeTableVersionResponse {
  /** What is known of it. */
  readonly version: TableVersion;
}

/** Which versions to list. */
export interface ListTableVersionsRequest extends TableRequest {
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /**
   * Treats a branch as existing even before it is registered, and without versions if it has none. Writers that let the
   * namespace publish their versions publish a branch's first version before they register the branch. Default false.
   */
  readonly unregisteredBranch?: boolean | undefined;
  /** Token of the previous page. */
  readonly pageToken?: string | undefined;
  /** Inclusive upper bound of the versions returned, > 0. */
  readonly limit?: number | undefined;
  /** Newest first; default false. */
  readonly descending?: boolean | undefined;
}
/** What `listTableVersions` resolves to. */
export interface ListTableVersionsResponse {
  /** Oldest first, or newest first if `descending`. */
  readonly versions: readonly TableVersion[];
  /** Absent on the last page. */
  readonly pageToken?: string;
}
