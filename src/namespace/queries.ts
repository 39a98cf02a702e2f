/** Request and response types of the operations that read rows. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import type { MemoryShare } from "../memory.js";
import type { DistanceType } from "./indexes.js";
import type { BranchRequest, VersionRequest } from "./members.js";
import type { AnyCase, TableRequest } from "./request.js";
import type { FullTextQuery } from "./textQueries.js";
import type { WithProgress } from "./upkeep.js";

/**
 * Columns of a query: one column, a list of columns, or an object that names each column.
 *
 * A string in a list is the path of a column, or `*` for all columns of the table. A named string may also be
 * an SQL expression. An expression made with `col`, `lit` or `sql` is allowed in both forms. Every row also
 * has the columns `_rowid`, `_rowaddr` and `_rowoffset`. In tables with stable row ids
 * (`createTable({ stableRowIds: true })`), it also has `_row_created_at_version` and
 * `_row_last_updated_at_version`.
 *
 * A search adds columns. `query_index` comes first; the others come where the selection names them, or last.
 * If the table has a column of the same name, the name means the table's column. That column needs an alias,
 * and a postfilter must not name it.
 *
 *     "id"
 *     ["id", "address.city", "_rowid"]
 *     { columnAliases: { city: "address.city", total: "price * amount", short: sql`substr(title, 1, 20)` } }
 */
export type ColumnSelection =
  /** One column. */
  | string
  | readonly (string | FilterExpression)[]
  | {
      /** Paths of columns. Not allowed with `columnAliases`. */
      readonly columnNames?: readonly (string | FilterExpression)[] | undefined;
      /** Paths or expressions, by the names of the resulting columns. Not allowed with `columnNames`. */
      readonly columnAliases?: Readonly<Record<string, string | FilterExpression>> | undefined;
    };

/** A vector as an array or a typed array of numbers. */
export type VectorNumbers = ArrayLike<number>;

/**
 * The query vector, or several. The search returns the nearest rows of each vector; the column `query_index`
 * tells which vector found a row. If each row has several vectors (a multivector column), several query
 * vectors form one query.
 */
export type SearchVector =
  | VectorNumbers
  | readonly VectorNumbers[]
  | {
      /** One vector. Not allowed with `multiVector`. */
      readonly singleVector?: VectorNumbers | undefined;
      /** Several vectors. */
      readonly multiVector?: readonly VectorNumbers[] | undefined;
    };

/** Options of a vector search. */
export interface VectorSearchOptions {
  /** Path of the vector column. Default: the only vector column of the table. */
  readonly vectorColumn?: string | undefined;
  /** Maximum number of rows, ≥ 1; a synonym of `limit`. Default: 10. */
  readonly k?: number | undefined;
  /**
   * Distance: `l2` (squared Euclidean), `cosine` (1 - cosine similarity), `dot` (1 - dot product) or
   * `hamming` (number of different bits; uint8 vectors only). Default: `l2`; `hamming` for uint8 vectors.
   */
  readonly distanceType?: DistanceType | undefined;
  /** Number of index partitions to search; sets `minimumNprobes` and `maximumNprobes`. Default: 20. */
  readonly nprobes?: number | undefined;
  /** Minimum number of index partitions to search. Not allowed with `nprobes`. */
  readonly minimumNprobes?: number | undefined;
  /**
   * Maximum partitions to search if the minimum yields too few rows; 0 means all. Not allowed with `nprobes`.
   */
  readonly maximumNprobes?: number | undefined;
  /** Number of candidates whose exact distances are computed, as a multiple of the limit. Default: none. */
  readonly refineFactor?: number | undefined;
  /** Number of candidates that a search of an HNSW graph keeps. */
  readonly ef?: number | undefined;
  /**
   * True: the filter selects the rows to search. False: the filter applies to the rows that the search found;
   * fewer than `limit` may remain, and the filter may name `_distance`. Default: true.
   */
  readonly prefilter?: boolean | undefined;
  /** True: compares all rows and uses no index. Default: false. */
  readonly bypassVectorIndex?: boolean | undefined;
  /**
   * True: a search skips rows that the column's index does not cover, and a query without a search skips rows
   * that the indexes of its filter do not cover. Rows of an unsupported index are compared one by one.
   * Default: false.
   */
  readonly fastSearch?: boolean | undefined;
  /** Minimum distance, inclusive. Default: no bound. */
  readonly lowerBound?: number | undefined;
  /**
   * Maximum distance, exclusive. Default: no bound; rows with an infinite distance are found, except by an
   * index without a graph.
   */
  readonly upperBound?: number | undefined;
}

