/** Rows that are valid only during the writer's call make the same file as lasting rows. */

import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import { takeColumn } from "../../../src/arrow/columns/takeColumn.js";
import type { WorkerPool } from "../../../src/async/workerPool.js";
import { InternalError } from "../../../src/errors.js";
import type { FileColumn } from "../../../src/file/container/page.js";
import { openDataFile } from "../../../src/file/container/reader.js";
import { DataFileWriter, type WriterOptions } from "../../../src/file/writing/writer.js";
import { Schema } from "../../../src/format/file.js";
import { ScratchMemory } from "../../../src/io/memory/scratch.js";
import { readColumns } from "../dataFiles.js";
import { asDisk, MemoryDisk } from "../memoryDisk.js";
import { lendingPool, SlowDisk } from "./lendingPool.js";

const LAYOUTS = [
  { kind: "variable", offsetBits: 32, text: true },
  { kind: "fixed", byteWidth: 8 },
  { kind: "fixed", byteWidth: 4 },
  { kind: "fixedSizeList", dimension: 16, item: { kind: "fixed", byteWidth: 4 } },
] as const;
const COLUMNS: readonly FileColumn[] = LAYOUTS.map((layout, index) => ({
  fieldId: index,
  path: `c${index}`,
  layout,
  nullable: true,
  metadata: new Map(),
}));

/** Texts, numbers with and without nulls, a constant, and vectors. */
function rows(from: number, length: number): Column[] {
  const texts = Array.from({ length }, (_, row) =>
    (from + row) % 11 === 0 ? "" : `the text of row ${((from + row) * 7919) % 100_003}`,
  );
  const offsets = new Int32Array(length + 1);
  for (let row = 0; row < length; row++) offsets[row + 1] = offsets[row] + texts[row].length;
  const numbers = Float64Array.from({ length }, (_, row) => Math.sin(from + row) * 1e9);
  const items = Float32Array.from({ length: length * 16 }, (_, item) => Math.cos(from * 16 + item));
  const bytes = new Uint8Array(Math.ceil(length / 8));
  let nullCount = 0;
  for (let row = 0; row < length; row++) {
    if ((from + row) % 11 === 0) nullCount++;
    else bytes[row >>> 3] |= 1 << (row & 7);
  }
  const validity = nullCount === 0 ? null : { bytes, bitOffset: 0, nullCount };
  const fixed = (byteWidth: number, values: Uint8Array, count = length) =>
    ({ kind: "fixed", length: count, validity: null, byteWidth, values }) as const;
  return [
    { kind: "variable", length, validity, offsets, bytes: new TextEncoder().encode(texts.join("")) },
    fixed(8, new Uint8Array(numbers.buffer)),
    { ...fixed(4, new Uint8Array(Int32Array.from({ length }, () => 7).buffer)) },
    {
      kind: "fixedSizeList",
      length,
      validity: null,
      dimension: 16,
      items: fixed(4, new Uint8Array(items.buffer), length * 16),
    },
  ];
}

function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (ArrayBuffer.isView(value)) new Uint8Array(value.buffer).fill(0xee);
  else for (const member of Object.values(value)) spoil(member);
}

const create = (disk: MemoryDisk, options?: WriterOptions) =>
  DataFileWriter.create(asDisk(disk), "/f", COLUMNS, Schema.create({}), "2.2", options);

