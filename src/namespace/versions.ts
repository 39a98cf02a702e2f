/** Request and response types of the operations on versions. */

import type { MemoryShare } from "../memory.js";
import type {
  BranchRequest,
  ChangeAnswer,
  EarlyBranchRequest,
  NumberRequest,
  PageAnswer,
  PageRequest,
} from "./members.js";
import type { AnyCase, ObjectId, RequestBase } from "./request.js";
import type {
  DeclareTableRequest,
  DeclareTableResponse,
  DeregisterTableRequest,
  DeregisterTableResponse,
} from "./tables.js";

/** Changes of one commit. A number that neither transaction nor manifests tell is absent. */
export interface VersionChanges {
  /**
   * Kind of change, as the format names it, such as `Append` and `Delete`. Merges of rows are `Update`, a
   * creation is `Overwrite`, a compaction is `Rewrite`, new columns are `Merge`, and a new branch is `Clone`.
   * `Unknown` if the transaction is lost.
   */
  readonly operation: string;
  /** Commit message, if any. */
  readonly message?: string;
  /** Number of rows that the change added. */
  readonly rowsAdded?: number;
  /** Number of rows that the change removed. */
  readonly rowsRemoved?: number;
  /** Number of rows that got new values. Absent if columns changed, or if another writer did not count. */
  readonly rowsChanged?: number;
}

