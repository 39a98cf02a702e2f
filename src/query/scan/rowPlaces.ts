/** Finds the addresses of rows by their ids, or by their numbers among the live rows of a version. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { lowerBound } from "../../bytes/search.js";
import type { DataFragment } from "../../format/table.js";
import { type RowIds, RowIdsBuilder } from "../../indexes/rowIds.js";
import type { ValueRuns } from "../../table/fragments/rowSequences.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { physicalOffset } from "./fragmentRows.js";

const WORD = 2 ** 32;

/**
 * Returns the addresses of the rows of some fragments with given stable ids. An id may have several rows; all
 * but one of them are deleted.
 * @param limit all ids are below it
 */
export async function placesOfIds(
  ids: RowIds,
  limit: number,
  fragments: readonly DataFragment[],
  runsOf: (fragment: DataFragment) => ValueRuns,
): Promise<RowIds> {
  const lows = new Map<number, Uint32Array>();
  for (const high of ids.highWords()) {
    const below = Math.min(WORD, limit - high * WORD);
    if (below > 0) lows.set(high, ids.lows(high, below));
  }
  const addresses = new RowIdsBuilder();
  if (lows.size === 0) return addresses.finish();
  for (const fragment of fragments) {
    const { values, counts } = runsOf(fragment);
    let position = 0;
    for (let run = 0; run < values.length; run++) {
      addRun(lows, values[run], counts[run], position, fragment.id, addresses);
      position += counts[run];
    }
    await yieldToEventLoop();
  }
  return addresses.finish();
}

/** Adds the rows of a run of ids that are wanted. */
function addRun(
  lows: ReadonlyMap<number, Uint32Array>,
  first: number,
  count: number,
  position: number,
  fragmentId: number,
  addresses: RowIdsBuilder,
): void {
  for (let start = first; start < first + count; ) {
    const high = Math.floor(start / WORD);
    const end = Math.min(first + count, (high + 1) * WORD);
    const wanted = lows.get(high);
    if (wanted !== undefined) {
      const from = lowerBound(wanted, start - high * WORD);
      const to = end === (high + 1) * WORD ? wanted.length : lowerBound(wanted, end - high * WORD);
      if (to > from) {
        const words = new Uint32Array(2 * (to - from));
        const shift = position - (first - high * WORD);
        for (let index = from; index < to; index++) {
          words[2 * (index - from)] = wanted[index] + shift;
          words[2 * (index - from) + 1] = fragmentId;
        }
        addresses.add(words, 0, to - from);
      }
    }
    start = end;
  }
}

/** Rows of one fragment. */
export interface RowsOfFragment {
  readonly fragment: DataFragment;
  /** Physical rows, ascending, each once. */
  readonly rows: Uint32Array;
}

/**
 * Returns the rows with given numbers among the live rows, by fragment. Does not open a fragment without such
 * rows whose number of deleted rows is in the manifest.
 * @param offsets ascending, each once; ignores those beyond the last row
 * @param fragments of the whole version
 */
export async function rowsAtOffsets(
  offsets: Float64Array,
  fragments: readonly DataFragment[],
  source: FragmentSource,
): Promise<RowsOfFragment[]> {
  const parts: RowsOfFragment[] = [];
  let firstRow = 0;
  let next = 0;
  for (const fragment of fragments) {
    if (next >= offsets.length) break;
    let deleted: Uint32Array | null = null;
    let live = liveRowCount(fragment);
    const { deletionFile } = fragment;
    // Old writers do not record the number of deleted rows.
    if (
      deletionFile !== undefined &&
      (deletionFile.numDeletedRows === 0 || offsets[next] < firstRow + live)
    ) {
      deleted = await source.readDeletions(fragment);
      live = fragment.physicalRows - (deleted?.length ?? 0);
    }
    let end = next;
    while (end < offsets.length && offsets[end] < firstRow + live) end++;
    if (end > next) {
      const rows = new Uint32Array(end - next);
      for (let index = next; index < end; index++) {
        const row = offsets[index] - firstRow;
        rows[index - next] = deleted === null ? row : physicalOffset(row, deleted);
      }
      parts.push({ fragment, rows });
    }
    next = end;
    firstRow += live;
  }
  return parts;
}

/** Returns the addresses of the rows that `rowsAtOffsets` finds. */
export async function placesOfOffsets(
  offsets: Float64Array,
  fragments: readonly DataFragment[],
  source: FragmentSource,
): Promise<RowIds> {
  const addresses = new RowIdsBuilder();
  for (const { fragment, rows } of await rowsAtOffsets(offsets, fragments, source)) {
    const words = new Uint32Array(2 * rows.length);
    for (let index = 0; index < rows.length; index++) {
      words[2 * index] = rows[index];
      words[2 * index + 1] = fragment.id;
    }
    addresses.add(words, 0, rows.length);
  }
  return addresses.finish();
}
