/** Statistics of tables whose rows are first written to a log, as LanceDB declares them. */

/** Statistics of writes by log. */
export interface LsmStats {
  /** Statistics of each bucket. */
  buckets: Array<BucketStats>;
}

/** Statistics of a bucket of writes by log. */
export interface BucketStats {
  /** Identifier of the shard. */
  shardId: string;
  /** State of the shard. */
  status: string;
  /** Epoch of the writer. */
  writerEpoch: number;
  /** Version of the manifest. */
  manifestVersion: number;
  /** Number of the current generation. */
  currentGeneration: number;
  /** Position in the log after which entries are replayed. */
  replayAfterWalEntryPosition: number;
  /** Last position in the log that was seen. */
  walEntryPositionLastSeen: number;
  /** Statistics of each generation. */
  generations: Array<GenerationStats>;
  /** True while a compaction runs. */
  compacting: boolean;
  /** Statistics of the tables in memory. */
  memtables?: Array<MemtableStats>;
}

/** Statistics of a generation of writes by log. */
export interface GenerationStats {
  /** Number of the generation. */
  generation: number;
  /** Bytes of its files. */
  bytes: number;
  /** Number of its rows, if it was counted. */
  rows?: number;
}

/** Statistics of a table in memory. */
export interface MemtableStats {
  /** Number of the generation. */
  generation: number;
  /** Number of rows. */
  rows: number;
  /** Bytes in memory. */
  bytes: number;
  /** Number of batches. */
  batches: number;
  /** Names of the indexes that are kept up to date. */
  indexes: Array<string>;
}
