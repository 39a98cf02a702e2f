/** Requests and responses of the operations on tags. */

import type { TableRequest } from "./request.js";

/** What a tag names. */
export interface TagContents {
  /** Absent: the main branch. */
  readonly branch?: string;
  /** The version. */
  readonly version: number;
  /** Bytes of the version's manifest. */
  readonly manifestSize: number;
}

/** Which tags to list. */
export interface ListTableTagsRequest extends TableRequest {
  /** Token of the previous page. */
  readonly pageToken?: string | undefined;
  /** Inclusive upper bound of the tags returned, > 0. */
  readonly limit?: number | undefined;
}
/** What `listTableTags` resolves to. */
export interface ListTableTagsResponse {
  /** By name; names in ascending order of their bytes. */
  readonly tags: Readonly<Record<string, TagContents>>;
  /** Absent on the last page. */
  readonly pageToken?: string;
}

/** Which tag to look up. */
export interface GetTableTagVersionRequest extends TableRequest {
  /** Name of the tag. */
  readonly tag: string;
}
/** What `getTableTagVersion` resolves to. */
export interface GetTableTagVersionResponse {
  /** The version that it names. */
  readonly version: number;
  /** Absent: the main branch. */
  readonly branch?: string;
}

/** Which version gets a name. */
export interface CreateTableTagRequest extends TableRequest {
  /** 1 to 240 of the characters A-Z a-z 0-9 . - _ */
  readonly tag: string;
  /** The version to name, which must exist. */
  readonly version: number;
  /** Branch that the version is on. */
  readonly branch?: string | undefined;
}
/** What `createTableTag` resolves to. */
export interface CreateTableTagResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
}

/** Which tag to move. */
export interface UpdateTableTagRequest extends TableRequest {
  /** Name of the tag. */
  readonly tag: string;
  /** The version that the tag is moved to. */
  readonly version: number;
  /** Branch that the version is on. */
  readonly branch?: string | undefined;
}
/** What `updateTableTag` resolves to. */
export interface UpdateTableTagResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
}

/** Which tag to delete; its version stays. */
export interface DeleteTableTagRequest extends TableRequest {
  /** Name of the tag. */
  readonly tag: string;
}
/** What `deleteTableTag` resolves to. */
export interface DeleteTableTagResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
}
