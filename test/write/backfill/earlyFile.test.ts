/** The file of a filled column is begun while values are computed; it stays only if it is committed. */

import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { FixedSizeList, Float32, Int64, Table, tableFromIPC, Utf8, vectorFromArray } from "apache-arrow";
import type { AlterTableBackfillColumnsRequest, DirectoryNamespace } from "tiltyard";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { checkpointsDirectory } from "../../../src/table/versions/paths.js";
import { fieldOf } from "../../support/arrowColumns.js";
import { withResolvers } from "../../support/deferred.js";
import { reference } from "../../support/reference.js";
import { freshStage } from "../../support/stage.js";

const ID = { id: ["t"] };
const ROWS = 100;
const BATCH_ROWS = 10;
const stage = freshStage();
let before: string[];
let ns: DirectoryNamespace;
/** Each call of the function awaits it. */
let onCall: (first: number) => Promise<void>;

const dataFiles = (): Promise<string[]> => readdir(join(stage.root, "t.lance", "data"));
const newFiles = async (): Promise<string[]> => (await dataFiles()).filter((name) => !before.includes(name));

beforeEach(async () => {
  onCall = async () => undefined;
  const double = {
    ...{ version: "1", inputs: ["n"], output: new Int64(), retries: 0 },
    batch: async ({ n }: Record<string, Iterable<number>>) => {
      const numbers = [...n];
      // Yield, so that earlier values are taken.
      await new Promise((resolve) => setTimeout(resolve, 1));
      await onCall(numbers[0]);
      return numbers.map((each) => BigInt(each) * 2n);
    },
  };
  ns = stage.open({ functions: { double } });
  const n = vectorFromArray(Int32Array.from({ length: ROWS }, (_, row) => row));
  await ns.createTable(ID, new Table({ n }));
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", virtualColumn: { udfName: "double" } }] });
  before = await dataFiles();
});

async function fill(settings: Partial<AlterTableBackfillColumnsRequest> = {}): Promise<void> {
  const asked = { ...ID, column: "d", checkpointSize: BATCH_ROWS, ...settings };
  const { jobId } = await ns.alterTableBackfillColumns(asked);
  await ns.waitForJob({ jobId });
}

async function expectFilled(rowCount: number): Promise<void> {
  const rows = [...(await stage.rowsThere())];
  expect(rows.length).toBe(rowCount);
  for (const { n, d } of rows) expect(d).toBe(BigInt(n) * 2n);
}

it("exists before the last call and is committed", async () => {
  let early: string[] = [];
  onCall = async (first) => {
    if (first === ROWS - BATCH_ROWS) early = await newFiles();
  };
  await fill();
  expect(early.length).toBe(1);
  expect(await newFiles()).toEqual(early);
  await expectFilled(ROWS);
});

it("is replaced if rows are deleted meanwhile", async () => {
  onCall = async (first) => {
    if (first === ROWS - BATCH_ROWS) await ns.deleteFromTable({ ...ID, predicate: "n = 3" });
  };
  await fill();
  expect((await newFiles()).length).toBe(1);
  await expectFilled(ROWS - 1);
});

it("is written again if it is removed meanwhile", async () => {
  onCall = async (first) => {
    if (first !== ROWS - BATCH_ROWS) return;
    for (const name of await newFiles()) await rm(join(stage.root, "t.lance", "data", name));
  };
  await fill();
  expect((await newFiles()).length).toBe(1);
  await expectFilled(ROWS);
});

it("continues while values are saved to checkpoints", async () => {
  const seen = new Set<string>();
  onCall = async () => {
    for (const name of await newFiles()) seen.add(name);
  };
  await fill({ batchCheckpointFlushIntervalSeconds: 0 });
  expect(seen.size).toBe(1);
  expect(await newFiles()).toEqual([...seen]);
  await expectFilled(ROWS);
});

