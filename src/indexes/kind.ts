/**
 * Interfaces that all kinds of scalar indexes share. An index holds one column's values and row ids, and
 * never a table. Its callers know which fragments it covers, which rows are deleted, and whether ids are
 * addresses. An index has one or more segments; each is opened and searched on its own.
 */

import type { Column } from "../arrow/columns/column.js";
import type { LogicalType } from "../arrow/types/type.js";
import type { WorkerPool } from "../async/workerPool.js";
import type { FileVersion } from "../file/container/page.js";
import type { DataFileMetadata } from "../file/container/reader.js";
import type { PageSource } from "../file/pages/pageRows.js";
import type { Disk } from "../io/disk/disk.js";
import type { LruCache } from "../io/memory/cache.js";
import type { ScratchMemory } from "../io/memory/scratch.js";
import type { TemporaryFile } from "../io/temporaryFile.js";
import type { TableField } from "../schema/schema.js";
import type { RowMoves } from "./moves.js";
import type { RowIds } from "./rowIds.js";

/** Kinds of vector indexes that this release builds. */
export type VectorKindName = `IVF_${"" | "HNSW_"}${"FLAT" | "PQ" | "SQ"}` | "IVF_RQ";

export type IndexKindName =
  | "BTREE"
  | "BITMAP"
  | "LABEL_LIST"
  | "ZONEMAP"
  | "BLOOMFILTER"
  | "NGRAM"
  | "FTS"
  | "FM";

/**
 * A condition on the indexed column. Values are columns of the indexed column's type; of its item type for
 * `hasAny` and `hasAll`. They hold at least one value, no null, and no dictionary. Floats compare in the
 * total order of IEEE 754 (valueOrder.ts): -0 is not 0, and NaN comes after all numbers.
 */
export type IndexQuery =
  /** The value equals one of these; one value for equality. */
  | { readonly kind: "in"; readonly values: Column }
  /** The value lies between two bounds; null for an open end. */
  | { readonly kind: "range"; readonly lower: IndexBound | null; readonly upper: IndexBound | null }
  | { readonly kind: "isNull" }
  /** The text begins with the prefix: `LIKE 'prefix%'`. */
  | { readonly kind: "startsWith"; readonly prefix: string }
  /** The text contains another text: `contains()`, `LIKE '%text%'`. */
  | { readonly kind: "contains"; readonly text: string }
  /** The list contains any, or all, of these items. */
  | { readonly kind: "hasAny" | "hasAll"; readonly values: Column };

export interface IndexBound {
  /** A column of one value. */
  readonly value: Column;
  readonly isInclusive: boolean;
}

export interface IndexAnswer {
  /** Rows that meet the condition; a superset of them if the answer is not exact. */
  readonly rows: RowIds;
  /** Rows for which the condition is null; null if unknown or not requested. */
  readonly nulls: RowIds | null;
  /** True if every row meets the condition, so that no value needs a recheck. */
  readonly isExact: boolean;
}

export interface IndexSearchOptions {
  /** True to return the rows with a null condition too, as a negation needs them. Default false. */
  readonly withNulls?: boolean;
  readonly signal?: AbortSignal;
}

/** Expected result and cost of a search. */
export interface SearchEstimate {
  /** Approximate number of rows in the answer. */
  readonly rows: number;
  /** Approximate bytes to read from the index files. */
  readonly bytes: number;
}

/** One open segment of an index. It reads lazily all but {@link memoryWeight} bytes. */
export interface MergeableIndex {
  /** Build parameters, which merged and new segments reuse; absent for kinds without parameters. */
  readonly parameters?: IndexParameters;
  /** Approximate bytes of memory that this object holds, for caches. */
  readonly memoryWeight: number;
}

/** An open segment that looks up values. */
export interface OpenIndex extends MergeableIndex {
  readonly kind: IndexKindName;
  /** True if the index can answer the query. */
  answers(query: IndexQuery): boolean;
  /** Estimates without reading. {@link answers} must accept the query. */
  estimate(query: IndexQuery): SearchEstimate;
  /** Finds the rows. {@link answers} must accept the query. @throws CorruptFileError; the signal's reason */
  search(query: IndexQuery, options?: IndexSearchOptions): Promise<IndexAnswer>;
}

/** The files of one segment. */
export interface IndexFiles {
  /**
   * Opens a file of the segment.
   * @param name such as `page_data.lance`
   * @throws UnsupportedError; CorruptFileError if the file is missing
   */
  open(name: string): Promise<DataFileMetadata>;
  /** True if the segment has a file of this name. */
  has(name: string): Promise<boolean>;
  /** Returns the names of all files, in any order. */
  names(): Promise<readonly string[]>;
  /** Source of the files' pages. */
  readonly source: PageSource;
  /** Decoded file parts, shared by all open indexes. Keys begin with the file's path and identity. */
  readonly parts: LruCache<IndexPart>;
}

/** A part of an index file in memory, as read or after decoding. */
export type IndexPart = Column | RowIds | SearchedPart;

/** A part as searches read it: packed for kernels, postings that keep unpacked blocks, or suffixes. */
export interface SearchedPart {
  readonly kind: "packed" | "postings" | "suffixes";
  /** Approximate bytes of memory; that of postings grows. */
  readonly memoryWeight: number;
}

/** Batches of rows from which an index is built. */
export type RowStream = AsyncIterable<IndexRows>;

