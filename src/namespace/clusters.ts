/** Clusters: executors that a host registers to run backfills elsewhere, and the tasks that run there. */

import type { TableRequest } from "./request.js";
import type { WithProgress } from "./upkeep.js";

/**
 * A task of a backfill: rows of one fragment of one version. A task is plain JSON. Any process with the same
 * directory and functions can compute it with `runBackfillTask`.
 */
export interface BackfillTask {
  /** Id of the task, unique in its job. */
  readonly taskId: string;
  /** Id of the task's job. */
  readonly jobId: string;
  /** Path of the table. */
  readonly id: readonly string[];
  /** Name of the branch. Absent: main. */
  readonly branch?: string;
  /** Path of the column. */
  readonly column: string;
  /** SQL that selects the rows to compute. Absent: rows without a value. */
  readonly where?: string;
  /** Number of the version that the rows are read from. */
  readonly version: number;
  /** Id of the fragment. */
  readonly fragmentId: number;
  /** Offset in the fragment of the first row to compute. */
  readonly firstRow: number;
  /** Offset in the fragment of the last row to compute. */
  readonly lastRow: number;
  /** Number of rows to compute. */
  readonly rows: number;
  /** Digest of the column's declaration and function version. Workers with another one refuse the task. */
  readonly meaning: string;
  /** Digest of the fragment's inputs. A worker that reads other inputs refuses the task. */
  readonly content: string;
  /** Digest of the work. It names the files with the values. */
  readonly key: string;
  /** Maximum number of rows per call of the function. */
  readonly checkpointSize: number;
  /** Minimum number of rows per call, if the task has that many. */
  readonly minCheckpointSize: number;
  /** Maximum age in seconds of values that are only in memory. */
  readonly batchCheckpointFlushIntervalSeconds: number;
  /** Number of concurrent calls of an async function. */
  readonly intraApplierConcurrency: number;
}
/** Request of `runBackfillTask`. */
export interface RunBackfillTaskRequest extends Omit<BackfillTask, "id">, TableRequest, WithProgress {}
/** Report of a finished task. Its values are in files of the table's directory and survive a power cut. */
export interface BackfillTaskReport {
  /** Id of the task. */
  readonly taskId: string;
  /** Number of rows with a value. */
  readonly rows: number;
  /** Names of the files with the values, in row order. */
  readonly files: readonly string[];
}
/** Error of a failed task. */
export interface BackfillTaskFailure {
  /** Name of the error code, such as `"InvalidInput"`. Other text counts as `"Internal"`. */
  readonly type: string;
  /** Description of the failure. */
  readonly message: string;
}

/** Context of one run of an executor. */
export interface ClusterRun {
  /** Id of the job. */
  readonly jobId: string;
  /** Absolute path of the namespace's directory on the machine that runs the job. */
  readonly root: string;
  /**
   * Absolute path of an empty directory for files that the executor and its workers exchange. It lies in the
   * table's directory. It is removed after the run, and emptied when the job resumes.
   */
  readonly directory: string;
  /** Maximum number of concurrent tasks. Undefined: the capacity of the cluster. */
  readonly concurrency: number | undefined;
  /** Environment that the request names, one of `manifests`. Undefined: the default environment. */
  readonly manifest: string | undefined;
  /**
   * Aborts when the job no longer needs results: all tasks are done, a task failed, or the job was cancelled.
   * The executor should then stop its workers; the job waits a few seconds for it.
   */
  readonly signal: AbortSignal;
  /** Reports how many rows of a task have a value. Calls are optional. */
  readonly onProgress: (taskId: string, rows: number) => void;
  /**
   * Reports a finished task. The job reads its files before it commits them. Reports are ignored if the task
   * is not in the run, was reported before, or the run has ended.
   */
  readonly onDone: (report: BackfillTaskReport) => void;
  /**
   * Reports a failed task. After a `ConcurrentModification`, the job plans the fragment again on the latest
   * version; any other error fails the job. A task whose worker died is not reported.
   */
  readonly onFailed: (taskId: string, failure: BackfillTaskFailure) => void;
}

/**
 * Executor that runs tasks of backfills elsewhere. It arranges that some process with the same directory
 * calls `runBackfillTask` for each task. The requesting process keeps the record, progress, checkpoints and
 * commits of the job.
 *
 *     const here: ClusterExecutor = {
 *       async run(tasks, { onDone, signal }) {
 *         for (const task of tasks) onDone(await worker.runBackfillTask({ ...task, signal }));
 *       },
 *     };
 */
export interface ClusterExecutor {
  /** Names of the environments that a request may name as its `manifest`. Default: none. */
  readonly manifests?: readonly string[] | undefined;
  /**
   * Runs tasks in any order and resolves when it has nothing more to report. Tasks without a report are
   * passed to it again. Three consecutive runs without a finished task fail the job. A rejection fails the
   * job at once; finished tasks stay, and a request for the same work resumes the job. An error of this
   * package stays as it is, and any other reason becomes the text of a `ServiceUnavailableError`. Callers
   * over HTTP see that text, but never the text of an `InternalError`.
   */
  run(tasks: readonly BackfillTask[], run: ClusterRun): Promise<void>;
}
