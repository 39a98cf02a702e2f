/** Requests and responses of the operations on columns and metadata. */

import type { DataType } from "apache-arrow";
import type { TableRequest } from "./request.js";
import type { JsonType } from "./tables.js";
import type { WithProgress } from "./upkeep.js";

/** What to change about the metadata of one field. */
export interface FieldMetadataUpdate {
  /** Path of the field; segments with a dot are in backticks. */
  readonly path: string;
  /** Keys to set; null deletes a key. */
  readonly metadata: Readonly<Record<string, string | null>>;
  /** True: the field keeps no other keys. Default false: the keys are merged into its metadata. */
  readonly replace?: boolean | undefined;
}
/** Which metadata of fields to change. */
export interface UpdateFieldMetadataRequest extends TableRequest {
  /** Applied in order, all or none. */
  readonly updates: readonly FieldMetadataUpdate[];
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
}
/** What `updateFieldMetadata` resolves to. */
export interface UpdateFieldMetadataResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** The new version. */
  readonly version: number;
  /** All metadata that the named fields now have, by their canonical paths. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** The new metadata of the schema. */
export interface UpdateTableSchemaMetadataRequest extends TableRequest {
  /** Replaces all metadata of the schema. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
}
/** What `updateTableSchemaMetadata` resolves to. */
export interface UpdateTableSchemaMetadataResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** The new version. */
  readonly version: number;
  /** The schema's metadata after the change. */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * A type: in the namespace spec's JSON form, as a type name of the spec or of table schemas, or as an apache-arrow
 * type.
 */
export type ColumnType = JsonType | string | DataType;

/** A column to add: either with an expression, or with a type and null in all rows. */
export interface NewColumn {
  /** Name of the column; not a path. */
  readonly name: string;
  /** SQL over the other columns of a row, or a constant: `lower(name)`, `price * 1.19`, `CAST(NULL AS DOUBLE)`. */
  readonly expression?: string | undefined;
  /** Type of a column that is null in all rows. */
  readonly dataType?: ColumnType | undefined;
  /** With `dataType`: metadata of the field. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /**
   * SQL over the other columns of a row, kept as the rule of the column: it is null in all rows, new ones included, until
   * `alterTableBackfillColumns` computes them.
   */
  readonly computed?: string | undefined;
  /** The registered function whose values the column has. It is null in all rows until it is backfilled. */
  readonly virtualColumn?: VirtualColumn | undefined;
}

/**
 * Which function computes a column. What is given besides `udfName` must be as the function is registered. Members that
 * describe how other engines run it (`image`, `udf`, `udfBackend`, `manifest`, `manifestChecksum`) are ignored.
 */
export interface VirtualColumn {
  /** Name under which the function is registered, see the option `functions`. */
  readonly udfName: string;
  /** Version of the function. */
  readonly udfVersion?: string | undefined;
  /** Paths of the fields that the function is handed. */
  readonly inputColumns?: readonly string[] | undefined;
  /** Metadata of the field, beside that which declares it. */
  readonly fieldMetadata?: Readonly<Record<string, string>> | undefined;
}
/** Columns to add. */
export interface AlterTableAddColumnsRequest extends TableRequest, WithProgress {
  /** At least one; all are added, or none. */
  readonly newColumns: readonly NewColumn[];
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
}
/** What `alterTableAddColumns` resolves to. */
export interface AlterTableAddColumnsResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** The new version. */
  readonly version: number;
}

/** What to change about one field; needs at least one member besides `path`. */
export interface ColumnAlteration {
  /** Path of the field. */
  readonly path: string;
  /** The new name; not a path. Not for a column that another is computed from. */
  readonly rename?: string | undefined;
  /** Whether the field may be null; to forbid it, no row may be null. */
  readonly nullable?: boolean | undefined;
  /**
   * The new type; the rows are rewritten. `schema/cast.ts` says which types can be cast to which. The call fails if a
   * value has no exact equivalent in the new type (floats may be rounded). Not for a column with an index, or one that
   * another is computed from.
   */
  readonly dataType?: ColumnType | undefined;
  /** Refused: a column is declared anew by dropping it and adding it again. */
  readonly virtualColumn?: unknown | undefined;
}
/** Columns to rename, cast, or make nullable or not. */
export interface AlterTableAlterColumnsRequest extends TableRequest, WithProgress {
  /** Applied all or none. The paths are those of the version before. */
  readonly alterations: readonly ColumnAlteration[];
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
}
/** What `alterTableAlterColumns` resolves to. */
export interface AlterTableAlterColumnsResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** The new version. */
  readonly version: number;
}

/** Columns to drop. */
export interface AlterTableDropColumnsRequest extends TableRequest {
  /**
   * Paths. A struct that loses its last member is dropped too, and so is an index on a dropped column. A column that
   * another is computed from can only be dropped together with that one.
   */
  readonly columns: readonly string[];
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
}
/** What `alterTableDropColumns` resolves to. */
export interface AlterTableDropColumnsResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** The new version. */
  readonly version: number;
}

