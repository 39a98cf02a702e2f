/** Clusters: what a host registers to run backfills elsewhere, and the tasks that run there. */

import type { TableRequest } from "./request.js";
import type { WithProgress } from "./upkeep.js";

/**
 * A piece of a backfill: the rows of one fragment of one version, or a range of them. It is plain JSON. A process that has
 * the same directory and the same functions computes it with `runBackfillTask`.
 */
export interface BackfillTask {
  /** Tells the task apart from others of its job. */
  readonly taskId: string;
  /** The job that the task belongs to. */
  readonly jobId: string;
  /** Path of the table. */
  readonly id: readonly string[];
  /** Absent: main. */
  readonly branch?: string;
  /** Path of the column. */
  readonly column: string;
  /** SQL that selects the rows; absent: those without a value. */
  readonly where?: string;
  /** The version that the rows are read from. */
  readonly version: number;
  /** Id of the fragment. */
  readonly fragmentId: number;
  /** Offset in the fragment of the first row that may be computed. */
  readonly firstRow: number;
  /** Offset in the fragment of the last row that may be computed. */
  readonly lastRow: number;
  /** Number of rows to compute. */
  readonly rows: number;
  /** Digest of the declaration, and of the function's version: a worker with another function refuses the task. */
  readonly meaning: string;
  /** Digest of the fragment's inputs: a worker that reads others refuses the task. */
  readonly content: string;
  /** Digest of the work: names the files of values. */
  readonly key: string;
  /** Maximum number of rows per call of the function. */
  readonly checkpointSize: number;
  /** Minimum number of rows per call, if the task has that many. */
  readonly minCheckpointSize: number;
  /** Seconds for which computed values may be in memory only. */
  readonly batchCheckpointFlushIntervalSeconds: number;
  /** Calls of an async function that are under way at a time. */
  readonly intraApplierConcurrency: number;
}
/** A task to compute; see {@link BackfillTask}. */
export interface RunBackfillTaskRequest extends Omit<BackfillTask, "id">, TableRequest, WithProgress {}
/** What a worker tells of a task that is done: the values lie in files of the table's directory, and survive a power cut. */
export interface BackfillTaskReport {
  /** The task. */
  readonly taskId: string;
  /** Rows that have a value. */
  readonly rows: number;
  /** Names of the files that hold the values, in the order of the rows. */
  readonly files: readonly string[];
}
/** An error that a task failed with: the name of its code, and the message. */
export interface BackfillTaskFailure {
  /** Name of the code, e.g. `"InvalidInput"`; any text that is not one counts as `"Internal"`. */
  readonly type: string;
  /** What went wrong. */
  readonly message: string;
}

/** What an executor is handed along with tasks. */
export interface ClusterRun {
  /** The job that the tasks belong to. */
  readonly jobId: string;
  /** Absolute path of the namespace's directory, on the machine that runs the job. */
  readonly root: string;
  /**
   * Absolute path of an empty directory in the table's, for files that executor and workers exchange. It is removed after the
   * run, and emptied when the job is resumed.
   */
  readonly directory: string;
  /** Tasks that may be under way at a time; undefined: as many as the cluster can run. */
  readonly concurrency: number | undefined;
  /** The environment that the request asks for, one of the executor's `manifests`; undefined: the default one. */
  readonly manifest: string | undefined;
  /**
   * Aborts when the results are not wanted any more: all tasks are done, one of them failed, or the job was cancelled. The
   * executor is to end its workers then; the job waits a few seconds for it.
   */
  readonly signal: AbortSignal;
  /** Tells how many rows of a task have a value. May be left out. */
  readonly onProgress: (taskId: string, rows: number) => void;
  /**
   * Tells that a task is done. The job reads the files before it commits them. Reports of tasks that are not in the run, or
   * were reported before, are ignored, and so are all after the run has ended.
   */
  readonly onDone: (report: BackfillTaskReport) => void;
  /**
   * Tells that a task failed. A `ConcurrentModification` has its fragment planned again on the latest version; any other
   * error fails the job. A task whose worker died is not reported.
   */
  readonly onFailed: (taskId: string, failure: BackfillTaskFailure) => void;
}

/**
 * Runs the tasks of backfills somewhere. Record, progress, checkpoints and commits of a job stay with the process that was
 * asked for it; an executor only has `runBackfillTask` called for each task, in processes that have the same directory:
 *
 *     const here: ClusterExecutor = {
 *       async run(tasks, { onDone, signal }) {
 *         for (const task of tasks) onDone(await worker.runBackfillTask({ ...task, signal }));
 *       },
 *     };
 */
export interface ClusterExecutor {
  /** Names of the environments that a request may ask for, as its `manifest`. Default: none. */
  readonly manifests?: readonly string[] | undefined;
  /**
   * Runs tasks, in any order, and resolves when it has nothing more to report. Tasks that it has not reported by then are
   * handed to it again; three runs in a row without a task done fail the job. An error that it rejects with fails the job at
   * once; what is done stays, and the job goes on with the rest where it is asked for again.
   */
  run(tasks: readonly BackfillTask[], run: ClusterRun): Promise<void>;
}
