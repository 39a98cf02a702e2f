/** Files of columns outside of tables, as index builders write and read them. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as arrow from "apache-arrow";
import { CorruptFileError, DirectoryNamespace } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeBatch, toTable } from "../../src/arrow/exchange/batch.js";
import { type InputBatch, openInput } from "../../src/arrow/exchange/input.js";
import { TableSchemaValidationError } from "../../src/errors.js";
import type { FileVersion } from "../../src/file/container/page.js";
import { openDataFile, readGlobalBuffer } from "../../src/file/container/reader.js";
import type { PageSource } from "../../src/file/pages/pageRows.js";
import type { Disk } from "../../src/io/disk/disk.js";
import { HandlePool } from "../../src/io/disk/handles.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { LruCache } from "../../src/io/memory/cache.js";
import { ScratchMemory } from "../../src/io/memory/scratch.js";
import { planNewColumns } from "../../src/rows/columnPlan.js";
import { type FieldChain, type LeafPlan, planLeaves } from "../../src/rows/leafPlan.js";
import { columnsOfFile, openColumns, type RowSpan } from "../../src/rows/openColumns.js";
import { STREAMED } from "../../src/rows/readAhead.js";
import { type ReadOptions, readColumns } from "../../src/rows/readColumns.js";
import { takeColumns } from "../../src/rows/takeColumns.js";
import { type SingleFileOptions, type WrittenFile, writeColumns } from "../../src/rows/writeColumns.js";
import { swapDataFile } from "../file/swapDataFile.js";
import { bools, fieldOf, int32s, listOf, utf8s } from "../support/arrowColumns.js";
import { Random } from "../support/generators.js";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const MIB = 2 ** 20;
const VERSIONS = ["2.0", "2.1", "2.2"] as const;

let directory: string;
let disk: Disk;
let handles: HandlePool;
let source: PageSource;

beforeEach(async () => {
  directory = await makeTempDir();
  disk = new NodeDisk({ durability: "none" });
  handles = new HandlePool(disk);
  source = {
    handles,
    chunkMaps: new LruCache(MIB),
    pageChecks: new LruCache(MIB),
    scratch: new ScratchMemory(MIB),
  };
});

afterEach(() => handles.close());

/** Values with row ids, in several batches. Tables refuse columns of the second name. */
function entries(rowCount: number, batchRows = 10_000): arrow.Table {
  const random = new Random(7);
  const words = Array.from({ length: rowCount }, (_, row) =>
    row % 13 === 0 ? null : `word ${Math.floor(random.next() * 1e6)}`,
  );
  const ids = BigUint64Array.from({ length: rowCount }, (_, row) => BigInt(row) * 3n);
  const batches = [];
  for (let start = 0; start < rowCount; start += batchRows) {
    const columns = {
      value: utf8s(words.slice(start, start + batchRows)),
      _rowid: arrow.makeVector(ids.slice(start, start + batchRows)),
    };
    batches.push(...new arrow.Table(columns).batches);
  }
  return new arrow.Table(batches);
}

async function write(
  path: string,
  table: arrow.Table,
  version: FileVersion,
  options: Partial<SingleFileOptions> = {},
): Promise<WrittenFile> {
  const input = await openInput(table);
  return writeColumns(disk, path, planNewColumns(input.schema), input.batches, { version, ...options });
}

const open = (path: string) => handles.withHandle(path, (handle) => openDataFile(handle, path));

/** Opens some columns of a file, or all if none are named. */
async function openFile(path: string, names?: readonly (readonly string[])[]) {
  const file = await open(path);
  const { fields, file: places } = columnsOfFile(file);
  const chain = (segments: readonly string[]): FieldChain => {
    const chain: FieldChain[number][] = [];
    for (const name of segments) {
      const siblings = chain.at(-1)?.children ?? fields;
      chain.push(siblings.find((field) => field.name === name)!);
    }
    return chain;
  };
  const plan = planLeaves(names === undefined ? fields.map((field) => [field]) : names.map(chain));
  const stored = await openColumns([places], plan.leaves);
  const span: RowSpan = { stored, start: 0, end: file.rowCount, skipped: null };
  return { file, plan, stored, span };
}

