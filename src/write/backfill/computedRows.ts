/** Computed values of a backfill, in memory or in files, and the parts of a fragment that have them. */

import type { Column } from "../../arrow/columns/column.js";
import type { Arena } from "../../io/memory/arena.js";

/** Values of some rows of a fragment. */
export interface ComputedRows {
  /** Physical offsets, ascending. */
  readonly offsets: Uint32Array;
  readonly column: Column;
  /** Memory of the values, which each holder of the rows owns; null if the garbage collector frees it. */
  readonly memory: Arena | null;
}

/** Computed rows between two offsets; no other part of the fragment has rows in between. */
export interface ComputedPart {
  readonly first: number;
  readonly last: number;
  readonly rowCount: number;
  rows(): AsyncIterable<ComputedRows>;
}

/** Makes a part from rows in memory. */
export const partInMemory = (rows: readonly ComputedRows[]): ComputedPart => ({
  first: rows[0].offsets[0],
  last: rows[rows.length - 1].offsets[rows[rows.length - 1].offsets.length - 1],
  rowCount: rows.reduce((sum, { offsets }) => sum + offsets.length, 0),
  async *rows() {
    yield* rows;
  },
});
