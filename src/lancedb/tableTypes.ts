/** Options and results of tables, by the names that LanceDB declares. */

import type { DataType } from "apache-arrow";

/** Progress of {@link Table.add}. */
export interface WriteProgress {
  /** Number of rows written so far. */
  outputRows: number;
  /** Number of bytes written so far. */
  outputBytes: number;
  /** Total number of rows, if the input tells it. The last report has it always. */
  totalRows?: number;
  /** Seconds since the write began. */
  elapsedSeconds: number;
  /** Number of tasks that write now. */
  activeTasks: number;
  /** Number of tasks that may write at once. */
  totalTasks: number;
  /** True for the last report. */
  done: boolean;
}

/** Options of {@link Table.add}. */
export interface AddDataOptions {
  /** `append` (default) adds the rows. `overwrite` replaces all rows. */
  mode: "append" | "overwrite";
  /** Callback for progress. Errors that it throws are written to the console. */
  progress: (progress: WriteProgress) => void;
}

/** Options of {@link Table.update}. */
export interface UpdateOptions {
  /** SQL that selects the rows to update. Default: all rows. */
  where: string;
}

/** Options of {@link Table.optimize}. */
export interface OptimizeOptions {
  /** Removes versions that were replaced before this time. Default: seven days ago. */
  cleanupOlderThan: Date;
  /** True: also removes young files that no version refers to. Use it only if nobody writes to the table. */
  deleteUnverified: boolean;
}

/** A version of a table. */
export interface Version {
  /** Number of the version. */
  version: number;
  /** Time of the commit. */
  timestamp: Date;
  /** Counts of rows and files, as text. */
  metadata: Record<string, string>;
}

/** A word that a tokenizer yields. */
export interface FtsToken {
  /** The word after all filters of the tokenizer. */
  text: string;
  /** Position of the word in the text. */
  position: number;
}

/** Selects the index whose tokenizer {@link Table.tokenize} uses. */
export type TokenizeTableOptions =
  | {
      /** Column with an index of words. */
      column: string;
      indexName?: never;
    }
  | {
      /** Name of an index of words. */
      indexName: string;
      column?: never;
    };

/** Settings of log-structured writes. */
export interface LsmWriteSpec {
  /** Rule that divides rows among shards. */
  specType: "bucket" | "identity" | "unsharded";
  /** Column that decides the shard. */
  column?: string;
  /** Number of buckets, 1 to 1024. */
  numBuckets?: number;
  /** Names of the indexes that the log keeps up to date. Default: all that it can. */
  maintainedIndexes?: string[];
  /** Defaults of writers. */
  writerConfigDefaults?: Record<string, string>;
}

/** A change of a column. At least one member besides `path` is required. */
export interface ColumnAlteration {
  /** Path of the column, such as `a.b.c`. */
  path: string;
  /** New name of the column, without a path. */
  rename?: string;
  /** New type. The rows are rewritten. */
  dataType?: string | DataType;
  /** True: allows nulls. */
  nullable?: boolean;
}

/** A change of a field's metadata. */
export interface FieldMetadataUpdate {
  /** Path of the field, such as `a.b.c`. */
  path: string;
  /** Keys to set. Null deletes a key. */
  metadata: Record<string, string | null>;
  /** True: deletes all other keys. Default: false. */
  replace?: boolean;
}

/** A column in a comparison of branches. */
export interface BranchColumnSummary {
  /** Name of the column. */
  name: string;
  /** Type of the column. */
  dataType: string;
  /** True if the column may be null. */
  nullable: boolean;
}

/** A column that differs between main and a branch. */
export interface BranchColumnChange {
  /** Name of the column. */
  name: string;
  /** The column on main. */
  main: BranchColumnSummary;
  /** The column on the branch. */
  branch: BranchColumnSummary;
}

/** An index in a comparison of branches. */
export interface BranchIndexSummary {
  /** Name of the index. */
  indexName: string;
  /** Indexed columns. */
  columns: string[];
  /** Kind of the index. */
  indexType?: string;
  /** State of the index. */
  status: string;
}

/** Numbers of rows in a comparison of branches. */
export interface BranchRowCountSummary {
  /** Rows that are equal. */
  unchanged: number;
  /** Rows that only main has. */
  newOnBase: number;
  /** Rows that only the branch has. */
  newOnBranch: number;
  /** Rows whose computed values are out of date. */
  staleRecompute: number;
  /** Rows whose inputs changed. */
  inputsChanged: number;
  /** True if the differences can be listed. */
  deltaAvailable: boolean;
}

/** Reason why a branch can't be taken over. */
export interface CherryPickError {
  /** Code of the reason. */
  code: string;
  /** Text of the reason. */
  message: string;
}

/** Comparison of a branch with main. */
export interface BranchDiff {
  /** Name of the branch. */
  fromBranch: string;
  /** Version that the branch was made from. */
  parentVersion: number;
  /** Version of main. */
  mainVersion: number;
  /** Version of the branch. */
  branchVersion: number;
  /** True if main changed since the branch was made. */
  baseMoved: boolean;
  /** Number of rows of main. */
  rowCountMain: number;
  /** Number of rows of the branch. */
  rowCountBranch: number;
  /** Numbers of equal and different rows. */
  rowSummary: BranchRowCountSummary;
  /** Columns that only the branch has. */
  addedColumns: BranchColumnSummary[];
  /** Columns that only main has. */
  removedColumns: BranchColumnSummary[];
  /** Columns that differ. */
  changedColumns: BranchColumnChange[];
  /** Indexes that only the branch has. */
  addedIndexes: BranchIndexSummary[];
  /** Indexes that only main has. */
  removedIndexes: BranchIndexSummary[];
  /** Reasons why the branch can't be taken over. */
  errors: CherryPickError[];
}

/** Changes that taking over a branch makes. */
export interface CherryPickPreview {
  /** Columns that main gets. */
  promotedColumns: string[];
}

/** Result of taking over a branch. */
export interface CherryPickResult {
  /** Outcome. */
  status: "ready" | "failed" | "notImplemented" | "cherryPicked" | "unknown";
  /** Comparison of the branch with main. */
  diff: BranchDiff;
  /** Changes that it makes. */
  preview: CherryPickPreview;
  /** Version of main after it. */
  mainVersionAfter?: number;
}
