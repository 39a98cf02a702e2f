/** Request and response types of the operations on indexes. */

import type {
  BranchRequest,
  CommitAnswer,
  NumberRequest,
  PageAnswer,
  PageRequest,
  VersionRequest,
  WithMessage,
} from "./members.js";
import type { ObjectId, OtherSpelling } from "./request.js";
import type { StartedJob, WithProgress } from "./upkeep.js";

/** Kind of an index. */
export type IndexType =
  | "BTREE"
  | "BITMAP"
  | "LABEL_LIST"
  | "ZONEMAP"
  | "BLOOMFILTER"
  | "NGRAM"
  | "FTS"
  | "FM"
  | "IVF_FLAT"
  | "IVF_SQ"
  | "IVF_PQ"
  | "IVF_RQ"
  | "IVF_HNSW_FLAT"
  | "IVF_HNSW_SQ"
  | "IVF_HNSW_PQ";

/** Synonyms of kinds. Completion does not offer them. */
type OtherIndexType = "SCALAR" | "INVERTED" | "VECTOR";

/** Kinds, with the spellings and synonyms that are also accepted. */
type AnyIndexType<Kind extends IndexType, Synonym extends OtherIndexType = never> =
  | Kind
  | OtherSpelling<Lowercase<Kind> | Synonym | Lowercase<Synonym>>;

/** Distance of vectors, in any case. */
export type DistanceType = "l2" | "cosine" | "dot" | "hamming" | (string & Record<never, never>);

/** Members of every request for a new index. */
interface IndexRequest extends BranchRequest, WithProgress, WithMessage {
  /** Path of the column, such as `a.b` for a struct member. */
  readonly column: string;
  /**
   * Name of the index. Default: `<path>_idx`, with a number appended if an index on another column, or of
   * another kind, has that name.
   */
  readonly name?: string | undefined;
  /** True: replaces an index of that name on the same column. False: fails if it exists. Default: false. */
  readonly replace?: boolean | undefined;
  /**
   * False: makes the index without reading rows. Queries scan until `optimizeTable` fills it. Vector indexes
   * refuse it. Default: true.
   */
  readonly train?: boolean | undefined;
}

/** Request for an index of any kind with the default settings of the kind. */
export interface PlainIndexRequest extends IndexRequest {
  /**
   * Kind of the index. Case and underscores are ignored at run time. Synonyms: `SCALAR` is `BTREE`,
   * `INVERTED` is `FTS`, `VECTOR` is `IVF_PQ`. Default: `BTREE`; for vectors `IVF_PQ`; for uint8 vectors
   * `IVF_FLAT`, their only kind.
   */
  readonly indexType: AnyIndexType<IndexType, OtherIndexType>;
}

/** Request for an index of zones. */
export interface ZoneIndexRequest extends IndexRequest {
  /** Kind of the index; see {@link PlainIndexRequest.indexType}. */
  readonly indexType: AnyIndexType<"ZONEMAP" | "BLOOMFILTER">;
  /** Rows per zone, 1 to 1,048,576. Default: 8192. */
  readonly rowsPerZone?: number | undefined;
}

/** Options that say how a text is cut into tokens. */
export interface TokenizerOptions {
  /**
   * Tokenizer. `simple` (default) yields runs of letters and digits; `whitespace` splits at ASCII
   * white space; `raw` does not split; `ngram` yields windows of characters. Others are `icu`, which yields
   * words by the rules of Unicode, and `icu/split`, which yields the letters and digits in them. Both refuse
   * texts in scripts without spaces, such as Chinese, Japanese and Thai.
   */
  readonly baseTokenizer?: string | undefined;
  /**
   * Language of stop words and stemming, in any case: Arabic, Danish, Dutch, English (default),
   * Finnish, French, German, Greek, Hungarian, Italian, Norwegian, Portuguese, Romanian, Russian, Spanish,
   * Swedish, Tamil or Turkish.
   */
  readonly language?: string | undefined;
  /** Words of at least this many UTF-8 bytes are not indexed. Default: 40. */
  readonly maxTokenLength?: number | undefined;
  /** True: ignores case. Default: true. */
  readonly lowerCase?: boolean | undefined;
  /** True: reduces words to their stems. Default: true; false for `ngram`. */
  readonly stem?: boolean | undefined;
  /** True: does not index stop words. Default: true; false for `ngram`. */
  readonly removeStopWords?: boolean | undefined;
  /** Stop words in place of the language's. Compared with lower-case, stemmed words. */
  readonly customStopWords?: readonly string[] | undefined;
  /** True: removes accents from letters. Default: true. */
  readonly asciiFolding?: boolean | undefined;
  /** Tokenizer `ngram`: minimum window length in characters. Default: 3. */
  readonly minNgramLength?: number | undefined;
  /** Tokenizer `ngram`: maximum window length in characters. Default: 3. */
  readonly maxNgramLength?: number | undefined;
  /** Tokenizer `ngram`: true keeps only windows at the start of a text. Default: false. */
  readonly prefixOnly?: boolean | undefined;
}

