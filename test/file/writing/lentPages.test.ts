/** Threads write pages into lent memory, which is lent again once the disk has them. */

import { expect, it } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import type { FileColumn } from "../../../src/file/container/page.js";
import { DataFileWriter, type WriterOptions } from "../../../src/file/writing/writer.js";
import { Schema } from "../../../src/format/file.js";
import { asDisk, MemoryDisk } from "../memoryDisk.js";
import { lendingPool, SlowDisk } from "./lendingPool.js";

/** A disk that looks at written bytes only at the sync. */
class QueueingDisk extends MemoryDisk {
  override async create(path: string) {
    const handle = await super.create(path);
    const queued: Uint8Array[] = [];
    return {
      ...handle,
      write: async (chunks: readonly Uint8Array[]) => void queued.push(...chunks),
      sync: () => handle.write(queued.splice(0)),
    };
  }
}

const COLUMNS: readonly FileColumn[] = [
  { kind: "variable", offsetBits: 32, text: true } as const,
  { kind: "fixed", byteWidth: 8 } as const,
].map((layout, index) => ({
  fieldId: index,
  path: `c${index}`,
  layout,
  nullable: true,
  metadata: new Map(),
}));

/** Texts that codes make shorter, and numbers that are stored unchanged. */
function rows(rowCount: number): Column[] {
  const texts = Array.from({ length: rowCount }, (_, row) => `the text of row ${(row * 7919) % rowCount}`);
  const bytes = new TextEncoder().encode(texts.join(""));
  const offsets = new Int32Array(rowCount + 1);
  for (let row = 0; row < rowCount; row++) offsets[row + 1] = offsets[row] + texts[row].length;
  const numbers = new Float64Array(rowCount);
  for (let row = 0; row < rowCount; row++) numbers[row] = Math.sin(row) * 1e9;
  const values = new Uint8Array(numbers.buffer);
  return [
    { kind: "variable", length: rowCount, validity: null, offsets, bytes },
    { kind: "fixed", byteWidth: 8, length: rowCount, validity: null, values },
  ];
}

async function write(
  batches: readonly (readonly Column[])[],
  options?: WriterOptions,
  disk: MemoryDisk = new SlowDisk(),
): Promise<Buffer> {
  const schema = Schema.create({});
  const writer = await DataFileWriter.create(asDisk(disk), "/f", COLUMNS, schema, "2.2", options);
  for (const batch of batches) await writer.write(batch, batch[0].length);
  await writer.finish();
  return Buffer.from(disk.files.get("/f") ?? []);
}

it("threads write the same file, and all memory goes back once", async () => {
  const batches = [rows(300_000), rows(150_000), rows(400_000), rows(50)];
  const { pool, tasks, lent, givenBack } = lendingPool();
  const inThreads = await write(batches, { pool });
  expect(tasks.length).toBeGreaterThan(3);
  expect(givenBack()).toBeGreaterThanOrEqual(2 * tasks.length);
  expect(lent.size).toBe(0);
  expect(inThreads.equals(await write(batches))).toBe(true);
});

it("no memory goes back that a disk may still read", async () => {
  const batches = [rows(300_000), rows(150_000)];
  const { pool, tasks, givenBack } = lendingPool();
  const queued = await write(batches, { pool }, new QueueingDisk());
  expect(tasks.length).toBeGreaterThan(1);
  expect(givenBack()).toBe(0);
  expect(queued.equals(await write(batches))).toBe(true);
});
