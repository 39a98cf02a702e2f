/** Backfills on a cluster: an executor in this process, whose workers have namespaces of their own. */

import { copyFile, open as openFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Int64, Table } from "apache-arrow";
import {
  type BackfillTask,
  type ClusterExecutor,
  type ClusterRun,
  ConcurrentModificationError,
  type DirectoryNamespace,
  type DirectoryNamespaceOptions,
  InternalError,
  InvalidInputError,
  type Job,
  ServiceUnavailableError,
  TransactionNotFoundError,
  type UserFunction,
} from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { beforeEach, describe, expect, it } from "vitest";
import { int32s } from "../../support/arrowColumns.js";
import { withResolvers } from "../../support/deferred.js";
import { createParts, freshStage } from "../../support/stage.js";

const ID = { id: ["t"] };
const FRAGMENT_ROWS = 10;
const stage = freshStage();
/** Rows that the function computed, in all processes. */
let computed: number[];
beforeEach(() => {
  computed = [];
});

/** @param meanwhile called with the numbers before they are doubled */
const double = (meanwhile: (numbers: number[], signal: AbortSignal) => unknown = () => undefined) =>
  ({
    ...{ version: "1", inputs: ["n"], output: new Int64(), retries: 0 },
    async batch({ n }, { signal }) {
      const numbers = [...n] as number[];
      await meanwhile(numbers, signal);
      computed.push(...numbers);
      return numbers.map((each) => BigInt(each) * 2n);
    },
  }) satisfies UserFunction;

function open(
  cluster?: ClusterExecutor,
  fn: UserFunction = double(),
  more: Partial<DirectoryNamespaceOptions> = {},
): DirectoryNamespace {
  const clusters = cluster && { here: cluster };
  const ns = stage.open({ ...{ workers: 0, functions: { double: fn }, clusters }, ...more });
  return ns;
}

async function makeTable(fragments = 4, fragmentRows = FRAGMENT_ROWS): Promise<void> {
  const ns = open();
  const parts = upTo(fragments).map(
    (part) => new Table({ n: int32s(fragmentRows, (row) => part * fragmentRows + row) }),
  );
  await createParts(ns, ID.id, parts);
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", virtualColumn: { udfName: "double" } }] });
  await ns.close();
}

const request = (change: object = {}) => ({
  ...{ ...ID, column: "d", cluster: "here", checkpointSize: 5, commitGranularity: 2 },
  ...{ batchCheckpointFlushIntervalSeconds: 0, ...change },
});

async function fill(ns: DirectoryNamespace, change: object = {}): Promise<Job> {
  return ns.waitForJob(await ns.alterTableBackfillColumns(request(change)));
}

/** Runs tasks one after the other, as the options tell. */
const executor = (
  run: (task: BackfillTask, worker: DirectoryNamespace, run: ClusterRun, runs: number) => unknown,
  worker = open(),
): ClusterExecutor & { readonly runs: BackfillTask[][] } => {
  const runs: BackfillTask[][] = [];
  return {
    runs,
    async run(tasks, control) {
      runs.push([...tasks]);
      for (const task of tasks) await run(task, worker, control, runs.length);
    },
  };
};

const honest = async (task: BackfillTask, worker: DirectoryNamespace, run: ClusterRun): Promise<void> =>
  run.onDone(await worker.runBackfillTask({ ...task, signal: run.signal }));

/** Checks with the reference that every number has its double. */
async function expectAllDoubled(rows: number): Promise<void> {
  const table = await stage.rowsThere();
  const numbers = Array.from({ length: rows }, (_, n) => n);
  expect([...(table.getChild("n") ?? [])]).toEqual(numbers);
  expect([...(table.getChild("d") ?? [])]).toEqual(numbers.map((n) => BigInt(n) * 2n));
}

const sorted = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

const orphans = async (): Promise<string[]> => stage.checkpoints();

