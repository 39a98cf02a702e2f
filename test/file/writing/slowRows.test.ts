/** Rows that come slowly: encoded pages are written meanwhile, and little is left after the last row. */

import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { FixedColumn, Layout } from "../../../src/arrow/columns/column.js";
import type { FileColumn } from "../../../src/file/container/page.js";
import { openDataFile } from "../../../src/file/container/reader.js";
import { DataFileWriter, type WriterOptions } from "../../../src/file/writing/writer.js";
import { Schema } from "../../../src/format/file.js";
import { readColumns } from "../dataFiles.js";
import { asDisk, type MemoryDisk, WatchedDisk } from "../memoryDisk.js";
import { lendingPool } from "./lendingPool.js";

const ROW_BYTES = 256;
const LAYOUT: Layout = { kind: "fixed", byteWidth: ROW_BYTES };
const COLUMN: FileColumn = { fieldId: 0, path: "v", layout: LAYOUT, nullable: true, metadata: new Map() };
const BATCH_ROWS = 1024;
const MIB = 1024 * 1024;

/** A disk that counts written bytes, and fails on request. */
class CountingDisk extends WatchedDisk {
  written = 0;
  isBroken = false;

  constructor() {
    super(async (write, chunks) => {
      if (this.isBroken) throw new Error("EIO");
      await write();
      for (const { length } of chunks) this.written += length;
    });
  }
}

const BATCHES = 111;
const memory = new Uint32Array((BATCHES * BATCH_ROWS * ROW_BYTES) / 4);
for (let index = 0; index < memory.length; index++) memory[index] = Math.imul(index + 1, 2654435761);

function rowsOf(batch: number): FixedColumn {
  const values = new Uint8Array(memory.buffer).slice(
    batch * BATCH_ROWS * ROW_BYTES,
    (batch + 1) * BATCH_ROWS * ROW_BYTES,
  );
  return { kind: "fixed", byteWidth: ROW_BYTES, length: BATCH_ROWS, validity: null, values };
}

const create = (disk: MemoryDisk, options: WriterOptions) =>
  DataFileWriter.create(asDisk(disk), "/f", [COLUMN], Schema.create({}), "2.2", options);

async function pagesOf(disk: MemoryDisk) {
  const handle = disk.handle("/f", disk.files.get("/f")!);
  const file = await openDataFile(handle, "/f");
  const [column] = await readColumns(handle, file, [LAYOUT]);
  const { values } = column as FixedColumn;
  expect(Buffer.compare(values, new Uint8Array(memory.buffer))).toBe(0);
  return file.columns[0]!.pages.map(({ rowCount }) => rowCount * ROW_BYTES);
}

it("pages get smaller towards the end on request", async () => {
  const options = { expectedRows: BATCHES * BATCH_ROWS };
  const write = async (more: WriterOptions) => {
    const disk = new CountingDisk();
    const writer = await create(disk, { ...options, ...more });
    for (let batch = 0; batch < BATCHES; batch++) await writer.write([rowsOf(batch)], BATCH_ROWS);
    const before = disk.written;
    await writer.finish();
    return { left: disk.written - before, pages: await pagesOf(disk) };
  };
  const even = await write({});
  expect(even.left).toBeGreaterThan(3 * MIB);
  expect(even.pages).toHaveLength(7);
  const { left, pages } = await write({ lastPageBytes: MIB / 2 });
  expect(left).toBeLessThan(1.5 * MIB);
  expect(pages.at(-1)).toBeLessThanOrEqual(MIB);
  expect(pages.slice(0, 4).every((byteCount) => byteCount >= 4 * MIB)).toBe(true);
  expect(pages.length).toBeLessThan(14);
  const tail = pages.slice(4);
  expect(tail).toEqual([...tail].sort((a, b) => b - a));
});

it("a file with more or fewer rows than expected is whole", async () => {
  for (const expectedRows of [1, BATCH_ROWS * 10, BATCH_ROWS * BATCHES * 2]) {
    const disk = new CountingDisk();
    const writer = await create(disk, { expectedRows, lastPageBytes: MIB / 2 });
    for (let batch = 0; batch < BATCHES; batch++) await writer.write([rowsOf(batch)], BATCH_ROWS);
    await writer.finish();
    expect((await pagesOf(disk)).length).toBeLessThan(14);
  }
});

it("encoded pages are written while columns wait for rows", async () => {
  const disk = new CountingDisk();
  const { pool, tasks } = lendingPool();
  const writer = await create(disk, { pool });
  for (let batch = 0; batch < 40; batch++) await writer.write([rowsOf(batch)], BATCH_ROWS);
  // Two pages, which are fewer than threads work at.
  expect(tasks).toHaveLength(2);
  for (let batch = 40; batch < 46; batch++) {
    await sleep(20);
    await writer.write([rowsOf(batch)], BATCH_ROWS);
  }
  expect(tasks).toHaveLength(2);
  expect(disk.written).toBeGreaterThanOrEqual(8 * MIB);
  for (let batch = 46; batch < BATCHES; batch++) await writer.write([rowsOf(batch)], BATCH_ROWS);
  await writer.finish();
  expect(await pagesOf(disk)).toHaveLength(7);
});

it("the writer throws the error of a disk that fails meanwhile", async () => {
  const disk = new CountingDisk();
  const { pool } = lendingPool();
  const writer = await create(disk, { pool });
  disk.isBroken = true;
  const write = async () => {
    for (let batch = 0; batch < BATCHES; batch++) {
      await writer.write([rowsOf(batch)], BATCH_ROWS);
      await sleep(1);
    }
    await writer.finish();
  };
  await expect(write()).rejects.toThrow("EIO");
  await writer.abort();
  expect(disk.files.has("/f")).toBe(false);
});
