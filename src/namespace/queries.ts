/** Requests and responses of the operations that read rows. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import type { MemoryShare } from "../memory.js";
import type { DistanceType } from "./indexes.js";
import type { AnyCase, TableRequest } from "./request.js";
import type { FullTextQuery } from "./textQueries.js";
import type { WithProgress } from "./upkeep.js";

/**
 * Which columns a query returns: a list of them, or an object with a name for each.
 *
 * A search also returns the columns that it adds. They come first (`query_index`), where the selection names them, or
 * last. If the table has a column of such a name, the name means the table's column, which can only be returned under
 * another name; a filter that comes after the search may not name it.
 *
 * A text in a list is the path of a column, which is returned under that text, or `*` for all columns of the table. A
 * text under a name may also be an SQL expression, and an expression made with `col`, `lit` or `sql` may stand in either.
 * Every row also has the columns `_rowid`, `_rowaddr`, `_rowoffset`, `_row_created_at_version` and
 * `_row_last_updated_at_version`.
 *
 *     ["id", "address.city", "_rowid"]
 *     { columnAliases: { city: "address.city", total: "price * amount", short: sql`substr(title, 1, 20)` } }
 */
export type ColumnSelection =
  | readonly (string | FilterExpression)[]
  | {
      /** Paths of columns; excludes `columnAliases`. */
      readonly columnNames?: readonly (string | FilterExpression)[] | undefined;
      /** Paths or expressions, by the names that their columns get; excludes `columnNames`. */
      readonly columnAliases?: Readonly<Record<string, string | FilterExpression>> | undefined;
    };

/** A vector: its numbers in an array or a typed array. */
export type VectorNumbers = ArrayLike<number>;

/**
 * The vector to search for, or several: for each of them its nearest rows are found, and told apart by the column
 * `query_index`. In a column whose rows have several vectors each, several make one search.
 */
export type SearchVector =
  | VectorNumbers
  | readonly VectorNumbers[]
  | {
      /** One vector; excludes `multiVector`. */
      readonly singleVector?: VectorNumbers | undefined;
      /** Several vectors. */
      readonly multiVector?: readonly VectorNumbers[] | undefined;
    };

/** How the rows nearest to a vector are searched. */
export interface VectorSearchOptions {
  /** Path of the column. Default: the only column of vectors that the table has. */
  readonly vectorColumn?: string | undefined;
  /** How many rows are found, ≥ 1; the same as `limit`. Default 10. */
  readonly k?: number | undefined;
  /**
   * `l2` (squared), `cosine` (1 - the cosine), `dot` (1 - the dot product) or `hamming` (bits that differ, of vectors of
   * uint8). Default: `l2`, and `hamming` for vectors of uint8.
   */
  readonly distanceType?: DistanceType | undefined;
  /** Partitions of an index to look into: the least and the greatest number at once. Default 20. */
  readonly nprobes?: number | undefined;
  /** Partitions of an index to look into at least. Excludes `nprobes`. */
  readonly minimumNprobes?: number | undefined;
  /** Partitions to look into at most, where fewer give too few rows. Excludes `nprobes`; 0 for all. */
  readonly maximumNprobes?: number | undefined;
  /** Rows of an index whose distances are computed exactly, as a multiple of those that are wanted. Default: none. */
  readonly refineFactor?: number | undefined;
  /** Candidates to keep while a graph is searched. */
  readonly ef?: number | undefined;
  /**
   * Whether the filter selects the rows to search. Otherwise it is applied to those that were found, of which fewer than
   * wanted may be left, and may name `_distance`. Default true.
   */
  readonly prefilter?: boolean | undefined;
  /** Whether all rows are compared, rather than those that an index finds. Default false. */
  readonly bypassVectorIndex?: boolean | undefined;
  /**
   * Whether rows that no index on the column covers are left out, where there is an index. Rows of an index that this release
   * doesn't read are looked at one by one. Default false.
   */
  readonly fastSearch?: boolean | undefined;
  /** Least distance, inclusive. */
  readonly lowerBound?: number | undefined;
  /** Distances are below this. Absent: infinite ones are found too, except by an index without a graph. */
  readonly upperBound?: number | undefined;
}

/**
 * Where a text has a word, or part of a phrase, that was searched for: of a text `t`, `t.slice(start, end)`. Words are found
 * in other forms too, and ranges are those of the text.
 */
export interface Highlight {
  /** Path of the column. */
  readonly column: string;
  /** The number of the text in a list of texts, from 0 on. Null in a column of texts. */
  readonly item: number | null;
  /** The first UTF-16 code unit. */
  readonly start: number;
  /** Behind the last UTF-16 code unit. */
  readonly end: number;
}

/** A row that a search by vector, one by text, or both found. */
export interface FoundRow {
  /** How far it is from the vector; null where only its text was found. */
  readonly distance: number | null;
  /** How well its text matches; null where only its vector was found. */
  readonly score: number | null;
  /** Its place among the nearest rows, from 0 on; null where it is none of them. */
  readonly vectorRank: number | null;
  /** Its place among the rows whose text matches best, from 0 on; null where it is none of them. */
  readonly textRank: number | null;
}

