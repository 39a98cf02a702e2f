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

export interface ListTableBranchesRequest extends TableRequest {
  /** Token of the previous page. */
  readonly pageToken?: string | undefined;
  /** Inclusive upper bound of the branches returned, > 0. */
  readonly limit?: number | undefined;
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
  readonly fromBranch?: string | undefined;
  /** Absent: the latest. */
  readonly fromVersion?: number | undefined;
  /** Excludes `fromBranch` and `fromVersion`. */
  readonly fromTag?: string | undefined;
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
