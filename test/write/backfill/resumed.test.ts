/** Backfills that resume interrupted ones. */

import { Float64, Utf8 } from "apache-arrow";
import { type DirectoryNamespace, InternalError, type UserFunction } from "tiltyard";
import { beforeEach, expect, it, vi } from "vitest";
import { CheckpointFiles } from "../../../src/write/backfill/checkpointFiles.js";
import { listOf } from "../../support/arrowColumns.js";
import { withResolvers } from "../../support/deferred.js";
import { createParts, freshStage } from "../../support/stage.js";

const ID = { id: ["t"] };
const HOW = { checkpointSize: 2, batchCheckpointFlushIntervalSeconds: 0, commitGranularity: 1 };
const stage = freshStage();
let calls: string[];
let isList = false;
beforeEach(() => {
  calls = [];
  isList = false;
});

/** @param hangs number at which the function waits until it is aborted; it then calls `hanging` */
function open(version: string, hangs?: number, hanging?: () => void): DirectoryNamespace {
  const told: UserFunction = {
    ...{
      version,
      inputs: ["a"],
      output: isList ? listOf(new Utf8()) : new Utf8(),
    },
    batch: async ({ a }, { signal }) => {
      const numbers = [...a] as number[];
      calls.push(`${version}: ${numbers.join(" ")}`);
      if (hangs !== undefined && numbers.includes(hangs)) {
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          hanging?.();
        });
      }
      return numbers.map((each) => (isList ? [`${each} by ${version}`] : `${each} by ${version}`));
    },
  };
  const ns = stage.open({ functions: { told } });
  return ns;
}

/** Makes a table of numbers by fragment; version 1 of the function has filled its column up to a number. */
async function interrupted(fragments: readonly (readonly number[])[], upTo: number, metadata?: object) {
  const { promise: isHanging, resolve: tell } = withResolvers();
  const ns = open("1", upTo, () => tell());
  await createParts(
    ns,
    ID.id,
    fragments.map((values) => values.map((a) => ({ a }))),
  );
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "b", virtualColumn: { udfName: "told" } }] });
  if (metadata) await ns.updateFieldMetadata({ ...ID, updates: [{ path: "b", metadata: { ...metadata } }] });
  const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "b", ...HOW });
  await isHanging;
  await ns.close();
  calls = [];
  return jobId;
}

it.each(["texts", "lists"])("a resumed backfill counts the rows of both runs, of %s", async (values) => {
  isList = values === "lists";
  const jobId = await interrupted(
    [
      [0, 1, 2],
      [3, 4, 5],
      [6, 7, 8, 9],
    ],
    8,
  );
  const ns = open("1");
  const again = await ns.alterTableBackfillColumns({ ...ID, column: "b", ...HOW });
  expect(again.jobId).toBe(jobId);
  expect(await ns.waitForJob(again)).toMatchObject({
    ...{ done: 10, total: 10, result: { rows: 10, fragments: 3 } },
  });
  expect(calls).toEqual(["1: 8 9"]);
});

it("a column without a declared version takes no values of another function version", async () => {
  await interrupted([[0, 1, 2, 3]], 2, { "virtual_column.udf_version": null });
  const ns = open("2");
  await ns.waitForJob(await ns.alterTableBackfillColumns({ ...ID, column: "b", ...HOW }));
  expect(calls).toEqual(["2: 0 1", "2: 2 3"]);
  const values = [...(await stage.rowsThere())].map(({ b }) => b);
  expect(values).toEqual([0, 1, 2, 3].map((a) => `${a} by 2`));
});

it("a backfill fills values again that a restore removes meanwhile", async () => {
  const { promise: isHanging, resolve: tell } = withResolvers();
  const { promise: mayGoOn, resolve: goOn } = withResolvers();
  let isFirst = true;
  const tens: UserFunction = {
    ...{ version: "1", inputs: ["a"], output: new Float64() },
    batch: async ({ a }) => {
      const numbers = [...a] as number[];
      if (numbers.includes(3) && isFirst) {
        isFirst = false;
        tell();
        await mayGoOn;
      }
      return numbers.map((each) => each * 10);
    },
  };
  const ns = stage.open({ functions: { tens } });
  await ns.createTable(ID, [{ a: 1 }, { a: 2 }]);
  await ns.insertIntoTable(ID, [{ a: 3 }, { a: 4 }]);
  const { version } = await ns.alterTableAddColumns({
    ...ID,
    newColumns: [{ name: "b", virtualColumn: { udfName: "tens" } }],
  });
  const job = await ns.alterTableBackfillColumns({ ...ID, column: "b", ...HOW, concurrency: 1 });
  await isHanging;
  while ((await ns.describeTable(ID)).version === version)
    await new Promise((resolve) => setTimeout(resolve, 5));
  await ns.restoreTable({ ...ID, version });
  goOn();
  expect(await ns.waitForJob(job)).toMatchObject({
    ...{ state: "Succeeded", done: 4, total: 4, result: { rows: 4, fragments: 2 } },
  });
  expect((await ns.table("t").scan().toArray()).map(({ b }) => b)).toEqual([10, 20, 30, 40]);
});

