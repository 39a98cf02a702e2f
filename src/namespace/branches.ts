/** Requests and responses of the operations on branches. */

import type { TableRequest } from "./request.js";

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

/** Request of `listTableBranches`. */
export interface ListTableBranchesRequest extends TableRequest {
  /** Token of the previous page. */
  readonly pageToken?: string | undefined;
  /** Inclusive upper bound of the branches returned, > 0. */
  readonly limit?: number | undefined;
}
/** What `listTableBranches` resolves to. */
export interface ListTableBranchesResponse {
  /** By name; names in ascending order of their bytes. The main branch is not included. */
  readonly branches: Readonly<Record<string, BranchContents>>;
  /** Absent on the last page. */
  readonly pageToken?: string;
}

/** Request of `createTableBranch`. */
export interface CreateTableBranchRequest extends TableRequest {
  /** Parts made of letters, digits, '.', '-' and '_', joined by '/'. */
  readonly name: string;
  /** Absent: the main branch. */
  readonly fromBranch?: string | undefined;
  /** Absent: the latest. */
  readonly fromVersion?: number | undefined;
  /** Excludes `fromBranch` and `fromVersion`. */
  readonly fromTag?: string | undefined;
}
/** What `createTableBranch` resolves to. */
export interface CreateTableBranchResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
}

/** Request of `deleteTableBranch`. */
export interface DeleteTableBranchRequest extends TableRequest {
  /** Name of the branch. Branches and tags that refer to it must be gone. */
  readonly name: string;
}
/** What `deleteTableBranch` resolves to. */
export interface DeleteTableBranchResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
}
