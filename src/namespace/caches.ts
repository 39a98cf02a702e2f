/** Statistics of the caches of a namespace. */

/** Use of a cache since the namespace was opened. */
export interface CacheUse {
  /** Number of entries. */
  readonly entries: number;
  /** Approximate bytes of memory. */
  readonly bytes: number;
  /** Maximum of `bytes`. */
  readonly maxBytes: number;
  /** Number of lookups that found an entry. */
  readonly hits: number;
  /** Number of lookups that found none. */
  readonly misses: number;
}

/** Caches of a namespace. */
export interface CacheStatistics {
  /** Decoded manifests. */
  readonly manifests: CacheUse;
  /** Decoded catalogs of child namespaces. */
  readonly catalogs: CacheUse;
  /** Metadata of data files. */
  readonly dataFiles: CacheUse;
  /** Positions of the chunks of pages, and page dictionaries. */
  readonly chunkMaps: CacheUse;
  /** Checksums of pages. */
  readonly pageChecks: CacheUse;
  /** Decoded rows near rows that were looked up. */
  readonly rowBlocks: CacheUse;
  /** Rows that deletion files list. */
  readonly deletions: CacheUse;
  /** Open indexes. */
  readonly indexes: CacheUse;
  /** Pages and partitions of indexes. */
  readonly indexParts: CacheUse;
  /** Vectors in one byte per value, for exact searches. */
  readonly vectors: CacheUse;
  /** Sums of all caches. */
  readonly total: CacheUse;
}
