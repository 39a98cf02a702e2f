/**
 * Sorts the rows of an index by value. Rows that fit in memory and have consecutive ids batch by batch, like
 * addresses, are sorted by row number; their ids are computed from it. Numbers that are in order already pass
 * as they came. All other rows are sorted together with their ids (query/order/externalSort), which spills to
 * disk.
 */

import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { valueTypeOfField } from "../../expression/values/types.js";
import { uint64Column } from "../../indexes/indexColumns.js";
import type { IndexRows, RowStream } from "../../indexes/kind.js";
import { SORT_BYTES, SORT_ROWS, sortRows } from "../../query/order/externalSort.js";
import { NumberKeys } from "../../query/order/numberKeys.js";
import { orderOfRows } from "../../query/order/orderOfRows.js";
import type { MakeSpillFile } from "../../query/order/sortedRuns.js";
import { type KeyOrder, makeSortKeys } from "../../query/order/sortKeys.js";
import { ENTRY_WORDS, KEY_WORDS, sortTwoWords } from "../../query/order/twoWordSort.js";
import type { BatchRows } from "../../query/scan/scan.js";

const ID_BYTES = 8;
/** Rows of an output block, and approximate bytes of their values. */
const BLOCK_ROWS = 65_536;
const BLOCK_BYTES = 1024 * 1024;
/** Rows per piece of the order, for which the run of its first row is stored. */
const PIECE_BITS = 10;

export interface ValueSortOptions {
  readonly makeFile: MakeSpillFile;
  readonly sortBytes?: number;
  readonly signal?: AbortSignal;
}

/** Yields the rows by value: nulls first, equal values in input order. @param type of the values */
export async function* sortByValue(rows: RowStream, type: LogicalType, options: ValueSortOptions): RowStream {
  const { sortBytes = SORT_BYTES, signal } = options;
  const order: KeyOrder = {
    type: valueTypeOfField({ name: "", type, children: [] }),
    ascending: true,
    nullsFirst: true,
  };
  const kept: IndexRows[] = [];
  let keptRows = 0;
  let keptBytes = 0;
  const batches = rows[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await batches.next();
      if (next.done === true) {
        yield* sortInMemory(kept, keptRows, order, signal);
        return;
      }
      signal?.throwIfAborted();
      const { value: batch } = next;
      kept.push(batch);
      keptRows += batch.rowCount;
      keptBytes += columnBytes(batch.values) + ID_BYTES * batch.rowCount;
      const hasRun = batch.firstId !== undefined && batch.codes === undefined;
      if (!hasRun || keptBytes >= sortBytes || keptRows >= SORT_ROWS) break;
    }
    yield* sortWithIds(again(kept, batches), order, options);
  } finally {
    await batches.return?.();
  }
}

async function* again(kept: IndexRows[], batches: AsyncIterator<IndexRows>): RowStream {
  for (let first = kept.shift(); first !== undefined; first = kept.shift()) yield first;
  for (let next = await batches.next(); next.done !== true; next = await batches.next()) yield next.value;
}

// ------------------------------------------------------------------------------------------------- with ids

async function* sortWithIds(
  rows: RowStream,
  order: KeyOrder,
  { makeFile, sortBytes = SORT_BYTES, signal }: ValueSortOptions,
): RowStream {
  const sorted = sortRows(sortedColumns(rows), {
    makeFile,
    signal,
    orders: [order],
    keyPlaces: [0],
    limit: Number.POSITIVE_INFINITY,
    sortBytes: sortBytes,
  });
  for await (const { columns, rowCount } of sorted) {
    const [values, ids, codes] = columns;
    yield { values, ids, rowCount, ...(codes && { codes }) };
  }
}

async function* sortedColumns(rows: RowStream): AsyncGenerator<BatchRows> {
  for await (const { values, ids, codes, rowCount } of rows) {
    if (rowCount > 0) yield { columns: codes === undefined ? [values, ids] : [values, ids, codes], rowCount };
  }
}

// ------------------------------------------------------------------------------------------------- in memory

