/**
 * What each optimization wins: the engine against itself with one of them switched off ("tiltyard, plain"). Kernels give
 * way to the loops that runtimes without WebAssembly use, and short disk calls go to the thread pool as slow ones do.
 *
 * The engine is that of the source, not of the package: the switches are no part of what the package exports.
 */

import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Field, RecordBatch, Schema, Table } from "apache-arrow";
import type { KernelUse } from "../../src/bytes/wasm/kernel.js";
import { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import { compareKernels } from "../../src/expression/kernels/compareKernel.js";
import { textKernelUse } from "../../src/expression/kernels/textKernel.js";
import { bitPackers, bitUnpackers } from "../../src/file/compression/bitpack.js";
import { fsstDecoder } from "../../src/file/compression/fsstDecodeKernel.js";
import { fsstEncoder } from "../../src/file/compression/fsstEncodeKernel.js";
import { type CallRoute, lockCalls, shortCalls } from "../../src/io/disk/callRoute.js";
import type { BenchCase, PreparedCase, Side, Size } from "../case.js";
import { byteLength, type ColumnName, makeRows } from "../data.js";
import { tiltyardTable } from "../sides.js";

const TABLE = { id: ["t"] };

const open = (root: string): DirectoryNamespace => new DirectoryNamespace({ root, durability: "none" });

/** What both sides do, each below a root of its own. */
interface Workload extends Pick<PreparedCase, "work" | "bytes">, Omit<Side, "name"> {
  /** Where the side's data files lie, if their size is of interest. */
  readonly written?: string;
  close(): Promise<void>;
}

interface Ablation {
  readonly name: string;
  readonly rounds: BenchCase["rounds"];
  readonly collectFirst?: boolean;
  /** Switches the optimization. */
  setOn(isOn: boolean): void;
  prepare(root: string, size: Size, isOn: boolean): Promise<Workload>;
}

function ablationCase({ name, rounds, collectFirst, setOn, prepare }: Ablation): BenchCase {
  return {
    area: "ablation",
    name,
    rounds,
    collectFirst,
    async prepare(directory, size) {
      const withIt = await prepare(join(directory, "with"), size, true);
      const without = await prepare(join(directory, "without"), size, false);
      const side = (sideName: Side["name"], isOn: boolean, { reset, run }: Workload): Side => ({
        name: sideName,
        async reset() {
          await reset?.();
          setOn(isOn);
        },
        run,
      });
      return {
        work: withIt.work,
        bytes: withIt.bytes,
        sides: [side("tiltyard", true, withIt), side("tiltyard, plain", false, without)],
        fileBytes: async () => ({
          tiltyard: await bytesOf(withIt),
          "tiltyard, plain": await bytesOf(without),
        }),
        async close() {
          // Other cases may follow in this process.
          setOn(true);
          await withIt.close();
          await without.close();
        },
      };
    },
  };
}

async function bytesOf({ written }: Workload): Promise<number | undefined> {
  if (written === undefined) return undefined;
  let bytes = 0;
  for (const name of await readdir(written)) bytes += (await stat(join(written, name))).size;
  return bytes;
}

// ------------------------------------------------------------------------------------------------- switches

const routes =
  (...switched: CallRoute[]) =>
  (isOn: boolean): void => {
    for (const route of switched) route.pooledUntilMs = isOn ? 0 : Number.POSITIVE_INFINITY;
  };

const kernels =
  (...switched: KernelUse<unknown>[]) =>
  (isOn: boolean): void => {
    for (const kernel of switched) kernel.isOn = isOn;
  };

const allCalls = routes(shortCalls, lockCalls);

// ------------------------------------------------------------------------------------------------ workloads

async function appendOneRow(root: string): Promise<Workload> {
  const ns = open(root);
  const row = tiltyardTable(makeRows(1, 1));
  await ns.createTable(TABLE, row);
  return {
    work: { amount: 1, unit: "rows" },
    async run() {
      await ns.insertIntoTable(TABLE, row);
    },
    close: () => ns.close(),
  };
}

async function openAndCount(root: string): Promise<Workload> {
  const ns = open(root);
  await ns.createTable(TABLE, tiltyardTable(makeRows(100, 1)));
  await ns.close();
  return {
    work: { amount: 1, unit: "calls" },
    async run() {
      const fresh = open(root);
      expectRows(await fresh.countTableRows(TABLE), 100);
      await fresh.close();
    },
    async close() {},
  };
}

async function describeTable(root: string): Promise<Workload> {
  const ns = open(root);
  await ns.createTable(TABLE, tiltyardTable(makeRows(100, 1)));
  return {
    work: { amount: 1, unit: "calls" },
    async run() {
      await ns.describeTable(TABLE);
    },
    close: () => ns.close(),
  };
}

/** Every run takes other rows. */
const take =
  (columns: readonly ColumnName[], taken: number) =>
  async (root: string, size: Size): Promise<Workload> => {
    const ns = open(root);
    const rowCount = size === "large" ? 1_000_000 : 2000;
    await ns.createTable(TABLE, tiltyardTable(makeRows(rowCount, 1, columns)));
    let state = 1;
    return {
      work: { amount: taken, unit: "rows" },
      async run() {
        const rows = Array.from({ length: taken }, () => {
          state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
          return Math.floor((state / 2 ** 32) * rowCount);
        });
        expectRows((await ns.table(["t"]).take(rows, columns)).numRows, taken);
      },
      close: () => ns.close(),
    };
  };

async function scanFragments(root: string, size: Size): Promise<Workload> {
  const [fragments, rowCount] = size === "large" ? [200, 1000] : [4, 10];
  const columns = ["id", "label"] as const;
  const ns = open(root);
  await ns.createTable(TABLE, tiltyardTable(makeRows(rowCount, 0, columns)));
  for (let seed = 1; seed < fragments; seed++) {
    await ns.insertIntoTable(TABLE, tiltyardTable(makeRows(rowCount, seed, columns)));
  }
  await ns.close();
  return {
    work: { amount: fragments * rowCount, unit: "rows" },
    async run() {
      const fresh = open(root);
      const result = await fresh.queryTable(TABLE);
      expectRows((await result.toArrow()).numRows, fragments * rowCount);
      await fresh.close();
    },
    async close() {},
  };
}

const scan =
  (makeTable: (size: Size) => Rows) =>
  async (root: string, size: Size): Promise<Workload> => {
    const ns = open(root);
    const { table, bytes } = makeTable(size);
    await ns.createTable(TABLE, table);
    return {
      work: { amount: table.numRows, unit: "rows" },
      bytes,
      async run() {
        const result = await ns.queryTable(TABLE);
        expectRows((await result.toArrow()).numRows, table.numRows);
      },
      written: join(root, "t.lance", "data"),
      close: () => ns.close(),
    };
  };

/** Asks for texts with a word of few syllables. */
const countLike =
  (makeTable: (size: Size) => Rows) =>
  async (root: string, size: Size): Promise<Workload> => {
    const ns = open(root);
    const { table, bytes } = makeTable(size);
    await ns.createTable(TABLE, table);
    const texts = Array.from(table.getChildAt(0) ?? [], String);
    const expected = texts.filter((text) => text.includes("velqui")).length;
    return {
      work: { amount: table.numRows, unit: "rows" },
      bytes,
      async run() {
        expectRows(await ns.countTableRows({ ...TABLE, predicate: "label like '%velqui%'" }), expected);
      },
      close: () => ns.close(),
    };
  };

/** Asks for one value of a hundred, of a column of integers. */
const countSmall =
  (makeTable: (size: Size) => Rows) =>
  async (root: string, size: Size): Promise<Workload> => {
    const ns = open(root);
    const { table, bytes } = makeTable(size);
    await ns.createTable(TABLE, table);
    const expected =
      table
        .getChildAt(0)
        ?.toArray()
        .filter((value: number) => value < 10).length ?? 0;
    return {
      work: { amount: table.numRows, unit: "rows" },
      bytes,
      async run() {
        expectRows(await ns.countTableRows({ ...TABLE, predicate: "count < 10" }), expected);
      },
      close: () => ns.close(),
    };
  };

/** An engine per run, as the table it knew is gone with the directory. */
const write =
  (makeTable: (size: Size) => Rows) =>
  async (root: string, size: Size): Promise<Workload> => {
    const { table, bytes } = makeTable(size);
    return {
      work: { amount: table.numRows, unit: "rows" },
      bytes,
      async reset() {
        await rm(join(root, "t.lance"), { recursive: true, force: true });
      },
      async run() {
        const ns = open(root);
        await ns.createTable(TABLE, table);
        await ns.close();
      },
      written: join(root, "t.lance", "data"),
      async close() {},
    };
  };

/** Rows with the bytes that they take in memory. */
interface Rows {
  readonly table: Table;
  readonly bytes: number;
}

const rowsOf =
  (rowCount: number, column: ColumnName) =>
  (size: Size): Rows => {
    const rows = makeRows(size === "large" ? rowCount : 3000, 1, [column]);
    return { table: tiltyardTable(rows), bytes: byteLength(rows) };
  };

/** Long texts, in a column that asks for a compression. */
const documents =
  (compression: "zstd" | "lz4") =>
  (size: Size): Rows => {
    const rows = makeRows(size === "large" ? 1000 : 3, 1, ["document"]);
    const plain = tiltyardTable(rows);
    const [{ name, type }] = plain.schema.fields;
    const metadata = new Map([["lance-encoding:compression", compression]]);
    const schema = new Schema([new Field(name, type, false, metadata)]);
    const table = new Table(plain.batches.map(({ data }) => new RecordBatch(schema, data)));
    return { table, bytes: byteLength(rows) };
  };

/** Without an encoder for ZSTD there is LZ4; no switch is needed, because columns ask for either. */
const zstdOrLz4 =
  (workload: typeof scan) =>
  (root: string, size: Size, isOn: boolean): Promise<Workload> =>
    workload(documents(isOn ? "zstd" : "lz4"))(root, size);

function expectRows(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`${actual} rows instead of ${expected}`);
}

