/** Values that a backfill has computed, wherever they are, and parts of a fragment that have them. */

import type { Column } from "../../arrow/columns/column.js";
import type { Arena } from "../../io/memory/arena.js";

/** Values of some rows of a fragment. */
export interface ComputedRows {
  /** Physical offsets, ascending. */
  readonly offsets: Uint32Array;
  readonly column: Column;
  /** Holds the values; its owners release it after their last use of them. */
  readonly arena?: Pick<Arena, "share" | "release">;
}

/** Computed rows that lie together; no other part of the fragment has rows between its first and its last. */
export interface ComputedPart {
  readonly first: number;
  readonly last: number;
  readonly rowCount: number;
  rows(): AsyncIterable<ComputedRows>;
}

/** A part in memory. */
export const partInMemory = (rows: readonly ComputedRows[]): ComputedPart => ({
  first: rows[0].offsets[0],
  last: rows[rows.length - 1].offsets[rows[rows.length - 1].offsets.length - 1],
  rowCount: rows.reduce((sum, { offsets }) => sum + offsets.length, 0),
  async *rows() {
    yield* rows;
  },
});

/** Releases rows after the last use by one owner. */
export function releaseAll(rows: readonly ComputedRows[]): void {
  for (const { arena } of rows) arena?.release();
}
