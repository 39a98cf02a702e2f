/** Slices of columns whose values lie in chunks, which stay where they are. */

import type { Column, FixedColumn } from "./column.js";
import { lazyFixedColumn } from "./lazyColumn.js";
import type { ChunkedValues } from "./lazyValues.js";
import { sliceColumn } from "./sliceColumn.js";
import { validityFrom } from "./validity.js";

/** The values of a column from number `first` on. */
export interface ColumnPart {
  readonly column: Column;
  /** A multiple of 8. */
  readonly first: number;
}

/**
 * The values from `start` up to `end − 1`, and others before and behind them that come with them at no cost.
 */
export function sliceAround(column: Column, start: number, end: number): ColumnPart {
  if (column.kind === "fixed" && column.lazy?.kind === "chunks") {
    return chunksAround(column, column.lazy, start, end);
  }
  const first = start - (start % 8);
  return { column: sliceColumn(column, first, end - first), first };
}

/** The chunks that hold the values. */
function chunksAround(column: FixedColumn, chunks: ChunkedValues, start: number, end: number): ColumnPart {
  const { byteWidth } = column;
  const { starts, counts, packedBits } = chunks;
  let from = 0;
  let first = 0;
  while (from < counts.length - 1 && first + counts[from] <= start) first += counts[from++];
  let to = from;
  let last = first;
  while (to < counts.length && (last < end || to === from)) last += counts[to++];
  const length = last - first;
  const own: ChunkedValues = {
    ...chunks,
    starts: starts.subarray(from, to),
    counts: counts.subarray(from, to),
    packedBits: packedBits.subarray(from, to),
    decode: () => column.values.subarray(first * byteWidth, last * byteWidth),
  };
  const { validity } = column;
  const valid = validity && validityFrom(validity.bytes, validity.bitOffset + first, length);
  return { column: lazyFixedColumn(own, byteWidth, length, valid), first };
}
