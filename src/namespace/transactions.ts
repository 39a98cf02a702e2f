/** Requests and responses of the operations on transactions. */

import type { ObjectId, Properties, RequestBase } from "./request.js";

/** Which transaction, or job, to describe. */
export interface DescribeTransactionRequest extends RequestBase {
  /**
   * The path of the table, followed by the id that an operation returned. With the id alone, the engine searches the
   * transaction files of all tables, unless it returned this id recently. A transaction that is only in a manifest,
   * like some that clients staged, is found only if the table is given.
   */
  readonly id: ObjectId;
}
/** What is known of a transaction or a job. */
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
  /** The job's id, alone or after the path of its table. */
  readonly id: ObjectId;
  /** What to change; exactly one `setStatusAction` to `Canceled` is supported. */
  readonly actions: readonly {
    /** Sets the status. */
    readonly setStatusAction?:
      | {
          /** `Canceled`. */
          readonly status?: string | undefined;
        }
      | undefined;
    /** Not supported. */
    readonly setPropertyAction?:
      | {
          /** Name of the property. */
          readonly key?: string | undefined;
          /** Its value. */
          readonly value?: string | undefined;
          /** What happens if there is one. */
          readonly mode?: string | undefined;
        }
      | undefined;
    /** Not supported. */
    readonly unsetPropertyAction?:
      | {
          /** Name of the property. */
          readonly key?: string | undefined;
          /** What happens if there is none. */
          readonly mode?: string | undefined;
        }
      | undefined;
  }[];
}
/** What `alterTransaction` resolves to. */
export interface AlterTransactionResponse {
  /** The status after the change. */
  readonly status: string;
  /** As {@link DescribeTransactionResponse} has them. */
  readonly properties?: Properties;
}