async function* sortInMemory(
  batches: readonly IndexRows[],
  rowCount: number,
  order: KeyOrder,
  signal: AbortSignal | undefined,
): RowStream {
  if (rowCount === 0) return;
  const numbers = NumberKeys.of(
    batches.filter(({ rowCount: count }) => count > 0).map(({ values }) => values),
    order,
  );
  if (numbers !== null) {
    const entries = await runAsync(sortTwoWords(numbers), signal);
    if (entries === null) yield* batches;
    else yield* numbersInOrder(numbers, entries, new IdRuns(batches, rowCount), signal);
    return;
  }
  const runs = new IdRuns(batches, rowCount);
  const values = await runAsync(concatInSteps(batches.map((batch) => batch.values)));
  const keys = await runAsync(makeSortKeys([order], [values], rowCount));
  const rows = await runAsync(orderOfRows(keys));
  const fitting = Math.floor((BLOCK_BYTES * rowCount) / Math.max(columnBytes(values), 1));
  const blockRows = Math.max(1, Math.min(BLOCK_ROWS, fitting));
  for (let start = 0; start < rowCount; start += blockRows) {
    signal?.throwIfAborted();
    const some = rows.subarray(start, Math.min(start + blockRows, rowCount));
    const ids = uint64Column(runs.idsOf(some, 1, 0));
    yield { values: takeColumn(values, some), ids, rowCount: some.length };
    await yieldToEventLoop();
  }
}

/** Yields rows whose sort keys are their values. */
async function* numbersInOrder(
  numbers: NumberKeys,
  entries: Uint32Array,
  runs: IdRuns,
  signal: AbortSignal | undefined,
): RowStream {
  const step = ENTRY_WORDS * BLOCK_ROWS;
  for (let start = 0; start < entries.length; start += step) {
    signal?.throwIfAborted();
    const some = entries.subarray(start, start + step);
    const values = numbers.numbersOf(some);
    yield { values, ids: uint64Column(runs.idsOf(some, ENTRY_WORDS, KEY_WORDS)), rowCount: values.length };
    await yieldToEventLoop();
  }
}

/** Ids of rows by number, from runs of rows with consecutive ids. */
class IdRuns {
  /** By run: number of its first row; after the last run, the number of all rows. */
  readonly #starts: Uint32Array;
  /** By run: offset from the number of a row to the low word of its id, modulo 2^32; and the high word. */
  readonly #lows: Uint32Array;
  readonly #highs: Uint32Array;
  /** By piece: run of its first row. */
  readonly #runOfPiece: Uint32Array;

  constructor(batches: readonly IndexRows[], rowCount: number) {
    const starts: number[] = [];
    const lows: number[] = [];
    const highs: number[] = [];
    let row = 0;
    for (const { firstId, rowCount: count } of batches) {
      if (firstId === undefined || count === 0) continue;
      const low = (firstId.low - row) >>> 0;
      const last = starts.length - 1;
      if (last < 0 || lows[last] !== low || highs[last] !== firstId.high) {
        starts.push(row);
        lows.push(low);
        highs.push(firstId.high);
      }
      row += count;
    }
    this.#starts = Uint32Array.of(...starts, rowCount);
    this.#lows = Uint32Array.from(lows);
    this.#highs = Uint32Array.from(highs);
    this.#runOfPiece = new Uint32Array((rowCount >>> PIECE_BITS) + 1);
    for (let piece = 0, run = 0; piece < this.#runOfPiece.length; piece++) {
      while (run + 1 < lows.length && this.#starts[run + 1] <= piece << PIECE_BITS) run++;
      this.#runOfPiece[piece] = run;
    }
  }

  /**
   * Returns pairs of words: low, high.
   * @param words with the number of a row in every `stride`-th one, from `first` on
   */
  idsOf(words: Uint32Array, stride: number, first: number): Uint32Array {
    const starts = this.#starts;
    const lows = this.#lows;
    const highs = this.#highs;
    const runOfPiece = this.#runOfPiece;
    const ids = new Uint32Array(2 * (words.length / stride));
    for (let slot = first, target = 0; slot < words.length; slot += stride, target += 2) {
      const row = words[slot];
      let run = runOfPiece[row >>> PIECE_BITS];
      while (row >= starts[run + 1]) run++;
      ids[target] = row + lows[run];
      ids[target + 1] = highs[run];
    }
    return ids;
  }
}
