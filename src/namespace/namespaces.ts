/** Request and response types of the operations on namespaces. */

import type { ChangeAnswer, PageAnswer, PageRequest, WithProperties } from "./members.js";
import type { AnyCase, ObjectId, Properties, RequestBase } from "./request.js";

/** Request of `createNamespace`. */
export interface CreateNamespaceRequest extends RequestBase, WithProperties {
  /** Path of the new namespace. Its parent must exist. */
  readonly id: ObjectId;
  /** `Create` (default) fails if it exists; `ExistOk` keeps it; `Overwrite` replaces it if empty. */
  readonly mode?: AnyCase<"Create" | "ExistOk" | "Overwrite"> | undefined;
}
/** Answer of `createNamespace`. */
export interface CreateNamespaceResponse extends ChangeAnswer {
  /** Properties of the namespace after the call. */
  readonly properties: Properties;
}

/** Request of `describeNamespace`. Here and below, an absent or empty id means the root namespace. */
export interface DescribeNamespaceRequest extends RequestBase {}
/** Answer of `describeNamespace`. */
export interface DescribeNamespaceResponse {
  /** Properties of the namespace. */
  readonly properties: Properties;
}

/** Request of `namespaceExists`. */
export interface NamespaceExistsRequest extends RequestBase {}

/** Request of `listNamespaces`. */
export interface ListNamespacesRequest extends RequestBase, PageRequest {}
/** Answer of `listNamespaces`. */
export interface ListNamespacesResponse extends PageAnswer {
  /** Names in ascending order of their UTF-8 bytes. */
  readonly namespaces: readonly string[];
}

/** Request of `dropNamespace`. */
export interface DropNamespaceRequest extends RequestBase {
  /** Path of the namespace. */
  readonly id: ObjectId;
  /** `Fail` (default) fails if the namespace does not exist. `Skip` does nothing. */
  readonly mode?: AnyCase<"Fail" | "Skip"> | undefined;
  /** `Restrict` (default) refuses a namespace that is not empty. `Cascade` also drops its content. */
  readonly behavior?: AnyCase<"Restrict" | "Cascade"> | undefined;
}
/** Answer of `dropNamespace`. */
export interface DropNamespaceResponse {
  /** Properties that the namespace had. Absent if there was nothing to drop. */
  readonly properties?: Properties;
  /** Ids of the change. Unlike in other responses, this is an array. */
  readonly transactionId?: readonly string[];
}
