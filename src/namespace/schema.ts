/** Request and response types of the operations on columns and metadata. */

import type { BranchRequest, VersionAnswer, VersionRequest, WithMessage } from "./members.js";
import type { JsonType } from "./tables.js";
import type { StartedJob, WithProgress } from "./upkeep.js";

/** Change of the metadata of one field. */
export interface FieldMetadataUpdate {
  /** Path of the field. A segment that contains a dot is quoted with backticks. */
  readonly path: string;
  /** Keys to set. Null deletes a key. */
  readonly metadata: Readonly<Record<string, string | null>>;
  /** True: deletes all other keys of the field. False: keeps them. Default: false. */
  readonly replace?: boolean | undefined;
}
/** Request of `updateFieldMetadata`. */
export interface UpdateFieldMetadataRequest extends BranchRequest, WithMessage {
  /** Changes in order. All are applied, or none. */
  readonly updates: readonly FieldMetadataUpdate[];
}
/** Answer of `updateFieldMetadata`. */
export interface UpdateFieldMetadataResponse extends VersionAnswer {
  /** Complete metadata of each changed field, by canonical path. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Request of `updateTableSchemaMetadata`. */
export interface UpdateTableSchemaMetadataRequest extends BranchRequest, WithMessage {
  /** New metadata. It replaces all metadata of the schema. */
  readonly metadata: Readonly<Record<string, string>>;
}
/** Answer of `updateTableSchemaMetadata`. */
export interface UpdateTableSchemaMetadataResponse extends VersionAnswer {
  /** Metadata of the schema after the change. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** A type: JSON form or type name of the namespace spec, type name of table schemas, or apache-arrow type. */
export type ColumnType = JsonType | string | ArrowType;

/** A type of any release of apache-arrow: the members that all releases have. */
export interface ArrowType {
  /** Number of the type in the Arrow format. */
  readonly typeId: number;
  /** Fields of nested types. */
  readonly children?: readonly unknown[] | null;
}

/** A column to add, with exactly one of `expression`, `dataType`, `computed` and `virtualColumn`. */
export interface NewColumn {
  /** Name of the column; not a path. */
  readonly name: string;
  /** SQL over the row's other columns, or a constant: `price * 1.19`, `CAST(NULL AS DOUBLE)`. */
  readonly expression?: string | undefined;
  /** Type of a column that is null in all rows. */
  readonly dataType?: ColumnType | undefined;
  /** Metadata of the field; only with `dataType`. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /**
   * SQL over the other columns of the row. The table stores it as the column's rule. The column is null in
   * all rows, including new rows, until `alterTableBackfillColumns` computes the values.
   */
  readonly computed?: string | undefined;
  /** Registered function that computes the column, which is null in all rows until a backfill. */
  readonly virtualColumn?: VirtualColumn | undefined;
}

/**
 * Function that computes a column. Members besides `udfName` must equal the function's registration. The
 * engine ignores members that describe how other engines run the function: `image`, `udf`, `udfBackend`,
 * `manifest` and `manifestChecksum`.
 */
export interface VirtualColumn {
  /** Name of the function in the option `functions` of the namespace. */
  readonly udfName: string;
  /** Version of the function. */
  readonly udfVersion?: string | undefined;
  /** Paths of the function's input fields. */
  readonly inputColumns?: readonly string[] | undefined;
  /** Metadata of the field, in addition to the metadata that declares the function. */
  readonly fieldMetadata?: Readonly<Record<string, string>> | undefined;
}
/** Request of `alterTableAddColumns`. */
export interface AlterTableAddColumnsRequest extends BranchRequest, WithProgress, WithMessage {
  /** At least one column. All are added, or none. */
  readonly newColumns: readonly NewColumn[];
}
/** Answer of `alterTableAddColumns`. */
export interface AlterTableAddColumnsResponse extends VersionAnswer {}

/** Change of one field. At least one member besides `path` is required. */
export interface ColumnAlteration {
  /** Path of the field. */
  readonly path: string;
  /** New name of the field, without a path. Inputs of computed columns can't be renamed. */
  readonly rename?: string | undefined;
  /** True: allows nulls. False: forbids nulls, and fails if a row is null. */
  readonly nullable?: boolean | undefined;
  /**
   * New type. The rows are rewritten; `schema/cast.ts` lists the supported casts. A value without an exact
   * equivalent fails the call, except that floats may be rounded. Columns with an index and inputs of
   * computed columns can't be cast.
   */
  readonly dataType?: ColumnType | undefined;
  /** Refused. To change how a column is computed, drop it and add it again. */
  readonly virtualColumn?: unknown | undefined;
}
/** Request of `alterTableAlterColumns`. */
export interface AlterTableAlterColumnsRequest extends BranchRequest, WithProgress, WithMessage {
  /** Changes whose paths refer to the version before. All are applied, or none. */
  readonly alterations: readonly ColumnAlteration[];
}
/** Answer of `alterTableAlterColumns`. */
export interface AlterTableAlterColumnsResponse extends VersionAnswer {}

/** Request of `alterTableDropColumns`. */
export interface AlterTableDropColumnsRequest extends BranchRequest, WithMessage {
  /**
   * Paths of the columns. A struct that loses its last member is dropped, and so is an index on a dropped
   * column. An input of a computed column can only be dropped together with that column.
   */
  readonly columns: readonly string[];
}
/** Answer of `alterTableDropColumns`. */
export interface AlterTableDropColumnsResponse extends VersionAnswer {}

/**
 * Request of `alterTableBackfillColumns`. All numbers except `batchCheckpointFlushIntervalSeconds` are
 * integers. `column`, `branch`, `where`, `readVersion` and `numFrags` select the rows to fill; all other
 * members only divide the work.
 */
export interface AlterTableBackfillColumnsRequest extends BranchRequest, WithProgress, WithMessage {
  /** Path of a column that was added with `virtualColumn` or `computed`. */
  readonly column: string;
  /**
   * SQL that selects the rows to compute, even if they have a value. `true` computes all rows again. Default:
   * rows in which the column is null.
   */
  readonly where?: string | undefined;
  /** Synonym of `where`. */
  readonly filter?: string | undefined;
  /** Synonym of `where`. */
  readonly predicate?: string | undefined;
  /** Number of concurrent tasks, 1 to 1024. Default: 1. */
  readonly concurrency?: number | undefined;
  /** Number of concurrent calls of an async function per task, 1 to 1024. Default: 1. */
  readonly intraApplierConcurrency?: number | undefined;
  /** Maximum number of rows per call of the function, 1 to 16,384. Default: `maxCheckpointSize`, or 1024. */
  readonly checkpointSize?: number | undefined;
  /**
   * Minimum number of rows per call, if the task has that many; at most `maxCheckpointSize`. A call that
   * takes more than ten seconds halves the number of rows of later calls. A call that takes less than 2.5
   * seconds doubles it. Default: 1.
   */
  readonly minCheckpointSize?: number | undefined;
  /** Maximum rows per call, even of fast calls; at most `checkpointSize`, which is the default. */
  readonly maxCheckpointSize?: number | undefined;
  /**
   * Maximum age in seconds of values that are only in memory. Older values are saved in the table's directory
   * and survive a crash. 0: saves after each call, and the next call waits. Default: 5.
   */
  readonly batchCheckpointFlushIntervalSeconds?: number | undefined;
  /**
   * Version whose rows are filled with their current content. Rows that were appended later are skipped,
   * unless they were merged with older rows, or a cleanup removed the version that added them. The version
   * must have the column; the latest version defines how it is computed. Default: the latest version when the
   * job starts.
   */
  readonly readVersion?: number | undefined;
  /** Number of rows per task. Default: a whole fragment. */
  readonly taskSize?: number | undefined;
  /** Maximum number of fragments to fill. Default: all. */
  readonly numFrags?: number | undefined;
  /** Maximum number of fragments per commit; each commit creates a version. Default: 16. */
  readonly commitGranularity?: number | undefined;
  /**
   * Name of an executor in the option `clusters` of the namespace, which calls the function elsewhere.
   * `concurrency` then defaults to the capacity of the cluster. Default: the function runs in this process.
   */
  readonly cluster?: string | undefined;
  /** Name of an environment of the cluster, such as a release of its workers. Ignored without `cluster`. */
  readonly manifest?: string | undefined;
}
/** Answer of `alterTableBackfillColumns`. */
export interface AlterTableBackfillColumnsResponse extends StartedJob {}

/** Request of `describeComputedColumns`. */
export interface DescribeComputedColumnsRequest extends VersionRequest, WithProgress {}
/** Answer of `describeComputedColumns`. */
export interface DescribeComputedColumnsResponse {
  /** Computed columns in schema order. */
  readonly columns: readonly ComputedColumnState[];
}
/** State of a computed column. */
export interface ComputedColumnState {
  /** Path of the column. */
  readonly column: string;
  /**
   * `function`: computed by a registered function. `sql`: computed by SQL. `foreign`: computed by another
   * engine, with a rule that this release does not support.
   */
  readonly kind: "function" | "sql" | "foreign";
  /** Value of `computed_column.kind` in the field's metadata, if the column is foreign. */
  readonly declaredKind?: string;
  /** Name of the function. */
  readonly udfName?: string;
  /** Version of the function. Absent if another engine declared the column. */
  readonly udfVersion?: string;
  /** SQL expression of the column. */
  readonly expression?: string;
  /** Paths of the input fields. Empty if the metadata of a foreign column does not list them. */
  readonly inputs: readonly string[];
  /** True if this process has registered the function with that version. */
  readonly isRegistered?: boolean;
  /**
   * Number of rows without a current value:
   *
   * - rows whose value is null, including computed nulls; a query for `column IS NULL` returns them
   * - rows whose inputs another engine changed
   * - rows whose inputs may have changed, because a cleanup removed the versions that would show it
   */
  readonly staleRows: number;
  /** Ascending ids of the fragments with such rows: the upper 32 bits of `_rowaddr`. */
  readonly staleFragments: readonly number[];
}
