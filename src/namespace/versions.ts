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
  readonly manifestSize?: number | undefined;
  /** Stored and returned with the version; not compared with anything. */
  readonly eTag?: string | undefined;
  /** Stored and returned with the version. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** `V1` or `V2`; default: the table's own, V2 for a table without versions. */
  readonly namingScheme?: AnyCase<"V1" | "V2"> | undefined;
  readonly branch?: string | undefined;
  /**
   * Treats a branch as existing even before it is registered, and without versions if it has none. Writers that let the
   * namespace publish their versions publish a branch's first version before they register the branch. Default false.
   */
  readonly unregisteredBranch?: boolean | undefined;
}
export interface CreateTableVersionResponse {
  readonly transactionId?: string;
  readonly version: TableVersion;
}

/** One version of {@link BatchCreateTableVersionsRequest}. */
export type CreateTableVersionEntry = Omit<CreateTableVersionRequest, keyof RequestBase> & {
  readonly id: ObjectId;
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
  readonly branch?: string | undefined;
}
export interface BatchDeleteTableVersionsResponse {
  readonly transactionId?: string;
  /** Number of versions deleted. */
  readonly deletedCount: number;
}

/** Versions of one table to delete as part of a batch. */
export type DeleteTableVersionsEntry = Omit<BatchDeleteTableVersionsRequest, keyof RequestBase> & {
  readonly id: ObjectId;
};

/** One part of a batch; has exactly one member. */
export interface BatchCommitOperation {
  readonly declareTable?: Omit<DeclareTableRequest, Exclude<keyof RequestBase, "id">> | undefined;
  readonly createTableVersion?: CreateTableVersionEntry | undefined;
  /** Applies to the table as it is before the batch. */
  readonly deleteTableVersions?: DeleteTableVersionsEntry | undefined;
  readonly deregisterTable?: Omit<DeregisterTableRequest, Exclude<keyof RequestBase, "id">> | undefined;
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
  readonly version?: number | undefined;
  readonly branch?: string | undefined;
  /**
   * Treats a branch as existing even before it is registered, and without versions if it has none. Writers that let the
   * namespace publish their versions publish a branch's first version before they register the branch. Default false.
   */
  readonly unregisteredBranch?: boolean | undefined;
}
export interface DescribeTableVersionResponse {
  readonly version: TableVersion;
}

export interface ListTableVersionsRequest extends TableRequest {
  readonly branch?: string | undefined;
  /**
   * Treats a branch as existing even before it is registered, and without versions if it has none. Writers that let the
   * namespace publish their versions publish a branch's first version before they register the branch. Default false.
   */
  readonly unregisteredBranch?: boolean | undefined;
  readonly pageToken?: string | undefined;
  readonly limit?: number | undefined;
  /** Newest first; default false. */
  readonly descending?: boolean | undefined;
}
export interface ListTableVersionsResponse {
  readonly versions: readonly TableVersion[];
  readonly pageToken?: string;
}
