/** Requests and responses of the operations on namespaces. */

import type { AnyCase, ObjectId, Properties, RequestBase } from "./request.js";

export interface CreateNamespaceRequest extends RequestBase {
  readonly id: ObjectId;
  /**
   * `Create` (default) fails if the namespace exists, `ExistOk` leaves it as it is, `Overwrite` replaces it if it is
   * empty.
   */
  readonly mode?: AnyCase<"Create" | "ExistOk" | "Overwrite"> | undefined;
  readonly properties?: Properties | undefined;
}
export interface CreateNamespaceResponse {
  readonly transactionId?: string;
  readonly properties: Properties;
}

/** An absent or empty id means the root namespace, here and below. */
export interface DescribeNamespaceRequest extends RequestBase {}
export interface DescribeNamespaceResponse {
  readonly properties: Properties;
}

export interface NamespaceExistsRequest extends RequestBase {}

export interface ListNamespacesRequest extends RequestBase {
  /** Token of the previous page. */
  readonly pageToken?: string | undefined;
  /** Inclusive upper bound of the names returned, > 0. */
  readonly limit?: number | undefined;
}
export interface ListNamespacesResponse {
  /** Names in ascending order of their bytes. */
  readonly namespaces: readonly string[];
  /** Absent on the last page. */
  readonly pageToken?: string;
}

export interface DropNamespaceRequest extends RequestBase {
  readonly id: ObjectId;
  /** If the namespace does not exist: `Fail` (default) or `Skip`. */
  readonly mode?: AnyCase<"Fail" | "Skip"> | undefined;
  /** `Restrict` (default) refuses to drop a namespace that is not empty, `Cascade` drops it with everything in it. */
  readonly behavior?: AnyCase<"Restrict" | "Cascade"> | undefined;
}
export interface DropNamespaceResponse {
  /** Absent if there was nothing to drop. */
  readonly properties?: Properties;
  /** An array here, unlike everywhere else. */
  readonly transactionId?: readonly string[];
}
