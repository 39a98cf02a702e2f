/**
 * What all kinds of scalar indexes share. An index knows one column's values and ids of rows, and never a table: which
 * fragments it covers, which rows are deleted, and whether ids are addresses is for those who use it. An index is one
 * segment or several; each is opened and searched by itself.
 */

import type { Column } from "../arrow/columns/column.js";
import type { LogicalType } from "../arrow/types/type.js";
import type { WorkerPool } from "../async/workerPool.js";
import type { FileVersion } from "../file/container/page.js";
import type { DataFileMetadata } from "../file/container/reader.js";
import type { PageSource } from "../file/pages/pageRows.js";
import type { Disk } from "../io/disk/disk.js";
import type { LruCache } from "../io/memory/cache.js";
import type { TemporaryFile } from "../io/temporaryFile.js";
import type { TableField } from "../schema/schema.js";
import type { RowMoves } from "./moves.js";
import type { RowIds } from "./rowIds.js";

/** Kinds of indexes on vectors that are built. */
export type VectorKindName =
  | "IVF_FLAT"
  | "IVF_PQ"
  | "IVF_SQ"
  | "IVF_HNSW_FLAT"
  | "IVF_HNSW_PQ"
  | "IVF_HNSW_SQ";

export type IndexKindName = "BTREE" | "BITMAP" | "LABEL_LIST" | "ZONEMAP" | "BLOOMFILTER" | "NGRAM" | "FTS";

/**
 * What is asked of an index. Values are columns of the indexed column's type, of its item's type for `hasAny` and
 * `hasAll`. They hold one or more values, no null, and are no dictionaries. Floats are compared in the total order of
 * IEEE 754 (valueOrder.ts): -0 is not 0, and NaN comes after all numbers.
 */
export type IndexQuery =
  /** The value is one of some; of one for equality. */
  | { readonly kind: "in"; readonly values: Column }
  /** The value lies between bounds; null for no bound. */
  | { readonly kind: "range"; readonly lower: IndexBound | null; readonly upper: IndexBound | null }
  | { readonly kind: "isNull" }
  /** Text that begins with a prefix: `LIKE 'prefix%'`. */
  | { readonly kind: "startsWith"; readonly prefix: string }
  /** Text that holds another: `contains()`, `LIKE '%text%'`. */
  | { readonly kind: "contains"; readonly text: string }
  /** A list with any, or all, of some items. */
  | { readonly kind: "hasAny" | "hasAll"; readonly values: Column };

export interface IndexBound {
  /** One value. */
  readonly value: Column;
  readonly isInclusive: boolean;
}

export interface IndexAnswer {
  /** The rows for which the condition holds; where the answer is not exact, all that may be among them. */
  readonly rows: RowIds;
  /** The rows for which the condition is null; null where they are not known, or were not asked for. */
  readonly nulls: RowIds | null;
  /** Whether every one of the rows meets the condition, so that no value needs to be looked at again. */
  readonly isExact: boolean;
}

export interface IndexSearchOptions {
  /** Whether the rows for which the condition is null are wanted too, as for its negation. Default false. */
  readonly withNulls?: boolean;
  readonly signal?: AbortSignal;
}

/** What a search is expected to give and to cost. */
export interface SearchEstimate {
  /** Approximate number of rows of the answer. */
  readonly rows: number;
  /** Approximate bytes of the index's files that hold it. */
  readonly bytes: number;
}

/** One open segment of an index. What it keeps in memory is what {@link memoryWeight} says; all else is read lazily. */
export interface MergeableIndex {
  /** What it was made with; absent for kinds that have no parameters. Merged segments, and new ones, are made likewise. */
  readonly parameters?: IndexTarget["parameters"];
  /** Approximate bytes of memory this object holds, for caches. */
  readonly memoryWeight: number;
}

/** An open segment that looks up values. */
export interface OpenIndex extends MergeableIndex {
  readonly kind: IndexKindName;
  /** Whether the index can answer a query. */
  answers(query: IndexQuery): boolean;
  /** Reads nothing. The query must be one that the index answers. */
  estimate(query: IndexQuery): SearchEstimate;
  /**
   * The query must be one that the index answers.
   * @throws CorruptFileError; the signal's reason
   */
  search(query: IndexQuery, options?: IndexSearchOptions): Promise<IndexAnswer>;
}

/** The files of one segment. */
export interface IndexFiles {
  /**
   * Opens a file of the segment.
   * @param name such as `page_data.lance`
   * @throws UnsupportedError, CorruptFileError where there is none
   */
  open(name: string): Promise<DataFileMetadata>;
  /** Whether there is a file of a name. */
  has(name: string): Promise<boolean>;
  /** What the files' pages are read through. */
  readonly source: PageSource;
  /** Parts of files, decoded, shared by all open indexes. Keys begin with the path and the identity of the file. */
  readonly parts: LruCache<IndexPart>;
}

/** A part of an index file in memory: as it was read, or what was made of it. */
export type IndexPart = Column | RowIds | KeptPostings | KernelPart;

/** A part as kernels need it. */
export interface KernelPart {
  readonly kind: "packed";
  /** Approximate bytes of memory. */
  readonly memoryWeight: number;
}

/** Postings that keep what was unpacked of them. */
export interface KeptPostings {
  readonly kind: "postings";
  /** Approximate bytes of memory; it grows as more is unpacked. */
  readonly memoryWeight: number;
}

