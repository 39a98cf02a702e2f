/**
 * Rows grouped by value: distinct values in order, null first, each with its row set. Indexes with a bitmap
 * per value store them.
 */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { integerWords, uint64Column } from "../indexColumns.js";
import type { RowStream } from "../kind.js";
import { RowIds, RowIdsBuilder } from "../rowIds.js";
import { compareNullable, mergeSorted } from "../sortedRows.js";
import { orderedValues } from "../valueOrder.js";

export interface ValueGroups {
  /** Distinct values in order. */
  readonly keys: Column;
  /** Row set of each value. */
  readonly rows: readonly RowIds[];
}

/** Limits on values and bytes of row sets per batch. */
const MAX_GROUPS = 4096;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;

/** Groups sorted rows. */
export function groupRows(sorted: RowStream, type: LogicalType): AsyncGenerator<ValueGroups> {
  return groups(sorted, type, () => new RowIdsBuilder());
}

/** Merges streams of groups and unites the rows of equal values, by numbers of the sets in place of ids. */
export async function* mergeGroups(
  streams: readonly AsyncIterable<ValueGroups>[],
  type: LogicalType,
): AsyncGenerator<ValueGroups> {
  if (streams.length === 1) {
    yield* streams[0];
    return;
  }
  const sets = new Map<number, RowIds>();
  let next = 0;
  const numbered = async function* (stream: AsyncIterable<ValueGroups>): RowStream {
    for await (const { keys, rows } of stream) {
      const words = new Uint32Array(2 * rows.length);
      for (const [index, set] of rows.entries()) {
        words[2 * index] = next;
        sets.set(next, set);
        next = (next + 1) % 2 ** 32;
      }
      yield { values: keys, ids: uint64Column(words), rowCount: rows.length };
    }
  };
  yield* groups(mergeSorted(streams.map(numbered), type), type, () => {
    const parts: RowIds[] = [];
    return {
      add: (words, start, end) => {
        for (let row = start; row < end; row++) {
          parts.push(sets.get(words[2 * row]) as RowIds);
          sets.delete(words[2 * row]);
        }
      },
      finish: () => RowIds.unionOf(parts),
    };
  });
}

/** Collects the rows of one value. */
interface Collector {
  add(words: Uint32Array, start: number, end: number): void;
  finish(): RowIds;
}

async function* groups(
  sorted: RowStream,
  type: LogicalType,
  collector: () => Collector,
): AsyncGenerator<ValueGroups> {
  /** Keys of the finished groups and of the current one. */
  let keys: Column[] = [];
  let finished: RowIds[] = [];
  let finishedBytes = 0;
  let current: Collector | null = null;
  const takeGroups = (lastKeys: number): ValueGroups => {
    const joined = concatColumns(keys);
    const groupsOfKeys = { keys: sliceColumn(joined, 0, finished.length), rows: finished };
    keys = lastKeys === 0 ? [] : [takeColumn(joined, Uint32Array.of(finished.length))];
    finished = [];
    finishedBytes = 0;
    return groupsOfKeys;
  };
  for await (const { values, ids, rowCount } of sorted) {
    if (rowCount === 0) continue;
    await yieldToEventLoop();
    const words = integerWords(ids, "rows of an index");
    const starts = runStarts(type, keys.at(-1) ?? null, values);
    const firstEnd = starts[0] ?? rowCount;
    if (current !== null) current.add(words, 0, firstEnd);
    let taken = 0;
    for (let run = 0; run < starts.length; run++) {
      if (current !== null) {
        const set = current.finish();
        finished.push(set);
        finishedBytes += set.memoryWeight;
      }
      current = collector();
      current.add(words, starts[run], starts[run + 1] ?? rowCount);
      if (finished.length < MAX_GROUPS && finishedBytes < MAX_GROUP_BYTES) continue;
      keys.push(takeColumn(values, starts.subarray(taken, run + 1)));
      taken = run + 1;
      yield takeGroups(1);
      await yieldToEventLoop();
    }
    if (taken < starts.length) keys.push(takeColumn(values, starts.subarray(taken)));
  }
  if (current === null) return;
  finished.push(current.finish());
  yield takeGroups(0);
}

/**
 * Returns the rows that begin a new value. @param previous column that ends with the value before; null if
 * none
 */
function runStarts(type: LogicalType, previous: Column | null, values: Column): Uint32Array {
  const ordered = orderedValues(type, values);
  const starts = new Uint32Array(values.length);
  let count = 0;
  const before = previous && orderedValues(type, previous);
  if (before === null || compareNullable(before, before.length - 1, ordered, 0) !== 0) starts[count++] = 0;
  for (let row = 1; row < values.length; row++)
    if (compareNullable(ordered, row - 1, ordered, row) !== 0) starts[count++] = row;
  return starts.slice(0, count);
}
