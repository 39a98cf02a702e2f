/** Requests and responses of the operations on indexes. */

import type { TableRequest } from "./request.js";
import type { WithProgress } from "./upkeep.js";

/** A kind of index; in any case. */
export type IndexType =
  | "BTREE"
  | "SCALAR"
  | "BITMAP"
  | "LABEL_LIST"
  | "ZONEMAP"
  | "BLOOMFILTER"
  | "NGRAM"
  | "FTS"
  | "INVERTED"
  | "FM"
  | "VECTOR"
  | "IVF_FLAT"
  | "IVF_SQ"
  | "IVF_PQ"
  | "IVF_RQ"
  | "IVF_HNSW_FLAT"
  | "IVF_HNSW_SQ"
  | "IVF_HNSW_PQ";

/** How the distance of vectors is measured; in any case. */
export type DistanceType = "l2" | "cosine" | "dot" | "hamming" | (string & Record<never, never>);

/**
 * An index on one column. Indexes of the kinds `FM` and `IVF_RQ` are not built by this release. Members of one kind are checked
 * for others, too, and mean nothing for them.
 */
export interface CreateTableIndexRequest extends TableRequest, WithProgress {
  /** Path of the column; members of structs as in `a.b`. */
  readonly column: string;
  /**
   * `BTREE` (also `SCALAR`), `BITMAP`, `LABEL_LIST`, `ZONEMAP`, `BLOOMFILTER`, `NGRAM`, `FTS`, `FM`, `IVF_FLAT`, `IVF_SQ`,
   * `IVF_PQ` (also `VECTOR`), `IVF_RQ`, `IVF_HNSW_FLAT`, `IVF_HNSW_SQ` or `IVF_HNSW_PQ`, in any case, with or without
   * underscores; TypeScript takes them as they stand here, or in lower case. Default: `BTREE`, or `IVF_PQ` for vectors and `IVF_FLAT` for those of uint8, which have no other kind.
   */
  readonly indexType?: IndexType | Lowercase<IndexType> | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /**
   * Default: `<path>_idx`, with a number after it where an index on another column, or of another kind, has that name.
   */
  readonly name?: string | undefined;
  /** Whether an index of that name on the same column may be replaced, rather than be in the way. Default false. */
  readonly replace?: boolean | undefined;
  /** Of `ZONEMAP` and `BLOOMFILTER`: rows of a zone; 1 to 1,048,576. Default 8192. */
  readonly rowsPerZone?: number | undefined;
  /** Of vectors of floats: `l2` (default), `cosine` or `dot`; of uint8: `hamming`, the number of bits that differ. */
  readonly distanceType?: DistanceType | undefined;
  /** Of `FTS`: whether positions of words are kept, which searches for phrases need. Default false. */
  readonly withPosition?: boolean | undefined;
  /**
   * Of `FTS`: what cuts texts: `simple` (default) into runs of letters and digits, `whitespace` at ASCII white space,
   * `raw` not at all, `ngram` into windows of characters.
   */
  readonly baseTokenizer?: string | undefined;
  /**
   * Of `FTS`: the language of stop words and of stemming, in any case: Arabic, Danish, Dutch, English (default), Finnish,
   * French, German, Greek, Hungarian, Italian, Norwegian, Portuguese, Romanian, Russian, Spanish, Swedish, Tamil or Turkish.
   */
  readonly language?: string | undefined;
  /** Of `FTS`: words of this many bytes of UTF-8 and more are left out. Default 40. */
  readonly maxTokenLength?: number | undefined;
  /** Of `FTS`: whether words are found in any case. Default true. */
  readonly lowerCase?: boolean | undefined;
  /** Of `FTS`: whether words are reduced to their stems. Default true, false for `ngram`. */
  readonly stem?: boolean | undefined;
  /** Of `FTS`: whether frequent words of the language are left out. Default true, false for `ngram`. */
  readonly removeStopWords?: boolean | undefined;
  /** Of `FTS`: words that are left out in the place of those of the language, as they are in lower case and stemmed. */
  readonly customStopWords?: readonly string[] | undefined;
  /** Of `FTS`: whether letters lose their accents. Default true. */
  readonly asciiFolding?: boolean | undefined;
  /** Of `FTS` with `ngram`: characters of the shortest windows. Default 3. */
  readonly minNgramLength?: number | undefined;
  /** Of `FTS` with `ngram`: characters of the longest windows. Default 3. */
  readonly maxNgramLength?: number | undefined;
  /** Of `FTS` with `ngram`: whether only windows at the beginning of texts are kept. Default false. */
  readonly prefixOnly?: boolean | undefined;
  /** Of `FTS`: texts of a block of postings, 128 (default) or 256. */
  readonly blockSize?: number | undefined;
  /** Of vectors: number of partitions. */
  readonly numPartitions?: number | undefined;
  /** Of `IVF_PQ` and `IVF_HNSW_PQ`: parts into which a vector is cut. */
  readonly numSubVectors?: number | undefined;
  /** Of vectors: bits that stand for a part of a vector, or for a dimension of it. */
  readonly numBits?: number | undefined;
  /** Of vectors: rows per partition that training looks at. */
  readonly sampleRate?: number | undefined;
  /** Of vectors: most rounds of training. */
  readonly maxIterations?: number | undefined;
  /** Of vectors: rows that a partition should have, where `numPartitions` is not given. */
  readonly targetPartitionSize?: number | undefined;
  /** Of `IVF_HNSW_…`: neighbours that a row of the graph keeps, twice as many on its lowest level; at most 2,048. Default 20. */
  readonly m?: number | undefined;
  /** Of `IVF_HNSW_…`: candidates to keep while the graph is built; at most 10,000. Default 300. */
  readonly efConstruction?: number | undefined;
}
/** What `createTableIndex` resolves to. */
export interface CreateTableIndexResponse {
  /** The same as `jobId`: `describeTransaction` tells how far it is. */
  readonly transactionId: string;
  /** Names the job for `describeJob`, `waitForJob` and `cancelJob`. */
  readonly jobId: string;
}