describe("a backfill with a cluster", () => {
  it("has the cluster compute every fragment once, and commits the requested number together", async () => {
    await makeTable(5);
    const cluster = executor(honest);
    const ns = open(
      cluster,
      double(() => expect.unreachable("the function is called in the job's process")),
    );
    const before = (await ns.describeTable(ID)).version as number;
    const job = await fill(ns);
    expect(job).toMatchObject({
      ...{ state: "Succeeded", done: 50, total: 50, unit: "rows" },
      result: { rows: 50, fragments: 5, version: before + 3 },
    });
    expect(cluster.runs.map((tasks) => tasks.map(({ fragmentId, rows }) => [fragmentId, rows]))).toEqual([
      upTo(5).map((fragment) => [fragment, FRAGMENT_ROWS]),
    ]);
    expect(JSON.parse(JSON.stringify(cluster.runs))).toEqual(cluster.runs);
    expect(computed).toEqual(upTo(50));
    await expectAllDoubled(50);
    expect(await orphans()).toEqual([]);
  });

  it("cuts fragments into tasks, and selects rows by where", async () => {
    await makeTable(2);
    const cluster = executor(honest);
    await fill(open(cluster), { taskSize: 3, where: "n >= 5" });
    expect(cluster.runs[0].map(({ firstRow, lastRow, rows }) => [firstRow, lastRow, rows])).toEqual([
      ...[
        [5, 7, 3],
        [8, 9, 2],
      ],
      ...[
        [0, 2, 3],
        [3, 5, 3],
        [6, 8, 3],
        [9, 9, 1],
      ],
    ]);
    expect(computed).toEqual(upTo(20).slice(5));
    await fill(open(cluster));
    await expectAllDoubled(20);
  });

  it("computes SQL on the cluster, and a column of a branch", async () => {
    await makeTable(2);
    const ns = open(executor(honest));
    await ns.createTableBranch({ ...ID, name: "side" });
    await ns.alterTableAddColumns({ ...ID, branch: "side", newColumns: [{ name: "s", computed: "n + 1" }] });
    await fill(ns, { column: "s", branch: "side" });
    await fill(ns, { branch: "side" });
    const rows = await ns
      .table("t", { branch: "side" })
      .scan({ columns: ["d", "s"] })
      .toArray();
    expect(rows).toEqual(upTo(20).map((n) => ({ d: BigInt(n) * 2n, s: n + 1 })));
  });

  it("tells the executor job, directory, concurrency and manifest, and its caller the progress", async () => {
    await makeTable(2);
    const told: unknown[] = [];
    const cluster = {
      manifests: ["small", "large"],
      ...executor(async (task, worker, run) => {
        const { jobId, directory, concurrency, manifest } = run;
        expect(await readdir(directory)).toEqual([]);
        expect(jobId).toBe(task.jobId);
        expect((await worker.describeJob({ jobId })).state).toBe("Running");
        told.push([run.root, concurrency, manifest]);
        run.onProgress(task.taskId, 4);
        await honest(task, worker, run);
      }),
    };
    const done: number[] = [];
    const ns = open(cluster);
    const job = await ns.alterTableBackfillColumns(
      request({
        manifest: "large",
        concurrency: 7,
        onProgress: (progress: Job) => void done.push(progress.done),
      }),
    );
    await ns.waitForJob(job);
    expect(told).toEqual([
      [stage.root, 7, "large"],
      [stage.root, 7, "large"],
    ]);
    expect(done).toEqual(expect.arrayContaining([4, 10, 14, 20]));
    expect(done).toEqual(sorted(done));
  });

  it("is refused for a cluster or an environment that is not registered, in process and over HTTP", async () => {
    await makeTable(1);
    const cluster = { manifests: ["small"], ...executor(honest) };
    const ns = open(cluster);
    const refused = async (change: object, message: RegExp, of = ns): Promise<void> => {
      const call = of.alterTableBackfillColumns(request(change));
      await expect(call).rejects.toThrow(InvalidInputError);
      await expect(call).rejects.toThrow(message);
    };
    await refused({ cluster: "ray" }, /cluster: there is no cluster ray; here is registered/);
    await refused({ cluster: "toString" }, /no cluster toString/);
    await refused({}, /no cluster here; none is registered/, open());
    await refused(
      { manifest: "huge" },
      /manifest: cluster here has no environment huge; small is registered/,
    );
    const handler = createRestHandler(ns, { auth: { anonymous: true } });
    const response = await handler(
      new Request("http://localhost/v1/table/t/backfill_column", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ column: "d", cluster: "ray" }),
      }),
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: 13,
      detail: expect.stringMatching(/no cluster ray/),
    });
    expect((await ns.listJobs()).jobs).toEqual([]);
  });

  it("is refused without a valid executor", () => {
    for (const clusters of [
      5,
      [],
      { a: null },
      { a: {} },
      { a: { run: 5 } },
      { a: { run() {}, manifests: [1] } },
    ]) {
      expect(() => open(undefined, double(), { clusters: clusters as never })).toThrow(InvalidInputError);
    }
  });
});

