/** Request and response types of the operations on tags. */

import type { BranchRequest, ChangeAnswer, PageAnswer, PageRequest } from "./members.js";
import type { TableRequest } from "./request.js";

/** Version that a tag names. */
export interface TagContents {
  /** Branch of the version. Absent: main. */
  readonly branch?: string;
  /** Number of the version. */
  readonly version: number;
  /** Size of the version's manifest in bytes. */
  readonly manifestSize: number;
}

/** Request of `listTableTags`. */
export interface ListTableTagsRequest extends TableRequest, PageRequest {}
/** Answer of `listTableTags`. */
export interface ListTableTagsResponse extends PageAnswer {
  /** Tags by name. Names ascend by their UTF-8 bytes. */
  readonly tags: Readonly<Record<string, TagContents>>;
}

interface TagRequest extends TableRequest {
  /** Name of the tag. */
  readonly tag: string;
}

/** Request of `getTableTagVersion`. */
export interface GetTableTagVersionRequest extends TagRequest {}
/** Answer of `getTableTagVersion`. */
export interface GetTableTagVersionResponse {
  /** Number of the version that the tag names. */
  readonly version: number;
  /** Branch of the version. Absent: main. */
  readonly branch?: string;
}

/** Request of `createTableTag`. */
export interface CreateTableTagRequest extends BranchRequest {
  /** Name of the new tag: 1 to 240 of the characters A-Z a-z 0-9 . - _ */
  readonly tag: string;
  /** Number of an existing version of the branch. */
  readonly version: number;
}
/** Answer of `createTableTag`. */
export interface CreateTableTagResponse extends ChangeAnswer {}

/** Request of `updateTableTag`. */
export interface UpdateTableTagRequest extends TagRequest, BranchRequest {
  /** Number of the version of the branch that the tag names from now on. */
  readonly version: number;
}
/** Answer of `updateTableTag`. */
export interface UpdateTableTagResponse extends ChangeAnswer {}

/** Request of `deleteTableTag`. */
export interface DeleteTableTagRequest extends TagRequest {}
/** Answer of `deleteTableTag`. */
export interface DeleteTableTagResponse extends ChangeAnswer {}
