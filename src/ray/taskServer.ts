/**
 * Loop of a worker: it takes tasks from standard input and reports to standard output, line by line, until
 * the input ends.
 *
 *   in    {"root": …} first, then {"task": …} for each task, once the one before is reported
 *   out   `tiltyard:` and a report, see `ReportLine` of reports.ts; functions may print all other text
 *
 * If the input ends while a task runs, the process at its other end died: the worker aborts the task.
 */

import { performance } from "../async/timers.js";
import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import { AbortedError, InvalidInputError, messageOf, NamespaceError } from "../errors.js";
import type { BackfillTask } from "../namespace/clusters.js";
import { isObject } from "../optionMembers.js";
import type { ReportLine } from "./reports.js";

/** Input and output of a worker. */
export interface TaskServerOptions {
  /** Default: standard input. */
  readonly input?: AsyncIterable<Uint8Array | string> | undefined;
  /** Writes a line with its end. Default: to standard output. */
  readonly write?: ((line: string) => void) | undefined;
}

const PREFIX = "tiltyard:";
/** Milliseconds between two reports of progress. */
const PROGRESS_MS = 500;

/**
 * Computes the tasks that a runner hands to this process. A worker's script consists of this call and the
 * functions:
 *
 *     await serveBackfillTasks((root) => new DirectoryNamespace({ root, functions }));
 *
 * @param open opens the namespace of a directory; it is closed in the end
 */
export async function serveBackfillTasks(
  open: (root: string) => Pick<DirectoryNamespace, "runBackfillTask" | "close">,
  options: TaskServerOptions = {},
): Promise<void> {
  const { input = process.stdin, write = (line) => void process.stdout.write(line) } = options;
  const ended = new AbortController();
  const report = (line: ReportLine): void => write(`${PREFIX}${JSON.stringify(line)}\n`);
  let namespace: Pick<DirectoryNamespace, "runBackfillTask" | "close"> | null = null;
  let working: Promise<void> = Promise.resolve();
  try {
    for await (const line of linesOf(input)) {
      const { root, task } = orderIn(line);
      if (root !== undefined) {
        if (namespace !== null) throw new InvalidInputError("input: only the first line names a directory");
        namespace = open(root);
      }
      const worker = namespace;
      if (task === undefined) continue;
      if (worker === null)
        throw new InvalidInputError("input: the first line names the namespace's directory");
      working = working.then(() => compute(worker, task, ended.signal, report));
    }
  } finally {
    ended.abort(new AbortedError("the runner has ended"));
    await working;
    await namespace?.close();
  }
}

/** @throws InvalidInputError for a line that is not an order */
function orderIn(line: string): { readonly root?: string; readonly task?: BackfillTask } {
  let order: unknown;
  try {
    order = JSON.parse(line);
  } catch (cause) {
    throw new InvalidInputError("input: a line is not JSON", { cause });
  }
  const { root, task } = isObject(order)
    ? (order as { readonly root?: unknown; readonly task?: unknown })
    : {};
  const isRoot = root === undefined || typeof root === "string";
  if ((root === undefined && task === undefined) || !isRoot || (task !== undefined && !isObject(task))) {
    throw new InvalidInputError("input: a line has neither the path of a directory nor a task");
  }
  return { root, task } as { readonly root?: string; readonly task?: BackfillTask };
}

async function compute(
  namespace: Pick<DirectoryNamespace, "runBackfillTask">,
  task: BackfillTask,
  signal: AbortSignal,
  report: (line: ReportLine) => void,
): Promise<void> {
  const { taskId } = task;
  let toldMs = performance.now();
  try {
    const done = await namespace.runBackfillTask({
      ...task,
      signal,
      onProgress({ done: rows }) {
        if (performance.now() - toldMs < PROGRESS_MS) return;
        toldMs = performance.now();
        report({ progress: { taskId, rows } });
      },
    });
    report({ done });
  } catch (error) {
    // The runner has ended and reads no reports.
    if (signal.aborted) return;
    const type = error instanceof NamespaceError ? error.type : "Internal";
    report({ failed: { taskId, type, message: messageOf(error) } });
  }
}

async function* linesOf(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of input) {
    const lines = (
      rest + (typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true }))
    ).split("\n");
    rest = lines.pop() as string;
    yield* lines.filter((line) => line.trim() !== "");
  }
}
