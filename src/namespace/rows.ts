/** Input rows, and request and response types of the operations that change rows. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import type {
  BranchRequest,
  CommitAnswer,
  InputLimits,
  VersionAnswer,
  WithMessage,
  WithProperties,
} from "./members.js";
import type { FilterExpression, FilterParameters, RowCondition } from "./queries.js";
import type { AnyCase, Properties, RowObject } from "./request.js";
import type { WithProgress } from "./upkeep.js";

/**
 * Rows in any of the forms that the README's section on input lists.
 *
 * A value of a blob column of version 2 (extension `lance.blob.v2`) is a struct of `data` (large_binary) and
 * `uri` (utf8). If the table already has the column, plain large_binary or binary is accepted too. A value
 * with a `uri` is refused. Three metadata keys of the field set limits in bytes:
 *
 * - `lance-encoding:blob-inline-size-threshold`: largest value stored in the data file. Default: 64 KiB.
 * - `lance-encoding:blob-dedicated-size-threshold`: largest value stored in a shared side file. Default: 4
 *   MiB.
 * - `lance-encoding:blob-pack-file-size-threshold`: size of a shared side file. Default: 1 GiB.
 */
export type RowsInput<Row extends object = RowObject> =
  /** Plain objects, one per row. The compiler explains errors of a list best. */
  | readonly Row[]
  | Iterable<Row>
  | AsyncIterable<Row>
  | ReadableStream<Row>
  /** Plain objects in arrays, such as the pages of a cursor. Memory holds one array at a time. */
  | AsyncIterable<readonly Row[]>
  | ReadableStream<readonly Row[]>
  | Table
  | RecordBatch
  | Iterable<RecordBatch>
  | AsyncIterable<RecordBatch>
  | Uint8Array
  | ArrayBuffer
  | Iterable<Uint8Array>
  | AsyncIterable<Uint8Array>
  | ReadableStream<Uint8Array>
  | ReadableStream<RecordBatch>
  /** A table or batch of another release of apache-arrow. */
  | ForeignArrow;

/** Members that the engine reads from Arrow objects of another release of apache-arrow. */
export interface ForeignArrow {
  /** The Arrow schema. */
  readonly schema: {
    /** Fields of the schema. */
    readonly fields: readonly unknown[];
  };
}

/** Request of `insertIntoTable`. */
export interface InsertIntoTableRequest extends BranchRequest, WithProgress, InputLimits, WithMessage {
  /** `Append` (default) adds the rows. `Overwrite` replaces all rows. Any case is accepted. */
  readonly mode?: AnyCase<"Append" | "Overwrite"> | undefined;
  /**
   * Schema for rows that are plain objects, from any release of apache-arrow. Columns that no row contains
   * are null. Default: the columns of the table, or types inferred from the values.
   */
  readonly schema?: Schema | ForeignArrow["schema"] | undefined;
}
/** Answer of `insertIntoTable`. */
export interface InsertIntoTableResponse extends CommitAnswer {
  /** Number of inserted rows. */
  readonly numInsertedRows: number;
}

/** Request of `updateTable`. It sets at least one column, and each column at most once. */
export interface UpdateTableRequest extends BranchRequest, WithProgress, WithProperties, WithMessage {
  /** Pairs of a column path and SQL over the values before the update: `[["n", "n + 1"]]`. */
  readonly updates?: readonly (readonly [path: string, expression: string])[] | undefined;
  /**
   * New values by the names of top-level columns. The column's type decides what a value means, as in rows
   * that are inserted. Null and undefined set null.
   */
  readonly values?: Readonly<Record<string, unknown>> | undefined;
  /** SQL expressions by column path. They see the values before the update, like those of `updates`. */
  readonly valuesSql?: Readonly<Record<string, string>> | undefined;
  /** Selects the rows to update: SQL text or an expression. Default: all rows. */
  readonly predicate?: RowCondition | undefined;
  /** Synonym of `predicate`. */
  readonly filter?: RowCondition | undefined;
  /** Synonym of `predicate`. */
  readonly where?: RowCondition | undefined;
  /** Values of the parameters in the predicate and the expressions, written `$name`. */
  readonly params?: FilterParameters | undefined;
}
/** Answer of `updateTable`. */
export interface UpdateTableResponse extends VersionAnswer {
  /** Number of updated rows. */
  readonly updatedRows: number;
  /** Properties for the users of the object. The engine ignores them. */
  readonly properties?: Properties;
}

/** Request of `deleteFromTable`. It has a condition. */
export type DeleteFromTableRequest = BranchRequest &
  WithProgress &
  WithMessage & {
    /** Values of the parameters in the predicate, written `$name`. */
    readonly params?: FilterParameters | undefined;
  } & (DeleteCondition<"predicate"> | DeleteCondition<"filter"> | DeleteCondition<"where">);

/** Selects the rows to delete, under any of three names. `true` selects all rows. */
type DeleteCondition<Name extends "predicate" | "filter" | "where"> = Readonly<Record<Name, RowCondition>> & {
  readonly predicate?: RowCondition | undefined;
  readonly filter?: RowCondition | undefined;
  readonly where?: RowCondition | undefined;
};
/** Answer of `deleteFromTable`. */
export interface DeleteFromTableResponse extends VersionAnswer {
  /** Number of deleted rows. */
  readonly numDeletedRows: number;
}

/**
 * Request of `mergeInsertIntoTable`. At least one of the three `when…` clauses is required. Keys are compared
 * as in SQL: a key that contains a null equals no key.
 */
export interface MergeInsertIntoTableRequest extends BranchRequest, WithProgress, InputLimits, WithMessage {
  /** Paths of the key columns. */
  readonly on: string | readonly string[];
  /**
   * True: table rows whose key occurs in the input get the values of the input row. Columns that the input
   * lacks keep their values. Default: false.
   */
  readonly whenMatchedUpdateAll?: boolean | undefined;
  /** Condition for the update, on `source.<column>` and `target.<column>`. Default: none. */
  readonly whenMatchedUpdateAllFilt?: string | FilterExpression | undefined;
  /** True: input rows whose key does not occur in the table are inserted. Default: false. */
  readonly whenNotMatchedInsertAll?: boolean | undefined;
  /** True: table rows whose key does not occur in the input are deleted. Default: false. */
  readonly whenNotMatchedBySourceDelete?: boolean | undefined;
  /** Condition for the deletion, on columns of the table. Default: all such rows are deleted. */
  readonly whenNotMatchedBySourceDeleteFilt?: string | FilterExpression | undefined;
  /** Values of the parameters in the conditions, written `$name`. */
  readonly params?: FilterParameters | undefined;
  /** Maximum duration, such as `30s`. A longer merge fails and changes nothing. Default: no limit. */
  readonly timeout?: string | undefined;
  /**
   * False: merges into the table itself, even if it has an LSM write spec, as long as its logs hold no rows.
   * Default: a table with such a spec is refused.
   */
  readonly useLsm?: false | undefined;
  /** False: compares the keys of all rows, even where an index would find the keys sooner. Default: true. */
  readonly useIndex?: boolean | undefined;
}
/** Answer of `mergeInsertIntoTable`. */
export interface MergeInsertIntoTableResponse extends VersionAnswer {
  /** Number of table rows that got new values. */
  readonly numUpdatedRows: number;
  /** Number of inserted rows. */
  readonly numInsertedRows: number;
  /** Number of deleted rows. Updated rows do not count. */
  readonly numDeletedRows: number;
}