/**
 * Which rows of a computed column to fill, and how. All numbers are whole. What is chosen besides `column`, `branch`,
 * `where`, `readVersion` and `numFrags` changes only how the work is cut, not what is filled.
 */
export interface AlterTableBackfillColumnsRequest extends TableRequest, WithProgress {
  /** Path of a column that was added with `virtualColumn` or `computed`. */
  readonly column: string;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /**
   * SQL that selects the rows to compute, filled or not: `true` computes all of them anew. Default: the rows in which the
   * column is null.
   */
  readonly where?: string | undefined;
  /** Pieces of work, see `taskSize`, that are under way at a time; 1 to 1024. Default: 1. */
  readonly concurrency?: number | undefined;
  /**
   * Calls of the function that are under way at a time in one piece of work, of an async function; 1 to 1024. Default: 1.
   */
  readonly intraApplierConcurrency?: number | undefined;
  /** Rows that a function is handed at a time, at most; 1 to 16,384. Default: 1024, or `maxCheckpointSize`. */
  readonly checkpointSize?: number | undefined;
  /**
   * Rows that a function is handed at least, as long as its piece of work has so many. Where a call takes more than ten seconds, the
   * next ones get half as many rows, but not less; they get twice as many again where one takes less than a quarter of
   * that. At most `maxCheckpointSize`. Default: 1.
   */
  readonly minCheckpointSize?: number | undefined;
  /** Rows that a function is handed at most, however quick it is. Capped at `checkpointSize`, which is the default. */
  readonly maxCheckpointSize?: number | undefined;
  /**
   * Seconds for which computed values may be in memory only; those that are older are written to the table's directory,
   * and are not computed again after a crash. 0: after each call, and the next one waits for that. Any number of at
   * least 0; 0.5 is half a second. Default: 5.
   */
  readonly batchCheckpointFlushIntervalSeconds?: number | undefined;
  /**
   * Version whose rows are filled, as they are now: rows that were appended later are not, unless they were merged with
   * others since, or the version that added them was cleaned up. It must have the column; how its values are computed is
   * what the latest version declares. Default: the latest version when the job is started.
   */
  readonly readVersion?: number | undefined;
  /** Rows of one piece of work. Default: a whole fragment. */
  readonly taskSize?: number | undefined;
  /** Fragments in which rows are filled, at most. Default: all. */
  readonly numFrags?: number | undefined;
  /** Fragments that are committed together, at most: each commit makes a version. Default: 16. */
  readonly commitGranularity?: number | undefined;
  /**
   * Name of an executor, see the option `clusters`: the function is called there. `concurrency` is then 1 to 1024 tasks at a
   * time, by default as many as the cluster can run. Default: functions run in this process.
   */
  readonly cluster?: string | undefined;
  /** Name of an environment of the cluster, such as a release of its workers. Ignored without `cluster`. */
  readonly manifest?: string | undefined;
}
/** What `alterTableBackfillColumns` resolves to. */
export interface AlterTableBackfillColumnsResponse {
  /** Names the job for `describeJob`, `waitForJob` and `cancelJob`. */
  readonly jobId: string;
}

/** Which version to look at. */
export interface DescribeComputedColumnsRequest extends TableRequest, WithProgress {
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** The version to read; absent: the latest. */
  readonly version?: number | undefined;
  /** The tag whose version is read. Excludes `version` and `branch`. */
  readonly tag?: string | undefined;
}
/** What `describeComputedColumns` resolves to. */
export interface DescribeComputedColumnsResponse {
  /** The computed columns, in the order of the schema. */
  readonly columns: readonly ComputedColumnState[];
}
/** A computed column, and how far it is filled. */
export interface ComputedColumnState {
  /** Path of the column. */
  readonly column: string;
  /** Whether a function or SQL computes it. `foreign`: another engine does, by a rule that this release does not understand. */
  readonly kind: "function" | "sql" | "foreign";
  /** Of a foreign column: `computed_column.kind` in the metadata of its field, if that is there. */
  readonly declaredKind?: string;
  /** Of a function. */
  readonly udfName?: string;
  /** Of a function; absent where another engine declared the column. */
  readonly udfVersion?: string;
  /** Of SQL. */
  readonly expression?: string;
  /** Paths of the fields that it is computed from; none where the metadata of a foreign column does not say. */
  readonly inputs: readonly string[];
  /** Of a function: whether one of that name and version is registered in this process. */
  readonly isRegistered?: boolean;
  /**
   * Rows without a value, and rows whose value no longer fits: those that were added since, or of which a change gave an input
   * another value. Rows whose value was computed and is null count, too. A query for `column IS NULL` tells which rows have
   * no value. Values no longer fit where another engine changed inputs, or where nobody knows because the versions that would
   * tell were cleaned up.
   */
  readonly staleRows: number;
  /** Ids of the fragments that have such rows, ascending: the upper 32 bits of the rows' `_rowaddr`. */
  readonly staleFragments: readonly number[];
}