describe("a file of more values than stay in memory", () => {
  const DIMENSION = 1024;
  const MANY = 10_000;
  const item = (row: number, position: number): number => Math.fround(row * 3 + position);
  const wide = {
    ...{
      version: "1",
      inputs: ["n"],
      output: new FixedSizeList(DIMENSION, fieldOf("item", new Float32())),
    },
    batch: async ({ n }: Record<string, Iterable<number>>) => {
      const numbers = [...n];
      await new Promise((resolve) => setTimeout(resolve, 1));
      await onCall(numbers[0]);
      const out = new Float32Array(numbers.length * DIMENSION);
      for (let position = 0; position < out.length; position++) {
        out[position] = item(numbers[Math.floor(position / DIMENSION)], position % DIMENSION);
      }
      return out;
    },
  };

  /** @param sizes rows of the fragments */
  async function fillWide(sizes: readonly number[], settings: object = {}): Promise<void> {
    await ns.close();
    ns = stage.open({ functions: { wide } });
    const table = { id: ["w"] };
    let from = 0;
    for (const size of sizes) {
      const n = vectorFromArray(Int32Array.from({ length: size }, (_, row) => from + row));
      if (from === 0) await ns.createTable(table, new Table({ n }));
      else await ns.insertIntoTable(table, new Table({ n }));
      from += size;
    }
    await ns.alterTableAddColumns({
      ...table,
      newColumns: [{ name: "v", virtualColumn: { udfName: "wide" } }],
    });
    before = await readdir(join(stage.root, "w.lance", "data"));
    const { jobId } = await ns.alterTableBackfillColumns({ ...table, column: "v", ...settings });
    await ns.waitForJob({ jobId });
  }

  const wideFiles = async (): Promise<string[]> =>
    (await readdir(join(stage.root, "w.lance", "data"))).filter((name) => !before.includes(name));

  async function expectWide(rowCount: number): Promise<void> {
    const table = tableFromIPC(await reference.readTable(stage.root, "w"));
    expect(table.numRows).toBe(rowCount);
    const [n, v] = ["n", "v"].map((name) => table.getChild(name)!);
    let wrong = 0;
    for (let row = 0; row < rowCount; row++) {
      const vector = v.get(row).toArray() as Float32Array;
      for (let position = 0; position < DIMENSION; position++)
        if (vector[position] !== item(n.get(row), position)) wrong++;
    }
    expect(wrong).toBe(0);
    expect(existsSync(checkpointsDirectory(join(stage.root, "w.lance")))).toBe(false);
  }

  it("is committed", async () => {
    const seen = new Set<string>();
    onCall = async () => {
      for (const name of await wideFiles()) seen.add(name);
    };
    await fillWide([MANY]);
    expect(seen.size).toBe(1);
    expect(await wideFiles()).toEqual([...seen]);
    await expectWide(MANY);
  });

  it("is written again from checkpoints if it is removed meanwhile", async () => {
    onCall = async (first) => {
      if (first < MANY - 1024) return;
      for (const name of await wideFiles()) await rm(join(stage.root, "w.lance", "data", name));
    };
    await fillWide([MANY]);
    expect((await wideFiles()).length).toBe(1);
    await expectWide(MANY);
  });

  it("exists for each of the fragments that are committed together", async () => {
    let most = 0;
    onCall = async (first) => {
      // The last call: values for the last file exist, and it is about to be made.
      if (first >= 6500 - 1024) await vi.waitFor(async () => expect((await wideFiles()).length).toBe(3));
      most = Math.max(most, (await wideFiles()).length);
    };
    await fillWide([2000, 3000, 1500], { commitGranularity: 16 });
    expect(most).toBe(3);
    expect((await wideFiles()).length).toBe(3);
    await expectWide(6500);
  });
});

it("copies later values that are much larger than the first ones", async () => {
  const long = {
    ...{ version: "1", inputs: ["n"], output: new Utf8(), retries: 0 },
    batch: async ({ n }: Record<string, Iterable<number>>) => {
      const numbers = [...n];
      await new Promise((resolve) => setTimeout(resolve, 1));
      await onCall(numbers[0]);
      return numbers.map((each) => (each < BATCH_ROWS ? null : String(each).padEnd(500_000, "x")));
    },
  };
  const seen: number[] = [];
  onCall = async () => {
    seen.push((await newFiles()).length);
  };
  await ns.close();
  ns = stage.open({ functions: { long } });
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "l", virtualColumn: { udfName: "long" } }] });
  await fill({ column: "l" });
  expect([Math.max(...seen), seen.at(-1), (await newFiles()).length]).toEqual([1, 1, 1]);
  const rows = [...(await stage.rowsThere())];
  const expected = (n: number) => (n < BATCH_ROWS ? null : String(n).padEnd(500_000, "x"));
  expect(rows.filter(({ n, l }) => l !== expected(n))).toEqual([]);
});

it("is removed if the function fails", async () => {
  let seen = 0;
  onCall = async (first) => {
    if (first !== ROWS - BATCH_ROWS) return;
    seen = (await newFiles()).length;
    throw new Error("no answer");
  };
  await expect(fill()).rejects.toThrow("no answer");
  expect([seen, await newFiles()]).toEqual([1, []]);
});

it("is removed if the job is cancelled", async () => {
  let seen = 0;
  const { promise: isReached, resolve: reached } = withResolvers();
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
