/** Request and response types of the operations on branches. */

import type {
  BranchRequest,
  ChangeAnswer,
  PageAnswer,
  PageRequest,
  VersionAnswer,
  WithMessage,
} from "./members.js";
import type { AnyCase, TableRequest } from "./request.js";

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
export interface ListTableBranchesRequest extends TableRequest, PageRequest {}
/** Answer of `listTableBranches`. */
export interface ListTableBranchesResponse extends PageAnswer {
  /** Branches by name, without main. Names ascend by their UTF-8 bytes. */
  readonly branches: Readonly<Record<string, BranchContents>>;
}

/** Request of `createTableBranch`. */
export interface CreateTableBranchRequest extends TableRequest, WithMessage {
  /** Name of the new branch: parts of letters, digits, `.`, `-` and `_`, joined by `/`. */
  readonly name: string;
  /** Branch to start from. Default: main. */
  readonly fromBranch?: string | undefined;
  /** Number of the version to start from. Default: the latest version. */
  readonly fromVersion?: number | undefined;
  /** Tag to start from. Not allowed with `fromBranch` or `fromVersion`. */
  readonly fromTag?: string | undefined;
}
/** Answer of `createTableBranch`. */
export interface CreateTableBranchResponse extends ChangeAnswer {}

/** Request of `deleteTableBranch`. */
export interface DeleteTableBranchRequest extends TableRequest {
  /** Name of the branch. No branch and no tag may refer to it. */
  readonly name: string;
}
/** Answer of `deleteTableBranch`. */
export interface DeleteTableBranchResponse extends ChangeAnswer {}

/** Request of `mergeTableBranch`. */
export interface MergeTableBranchRequest extends BranchRequest, WithMessage {
  /** Name of the branch to merge. `branch` names the one that it was made from, which gets its changes. */
  readonly name: string;
  /** Columns whose values identify a row. Default: stable row ids, if the table has them. */
  readonly on?: string | readonly string[] | undefined;
  /**
   * Fate of rows that both lines changed in different ways. Default: `fail`.
   *
   * - `fail`: nothing is merged, and the error lists the first of them
   * - `ours`: they stay as on the line that the branch is merged into
   * - `theirs`: they become as on the merged branch
   */
  readonly conflicts?: AnyCase<"Fail" | "Ours" | "Theirs"> | undefined;
}
/**
 * Answer of `mergeTableBranch`. If the branch has no new version since the last merge, nothing is committed:
 * `version` is the latest version, and there is no `transactionId`.
 */
export interface MergeTableBranchResponse extends VersionAnswer {
  /** Number of rows that only the branch had. */
  readonly numInsertedRows: number;
  /** Number of rows that got values of the branch. */
  readonly numUpdatedRows: number;
  /** Number of rows that the branch had removed. */
  readonly numDeletedRows: number;
}
