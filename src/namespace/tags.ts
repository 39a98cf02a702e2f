/** Requests and responses of the operations on tags. */

import type { TableRequest } from "./request.js";

/** What a tag names. */
export interface TagContents {
  /** Absent: the main branch. */
  readonly branch?: string;
  readonly version: number;
  /** Bytes of the version's manifest. */
  readonly manifestSize: number;
}

export interface ListTableTagsRequest extends TableRequest {
  /** Token of the previous page. */
  readonly pageToken?: string | undefined;
  /** Inclusive upper bound of the tags returned, > 0. */
  readonly limit?: number | undefined;
}
export interface ListTableTagsResponse {
  /** By name; names in ascending order of their bytes. */
  readonly tags: Readonly<Record<string, TagContents>>;
  /** Absent on the last page. */
  readonly pageToken?: string;
}

export interface GetTableTagVersionRequest extends TableRequest {
  readonly tag: string;
}
export interface GetTableTagVersionResponse {
  readonly version: number;
  /** Absent: the main branch. */
  readonly branch?: string;
}

export interface CreateTableTagRequest extends TableRequest {
  /** 1 to 240 of the characters A-Z a-z 0-9 . - _ */
  readonly tag: string;
  readonly version: number;
  /** Branch that the version is on. */
  readonly branch?: string | undefined;
}
export interface CreateTableTagResponse {
  readonly transactionId?: string;
}

export interface UpdateTableTagRequest extends TableRequest {
  readonly tag: string;
  /** The version that the tag is moved to. */
  readonly version: number;
  /** Branch that the version is on. */
  readonly branch?: string | undefined;
}
export interface UpdateTableTagResponse {
  readonly transactionId?: string;
}

export interface DeleteTableTagRequest extends TableRequest {
  readonly tag: string;
}
export interface DeleteTableTagResponse {
  readonly transactionId?: string;
}
