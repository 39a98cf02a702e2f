/**
 * Has a cluster compute the values of fragments: plans tasks for rows without saved values, has the executor
 * run them, and reads the values from files of the table's directory. It trusts the files, not the reports.
 */

import { InternalError, ServiceUnavailableError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import type { BackfillTask } from "../../namespace/clusters.js";
import { join } from "../../platform/native.js";
import { checkpointsDirectory } from "../../table/versions/paths.js";
import { errorOfFailure, isErrorType } from "../../typedErrors.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import type { BackfillRound, BackfillRun } from "./backfillWork.js";
import { type BackfillCluster, runOnCluster } from "./clusterRun.js";
import { ComputedValues } from "./computedValues.js";
import { digestOf } from "./digestOf.js";
import { isConflict, missingRows } from "./fragmentValues.js";
import type { OpenFragment, OpenFragments } from "./openFragments.js";
import { selectedOffsets } from "./selectedOffsets.js";

/** A fragment, and the ids of its unfinished tasks. */
interface TaskGroup {
  readonly fragment: DataFragment;
  readonly opened: OpenFragment;
  readonly taskIds: Set<string>;
}

/** A task that is not done. */
interface WaitingTask {
  readonly task: BackfillTask;
  readonly group: TaskGroup;
  /** Rows of the task that count as done. */
  done: number;
}

/** Unfinished tasks by id. */
type WaitingTasks = Map<string, WaitingTask>;

/** Consecutive runs of a cluster without a finished task. */
const MAX_IDLE_RUNS = 3;

export class ClusterFill {
  readonly #run: BackfillRun;
  readonly #cluster: BackfillCluster;
  readonly #fragments: OpenFragments;

  constructor(run: BackfillRun, cluster: BackfillCluster, fragments: OpenFragments) {
    this.#run = run;
    this.#cluster = cluster;
    this.#fragments = fragments;
  }

  /**
   * Yields each fragment when files hold all its values and the values were read; "conflict" if the fragment
   * needs the next round. The cluster gets unfinished tasks again.
   * @throws ServiceUnavailableError if the executor fails, or repeatedly finishes no task; the error of a
   *   failed task
   */
  async *compute(
    round: BackfillRound,
    fragments: readonly DataFragment[],
  ): AsyncGenerator<OpenFragment | "conflict", void, undefined> {
    const waiting: WaitingTasks = new Map();
    for (const fragment of fragments) {
      const planned = await orConflict(this.#plan(round, fragment));
      if (planned === null) continue;
      if (planned === "conflict") yield planned;
      else if (planned.tasks.length === 0) yield planned.group.opened;
      else addTasks(waiting, planned.group, planned.tasks);
    }
    for (let idleRuns = 0; waiting.size > 0; ) {
      if (idleRuns === MAX_IDLE_RUNS) throw this.#idleError(waiting.size);
      let done = 0;
      for await (const ended of this.#endedTasks(waiting)) {
        const { group } = ended;
        if (ended.done < ended.task.rows) {
          for (const taskId of group.taskIds) waiting.delete(taskId);
          await this.#fragments.undo(group.opened);
          yield "conflict";
          continue;
        }
        done++;
        if (group.taskIds.size > 0) continue;
        const missing = await orConflict(this.#missingTasks(round, group));
        if (missing === "conflict" || missing.length === 0) {
          yield missing === "conflict" ? missing : group.opened;
          continue;
        }
        addTasks(waiting, group, missing);
        done -= missing.length;
      }
      idleRuns = done > 0 ? 0 : idleRuns + 1;
    }
  }

  #idleError(tasks: number): ServiceUnavailableError {
    return new ServiceUnavailableError(
      `cluster ${this.#cluster.name}: ${tasks} tasks have no values in the table's directory after ${MAX_IDLE_RUNS} runs; its workers may have died, or have another directory`,
    );
  }

  /**
   * Runs the cluster once, and yields each task that has ended. A task with remaining rows belongs to a
   * rewritten fragment.
   */
  async *#endedTasks(waiting: WaitingTasks): AsyncGenerator<WaitingTask, void, undefined> {
    const { target, control, settings, signal } = this.#run;
    const { disk, root } = target.table;
    const { jobId } = control;
    // A cleanup recognises the directory by its name; an earlier run may have left one.
    const directory = join(checkpointsDirectory(root), `${TEMPORARY_PREFIX}${jobId}`);
    await control.hold();
    await disk.removeTree(directory);
    await disk.makeDirectory(directory, root);
    const tasks = [...waiting.values()].map(({ task }) => task);
    const options = {
      ...{ jobId, root: settings.root, directory, signal },
      onProgress: (taskId: string, rows: number) => {
        const task = waiting.get(taskId);
        if (task !== undefined) this.#advance(task, rows);
      },
    };
    try {
      for await (const outcome of runOnCluster(tasks, this.#cluster, options)) {
        const ended = waiting.get(outcome.taskId);
        if (ended === undefined) continue;
        waiting.delete(outcome.taskId);
        ended.group.taskIds.delete(outcome.taskId);
        if (outcome.kind === "done") this.#advance(ended, ended.task.rows);
        else if (outcome.type === "ConcurrentModification") ended.done = 0;
        else throw errorOfTask(outcome);
        yield ended;
      }
    } finally {
      // A directory that can't be removed is an orphan, which a cleanup removes.
      await disk.removeTree(directory).catch(() => undefined);
    }
  }

  #advance(task: WaitingTask, rows: number): void {
    if (rows <= task.done) return;
    this.#fragments.addRows(task.group.opened, rows - task.done);
    task.done = rows;
  }

  async #plan(
    round: BackfillRound,
    fragment: DataFragment,
  ): Promise<{ readonly group: TaskGroup; readonly tasks: readonly BackfillTask[] } | null> {
    const begun = await this.#fragments.begin(round, fragment);
    if (begun === null) return null;
    const group = { fragment, opened: begun.opened, taskIds: new Set<string>() };
    return { group, tasks: await this.#missingTasks(round, group) };
  }

  /** Returns tasks for the rows without saved values; none if the fragment is ready to commit. */
  async #missingTasks(round: BackfillRound, { fragment, opened }: TaskGroup): Promise<BackfillTask[]> {
    const missing = await this.#fragments.orUndo(opened, this.#collect(round, fragment, opened));
    return Promise.all(missing.map((rows) => this.#taskOf(round, opened, rows)));
  }

  /**
   * Reads the saved values of a fragment, and counts their rows.
   * @returns offsets of the rows without one, by tasks
   */
  async #collect(round: BackfillRound, fragment: DataFragment, opened: OpenFragment): Promise<Uint32Array[]> {
    const { settings, signal, onFailure } = this.#run;
    const { base, resolved, checkpoints, maxUnsavedBytes } = round;
    const { taskRows, flushMs } = settings;
    const values = new ComputedValues(opened.content, opened.rows, {
      ...{ checkpoints, flushMs, maxUnsavedBytes, onFailure },
    });
    const missing = await conflictIfRemoved(base, async () => {
      const wanted = (await selectedOffsets(base, resolved, fragment, signal)) ?? new Uint32Array(0);
      const options = { content: opened.content, checkpoints, taskRows, onRows: () => undefined };
      return missingRows(fragment, wanted, values, options);
    });
    const missingCount = missing.reduce((sum, rows) => sum + rows.length, 0);
    this.#fragments.addRows(opened, opened.rows - missingCount - opened.done);
    if (missing.length === 0) opened.values = values;
    else values.release();
    return missing;
  }

  async #taskOf(
    { base, resolved }: BackfillRound,
    opened: OpenFragment,
    rows: Uint32Array,
  ): Promise<BackfillTask> {
    const { target, request, settings, control, key } = this.#run;
    const { table, batch, callsAtOnce, flushMs } = settings;
    const { column, where } = request;
    const { branch } = target.table;
    const [firstRow, lastRow] = [rows[0], rows[rows.length - 1]];
    return {
      taskId: `${opened.id}-${firstRow}-${lastRow}`,
      jobId: control.jobId,
      id: table,
      ...(branch !== null && { branch }),
      column,
      ...(where !== null && { where }),
      version: base.version,
      fragmentId: opened.id,
      ...{ firstRow, lastRow, rows: rows.length },
      meaning: await digestOf(resolved.meaning),
      content: opened.content,
      key,
      checkpointSize: batch.most,
      minCheckpointSize: batch.least,
      batchCheckpointFlushIntervalSeconds: flushMs / 1000,
      intraApplierConcurrency: callsAtOnce,
    };
  }
}

function addTasks(waiting: WaitingTasks, group: TaskGroup, tasks: readonly BackfillTask[]): void {
  for (const task of tasks) {
    waiting.set(task.taskId, { task, group, done: 0 });
    group.taskIds.add(task.taskId);
  }
}

/** Returns the result of work on a fragment, or "conflict" if it needs the next round. */
async function orConflict<Result>(work: Promise<Result>): Promise<Result | "conflict"> {
  try {
    return await work;
  } catch (error) {
    if (isConflict(error)) return "conflict";
    throw error;
  }
}

/** Returns the error of a failed task, as a local call of the function would throw it. */
const errorOfTask = ({ type, message }: { readonly type: string; readonly message: string }): Error =>
  isErrorType(type) ? errorOfFailure({ type, message }) : new InternalError(message);
