/**
 * Tells which rows of an old index are still right, and their new addresses. An index keeps entries of
 * fragments that it no longer covers, because values changed in place or rows moved. A segment that covers
 * such fragments again must not take these entries.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { lowerBound } from "../../bytes/search.js";
import type { DataFragment } from "../../format/table.js";
import type { MovedRows, RowMoves } from "../../indexes/moves.js";
import { type RowIds, RowIdsBuilder } from "../../indexes/rowIds.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { stableIdsOf } from "../../table/fragments/rowOrigins.js";
import { withoutRows } from "../../table/fragments/rowSequences.js";

/** Keeps the rows of these fragments, by address; all others are gone. */
export function stayingFragments(fragments: readonly DataFragment[]): RowMoves {
  const rowCounts = new Map(fragments.map(({ id, physicalRows }) => [id, physicalRows]));
  const isStaying = (fragmentId: number): boolean => rowCounts.has(fragmentId);
  return {
    move: (ids) => ({ ids, kept: keptOf(ids, (_, high) => isStaying(high)) }),
    keepsIds: isStaying,
    lowsBelow: (high) => rowCounts.get(high) ?? 0,
    keepsFragment: isStaying,
  };
}

/** Ids between two checks of the clock. */
const STEP_IDS = 65_536;

/** Keeps the live rows of fragments, by stable id; all others are gone. @param path of the manifest */
export async function stayingRows(
  source: FragmentSource,
  fragments: readonly DataFragment[],
  path: string,
): Promise<RowMoves> {
  const builder = new RowIdsBuilder();
  let highestId = -1;
  for (const fragment of fragments) {
    const deleted = fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
    const all = stableIdsOf(fragment, path);
    const { step, values, counts } = deleted === null ? all : withoutRows(all, deleted);
    for (const [run, first] of values.entries()) {
      highestId = Math.max(highestId, first + step * (counts[run] - 1));
      for (let start = 0; start < counts[run]; start += STEP_IDS) {
        const count = Math.min(STEP_IDS, counts[run] - start);
        builder.add(idWords(first + step * start, count, step), 0, count);
        await yieldToEventLoop();
      }
    }
  }
  const live: RowIds = builder.finish();
  const fragmentIds = new Set(fragments.map(({ id }) => id));
  return {
    move: (ids) => ({ ids, kept: keptOf(ids, (low, high) => live.has(high, low)) }),
    // Some of the ids may be gone.
    keepsIds: () => false,
    lowsBelow: (high) => Math.max(0, Math.min(2 ** 32, highestId + 1 - high * 2 ** 32)),
    keepsFragment: (fragmentId) => fragmentIds.has(fragmentId),
  };
}

/** Returns pairs of words, low and high, of consecutive ids. */
function idWords(first: number, count: number, step: number): Uint32Array {
  const words = new Uint32Array(2 * count);
  for (let row = 0; row < count; row++) {
    const id = first + step * row;
    words[2 * row] = id;
    words[2 * row + 1] = id / 2 ** 32;
  }
  return words;
}

/** Returns positions of the ids that stay, from pairs of words; null for all of them. */
function keptOf(ids: Uint32Array, stays: (low: number, high: number) => boolean): Uint32Array | null {
  const rowCount = ids.length / 2;
  const kept = new Uint32Array(rowCount);
  let count = 0;
  for (let row = 0; row < rowCount; row++) if (stays(ids[2 * row], ids[2 * row + 1])) kept[count++] = row;
  return count === rowCount ? null : kept.subarray(0, count);
}

/** Merged fragments: the live rows of the old ones, in order, are the rows of the new ones. */
export interface MergedFragments {
  readonly oldFragments: readonly DataFragment[];
  /** New fragments with their ids. */
  readonly newFragments: readonly DataFragment[];
}

/** New position of the rows of a merged fragment. */
interface Merged {
  /** Live rows of the fragments that precede it in its group. */
  readonly firstRow: number;
  /** Sorted physical offsets. */
  readonly deleted: Uint32Array;
  readonly newIds: readonly number[];
  /** Number of the first row of each new fragment. */
  readonly starts: readonly number[];
}

const NONE = new Uint32Array(0);

/** Maps addresses across a compaction. @param covered fragments before the compaction */
export async function compactedRows(
  source: FragmentSource,
  covered: readonly DataFragment[],
  groups: readonly MergedFragments[],
): Promise<RowMoves> {
  const merged = new Map<number, Merged>();
  for (const { oldFragments, newFragments } of groups) {
    const starts: number[] = [];
    let next = 0;
    for (const { physicalRows } of newFragments) {
      starts.push(next);
      next += physicalRows;
    }
    const newIds = newFragments.map(({ id }) => id);
    let firstRow = 0;
    for (const fragment of oldFragments) {
      const isWhole = fragment.deletionFile === undefined;
      const deleted = isWhole ? NONE : ((await source.readDeletions(fragment)) ?? NONE);
      merged.set(fragment.id, { firstRow, deleted, newIds, starts });
      firstRow += fragment.physicalRows - deleted.length;
    }
  }
  const rowCounts = new Map(covered.map(({ id, physicalRows }) => [id, physicalRows]));
  const isStaying = (fragmentId: number): boolean => rowCounts.has(fragmentId) && !merged.has(fragmentId);
  return {
    move: (ids) => moveRows(ids, rowCounts, merged),
    keepsIds: isStaying,
    lowsBelow: (high) => rowCounts.get(high) ?? 0,
    keepsFragment: isStaying,
  };
}

function moveRows(
  ids: Uint32Array,
  covered: ReadonlyMap<number, unknown>,
  merged: ReadonlyMap<number, Merged>,
): MovedRows {
  const rowCount = ids.length / 2;
  const moved = new Uint32Array(ids.length);
  const kept = new Uint32Array(rowCount);
  let count = 0;
  let fragmentId = -1;
  let isCovered = false;
  let group: Merged | undefined;
  for (let row = 0; row < rowCount; row++) {
    const low = ids[2 * row];
    const high = ids[2 * row + 1];
    if (high !== fragmentId) {
      fragmentId = high;
      isCovered = covered.has(high);
      group = merged.get(high);
    }
    if (!isCovered) continue;
    if (group === undefined) {
      moved[2 * row] = low;
      moved[2 * row + 1] = high;
    } else {
      const { deleted, firstRow, starts, newIds } = group;
      const before = lowerBound(deleted, low);
      if (deleted[before] === low) continue;
      const live = firstRow + low - before;
      let index = starts.length - 1;
      while (starts[index] > live) index--;
      moved[2 * row] = live - starts[index];
      moved[2 * row + 1] = newIds[index];
    }
    kept[count++] = row;
  }
  return { ids: moved, kept: count === rowCount ? null : kept.subarray(0, count) };
}
