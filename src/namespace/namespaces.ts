/** Requests and responses of the operations on namespaces. */

import type { AnyCase, ObjectId, Properties, RequestBase } from "./request.js";

/** Request of `createNamespace`. */
export interface CreateNamespaceRequest extends RequestBase {
  /** Path of the new namespace; the one above it must exist. */
  readonly id: ObjectId;
  /**
   * `Create` (default) fails if the namespace exists, `ExistOk` leaves it as it is, `Overwrite` replaces it if it is
   * empty.
   */
  readonly mode?: AnyCase<"Create" | "ExistOk" | "Overwrite"> | undefined;
  /** Properties for users of the object; the engine gives them no meaning. */
  readonly properties?: Properties | undefined;
}
/** What `createNamespace` resolves to. */
export interface CreateNamespaceResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** Properties that the namespace now has. */
  readonly properties: Properties;
}

/** An absent or empty id means the root namespace, here and below. */
export interface DescribeNamespaceRequest extends RequestBase {}
/** What `describeNamespace` tells. */
export interface DescribeNamespaceResponse {
  /** Properties that the namespace was made with. */
  readonly properties: Properties;
}

/** Asks whether a namespace exists; an absent or empty id means the root. */
export interface NamespaceExistsRequest extends RequestBase {}

/** Request of `listNamespaces`. */
export interface ListNamespacesRequest extends RequestBase {
  /** Token of the previous page. */
  readonly pageToken?: string | undefined;
  /** Inclusive upper bound of the names returned, > 0. */
  readonly limit?: number | undefined;
}
/** What `listNamespaces` resolves to. */
export interface ListNamespacesResponse {
  /** Names in ascending order of their bytes. */
  readonly namespaces: readonly string[];
  /** Absent on the last page. */
  readonly pageToken?: string;
}

/** Request of `dropNamespace`. */
export interface DropNamespaceRequest extends RequestBase {
  /** Path of the namespace. */
  readonly id: ObjectId;
  /** If the namespace does not exist: `Fail` (default) or `Skip`. */
  readonly mode?: AnyCase<"Fail" | "Skip"> | undefined;
  /** `Restrict` (default) refuses to drop a namespace that is not empty, `Cascade` drops it with everything in it. */
  readonly behavior?: AnyCase<"Restrict" | "Cascade"> | undefined;
}
/** What `dropNamespace` resolves to. */
export interface DropNamespaceResponse {
  /** Absent if there was nothing to drop. */
  readonly properties?: Properties;
  /** An array here, unlike everywhere else. */
  readonly transactionId?: readonly string[];
}
