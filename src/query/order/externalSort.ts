/**
 * Sorts rows in bounded memory. Collects rows up to a bound and sorts them. If there are more, it writes
 * sorted runs to temporary files, and merges them after the last row. Rows with equal keys keep their order.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes, valueBytes } from "../../arrow/columns/columnBytes.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { mergeRuns } from "../../arrow/columns/mergeRuns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import type { BatchRows } from "../scan/scan.js";
import { NumberKeys } from "./numberKeys.js";
import { orderOfRows } from "./orderOfRows.js";
import { type MakeSpillFile, Run, type SpillFile } from "./sortedRuns.js";
import { compareRows, type KeyOrder, makeSortKeys, sortKeys } from "./sortKeys.js";
import { ENTRY_WORDS, rowsOfBlock, sortTwoWords } from "./twoWordSort.js";

/** Default bytes of rows that are sorted at once. */
export const SORT_BYTES = 64 * 1024 * 1024;
/** Maximum rows that are sorted at once: rows of few bytes still have keys. */
export const SORT_ROWS = 2 ** 22;
/** Approximate bytes of a block of a run. The merge has one block of each run in memory. */
const BLOCK_BYTES = 512 * 1024;
/** Maximum runs that are merged at once. */
const MERGED_RUNS = 64;

export interface SortRequest {
  readonly orders: readonly KeyOrder[];
  /** Indexes of the keys among the columns of a row. */
  readonly keyPlaces: readonly number[];
  /** Maximum rows that are wanted. */
  readonly limit: number;
  /** Bytes of rows that are sorted at once. */
  readonly sortBytes: number;
  readonly makeFile: MakeSpillFile;
  /** Called with the bytes that rows take while they are sorted. */
  note?(byteLength: number): void;
  readonly signal?: AbortSignal;
}

/** Yields the rows in order, up to the limit. No column is a dictionary. */
export async function* sortRows(
  rows: AsyncIterable<BatchRows>,
  request: SortRequest,
): AsyncGenerator<BatchRows> {
  const runs = new Runs(request);
  try {
    let kept: BatchRows[] = [];
    let keptBytes = 0;
    let keptRows = 0;
    for await (const batch of rows) {
      request.signal?.throwIfAborted();
      kept.push(batch);
      keptRows += batch.rowCount;
      keptBytes += batch.columns.reduce((sum, column) => sum + columnBytes(column), 0);
      // The rows as they came, and the sorted rows.
      request.note?.(2 * keptBytes);
      if (keptBytes < request.sortBytes && keptRows < SORT_ROWS) continue;
      await runs.add(sortedBatches(kept, request));
      kept = [];
      keptBytes = 0;
      keptRows = 0;
    }
    const last = kept.length === 0 ? null : sortedBatches(kept, request);
    yield* firstRows(runs.merged(last), request.limit);
  } finally {
    request.note?.(0);
    await runs.discard();
  }
}

/** Sorts rows in memory. */
async function* sortedBatches(
  batches: readonly BatchRows[],
  { orders, keyPlaces, limit, signal }: SortRequest,
): AsyncGenerator<BatchRows> {
  const rowCount = batches.reduce((sum, batch) => sum + batch.rowCount, 0);
  if (rowCount === 0) return;
  const rowBytes = batches.reduce((sum, { columns }) => sum + valueBytes(columns), 0) / rowCount;
  const blockRows = Math.max(1, Math.min(65_536, Math.floor(BLOCK_BYTES / Math.max(rowBytes, 1))));
  const end = Math.min(rowCount, limit);
  const blockOf =
    (await numbersInOrder(batches, orders, keyPlaces)) ?? (await rowsInOrder(batches, orders, keyPlaces));
  for (let start = 0; start < end; start += blockRows) {
    signal?.throwIfAborted();
    const blockEnd = Math.min(end, start + blockRows);
    yield { columns: blockOf(start, blockEnd), rowCount: blockEnd - start };
    await yieldToEventLoop();
  }
}

/** Returns the sorted rows from number `start` to `end - 1`. */
type BlockOf = (start: number, end: number) => Column[];

async function rowsInOrder(
  batches: readonly BatchRows[],
  orders: readonly KeyOrder[],
  keyPlaces: readonly number[],
): Promise<BlockOf> {
  const columns: Column[] = [];
  for (const index of batches[0].columns.keys()) columns.push(await columnOf(batches, index));
  const keys = keyPlaces.map((position) => columns[position]);
  const order = await runAsync(orderOfRows(await runAsync(makeSortKeys(orders, keys, columns[0].length))));
  return (start, end) => {
    const rows = order.subarray(start, end);
    return columns.map((column) => takeColumn(column, rows));
  };
}

