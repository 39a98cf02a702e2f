/** Streams of index rows: counting, remapping, and merging of sorted streams. */

import { mergeRuns, type RunBlock } from "../arrow/columns/mergeRuns.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { isValid } from "../arrow/columns/validity.js";
import type { LogicalType } from "../arrow/types/type.js";
import { integerWords, uint64Column } from "./indexColumns.js";
import type { IndexRows, IndexTarget, RowStream } from "./kind.js";
import type { RowMoves } from "./moves.js";
import { compareValues, type OrderedValues, orderedValues } from "./valueOrder.js";

/** Passes the rows on and reports their number. */
export async function* counted(
  rows: RowStream,
  { progress, signal }: Pick<IndexTarget, "progress" | "signal">,
): RowStream {
  let done = 0;
  for await (const batch of rows) {
    signal?.throwIfAborted();
    yield batch;
    done += batch.rowCount;
    progress?.(done);
  }
}

/** Passes the rows on with their new ids, without deleted rows. */
export async function* movedRows(rows: RowStream, moves: RowMoves | null): RowStream {
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

/** Merges sorted streams; among equal values, rows of earlier streams come first. @param type of values */
export async function* mergeSorted(streams: readonly RowStream[], type: LogicalType): RowStream {
  const keysOf = ({ columns }: RunBlock): OrderedValues => orderedValues(type, columns[0]);
  const order = { keysOf, compare: compareNullable };
  for await (const { columns, rowCount } of mergeRuns(streams.map(blocksOf), order)) {
    yield { values: columns[0], ids: columns[1], rowCount };
  }
}

async function* blocksOf(stream: RowStream): AsyncGenerator<RunBlock> {
  for await (const { values, ids, rowCount } of stream) yield { columns: [values, ids], rowCount };
}

/** Compares two values, nulls first. */
export function compareNullable(one: OrderedValues, i: number, two: OrderedValues, j: number): number {
  const isOneValid = isValid(one.validity, i);
  const isTwoValid = isValid(two.validity, j);
  if (!isOneValid || !isTwoValid) return Number(isOneValid) - Number(isTwoValid);
  return compareValues(one, i, two, j);
}
