/**
 * Files in the directory of a run, through which executor and runner communicate:
 *
 *   tasks.json        the tasks: written by the executor before the run
 *   <name>.reports    a line of JSON for each report: appended by one process of the cluster
 *
 * Both outlive every process. A line counts once its end is written.
 */

import type { Disk } from "../io/disk/disk.js";
import type { BackfillTask, ClusterRun } from "../namespace/clusters.js";
import { join } from "../platform/native.js";

/** Work of a runner. */
export interface RunOrder {
  /** Path of the namespace's directory, on the machines of the cluster. */
  readonly root: string;
  /** Command of a worker. */
  readonly worker: readonly string[];
  /** Tasks that run at a time; null: as many as the cluster can run. */
  readonly concurrency: number | null;
  /** Resources of a worker, as options of a Ray task: `num_cpus`, `num_gpus` and so on. */
  readonly resources: Readonly<Record<string, unknown>>;
  readonly tasks: readonly BackfillTask[];
}

const TASKS_NAME = "tasks.json";
const REPORTS = /\.reports$/;
/** Bytes of a file that are read at a time. */
const MAX_READ_BYTES = 1024 * 1024;

export async function writeOrder(disk: Disk, directory: string, order: RunOrder): Promise<void> {
  const file = await disk.create(join(directory, TASKS_NAME));
  try {
    await file.write([new TextEncoder().encode(JSON.stringify(order))]);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Reads the reports of a run as they come. */
export class Reports {
  readonly #disk: Disk;
  readonly #run: ClusterRun;
  /** By file: number of bytes read, and the start of an unfinished line. */
  readonly #read = new Map<string, { bytes: number; rest: Uint8Array }>();
  readonly #reported = new Set<string>();

  constructor(disk: Disk, run: ClusterRun) {
    this.#disk = disk;
    this.#run = run;
  }

  /** Number of tasks that are done or have failed. */
  get taskCount(): number {
    return this.#reported.size;
  }

  /** Reads new lines and passes on their reports. */
  async readOn(): Promise<void> {
    const { directory } = this.#run;
    for (const { name, kind } of (await this.#disk.list(directory)) ?? []) {
      if (kind === "file" && REPORTS.test(name)) await this.#readFile(name);
    }
  }

  async #readFile(name: string): Promise<void> {
    let state = this.#read.get(name);
    if (state === undefined) {
      state = { bytes: 0, rest: new Uint8Array(0) };
      this.#read.set(name, state);
    }
    const handle = await this.#disk.open(join(this.#run.directory, name));
    if (handle === null) return;
    try {
      while (state.bytes < handle.size) {
        const length = Math.min(MAX_READ_BYTES, handle.size - state.bytes);
        const bytes = await handle.read(state.bytes, length);
        state.bytes += length;
        const all = new Uint8Array(state.rest.length + length);
        all.set(state.rest);
        all.set(bytes, state.rest.length);
        const end = all.lastIndexOf(0x0a) + 1;
        state.rest = all.slice(end);
        for (const line of new TextDecoder().decode(all.subarray(0, end)).split("\n")) this.#tell(line);
      }
    } finally {
      await handle.close();
    }
  }

  #tell(line: string): void {
    const report = parsed(line);
    if (report === null) return;
    const { progress, done, failed } = report;
    if (progress !== undefined) this.#run.onProgress(progress.taskId, progress.rows);
    if (done !== undefined) {
      this.#reported.add(done.taskId);
      this.#run.onDone(done);
    }
    if (failed !== undefined) {
      this.#reported.add(failed.taskId);
      this.#run.onFailed(failed.taskId, failed);
    }
  }
}

/** One line: exactly one of these members. */
export interface ReportLine {
  readonly progress?: { readonly taskId: string; readonly rows: number };
  readonly done?: { readonly taskId: string; readonly rows: number; readonly files: readonly string[] };
  readonly failed?: { readonly taskId: string; readonly type: string; readonly message: string };
}

/** Parses a line; null if it is not a report, such as an unfinished line of a dead process. */
function parsed(line: string): ReportLine | null {
  let report: unknown;
  try {
    report = JSON.parse(line);
  } catch {
    return null;
  }
  const isReport =
    typeof report === "object" &&
    report !== null &&
    Object.values(report).every(
      (part) => typeof part === "object" && part !== null && typeof part.taskId === "string",
    );
  return isReport ? (report as ReportLine) : null;
}
