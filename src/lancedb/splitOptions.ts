/** Options of splits and shuffles, as LanceDB declares them. */

/** Split by calculated ids of the splits. */
export interface SplitCalculatedOptions {
  /** SQL expression whose values are ids of splits. */
  calculation: string;
  /** Names of the splits. */
  splitNames?: Array<string>;
}

/** Split by hashes of columns. */
export interface SplitHashOptions {
  /** Columns that are hashed. */
  columns: Array<string>;
  /** Weight of each split. */
  splitWeights: Array<number>;
  /** Weight of rows that no split has. */
  discardWeight?: number;
  /** Names of the splits. */
  splitNames?: Array<string>;
}

/** Split at random. One of `ratios`, `counts` and `fixed` is given. */
export interface SplitRandomOptions {
  /** Share of each split. */
  ratios?: Array<number>;
  /** Number of rows of each split. */
  counts?: Array<number>;
  /** Number of splits of one size. */
  fixed?: number;
  /** Seed of the random numbers. */
  seed?: number;
  /** Number of rows that stay together. */
  clumpSize?: number;
  /** Names of the splits. */
  splitNames?: Array<string>;
}

/** Split in the order of rows. One of `ratios`, `counts` and `fixed` is given. */
export interface SplitSequentialOptions {
  /** Share of each split. */
  ratios?: Array<number>;
  /** Number of rows of each split. */
  counts?: Array<number>;
  /** Number of splits of one size. */
  fixed?: number;
  /** Names of the splits. */
  splitNames?: Array<string>;
}

/** Settings of a shuffle. */
export interface ShuffleOptions {
  /** Seed of the random numbers. */
  seed?: number;
  /** Number of rows that stay together. */
  clumpSize?: number;
}