/** Batches of a span as a table, and the positions of its rows. */
async function read(
  plan: LeafPlan,
  span: RowSpan,
  types: readonly arrow.DataType[],
  options: Partial<ReadOptions> = {},
): Promise<{ table: arrow.Table; positions: number[]; batches: number[] }> {
  const schema = new arrow.Schema(types.map((type, index) => fieldOf(`c${index}`, type)));
  const batches = [];
  const positions: number[] = [];
  const counts: number[] = [];
  const all = { batchRows: 4096, readAhead: STREAMED, ...options };
  for await (const batch of readColumns(source, plan, [span], all)) {
    const { start, picked } = batch.positions;
    for (let row = 0; row < batch.rowCount; row++) positions.push(start + (picked?.[row] ?? row));
    counts.push(batch.rowCount);
    batches.push(makeBatch(schema, batch.columns, batch.rowCount));
  }
  return { table: toTable(schema, batches), positions, batches: counts };
}

const valuesOf = (table: arrow.Table, column = 0): unknown[] => [...table.getChildAt(column)!];

describe.each(VERSIONS)("a file of two columns, version %s", (version) => {
  const ROWS = 50_000;
  const table = entries(ROWS);
  let path: string;

  beforeEach(async () => {
    path = join(directory, "page_data.lance");
    const { rowCount, byteLength } = await write(path, table, version);
    expect([rowCount, byteLength]).toEqual([ROWS, (await disk.stat(path))?.size]);
  });

  it("is read back in batches, with the positions of the rows", async () => {
    const { plan, span } = await openFile(path);
    const reading = await read(plan, span, [new arrow.Utf8(), new arrow.Uint64()]);
    expect(valuesOf(reading.table, 0)).toEqual(valuesOf(table, 0));
    expect(valuesOf(reading.table, 1)).toEqual(valuesOf(table, 1));
    expect(reading.positions).toEqual(Array.from({ length: ROWS }, (_, row) => row));
    expect(Math.max(...reading.batches)).toBe(4096);
  });

  it("is read column by column, and in part", async () => {
    const { plan, span } = await openFile(path, [["_rowid"]]);
    const skipped = Uint32Array.of(0, 20_001, 20_002, 29_999, 40_000);
    const reading = await read(plan, { ...span, start: 20_000, end: 30_000, skipped }, [new arrow.Uint64()]);
    const expected = Array.from({ length: 10_000 }, (_, row) => 20_000 + row).filter(
      (row) => !skipped.includes(row),
    );
    expect(reading.positions).toEqual(expected);
    expect(valuesOf(reading.table)).toEqual(expected.map((row) => BigInt(row) * 3n));
  });

  it("gives single rows", async () => {
    const { plan, stored } = await openFile(path);
    const positions = Uint32Array.from({ length: 200 }, (_, index) => index * 249 + (index % 3));
    const { columns, rowCount } = await takeColumns(source, plan, stored, positions);
    expect(rowCount).toBe(positions.length);
    const taken = toTable(table.schema, [makeBatch(table.schema, columns, rowCount)]);
    expect(valuesOf(taken, 0)).toEqual(Array.from(positions, (row) => table.getChildAt(0)!.get(row)));
    expect(valuesOf(taken, 1)).toEqual(Array.from(positions, (row) => BigInt(row) * 3n));
    await expect(takeColumns(source, plan, stored, Uint32Array.of(3, ROWS))).rejects.toThrow("row 50000");
  });

  it("stops a reading with the reason of an abort", async () => {
    const { plan, span, stored } = await openFile(path);
    const controller = new AbortController();
    const seen: number[] = [];
    const options = { batchRows: 1000, readAhead: STREAMED, signal: controller.signal };
    const run = async () => {
      for await (const { rowCount } of readColumns(source, plan, [span], options)) {
        seen.push(rowCount);
        if (seen.length === 3) controller.abort(new Error("enough"));
      }
    };
    await expect(run()).rejects.toThrow("enough");
    expect(seen).toEqual([1000, 1000, 1000]);
    const taking = takeColumns(source, plan, stored, Uint32Array.of(1), controller.signal);
    await expect(taking).rejects.toThrow("enough");
  });
});

