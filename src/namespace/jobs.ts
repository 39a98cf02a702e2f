/** Request and response types of the operations on jobs. */

import type { ObjectId, RequestBase } from "./request.js";

/** Kind of a job: builds an index, fills a computed column, compacts fragments, or removes old versions. */
export type JobKind = "index" | "backfill" | "optimize" | "cleanup";
/**
 * State of a job:
 *
 * - `Queued`: waits for other jobs of its process.
 * - `Running`: runs.
 * - `Succeeded`: finished.
 * - `Failed`: ended with an error, or its process died.
 * - `Cancelled`: ended by `cancelJob`, or because its namespace was closed.
 */
export type JobState = "Queued" | "Running" | "Succeeded" | "Failed" | "Cancelled";
/** Unit of a job's progress. */
export type JobUnit = "rows" | "fragments" | "files" | "versions";

/** A job: its id, or an object with it, such as the answer of the operation that started the job. */
export type JobReference = string | { readonly jobId: string };

/** Request about a job. */
export interface JobRequest extends RequestBase {
  /** Id of the job, or the answer of the operation that started it. */
  readonly jobId: JobReference;
}
/** Request of `listJobs`. */
export interface ListJobsRequest extends RequestBase {
  /** Path of a table whose jobs are listed. Default: jobs of all tables. */
  readonly id?: ObjectId | undefined;
  /** State of the jobs to list. Default: any state. */
  readonly state?: JobState | undefined;
}
/** Request of `waitForJob`. */
export interface WaitForJobRequest extends JobRequest {
  /** Maximum wait in milliseconds; the call then resolves to the job's current state. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * Callback with the job: once when the wait begins, and after each change of progress or state. The wait
   * includes a promise that it returns, but not beyond the end of the job. An error that it throws or rejects
   * with ends the wait.
   */
  readonly onProgress?: ((job: Job) => void) | undefined;
  /**
   * `"bar"`: draws a progress bar on standard error, if that is a terminal. Default: draws nothing.
   *
   *     await table.waitForJob(jobId, { progress: "bar" });
   */
  readonly progress?: "bar" | undefined;
}
/** State and progress of a job. Times are in RFC 3339. */
export interface Job {
  /** Id of the job, a UUID. */
  readonly jobId: string;
  /** Kind of the job. */
  readonly kind: JobKind;
  /** Path that the table had when the job started. */
  readonly table: readonly string[];
  /** Name of the branch. Absent: main. */
  readonly branch?: string;
  /** State of the job. */
  readonly state: JobState;
  /** Number of finished units, including those of earlier runs of the job. */
  readonly done: number;
  /** Total number of units. Absent while it is unknown. */
  readonly total?: number;
  /** Unit of `done` and `total`. */
  readonly unit: JobUnit;
  /** Recent speed in units per second. Absent while it is unknown. */
  readonly rate?: number;
  /** Estimated time of the end at this rate. */
  readonly estimatedEnd?: string;
  /** Time of the request that created the job. */
  readonly createdAt: string;
  /** Time of the first start. Absent while the job is queued. */
  readonly startedAt?: string;
  /** Time of the end. Absent while the job is not finished. */
  readonly finishedAt?: string;
  /**
   * True if the job's process died, or its namespace was closed, before the job ended. A request for the same
   * work resumes this job from its last checkpoint.
   */
  readonly isInterrupted?: boolean;
  /** Error of a failed job. */
  readonly error?: JobError;
  /**
   * Result of the job. Member names are the same over HTTP.
   *
   * - `optimize`, `cleanup`: the answer of the operation without `background`.
   * - `index`: `indexUuid`, `indexedRows` and `transactionId`.
   * - `backfill`: `rows` and `fragments` (numbers of filled rows and fragments), and `version` (the last
   *   version that the job created; null if none).
   */
  readonly result?: unknown;
}
/** Error of a failed job. */
export interface JobError {
  /** Numeric code of the namespace spec. */
  readonly code: number;
  /** Name of the code, such as `"InvalidInput"`. */
  readonly type: string;
  /** Description of the failure. */
  readonly message: string;
}
/** Answer of `listJobs`. */
export interface ListJobsResponse {
  /** Jobs, the most recently started first. */
  readonly jobs: readonly Job[];
}