/** Rows that an index is built of. */
export interface IndexRows {
  /**
   * The indexed column's values, nulls included. They, or the items of lists, are in a dictionary of values without nulls only
   * where the kind takes these ({@link BuildableKind.takesDictionaries}).
   */
  readonly values: Column;
  /** The rows' ids as the index stores them: integers of 8 bytes without nulls. */
  readonly ids: Column;
  /** Where each row's id follows that of the row before: the first one, so that nobody needs to look at the others. */
  readonly firstId?: { readonly high: number; readonly low: number };
  /** Where the rows lie, for kinds that know zones; absent where rows were sorted. */
  readonly places?: RowZone;
  /** What the index stores besides, of rows in its own order; absent for nothing. */
  readonly codes?: Column;
  readonly rowCount: number;
}

/** Rows of one fragment. */
export interface RowZone {
  readonly fragmentId: number;
  /** Physical offset of each row, ascending. */
  readonly offsets: Uint32Array;
}

/** Where an index is written, and what it is made with. */
export interface IndexTarget {
  readonly disk: Disk;
  /** A directory that exists, in which the names of the index's files are free. The caller makes the names durable. */
  readonly directory: string;
  /** Version of the index's files: that of the table's data files, so that releases that read the table read them. */
  readonly fileVersion: FileVersion;
  /** The indexed column. */
  readonly field: TableField;
  /**
   * Sorts rows by their values: nulls first, values in the order of valueOrder.ts, rows of equal values as they came.
   * Spills to disk beyond a bound.
   * @param type of the values
   * @param concurrency bytes that are sorted in memory. Default: the same for all kinds
   */
  sort(rows: AsyncIterable<IndexRows>, type: LogicalType, concurrency?: number): AsyncIterable<IndexRows>;
  /** Makes a file for what memory can't hold; whoever asks for it discards it. */
  temporaryFile(): Promise<TemporaryFile>;
  /** Threads for long work; absent where it is done in line. */
  readonly workers?: WorkerPool;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Approximate number of rows of the input. */
  readonly rowCount: number;
  /** Called now and then with the number of rows of the input that were taken in. */
  progress?(doneRows: number): void;
  readonly signal?: AbortSignal;
}

export interface WrittenIndexFile {
  readonly name: string;
  readonly byteLength: number;
}

/** A kind of index that can be built. */
export interface BuildableKind {
  readonly name: IndexKindName | VectorKindName;
  /** What the manifest has as the type of the index's details. */
  readonly typeUrl: string;
  /**
   * The value of these details. Default: empty.
   * @param parameters as {@link IndexTarget} has them
   */
  details?(parameters: IndexTarget["parameters"]): Uint8Array;
  /**
   * Why an index can't be built with these parameters.
   * @throws UnsupportedError
   */
  checkParameters?(parameters: IndexTarget["parameters"]): Promise<void>;
  /** Version of the format that is written. */
  readonly indexVersion: number;
  /** The same where it depends on the parameters. Default: {@link indexVersion}. */
  versionOf?(parameters: IndexTarget["parameters"]): number;
  /**
   * Whether answers, and what the index keeps, are addresses of rows even in tables with stable row ids, because it
   * knows fragments and offsets instead of ids. A merge then keeps what is known of fragments that stay
   * (`RowMoves.keepsFragment`), and needs the rows of all others; other kinds follow ids (`RowMoves.move`), and need the
   * rows only that no old segment covers.
   */
  readonly knowsPlaces: boolean;
  /** Whether rows may come with values, or items of lists, in dictionaries, as pages store them. Default false. */
  readonly takesDictionaries?: boolean;
  /** Whether rows are looked at only until the next are asked for, so that their memory serves these. Default false. */
  readonly keepsNoRows?: boolean;
  /** Null where the kind takes a column of this type, else why not, as the rest of a sentence about the column. */
  refusal(field: TableField): string | null;
  /**
   * Writes the files of a segment. They survive a power cut, once their names do.
   * @param rows in the order in which they lie in the table; they may be gone through several times
   */
  build(rows: AsyncIterable<IndexRows>, target: IndexTarget): Promise<readonly WrittenIndexFile[]>;
}

/** Kinds whose segments can be merged and remapped: one, or several that manifests don't tell apart. */
export interface MergeableKind extends Omit<BuildableKind, "name"> {
  /** Highest version of the format that can be opened. */
  readonly maxIndexVersion: number;
  /**
   * Makes one new segment of old ones and of further rows.
   * @param old opened by {@link open}
   * @param moves null where all rows of the old segments are where they were
   * @param rows see {@link knowsPlaces}
   */
  merge(
    old: readonly MergeableIndex[],
    moves: RowMoves | null,
    rows: AsyncIterable<IndexRows>,
    target: IndexTarget,
  ): Promise<readonly WrittenIndexFile[]>;
  /**
   * @param field the indexed column
   * @throws CorruptFileError; UnsupportedError for files laid out in a way that this release does not read
   */
  open(files: IndexFiles, field: TableField): Promise<MergeableIndex>;
}

/** A kind of index that looks up values. */
export interface IndexKind extends MergeableKind {
  readonly name: IndexKindName;
  merge(
    old: readonly OpenIndex[],
    moves: RowMoves | null,
    rows: AsyncIterable<IndexRows>,
    target: IndexTarget,
  ): Promise<readonly WrittenIndexFile[]>;
  open(files: IndexFiles, field: TableField): Promise<OpenIndex>;
}
