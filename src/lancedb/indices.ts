/** Kinds of indexes and their settings. */

import type { CreateTableIndexRequest } from "../namespace/indexes.js";
import { failure } from "./failures.js";
import { present } from "./present.js";
import { type TokenizeOptions, tokenizerOptionsOf } from "./tokenize.js";

/** Settings that all vector indexes have. */
interface VectorIndexOptions {
  /** Number of partitions. Default: derived from the number of rows. */
  numPartitions?: number;
  /** Maximum number of training rounds. Default: 50. */
  maxIterations?: number;
  /** Number of training rows per partition. Default: 256. */
  sampleRate?: number;
}

/** Options of an index of kind IVF_PQ. */
export interface IvfPqOptions extends VectorIndexOptions {
  /** Number of parts of a vector, each with its own codebook. Default: derived from the dimension. */
  numSubVectors?: number;
  /** Bits of the code of a part: 4 or 8. Default: 8. */
  numBits?: number;
  /** Distance of the index. Searches must use the same. Default: `l2`. */
  distanceType?: "l2" | "cosine" | "dot";
}

/** Options of an index of kind IVF_RQ. */
export interface IvfRqOptions extends VectorIndexOptions {
  /** Bits of the code of a dimension. Default: 1. */
  numBits?: number;
  /** Distance of the index. Searches must use the same. Default: `l2`. */
  distanceType?: "l2" | "cosine" | "dot";
}

/** Options of an index of kind IVF_FLAT. */
export interface IvfFlatOptions extends VectorIndexOptions {
  /** Distance of the index. `hamming` counts unequal bits of uint8 vectors. Default: `l2`. */
  distanceType?: "l2" | "cosine" | "dot" | "hamming";
}

/** Options of an index of kind IVF_HNSW_PQ. */
export interface HnswPqOptions extends VectorIndexOptions {
  /** Distance of the index. Searches must use the same. Default: `l2`. */
  distanceType?: "l2" | "cosine" | "dot";
  /** Number of parts of a vector, each with its own codebook. Default: derived from the dimension. */
  numSubVectors?: number;
  /** Number of neighbours per row in the graph. Default: 20. */
  m?: number;
  /** Number of candidates while the graph is built. Default: 300. */
  efConstruction?: number;
}

/** Options of an index of kind IVF_HNSW_SQ. */
export interface HnswSqOptions extends VectorIndexOptions {
  /** Distance of the index. Searches must use the same. Default: `l2`. */
  distanceType?: "l2" | "cosine" | "dot";
  /** Number of neighbours per row in the graph. Default: 20. */
  m?: number;
  /** Number of candidates while the graph is built. Default: 300. */
  efConstruction?: number;
}

/** Options of an index of words. */
export interface FtsOptions extends TokenizeOptions {
  /** True: stores positions, which phrase queries need. Default: true. */
  withPosition?: boolean;
  /** Number of texts per block of postings: 128 or 256. Default: 128. */
  blockSize?: 128 | 256;
}

/** Members of a request for an index that its kind decides. */
export type IndexRequest = Omit<CreateTableIndexRequest, "id" | "column" | "name" | "replace" | "branch">;

/** Kind of an index with its settings, as `createIndex` takes it. */
export class Index {
  // biome-ignore lint/correctness/noUnusedPrivateClassMembers: requestOfIndex reads it
  private readonly inner: IndexRequest;

  private constructor(indexType: string, options: object = {}) {
    this.inner = { indexType, ...present(options) } as IndexRequest;
  }

  /** Makes an index of partitions whose vectors are stored as product-quantised codes. */
  static ivfPq(options?: Partial<IvfPqOptions>): Index {
    return new Index("IVF_PQ", options);
  }

  /** Makes an index of partitions whose vectors are stored as RabitQ codes. */
  static ivfRq(options?: Partial<IvfRqOptions>): Index {
    return new Index("IVF_RQ", options);
  }

  /** Makes an index of partitions whose vectors are stored as they are. */
  static ivfFlat(options?: Partial<IvfFlatOptions>): Index {
    return new Index("IVF_FLAT", options);
  }

  /** Makes an index of sorted values, for columns with many distinct values. */
  static btree(): Index {
    return new Index("BTREE");
  }

  /** Makes an index with a bitmap of rows per value, for columns with few distinct values. */
  static bitmap(): Index {
    return new Index("BITMAP");
  }

  /** Makes an index of the items of lists, for `array_has_all` and `array_has_any`. */
  static labelList(): Index {
    return new Index("LABEL_LIST");
  }

  /** Makes an FM index of substrings, for `contains`. */
  static fm(): Index {
    return new Index("FM");
  }

  /** Makes an index of words for text searches. */
  static fts(options: Partial<FtsOptions> = {}): Index {
    const { withPosition = true, blockSize, ...tokenizer } = options;
    if (blockSize != null && blockSize !== 128 && blockSize !== 256) {
      throw failure(
        `Invalid user input: FTS inverted index block_size must be one of 128 or 256, got ${blockSize}`,
      );
    }
    return new Index("FTS", {
      ...tokenizerOptionsOf(tokenizer),
      withPosition,
      blockSize,
    });
  }

  /** Makes an index of graphs, one per partition, whose vectors are stored as product-quantised codes. */
  static hnswPq(options?: Partial<HnswPqOptions>): Index {
    return new Index("IVF_HNSW_PQ", options);
  }

  /** Makes an index of graphs, one per partition, whose vectors are stored as scalar-quantised codes. */
  static hnswSq(options?: Partial<HnswSqOptions>): Index {
    return new Index("IVF_HNSW_SQ", options);
  }
}

/** Options of `createIndex`. */
export interface IndexOptions {
  /** Kind and settings. Default: the kind that suits the column. */
  config?: Index;
  /** True: replaces an index of the same name. False: fails if there is one. Default: true. */
  replace?: boolean;
  /** Seconds to wait for the index. Default: no limit. */
  waitTimeoutSeconds?: number;
  /** Name of the index. Default: `<column>_idx`. */
  name?: string;
  /** False: makes the index without rows; `optimize` adds them. Only for scalar indexes. Default: true. */
  train?: boolean;
}

/** Returns the members of the request that a kind stands for. */
export const requestOfIndex = (config: Index | undefined): IndexRequest | Record<never, never> =>
  config?.["inner"] ?? {};