/** How relevant a row is that searches found, not NaN; a greater number stands for a more relevant row. */
export type Rerank = (row: FoundRow) => number;

/** Which rows and columns of a table to return, and in which order. */
export interface QueryTableRequest extends TableRequest, Omit<VectorSearchOptions, "k"> {
  /** Which columns the rows have. Default: all columns of the table. */
  readonly columns?: ColumnSelection | undefined;
  /** Maximum number of rows, ≥ 1. */
  readonly limit?: number | undefined;
  /** The spec's name for the limit, ≥ 0. */
  readonly k?: number | undefined;
  /** Rows to skip, ≥ 0. */
  readonly offset?: number | undefined;
  /** The version to read; absent: the latest. */
  readonly version?: number | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** The tag whose version is read. Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
  /**
   * Whether the rows also have the column `_rowid`, after all others but `_relevance_score` and `_highlights`. Default
   * false.
   */
  readonly withRowId?: boolean | undefined;
  /** Maximum rows per batch; absent: as the data lies on disk. */
  readonly batchSize?: number | undefined;
  /**
   * Maximum number of columns that `columns` may name; a table with more fields allows as many as it has. Default: no
   * bound.
   */
  readonly maxColumns?: number | undefined;
  /** Approximate bytes per batch; absent: as the data lies on disk. */
  readonly batchBytes?: number | undefined;
  /** Memory bound that rows count against until the next rows are asked for, shared with other work. */
  readonly memory?: MemoryShare | undefined;
  /** Selects rows: SQL text, or an expression. */
  readonly filter?: string | FilterExpression | undefined;
  /** Values of the parameters of the filter and of expressions: `$name` in their text. */
  readonly params?: FilterParameters | undefined;
  /**
   * Whether scalar indexes find the rows of the filter: `false` reads all rows instead, `true` asks indexes even where
   * reading all rows should be quicker. The rows are the same. Default: whatever should be quicker.
   */
  readonly useScalarIndex?: boolean | undefined;
  /**
   * Searches for the rows that are nearest to a vector, the nearest first, and returns their distance as `_distance`, of
   * float32. Rows without a vector, and those whose distance is no number, are not found. The other members of a search
   * mean nothing without this one.
   */
  readonly vector?: SearchVector | undefined;
  /**
   * Words or a structured query to search texts for. Rows then have `_score`, and come in its order: `orderBy` is
   * refused. All that match are found unless there is a limit. The filter comes first, unless `prefilter` is false: then it
   * takes rows away of the best `offset + limit`. It may not name `_score`.
   */
  readonly fullTextQuery?: FullTextQuery | undefined;
  /**
   * Of a search by text: whether rows have `_highlights`, a list of {@link Highlight}: where their texts have what was
   * searched for. Default false. Goes with `fullTextQuery`.
   */
  readonly highlight?: boolean | undefined;
  /**
   * Of a search by one vector and by text at once: how relevant each row is that one of them found, the most relevant rows
   * first. Rows then have `_distance` and `_score`, null where that search did not find them, and `_relevance_score`. Each
   * search finds up to `offset + limit` rows, 10 by default. Default: reciprocal rank fusion, the sum of 1 / (60 + rank), of
   * ranks from 0 on. In process only. The function may not be asynchronous.
   */
  readonly rerank?: Rerank | undefined;
  /**
   * Columns to sort by; the first one has the highest priority, and rows with equal values keep the order in which they
   * lie on disk. Text is sorted by its bytes, floats in the total order of IEEE 754, so NaN comes after all other numbers.
   * Lists and structs can't be sorted by. Without a limit, large results are sorted in files in the table's directory.
   */
  readonly orderBy?: readonly OrderByColumn[] | undefined;
}

/** One of the columns that a result is sorted by. */
export interface OrderByColumn {
  /** Path of the column, which need not be among those that are returned. */
  readonly columnName: string;
  /** Default true. */
  readonly ascending?: boolean | undefined;
  /** Whether nulls come before values, ascending or not. Default false. */
  readonly nullsFirst?: boolean | undefined;
}

/** An expression made with `col`, `lit` and `sql`. */
export interface FilterExpression {
  /** What the expression is made of. */
  readonly syntax: object;
  /** The expression as SQL text. */
  toString(): string;
}

/** A value in a filter. Whole numbers are integers; a `Date` is a timestamp. */
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
 * Values of parameters, by their names without `$`. An array stands for its items in a list: `id IN ($ids)` with
 * `{ ids: [1, 2] }`.
 */
export type FilterParameters = Readonly<Record<string, FilterValue>>;