const strings = rowsOf(1_000_000, "label");
const integers = rowsOf(5_000_000, "count");
const often = { small: 4, large: 200 };
const seldom = { small: 2, large: 15 };

const ABLATIONS: readonly Ablation[] = [
  { name: "calls in line: append 1 row", rounds: often, setOn: allCalls, prepare: appendOneRow },
  { name: "calls in line: open + count", rounds: often, setOn: allCalls, prepare: openAndCount },
  { name: "calls in line: describe", rounds: often, setOn: allCalls, prepare: describeTable },
  {
    name: "calls in line: 100 of 1,000,000 rows: int64",
    rounds: often,
    setOn: allCalls,
    prepare: take(["id"], 100),
  },
  {
    name: "calls in line: 1,000 of 1,000,000 rows: utf8",
    rounds: { small: 2, large: 60 },
    setOn: allCalls,
    prepare: take(["label"], 1000),
  },
  {
    name: "calls in line: scan of 200 fragments of 1000 rows, opened anew",
    rounds: seldom,
    setOn: allCalls,
    prepare: scanFragments,
  },
  {
    name: "calls in line, of locks only: append 1 row",
    rounds: often,
    setOn: routes(lockCalls),
    prepare: appendOneRow,
  },
  {
    name: "FSST decoding kernel: scan of 1,000,000 strings",
    rounds: seldom,
    collectFirst: true,
    setOn: kernels(fsstDecoder),
    prepare: scan(strings),
  },
  {
    name: "FSST encoding kernel: write of 1,000,000 strings",
    rounds: seldom,
    collectFirst: true,
    setOn: kernels(fsstEncoder),
    prepare: write(strings),
  },
  {
    name: "unpacking kernels: scan of 5,000,000 integers below 1,000",
    rounds: seldom,
    collectFirst: true,
    setOn: kernels(...Object.values(bitUnpackers)),
    prepare: scan(integers),
  },
  {
    name: "comparing kernels: count of 1 % of 5,000,000 integers below 1,000",
    rounds: seldom,
    collectFirst: true,
    setOn: kernels(...Object.values(compareKernels).flatMap((uses) => Object.values(uses))),
    prepare: countSmall(integers),
  },
  {
    name: "text kernel: count with LIKE of 1,000,000 strings",
    rounds: seldom,
    collectFirst: true,
    setOn: kernels(textKernelUse),
    prepare: countLike(strings),
  },
  {
    name: "packing kernels: write of 5,000,000 integers below 1,000",
    rounds: seldom,
    collectFirst: true,
    setOn: kernels(...Object.values(bitPackers)),
    prepare: write(integers),
  },
  {
    name: "ZSTD, plain is LZ4: write of 1,000 texts of 48 KiB",
    rounds: seldom,
    collectFirst: true,
    setOn: () => undefined,
    prepare: zstdOrLz4(write),
  },
  {
    name: "ZSTD, plain is LZ4: scan of 1,000 texts of 48 KiB",
    rounds: seldom,
    collectFirst: true,
    setOn: () => undefined,
    prepare: zstdOrLz4(scan),
  },
];

export const ablationCases: readonly BenchCase[] = ABLATIONS.map(ablationCase);