describe("an executor", () => {
  it("may crash in a task: it gets the task again, and saved values are not computed again", async () => {
    await makeTable(3);
    let isCrashed = false;
    const crashing = open(
      undefined,
      double((numbers) => {
        if (numbers.includes(15) && !isCrashed) throw new Error("the worker dies here");
      }),
    );
    const cluster = executor(async (task, worker, run) => {
      try {
        await honest(task, worker, run);
      } catch {
        isCrashed = true;
      }
    }, crashing);
    expect(await fill(open(cluster))).toMatchObject({ state: "Succeeded", done: 30, total: 30 });
    expect(cluster.runs.map((tasks) => tasks.map(({ fragmentId }) => fragmentId))).toEqual([[0, 1, 2], [1]]);
    expect(sorted(computed)).toEqual(upTo(30));
    await expectAllDoubled(30);
  });

  it("may report twice, late, and about unknown tasks: nothing is committed twice", async () => {
    await makeTable(4);
    const reports: (() => void)[] = [];
    const cluster = executor(async (task, worker, run, runs) => {
      const report = await worker.runBackfillTask(task);
      run.onDone({ ...report, taskId: "another" });
      run.onProgress("another", 5);
      run.onFailed("another", { type: "Internal", message: "of nobody" });
      reports.push(() => run.onDone(report));
      if (runs === 1 && task.fragmentId === 1) return;
      run.onDone(report);
      run.onDone(report);
      run.onFailed(task.taskId, { type: "Internal", message: "after it was done" });
      run.onProgress(task.taskId, 3);
    });
    const ns = open(cluster);
    const before = (await ns.describeTable(ID)).version as number;
    const job = await fill(ns);
    for (const report of reports) report();
    // The fragment without a report is complete on the disk, and committed once.
    expect(job).toMatchObject({
      state: "Succeeded",
      done: 40,
      result: { fragments: 4, version: before + 2 },
    });
    expect(computed).toEqual(upTo(40));
    await expectAllDoubled(40);
    expect((await ns.describeTable(ID)).version).toBe(before + 2);
  });

  it("may run a task on two workers at once", async () => {
    await makeTable(2);
    const others = [open(), open()];
    const cluster = executor(async (task, _, run) => {
      const reports = await Promise.all(others.map((worker) => worker.runBackfillTask(task)));
      for (const report of reports) run.onDone(report);
    });
    expect(await fill(open(cluster))).toMatchObject({ done: 20, result: { rows: 20, fragments: 2 } });
    await expectAllDoubled(20);
    expect(await orphans()).toEqual([]);
  });

  it.each([
    ["of another number of rows", (report: object) => ({ ...report, rows: 3 })],
    ["of a text as number of rows", (report: object) => ({ ...report, rows: "10" })],
    ["of no task", (report: object) => ({ ...report, taskId: undefined, rows: undefined })],
    ["of nothing", () => undefined],
    ["of null", () => null],
    ["of a text", () => "done"],
  ])("has a report %s ignored, and the task run again", async (_, distort) => {
    await makeTable(2);
    const cluster = executor(async (task, worker, run, runs) => {
      const report = await worker.runBackfillTask(task);
      run.onDone((runs === 1 ? distort(report) : report) as never);
    });
    expect(await fill(open(cluster))).toMatchObject({ state: "Succeeded", done: 20 });
    expect(cluster.runs.length).toBe(2);
    expect(computed).toEqual(upTo(20));
    await expectAllDoubled(20);
  });

  it("may report malformed progress, which is ignored", async () => {
    await makeTable(1);
    const done: number[] = [];
    const cluster = executor(async (task, worker, run) => {
      for (const rows of [Number.NaN, -5, "7", 10n, null, {}, Symbol("x")]) {
        run.onProgress(task.taskId, rows as number);
      }
      run.onProgress(undefined as never, 5);
      expect(done.filter((rows) => rows > 0)).toEqual([]);
      run.onProgress(task.taskId, Number.POSITIVE_INFINITY);
      await honest(task, worker, run);
    });
    await fill(open(cluster), { onProgress: (progress: Job) => void done.push(progress.done) });
    expect(Math.max(...done)).toBe(10);
    await expectAllDoubled(10);
  });

  it("may change its tasks: reports are compared with the planned ones", async () => {
    await makeTable(2);
    const cluster: ClusterExecutor = {
      async run(tasks, run) {
        for (const task of tasks) {
          await honest(task, worker, run);
          Object.assign(task, { taskId: "another", rows: 0, fragmentId: 7 });
          (task.id as string[]).push("x");
        }
        (tasks as BackfillTask[]).length = 0;
      },
    };
    const worker = open();
    expect(await fill(open(cluster))).toMatchObject({ state: "Succeeded", done: 20, total: 20 });
    expect(computed).toEqual(upTo(20));
    await expectAllDoubled(20);
  });

  it("fails the job at once by rejecting with any value", async () => {
    await makeTable(1);
    for (const reason of [undefined, null, "gone", { a: 1 }]) {
      let runs = 0;
      const cluster: ClusterExecutor = {
        run() {
          runs++;
          return Promise.reject(reason);
        },
      };
      await expect(fill(open(cluster)), String(reason)).rejects.toThrow(ServiceUnavailableError);
      expect(runs, String(reason)).toBe(1);
    }
  });

  it("fails the job by a failed task without a type or a message", async () => {
    await makeTable(1);
    for (const failure of [undefined, null, {}, { type: Symbol("x"), message: Object.create(null) }]) {
      const cluster = executor((task, _, run) => run.onFailed(task.taskId, failure as never));
      const failing = fill(open(cluster));
      await expect(failing).rejects.toThrow(InternalError);
      await expect(failing).rejects.toThrow("cluster here: a task failed without a message");
    }
  });

  it("gets no credit for files of values that lack rows, or hold others", async () => {
    await makeTable(2);
    const directory = join(stage.root, "t.lance", "_tiltyard", "checkpoints");
    const cluster = executor(async (task, worker, run, runs) => {
      const report = await worker.runBackfillTask(task);
      if (runs === 1 && task.fragmentId === 1) {
        const [source] = report.files;
        const otherFile = (await readdir(directory)).find(
          (name) => !report.files.includes(name) && name.endsWith("-0-4.lance"),
        );
        // A file of five values named like one of ten, and a file of another fragment named like one of this.
        const ten = source.replace("-0-4.lance", "-0-9.lance");
        await copyFile(join(directory, source), join(directory, ten));
        await copyFile(join(directory, otherFile as string), join(directory, report.files[1]));
        await rm(join(directory, source));
      }
      run.onDone(report);
    });
    await fill(open(cluster));
    expect(cluster.runs.map((tasks) => tasks.map(({ firstRow, lastRow }) => [firstRow, lastRow]))).toEqual([
      [
        [0, 9],
        [0, 9],
      ],
      [[0, 9]],
    ]);
    await expectAllDoubled(20);
    expect(await orphans()).toEqual([]);
  });

  it("fails the job by reporting tasks without values in the table's directory", async () => {
    await makeTable(2);
    const cluster = executor((task, _, run) =>
      run.onDone({ taskId: task.taskId, rows: task.rows, files: ["nowhere.lance"] }),
    );
    const ns = open(cluster);
    await expect(fill(ns)).rejects.toThrow(
      /cluster here: 2 tasks have no values in the table's directory after 3 runs/,
    );
    expect(cluster.runs.length).toBe(3);
    const [job] = (await ns.listJobs()).jobs;
    expect(job).toMatchObject({ state: "Failed", done: 0, error: { type: "ServiceUnavailable" } });
  });

  it("computes damaged files again", async () => {
    await makeTable(1);
    const cluster = executor(async (task, worker, run, runs) => {
      const report = await worker.runBackfillTask(task);
      if (runs === 1) {
        const path = join(stage.root, "t.lance", "_tiltyard", "checkpoints", report.files[0]);
        const file = await openFile(path, "r+");
        await file.truncate(20);
        await file.close();
      }
      run.onDone(report);
    });
    await fill(open(cluster));
    expect(cluster.runs.map(([task]) => task.rows)).toEqual([10, 5]);
    await expectAllDoubled(10);
  });

  it("fails the job with the error of a function, or with its own", async () => {
    await makeTable(2);
    const failing = open(
      undefined,
      double(() => Promise.reject(new Error("the API is gone"))),
    );
    const telling = executor(async (task, worker, run) => {
      await worker.runBackfillTask(task).catch((error) => {
        run.onFailed(task.taskId, { type: error.type, message: error.message });
      });
    }, failing);
    await expect(fill(open(telling))).rejects.toThrow(InternalError);
    await expect(fill(open(telling))).rejects.toThrow(/function double.*the API is gone/);
    const strange = executor((task, _, run) => run.onFailed(task.taskId, { type: "Strange", message: "x" }));
    await expect(fill(open(strange))).rejects.toThrow(InternalError);
    const away: ClusterExecutor = { run: () => Promise.reject(new Error("connection refused")) };
    await expect(fill(open(away))).rejects.toThrow(ServiceUnavailableError);
    await expect(fill(open(away))).rejects.toThrow(/cluster here: connection refused/);
    const throwing: ClusterExecutor = {
      run() {
        throw new Error("no such host");
      },
    };
    await expect(fill(open(throwing))).rejects.toThrow(/cluster here: no such host/);
    await fill(open(executor(honest)));
    await expectAllDoubled(20);
  });

  it("is stopped when the job is cancelled, even if it hangs", async () => {
    await makeTable(2);
    const { promise: isHanging, resolve: tell } = withResolvers();
    let reason: unknown;
    const late: { readonly task: BackfillTask; readonly run: ClusterRun }[] = [];
    const cluster: ClusterExecutor = {
      async run([task, next], run) {
        late.push({ task: next, run });
        await honest(task, worker, run);
        run.signal.addEventListener("abort", () => {
          reason = run.signal.reason;
        });
        tell();
        await new Promise(() => undefined);
      },
    };
    const worker = open();
    const ns = open(cluster);
    const { jobId } = await ns.alterTableBackfillColumns(request({ commitGranularity: 1 }));
    await isHanging;
    while ((await ns.describeJob({ jobId })).done < FRAGMENT_ROWS) await sleep(5);
    await ns.cancelJob({ jobId });
    expect(await ns.waitForJob({ jobId })).toMatchObject({ state: "Cancelled", done: 10, total: 20 });
    expect(reason).toBeInstanceOf(ServiceUnavailableError);
    // Calls after the end change nothing.
    const [left] = late;
    left.run.onProgress(left.task.taskId, 7);
    left.run.onDone({ taskId: left.task.taskId, rows: left.task.rows, files: [] });
    left.run.onFailed(left.task.taskId, { type: "Internal", message: "late" });
    expect(await ns.describeJob({ jobId })).toMatchObject({ state: "Cancelled", done: 10 });
    await fill(open(executor(honest)));
    expect(computed).toEqual(upTo(20));
    await expectAllDoubled(20);
  });
});