/** The forms in which rows can be read. */
export interface RowForms<Row extends object = Record<string, unknown>> {
  /** All rows as one Arrow table. */
  toArrow(): Promise<Table>;
  /**
   * All rows as plain objects. Integers of 64 bits are bigints; dates and timestamps are numbers of milliseconds since
   * 1970, as apache-arrow gives them; times and durations are in their own unit; decimals are texts; bytes are
   * Uint8Array; lists are arrays, and vectors typed arrays; structs are objects, maps are Map.
   */
  toArray(): Promise<Row[]>;
  /** The rows one by one, as {@link toArray} gives them; a batch of them is in memory. */
  rows(): AsyncIterable<Row>;
  /** All rows as the bytes of an Arrow IPC stream, for any release of apache-arrow and for other programs. */
  toIPC(): Promise<Uint8Array>;
  /** The same as {@link toIPC}, at the pace of its reader. */
  toIPCStream(): ReadableStream<Uint8Array>;
}

/** Rows of a query, to read batch by batch or all at once. Each iteration, and each call, runs the query again. */
export interface QueryResult<Row extends object = Record<string, unknown>>
  extends AsyncIterable<RecordBatch>,
    RowForms<Row> {
  /** The Arrow schema of the rows. */
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

/** Which rows to take, by their offsets. */
export interface TakeRowsRequest extends TableRequest {
  /** Integers from 0 to the number of live rows, exclusive; in any order, with repeats. */
  readonly rowOffsets: RowOffsets;
  /** Which columns the rows have. Default: all columns of the table. */
  readonly columns?: ColumnSelection | undefined;
  /** The version to read; absent: the latest. */
  readonly version?: number | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** The tag whose version is read. Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
}

/** Which values of a blob column to take, by the offsets of their rows. */
export interface TakeBlobsRequest extends TableRequest {
  /**
   * Path of a blob column, which may be in structs but not in a list: a large_binary whose field has the key
   * `lance-encoding:blob`, or structs of the extension `lance.blob.v2`.
   */
  readonly column: string;
  /** As in {@link TakeRowsRequest}. */
  readonly rowOffsets: RowOffsets;
  /** The version to read; absent: the latest. */
  readonly version?: number | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** The tag whose version is read. Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
}

/**
 * An unread value of a blob column. It stays readable as long as its file exists: until the table is dropped, or the
 * value's version is cleaned up.
 */
export interface LazyBlob {
  /** Bytes, as recorded in the table; 0 if the table does not record them. */
  readonly size: number;
  /** URI of a blob outside the table, which is not read; null for all other blobs. */
  readonly uri: string | null;
  /**
   * Reads these bytes and no others.
   * @param offset first byte; there is nothing to read at or after the end of the value. Default 0
   * @param length maximum number of bytes. Default: all that follow
   * @throws CorruptFileError if the file is gone or too short, UnsupportedError for a blob outside the table
   */
  read(offset?: number, length?: number): Promise<Uint8Array>;
}

/** Which rows of a table to count. */
export interface CountTableRowsRequest extends TableRequest, WithProgress {
  /** Selects the rows to count: SQL text, or an expression. Default: all. */
  readonly predicate?: string | FilterExpression | undefined;
  /** Values of the parameters of the predicate: `$name` in its text. */
  readonly params?: FilterParameters | undefined;
  /** As in {@link QueryTableRequest}. */
  readonly useScalarIndex?: boolean | undefined;
  /** The version to read; absent: the latest. */
  readonly version?: number | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** The tag whose version is read. Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
}

/** The query whose plan is shown. */
export interface ExplainTableQueryPlanRequest extends TableRequest {
  /** The query to explain. */
  readonly query: Omit<QueryTableRequest, keyof TableRequest>;
  /** Whether long lists and conditions are shown whole. Default false. */
  readonly verbose?: boolean | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** `Text` (default): a line for each node. `Json`: the text of a {@link QueryPlanNode}. */
  readonly format?: AnyCase<"Text" | "Json"> | undefined;
}
/** The query to run and to measure. */
export interface AnalyzeTableQueryPlanRequest extends QueryTableRequest {
  /** As in {@link ExplainTableQueryPlanRequest}. */
  readonly format?: AnyCase<"Text" | "Json"> | undefined;
}

/** A step of a query. */
export interface QueryPlanNode {
  /**
   * `Scan`, `IndexSearch`, `TextSearch`, `HybridSearch`, `Filter`, `ReadSelected`, `VectorIndexSearch`, `NearestRows`,
   * `FirstRows`, `Sort`, `Take` or `Project`.
   */
  readonly operator: string;
  /** What the step was told to do: columns, conditions, numbers. */
  readonly detail: Readonly<Record<string, string | number | readonly string[]>>;
  /** The steps that its rows come from. */
  readonly inputs: readonly QueryPlanNode[];
  /** What it did; absent where the query was not run, and where nothing is measured. */
  readonly metrics?: QueryPlanMetrics;
}

/** What a step of a query did. */
export interface QueryPlanMetrics {
  /** Rows that it gave. */
  readonly rows: number;
  /** Batches that it gave. */
  readonly batches: number;
  /** Bytes of these rows in memory. */
  readonly bytes: number;
  /** Reads of files, without those of footers and of what is cached. */
  readonly reads: number;
  /** Bytes of these reads. */
  readonly bytesRead: number;
  /** Its own time, without that of its inputs. */
  readonly milliseconds: number;
}
