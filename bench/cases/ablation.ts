/**
 * Shows what each optimization wins: the engine against itself with one of them switched off ("tiltyard,
 * plain"). Kernels give way to the loops of runtimes without WebAssembly, and short disk calls go to the
 * thread pool like slow ones.
 *
 * The cases run the engine's source, not the package, which does not export the switches. Searches and builds
 * of indexes have no threads, whose kernels the switches do not reach.
 */

import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Field, Int64, makeData, RecordBatch, Schema, Table, Vector } from "apache-arrow";
import type { KernelSwitch } from "../../src/bytes/wasm/kernel.js";
import { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import { unitKernels } from "../../src/expression/kernels/chunkKernel.js";
import { compareKernels } from "../../src/expression/kernels/compareKernel.js";
import { integerSetKernel } from "../../src/expression/kernels/integerSetKernel.js";
import { textKernelUse } from "../../src/expression/kernels/textKernel.js";
import { bitUnpackers } from "../../src/file/compression/bitpack.js";
import { bitPackers } from "../../src/file/compression/bitpackEncoder.js";
import { fsstDecoder } from "../../src/file/compression/fsstDecodeKernel.js";
import { fsstEncoder } from "../../src/file/compression/fsstEncodeKernel.js";
import { wordKernelSwitch } from "../../src/indexes/text/wordNumbers.js";
import { codebookKernelUse } from "../../src/indexes/vector/codes/codebookKernel.js";
import { codeSumsKernelUse } from "../../src/indexes/vector/codes/codeSumsKernel.js";
import { stepSquaresKernelUse } from "../../src/indexes/vector/codes/stepSquaresKernel.js";
import { distanceKernels } from "../../src/indexes/vector/distance/distanceKernel.js";
import { nearestKernelUse } from "../../src/indexes/vector/distance/nearestKernel.js";
import { spaceKernelUse } from "../../src/indexes/vector/distance/vectorSpace.js";
import { walkSwitch } from "../../src/indexes/vector/graph/walkKernel.js";
import { sketchSwitch } from "../../src/indexes/vector/sketches/sketchKernels.js";
import { type CallRoute, lockCalls, shortCalls } from "../../src/io/disk/callRoute.js";
import type { CreateTableIndexRequest } from "../../src/namespace/indexes.js";
import type { BenchCase, PreparedCase, Side, Size } from "../case.js";
import { byteLength, type ColumnName, makeRows } from "../data.js";
import { tiltyardTable } from "../sides.js";
import { textRows } from "../textData.js";
import { queryVectors, rowsFrom } from "../vectorData.js";

const TABLE = { id: ["t"] };

const open = (root: string): DirectoryNamespace => new DirectoryNamespace({ root, durability: "none" });

/** Work of both sides, each below its own root. */
interface Workload extends Pick<PreparedCase, "work" | "bytes">, Omit<Side, "name"> {
  /** Directory of the side's data files, if their size is of interest. */
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
  (...switched: KernelSwitch[]) =>
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

/** Counts the rows whose number meets a predicate. */
const countNumbers =
  (makeTable: (size: Size) => Rows, predicate: string, isCounted: (value: number | bigint) => boolean) =>
  async (root: string, size: Size): Promise<Workload> => {
    const ns = open(root);
    const { table, bytes } = makeTable(size);
    await ns.createTable(TABLE, table);
    const expected = [...(table.getChildAt(0)?.toArray() ?? [])].filter(isCounted).length;
    return {
      work: { amount: table.numRows, unit: "rows" },
      bytes,
      async run() {
        expectRows(await ns.countTableRows({ ...TABLE, predicate }), expected);
      },
      close: () => ns.close(),
    };
  };

/** Builds an index of words. */
async function buildWords(root: string, size: Size): Promise<Workload> {
  const rowCount = size === "large" ? 100_000 : 200;
  const ns = openInline(root);
  await ns.createTable(TABLE, textRows(0, rowCount));
  return {
    work: { amount: rowCount, unit: "rows" },
    async run() {
      await buildIndex(ns, { column: "text", indexType: "FTS" });
    },
    close: () => ns.close(),
  };
}

/** An index on vectors, and the settings of its searches. */
interface VectorIndex {
  readonly indexType: "IVF_FLAT" | "IVF_SQ" | "IVF_PQ" | "IVF_HNSW_SQ" | "IVF_HNSW_PQ";
  readonly rowCount: number;
  readonly numPartitions?: number;
  readonly nprobes?: number;
  readonly ef?: number;
}

const vectorIndex = ({ indexType, numPartitions = 1 }: VectorIndex, size: Size) => ({
  ...{ column: "v", indexType, distanceType: "l2" as const },
  numPartitions: size === "large" ? numPartitions : 1,
  ...(indexType.endsWith("PQ") && { numSubVectors: 16 }),
});

/** Builds an index of vectors. */
const buildVectors =
  (index: VectorIndex) =>
  async (root: string, size: Size): Promise<Workload> => {
    const rowCount = size === "large" ? index.rowCount : 600;
    const ns = openInline(root);
    await ns.createTable(TABLE, rowsFrom(0, rowCount));
    return {
      work: { amount: rowCount, unit: "rows" },
      run: () => buildIndex(ns, vectorIndex(index, size)),
      close: () => ns.close(),
    };
  };

/** Finds the rows nearest to each of 64 vectors, one after another. */
const searchVectors =
  (index: VectorIndex | null, rowCount: number, vectorCacheBytes?: number) =>
  async (root: string, size: Size): Promise<Workload> => {
    const ns = openInline(root, vectorCacheBytes);
    await ns.createTable(TABLE, rowsFrom(0, size === "large" ? rowCount : 600));
    if (index !== null) await buildIndex(ns, vectorIndex(index, size));
    const { nprobes, ef } = index ?? {};
    const vector = queryVectors();
    return {
      work: { amount: 64, unit: "calls" },
      async run() {
        for (let query = 0; query < 64; query++) {
          const request = { ...TABLE, vector: vector(), k: 10, distanceType: "l2", columns: ["id"] } as const;
          const result = await ns.queryTable({ ...request, nprobes, ef });
          expectRows((await result.toArrow()).numRows, 10);
        }
      },
      close: () => ns.close(),
    };
  };

const openInline = (root: string, vectorCacheBytes?: number): DirectoryNamespace =>
  new DirectoryNamespace({ root, durability: "none", workers: 0, vectorCacheBytes });

async function buildIndex(ns: DirectoryNamespace, index: Omit<CreateTableIndexRequest, "id">): Promise<void> {
  const { jobId } = await ns.createTableIndex({
    ...TABLE,
    ...index,
    replace: true,
  } as CreateTableIndexRequest);
  const { state, error } = await ns.waitForJob({ jobId });
  if (state !== "Succeeded") throw new Error(`the build ended as ${state}: ${error?.message}`);
}

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
/** Integers of the whole range of 64 bits, which pages store unpacked. */
const wideIntegers = (size: Size): Rows => {
  const values = new BigInt64Array(size === "large" ? 5_000_000 : 3000);
  const words = new Uint32Array(values.buffer);
  let state = 1;
  for (let word = 0; word < words.length; word++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    words[word] = state;
  }
  const data = makeData({ type: new Int64(), length: values.length, data: values });
  return { table: new Table({ wide: new Vector([data]) }), bytes: values.byteLength };
};
/** Greater than about 1 % of them. */
const WIDE_BOUND = -9_038_904_596_117_680_291n;
const PARTITIONS = { rowCount: 100_000, numPartitions: 64, nprobes: 8 };
const GRAPH = { rowCount: 20_000, nprobes: 1, ef: 50 };
const often = { small: 4, large: 200 };
const seldom = { small: 2, large: 15 };
const few = { small: 1, large: 5 };

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
    name: "comparing kernels for chunks: count of 1 % of 5,000,000 integers below 1,000",
    rounds: seldom,
    collectFirst: true,
    setOn: kernels(...Object.values(unitKernels).flatMap((uses) => Object.values(uses))),
    prepare: countNumbers(integers, "count < 10", (value) => value < 10),
  },
  {
    name: "comparing kernels: count of 1 % of 5,000,000 integers of 64 bits",
    rounds: seldom,
    collectFirst: true,
    setOn: kernels(...Object.values(compareKernels).flatMap((uses) => Object.values(uses))),
    prepare: countNumbers(wideIntegers, `wide < ${WIDE_BOUND}`, (value) => value < WIDE_BOUND),
  },
  {
    name: "integer set kernel: count with IN of 5,000,000 integers below 1,000",
    rounds: seldom,
    collectFirst: true,
    setOn: kernels(integerSetKernel),
    prepare: countNumbers(integers, "count in (3, 77, 150, 151, 400, 999)", (value) =>
      [3, 77, 150, 151, 400, 999].includes(Number(value)),
    ),
  },
  {
    name: "word kernel: build of FTS, 100,000 texts",
    rounds: few,
    collectFirst: true,
    setOn: kernels(wordKernelSwitch),
    prepare: buildWords,
  },
  {
    name: "distance kernels: nearest 10 by l2, 20,000 × 128",
    rounds: few,
    setOn: kernels(...Object.values(distanceKernels).flatMap((uses) => Object.values(uses))),
    prepare: searchVectors(null, 20_000, 0),
  },
  {
    name: "sketch kernels: nearest 10 by l2, 20,000 × 128",
    rounds: few,
    setOn: kernels(sketchSwitch),
    prepare: searchVectors(null, 20_000),
  },
  {
    name: "sketch kernels: nearest 10 by IVF_FLAT, 100,000 × 128",
    rounds: few,
    setOn: kernels(sketchSwitch),
    prepare: searchVectors({ indexType: "IVF_FLAT", ...PARTITIONS }, 100_000),
  },
  {
    name: "nearest centroid kernels: build of IVF_FLAT, 100,000 × 128",
    rounds: few,
    collectFirst: true,
    setOn: kernels(nearestKernelUse),
    prepare: buildVectors({ indexType: "IVF_FLAT", ...PARTITIONS }),
  },
  {
    name: "codebook kernel: nearest 10 by IVF_PQ, 100,000 × 128",
    rounds: few,
    setOn: kernels(codebookKernelUse),
    prepare: searchVectors({ indexType: "IVF_PQ", ...PARTITIONS }, 100_000),
  },
  {
    name: "code sums kernel: nearest 10 by IVF_PQ, 100,000 × 128",
    rounds: few,
    setOn: kernels(codeSumsKernelUse),
    prepare: searchVectors({ indexType: "IVF_PQ", ...PARTITIONS }, 100_000),
  },
  {
    name: "step squares kernel: nearest 10 by IVF_SQ, 100,000 × 128",
    rounds: few,
    setOn: kernels(stepSquaresKernelUse),
    prepare: searchVectors({ indexType: "IVF_SQ", ...PARTITIONS }, 100_000),
  },
  {
    name: "space kernels: build of IVF_HNSW_SQ, 20,000 × 128",
    rounds: few,
    collectFirst: true,
    setOn: kernels(spaceKernelUse),
    prepare: buildVectors({ indexType: "IVF_HNSW_SQ", ...GRAPH }),
  },
  {
    name: "walk kernel: build of IVF_HNSW_SQ, 20,000 × 128",
    rounds: few,
    collectFirst: true,
    setOn: kernels(walkSwitch),
    prepare: buildVectors({ indexType: "IVF_HNSW_SQ", ...GRAPH }),
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
