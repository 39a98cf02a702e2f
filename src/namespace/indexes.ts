/** Requests and responses of the operations on indexes. */

import type { TableRequest } from "./request.js";
import type { WithProgress } from "./upkeep.js";

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
  readonly indexType?: string;
  readonly branch?: string;
  /**
   * Default: `<path>_idx`, with a number after it where an index on another column, or of another kind, has that name.
   */
  readonly name?: string;
  /** Whether an index of that name on the same column may be replaced, rather than be in the way. Default false. */
  readonly replace?: boolean;
  /** Of `ZONEMAP` and `BLOOMFILTER`: rows of a zone; 1 to 1,048,576. Default 8192. */
  readonly rowsPerZone?: number;
  /** Of vectors: `l2` (default), `cosine`, `dot` or `hamming`. */
  readonly distanceType?: string;
  readonly withPosition?: boolean;
  readonly baseTokenizer?: string;
  readonly language?: string;
  readonly maxTokenLength?: number;
  readonly lowerCase?: boolean;
  readonly stem?: boolean;
  readonly removeStopWords?: boolean;
  readonly asciiFolding?: boolean;
  readonly minNgramLength?: number;
  readonly maxNgramLength?: number;
  readonly prefixOnly?: boolean;
  /** 128 or 256. */
  readonly blockSize?: number;
  readonly numPartitions?: number;
  readonly numSubVectors?: number;
  readonly numBits?: number;
  readonly sampleRate?: number;
  readonly maxIterations?: number;
  readonly targetPartitionSize?: number;
  readonly m?: number;
  readonly efConstruction?: number;
}
export interface CreateTableIndexResponse {
  /** The same as `jobId`: `describeTransaction` tells how far it is. */
  readonly transactionId: string;
  readonly jobId: string;
}

export interface ListTableIndicesRequest extends TableRequest {
  readonly branch?: string;
  readonly version?: number;
  readonly pageToken?: string;
  readonly limit?: number;
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
  readonly branch?: string;
  readonly version?: number;
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
  readonly branch?: string;
}
export interface DropTableIndexResponse {
  readonly transactionId: string;
  readonly version: number;
}
