/** Maps rows of an old index to their new ids. */
export interface RowMoves {
  /** Returns the new ids of rows. @param ids pairs of words: low, high; read only */
  move(ids: Uint32Array): MovedRows;
  /** True if all ids with this high word are unchanged and the index still covers them. */
  keepsIds(high: number): boolean;
  /**
   * Bound above all low words that occur with this high word; 0 if none occur. An index may claim every id of
   * a high word; a merge then maps the ids below this bound.
   */
  lowsBelow(high: number): number;
  /** True if the rows of the fragment are unchanged and the index still covers them. */
  keepsFragment(fragmentId: number): boolean;
}

export interface MovedRows {
  /** Pairs of words, one per input row; those of deleted rows have no meaning. */
  readonly ids: Uint32Array;
  /** Input positions of the remaining rows, ascending; null for all. */
  readonly kept: Uint32Array | null;
}