/** One version of a table. Answers of changes lack the members about the commit. */
export interface TableVersion extends Partial<VersionChanges> {
  /** Number of the version. */
  readonly version: number;
  /** Absolute path of the manifest. */
  readonly manifestPath: string;
  /** Size of the manifest in bytes. */
  readonly manifestSize: number;
  /** Value that was passed when the version was published, if any. */
  readonly eTag?: string;
  /** Commit time according to the manifest, in milliseconds since 1970. */
  readonly timestampMillis: number;
  /** Map that was passed when the version was published, if any. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Request of `createTableVersion`, which publishes a staged manifest. */
export interface CreateTableVersionRequest extends EarlyBranchRequest {
  /** Number of the new version: free, as in the manifest, and at most 2^32 above the latest. */
  readonly version: number;
  /** Path of the staged manifest: absolute, relative to the table, or absolute without the leading slash. */
  readonly manifestPath: string;
  /** Size of the staged manifest in bytes. A file of another size is refused. Default: not checked. */
  readonly manifestSize?: number | undefined;
  /** Text to store with the version. It is compared with nothing. */
  readonly eTag?: string | undefined;
  /** Map to store with the version. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Naming scheme: `V1` or `V2`. Default: that of the table; V2 for a table without versions. */
  readonly namingScheme?: AnyCase<"V1" | "V2"> | undefined;
}
/** Answer of `createTableVersion`. */
export interface CreateTableVersionResponse extends ChangeAnswer {
  /** The published version. */
  readonly version: TableVersion;
}

/** One entry of {@link BatchCreateTableVersionsRequest}. */
export type CreateTableVersionEntry = Omit<CreateTableVersionRequest, keyof RequestBase> & {
  /** Path of the table. */
  readonly id: ObjectId;
};

/** Request of `batchCreateTableVersions`, which publishes all manifests or none. */
export interface BatchCreateTableVersionsRequest extends RequestBase {
  /** At least one entry. One table may have several entries, with ascending version numbers. */
  readonly entries: readonly CreateTableVersionEntry[];
}
/** Answer of `batchCreateTableVersions`. */
export interface BatchCreateTableVersionsResponse extends ChangeAnswer {
  /** Published versions, in the order of the entries. */
  readonly versions: readonly TableVersion[];
}

/** Range of consecutive version numbers. */
export interface VersionRange {
  /** First number of the range. */
  readonly startVersion: number;
  /** End of the range, exclusive. -1 means that the range includes the latest version. */
  readonly endVersion: number;
}

/** Request of `batchDeleteTableVersions`. */
export interface BatchDeleteTableVersionsRequest extends BranchRequest {
  /** Ranges of versions to delete. Numbers without a version are ignored. */
  readonly ranges: readonly VersionRange[];
}
/** Answer of `batchDeleteTableVersions`. */
export interface BatchDeleteTableVersionsResponse extends ChangeAnswer {
  /** Number of deleted versions. */
  readonly deletedCount: number;
}

/** Deletion of versions of one table, as part of a batch. */
export type DeleteTableVersionsEntry = Omit<BatchDeleteTableVersionsRequest, keyof RequestBase> & {
  /** Path of the table. */
  readonly id: ObjectId;
};

/** Part of a batch. It has exactly one member. */
export interface BatchCommitOperation {
  /** Declares a table. */
  readonly declareTable?: Omit<DeclareTableRequest, Exclude<keyof RequestBase, "id">> | undefined;
  /** Publishes a staged manifest. */
  readonly createTableVersion?: CreateTableVersionEntry | undefined;
  /** Deletes versions. It applies to the table as it was before the batch. */
  readonly deleteTableVersions?: DeleteTableVersionsEntry | undefined;
  /** Hides a table and keeps its files. */
  readonly deregisterTable?: Omit<DeregisterTableRequest, Exclude<keyof RequestBase, "id">> | undefined;
}
/** Request of `batchCommitTables`, which applies all changes or none. */
export interface BatchCommitTablesRequest extends RequestBase {
  /** Changes in order; at least one. */
  readonly operations: readonly BatchCommitOperation[];
}
/** Result of one part of a batch, in the member of the part's name. */
export interface BatchCommitResult {
  /** Result of a declaration. */
  readonly declareTable?: DeclareTableResponse;
  /** Result of a published version. */
  readonly createTableVersion?: CreateTableVersionResponse;
  /** Result of a deletion of versions. */
  readonly deleteTableVersions?: BatchDeleteTableVersionsResponse;
  /** Result of a deregistration. */
  readonly deregisterTable?: DeregisterTableResponse;
}
/** Answer of `batchCommitTables`. */
export interface BatchCommitTablesResponse extends ChangeAnswer {
  /** Results in the order of the operations. */
  readonly results: readonly BatchCommitResult[];
}

/** Request of `describeTableVersion`. */
export interface DescribeTableVersionRequest extends NumberRequest, EarlyBranchRequest {}
/** Answer of `describeTableVersion`. */
export interface DescribeTableVersionResponse {
  /** The version. */
  readonly version: TableVersion;
}

/** Request of `migrateManifestNames`. */
export interface MigrateManifestNamesRequest extends BranchRequest {}
/** Answer of `migrateManifestNames`. */
export interface MigrateManifestNamesResponse {
  /** Number of versions whose manifests were renamed. */
  readonly numRenamed: number;
}

/** Request of `listTableVersions`. */
export interface ListTableVersionsRequest extends EarlyBranchRequest, PageRequest {
  /** True: lists the newest version first. Default: false. */
  readonly descending?: boolean | undefined;
}
/** Answer of `listTableVersions`. */
export interface ListTableVersionsResponse extends PageAnswer {
  /** Versions, oldest first unless `descending` is true. */
  readonly versions: readonly TableVersion[];
}

/** Request of `diffTableVersions`. */
export interface DiffTableVersionsRequest extends BranchRequest {
  /** Number of the version to compare with. */
  readonly from: number;
  /** Number of the version that is compared. It may be older than `from`. Default: the latest version. */
  readonly to?: number | undefined;
  /**
   * Columns whose values identify a row in both versions. Each row needs its own values; null counts as one.
   * Default: stable row ids, if the table has them.
   */
  readonly on?: string | readonly string[] | undefined;
  /** Memory bound, shared with other work. Default: no bound. */
  readonly memory?: MemoryShare | undefined;
}

/** A row that differs between two versions. */
export interface RowDifference<Row extends object = Record<string, unknown>> {
  /** `added`: only `to` has the row; `removed`: only `from` has it; `changed`: its values differ. */
  readonly kind: "added" | "removed" | "changed";
  /**
   * Values of the row in `to`; of a removed row, those in `from`. The columns are those of `to`. A column
   * that `from` lacks, or has with another type, is not compared, and is null in rows of `from`.
   */
  readonly row: Row;
  /** Values of a changed row in `from`. */
  readonly before?: Row | null;
}

/** Request of `watchTable`. */
export interface WatchTableRequest extends BranchRequest {
  /** Number of the last version that the caller has seen. Default: the latest version at the call. */
  readonly from?: number | undefined;
}
