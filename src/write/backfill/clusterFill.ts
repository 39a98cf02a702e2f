/** Computes the values of fragments on a cluster. It trusts the saved files, not the reports. */

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
import { isConflict, missingRows } from "./fragmentValues.js";
import type { ComputeFragments, OpenFragment, OpenFragments } from "./openFragments.js";
import { selectedOffsets } from "./resolvedBackfill.js";
import { digestOf } from "./storedFields.js";

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

/**
 * Makes the generator of filled fragments. It yields a fragment when files hold all its values and the values
 * were read. The cluster gets unfinished tasks again.
 *
 * It throws ServiceUnavailableError if the executor fails, or repeatedly finishes no task; and the error of a
 * failed task.
 */
export function clusterFill(
  run: BackfillRun,
  cluster: BackfillCluster,
  fragments: OpenFragments,
): ComputeFragments {
  return async function* compute(round, wanted) {
    const waiting: WaitingTasks = new Map();
    for (const fragment of wanted) {
      const planned = await orConflict(planGroup(run, fragments, round, fragment));
      if (planned === null || planned === "conflict") yield planned;
      else if (planned.tasks.length === 0) yield planned.group.opened;
      else addTasks(waiting, planned.group, planned.tasks);
    }
    for (let idleRuns = 0; waiting.size > 0; ) {
      if (idleRuns === MAX_IDLE_RUNS) {
        throw new ServiceUnavailableError(
          `cluster ${cluster.name}: ${waiting.size} tasks have no values in the table's directory after ${MAX_IDLE_RUNS} runs; its workers may have died, or have another directory`,
        );
      }
      let done = 0;
      for await (const ended of endedTasks(run, cluster, fragments, waiting)) {
        const { group } = ended;
        if (ended.done < ended.task.rows) {
          for (const taskId of group.taskIds) waiting.delete(taskId);
          await fragments.undo(group.opened);
          yield "conflict";
          continue;
        }
        done++;
        if (group.taskIds.size > 0) continue;
        const missing = await orConflict(missingTasks(run, fragments, round, group));
        if (missing === "conflict" || missing.length === 0) {
          yield missing === "conflict" ? missing : group.opened;
          continue;
        }
        addTasks(waiting, group, missing);
        done -= missing.length;
      }
      idleRuns = done > 0 ? 0 : idleRuns + 1;
    }
  };
}

/** Runs the cluster once, and yields ended tasks; those of rewritten fragments have remaining rows. */
async function* endedTasks(
  { target, control, settings, signal }: BackfillRun,
  cluster: BackfillCluster,
  fragments: OpenFragments,
  waiting: WaitingTasks,
): AsyncGenerator<WaitingTask> {
  const { disk, root } = target.table;
  const { jobId } = control;
  // A cleanup recognises the directory by its name; an earlier run may have left one.
  const directory = join(checkpointsDirectory(root), `${TEMPORARY_PREFIX}${jobId}`);
  await control.hold();
  await disk.removeTree(directory);
  await disk.makeDirectory(directory, root);
  const tasks = [...waiting.values()].map(({ task }) => task);
  const advance = (task: WaitingTask, rows: number): void => {
    if (rows <= task.done) return;
    fragments.addRows(task.group.opened, rows - task.done);
    task.done = rows;
  };
  const options = {
    ...{ jobId, root: settings.root, directory, signal },
    onProgress: (taskId: string, rows: number) => {
      const task = waiting.get(taskId);
      if (task !== undefined) advance(task, rows);
    },
  };
  try {
    for await (const outcome of runOnCluster(tasks, cluster, options)) {
      const ended = waiting.get(outcome.taskId);
      if (ended === undefined) continue;
      waiting.delete(outcome.taskId);
      ended.group.taskIds.delete(outcome.taskId);
      if (outcome.kind === "done") advance(ended, ended.task.rows);
      else if (outcome.type === "ConcurrentModification") ended.done = 0;
      else throw errorOfTask(outcome);
      yield ended;
    }
  } finally {
    // A directory that can't be removed is an orphan, which a cleanup removes.
    await disk.removeTree(directory).catch(() => undefined);
  }
}

async function planGroup(
  run: BackfillRun,
  fragments: OpenFragments,
  round: BackfillRound,
  fragment: DataFragment,
): Promise<{ readonly group: TaskGroup; readonly tasks: readonly BackfillTask[] } | null> {
  const begun = await fragments.begin(round, fragment);
  if (begun === null) return null;
  const group = { fragment, opened: begun.opened, taskIds: new Set<string>() };
  return { group, tasks: await missingTasks(run, fragments, round, group) };
}

/** Counts the saved values of a fragment, and returns tasks for the other rows. */
async function missingTasks(
  run: BackfillRun,
  fragments: OpenFragments,
  round: BackfillRound,
  { fragment, opened }: TaskGroup,
): Promise<BackfillTask[]> {
  const { settings, signal, onFailure } = run;
  const { base, resolved, checkpoints, maxUnsavedBytes } = round;
  const { taskRows, flushMs } = settings;
  const { content } = opened;
  const values = new ComputedValues(content, opened.rows, {
    ...{ checkpoints, flushMs, maxUnsavedBytes, onFailure },
  });
  const reading = conflictIfRemoved(base, async () => {
    const wanted = await selectedOffsets(base, resolved, fragment, signal);
    const options = { content, checkpoints, taskRows, onRows: () => undefined };
    return missingRows(fragment, wanted, values, options);
  });
  const missing = await fragments.orUndo(opened, reading);
  const missingCount = missing.reduce((sum, rows) => sum + rows.length, 0);
  fragments.addRows(opened, opened.rows - missingCount - opened.done, true);
  if (missing.length === 0) opened.values = values;
  else values.release();
  return Promise.all(missing.map((rows) => taskOf(run, round, opened, rows)));
}

async function taskOf(
  { target, request, settings, control, key }: BackfillRun,
  { base, resolved }: BackfillRound,
  opened: OpenFragment,
  rows: Uint32Array,
): Promise<BackfillTask> {
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
