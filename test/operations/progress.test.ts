/** Every call that may take long reports its progress, and a handle knows its table's jobs. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Int64, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, InvalidInputError, type Progress, TransactionNotFoundError } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

const ID = { id: ["t"] };
const ROWS = 100;
const rows = (start = 0): Table =>
  new Table({ v: vectorFromArray(Int32Array.from({ length: ROWS }, (_, row) => start + row)) });

let ns: DirectoryNamespace;
beforeEach(async () => {
  ns = new DirectoryNamespace({
    ...{ root: await makeTempDir(), durability: "none" },
    functions: {
      double: { version: "1", inputs: ["v"], output: new Int64(), row: ({ v }) => (v as number) * 2 },
    },
  });
  await ns.createTable(ID, rows());
  await ns.insertIntoTable(ID, rows(ROWS));
});
afterEach(() => ns.close());

/** Bytes of the data files of the table. */
async function dataBytes(root: string): Promise<number> {
  const directory = join(root, "t.lance", "data");
  const sizes = (await readdir(directory)).map(async (name) => (await stat(join(directory, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

type Told = (onProgress: (progress: Progress) => void) => Promise<unknown>;
const declare = () =>
  ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", virtualColumn: { udfName: "double" } }] });
const job = async (started: Promise<{ jobId: string }>) => ns.waitForJob(await started);

/** Calls that report progress, with their total and the final number. */
const calls: Readonly<
  Record<
    string,
    { readonly call: Told; readonly total?: number; readonly done: number; readonly unit?: string }
  >
> = {
  createTable: {
    call: (onProgress) =>
      ns.createTable(
        { id: ["u"], onProgress },
        [rows(), rows()].flatMap((each) => each.batches),
      ),
    done: 200,
  },
  insertIntoTable: { call: (onProgress) => ns.table("t").insert(rows(), { onProgress }), done: 100 },
  mergeInsertIntoTable: {
    call: (onProgress) =>
      ns.mergeInsertIntoTable({ ...ID, on: "v", whenMatchedUpdateAll: true, onProgress }, rows()),
    done: 100,
  },
  updateTable: {
    call: (onProgress) =>
      ns.updateTable({ ...ID, predicate: "v = 3", updates: [["v", "v + 1"]], onProgress }),
    total: 200,
    done: 200,
  },
  deleteFromTable: {
    call: (onProgress) => ns.deleteFromTable({ ...ID, predicate: "v = 3", onProgress }),
    total: 200,
    done: 200,
  },
  alterTableAddColumns: {
    call: (onProgress) =>
      ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "w", expression: "v + 1" }], onProgress }),
    ...{ total: 200, done: 200 },
  },
  alterTableAlterColumns: {
    call: (onProgress) =>
      ns.alterTableAlterColumns({ ...ID, alterations: [{ path: "v", dataType: "int64" }], onProgress }),
    ...{ total: 200, done: 200 },
  },
  createTableIndex: {
    call: (onProgress) => job(ns.createTableIndex({ ...ID, column: "v", indexType: "BTREE", onProgress })),
    ...{ total: 200, done: 200 },
  },
  alterTableBackfillColumns: {
    call: async (onProgress) => {
      await declare();
      await job(ns.alterTableBackfillColumns({ ...ID, column: "d", onProgress }));
    },
    ...{ total: 200, done: 200 },
  },
  optimizeTable: { call: (onProgress) => ns.optimizeTable({ ...ID, onProgress }), total: 200, done: 200 },
  countTableRows: {
    call: (onProgress) => ns.countTableRows({ ...ID, predicate: "v < 3", onProgress }),
    ...{ total: 200, done: 200 },
  },
  "countRows without a filter": {
    call: (onProgress) => ns.table("t").countRows(undefined, undefined, { onProgress }),
    ...{ total: 200, done: 200 },
  },
  getTableStats: {
    call: (onProgress) => ns.table("t").stats({ onProgress }),
    ...{ total: 2, done: 2, unit: "fragments" },
  },
  describeComputedColumns: {
    async call(onProgress) {
      await declare();
      await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "e", computed: "v + 1" }] });
      await ns.table("t").computedColumns({ onProgress });
    },
    ...{ total: 400, done: 400 },
  },
};

