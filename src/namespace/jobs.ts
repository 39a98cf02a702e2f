/** Requests and responses of the operations on jobs. */

import type { ObjectId, RequestBase } from "./request.js";

/** What a job does: builds an index, fills a computed column, compacts fragments, or removes old versions. */
export type JobKind = "index" | "backfill" | "optimize" | "cleanup";
/**
 * `Queued`: waits until other jobs of its process have ended. `Cancelled`: by `cancelJob`, or because the namespace was
 * closed. `Failed`: with an error, or because the process that ran it ended.
 */
export type JobState = "Queued" | "Running" | "Succeeded" | "Failed" | "Cancelled";
/** What the progress of a job is counted in. */
export type JobUnit = "rows" | "fragments" | "files" | "versions";

/** Names a job. */
export interface JobRequest extends RequestBase {
  /** The id that the operation returned which started the job. */
  readonly jobId: string;
}
/** Which jobs `listJobs` lists. */
export interface ListJobsRequest extends RequestBase {
  /** Of a table: only its jobs. Default: those of all tables. */
  readonly id?: ObjectId | undefined;
  /** Default: any. */
  readonly state?: JobState | undefined;
}
/** Which job `waitForJob` waits for, and how long. */
export interface WaitForJobRequest extends JobRequest {
  /** Milliseconds after which the call resolves to the job as it is then. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * Called with the job when the call begins to wait, and whenever its progress or state has changed since. A promise that it
   * returns is waited for, no longer than the job; an error that it throws, or rejects with, ends the wait.
   */
  readonly onProgress?: ((job: Job) => void) | undefined;
}
/** What is known about a job. Times are RFC 3339. */
export interface Job {
  /** Its id: a UUID. */
  readonly jobId: string;
  /** What it does. */
  readonly kind: JobKind;
  /** Id that the table had when the job was started. */
  readonly table: readonly string[];
  /** Absent: main. */
  readonly branch?: string;
  /** How far it is, and how it ended. */
  readonly state: JobState;
  /** Units done, those of earlier runs that it went on from included. */
  readonly done: number;
  /** Absent while it is not known. */
  readonly total?: number;
  /** What `done` and `total` count. */
  readonly unit: JobUnit;
  /** Units per second of late; absent while it is not known. */
  readonly rate?: number;
  /** When it will end at this rate. */
  readonly estimatedEnd?: string;
  /** When it was asked for. */
  readonly createdAt: string;
  /** When it was started first; absent while it is queued. */
  readonly startedAt?: string;
  /** When it ended; absent before that. */
  readonly finishedAt?: string;
  /**
   * Whether its process ended, or its namespace was closed, before it did: asking for the same work again goes on with
   * this job, from its last checkpoint.
   */
  readonly isInterrupted?: boolean;
  /** Of a job that failed. */
  readonly error?: JobError;
  /**
   * What the job made. Of `optimize` and `cleanup`: what the method resolves to where it does the work in the call. Of `index`:
   * `indexUuid`, `indexedRows` and `transactionId`. Of `backfill`: `rows` and `fragments`, the numbers of those that were
   * filled, and `version`, the last one that it made (null: none). Over HTTP, too, its members are spelled like this.
   */
  readonly result?: unknown;
}
/** An error that a job failed with: its code in the table of errors, the name of that code, and the message. */
export interface JobError {
  /** Numeric code of the error, as in the table of errors. */
  readonly code: number;
  /** Name of the code, e.g. `"InvalidInput"`. */
  readonly type: string;
  /** What went wrong. */
  readonly message: string;
}
/** Jobs, as `listJobs` gives them. */
export interface ListJobsResponse {
  /** Those started last come first. */
  readonly jobs: readonly Job[];
}