/**
 * Range of a text that matches a word or part of a phrase: `text.slice(start, end)`. A word may match in
 * another form; the range is always that of the text.
 */
export interface Highlight {
  /** Path of the column. */
  readonly column: string;
  /** Position of the text in a list of texts, from 0. Null for a column of texts. */
  readonly item: number | null;
  /** Index of the first UTF-16 code unit. */
  readonly start: number;
  /** Index after the last UTF-16 code unit. */
  readonly end: number;
}

/** A row of a hybrid search. */
export interface FoundRow {
  /** Distance from the query vector. Null if only the text search found the row. */
  readonly distance: number | null;
  /** BM25 score. Null if only the vector search found the row. */
  readonly score: number | null;
  /** Position in the result of the vector search, from 0. Null if that search did not find the row. */
  readonly vectorRank: number | null;
  /** Position in the result of the text search, from 0. Null if that search did not find the row. */
  readonly textRank: number | null;
}

/** Returns the relevance of a row; greater is better. It must not return NaN. */
export type Rerank = (row: FoundRow) => number;

/** Request of `queryTable`. */
export interface QueryTableRequest extends VersionRequest, Omit<VectorSearchOptions, "k"> {
  /** Columns of the result. Default: all columns of the table. */
  readonly columns?: ColumnSelection | undefined;
  /** Maximum number of rows, ≥ 1. Default: no limit; 10 for a vector search. */
  readonly limit?: number | undefined;
  /** Maximum number of rows, ≥ 0; the namespace spec's name for `limit`. */
  readonly k?: number | undefined;
  /** Number of rows to skip, ≥ 0. Default: 0. */
  readonly offset?: number | undefined;
  /** True: adds the column `_rowid`, before `_relevance_score` and `_highlights`. Default: false. */
  readonly withRowId?: boolean | undefined;
  /** Maximum number of rows per batch. Default: batches as stored on disk. */
  readonly batchSize?: number | undefined;
  /**
   * Maximum number of columns in `columns`; a table with more fields raises the limit to that number.
   * Default: no limit.
   */
  readonly maxColumns?: number | undefined;
  /** Approximate number of bytes per batch. Default: batches as stored on disk. */
  readonly batchBytes?: number | undefined;
  /** Shared memory bound. A batch counts until the next one is requested. Default: no bound. */
  readonly memory?: MemoryShare | undefined;
  /** Selects rows: SQL text or an expression. Default: all rows. */
  readonly filter?: RowCondition | undefined;
  /** Synonym of `filter`. */
  readonly predicate?: RowCondition | undefined;
  /** Synonym of `filter`. */
  readonly where?: RowCondition | undefined;
  /** Values of the parameters in the filter and in expressions, written `$name`. */
  readonly params?: FilterParameters | undefined;
  /**
   * False: the filter reads all rows. True: the filter uses scalar indexes even if a full scan should be
   * faster. The rows are the same. Default: the faster way.
   */
  readonly useScalarIndex?: boolean | undefined;
  /**
   * Query vector. The search returns the nearest rows first and adds the column `_distance` (float32). Rows
   * without a vector, or whose distance is NaN, are not found. The other options of a vector search require
   * this member.
   */
  readonly vector?: SearchVector | undefined;
  /**
   * Text query. Rows get the column `_score` and are sorted by it, unless `orderBy` says otherwise. Without a
   * limit, all matching rows are returned. The filter applies before the search. With `prefilter: false` it
   * applies to the best `offset + limit` rows and must not name `_score`.
   */
  readonly fullTextQuery?: FullTextQuery | undefined;
  /** Words to search in all indexed text columns. Not allowed with `fullTextQuery`. */
  readonly text?: string | undefined;
  /**
   * True: adds the column `_highlights`, a list of {@link Highlight}. Requires `fullTextQuery`. Default:
   * false.
   */
  readonly highlight?: boolean | undefined;
  /**
   * Ranks the rows of a hybrid search, which has one `vector` and a `fullTextQuery`. Each search finds up to
   * `offset + limit` rows, by default 10. Rows have `_distance`, `_score` (null if that search did not find
   * the row) and `_relevance_score`; the most relevant row comes first. The function must be synchronous, and
   * HTTP clients can't set it. Default: reciprocal rank fusion, the sum of 1 / (60 + rank) with ranks from 0.
   */
  readonly rerank?: Rerank | undefined;
  /**
   * Columns to sort by; the first has the highest priority. Rows with equal values keep their order on disk.
   * Text is sorted by its UTF-8 bytes. Floats are sorted in the total order of IEEE 754, so NaN follows all
   * numbers. Lists and structs can't be sorted. Without a limit, a large result is sorted in files in the
   * table's directory.
   *
   * A search finds its best `offset + limit` rows first, those of each vector. These are sorted, at most
   * 1,048,576 rows in all, and then cut.
   */
  readonly orderBy?: SortColumn | readonly SortColumn[] | undefined;
}

