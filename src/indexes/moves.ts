/** What a merge of indexes is told of rows that are no longer where they were. */

/** Where the rows of an old index went. */
export interface RowMoves {
  /**
   * The new ids of rows.
   * @param ids pairs of words: low, high; not to be changed
   */
  move(ids: Uint32Array): MovedRows;
  /** Whether all ids with a high word are as they were, and still covered by the index. */
  keepsIds(high: number): boolean;
  /**
   * What the low words of the ids with a high word are below: an index may say that it holds every id with the word,
   * in which case these are asked about. 0 where there are no such rows.
   */
  lowsBelow(high: number): number;
  /** Whether the rows of a fragment are where they were, and still covered by the index. */
  keepsFragment(fragmentId: number): boolean;
}

export interface MovedRows {
  /** Pairs of words, one for each row asked about; those of rows that are gone mean nothing. */
  readonly ids: Uint32Array;
  /** The rows that are left, as positions in what was asked about, ascending; null for all of them. */
  readonly kept: Uint32Array | null;
}