it("a failed save that succeeds later causes no second computation", async () => {
  const ns = open("1");
  await ns.createTable(
    ID,
    [1, 2, 3, 4, 5, 6].map((a) => ({ a })),
  );
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "s", virtualColumn: { udfName: "told" } }] });
  const fill = async () => {
    const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "s", ...HOW });
    return ns.waitForJob({ jobId });
  };
  const saving = vi.spyOn(CheckpointFiles.prototype, "save").mockRejectedValueOnce(new Error("no space"));
  await expect(fill()).rejects.toThrow("no space");
  saving.mockRestore();
  await fill();
  expect(calls).toEqual(["1: 1 2", "1: 3 4", "1: 5 6"]);
});

it("a failed save aborts the running calls at once", async () => {
  let underWay = 0;
  const waits: UserFunction = {
    ...{ version: "1", inputs: ["a"], output: new Float64() },
    batch: async ({ a }, { signal }) => {
      const numbers = [...a] as number[];
      underWay++;
      while (underWay < 2) await new Promise((resolve) => setImmediate(resolve));
      if (numbers.includes(1)) return numbers;
      // Waits for ever unless aborted.
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  };
  const ns = stage.open({ functions: { waits } });
  await ns.createTable(ID, [{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }]);
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "b", virtualColumn: { udfName: "waits" } }] });
  const saving = vi.spyOn(CheckpointFiles.prototype, "save").mockRejectedValue(new Error("no space"));
  try {
    const job = await ns.alterTableBackfillColumns({
      ...{ ...ID, column: "b", ...HOW, intraApplierConcurrency: 2 },
    });
    await expect(ns.waitForJob(job)).rejects.toThrow("no space");
  } finally {
    saving.mockRestore();
  }
});

it("a backfill succeeds even if its checkpoints can't be removed", async () => {
  const ns = open("1");
  await ns.createTable(ID, [{ a: 1 }]);
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "b", virtualColumn: { udfName: "told" } }] });
  const original = CheckpointFiles.prototype.removeAll;
  const removing = vi.spyOn(CheckpointFiles.prototype, "removeAll").mockImplementation(async function (
    this: CheckpointFiles,
    which,
  ) {
    if (which === "all") throw Object.assign(new Error("not permitted"), { code: "EACCES" });
    await original.call(this, which);
  });
  try {
    const job = await ns.alterTableBackfillColumns({ ...ID, column: "b", ...HOW });
    expect(await ns.waitForJob(job)).toMatchObject({ state: "Succeeded", result: { rows: 1 } });
  } finally {
    removing.mockRestore();
  }
});

it("a job fails with the thrown error as its cause in its process", async () => {
  class Quota extends Error {}
  const thrown = new Quota("too many");
  const fails: UserFunction = {
    ...{ version: "1", inputs: ["a"], output: new Float64(), retries: 0 },
    row: () => {
      throw thrown;
    },
  };
  const ns = stage.open({ functions: { fails } });
  await ns.createTable(ID, [{ a: 1 }]);
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "b", virtualColumn: { udfName: "fails" } }] });
  const job = await ns.alterTableBackfillColumns({ ...ID, column: "b" });
  // During the run, and after it.
  for (let time = 0; time < 2; time++) {
    const error = await ns.waitForJob(job).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InternalError);
    expect((error as Error).message).toBe("function fails, fragment 0, row 0: failed: too many");
    expect((error as Error).cause).toBe(thrown);
  }
  const elsewhere = await open("1")
    .waitForJob(job)
    .catch((reason: unknown) => reason);
  expect((elsewhere as Error).message).toContain("too many");
  expect((elsewhere as Error).cause).toBeUndefined();
});

it("an error of SQL names column and rows", async () => {
  const ns = open("1");
  await ns.createTable(ID, [{ a: 1n }, { a: 0n }]);
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "b", computed: "10 / a" }] });
  const job = await ns.alterTableBackfillColumns({ ...ID, column: "b" });
  await expect(ns.waitForJob(job)).rejects.toThrow(
    "expression of column b, fragment 0, rows 0 to 1 (2 of them): an integer is divided by zero",
  );
});