/**
 * A column to sort by, in one of four forms:
 *
 * - the path of the column, which sorts in ascending order: `"price"`
 * - the path after a minus, which sorts in descending order: `"-price"`
 * - an object with the path and the order: `{ columnName: "price", ascending: false, nullsFirst: true }`
 * - an object with a direction for each path: `{ city: "asc", price: "desc" }`
 *
 * A path that begins with a minus needs backticks. An object with the member `columnName` has the third form.
 */
export type SortColumn<Path extends string = string> =
  | Path
  | `-${Path}`
  | OrderByColumn<Path>
  | { readonly [Each in Path]?: "asc" | "desc" };

/** A column to sort by, with its order. */
export interface OrderByColumn<Path extends string = string> {
  /** Path of the column. It need not be in the result. */
  readonly columnName: Path;
  /** True: sorts in ascending order. Default: true. */
  readonly ascending?: boolean | undefined;
  /** True: nulls come first in either direction. Default: false. */
  readonly nullsFirst?: boolean | undefined;
}

/** Condition that selects rows: SQL text, or an expression made with `col`, `lit` or `sql`. */
export type RowCondition = string | FilterExpression;

/** An expression made with `col`, `lit` and `sql`. */
export interface FilterExpression {
  /** Syntax tree of the expression. */
  readonly syntax: object;
  /** The expression as SQL text. */
  toString(): string;
}

/** A value in a filter. A whole number is an integer; a `Date` is a timestamp. */
export type FilterValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Date
  | Uint8Array
  | readonly FilterValue[];

/**
 * Parameter values by name, without `$`. An array expands to the items of a list: `id IN ($ids)` with `{ ids:
 * [1, 2] }`.
 */
export type FilterParameters = Readonly<Record<string, FilterValue>>;

/** Forms of the values in objects, wherever they are nested. */
export interface ObjectOptions {
  /**
   * Form of dates and timestamps: `Date` (default), `number` of milliseconds since 1970, or ISO text. A
   * `Date` drops what is finer than a millisecond. With `iso`, times of day are texts too.
   */
  readonly dates?: "Date" | "number" | "iso" | undefined;
  /** 64-bit integers: bigint (default), number (an integer beyond 2^53 is refused), or text. */
  readonly bigints?: "bigint" | "number" | "string" | undefined;
}

/** Options of `print`. */
export interface PrintOptions {
  /** Maximum number of rows, 1 to 10,000. Default: 20. */
  readonly limit?: number | undefined;
  /** Maximum width of a line in characters of a terminal. Default: that of the terminal, or 100. */
  readonly width?: number | undefined;
  /** False: only returns the text. Default: true. */
  readonly write?: boolean | undefined;
}

/** Methods that read the rows of a result. */
export interface RowForms<Row extends object = Record<string, unknown>> {
  /** Returns all rows as one Arrow table. */
  toArrow(): Promise<Table>;
  /**
   * Returns all rows as plain objects. Values have these types:
   *
   * - 64-bit integers: bigint, unless `bigints` says otherwise
   * - dates and timestamps: Date, unless `dates` says otherwise
   * - times and durations: number in the column's unit; bigint for 64 bits
   * - decimals: string; binary: Uint8Array
   * - lists: array; vectors: typed array; structs: object; maps: Map
   */
  toArray(options?: ObjectOptions): Promise<Row[]>;
  /** Yields the rows one by one, in the form of {@link toArray}. One batch is in memory at a time. */
  rows(options?: ObjectOptions): AsyncIterable<Row>;
  /**
   * Writes the first rows to the console as a table, and returns its text:
   *
   *     await table.scan({ columns: ["id", "city"] }).print({ limit: 5 });
   */
  print(options?: PrintOptions): Promise<string>;
  /** Returns all rows as the bytes of an Arrow IPC stream. */
  toIPC(): Promise<Uint8Array>;
  /** Streams the bytes of {@link toIPC} at the pace of the reader. */
  toIPCStream(): ReadableStream<Uint8Array>;
}

