/** Which of the chunks of a column hold the rows that are picked of it. */

/** Share of all rows above which taking some of them costs no less than making all. */
const MOST_PICKED = 1 / 4;

/** Whether rows of `count` are few, and in ascending order: worth picking one by one. */
export function areFewInOrder(rows: Uint32Array, count: number): boolean {
  if (rows.length > count * MOST_PICKED) return false;
  for (let index = 1; index < rows.length; index++) if (rows[index] < rows[index - 1]) return false;
  return true;
}

/**
 * Calls `use` for each chunk that holds some of the rows.
 * @param rows ascending
 * @param counts rows of each chunk
 * @param use is told which rows these are, from `first` to `end - 1`, and with which row the chunk begins
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