describe("a worker", () => {
  /** Runs `work` with the tasks of a job during its executor's run. */
  async function withTasks(
    work: (tasks: readonly BackfillTask[], run: ClusterRun) => Promise<void>,
  ): Promise<void> {
    const ns = open({ run: work });
    await ns.waitForJob(await ns.alterTableBackfillColumns(request())).catch(() => undefined);
  }

  it("refuses a task for another function, another table, or a job that has ended", async () => {
    await makeTable(1);
    const otherWorker = open(undefined, { ...double(), version: "2" });
    const none = open(undefined, double(), { functions: {} });
    const refusals: unknown[] = [];
    let left: BackfillTask | undefined;
    await withTasks(async ([task], run) => {
      left = task;
      const worker = open();
      const refusal = (change: object, from = worker) =>
        from.runBackfillTask({ ...task, ...change }).catch((error) => refusals.push(error.constructor));
      await refusal({}, otherWorker);
      await refusal({}, none);
      await refusal({ meaning: "0".repeat(32) });
      await refusal({ content: "0".repeat(32) });
      await refusal({ fragmentId: 7 });
      await refusal({ version: 77 });
      for (const member of ["key", "jobId", "meaning", "content"]) await refusal({ [member]: "../../x" });
      for (const member of ["firstRow", "lastRow", "fragmentId", "checkpointSize", "rows"])
        await refusal({ [member]: -1 });
      for (const member of ["rows", "fragmentId", "version", "column", "taskId", "where", "branch"])
        await refusal({ [member]: {} });
      await refusal({ firstRow: 5, lastRow: 4 });
      await refusal({ where: "n >" });
      await refusal({ surplus: 1 });
      await honest(task, worker, run);
    });
    expect(refusals).toEqual([
      ...[InvalidInputError, InvalidInputError, InvalidInputError],
      ...Array(3).fill(ConcurrentModificationError),
      ...Array(19).fill(InvalidInputError),
    ]);
    await expect(open().runBackfillTask(left as BackfillTask)).rejects.toThrow(/job .* has ended/);
    expect(await orphans()).toEqual([]);
    await expectAllDoubled(10);
  });

  it("refuses a task whose job works on another table or branch, or is no backfill", async () => {
    await makeTable(1);
    const ns = open();
    await ns.createTable({ id: ["u"] }, [{ n: 1 }]);
    await ns.createTableBranch({ ...ID, name: "side" });
    const { jobId: indexing } = await ns.createTableIndex({ ...ID, column: "n", indexType: "BTREE" });
    await withTasks(async ([task], run) => {
      const worker = open();
      const refused = (change: object) => worker.runBackfillTask({ ...task, ...change });
      for (const change of [
        { id: ["u"] },
        { branch: "side" },
        { jobId: indexing },
        { jobId: crypto.randomUUID() },
      ]) {
        await expect(refused(change), JSON.stringify(change)).rejects.toThrow(TransactionNotFoundError);
      }
      await honest(task, worker, run);
    });
    await expectAllDoubled(10);
  });

  it("runs many calls at a time without a warning", async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => void warnings.push(message);
    process.on("warning", onWarning);
    try {
      const rows = 40;
      await makeTable(1, rows);
      let calls = 0;
      const waiting = open(
        undefined,
        double(async (_, signal) => {
          signal.addEventListener("abort", () => undefined);
          calls++;
          while (calls < rows) await sleep(1);
        }),
      );
      await fill(open(executor(honest, waiting)), { checkpointSize: 1, intraApplierConcurrency: 100 });
      expect(calls).toBe(rows);
    } finally {
      process.off("warning", onWarning);
    }
    expect(warnings).toEqual([]);
  });

  it.each([
    "rewritten",
    "cleaned up",
  ])("whose version is %s meanwhile has fragments done again on the latest version", async (how) => {
    await makeTable(2);
    const ns = open();
    const cluster = executor(async (task, worker, run, runs) => {
      if (runs === 1 && task.fragmentId === 0) {
        await ns.updateTable({ ...ID, updates: [["n", "n + 100"]], predicate: "n < 10" });
        if (how === "cleaned up") await ns.cleanupTable({ ...ID, olderThanMs: 0 });
      }
      try {
        await honest(task, worker, run);
      } catch (error) {
        const { type, message } = error as InternalError;
        run.onFailed(task.taskId, { type, message });
      }
    });
    await fill(open(cluster));
    const rows = await open().table("t").scan().toArray();
    expect(rows.map(({ n, d }) => [n, d]).sort(([a], [b]) => Number(a) - Number(b))).toEqual(
      [...upTo(20).slice(10), ...upTo(110).slice(100)].map((n) => [n, BigInt(n) * 2n]),
    );
    expect(await orphans()).toEqual([]);
  });
});

