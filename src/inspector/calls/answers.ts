/** Forms of the inspector's answers, which the server writes and the page reads. Types only. */

import type { BranchContents } from "../../namespace/branches.js";
import type { TableIndex } from "../../namespace/indexes.js";
import type { Job } from "../../namespace/jobs.js";
import type { QueryPlanNode } from "../../namespace/queries.js";
import type { DescribeTableResponse, GetTableStatsResponse } from "../../namespace/tables.js";
import type { TagContents } from "../../namespace/tags.js";
import type { TableVersion } from "../../namespace/versions.js";

/** A value as a cell of the grid shows it. Its size is bounded, whatever the value holds. */
export type CellPreview = null | boolean | number | string | LongPreview;

/** Preview of a value that a cell shows only in part, or that JSON can't hold. */
export type LongPreview =
  /** Beginning of a text, with the length of the whole text in UTF-16 code units. */
  | { readonly kind: "text"; readonly text: string; readonly length: number }
  /** NaN or an infinity. */
  | { readonly kind: "number"; readonly text: string }
  /** A vector: its length, and values at even distances for a sparkline. */
  | { readonly kind: "vector"; readonly length: number; readonly points: readonly number[] }
  /** Bytes: their number, the media type of an image, and the first bytes in hexadecimal. */
  | { readonly kind: "bytes"; readonly size: number; readonly media: string | null; readonly hex: string }
  /** Beginning of a list, struct or map as JSON. */
  | { readonly kind: "nested"; readonly text: string; readonly isCut: boolean };

/** Answer of `about`. */
export interface AboutAnswer {
  /** Title of the page. */
  readonly title: string;
  /** True if the page may change tables. */
  readonly isWritable: boolean;
}

/** Answer of `tables`: a page of ids. */
export interface TablesAnswer {
  readonly tables: readonly (readonly string[])[];
  readonly pageToken?: string;
}

/** Answer of `table`. */
export interface TableAnswer {
  readonly description: Pick<
    DescribeTableResponse,
    "version" | "schema" | "metadata" | "properties" | "isOnlyDeclared" | "stats"
  >;
  readonly stats: GetTableStatsResponse;
  readonly indexes: readonly TableIndex[];
}

/** Answer of `gain`: what a compaction of the latest version would do. */
export interface GainAnswer {
  readonly fragmentsRemoved: number;
  readonly fragmentsAdded: number;
}

/** Answer of `rows`, `search` and `rowsById`. Rows have a cell for each column. */
export interface RowsAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly CellPreview[])[];
  /** Row ids as texts of digits, in the order of the rows. */
  readonly rowIds: readonly string[];
}

/** Answer of `matches`: ids of rows that a filter selects, in order. */
export interface MatchesAnswer {
  readonly rowIds: readonly string[];
  /** True if more rows follow. */
  readonly hasMore: boolean;
}

/** Range of text that a search matched. */
export interface CellHighlight {
  readonly column: string;
  readonly start: number;
  readonly end: number;
}

/** Answer of `search`. */
export interface SearchAnswer extends RowsAnswer {
  /** Highlights of each row. */
  readonly highlights: readonly (readonly CellHighlight[])[];
  readonly milliseconds: number;
}

/** Answer of `plan` and `matchesPlan`. */
export interface PlanAnswer {
  readonly plan: QueryPlanNode;
  readonly isMeasured: boolean;
}

/** Answer of `cell`: a whole value, up to a bound. */
export interface CellAnswer {
  /** Value as text: JSON for nested values and vectors. */
  readonly text: string;
  readonly isCut: boolean;
}

/** A bar of a histogram, or a frequent value. */
export interface ProfileBar {
  readonly label: string;
  readonly count: number;
}

/** Answer of `profile`: statistics of a column. */
export interface ProfileAnswer {
  readonly rows: number;
  readonly nulls: number;
  /** Number of distinct values; approximate. Absent for types without equality. */
  readonly distinct?: number;
  readonly min?: string;
  readonly max?: string;
  readonly mean?: number;
  readonly notFinite?: number;
  /** Lengths of the lists, texts or bytes. */
  readonly lengths?: { readonly min: number; readonly max: number };
  /** Histogram in ascending order. */
  readonly histogram?: readonly ProfileBar[];
  /** Most frequent values. */
  readonly frequent?: readonly ProfileBar[];
  /** Number of rows that the frequent values were counted in. */
  readonly sampledRows?: number;
}

/** Answer of `vectors`: a sample of a vector column. */
export interface VectorsAnswer {
  readonly dimension: number;
  /** Row ids of the sample. */
  readonly rowIds: readonly string[];
  /** Little-endian float32 values in base64, row by row. */
  readonly values: string;
  /** Values of the column that colours the points. */
  readonly colours: readonly CellPreview[];
}

/** Answer of `neighbours`: the nearest rows of some rows. */
export interface NeighboursAnswer {
  readonly rowIds: readonly (readonly string[])[];
  /** Milliseconds of each search. */
  readonly milliseconds: readonly number[];
}

/** Answer of `history`. */
export interface HistoryAnswer {
  /** Versions of the branch, newest first. */
  readonly versions: readonly TableVersion[];
  readonly pageToken?: string;
}

/** Answer of `refs`. */
export interface RefsAnswer {
  readonly branches: Readonly<Record<string, BranchContents>>;
  readonly tags: Readonly<Record<string, TagContents>>;
}

/** Answer of `differences`: rows that differ between two versions. */
export interface DifferencesAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly {
    readonly kind: "added" | "removed" | "changed";
    readonly cells: readonly CellPreview[];
    readonly before: readonly CellPreview[] | null;
  }[];
  readonly hasMore: boolean;
}

/** Answer of `jobs`. */
export interface JobsAnswer {
  readonly jobs: readonly Job[];
}

/** Body of an answer that is not a success. */
export interface FailureAnswer {
  readonly error: { readonly type: string; readonly message: string; readonly status: number };
}
