/**
 * Backfills on a local Ray of two processors: dying workers and drivers, progress, cancellation, and speed.
 */

import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Table } from "apache-arrow";
import { DirectoryNamespace, type Job } from "tiltyard";
import { rayCluster } from "tiltyard/ray";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { int32s } from "../support/arrowColumns.js";
import { makeTempDir } from "../support/tempDir.js";
import { RayProcesses } from "./support/ray.js";
import { functions } from "./support/slowFunctions.mjs";

const support = (name: string): string => fileURLToPath(new URL(`./support/${name}`, import.meta.url));
const RUNNER = fileURLToPath(new URL("../../examples/ray-backfill/runner.py", import.meta.url));
const EXAMPLE = fileURLToPath(new URL("../../examples/ray-backfill/backfill.mjs", import.meta.url));
const ID = { id: ["t"] };
const FRAGMENTS = 16;
const FRAGMENT_ROWS = 50;
const ROWS = FRAGMENTS * FRAGMENT_ROWS;
const COMMITTED_TOGETHER = 4;

let ray: RayProcesses;
let root: string;
let log: string;
const opened: DirectoryNamespace[] = [];
beforeAll(async () => {
  ray = await RayProcesses.start({ cpus: 2 });
}, 400_000);
afterAll(async () => {
  await ray?.[Symbol.asyncDispose]();
}, 60_000);
beforeEach(async () => {
  root = await makeTempDir();
  log = join(await makeTempDir(), "log");
});
afterEach(async () => {
  for (const ns of opened.splice(0)) await ns.close();
});

const clusterOptions = () => ({
  address: ray.address,
  headers: ray.headers,
  runner: `${JSON.stringify(ray.python)} ${JSON.stringify(RUNNER)}`,
  worker: [process.execPath, support("slowWorker.mjs")],
  runtimeEnv: { env_vars: { TILTYARD_LOG: log } },
  pollMs: 200,
});

function open(): DirectoryNamespace {
  const clusters = { ray: rayCluster(clusterOptions()) };
  const ns = new DirectoryNamespace({ root, functions, clusters, lock: { staleMs: 2000 } });
  opened.push(ns);
  return ns;
}

async function makeTable(fragments = FRAGMENTS, rows = FRAGMENT_ROWS): Promise<void> {
  const ns = open();
  for (let fragment = 0; fragment < fragments; fragment++) {
    const numbers = Array.from({ length: rows }, (_, row) => fragment * rows + row);
    const table = new Table({ n: int32s(numbers) });
    await (fragment === 0 ? ns.createTable(ID, table) : ns.insertIntoTable(ID, table));
  }
  const columns = ["d", "e"].map((name) => ({ name, virtualColumn: { udfName: "double" } }));
  await ns.alterTableAddColumns({ ...ID, newColumns: columns });
}

const request = (change: object = {}) => ({
  ...{ ...ID, column: "d", cluster: "ray", concurrency: 2, checkpointSize: 10 },
  ...{ batchCheckpointFlushIntervalSeconds: 0.1, commitGranularity: COMMITTED_TOGETHER, ...change },
});

/** A line of the log: a process, and the numbers that it has computed. */
interface Call {
  readonly pid: number;
  /** The process of Ray that started the worker. */
  readonly parent: number;
  readonly numbers: readonly number[];
}

async function calls(): Promise<Call[]> {
  const text = await readFile(log, "utf8").catch(() => "");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split(" "))
    .map(([pid, parent, numbers]) => ({
      pid: Number(pid),
      parent: Number(parent),
      numbers: numbers.split(",").map(Number),
    }));
}

const workers = async (): Promise<number[]> => [...new Set((await calls()).map(({ pid }) => pid))];

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/**
 * Kills a process of a worker that is at work.
 * @param except a worker that was killed before
 * @returns the worker
 */