/** Request for an index of words. */
export interface TextIndexRequest extends IndexRequest, TokenizerOptions {
  /** Kind of the index; see {@link PlainIndexRequest.indexType}. */
  readonly indexType: AnyIndexType<"FTS", "INVERTED">;
  /** True: stores positions of words, which phrase queries need. Default: false. */
  readonly withPosition?: boolean | undefined;
  /** Number of texts per block of postings, 128 (default) or 256. */
  readonly blockSize?: number | undefined;
}

/** Request of `tokenize`. It has options of a tokenizer, or names a full-text index of a table. */
export interface TokenizeRequest extends Omit<VersionRequest, "id">, TokenizerOptions {
  /** Id of the table whose index is named. Default: no table. */
  readonly id?: ObjectId | undefined;
  /** Text to cut. */
  readonly text: string;
  /** Path of a column of the table, whose full-text index says how to cut. */
  readonly column?: string | undefined;
  /** Name of a full-text index of the table, which says how to cut. */
  readonly indexName?: string | undefined;
}

/** A token of a text. */
export interface Token {
  /** Text of the token as an index stores it. */
  readonly text: string;
  /** Position for phrase queries: 0 for the first token. Dropped words leave gaps. */
  readonly position: number;
}

/** Request for a vector index. */
interface AnyVectorIndexRequest extends IndexRequest {
  /** `l2` (default), `cosine` or `dot`. uint8 vectors: `hamming`, the number of unequal bits. */
  readonly distanceType?: DistanceType | undefined;
  /** Number of partitions. Default: derived from `targetPartitionSize`. */
  readonly numPartitions?: number | undefined;
  /** Number of training rows per partition. */
  readonly sampleRate?: number | undefined;
  /** Maximum number of training rounds. */
  readonly maxIterations?: number | undefined;
  /** Target number of rows per partition. Only used without `numPartitions`. */
  readonly targetPartitionSize?: number | undefined;
}

/** Request for an index of the default kind. The settings are those of a vector index. */
export interface DefaultIndexRequest extends AnyVectorIndexRequest {
  /** Absent; see {@link PlainIndexRequest.indexType} for the default. */
  readonly indexType?: undefined;
  /** Number of parts of a vector, each with its own codebook. */
  readonly numSubVectors?: number | undefined;
  /** Number of bits of a code, for a part of a vector. */
  readonly numBits?: number | undefined;
}

/** Request for a vector index that keeps the vectors as they are. */
export interface FlatIndexRequest extends AnyVectorIndexRequest {
  /** Kind of the index; see {@link PlainIndexRequest.indexType}. */
  readonly indexType: AnyIndexType<"IVF_FLAT">;
}

/** Request for a vector index with codes. */
export interface CodedIndexRequest extends AnyVectorIndexRequest {
  /** Kind of the index; see {@link PlainIndexRequest.indexType}. */
  readonly indexType: AnyIndexType<"IVF_PQ" | "IVF_SQ" | "IVF_RQ", "VECTOR">;
  /** `IVF_PQ`: number of parts of a vector, each with its own codebook. */
  readonly numSubVectors?: number | undefined;
  /**
   * Number of bits of a code: 4 or 8 for a part of a vector (`IVF_PQ`), 1 to 9 for a value (`IVF_RQ`).
   * Default: 8 for `IVF_PQ`, 1 for `IVF_RQ`. More bits find more of the nearest rows.
   */
  readonly numBits?: number | undefined;
}