describe("transient batches", () => {
  const ROWS = 140_000;
  const random = new Random(11);
  const numbers = Array.from({ length: ROWS }, () => Math.floor(random.next() * 1000));
  const table = new arrow.Table({
    plain: arrow.makeVector(Int32Array.from(numbers)),
    sparse: int32s(numbers.map((value) => (value % 7 === 0 ? null : value))),
    runs: arrow.makeVector(Float64Array.from(numbers, (_, row) => Math.floor(row / 5000))),
    wide: arrow.makeVector(Float64Array.from(numbers, (value) => value / 3)),
    text: utf8s(numbers.map((value, row) => `${value} of ${row}`)),
    flag: bools(numbers.map((value) => value % 3 === 0)),
  });
  const types = table.schema.fields.map(({ type }) => type);

  it.each([
    1000, 32_768, 50_000, 65_536, 200_000,
  ])("have the values of kept batches, %d rows at a time", async (batchRows) => {
    const path = join(directory, "many.lance");
    await write(path, table, "2.2");
    const { plan, span } = await openFile(path);
    const skipped = Uint32Array.from({ length: 5000 }, (_, index) => index * 31);
    const spans = [span, { ...span, start: 40_123, end: 139_000 }, { ...span, skipped }];
    for (const wanted of spans) {
      const { table: expected } = await read(plan, wanted, types, { batchRows });
      const options = { batchRows, readAhead: STREAMED, isTransient: true };
      let first = 0;
      for await (const { columns, rowCount } of readColumns(source, plan, [wanted], options)) {
        expect(rowCount).toBeLessThanOrEqual(batchRows);
        const batch = toTable(expected.schema, [makeBatch(expected.schema, columns, rowCount)]);
        for (const [index] of types.entries()) {
          const batchValues = expected
            .getChildAt(index)!
            .slice(first, first + rowCount)
            .toArray();
          // `toEqual` takes seconds.
          const got = [...batch.getChildAt(index)!.toArray()];
          expect([batchRows, index, isDeepStrictEqual(got, [...batchValues])]).toEqual([
            batchRows,
            index,
            true,
          ]);
        }
        first += rowCount;
      }
      expect(first).toBe(expected.numRows);
    }
  });
});