async function killOne(jobId: string, processOf: (call: Call) => number, except: number): Promise<number> {
  const ns = open();
  for (;;) {
    for (const call of (await calls()).reverse()) {
      if (call.pid === except || !isAlive(call.pid)) continue;
      if (!isAlive(processOf(call))) continue;
      process.kill(processOf(call), "SIGKILL");
      return call.pid;
    }
    if ((await ns.describeJob({ jobId })).finishedAt !== undefined) throw new Error("the job has ended");
    await sleep(20);
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(50);
}

async function expectFilled(rows = ROWS, column = "d"): Promise<void> {
  const table = await open()
    .table("t")
    .scan({ columns: ["n", column] })
    .toArray();
  const expected = Array.from({ length: rows }, (_, n) => ({ n, [column]: BigInt(n) * 2n }));
  expect(table).toEqual(expected);
  const left = await readdir(join(root, "t.lance", "_tiltyard", "checkpoints")).catch(() => []);
  expect(left).toEqual([]);
}

const versionsSince = async (version: number): Promise<number> =>
  ((await open().describeTable(ID)).version as number) - version;

const statusOf = async (jobId: string): Promise<string[]> =>
  (await ray.jobs()).filter(({ metadata }) => metadata?.tiltyard_job === jobId).map(({ status }) => status);

describe("Ray", () => {
  it("fills a column with two workers, as the process itself does, and tells how far it is", async () => {
    await makeTable();
    const ns = open();
    const before = (await ns.describeTable(ID)).version as number;
    const { jobId } = await ns.alterTableBackfillColumns(request());
    const observer = open();
    const seen = new Set<number>();
    let job: Job;
    do {
      job = await observer.describeJob({ jobId });
      seen.add(job.done);
      await sleep(100);
    } while (job.finishedAt === undefined);
    expect(job.error).toBeUndefined();
    expect(job).toMatchObject({ state: "Succeeded", done: ROWS, total: ROWS, result: { rows: ROWS } });
    expect([...seen]).toEqual([...seen].sort((a, b) => a - b));
    expect([...seen].some((done) => done > 0 && done < ROWS)).toBe(true);
    expect((await workers()).length).toBeGreaterThanOrEqual(2);
    const numbers = (await calls()).flatMap((call) => call.numbers).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: ROWS }, (_, n) => n));
    expect(await versionsSince(before)).toBe(FRAGMENTS / COMMITTED_TOGETHER);
    expect(await statusOf(jobId)).toEqual(["SUCCEEDED"]);
    await ns.waitForJob(await ns.alterTableBackfillColumns(request({ column: "e", cluster: undefined })));
    await expectFilled(ROWS, "d");
    await expectFilled(ROWS, "e");
  });

  it("runs the example of the repository", async () => {
    const env = { ...process.env, RAY_DASHBOARD: ray.address, RAY_AUTH_TOKEN: ray.token, PYTHON: ray.python };
    const { stdout } = await promisify(execFile)(process.execPath, [EXAMPLE, root], { env });
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toContain("Succeeded 2 2");
    expect(stdout).toContain("{ text: 'a line of text', words: 4 }");
    expect(stdout).toContain("{ text: 'another one', words: 2 }");
  });

  it("loses nothing, and commits nothing twice, where a worker or its process of Ray is killed", async ({
    annotate,
  }) => {
    await makeTable();
    const ns = open();
    const before = (await ns.describeTable(ID)).version as number;
    const { jobId } = await ns.alterTableBackfillColumns(request());
    const killed = await killOne(jobId, ({ pid }) => pid, 0);
    await killOne(jobId, ({ parent }) => parent, killed);
    const job = await ns.waitForJob({ jobId });
    expect(job).toMatchObject({
      state: "Succeeded",
      done: ROWS,
      total: ROWS,
      result: { rows: ROWS, fragments: FRAGMENTS },
    });
    expect(await versionsSince(before)).toBe(FRAGMENTS / COMMITTED_TOGETHER);
    // Rows that were not saved when the workers died are computed again: a few calls, not whole fragments.
    const repeated = (await calls()).flatMap((call) => call.numbers).length - ROWS;
    await annotate(`two processes killed: ${repeated} of ${ROWS} rows were computed again`, "measured");
    expect(repeated).toBeLessThanOrEqual(2 * FRAGMENT_ROWS);
    await expectFilled();
  });

  it("stops the workers of a job that is cancelled, and goes on with what they saved", async () => {
    await makeTable();
    const ns = open();
    const { jobId } = await ns.alterTableBackfillColumns(request());
    await until(async () => (await ns.describeJob({ jobId })).done > 100);
    const cancelled = await open().cancelJob({ jobId });
    expect(["Cancelled", "Running"]).toContain(cancelled.state);
    expect(await ns.waitForJob({ jobId })).toMatchObject({ state: "Cancelled" });
    await until(async () => (await statusOf(jobId)).every((status) => status === "STOPPED"));
    const pids = await workers();
    await until(async () => !pids.some(isAlive));
    const computed = (await calls()).flatMap((call) => call.numbers).length;
    await ns.waitForJob(await ns.alterTableBackfillColumns(request({ cluster: undefined })));
    expect(computed).toBeGreaterThan(100);
    expect(computed).toBeLessThan(ROWS);
    await expectFilled();
  });

  it("goes on where the process that ran the job was killed", async ({ annotate }) => {
    await makeTable();
    const before = (await open().describeTable(ID)).version as number;
    const order = JSON.stringify({ root, request: request(), options: clusterOptions() });
    const driver = fork(support("clusterDriver.mjs"), [order], { execArgv: [] });
    const [{ jobId }] = (await once(driver, "message")) as [{ jobId: string }];
    await until(async () => (await calls()).length >= 10);
    driver.kill("SIGKILL");
    await once(driver, "exit");
    await until(async () => (await open().describeJob({ jobId })).isInterrupted === true);
    const ns = open();
    const again = await ns.alterTableBackfillColumns(request());
    expect(again.jobId).toBe(jobId);
    expect(await ns.waitForJob(again)).toMatchObject({
      ...{ state: "Succeeded", done: ROWS, total: ROWS, result: { rows: ROWS, fragments: FRAGMENTS } },
    });
    expect(await statusOf(jobId)).toEqual(expect.arrayContaining(["SUCCEEDED"]));
    expect((await statusOf(jobId)).filter((status) => status === "RUNNING")).toEqual([]);
    const repeated = (await calls()).flatMap((call) => call.numbers).length - ROWS;
    await annotate(`the job's process killed: ${repeated} of ${ROWS} rows were computed again`, "measured");
    expect(repeated).toBeLessThanOrEqual(2 * FRAGMENT_ROWS);
    expect(await versionsSince(before)).toBeGreaterThanOrEqual(FRAGMENTS / COMMITTED_TOGETHER);
    await expectFilled();
  });

  it("computes a function of five milliseconds a row, with one worker and with two", async ({ annotate }) => {
    const rows = 4800;
    await makeTable(FRAGMENTS, rows / FRAGMENTS);
    const ns = open();
    const how = { checkpointSize: 50, batchCheckpointFlushIntervalSeconds: 2 };
    const measured: { readonly whole: number; readonly computing: number }[] = [];
    for (const [index, column] of ["d", "e"].entries()) {
      const startMs = performance.now();
      let firstMs = 0;
      const job = await ns.alterTableBackfillColumns(request({ column, concurrency: index + 1, ...how }));
      await ns.waitForJob({
        ...job,
        onProgress: ({ done }) => {
          if (done > 0 && firstMs === 0) firstMs = performance.now();
        },
      });
      const endMs = performance.now();
      measured.push({ whole: (endMs - startMs) / 1000, computing: (endMs - firstMs) / 1000 });
    }
    const [one, two] = measured;
    await annotate(
      `${rows} rows of 5 ms, ${(rows * 0.005).toFixed(0)} s of the function: with one worker ${one.whole.toFixed(1)} s, ` +
        `with two ${two.whole.toFixed(1)} s (${(one.whole / two.whole).toFixed(2)} times as fast); from the first values on ` +
        `${one.computing.toFixed(1)} s and ${two.computing.toFixed(1)} s (${(one.computing / two.computing).toFixed(2)} times)`,
      "measured",
    );
    await expectFilled(rows, "d");
    await expectFilled(rows, "e");
  });
});
