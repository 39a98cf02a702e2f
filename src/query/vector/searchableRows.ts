/**
 * Rows that an index search may return, and their addresses: live rows of some fragments, or those of a
 * filter.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { lowerBound, upperBound } from "../../bytes/search.js";
import type { DataFragment } from "../../format/table.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { rowIdsOf } from "../columns/systemColumns.js";
import { selectedRows } from "../filter/filteredRows.js";
import type { SearchRequest } from "./nearestRows.js";

/** Runs of stable ids, by first id. */
interface IdRuns {
  readonly firstIds: Float64Array;
  readonly counts: Uint32Array;
  readonly fragmentIds: Uint32Array;
  readonly firstRows: Uint32Array;
}

export class SearchableRows {
  /** Bit per row of each fragment; null for all rows. */
  readonly #masks: ReadonlyMap<number, Uint8Array | null>;
  readonly #runs: IdRuns | null;

  private constructor(masks: ReadonlyMap<number, Uint8Array | null>, runs: IdRuns | null) {
    this.#masks = masks;
    this.#runs = runs;
  }

  /**
   * @param path of the manifest, for errors
   */
  static async of(
    source: FragmentSource,
    request: SearchRequest,
    fragments: readonly DataFragment[],
    path: string,
  ): Promise<SearchableRows> {
    const masks = await masksOf(source, request, fragments);
    const runs = request.numbers.hasStableIds ? await idRuns(source, fragments, path) : null;
    return new SearchableRows(masks, runs);
  }

  /**
   * Writes the address of the row with an id into `address`.
   * @param covered fragments in which the id is valid
   * @returns false if there is no such row, or the search excludes it
   */
  locate(low: number, high: number, covered: ReadonlySet<number>, address: Uint32Array): boolean {
    if (this.#runs === null) {
      address[0] = low;
      address[1] = high;
    } else if (!findId(this.#runs, high * 2 ** 32 + low, address)) return false;
    const [row, fragmentId] = address;
    const mask = this.#masks.get(fragmentId);
    if (mask === undefined || !covered.has(fragmentId)) return false;
    return mask === null || ((mask[row >>> 3] >>> (row & 7)) & 1) === 1;
  }
}

async function masksOf(
  source: FragmentSource,
  request: SearchRequest,
  fragments: readonly DataFragment[],
): Promise<Map<number, Uint8Array | null>> {
  const masks = new Map<number, Uint8Array | null>();
  const { filter } = request;
  if (filter !== null) {
    for await (const { fragment, rows } of selectedRows(source, { ...request, filter, fragments })) {
      const mask = new Uint8Array((fragment.physicalRows + 7) >>> 3);
      for (const row of rows) mask[row >>> 3] |= 1 << (row & 7);
      masks.set(fragment.id, mask);
    }
    return masks;
  }
  for (const fragment of fragments) {
    const deleted = fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
    if (deleted === null) {
      masks.set(fragment.id, null);
      continue;
    }
    const mask = new Uint8Array((fragment.physicalRows + 7) >>> 3).fill(0xff);
    for (const row of deleted) mask[row >>> 3] &= ~(1 << (row & 7));
    masks.set(fragment.id, mask);
    await yieldToEventLoop();
  }
  return masks;
}

/** Returns the ids of live rows. A deleted row may share its id with a live row elsewhere. */
async function idRuns(
  source: FragmentSource,
  fragments: readonly DataFragment[],
  path: string,
): Promise<IdRuns> {
  const runs: { id: number; count: number; fragmentId: number; row: number }[] = [];
  for (const fragment of fragments) {
    const deleted = fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
    const deletedRows = deleted ?? new Uint32Array(0);
    const { values, counts } = rowIdsOf(fragment, path);
    let first = 0;
    for (const [run, id] of values.entries()) {
      let start = 0;
      const end = first + counts[run];
      for (let index = lowerBound(deletedRows, first); index <= deletedRows.length; index++) {
        const stop = index === deletedRows.length ? end : Math.min(end, deletedRows[index]);
        const count = stop - first - start;
        if (count > 0) runs.push({ id: id + start, count, fragmentId: fragment.id, row: first + start });
        if (stop === end) break;
        start = stop - first + 1;
      }
      first = end;
    }
    await yieldToEventLoop();
  }
  runs.sort((a, b) => a.id - b.id);
  return {
    firstIds: Float64Array.from(runs, ({ id }) => id),
    counts: Uint32Array.from(runs, ({ count }) => count),
    fragmentIds: Uint32Array.from(runs, ({ fragmentId }) => fragmentId),
    firstRows: Uint32Array.from(runs, ({ row }) => row),
  };
}

function findId(
  { firstIds, counts, fragmentIds, firstRows }: IdRuns,
  id: number,
  address: Uint32Array,
): boolean {
  const run = upperBound(firstIds, id) - 1;
  if (run < 0 || id - firstIds[run] >= counts[run]) return false;
  address[0] = firstRows[run] + (id - firstIds[run]);
  address[1] = fragmentIds[run];
  return true;
}