describe("the writer of a file of columns", () => {
  it("keeps global buffers and metadata that name them", async () => {
    const path = join(directory, "index.idx");
    const model = Uint8Array.from({ length: 1000 }, (_, index) => index);
    await write(path, entries(100), "2.2", {
      beforeEnd: async (file) => {
        file.addMetadata("model", String(await file.addGlobalBuffer(model)));
        file.addMetadata("codebook", String(await file.addGlobalBuffer(new Uint8Array(0))));
      },
    });
    const file = await open(path);
    const text = (name: string) => new TextDecoder().decode(file.descriptor.schema?.metadata.get(name));
    expect([text("model"), text("codebook")]).toEqual(["1", "2"]);
    expect(file.globalBuffers[1]!.byteOffset % 64).toBe(0);
    const buffer = (number: number) =>
      handles.withHandle(path, (handle) => readGlobalBuffer(handle, file, number));
    expect(await buffer(1)).toEqual(model);
    expect(await buffer(2)).toEqual(new Uint8Array(0));
    await expect(buffer(3)).rejects.toThrow(CorruptFileError);
    const { plan, span } = await openFile(path);
    expect((await read(plan, span, [new arrow.Utf8(), new arrow.Uint64()])).table.numRows).toBe(100);
  });

  it("lets readers find damage to a global buffer by its checksum", async () => {
    const path = join(directory, "index.idx");
    await write(path, entries(100), "2.2", {
      beforeEnd: async (file) => void (await file.addGlobalBuffer(new Uint8Array(1000))),
    });
    const { globalBuffers } = await open(path);
    const bytes = await readFile(path);
    bytes[globalBuffers[1]!.byteOffset + 500]! ^= 1;
    const damaged = join(directory, "damaged.idx");
    await writeFile(damaged, bytes);
    const file = await open(damaged);
    const reading = handles.withHandle(damaged, (handle) => readGlobalBuffer(handle, file, 1));
    await expect(reading).rejects.toThrow("checksum");
  });

  it("makes a file without rows", async () => {
    const path = join(directory, "empty.lance");
    const { schema } = entries(1);
    await writeColumns(disk, path, planNewColumns(schema), (async function* () {})(), { version: "2.2" });
    const { plan, span, file } = await openFile(path);
    expect(file.rowCount).toBe(0);
    expect((await read(plan, span, [new arrow.Utf8(), new arrow.Uint64()])).batches).toEqual([]);
  });

  it.each(VERSIONS)("takes nested columns, and reads parts of them, in version %s", async (version) => {
    const path = join(directory, "nested.lance");
    const type = new arrow.Struct<{ words: arrow.List<arrow.Utf8>; number: arrow.Int32 }>([
      fieldOf("words", listOf(new arrow.Utf8())),
      fieldOf("number", new arrow.Int32()),
    ]);
    const values = Array.from({ length: 3000 }, (_, row) => ({
      words: Array.from({ length: row % 4 }, (_, word) => `${row}/${word}`),
      number: row % 7 === 0 ? null : row,
    }));
    await write(path, new arrow.Table({ top: arrow.vectorFromArray(values, type) }), version);
    const { plan, span, stored } = await openFile(path, [
      ["top", "number"],
      ["top", "words"],
    ]);
    const reading = await read(plan, span, [new arrow.Int32(), type.children[0]!.type]);
    expect(valuesOf(reading.table)).toEqual(values.map(({ number }) => number));
    const lists = valuesOf(reading.table, 1) as Iterable<string>[];
    expect(lists.map((list) => [...list])).toEqual(values.map(({ words }) => words));
    const taken = await takeColumns(source, plan, stored, Uint32Array.of(8, 2999));
    expect(taken.columns.map(({ length }) => length)).toEqual([2, 2]);
  });

  it("leaves no file after rows that do not fit, a failing input, or an abort", async () => {
    const { schema, batches } = entries(30_000);
    const plan = planNewColumns(schema);
    const failing = async function* (): AsyncGenerator<InputBatch, void, undefined> {
      for await (const batch of (await openInput(new arrow.Table(batches.slice(0, 2)))).batches) yield batch;
      throw new Error("the input failed");
    };
    const path = join(directory, "never.lance");
    const failed = writeColumns(disk, path, plan, failing(), { version: "2.2" });
    await expect(failed).rejects.toThrow("the input failed");
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(write(path, entries(10), "2.2", { signal })).rejects.toThrow("enough");
    const strict = new arrow.Schema([fieldOf("value", new arrow.Utf8(), false), schema.fields[1]!]);
    const input = await openInput(entries(10));
    const refused = writeColumns(disk, path, planNewColumns(strict), input.batches, { version: "2.2" });
    await expect(refused).rejects.toThrow(TableSchemaValidationError);
    expect(await readdir(directory)).toEqual([]);
  });
});

describe("columns of data files of tables", () => {
  it("have the rows that a scan returns", async () => {
    const namespace = new DirectoryNamespace({ root: directory, durability: "none" });
    const table = arrow.tableFromArrays({ number: Int32Array.from({ length: 20_000 }, (_, row) => row * 2) });
    await namespace.createTable({ id: ["t"] }, arrow.tableToIPC(table));
    await namespace.close();
    const data = join(directory, "t.lance", "data");
    const [name] = await readdir(data);
    const { plan, span } = await openFile(join(data, name!), [["number"]]);
    const reading = await read(plan, span, [new arrow.Int32()]);
    expect(valuesOf(reading.table)).toEqual(valuesOf(table));
  });

  it("are read by the reference, with their global buffers", async () => {
    const rowsTimes = (factor: number) =>
      arrow.tableFromArrays({
        number: Int32Array.from({ length: 5000 }, (_, row) => row * factor),
        counterpart: Float64Array.from({ length: 5000 }, (_, row) => row / factor),
      });
    const table = rowsTimes(2);
    await reference.createTable(directory, "t", arrow.tableToIPC(rowsTimes(3), "stream"), {
      dataStorageVersion: "2.2",
    });
    await swapDataFile(disk, join(directory, "t.lance"), table, "2.2", async (_, path, rows, version) => {
      const beforeEnd: SingleFileOptions["beforeEnd"] = async (file) => {
        file.addMetadata("model", String(await file.addGlobalBuffer(new Uint8Array(100).fill(7))));
      };
      return (await write(path, rows, version, { beforeEnd })).byteLength;
    });
    compareTables(table, await reference.readTable(directory, "t"), { metadata: false });
  });
});
