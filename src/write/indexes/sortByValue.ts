/**
 * Sorts the rows of an index by value. Rows that fit in memory and have consecutive ids batch by batch, like
 * addresses, are sorted by row number; their ids are computed from it. All other rows are sorted together
 * with their ids (query/order/externalSort), which spills to disk.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { valueTypeOfField } from "../../expression/values/types.js";
import { uint64Column } from "../../indexes/indexColumns.js";
import type { IndexRows, RowStream, ValueSortRequest } from "../../indexes/kind.js";
import { Arena, type Lender } from "../../io/memory/arena.js";
import { SORT_BYTES, SORT_ROWS, sortRows } from "../../query/order/externalSort.js";
import { lentWords, NumberKeys } from "../../query/order/numberKeys.js";
import { orderOfRows } from "../../query/order/orderOfRows.js";
import type { MakeSpillFile } from "../../query/order/sortedRuns.js";
import { type KeyOrder, makeSortKeys } from "../../query/order/sortKeys.js";
import { ENTRY_WORDS, KEY_WORDS, type LendWords, sortTwoWords } from "../../query/order/twoWordSort.js";
import type { BatchRows } from "../../query/scan/scan.js";
import { GatheredRows, type RowIdRuns } from "./gatheredRows.js";

const ID_BYTES = 8;
/** Rows of an output block, and approximate bytes of their values. */
const BLOCK_ROWS = 65_536;
const BLOCK_BYTES = 1024 * 1024;

export interface ValueSortOptions extends ValueSortRequest {
  readonly makeFile: MakeSpillFile;
  /** Lends memory for the rows while they are sorted. Default: new memory. */
  readonly scratch?: Lender;
  readonly sortBytes?: number;
  readonly signal?: AbortSignal;
}

const NEW_MEMORY: Lender = {
  lend: (byteLength) => new Uint8Array(byteLength),
  giveBack: () => undefined,
};

/** Yields the rows by value: nulls first, equal values in input order. @param type of the values */
export async function* sortByValue(rows: RowStream, type: LogicalType, options: ValueSortOptions): RowStream {
  const { scratch = NEW_MEMORY, rowCount = 0, sortBytes = SORT_BYTES, signal } = options;
  const order: KeyOrder = {
    type: valueTypeOfField({ name: "", type, children: [] }),
    ascending: true,
    nullsFirst: true,
  };
  const arena = new Arena(scratch);
  const gathered = new GatheredRows(arena, Math.min(rowCount, SORT_ROWS));
  const batches = rows[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await batches.next();
      if (next.done === true) {
        yield* sortInMemory(gathered, order, arena, options);
        return;
      }
      signal?.throwIfAborted();
      const { value: batch } = next;
      if (batch.rowCount === 0) continue;
      const isFull =
        gathered.byteCount + ID_BYTES * gathered.rowCount >= sortBytes || gathered.rowCount >= SORT_ROWS;
      if (batch.firstId === undefined || isFull) {
        yield* sortWithIds(allRows(gathered, batch, batches), order, options);
        return;
      }
      gathered.append(batch, batch.firstId);
    }
  } finally {
    await batches.return?.();
    // All yielded rows are copies, or transient.
    arena.release();
  }
}

/** Yields gathered rows, and then those of further batches. */
async function* allRows(
  gathered: GatheredRows,
  first: IndexRows,
  batches: AsyncIterator<IndexRows>,
): AsyncGenerator<BatchRows> {
  const all = gathered.finish();
  if (all !== null) {
    const ids = uint64Column(all.ids.idsBetween(0, gathered.rowCount));
    yield { columns: [all.values, ids], rowCount: gathered.rowCount };
  }
  yield keptRows(first);
  for (let next = await batches.next(); next.done !== true; next = await batches.next()) {
    if (next.value.rowCount > 0) yield keptRows(next.value);
  }
}

/** Returns rows that stay valid: copies of transient ones. */
function keptRows({ values, ids, rowCount, isTransient }: IndexRows): BatchRows {
  const columns = [values, ids];
  return { columns: isTransient === true ? columns.map(copyColumn) : columns, rowCount };
}

const copyColumn = (column: Column): Column => concatColumns([column, sliceColumn(column, 0, 0)]);

// ------------------------------------------------------------------------------------------------- with ids

async function* sortWithIds(
  rows: AsyncIterable<BatchRows>,
  order: KeyOrder,
  { makeFile, sortBytes = SORT_BYTES, signal }: ValueSortOptions,
): RowStream {
  const sorted = sortRows(rows, {
    makeFile,
    signal,
    orders: [order],
    keyPlaces: [0],
    limit: Number.POSITIVE_INFINITY,
    sortBytes,
  });
  for await (const { columns, rowCount } of sorted) {
    const [values, ids] = columns;
    yield { values, ids, rowCount };
  }
}

// ------------------------------------------------------------------------------------------------- in memory

async function* sortInMemory(
  gathered: GatheredRows,
  order: KeyOrder,
  arena: Arena,
  { isTransient = false, signal }: ValueSortOptions,
): RowStream {
  const all = gathered.finish();
  if (all === null) return;
  const { values, ids } = all;
  const { rowCount } = gathered;
  const lend: LendWords = (count) => lentWords(arena.lend(4 * count));
  const numbers = NumberKeys.of([values], order);
  if (numbers !== null) {
    numbers.keep(arena);
    const entries = await runAsync(sortTwoWords(numbers, lend), signal);
    yield* numbersInOrder(numbers, entries, ids, isTransient ? lend : null, signal);
    return;
  }
  const keys = await runAsync(makeSortKeys([order], [values], rowCount));
  const rows = await runAsync(orderOfRows(keys));
  const fitting = Math.floor((BLOCK_BYTES * rowCount) / Math.max(columnBytes(values), 1));
  const blockRows = Math.max(1, Math.min(BLOCK_ROWS, fitting));
  for (let start = 0; start < rowCount; start += blockRows) {
    signal?.throwIfAborted();
    const some = rows.subarray(start, Math.min(start + blockRows, rowCount));
    yield {
      values: takeColumn(values, some),
      ids: uint64Column(ids.idsOf(some, 1, 0)),
      rowCount: some.length,
    };
    await yieldToEventLoop();
  }
}

/**
 * Yields rows whose sort keys are their values.
 * @param entries of the sorted keys; null if the rows are in order
 * @param lend lends memory for transient blocks; null if blocks are kept
 */
async function* numbersInOrder(
  numbers: NumberKeys,
  entries: Uint32Array | null,
  runs: RowIdRuns,
  lend: LendWords | null,
  signal: AbortSignal | undefined,
): RowStream {
  const { rowCount } = numbers;
  const blockRows = Math.min(BLOCK_ROWS, rowCount);
  const valueMemory = lend?.(2 * blockRows);
  const idMemory = lend?.(2 * blockRows);
  for (let start = 0; start < rowCount; start += blockRows) {
    signal?.throwIfAborted();
    const end = Math.min(start + blockRows, rowCount);
    const stride = entries === null ? KEY_WORDS : ENTRY_WORDS;
    const keys = entries?.subarray(stride * start, stride * end) ?? numbers.keptKeys(start, end);
    const ids =
      entries === null
        ? runs.idsBetween(start, end, idMemory)
        : runs.idsOf(keys, ENTRY_WORDS, KEY_WORDS, idMemory);
    const values = numbers.numbersOf(keys, stride, valueMemory);
    yield { values, ids: uint64Column(ids), rowCount: end - start, isTransient: lend !== null };
    await yieldToEventLoop();
  }
}