/** Replaces each array of a column by a digest, from its first row on. */
function outline(column: Column): string {
  const every = Uint32Array.from({ length: column.length }, (_, row) => row);
  return JSON.stringify(takeColumn(column, every), (_, value) =>
    ArrayBuffer.isView(value)
      ? createHash("sha1")
          .update(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
          .digest("hex")
      : value,
  );
}

/** @param batches true for each batch that is valid only during the call */
async function write(
  batches: readonly (readonly [rowCount: number, isTransient: boolean])[],
  options?: WriterOptions,
): Promise<string[]> {
  const disk = new SlowDisk();
  const writer = await create(disk, options);
  let from = 0;
  for (const [rowCount, isTransient] of batches) {
    const columns = rows(from, rowCount);
    await writer.write(columns, rowCount, isTransient);
    if (isTransient) for (const column of columns) spoil(column);
    from += rowCount;
  }
  await writer.finish();
  const handle = await asDisk(disk).open("/f");
  if (handle === null) throw new Error("no file");
  const file = await openDataFile(handle, "/f");
  return (await readColumns(handle, file, LAYOUTS)).map(outline);
}

const SIZES = [
  ...Array.from({ length: 60 }, (_, batch) => 500 + 37 * batch),
  90_000,
  3,
  ...Array.from({ length: 40 }, () => 1000),
];
const ROW_COUNT = SIZES.reduce((sum, rowCount) => sum + rowCount, 0);
const expected = rows(0, ROW_COUNT).map(outline);

it("transient batches make the same file as kept ones", async () => {
  const passing = SIZES.map((rowCount) => [rowCount, true] as const);
  const mixed = SIZES.map((rowCount, batch) => [rowCount, batch % 7 < 4] as const);
  expect(await write(passing)).toEqual(expected);
  expect(await write(mixed, { expectedRows: 1000 })).toEqual(expected);
  expect(await write(passing, { expectedRows: 10_000_000 })).toEqual(expected);
});

it("copies lie in memory of threads, which goes back once", async () => {
  const { pool, lent, tasks, givenBack } = lendingPool();
  const passing = SIZES.map((rowCount) => [rowCount, true] as const);
  expect(await write(passing, { pool, expectedRows: 400_000 })).toEqual(expected);
  expect(tasks.length).toBeGreaterThan(2);
  expect(givenBack()).toBeGreaterThan(tasks.length);
  expect(lent.size).toBe(0);
});

it("copies lie in reused memory if there are no threads", async () => {
  const scratch = new ScratchMemory(1 << 26);
  const passing = SIZES.map((rowCount) => [rowCount, true] as const);
  expect(await write(passing, { scratch, expectedRows: 400_000 })).toEqual(expected);
  expect(scratch.weight).toBeGreaterThan(0);
});

it("the writer takes no shared memory without threads", async () => {
  const pool = {
    size: 0,
    isWorth: () => false,
    get memory(): never {
      throw new Error("nobody lends");
    },
  } as unknown as WorkerPool;
  const passing = SIZES.map((rowCount) => [rowCount, true] as const);
  expect(await write(passing, { pool })).toEqual(expected);
});

it("a file of many columns takes little memory for waiting rows", async () => {
  const columns = Array.from({ length: 2000 }, (_, index) => ({ ...COLUMNS[1], path: `c${index}` }));
  const disk = new MemoryDisk();
  let most = 0;
  const memory = {
    spareBytes: () => Number.POSITIVE_INFINITY,
    hold: () => undefined,
    note: (use: string, byteLength: number) => {
      if (use === "waiting") most = Math.max(most, byteLength);
    },
  };
  const options = { memory, expectedRows: 1_000_000 };
  const writer = await DataFileWriter.create(asDisk(disk), "/f", columns, Schema.create({}), "2.2", options);
  for (let batch = 0; batch < 20; batch++) {
    const [, column] = rows(batch * 500, 500);
    await writer.write(
      columns.map(() => column),
      500,
      true,
    );
  }
  await writer.finish();
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(64 * 1024 * 1024);
  const handle = await asDisk(disk).open("/f");
  expect(handle && (await openDataFile(handle, "/f")).rowCount).toBe(10_000);
});

it("the writer refuses transient dictionaries", async () => {
  const writer = await create(new MemoryDisk());
  const [text, number, constant, vector] = rows(0, 1);
  const indices = { ...constant, byteWidth: 1, values: new Uint8Array(1) } as never;
  const dictionary = {
    kind: "dictionary",
    length: 1,
    validity: null,
    indices,
    dictionary: text,
  } as unknown as Column;
  await expect(writer.write([dictionary, number, constant, vector], 1, true)).rejects.toThrow(InternalError);
  await writer.abort();
});
