/**
 * The rule by which parts of an index merge. New rows become a part of their own, so that an update costs in
 * proportion to them. A part merges with the new rows once they are not much smaller. Sizes therefore grow by
 * a factor from part to part: there are few parts, and a row is merged a few times in its life.
 */

/** A part merges with rows that number at least one in this many of its own. */
const MERGED_FACTOR = 4;
/** Fewer rows than this always merge: merging costs less than searching another part. */
const MIN_ROWS = 1024;

/**
 * Returns the parts that merge with new rows, smallest first; empty if the new rows become another part.
 * @param rowCount new rows; 0 to merge the parts among themselves, which then returns two or more, or none
 */
export function mergedParts<Part>(
  parts: readonly Part[],
  rowsOf: (part: Part) => number,
  rowCount: number,
): Part[] {
  const bySize = [...parts].sort((a, b) => rowsOf(a) - rowsOf(b));
  const merged: Part[] = [];
  let rows = rowCount;
  for (const part of bySize) {
    const size = rowsOf(part);
    const isFirst = rowCount === 0 && merged.length === 0;
    if (!isFirst && size > MERGED_FACTOR * rows && size + rows > MIN_ROWS) break;
    merged.push(part);
    rows += size;
  }
  return rowCount === 0 && merged.length < 2 ? [] : merged;
}
