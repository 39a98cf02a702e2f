/** Finds live rows of some fragments by the ids that indexes have for them. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { firstIndex, lowerBound } from "../../bytes/search.js";
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

/** Consecutive stable ids, and the location of their rows. */
interface Run {
  readonly first: number;
  readonly end: number;
  /** Address of the first row. */
  readonly address: number;
  /** Highest end of this run and of all runs before it. */
  highestEnd: number;
}

export class LiveRows {
  readonly #rowCounts = new Map<number, number>();
  readonly #deleted = new Map<number, Uint32Array>();
  readonly #selection: SearchedRows | null;
  /** Runs of a table with stable ids, by their first ids; null for any other table. */
  readonly #runs: readonly Run[] | null;
  /** The latest fragment, and its rows. */
  #lastId = -1;
  #lastCount = 0;
  #lastDeleted: Uint32Array | null = null;
  #lastSelected: Uint32Array | null = null;

  private constructor(selection: SearchedRows | null, runs: readonly Run[] | null) {
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
    const runs = hasStableRowIds(manifest) ? await runsOf(fragments, path) : null;
    const rows = new LiveRows(selection, runs);
    for (const fragment of fragments) {
      rows.#rowCounts.set(fragment.id, fragment.physicalRows);
      const deleted = fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
      if (deleted !== null) rows.#deleted.set(fragment.id, deleted);
    }
    return rows;
  }

  /**
   * Returns the address of a live row that may be found; -1 if there is none.
   * @param high upper half of the id
   */
  find(low: number, high: number): number {
    const id = high * WORD + low;
    if (this.#runs === null) return this.#isFound(high, low) ? id : -1;
    const runs = this.#runs;
    let index = firstIndex(0, runs.length, (run) => runs[run].first > id) - 1;
    // An id may have several rows. All but one of them are deleted.
    for (; index >= 0 && runs[index].highestEnd > id; index--) {
      const { first, end, address } = runs[index];
      if (id >= end) continue;
      const rowAddress = address + id - first;
      const fragmentId = Math.floor(rowAddress / WORD);
      if (this.#isFound(fragmentId, rowAddress - fragmentId * WORD)) return rowAddress;
    }
    return -1;
  }

  #isFound(fragmentId: number, row: number): boolean {
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
  }
}

async function runsOf(fragments: readonly DataFragment[], path: string): Promise<Run[]> {
  const runs: Run[] = [];
  for (const fragment of fragments) {
    const { values, counts } = stableIdsOf(fragment, path);
    let address = fragment.id * WORD;
    for (const [run, first] of values.entries()) {
      const end = first + counts[run];
      runs.push({ first, end, address, highestEnd: end });
      address += counts[run];
      if (run % 4096 === 0) await yieldToEventLoop();
    }
  }
  runs.sort((a, b) => a.first - b.first);
  let highest = 0;
  for (const run of runs) {
    highest = Math.max(highest, run.end);
    run.highestEnd = highest;
  }
  return runs;
}