/** Rows of a query, to read batch by batch or all at once. Each read runs the query again. */
export interface QueryResult<Row extends object = Record<string, unknown>>
  extends AsyncIterable<RecordBatch>,
    RowForms<Row> {
  /** Arrow schema of the rows. */
  readonly schema: Schema;
}

/** A list or typed array of row offsets. */
export type RowOffsets =
  | readonly number[]
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int32Array
  | Float64Array;

/** Request of `takeRows`. */
export interface TakeRowsRequest extends VersionRequest {
  /** Row offsets from 0 to the number of live rows, exclusive. Any order and duplicates are allowed. */
  readonly rowOffsets: RowOffsets;
  /** Columns of the result. Default: all columns of the table. */
  readonly columns?: ColumnSelection | undefined;
}

/**
 * A list of row ids, as `_rowid` returns them. Numbers and texts of digits are accepted in place of bigints;
 * JSON can't hold larger ids than 2^53 - 1 as numbers.
 */
export type RowIdList = readonly (number | bigint | string)[] | BigUint64Array | RowOffsets;

/** Request of `takeTableRows`. It has either `rowIds` or `offsets`. */
export interface TakeTableRowsRequest extends VersionRequest {
  /**
   * Row ids, as the column `_rowid` returns them. Each row comes once, in the table's order. Ids without a
   * row are left out. In tables with stable row ids, a row keeps its id; in others, it is the address.
   */
  readonly rowIds?: RowIdList | undefined;
  /**
   * Offsets that count the live rows of the version from 0. Rows come in the table's order, and as often as
   * their offset is given. Offsets beyond the last row are left out.
   */
  readonly offsets?: RowOffsets | undefined;
  /** Columns of the result. Default: all columns of the table. */
  readonly columns?: ColumnSelection | undefined;
  /** True to return the column `_rowid` after the others. Default: false. */
  readonly withRowId?: boolean | undefined;
  /** Maximum number of rows of a batch. */
  readonly batchSize?: number | undefined;
  /** Approximate number of bytes of a batch. */
  readonly batchBytes?: number | undefined;
  /** Maximum number of columns that `columns` may name, unless the table itself has more. */
  readonly maxColumns?: number | undefined;
  /** Share of a memory budget that the rows count against. */
  readonly memory?: MemoryShare | undefined;
}

/** Request of `takeBlobs`. It has either `rowOffsets` or `rowIds`. */
export interface TakeBlobsRequest extends VersionRequest {
  /**
   * Path of a blob column: a large_binary field with the metadata key `lance-encoding:blob`, or a struct of
   * the extension `lance.blob.v2`. The path may lead through structs but not through lists.
   */
  readonly column: string;
  /** Row offsets; see {@link TakeRowsRequest.rowOffsets}. */
  readonly rowOffsets?: RowOffsets | undefined;
  /** Row ids, as the column `_rowid` returns them. Any order and duplicates are allowed. */
  readonly rowIds?: RowIdList | undefined;
}

/**
 * A value of a blob column that is not read yet. It stays readable until the table is dropped or a cleanup
 * removes the value's version.
 */
export interface LazyBlob {
  /** Size in bytes according to the table. 0 if the table does not record it. */
  readonly size: number;
  /** URI of a blob outside the table, which the engine does not read. Null for other blobs. */
  readonly uri: string | null;
  /**
   * Reads a range of bytes.
   * @param offset first byte, ≥ 0. A range after the end is empty. Default: 0
   * @param length maximum number of bytes. Default: all bytes after the offset
   * @throws CorruptFileError if the file is missing or too short; UnsupportedError for a blob outside the
   *   table
   */
  read(offset?: number, length?: number): Promise<Uint8Array>;
}

/** Keys of groups: one or a list. */
export type GroupBy = string | FilterExpression | readonly (string | FilterExpression)[];

