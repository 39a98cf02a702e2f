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
 * An index on one column. Indexes of kinds for text (`FTS`, `FM`) and for vectors (`IVF_…`) are not built by this release;
 * the members that are about them are checked all the same, and mean nothing for other kinds.
 */
export interface CreateTableIndexRequest extends TableRequest, WithProgress {
  /** Path of the column; members of structs as in `a.b`. */
  readonly column: string;
  /**
   * `BTREE` (also `SCALAR`), `BITMAP`, `LABEL_LIST`, `ZONEMAP`, `BLOOMFILTER`, `NGRAM`, `FTS`, `FM`, `IVF_FLAT`, `IVF_SQ`,
   * `IVF_PQ` (also `VECTOR`), `IVF_RQ`, `IVF_HNSW_FLAT`, `IVF_HNSW_SQ` or `IVF_HNSW_PQ`, in any case, with or without
   * underscores. Default: `BTREE`, or `IVF_PQ` for vectors.
   */
  readonly indexType?: IndexType | Lowercase<IndexType> | undefined;
  readonly branch?: string | undefined;
  /**
   * Default: `<path>_idx`, with a number after it where an index on another column, or of another kind, has that name.
   */
  readonly name?: string | undefined;
  /** Whether an index of that name on the same column may be replaced, rather than be in the way. Default false. */
  readonly replace?: boolean | undefined;
  /** Of `ZONEMAP` and `BLOOMFILTER`: rows of a zone; 1 to 1,048,576. Default 8192. */
  readonly rowsPerZone?: number | undefined;
  /** Of vectors: `l2` (default), `cosine`, `dot` or `hamming`. */
  readonly distanceType?: DistanceType | undefined;
  readonly withPosition?: boolean | undefined;
  readonly baseTokenizer?: string | undefined;
  readonly language?: string | undefined;
  readonly maxTokenLength?: number | undefined;
  readonly lowerCase?: boolean | undefined;
  readonly stem?: boolean | undefined;
  readonly removeStopWords?: boolean | undefined;
  readonly asciiFolding?: boolean | undefined;
  readonly minNgramLength?: number | undefined;
  readonly maxNgramLength?: number | undefined;
  readonly prefixOnly?: boolean | undefined;
  /** 128 or 256. */
  readonly blockSize?: number | undefined;
  readonly numPartitions?: number | undefined;
  readonly numSubVectors?: number | undefined;
  readonly numBits?: number | undefined;
  readonly sampleRate?: number | undefined;
  readonly maxIterations?: number | undefined;
  readonly targetPartitionSize?: number | undefined;
  readonly m?: number | undefined;
  readonly efConstruction?: number | undefined;
}
export interface CreateTableIndexResponse {
  /** The same as `jobId`: `describeTransaction` tells how far it is. */
  readonly transactionId: string;
  readonly jobId: string;
}

export interface ListTableIndicesRequest extends TableRequest {
  readonly branch?: string | undefined;
  readonly version?: number | undefined;
  readonly pageToken?: string | undefined;
  readonly limit?: number | undefined;
}
export interface ListTableIndicesResponse {
  readonly indexes: readonly TableIndex[];
  readonly pageToken?: string;
}
export interface TableIndex {
  readonly indexName: string;
  /** Of its first segment. */
  readonly indexUuid: string;
  /** Paths. */
  readonly columns: readonly string[];
  /** `SUCCEEDED`: an index that is being built is a job, and no index yet. */
  readonly status: string;
  /** As in {@link CreateTableIndexRequest}, in upper case; `UNKNOWN` for a type that this release does not know. */
  readonly indexType?: string;
  readonly typeUrl?: string;
  /** Rows, deleted ones left out, that a query finds by the index; all others it looks at. */
  readonly numIndexedRows?: number;
  readonly numUnindexedRows?: number;
  /** Bytes of its files; absent where the version does not record them. */
  readonly sizeBytes?: number;
  readonly numSegments?: number;
  /** RFC 3339. */
  readonly createdAt?: string;
  readonly indexVersion?: number;
  /** JSON text. */
  readonly indexDetails?: string;
}

export interface DescribeTableIndexStatsRequest extends TableRequest {
  readonly indexName: string;
  readonly branch?: string | undefined;
  readonly version?: number | undefined;
}
export interface DescribeTableIndexStatsResponse {
  /** Of an index on vectors. */
  readonly distanceType?: string;
  readonly indexType?: string;
  readonly numIndexedRows?: number;
  readonly numUnindexedRows?: number;
  /** Segments. */
  readonly numIndices?: number;
}

export interface DropTableIndexRequest extends TableRequest {
  readonly indexName: string;
  readonly branch?: string | undefined;
}
export interface DropTableIndexResponse {
  readonly transactionId: string;
  readonly version: number;
}
