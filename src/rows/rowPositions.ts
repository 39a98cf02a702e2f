/** Positions of rows in a file. Pure. */

import { lowerBound } from "../bytes/search.js";

/** Positions of some rows, in the order of the file. */
export interface RowPositions {
  readonly start: number;
  /** Positions relative to `start`, ascending; null for consecutive rows. */
  readonly picked: Uint32Array | null;
}

/** Returns the positions of `rowCount` rows, after the first `skip`. */
export function slicePositions(
  { start, picked }: RowPositions,
  skip: number,
  rowCount: number,
): RowPositions {
  return picked === null
    ? { start: start + skip, picked: null }
    : { start, picked: picked.subarray(skip, skip + rowCount) };
}

/**
 * Returns the positions, relative to `start`, of the rows of `[start, end)` that are not skipped.
 * @param skipped sorted positions
 */
export function unskipped(start: number, end: number, skipped: Uint32Array): Uint32Array {
  let next = lowerBound(skipped, start);
  const indices = new Uint32Array(end - start - (lowerBound(skipped, end) - next));
  let count = 0;
  for (let row = start; row < end; row++) {
    if (next < skipped.length && skipped[next] === row) next++;
    else indices[count++] = row - start;
  }
  return indices;
}
