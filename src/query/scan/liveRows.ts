/** Finds live rows of some fragments by the ids that indexes have for them. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { lowerBound, upperBound } from "../../bytes/search.js";
import type { DataFragment } from "../../format/table.js";
import { stableIdsOf } from "../../table/fragments/rowOrigins.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";

const WORD = 2 ** 32;

/** Physical rows by fragment, ascending. */
export type SearchedRows = ReadonlyMap<number, Uint32Array>;

export function isSelected(selection: SearchedRows, address: number): boolean {
  const fragmentId = Math.floor(address / WORD);
  return isAmong(selection.get(fragmentId), address - fragmentId * WORD);
}

function isAmong(rows: Uint32Array | null | undefined, row: number): boolean {
  return rows !== null && rows !== undefined && rows[lowerBound(rows, row)] === row;
}

/** Runs of consecutive stable ids, by their first ids, and the locations of their rows. */
export class StableIds {
  readonly #firsts: Float64Array;
  readonly #ends: Float64Array;
  /** Addresses of the first rows. */
  readonly #addresses: Float64Array;
  /** Highest end of each run and of all runs before it. */
  readonly #highestEnds: Float64Array;

  private constructor(runs: { readonly first: number; readonly end: number; readonly address: number }[]) {
    runs.sort((a, b) => a.first - b.first);
    this.#firsts = Float64Array.from(runs, ({ first }) => first);
    this.#ends = Float64Array.from(runs, ({ end }) => end);
    this.#addresses = Float64Array.from(runs, ({ address }) => address);
    let highest = 0;
    this.#highestEnds = this.#ends.map((end) => (highest = Math.max(highest, end)));
  }

  /** @param path of the manifest, for errors */
  static async of(fragments: readonly DataFragment[], path: string): Promise<StableIds> {
    const runs: { first: number; end: number; address: number }[] = [];
    for (const fragment of fragments) {
      const { values, counts } = stableIdsOf(fragment, path);
      let address = fragment.id * WORD;
      for (const [run, first] of values.entries()) {
        runs.push({ first, end: first + counts[run], address });
        address += counts[run];
        if (run % 4096 === 0) await yieldToEventLoop();
      }
    }
    return new StableIds(runs);
  }

  /** Returns the address of the row with an id; -1 if none is live. All but one row of an id are deleted. */
  find(id: number, isLive: (fragmentId: number, row: number) => boolean): number {
    for (let run = upperBound(this.#firsts, id) - 1; run >= 0 && this.#highestEnds[run] > id; run--) {
      if (id >= this.#ends[run]) continue;
      const address = this.#addresses[run] + id - this.#firsts[run];
      const fragmentId = Math.floor(address / WORD);
      if (isLive(fragmentId, address - fragmentId * WORD)) return address;
    }
    return -1;
  }
}

export class LiveRows {
  readonly #rowCounts = new Map<number, number>();
  readonly #deleted = new Map<number, Uint32Array>();
  readonly #selection: SearchedRows | null;
  /** Null for a table without stable ids. */
  readonly #runs: StableIds | null;
  /** The latest fragment, and its rows. */
  #lastId = -1;
  #lastCount = 0;
  #lastDeleted: Uint32Array | null = null;
  #lastSelected: Uint32Array | null = null;

  private constructor(selection: SearchedRows | null, runs: StableIds | null) {
    this.#selection = selection;
    this.#runs = runs;
  }

  /**
   * @param fragments whose rows may be found; an index may have ids of others
   * @param selection rows that may be found; null for all
   */
  static async open(
    source: FragmentSource,
    { manifest, path }: ManifestFile,
    fragments: readonly DataFragment[],
    selection: SearchedRows | null,
  ): Promise<LiveRows> {
    const runs = hasStableRowIds(manifest) ? await StableIds.of(fragments, path) : null;
    const rows = new LiveRows(selection, runs);
    for (const fragment of fragments) {
      rows.#rowCounts.set(fragment.id, fragment.physicalRows);
      const deleted = fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
      if (deleted !== null) rows.#deleted.set(fragment.id, deleted);
    }
    return rows;
  }

  /** True if no fragment has deleted rows, and all rows may be found. Ids may still be those of lost rows. */
  get mostlyFindsAll(): boolean {
    return this.#selection === null && this.#deleted.size === 0;
  }

  /**
   * Returns the address of a live row that may be found; -1 if there is none.
   * @param high upper half of the id
   */
  find(low: number, high: number): number {
    const id = high * WORD + low;
    if (this.#runs === null) return this.#isFound(high, low) ? id : -1;
    return this.#runs.find(id, this.#isFound);
  }

  readonly #isFound = (fragmentId: number, row: number): boolean => {
    // Neighbouring documents are usually in one fragment.
    if (fragmentId !== this.#lastId) {
      this.#lastId = fragmentId;
      this.#lastCount = this.#rowCounts.get(fragmentId) ?? 0;
      this.#lastDeleted = this.#deleted.get(fragmentId) ?? null;
      this.#lastSelected = this.#selection?.get(fragmentId) ?? null;
    }
    if (row >= this.#lastCount) return false;
    if (this.#lastDeleted !== null && isAmong(this.#lastDeleted, row)) return false;
    return this.#selection === null || isAmong(this.#lastSelected, row);
  };
}