/** Request for a vector index with a graph. */
export interface GraphIndexRequest extends AnyVectorIndexRequest {
  /** Kind of the index; see {@link PlainIndexRequest.indexType}. */
  readonly indexType: AnyIndexType<"IVF_HNSW_FLAT" | "IVF_HNSW_SQ" | "IVF_HNSW_PQ">;
  /** `IVF_HNSW_PQ`: number of parts of a vector, each with its own codebook. */
  readonly numSubVectors?: number | undefined;
  /** Number of bits of a code, for a part of a vector (PQ) or a dimension (SQ). */
  readonly numBits?: number | undefined;
  /** Neighbours per row, up to 2,048; twice as many on the lowest level. Default: 20. */
  readonly m?: number | undefined;
  /** Number of candidates during construction of the graph, up to 10,000. Default: 300. */
  readonly efConstruction?: number | undefined;
}

/**
 * Request of `createTableIndex` and `createTableScalarIndex`; the kind decides which settings there are. At
 * run time, settings of another kind are validated and then ignored.
 */
export type CreateTableIndexRequest =
  | DefaultIndexRequest
  | PlainIndexRequest
  | ZoneIndexRequest
  | TextIndexRequest
  | FlatIndexRequest
  | CodedIndexRequest
  | GraphIndexRequest;

/** Answer of `createTableIndex`. */
export interface CreateTableIndexResponse extends StartedJob {
  /** Equals `jobId`; `describeTransaction` reports the job's progress. */
  readonly transactionId: string;
}

/** Request of `listTableIndices`. */
export interface ListTableIndicesRequest extends NumberRequest, PageRequest {}
/** Answer of `listTableIndices`. */
export interface ListTableIndicesResponse extends PageAnswer {
  /** Indexes sorted by name. */
  readonly indexes: readonly TableIndex[];
}
/** An index of a version. */
export interface TableIndex {
  /** Name of the index. */
  readonly indexName: string;
  /** UUID of the first segment. */
  readonly indexUuid: string;
  /** Paths of the indexed columns. */
  readonly columns: readonly string[];
  /** Always `SUCCEEDED`. An index under construction is a job and is not listed. */
  readonly status: string;
  /**
   * Kind in upper case; see {@link PlainIndexRequest.indexType}. `UNKNOWN` for a kind that this release
   * does not know.
   */
  readonly indexType?: string;
  /** Name of the protobuf message that describes the index in the manifest. */
  readonly typeUrl?: string;
  /** Number of live rows that the index covers. */
  readonly numIndexedRows?: number;
  /** Number of live rows that the index does not cover. A query reads each of them. */
  readonly numUnindexedRows?: number;
  /** Bytes of the index files. Absent if the version does not record them. */
  readonly sizeBytes?: number;
  /** Number of segments. Each covers some of the fragments. */
  readonly numSegments?: number;
  /** Creation time in RFC 3339. */
  readonly createdAt?: string;
  /** Version of the format of the index files. */
  readonly indexVersion?: number;
  /** Settings of the index as JSON text. */
  readonly indexDetails?: string;
}

/** Request of `describeTableIndexStats`. */
export interface DescribeTableIndexStatsRequest extends NumberRequest {
  /** Name of the index. */
  readonly indexName: string;
}
/** Answer of `describeTableIndexStats`. */
export interface DescribeTableIndexStatsResponse
  extends Pick<TableIndex, "indexType" | "numIndexedRows" | "numUnindexedRows"> {
  /** Distance of a vector index. */
  readonly distanceType?: string;
  /** Number of segments. */
  readonly numIndices?: number;
}

/** Request of `dropTableIndex`. */
export interface DropTableIndexRequest extends BranchRequest, WithMessage {
  /** Name of the index. */
  readonly indexName: string;
}
/** Answer of `dropTableIndex`. The new version lacks the index. */
export interface DropTableIndexResponse extends CommitAnswer {}