describe("progress", () => {
  it.each(Object.keys(calls))("the progress of %s rises to the end", async (name) => {
    const { call, total, done, unit = "rows" } = calls[name];
    const told: Progress[] = [];
    await call((progress) => told.push(progress));
    expect(told.length).toBeGreaterThan(0);
    const counts = told.map((each) => each.done);
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    const { bytesWritten: _, activeTasks: __, totalTasks: ___, ...last } = told.at(-1) as Progress;
    expect(last).toEqual({ done, ...(total !== undefined && { total }), unit });
  });

  it.each([0, 2])("inserts with %s threads report bytes of data files and tasks", async (workers) => {
    const root = await makeTempDir();
    await using writing = new DirectoryNamespace({ root, workers });
    const batches = Array.from({ length: 20 }, (_, index) => rows(index * ROWS).batches[0]);
    for (const call of ["createTable", "insertIntoTable"] as const) {
      const told: Progress[] = [];
      const before = (await readdir(root)).length === 0 ? 0 : await dataBytes(root);
      await writing[call]({ ...ID, onProgress: (progress) => told.push(progress) }, batches);
      const bytes = told.map(({ bytesWritten }) => bytesWritten as number);
      expect(bytes).toEqual([...bytes].sort((a, b) => a - b));
      expect(told.at(-1)).toMatchObject({ done: 2000, bytesWritten: (await dataBytes(root)) - before });
      for (const { activeTasks = 0, totalTasks } of told) {
        expect(totalTasks).toBe(Math.max(1, workers));
        expect(activeTasks).toBeGreaterThanOrEqual(1);
        expect(activeTasks).toBeLessThanOrEqual(totalTasks as number);
      }
    }
  });

  it("a count reports each batch, and fragments without selected rows too", async () => {
    const told: number[] = [];
    await ns.table("t").countRows("v = 1000", undefined, { onProgress: ({ done }) => told.push(done) });
    expect([...new Set(told)]).toEqual([0, 100, 200]);
  });

  it("an error of an async callback ends the work", async () => {
    const refuse = async () => {
      throw new Error("enough");
    };
    await declare();
    const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "d" });
    await expect(ns.waitForJob({ jobId, onProgress: refuse })).rejects.toThrow("enough");
    // The wait includes a callback that never settles, but ends with the job.
    const job = await ns.waitForJob({
      jobId,
      timeoutMs: 50,
      onProgress: () => new Promise<void>(() => undefined),
    });
    expect(job.jobId).toBe(jobId);
    await ns.waitForJob({ jobId });
    // Other calls do not wait for the callback; the next report finds its error.
    const counting = ns.table("t").countRows("v < 3", undefined, { onProgress: refuse });
    await expect(counting).rejects.toThrow("enough");
  });

  it.each(Object.keys(calls))("%s refuses an onProgress that is not a function", async (name) => {
    const refused = calls[name].call("loud" as never);
    await expect(refused).rejects.toThrow(InvalidInputError);
    await expect(refused).rejects.toThrow(/onProgress: must be a function/);
  });
});

describe("a handle", () => {
  it("a handle lists, describes, awaits and cancels jobs", async () => {
    await declare();
    await ns.createTable({ id: ["u"] }, rows());
    const table = ns.table("t");
    const { jobId } = await table.backfill("d");
    const states: string[] = [];
    const ended = await table.waitForJob(jobId, { onProgress: ({ state }) => states.push(state) });
    expect(ended).toMatchObject({ jobId, state: "Succeeded", done: 200 });
    expect(states.at(-1)).toBe("Succeeded");
    expect(await table.describeJob(jobId)).toEqual(ended);
    expect(await table.cancelJob(jobId)).toEqual(ended);
    expect(await table.listJobs()).toEqual([ended]);
    expect(await table.listJobs({ state: "Failed" })).toEqual([]);
    expect(await ns.table("u").listJobs()).toEqual([]);
    await expect(table.describeJob(crypto.randomUUID())).rejects.toThrow(TransactionNotFoundError);
    expect(await table.computedColumns()).toEqual([
      {
        ...{ column: "d", kind: "function", udfName: "double", udfVersion: "1", inputs: ["v"] },
        ...{ isRegistered: true, staleRows: 0, staleFragments: [] },
      },
    ]);
  });

  it("describeComputedColumns names fragments with rows without a value, and a query returns the rows", async () => {
    await declare();
    const table = ns.table("t");
    await table.waitForJob((await table.backfill("d", { numFrags: 1 })).jobId);
    await table.update({ where: "v = 7", valuesSql: { v: "1007" } });
    const [{ staleRows, staleFragments }] = await table.computedColumns();
    expect(staleRows).toBe(101);
    const stale = await table.scan({ filter: "d IS NULL", columns: ["v", "_rowaddr"] }).toArray();
    expect(stale.length).toBe(101);
    const fragments = new Set(stale.map(({ _rowaddr }) => Number((_rowaddr as bigint) >> 32n)));
    expect([...fragments].sort()).toEqual(staleFragments);
  });
});