/** Request of `aggregateTable`. */
export interface AggregateTableRequest extends VersionRequest {
  /**
   * Keys of the groups: paths of columns, expressions, or names of `values`. Rows with equal keys form a
   * group; nulls are equal, and so are NaN. The result has a column for each key, under its text. Default:
   * all rows form one group, even if there are none.
   */
  readonly groupBy?: GroupBy | undefined;
  /** SQL expressions with aggregate functions, by the names of the resulting columns. */
  readonly values: Readonly<Record<string, string | FilterExpression>>;
  /** Selects the rows to aggregate. Default: all rows. */
  readonly filter?: RowCondition | undefined;
  /** Synonym of `filter`. */
  readonly predicate?: RowCondition | undefined;
  /** Synonym of `filter`. */
  readonly where?: RowCondition | undefined;
  /** Values of the parameters in the filter and in all expressions, written `$name`. */
  readonly params?: FilterParameters | undefined;
  /** Selects groups. May name keys, values, and further aggregate functions. Default: all groups. */
  readonly having?: string | FilterExpression | undefined;
  /** Columns of the result to sort by; the first has the highest priority. Default: no order. */
  readonly orderBy?: SortColumn | readonly SortColumn[] | undefined;
  /** Maximum number of groups, ≥ 1. Default: no limit. */
  readonly limit?: number | undefined;
  /** Number of groups to skip, ≥ 0. Default: 0. */
  readonly offset?: number | undefined;
  /** Maximum number of groups per batch. Default: 32,768. */
  readonly batchSize?: number | undefined;
  /** Approximate number of bytes per batch. Default: no bound. */
  readonly batchBytes?: number | undefined;
  /** Maximum number of keys and values together. Default: 64 keys and 1,024 values. */
  readonly maxColumns?: number | undefined;
  /** Shared memory bound. Default: groups take up to 384 MiB; more of them go through temporary files. */
  readonly memory?: MemoryShare | undefined;
  /** See {@link QueryTableRequest.useScalarIndex}. */
  readonly useScalarIndex?: boolean | undefined;
}

/** Request of `countTableRows`. */
export interface CountTableRowsRequest extends VersionRequest, WithProgress {
  /** Selects the rows to count: SQL text or an expression. Default: all rows. */
  readonly predicate?: RowCondition | undefined;
  /** Synonym of `predicate`. */
  readonly filter?: RowCondition | undefined;
  /** Synonym of `predicate`. */
  readonly where?: RowCondition | undefined;
  /** Values of the parameters in the predicate, written `$name`. */
  readonly params?: FilterParameters | undefined;
  /** See {@link QueryTableRequest.useScalarIndex}. */
  readonly useScalarIndex?: boolean | undefined;
}

/** Request of `explainTableQueryPlan`. */
export interface ExplainTableQueryPlanRequest extends BranchRequest {
  /** The query to explain. */
  readonly query: Omit<QueryTableRequest, keyof TableRequest>;
  /** True: shows long lists and conditions completely. Default: false. */
  readonly verbose?: boolean | undefined;
  /** `Text` (default): one line per node. `Json`: a {@link QueryPlanNode} as JSON text. */
  readonly format?: AnyCase<"Text" | "Json"> | undefined;
}
/** Request of `analyzeTableQueryPlan`. */
export interface AnalyzeTableQueryPlanRequest extends QueryTableRequest {
  /** See {@link ExplainTableQueryPlanRequest.format}. */
  readonly format?: AnyCase<"Text" | "Json"> | undefined;
}

/** A step of a query plan. */
export interface QueryPlanNode {
  /**
   * Kind of the step: `Scan`, `IndexSearch`, `TextSearch`, `HybridSearch`, `Filter`, `ReadSelected`,
   * `VectorIndexSearch`, `NearestRows`, `FirstRows`, `Sort`, `Take` or `Project`.
   */
  readonly operator: string;
  /** Parameters of the step: columns, conditions and numbers. */
  readonly detail: Readonly<Record<string, string | number | readonly string[]>>;
  /** Steps that produce the input rows. */
  readonly inputs: readonly QueryPlanNode[];
  /** Measurements of the step. Absent if the query did not run, and for steps without measurements. */
  readonly metrics?: QueryPlanMetrics;
}

/** Measurements of a step. */
export interface QueryPlanMetrics {
  /** Number of rows that the step produced. */
  readonly rows: number;
  /** Number of batches that the step produced. */
  readonly batches: number;
  /** Bytes of these rows in memory. */
  readonly bytes: number;
  /** Number of file reads. Reads of footers and of cached bytes do not count. */
  readonly reads: number;
  /** Number of bytes read from files. */
  readonly bytesRead: number;
  /** Duration of the step without its inputs. */
  readonly milliseconds: number;
}
