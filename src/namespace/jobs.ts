/** Requests and responses of the operations on jobs. */

import type { ObjectId, RequestBase } from "./request.js";

export type JobKind = "index" | "backfill" | "optimize" | "cleanup";
/**
 * `Queued`: waits until other jobs of its process have ended. `Cancelled`: by `cancelJob`, or because the namespace was
 * closed. `Failed`: with an error, or because the process that ran it ended.
 */
export type JobState = "Queued" | "Running" | "Succeeded" | "Failed" | "Cancelled";
/** What the progress of a job is counted in. */
export type JobUnit = "rows" | "fragments" | "files" | "versions";

export interface JobRequest extends RequestBase {
  readonly jobId: string;
}
export interface ListJobsRequest extends RequestBase {
  /** Of a table: only its jobs. Default: those of all tables. */
  readonly id?: ObjectId | undefined;
  /** Default: any. */
  readonly state?: JobState | undefined;
}
export interface WaitForJobRequest extends JobRequest {
  /** Milliseconds after which the call resolves to the job as it is then. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Called with the job when the call begins to wait, and whenever its progress or state has changed since. */
  readonly onProgress?: ((job: Job) => void) | undefined;
}
/** What is known about a job. Times are RFC 3339. */
export interface Job {
  readonly jobId: string;
  readonly kind: JobKind;
  /** Id that the table had when the job was started. */
  readonly table: readonly string[];
  /** Absent: main. */
  readonly branch?: string;
  readonly state: JobState;
  /** Units done, those of earlier runs that it went on from included. */
  readonly done: number;
  /** Absent while it is not known. */
  readonly total?: number;
  readonly unit: JobUnit;
  /** Units per second of late; absent while it is not known. */
  readonly rate?: number;
  /** When it will end at this rate. */
  readonly estimatedEnd?: string;
  readonly createdAt: string;
  /** When it was started first; absent while it is queued. */
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /**
   * Whether its process ended, or its namespace was closed, before it did: asking for the same work again goes on with
   * this job, from its last checkpoint.
   */
  readonly isInterrupted?: boolean;
  /** Of a job that failed. */
  readonly error?: JobError;
  /** What the job made; depends on its kind. */
  readonly result?: unknown;
}
/** An error that a job failed with: its code in the table of errors, the name of that code, and the message. */
export interface JobError {
  readonly code: number;
  readonly type: string;
  readonly message: string;
}
export interface ListJobsResponse {
  /** Those started last come first. */
  readonly jobs: readonly Job[];
}