describe("a job on a cluster", () => {
  it("resumes after the end of its process, with the values that workers saved meanwhile", async () => {
    await makeTable(4);
    const { promise: isHanging, resolve: tell } = withResolvers();
    let tasks: readonly BackfillTask[] = [];
    const hanging: ClusterExecutor = {
      async run(request, run) {
        tasks = request;
        await honest(request[0], open(), run);
        tell();
        await new Promise((resolve) => run.signal.addEventListener("abort", resolve));
      },
    };
    const first = open(hanging);
    const { jobId } = await first.alterTableBackfillColumns(request({ commitGranularity: 1 }));
    await isHanging;
    while ((await first.describeJob({ jobId })).done < FRAGMENT_ROWS) await sleep(5);
    await first.close();
    // Workers of a dead process continue, and their values count.
    await open().runBackfillTask(tasks[1]);
    const cluster = executor(honest);
    const next = open(cluster);
    const again = await next.alterTableBackfillColumns(request({ commitGranularity: 1 }));
    expect(again.jobId).toBe(jobId);
    expect(await next.waitForJob(again)).toMatchObject({
      done: 40,
      total: 40,
      result: { rows: 40, fragments: 4 },
    });
    expect(cluster.runs.map((run) => run.map(({ fragmentId }) => fragmentId))).toEqual([[2, 3]]);
    expect(computed).toEqual(upTo(40));
    await expectAllDoubled(40);
    expect(await orphans()).toEqual([]);
  });

  it("can resume without the cluster, and the other way around", async () => {
    await makeTable(3);
    const away: ClusterExecutor = {
      async run([task], run) {
        await honest(task, open(), run);
        throw new Error("connection lost");
      },
    };
    await expect(fill(open(away), { commitGranularity: 1 })).rejects.toThrow("connection lost");
    const job = await fill(open(), { cluster: undefined });
    expect(job).toMatchObject({ state: "Succeeded" });
    expect(computed).toEqual(upTo(30));
    await expectAllDoubled(30);
  });

  it("ends when its table is dropped, and leaves no file", async () => {
    await makeTable(2);
    const cluster = executor(async (task, worker, run) => {
      await open().dropTable(ID);
      await worker.runBackfillTask(task).catch((error) => {
        run.onFailed(task.taskId, { type: error.type, message: error.message });
      });
    });
    await expect(fill(open(cluster))).rejects.toThrow();
    expect(await readdir(stage.root)).not.toContain("t.lance");
  });
});
