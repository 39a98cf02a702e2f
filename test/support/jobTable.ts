/** A table for jobs, the jobs of its namespace, and jobs in other processes (processes/jobRunner.mjs). */

import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Table } from "apache-arrow";
import { DirectoryNamespace, type Job } from "tiltyard";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import type { JobControl, JobSpec, JsonValue } from "../../src/jobs/job.js";
import { Jobs } from "../../src/jobs/jobs.js";
import type { TableAt } from "../../src/table/versions/tableAt.js";
import { int32s } from "./arrowColumns.js";
import { exitOf, nextMessage, startProcess } from "./childProcess.js";
import { makeTempDir } from "./tempDir.js";

const ROWS = new Table({ v: int32s([1, 2, 3]) });

export class JobTable {
  readonly root: string;
  readonly disk: Disk;
  readonly #processes: RunnerProcess[] = [];
  readonly #opened: Jobs[] = [];

  private constructor(root: string) {
    this.root = root;
    this.disk = new NodeDisk({ durability: "none" });
  }

  static async make(): Promise<JobTable> {
    const table = new JobTable(await makeTempDir());
    await table.createTable();
    return table;
  }

  get directory(): string {
    return join(this.root, "t.lance");
  }

  get log(): string {
    return join(this.root, "log.txt");
  }

  async createTable(mode: "create" | "overwrite" = "create"): Promise<void> {
    await this.withNamespace((ns) => ns.createTable({ id: ["t"], mode }, ROWS));
  }

  async dropTable(): Promise<void> {
    await this.withNamespace((ns) => ns.dropTable({ id: ["t"] }));
  }

  async withNamespace<T>(work: (ns: DirectoryNamespace) => Promise<T>): Promise<T> {
    await using ns = new DirectoryNamespace({ root: this.root, durability: "none" });
    return await work(ns);
  }

  /** Opens the jobs as one more process would. */
  open(staleMs?: number): Jobs {
    const jobs = new Jobs({ root: this.root, disk: this.disk, lock: { staleMs } });
    this.#opened.push(jobs);
    return jobs;
  }

  spec(key: string, run: (control: JobControl) => Promise<JsonValue | undefined>): JobSpec {
    const { disk, directory } = this;
    const table = { disk, root: directory, mainRoot: directory, branch: null } as TableAt;
    return { kind: "backfill", tableId: ["t"], table, key, parameters: null, unit: "rows", run };
  }

  async process(staleMs?: number): Promise<RunnerProcess> {
    const runner = new RunnerProcess(startProcess("jobRunner.mjs", []));
    this.#processes.push(runner);
    await runner.ask({ open: { root: this.root, log: this.log, staleMs } });
    return runner;
  }

  /** Steps that jobs in other processes have done: process and number. */
  async steps(): Promise<{ readonly pid: number; readonly step: number }[]> {
    const text = await readFile(this.log, "utf8").catch(() => "");
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split(" ").map(Number))
      .map(([pid, step]) => ({ pid, step }));
  }

  async close(): Promise<void> {
    for (const jobs of this.#opened.splice(0)) await jobs.close("cancel");
    for (const runner of this.#processes.splice(0)) await runner.kill();
  }
}

export class RunnerProcess {
  readonly #process: ChildProcess;

  constructor(process: ChildProcess) {
    this.#process = process;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  async ask(message: object): Promise<unknown> {
    const answer = nextMessage(this.#process);
    this.#process.send(message, () => undefined);
    const { ok, failure } = (await answer) as { ok?: unknown; failure?: object };
    if (failure !== undefined) throw Object.assign(new Error("the job's process reports a failure"), failure);
    return ok;
  }

  async start(
    table: JobTable,
    job: { readonly key: string; readonly steps: number; readonly stepMs: number },
  ): Promise<string> {
    const started = await this.ask({ start: { ...job, table: table.directory } });
    return (started as { jobId: string }).jobId;
  }

  wait(jobId: string, timeoutMs?: number): Promise<Job> {
    return this.ask({ wait: { jobId, timeoutMs } }) as Promise<Job>;
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await exitOf(this.#process);
  }
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}