/** Sorts rows by one key that is a number: sorted keys give its values. Null for any other order. */
async function numbersInOrder(
  batches: readonly BatchRows[],
  orders: readonly KeyOrder[],
  [keyPlace]: readonly number[],
): Promise<BlockOf | null> {
  if (orders.length !== 1) return null;
  const pieces = batches.filter(({ rowCount }) => rowCount > 0).map(({ columns }) => columns[keyPlace]);
  const keys = NumberKeys.of(pieces, orders[0]);
  if (keys === null) return null;
  const entries = await runAsync(sortTwoWords(keys));
  const columns: (Column | null)[] = [];
  for (const index of batches[0].columns.keys()) {
    columns.push(entries !== null && index === keyPlace ? null : await columnOf(batches, index));
  }
  return (start, end) => {
    if (entries === null) return columns.map((column) => sliceColumn(column as Column, start, end - start));
    const some = entries.subarray(ENTRY_WORDS * start, ENTRY_WORDS * end);
    const rows = rowsOfBlock(some);
    return columns.map((column) =>
      column === null ? keys.numbersOf(some, ENTRY_WORDS) : takeColumn(column, rows),
    );
  };
}

const columnOf = async (batches: readonly BatchRows[], index: number): Promise<Column> =>
  runAsync(concatInSteps(batches.map(({ columns }) => columns[index])));

async function* firstRows(batches: AsyncIterable<BatchRows>, limit: number): AsyncGenerator<BatchRows> {
  let left = limit;
  for await (const batch of batches) {
    if (batch.rowCount < left) {
      left -= batch.rowCount;
      yield batch;
      continue;
    }
    const rows = Uint32Array.from({ length: left }, (_, row) => row);
    yield { columns: batch.columns.map((column) => takeColumn(column, rows)), rowCount: left };
    return;
  }
}

/** Runs of a sort, in the order of their rows, with their files. */
class Runs {
  readonly #request: SortRequest;
  /** Results of earlier merges. */
  #merged: Run[] = [];
  readonly #mergedFiles: SpillFile[] = [];
  #runs: Run[] = [];
  #file: SpillFile | null = null;

  constructor(request: SortRequest) {
    this.#request = request;
  }

  async add(rows: AsyncIterable<BatchRows>): Promise<void> {
    this.#file ??= await this.#request.makeFile();
    const run = await writeRun(this.#file, rows, this.#request.limit);
    if (run !== null) this.#runs.push(run);
    if (this.#runs.length < MERGED_RUNS) return;
    const file = await this.#request.makeFile();
    this.#mergedFiles.push(file);
    const merged = await writeRun(
      file,
      this.#merge(this.#runs.map((run) => run.blocks())),
      this.#request.limit,
    );
    if (merged !== null) this.#merged.push(merged);
    this.#runs = [];
    await this.#file.discard();
    this.#file = null;
  }

  /** Yields the rows of all runs, and then `last`, if any. */
  merged(last: AsyncGenerator<BatchRows> | null): AsyncGenerator<BatchRows> {
    const runs = [...this.#merged, ...this.#runs];
    const sources = [...runs.map((run) => run.blocks()), ...(last === null ? [] : [last])];
    return sources.length === 1 ? sources[0] : this.#merge(sources);
  }

  #merge(sources: readonly AsyncIterable<BatchRows>[]): AsyncGenerator<BatchRows> {
    const { orders, keyPlaces } = this.#request;
    const keysOf = ({ columns, rowCount }: BatchRows) => {
      const keys = keyPlaces.map((position) => columns[position]);
      return sortKeys(orders, keys, rowCount);
    };
    return mergeRuns(sources, { keysOf, compare: compareRows });
  }

  async discard(): Promise<void> {
    const files = [...this.#mergedFiles, ...(this.#file === null ? [] : [this.#file])];
    for (const file of files) await file.discard();
  }
}

async function writeRun(file: SpillFile, rows: AsyncIterable<BatchRows>, limit: number): Promise<Run | null> {
  let run: Run | null = null;
  for await (const block of firstRows(rows, limit)) {
    run ??= new Run(file, block.columns.length);
    await run.append(block);
    await yieldToEventLoop();
  }
  return run;
}
