/** Request and response types of the operations on tags. */

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
export interface ListTableTagsRequest extends TableRequest {
  /** `pageToken` of the previous page. Default: the first page. */
  readonly pageToken?: string | undefined;
  /** Maximum number of tags on the page, ≥ 1. Default: no limit. */
  readonly limit?: number | undefined;
}
/** Answer of `listTableTags`. */
export interface ListTableTagsResponse {
  /** Tags by name. Names ascend by their UTF-8 bytes. */
  readonly tags: Readonly<Record<string, TagContents>>;
  /** Token that requests the next page. Absent on the last page. */
  readonly pageToken?: string;
}

/** Request of `getTableTagVersion`. */
export interface GetTableTagVersionRequest extends TableRequest {
  /** Name of the tag. */
  readonly tag: string;
}
/** Answer of `getTableTagVersion`. */
export interface GetTableTagVersionResponse {
  /** Number of the version that the tag names. */
  readonly version: number;
  /** Branch of the version. Absent: main. */
  readonly branch?: string;
}

/** Request of `createTableTag`. */
export interface CreateTableTagRequest extends TableRequest {
  /** Name of the new tag: 1 to 240 of the characters A-Z a-z 0-9 . - _ */
  readonly tag: string;
  /** Number of an existing version. */
  readonly version: number;
  /** Branch of the version. Default: main. */
  readonly branch?: string | undefined;
}
/** Answer of `createTableTag`. */
export interface CreateTableTagResponse {
  /** Id of the change for `describeTransaction`. Absent if the change wrote no transaction. */
  readonly transactionId?: string;
}

/** Request of `updateTableTag`. */
export interface UpdateTableTagRequest extends TableRequest {
  /** Name of the tag. */
  readonly tag: string;
  /** Number of the version that the tag names from now on. */
  readonly version: number;
  /** Branch of the version. Default: main. */
  readonly branch?: string | undefined;
}
/** Answer of `updateTableTag`. */
export interface UpdateTableTagResponse {
  /** Id of the change for `describeTransaction`. Absent if the change wrote no transaction. */
  readonly transactionId?: string;
}

/** Request of `deleteTableTag`. */
export interface DeleteTableTagRequest extends TableRequest {
  /** Name of the tag. */
  readonly tag: string;
}
/** Answer of `deleteTableTag`. */
export interface DeleteTableTagResponse {
  /** Id of the change for `describeTransaction`. Absent if the change wrote no transaction. */
  readonly transactionId?: string;
}
