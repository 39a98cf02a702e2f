/** Request and response types of the operations on branches. */

import type { ChangeAnswer, PageAnswer, PageRequest, WithMessage } from "./members.js";
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
