/** Threads decode pages of long texts. The rows are the same, whenever a thread is done. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Schema, Table } from "apache-arrow";
import { beforeEach, expect, it, vi } from "vitest";
import type { VariableColumn } from "../../src/arrow/columns/column.js";
import { openInput } from "../../src/arrow/exchange/input.js";
import type { Task, WorkerPool } from "../../src/async/workerPool.js";
import { isSharedMemory } from "../../src/bytes/sharedCopy.js";
import type { PageEncoding } from "../../src/file/container/page.js";
import { openDataFile } from "../../src/file/container/reader.js";
import { CompressionScheme } from "../../src/format/encodings.js";
import type { Disk } from "../../src/io/disk/disk.js";
import { HandlePool } from "../../src/io/disk/handles.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { LruCache } from "../../src/io/memory/cache.js";
import { ScratchMemory } from "../../src/io/memory/scratch.js";
import { planNewColumns } from "../../src/rows/columnPlan.js";
import { planLeaves } from "../../src/rows/leafPlan.js";
import { columnsOfFile, openColumns } from "../../src/rows/openColumns.js";
import { STREAMED } from "../../src/rows/readAhead.js";
import { readColumns } from "../../src/rows/readColumns.js";
import { writeColumns } from "../../src/rows/writeColumns.js";
import { utf8s } from "../support/arrowColumns.js";
import { makeTempDir } from "../support/tempDir.js";

const ROWS = 60_000;
const BATCH_ROWS = 1000;
const textOf = (row: number): string | null =>
  row % 97 === 0
    ? null
    : Array.from({ length: 30 }, (_, word) => `wörd${Math.imul(row + 1, 2654435761 + word) >>> 20}`).join(
        " ",
      );
const texts = Array.from({ length: ROWS }, (_, row) => textOf(row));

let path: string;
let disk: Disk;
beforeEach(async () => {
  disk = new NodeDisk({ durability: "none" });
  await writeTexts(join(await makeTempDir(), "texts.lance"), texts);
});

/** Writes a file of texts, which further calls of `readTexts` read. */
async function writeTexts(newPath: string, values: readonly (string | null)[]): Promise<void> {
  path = newPath;
  const table = new Table({ text: utf8s(values) });
  const plan = planNewColumns(new Schema(table.schema.fields));
  await writeColumns(disk, path, plan, (await openInput(table)).batches, { version: "2.2" });
}

/** Threads that answer when `until` resolves. */
function slowPool(until: (task: number) => Promise<void>): WorkerPool {
  let taskCount = 0;
  const run = async <Input, Output>(task: Task<Input, Output>, input: Input): Promise<Output> => {
    const output = task.run(structuredClone(input));
    await until(taskCount++);
    return output;
  };
  return { size: 1, run, isWorth: () => true } as unknown as WorkerPool;
}

interface ReadTextsOptions {
  readonly rows?: readonly [start: number, end: number];
  readonly scratch?: ScratchMemory;
  readonly lendsTexts?: boolean;
  /** Called with the bytes of each batch. */
  readonly onBatch?: (bytes: Uint8Array) => void;
}

/** Reads the texts of rows, with pages decoded by the threads of `pool`. */
async function readTexts(
  pool: WorkerPool,
  {
    rows: [start, end] = [0, ROWS],
    scratch = new ScratchMemory(1 << 24),
    lendsTexts,
    onBatch,
  }: ReadTextsOptions = {},
) {
  const handles = new HandlePool(disk);
  const source = {
    handles,
    chunkMaps: new LruCache<never>(1 << 20),
    pageChecks: new LruCache<never>(1 << 20),
    scratch,
    workers: pool,
  };
  const file = await handles.withHandle(path, (handle) => openDataFile(handle, path));
  const { fields, file: columns } = columnsOfFile(file);
  const plan = planLeaves([[fields[0]!]]);
  const span = { stored: await openColumns([columns], plan.leaves), start, end, skipped: null };
  const options = { batchRows: BATCH_ROWS, readAhead: STREAMED, lendsTexts };
  const decoder = new TextDecoder();
  const texts: (string | null)[] = [];
  for await (const batch of readColumns(source, plan, [span], options)) {
    const column = batch.columns[0] as VariableColumn;
    const { offsets, bytes, validity } = column;
    onBatch?.(bytes);
    for (let row = 0; row < batch.rowCount; row++) {
      const bit = (validity?.bitOffset ?? 0) + row;
      const isNull = validity !== null && ((validity.bytes[bit >>> 3]! >>> (bit & 7)) & 1) === 0;
      const text = bytes.slice(Number(offsets[row]), Number(offsets[row + 1]));
      texts.push(isNull ? null : decoder.decode(text));
    }
  }
  await handles.close();
  return texts;
}

it("a reading throws the error of a thread", async () => {
  const pool = slowPool(async (task) => {
    if (task === 0) throw new Error("the page is damaged");
  });
  await expect(readTexts(pool)).rejects.toThrow("the page is damaged");
});

it.each([
  [0, 10],
  [1, ROWS],
  [700, 3100],
  [20_000, 40_000],
  [ROWS - 100, ROWS],
])("texts that threads decode are the same from row %d to %d", async (start, end) => {
  const pool = slowPool(() => sleep(5));
  expect(await readTexts(pool, { rows: [start, end] })).toEqual(texts.slice(start, end));
});

it("texts in lent memory are the same, and all of that memory is given back", async () => {
  const scratch = new ScratchMemory(1 << 24);
  const lend = vi.spyOn(scratch.shared, "lend");
  const giveBack = vi.spyOn(scratch.shared, "giveBack");
  const onBatch = ({ buffer }: Uint8Array): void => expect(isSharedMemory(buffer)).toBe(true);
  const pool = slowPool(() => sleep(5));
  expect(await readTexts(pool, { scratch, lendsTexts: true, onBatch })).toEqual(texts);
  expect(giveBack.mock.calls.length).toBe(lend.mock.calls.length);
});

it("texts that exceed their lent memory have memory of their own", async () => {
  // Each symbol stands for eight bytes.
  const repetitive = Array.from({ length: ROWS }, (_, row) => "abcdefgh".repeat(30) + row);
  await writeTexts(join(await makeTempDir(), "repetitive.lance"), repetitive);
  const onBatch = ({ buffer }: Uint8Array): void => expect(isSharedMemory(buffer)).toBe(false);
  let taskCount = 0;
  const pool = slowPool(async () => void taskCount++);
  expect(await readTexts(pool, { lendsTexts: true, onBatch })).toEqual(repetitive);
  expect(taskCount).toBeGreaterThan(0);
});

it("threads decode huge texts, which Zstandard compresses", async () => {
  const huge = Array.from({ length: 40 }, (_, row) =>
    Array.from({ length: 700 }, (_, part) => textOf(row * 700 + part) ?? "").join(" "),
  );
  await writeTexts(join(await makeTempDir(), "huge.lance"), huge);
  const compressions: unknown[] = [];
  const pool = slowPool(async () => undefined);
  const run: WorkerPool["run"] = (task, input) => {
    const { layout } = input as { layout: PageEncoding };
    compressions.push(layout.fullZip?.valueCompression?.general?.compression?.scheme);
    return pool.run(task, input);
  };
  expect(await readTexts({ ...pool, run } as WorkerPool, { rows: [0, huge.length] })).toEqual(huge);
  expect(compressions).toContain(CompressionScheme.ZSTD);
});
