/**
 * Runs tasks of a backfill once on an executor, and passes on its reports. An executor is the host's code,
 * and its workers run on other machines: reports may be late, repeated, missing, malformed, or about unknown
 * tasks.
 */

import { whenAborted } from "../../async/abort.js";
import { clearTimeout, letProcessEnd, setTimeout } from "../../async/timers.js";
import { messageOf, NamespaceError, ServiceUnavailableError } from "../../errors.js";
import type { BackfillTask, ClusterExecutor, ClusterRun } from "../../namespace/clusters.js";

/** The cluster that runs tasks. */
export interface BackfillCluster {
  readonly name: string;
  readonly executor: ClusterExecutor;
  readonly manifest: string | undefined;
  /** Tasks that run at a time; undefined: as many as the cluster can run. */
  readonly concurrency: number | undefined;
}

/** Outcome of a task; an unfinished task has none. */
export type TaskOutcome =
  | { readonly kind: "done"; readonly taskId: string }
  | { readonly kind: "failed"; readonly taskId: string; readonly type: string; readonly message: string };

export interface ClusterRunOptions extends Pick<ClusterRun, "jobId" | "root" | "directory" | "signal"> {
  readonly onProgress: (taskId: string, rows: number) => void;
}

/** Milliseconds in which an executor that has reported all tasks may return. */
const END_MS = 2000;
/** Milliseconds to wait for an executor that was stopped. */
const STOP_MS = 3000;

/** Outcome of the executor's run. */
type RunOutcome = { readonly kind: "returned" } | { readonly kind: "threw"; readonly error: unknown };

/**
 * @returns the outcome of each reported task, once
 * @throws ServiceUnavailableError if the executor fails; the signal's reason
 */
export async function* runOnCluster(
  tasks: readonly BackfillTask[],
  { name, executor, manifest, concurrency }: BackfillCluster,
  { jobId, root, directory, signal, onProgress }: ClusterRunOptions,
): AsyncGenerator<TaskOutcome> {
  const unreported = new Map(tasks.map((task) => [task.taskId, task]));
  const outcomes: TaskOutcome[] = [];
  const stop = new AbortController();
  let ended: RunOutcome | null = null;
  let isOver = false;
  let wake = (): void => undefined;
  const conclude = (outcome: TaskOutcome): void => {
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
      if (task !== undefined && typeof rows === "number" && rows > 0)
        onProgress(taskId, Math.min(Math.floor(rows), task.rows));
    },
    onDone: (report) => {
      const { taskId, rows } = (report ?? {}) as Partial<typeof report>;
      const task = taskId === undefined ? undefined : unreported.get(taskId);
      // The files are read in any case. Another number of rows means that the worker saw another table.
      if (task !== undefined && task.rows === rows) conclude({ kind: "done", taskId: task.taskId });
    },
    onFailed: (taskId, failure) => {
      const { type, message } = (failure ?? {}) as { readonly type?: unknown; readonly message?: unknown };
      conclude({
        ...{ kind: "failed", taskId, type: typeof type === "string" ? type : "Internal" },
        message: typeof message === "string" ? message : `cluster ${name}: a task failed without a message`,
      });
    },
  };
  // Pass copies: reports are compared with the planned tasks, which the executor must not change.
  const handedOut = tasks.map((task) => ({ ...task, id: [...task.id] }));
  const running = (async () => executor.run(handedOut, run))().then(
    () => {
      ended = { kind: "returned" };
      wake();
    },
    (error: unknown) => {
      ended = { kind: "threw", error };
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
        // A callback assigns it, which the compiler can't see.
        const outcomeOfRun = ended as RunOutcome;
        if (outcomeOfRun.kind === "threw" && unreported.size > 0) {
          throw failureOfCluster(name, outcomeOfRun.error);
        }
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
    stop.abort(new ServiceUnavailableError(`cluster ${name}: the job no longer needs the results`));
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
