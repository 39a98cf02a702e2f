/** Streams of an index's rows: counting them, following those that moved, merging streams that are sorted. */

import type { Column } from "../arrow/columns/column.js";
import { concatColumns } from "../arrow/columns/concatColumns.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { isValid } from "../arrow/columns/validity.js";
import type { LogicalType } from "../arrow/types/type.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import { integerWords, uint64Column } from "./indexFile.js";
import type { IndexRows, IndexTarget } from "./kind.js";
import type { RowMoves } from "./moves.js";
import { compareValues, type OrderedValues, orderedValues } from "./valueOrder.js";

/** Rows of a batch of merged rows. */
const BATCH_ROWS = 16_384;

/** The rows, reported as they are taken. */
export async function* counted(
  rows: AsyncIterable<IndexRows>,
  { progress, signal }: Pick<IndexTarget, "progress" | "signal">,
): AsyncGenerator<IndexRows, void, undefined> {
  let done = 0;
  for await (const batch of rows) {
    signal?.throwIfAborted();
    yield batch;
    done += batch.rowCount;
    progress?.(done);
  }
}

/** The rows with their new ids, without those that are gone. */
export async function* movedRows(
  rows: AsyncIterable<IndexRows>,
  moves: RowMoves | null,
): AsyncGenerator<IndexRows, void, undefined> {
  for await (const batch of rows) {
    if (moves === null) {
      yield batch;
      continue;
    }
    const { ids, kept } = moves.move(integerWords(batch.ids, "rows of an index"));
    const moved = { values: batch.values, ids: uint64Column(ids), rowCount: batch.rowCount };
    if (kept === null) yield moved;
    else if (kept.length > 0) yield takeRows(moved, kept);
  }
}

const takeRows = ({ values, ids }: IndexRows, rows: Uint32Array): IndexRows => ({
  values: takeColumn(values, rows),
  ids: takeColumn(ids, rows),
  rowCount: rows.length,
});

/** A stream that is being merged: its batch, and how far it was used. */
interface Source {
  readonly batches: AsyncIterator<IndexRows>;
  batch: IndexRows;
  ordered: OrderedValues;
  row: number;
}

/**
 * Merges sorted streams. Of rows with equal values those of earlier streams come first.
 * @param type of the values
 */
export async function* mergeSorted(
  streams: readonly AsyncIterable<IndexRows>[],
  type: LogicalType,
): AsyncGenerator<IndexRows, void, undefined> {
  const open = streams.map((stream) => stream[Symbol.asyncIterator]());
  try {
    const sources: Source[] = [];
    for (const batches of open) {
      const source = await nextBatch(batches, type);
      if (source !== null) sources.push(source);
    }
    while (sources.length > 0) {
      yield mergeStep(sources);
      await yieldToEventLoop();
      for (let index = sources.length - 1; index >= 0; index--) {
        const source = sources[index];
        if (source.row < source.batch.rowCount) continue;
        const next = await nextBatch(source.batches, type);
        if (next === null) sources.splice(index, 1);
        else sources[index] = next;
      }
    }
  } finally {
    for (const batches of open) await batches.return?.();
  }
}

async function nextBatch(batches: AsyncIterator<IndexRows>, type: LogicalType): Promise<Source | null> {
  for (;;) {
    const { done, value } = await batches.next();
    if (done === true) return null;
    if (value.rowCount > 0) {
      return { batches, batch: value, ordered: orderedValues(type, value.values), row: 0 };
    }
  }
}

/** The next rows of all sources, until one has no more in memory. */
function mergeStep(sources: readonly Source[]): IndexRows {
  const starts = sources.map(({ row }) => row);
  const from = new Uint32Array(BATCH_ROWS);
  const heap = sources.map((_, index) => index).sort((a, b) => compareHeads(sources, a, b));
  let count = 0;
  while (count < BATCH_ROWS) {
    const first = heap[0];
    const source = sources[first];
    from[count++] = first;
    source.row++;
    if (source.row === source.batch.rowCount) break;
    // The streams are few: the one whose row was taken moves to its new place.
    let position = 0;
    while (position + 1 < heap.length && compareHeads(sources, first, heap[position + 1]) > 0) {
      heap[position] = heap[position + 1];
      position++;
    }
    heap[position] = first;
  }
  return interleave(sources, starts, from.subarray(0, count));
}

function compareHeads(sources: readonly Source[], a: number, b: number): number {
  const { ordered: left, row: i } = sources[a];
  const { ordered: right, row: j } = sources[b];
  const leftValid = isValid(left.validity, i);
  const rightValid = isValid(right.validity, j);
  if (!leftValid || !rightValid) return Number(leftValid) - Number(rightValid) || a - b;
  return compareValues(left, i, right, j) || a - b;
}

/** @param from the source of each row of the result */
function interleave(sources: readonly Source[], starts: readonly number[], from: Uint32Array): IndexRows {
  const used = [...sources.keys()].filter((index) => sources[index].row > starts[index]);
  const bases = new Map<number, number>();
  let base = 0;
  const parts: IndexRows[] = used.map((index) => {
    const { batch, row } = sources[index];
    const count = row - starts[index];
    bases.set(index, base);
    base += count;
    return takeRows(
      batch,
      Uint32Array.from({ length: count }, (_, slot) => starts[index] + slot),
    );
  });
  const joined = {
    values: concatColumns<Column>(parts.map(({ values }) => values)),
    ids: concatColumns<Column>(parts.map(({ ids }) => ids)),
    rowCount: base,
  };
  if (used.length === 1) return joined;
  const next = sources.map((_, index) => bases.get(index) ?? 0);
  return takeRows(
    joined,
    from.map((index) => next[index]++),
  );
}
