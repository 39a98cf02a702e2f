/** Requests and responses of the operations on transactions. */

import type { ObjectId, Properties, RequestBase } from "./request.js";

export interface DescribeTransactionRequest extends RequestBase {
  /**
   * The path of the table, followed by the id that an operation returned. With the id alone, the engine searches the
   * transaction files of all tables, unless it returned this id recently. A transaction that is only in a manifest,
   * like some that clients staged, is found only if the table is given.
   */
  readonly id: ObjectId;
}
export interface DescribeTransactionResponse {
  /** `Succeeded` for a transaction; of a job, also `Queued`, `Running`, `Failed`, `Canceled`. */
  readonly status: string;
  /**
   * What the transaction's writer attached to it, and `uuid`, `table`, `branch` (absent: main), `version` (the version
   * it made), `read_version` (the version it was planned on), `operation`, `tag` (absent: none), `timestamp_millis`
   * (commit time; milliseconds since the epoch). Of a job: `uuid`, `table`, `branch`, `operation` (its kind), `done`,
   * `total`, `unit`, `timestamp_millis` (when it was asked for), `error` (the name of the code that it failed with).
   */
  readonly properties: Readonly<Record<string, string>>;
}

/** The one change that there is: a job's status, to `Canceled`. */
export interface AlterTransactionRequest extends RequestBase {
  readonly id: ObjectId;
  readonly actions: readonly {
    readonly setStatusAction?: { readonly status?: string | undefined } | undefined;
    readonly setPropertyAction?:
      | {
          readonly key?: string | undefined;
          readonly value?: string | undefined;
          readonly mode?: string | undefined;
        }
      | undefined;
    readonly unsetPropertyAction?:
      | { readonly key?: string | undefined; readonly mode?: string | undefined }
      | undefined;
  }[];
}
export interface AlterTransactionResponse {
  readonly status: string;
  readonly properties?: Properties;
}
