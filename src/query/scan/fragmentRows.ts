/** Computes the physical rows that offset and limit select. Pure; deletions are sorted physical offsets. */

import { firstIndex } from "../../bytes/search.js";

/** A range of rows of one fragment, in their order on disk. */
export interface LiveSpan {
  /** First physical row. */
  readonly start: number;
  /** The physical row after the last one. */
  readonly end: number;
  /** Number of live rows in the range. */
  readonly liveRows: number;
}

/** Returns the span of the live rows `skip` to `skip + take - 1` of a fragment; null if there are none. */
export function selectSpan(
  physicalRows: number,
  deleted: Uint32Array | null,
  skip: number,
  take: number,
): LiveSpan | null {
  const live = physicalRows - (deleted?.length ?? 0);
  const liveRows = Math.min(live - skip, take);
  if (liveRows <= 0) return null;
  if (deleted === null || deleted.length === 0) return { start: skip, end: skip + liveRows, liveRows };
  return {
    start: physicalOffset(skip, deleted),
    end: physicalOffset(skip + liveRows - 1, deleted) + 1,
    liveRows,
  };
}

/** Returns the physical offset of a live row: `live` plus the number of deleted rows before it. */
export const physicalOffset = (live: number, deleted: Uint32Array): number =>
  // deleted[i] - i live rows lie before deleted row i. This counts the deleted rows with at most `live`
  // before them.
  live + firstIndex(0, deleted.length, (index) => deleted[index] - index > live);
