/** Request and response types of the operations on transactions. */

import type { ObjectId, Properties, RequestBase } from "./request.js";

/** Request of `describeTransaction`. */
export interface DescribeTransactionRequest extends RequestBase {
  /**
   * Path of the table followed by the id that an operation returned, or the id alone. For an id alone, the
   * engine searches the transaction files of all tables, unless it returned this id recently. Some clients
   * record a transaction only in the manifest; finding it requires the table.
   */
  readonly id: ObjectId;
}
/** Answer of `describeTransaction` for a transaction or a job. */
export interface DescribeTransactionResponse {
  /** `Succeeded` for a transaction. For a job: `Queued`, `Running`, `Succeeded`, `Failed` or `Canceled`. */
  readonly status: string;
  /**
   * Properties by name. They include the properties that the transaction's writer attached.
   *
   * - Transaction: `uuid`, `table`, `branch` (absent: main), `version` (the new version), `read_version` (the
   *   version that it is based on), `operation`, `tag` (absent: none) and `timestamp_millis` (commit time in
   *   milliseconds since 1970).
   * - Job: `uuid`, `table`, `branch`, `operation` (kind of job), `done`, `total`, `unit`, `timestamp_millis`
   *   (creation time) and `error` (name of the error code).
   */
  readonly properties: Readonly<Record<string, string>>;
}

/** Request of `alterTransaction`. The only supported change cancels a job. */
export interface AlterTransactionRequest extends RequestBase {
  /** Id of the job, alone or after the path of its table. */
  readonly id: ObjectId;
  /** Exactly one `setStatusAction` with the status `Canceled`. */
  readonly actions: readonly {
    /** Sets the status of the job. */
    readonly setStatusAction?:
      | {
          /** The only supported status is `Canceled`. */
          readonly status?: string | undefined;
        }
      | undefined;
    /** Not supported. */
    readonly setPropertyAction?:
      | {
          /** Name of the property. */
          readonly key?: string | undefined;
          /** Value of the property. */
          readonly value?: string | undefined;
          /** Behaviour if the property exists. */
          readonly mode?: string | undefined;
        }
      | undefined;
    /** Not supported. */
    readonly unsetPropertyAction?:
      | {
          /** Name of the property. */
          readonly key?: string | undefined;
          /** Behaviour if the property does not exist. */
          readonly mode?: string | undefined;
        }
      | undefined;
  }[];
}
/** Answer of `alterTransaction`. */
export interface AlterTransactionResponse {
  /** Status after the change. */
  readonly status: string;
  /** Properties; see {@link DescribeTransactionResponse.properties}. */
  readonly properties?: Properties;
}
