/** Finds the chunks that hold picked rows of a column. */

/** For a larger share of all rows, decoding all costs no more than picking. */
const MOST_PICKED = 1 / 4;

/** True if rows are few of `count` and ascending, so that picking them one by one pays. */
export function areFewInOrder(rows: Uint32Array, count: number): boolean {
  if (rows.length > count * MOST_PICKED) return false;
  for (let index = 1; index < rows.length; index++) if (rows[index] < rows[index - 1]) return false;
  return true;
}

/**
 * Calls `use` for each chunk that holds some of the rows.
 * @param rows ascending
 * @param counts rows of each chunk
 * @param use gets the range of these rows, `first` to `end - 1`, and the first row of the chunk
 */
export function eachChunk(
  rows: Uint32Array,
  counts: ArrayLike<number>,
  use: (chunk: number, first: number, end: number, firstRow: number) => void,
): void {
  let next = 0;
  let firstRow = 0;
  for (let chunk = 0; next < rows.length; chunk++) {
    const endRow = firstRow + counts[chunk];
    const first = next;
    while (next < rows.length && rows[next] < endRow) next++;
    if (next > first) use(chunk, first, next, firstRow);
    firstRow = endRow;
  }
}
