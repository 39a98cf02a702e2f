/** Request and response types of the operations on branches. */

import type { TableRequest } from "./request.js";

/** Record of a branch. */
export interface BranchContents {
  /** Name of the source branch. Absent: main. */
  readonly parentBranch?: string;
  /** Number of the version that the branch starts from. It is also the first version of the branch. */
  readonly parentVersion: number;
  /** Creation time in seconds since 1970. */
  readonly createAt: number;
  /** Size of the source version's manifest in bytes. */
  readonly manifestSize: number;
  /** Metadata of the branch, if any. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Request of `listTableBranches`. */
export interface ListTableBranchesRequest extends TableRequest {
  /** `pageToken` of the previous page. Default: the first page. */
  readonly pageToken?: string | undefined;
  /** Maximum number of branches on the page, ≥ 1. Default: no limit. */
  readonly limit?: number | undefined;
}
/** Answer of `listTableBranches`. */
export interface ListTableBranchesResponse {
  /** Branches by name, without main. Names ascend by their UTF-8 bytes. */
  readonly branches: Readonly<Record<string, BranchContents>>;
  /** Token that requests the next page. Absent on the last page. */
  readonly pageToken?: string;
}

/** Request of `createTableBranch`. */
export interface CreateTableBranchRequest extends TableRequest {
  /** Name of the new branch: parts of letters, digits, `.`, `-` and `_`, joined by `/`. */
  readonly name: string;
  /** Branch to start from. Default: main. */
  readonly fromBranch?: string | undefined;
  /** Number of the version to start from. Default: the latest version. */
  readonly fromVersion?: number | undefined;
  /** Tag to start from. Excludes `fromBranch` and `fromVersion`. */
  readonly fromTag?: string | undefined;
}
/** Answer of `createTableBranch`. */
export interface CreateTableBranchResponse {
  /** Id of the change for `describeTransaction`. Absent if the change wrote no transaction. */
  readonly transactionId?: string;
}

/** Request of `deleteTableBranch`. */
export interface DeleteTableBranchRequest extends TableRequest {
  /** Name of the branch. No branch and no tag may refer to it. */
  readonly name: string;
}
/** Answer of `deleteTableBranch`. */
export interface DeleteTableBranchResponse {
  /** Id of the change for `describeTransaction`. Absent if the change wrote no transaction. */
  readonly transactionId?: string;
}
