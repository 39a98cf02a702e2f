/** Slices columns whose values lie in chunks; the values stay there. */

import type { Column, FixedColumn } from "./column.js";
import { lazyFixedColumn } from "./lazyColumn.js";
import type { ChunkedValues } from "./lazyValues.js";
import { sliceColumn } from "./sliceColumn.js";
import { validityFrom } from "./validity.js";

/** Values of a column from index `first` on. */
export interface ColumnPart {
  readonly column: Column;
  /** A multiple of 8. */
  readonly first: number;
}

/** Returns the values from `start` up to `end − 1`, and neighbours that come with them at no cost. */
export function sliceAround(column: Column, start: number, end: number): ColumnPart {
  if (column.kind === "fixed" && column.lazy?.kind === "chunks") {
    return chunksAround(column, column.lazy, start, end);
  }
  const first = start - (start % 8);
  return { column: sliceColumn(column, first, end - first), first };
}

/** Returns the chunks that hold the values. */
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
  const partChunks: ChunkedValues = {
    ...chunks,
    starts: starts.subarray(from, to),
    counts: counts.subarray(from, to),
    packedBits: packedBits.subarray(from, to),
    decode: () => column.values.subarray(first * byteWidth, last * byteWidth),
  };
  const { validity } = column;
  const valid = validity && validityFrom(validity.bytes, validity.bitOffset + first, length);
  return { column: lazyFixedColumn(partChunks, byteWidth, length, valid), first };
}
