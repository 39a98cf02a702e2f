/**
 * Has an executor run tasks of a backfill, once, and hands on what it reports. An executor is the host's
 * code, and its workers run elsewhere: reports come late, twice, or never, and of tasks that nobody knows.
 */

import { whenAborted } from "../../async/abort.js";
import { clearTimeout, letProcessEnd, setTimeout } from "../../async/timers.js";
import { messageOf, NamespaceError, ServiceUnavailableError } from "../../errors.js";
import type { BackfillTask, ClusterExecutor, ClusterRun } from "../../namespace/clusters.js";

/** Where tasks run. */
export interface BackfillCluster {
  readonly name: string;
  readonly executor: ClusterExecutor;
  readonly manifest: string | undefined;
  /** Tasks under way at a time; undefined: as many as the cluster can run. */
  readonly concurrency: number | undefined;
}

/** What became of a task. A task without an outcome was not done. */
export type TaskOutcome =
  | { readonly kind: "done"; readonly taskId: string }
  | { readonly kind: "failed"; readonly taskId: string; readonly type: string; readonly message: string };

export interface ClusterRunOptions extends Pick<ClusterRun, "jobId" | "root" | "directory" | "signal"> {
  readonly onProgress: (taskId: string, rows: number) => void;
}

/** Milliseconds for which an executor that has reported all tasks may end by itself. */
const END_MS = 2000;
/** Milliseconds for which an executor that was stopped is waited for. */
const STOP_MS = 3000;

/**
 * @returns the outcome of each task that the executor reports, once
 * @throws ServiceUnavailableError where the executor fails; the signal's reason
 */
export async function* runOnCluster(
  tasks: readonly BackfillTask[],
  { name, executor, manifest, concurrency }: BackfillCluster,
  { jobId, root, directory, signal, onProgress }: ClusterRunOptions,
): AsyncGenerator<TaskOutcome, void, undefined> {
  const unreported = new Map(tasks.map((task) => [task.taskId, task]));
  const outcomes: TaskOutcome[] = [];
  const stop = new AbortController();
  let ended: { readonly error?: unknown } | null = null;
  let isOver = false;
  let wake = (): void => undefined;
  const settle = (outcome: TaskOutcome): void => {
    if (isOver || !unreported.delete(outcome.taskId)) return;
    outcomes.push(outcome);
    wake();
  };
  const stopListening = whenAborted(signal, () => {
    stop.abort(signal.reason);
    wake();
  });
  const run: ClusterRun = {
    ...{ jobId, root, directory, concurrency, manifest },
    signal: stop.signal,
    onProgress: (taskId, rows) => {
      const task = isOver ? undefined : unreported.get(taskId);
      if (task !== undefined && rows > 0) onProgress(taskId, Math.min(Math.floor(rows), task.rows));
    },
    onDone: (report) => {
      // The files are read in any case. Another number of rows means that the worker saw another table.
      if (report === undefined || unreported.get(report.taskId)?.rows !== report.rows) return;
      settle({ kind: "done", taskId: report.taskId });
    },
    onFailed: (taskId, failure) => {
      const { type, message } = failure ?? {};
      settle({ kind: "failed", taskId, type: String(type), message: String(message) });
    },
  };
  const running = (async () => executor.run(tasks, run))().then(
    () => {
      ended = {};
      wake();
    },
    (error: unknown) => {
      ended = { error };
      wake();
    },
  );
  try {
    for (;;) {
      signal.throwIfAborted();
      const outcome = outcomes.shift();
      if (outcome !== undefined) {
        yield outcome;
      } else if (ended !== null) {
        // Assigned in a callback, which the compiler does not see.
        const { error } = ended as { readonly error?: unknown };
        if (error !== undefined && unreported.size > 0) throw failureOfCluster(name, error);
        return;
      } else if (unreported.size === 0) {
        await noLongerThan(END_MS, running);
        return;
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } finally {
    isOver = true;
    stopListening();
    stop.abort(new ServiceUnavailableError(`cluster ${name}: the results are not wanted any more`));
    await noLongerThan(STOP_MS, running);
  }
}

function failureOfCluster(name: string, error: unknown): NamespaceError {
  if (error instanceof NamespaceError) return error;
  return new ServiceUnavailableError(`cluster ${name}: ${messageOf(error)}`, { cause: error });
}

async function noLongerThan(ms: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
    letProcessEnd(timer);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
