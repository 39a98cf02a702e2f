/** Addresses of the rows that an index search may return: live rows of some fragments, or of a filter. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { DataFragment } from "../../format/table.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { selectedRows } from "../filter/filteredRows.js";
import { StableIds } from "../scan/liveRows.js";
import type { SearchRequest } from "./nearestRows.js";

const WORD = 2 ** 32;

export class SearchableRows {
  /** Bit per row of each fragment; null for all rows. */
  readonly #masks: ReadonlyMap<number, Uint8Array | null>;
  /** Null for a table without stable ids. */
  readonly #runs: StableIds | null;

  private constructor(masks: ReadonlyMap<number, Uint8Array | null>, runs: StableIds | null) {
    this.#masks = masks;
    this.#runs = runs;
  }

  /** @param path of the manifest, for errors */
  static async of(
    source: FragmentSource,
    request: SearchRequest,
    fragments: readonly DataFragment[],
    path: string,
  ): Promise<SearchableRows> {
    const masks = await masksOf(source, request, fragments);
    const runs = request.numbers.hasStableIds ? await StableIds.of(fragments, path) : null;
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
      return covered.has(high) && this.#isSearched(high, low);
    }
    const packed = this.#runs.find(high * WORD + low, this.#isSearched);
    if (packed < 0) return false;
    address[1] = Math.floor(packed / WORD);
    address[0] = packed - address[1] * WORD;
    return covered.has(address[1]);
  }

  readonly #isSearched = (fragmentId: number, row: number): boolean => {
    const mask = this.#masks.get(fragmentId);
    if (mask === undefined) return false;
    return mask === null || ((mask[row >>> 3] >>> (row & 7)) & 1) === 1;
  };
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
