/** The file of a filled column is begun while values are computed; only one that holds what is committed stays. */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Int64, Table, tableFromIPC, vectorFromArray } from "apache-arrow";
import { type AlterTableBackfillColumnsRequest, DirectoryNamespace } from "tiltyard";
import { afterEach, beforeEach, expect, it } from "vitest";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";

const ID = { id: ["t"] };
const ROWS = 100;
const BATCH_ROWS = 10;
let root: string;
let before: string[];
let ns: DirectoryNamespace;
/** Awaited by each call of the function. */
let onCall: (first: number) => Promise<void>;

const dataFiles = (): Promise<string[]> => readdir(join(root, "t.lance", "data"));
const newFiles = async (): Promise<string[]> => (await dataFiles()).filter((name) => !before.includes(name));

beforeEach(async () => {
  root = await makeTempDir();
  onCall = async () => undefined;
  const double = {
    ...{ version: "1", inputs: ["n"], output: new Int64(), retries: 0 },
    batch: async ({ n }: Record<string, Iterable<number>>) => {
      const given = [...n];
      // The loop turns, so that what was computed before is taken.
      await new Promise((resolve) => setTimeout(resolve, 1));
      await onCall(given[0]);
      return given.map((each) => BigInt(each) * 2n);
    },
  };
  ns = new DirectoryNamespace({ root, durability: "none", functions: { double } });
  const n = vectorFromArray(Int32Array.from({ length: ROWS }, (_, row) => row));
  await ns.createTable(ID, new Table({ n }));
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", virtualColumn: { udfName: "double" } }] });
  before = await dataFiles();
});
afterEach(async () => {
  await ns.close();
});

async function fill(settings: Partial<AlterTableBackfillColumnsRequest> = {}): Promise<void> {
  const asked = { ...ID, column: "d", checkpointSize: BATCH_ROWS, ...settings };
  const { jobId } = await ns.alterTableBackfillColumns(asked);
  await ns.waitForJob({ jobId });
}

async function expectFilled(rowCount: number): Promise<void> {
  const rows = [...tableFromIPC(await reference.readTable(root, "t"))];
  expect(rows.length).toBe(rowCount);
  for (const { n, d } of rows) expect(d).toBe(BigInt(n) * 2n);
}

it("is there before the last call, and is the one that is committed", async () => {
  let early: string[] = [];
  onCall = async (first) => {
    if (first === ROWS - BATCH_ROWS) early = await newFiles();
  };
  await fill();
  expect(early.length).toBe(1);
  expect(await newFiles()).toEqual(early);
  await expectFilled(ROWS);
});

it("makes way for another where rows were deleted meanwhile", async () => {
  onCall = async (first) => {
    if (first === ROWS - BATCH_ROWS) await ns.deleteFromTable({ ...ID, predicate: "n = 3" });
  };
  await fill();
  expect((await newFiles()).length).toBe(1);
  await expectFilled(ROWS - 1);
});

it("is written again where it was removed meanwhile", async () => {
  onCall = async (first) => {
    if (first !== ROWS - BATCH_ROWS) return;
    for (const name of await newFiles()) await rm(join(root, "t.lance", "data", name));
  };
  await fill();
  expect((await newFiles()).length).toBe(1);
  await expectFilled(ROWS);
});

it("is given up where values are saved to checkpoints", async () => {
  const seen = new Set<string>();
  onCall = async () => {
    for (const name of await newFiles()) seen.add(name);
  };
  await fill({ batchCheckpointFlushIntervalSeconds: 0 });
  expect([...seen]).toEqual([]);
  expect((await newFiles()).length).toBe(1);
  await expectFilled(ROWS);
});

it("goes where the function fails", async () => {
  let seen = 0;
  onCall = async (first) => {
    if (first !== ROWS - BATCH_ROWS) return;
    seen = (await newFiles()).length;
    throw new Error("no answer");
  };
  await expect(fill()).rejects.toThrow("no answer");
  expect([seen, await newFiles()]).toEqual([1, []]);
});

it("goes where the job is cancelled", async () => {
  let seen = 0;
  let reached = () => {};
  const isReached = new Promise<void>((resolve) => {
    reached = resolve;
  });
  onCall = async (first) => {
    if (first !== ROWS - BATCH_ROWS) return;
    seen = (await newFiles()).length;
    reached();
    await new Promise(() => undefined);
  };
  const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "d", checkpointSize: BATCH_ROWS });
  await isReached;
  await ns.cancelJob({ jobId });
  await ns.waitForJob({ jobId }).catch(() => undefined);
  expect([seen, await newFiles()]).toEqual([1, []]);
});