export interface IndexRows {
  /**
   * Values of the indexed column, nulls included. Only kinds with {@link BuildableKind.takesDictionaries}
   * receive the values, or the items of lists, as a dictionary; a dictionary's values hold no nulls.
   */
  readonly values: Column;
  /** Row ids as the index stores them: integers of 8 bytes without nulls. */
  readonly ids: Column;
  /** First id, if each id is one more than the id before: the builder need not read the others. */
  readonly firstId?: { readonly high: number; readonly low: number };
  /** Fragment and offsets of the rows, for kinds with zones; absent for sorted rows. */
  readonly fragmentRows?: {
    readonly fragmentId: number;
    /** Physical offset of each row, ascending. */
    readonly offsets: Uint32Array;
  };
  /** Codes that the index stores beside the values, in row order; absent if it stores none. */
  readonly codes?: Column;
  readonly rowCount: number;
  /** True if the columns are valid only until the next batch is requested. Default false. */
  readonly isTransient?: boolean;
}

export interface ValueSortRequest {
  /** Probable number of rows. Default: unknown. */
  readonly rowCount?: number;
  /** True if each batch of the result is used only until the next one is requested. Default false. */
  readonly isTransient?: boolean;
}

export type IndexParameters = Readonly<Record<string, unknown>>;

/** Target directory and parameters of an index build. */
export interface IndexTarget {
  readonly disk: Disk;
  /** Existing directory in which the index's file names are free. The caller makes the names durable. */
  readonly directory: string;
  /** File version of the table's data files, so that every release that reads the table reads the index. */
  readonly fileVersion: FileVersion;
  readonly field: TableField;
  /**
   * Sorts rows by value: nulls first, values in the order of valueOrder.ts, equal values in input order.
   * Spills to disk beyond a bound.
   * @param type of the values
   */
  sort(rows: RowStream, type: LogicalType, request?: ValueSortRequest): RowStream;
  /** Makes a temporary file for data that memory cannot hold. The caller discards it. */
  temporaryFile(): Promise<TemporaryFile>;
  /** Threads for long work; absent to work inline. */
  readonly workers?: WorkerPool;
  /** Lends memory for transient rows. Default: new memory. */
  readonly scratch?: ScratchMemory;
  readonly parameters: IndexParameters;
  /** Approximate number of input rows. */
  readonly rowCount: number;
  /** Reports the number of input rows processed. */
  progress?(doneRows: number): void;
  readonly signal?: AbortSignal;
}

export interface WrittenIndexFile {
  readonly name: string;
  readonly byteLength: number;
}

export type WrittenFiles = readonly WrittenIndexFile[];

/** A kind of index that can be built. */
export interface BuildableKind {
  readonly name: IndexKindName | VectorKindName;
  /** Type URL of the index details in the manifest. */
  readonly typeUrl: string;
  /** Encodes the index details. Default: empty. */
  details?(parameters: IndexParameters, field: TableField): Uint8Array;
  /** Checks that the index can be built with these parameters. @throws UnsupportedError */
  checkParameters?(parameters: IndexParameters): Promise<void>;
  /** Format version that this release writes. */
  readonly indexVersion: number;
  /** Format version for these parameters. Default: {@link indexVersion}. */
  versionOf?(parameters: IndexParameters): number;
  /**
   * True if the index stores row addresses even in tables with stable row ids, because it stores fragments
   * and offsets in place of ids. A merge then keeps the zones of unchanged fragments
   * (`RowMoves.keepsFragment`) and needs the rows of all other fragments. Other kinds map ids
   * (`RowMoves.move`) and need only the rows that no old segment covers.
   */
  readonly storesAddresses: boolean;
  /** True if values, or items of lists, may be dictionaries, as pages store them. Default false. */
  readonly takesDictionaries?: boolean;
  /** True if the builder needs a batch only until it asks for the next. Default false. */
  readonly keepsNoRows?: boolean;
  /** Returns why the kind refuses the column, as the predicate of a sentence; null if it accepts it. */
  refusal(field: TableField): string | null;
  /**
   * Writes the files of a segment, synced; the caller makes their names durable.
   * @param rows in table order; the builder may iterate them several times
   */
  build(rows: RowStream, target: IndexTarget): Promise<WrittenFiles>;
}

/** A segment that a merge reads. */
export interface OldSegment<Index extends MergeableIndex = MergeableIndex> {
  readonly index: Index;
  /** Maps its rows to their new ids; null if all of them kept their ids. */
  readonly moves: RowMoves | null;
}

/** A kind whose segments can be merged and remapped. */
export interface MergeableKind<Index extends MergeableIndex = MergeableIndex>
  extends Omit<BuildableKind, "name"> {
  /** Highest format version that this release opens. */
  readonly maxIndexVersion: number;
  /** Time to index a row, compared with a copy of it; for the progress of several kinds. Default 1. */
  readonly rowTime?: number;
  /** True if an index has one segment only, because LanceDB misreads several. Default false. */
  readonly isUndivided?: boolean;
  /** Returns true if {@link merge} takes these segments of an index. Default: it takes any. */
  canMerge?(old: readonly Index[]): boolean;
  /**
   * Merges old segments and further rows into one new segment.
   * @param rows see {@link storesAddresses}
   */
  merge(old: readonly OldSegment<Index>[], rows: RowStream, target: IndexTarget): Promise<WrittenFiles>;
  /**
   * Writes rows as one more segment of an index. Default: {@link build} with the parameters of `model`.
   * @param model an older segment of the index
   */
  extend?(model: Index, rows: RowStream, target: IndexTarget): Promise<WrittenFiles>;
  /** Opens a segment. @throws CorruptFileError; UnsupportedError for a layout of other releases */
  open(files: IndexFiles, field: TableField): Promise<Index>;
}

/** A kind of index that looks up values. */
export interface IndexKind extends MergeableKind<OpenIndex> {
  readonly name: IndexKindName;
}

/** Functions that write and read the files of a kind. */
export type KindFiles = Pick<IndexKind, "build" | "merge" | "open">;