/** Request of `listTableIndices`. */
export interface ListTableIndicesRequest extends TableRequest {
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** The version to read; absent: the latest. */
  readonly version?: number | undefined;
  /** Token of the previous page. */
  readonly pageToken?: string | undefined;
  /** Inclusive upper bound of what is returned, > 0. */
  readonly limit?: number | undefined;
}
/** What `listTableIndices` resolves to. */
export interface ListTableIndicesResponse {
  /** Ordered by name. */
  readonly indexes: readonly TableIndex[];
  /** Absent on the last page. */
  readonly pageToken?: string;
}
/** An index of a version, as {@link ListTableIndicesResponse} lists it. */
export interface TableIndex {
  /** Name of the index. */
  readonly indexName: string;
  /** Of its first segment. */
  readonly indexUuid: string;
  /** Paths. */
  readonly columns: readonly string[];
  /** `SUCCEEDED`: an index that is being built is a job, and no index yet. */
  readonly status: string;
  /** As in {@link CreateTableIndexRequest}, in upper case; `UNKNOWN` for a type that this release does not know. */
  readonly indexType?: string;
  /** Name of the message that describes the index in the manifest. */
  readonly typeUrl?: string;
  /** Rows, deleted ones left out, that a query finds by the index; all others it looks at. */
  readonly numIndexedRows?: number;
  /** Rows that no segment of the index covers: a query looks at each of them. */
  readonly numUnindexedRows?: number;
  /** Bytes of its files; absent where the version does not record them. */
  readonly sizeBytes?: number;
  /** Number of segments, each of which covers some of the fragments. */
  readonly numSegments?: number;
  /** RFC 3339. */
  readonly createdAt?: string;
  /** Version of the format of its files. */
  readonly indexVersion?: number;
  /** JSON text. */
  readonly indexDetails?: string;
}

/** Request of `describeTableIndexStats`. */
export interface DescribeTableIndexStatsRequest extends TableRequest {
  /** Name of the index. */
  readonly indexName: string;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** The version to read; absent: the latest. */
  readonly version?: number | undefined;
}
/** What `describeTableIndexStats` resolves to. */
export interface DescribeTableIndexStatsResponse {
  /** Of an index on vectors. */
  readonly distanceType?: string;
  /** As in {@link CreateTableIndexRequest}, in upper case. */
  readonly indexType?: string;
  /** Rows that the index covers, deleted ones left out. */
  readonly numIndexedRows?: number;
  /** Rows that it does not cover. */
  readonly numUnindexedRows?: number;
  /** Segments. */
  readonly numIndices?: number;
}

/** Request of `dropTableIndex`. */
export interface DropTableIndexRequest extends TableRequest {
  /** Name of the index. */
  readonly indexName: string;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
}
/** What `dropTableIndex` resolves to. */
export interface DropTableIndexResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId: string;
  /** The new version, which has no such index. */
  readonly version: number;
}
