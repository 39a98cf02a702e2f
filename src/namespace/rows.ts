/** Rows as programs hand them in, and requests and responses of the operations that change rows. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import type { MemoryShare } from "../memory.js";
import type { FilterExpression, FilterParameters } from "./queries.js";
import type { AnyCase, Properties, RowObject, TableRequest } from "./request.js";
import type { WithProgress } from "./upkeep.js";

/**
 * Rows as users hand them in: `docs/recipes/objects.md` and `streams.md` show the forms.
 *
 * Values of a blob column of version 2, a field of the extension `lance.blob.v2`, come as structs of `data`
 * (large_binary) and `uri` (utf8). When appended to a table that has the column, they may also be plain large_binary or
 * binary. A value with a uri is refused. The field's metadata may set three bounds in bytes: the largest value that
 * goes into the data file (`lance-encoding:blob-inline-size-threshold`, default 64 KiB), the largest value that shares
 * a side file with others (`lance-encoding:blob-dedicated-size-threshold`, default 4 MiB), and the size of such a side
 * file (`lance-encoding:blob-pack-file-size-threshold`, default 1 GiB).
 */
export type RowsInput =
  /** Plain objects, one per row. */
  | Iterable<RowObject>
  | AsyncIterable<RowObject>
  | ReadableStream<RowObject>
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
  /** A table or batch of another apache-arrow release. */
  | ForeignArrow;

/** The members that the engine reads of Arrow objects that its own apache-arrow did not make. */
export interface ForeignArrow {
  /** The Arrow schema. */
  readonly schema: {
    /** Its fields. */
    readonly fields: readonly unknown[];
  };
}

/** Where rows are inserted, and how. */
export interface InsertIntoTableRequest extends TableRequest, WithProgress {
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** `Append` (default) or `Overwrite`, in any case. */
  readonly mode?: AnyCase<"Append" | "Overwrite"> | undefined;
  /**
   * The columns of rows that come as objects, of any release of apache-arrow. Columns that no row names are null.
   * Default: the types of the values, or the columns of the table that is appended to.
   */
  readonly schema?: Schema | ForeignArrow["schema"] | undefined;
  /**
   * Upper bound in bytes for input that is IPC bytes: of one record batch, uncompressed; of its dictionaries together;
   * and of an IPC file that comes in pieces. Larger input is refused before it is held in memory. Default: no bound.
   */
  readonly maxBatchBytes?: number | undefined;
  /** Maximum number of rows in the input. Default: no bound. */
  readonly maxRows?: number | undefined;
  /** Memory bound that the rows count against on their way, shared with other work. */
  readonly memory?: MemoryShare | undefined;
}
/** What `insertIntoTable` resolves to. */
export interface InsertIntoTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId: string;
  /** The new version. */
  readonly version: number;
  /** Rows inserted. */
  readonly numInsertedRows: number;
}

/** Columns and their new values: at least one, each at most once. */
export interface UpdateTableRequest extends TableRequest, WithProgress {
  /** Paths of columns, each with an SQL expression over the values before the update: `[["n", "n + 1"]]`. */
  readonly updates?: readonly (readonly [path: string, expression: string])[] | undefined;
  /**
   * Values by the names of top-level columns: numbers, bigints, booleans, strings, dates, bytes, arrays of these; null and
   * undefined set null.
   */
  readonly values?: Readonly<Record<string, unknown>> | undefined;
  /** Selects the rows to update: SQL text, or an expression. Default: all. */
  readonly predicate?: string | FilterExpression | undefined;
  /** Values of the parameters of the predicate and the expressions: `$name` in their text. */
  readonly params?: FilterParameters | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** Properties for users of the object; the engine gives them no meaning. */
  readonly properties?: Properties | undefined;
}
/** What `updateTable` resolves to. */
export interface UpdateTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** The version after the update; the one before if no row was selected. */
  readonly version: number;
  /** Rows updated. */
  readonly updatedRows: number;
  /** Properties for users of the object; the engine gives them no meaning. */
  readonly properties?: Properties;
}

/** Which rows to delete. */
export interface DeleteFromTableRequest extends TableRequest, WithProgress {
  /** Selects the rows to delete: SQL text, or an expression. `true` selects all. */
  readonly predicate: string | FilterExpression;
  /** Values of the parameters of the predicate: `$name` in its text. */
  readonly params?: FilterParameters | undefined;
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
}
/** What `deleteFromTable` resolves to. */
export interface DeleteFromTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** The version after the deletion; the one before if no row was selected. */
  readonly version: number;
  /** Rows deleted. */
  readonly numDeletedRows: number;
}

/**
 * What becomes of rows by their key; at least one of the three clauses is wanted. Keys are the same as in SQL: one with
 * a null in it is the same as no other.
 */
export interface MergeInsertIntoTableRequest extends TableRequest, WithProgress {
  /** Paths of the columns of the key. */
  readonly on: string | readonly string[];
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** Rows of the table whose key one of the given rows has get its values. Columns that it lacks stay as they are. */
  readonly whenMatchedUpdateAll?: boolean | undefined;
  /** Which of them: a condition on `source.<column>` and `target.<column>`. The others stay as they are. */
  readonly whenMatchedUpdateAllFilt?: string | FilterExpression | undefined;
  /** Given rows whose key no row of the table has are added. */
  readonly whenNotMatchedInsertAll?: boolean | undefined;
  /** Rows of the table whose key none of the given rows has are removed. */
  readonly whenNotMatchedBySourceDelete?: boolean | undefined;
  /** Which of them: a condition on the table's columns. */
  readonly whenNotMatchedBySourceDeleteFilt?: string | FilterExpression | undefined;
  /** Values of the parameters of the conditions: `$name` in their texts. */
  readonly params?: FilterParameters | undefined;
  /** As in `30s`: ends the merge, and leaves the table as it was, where it takes longer. Default: none. */
  readonly timeout?: string | undefined;
  /** There are no indexes to use. */
  readonly useIndex?: boolean | undefined;
  /** As of {@link InsertIntoTableRequest}; so are the next two. */
  readonly maxBatchBytes?: number | undefined;
  /** Maximum number of rows in the input. Default: no bound. */
  readonly maxRows?: number | undefined;
  /** Memory bound that the rows count against on their way, shared with other work. */
  readonly memory?: MemoryShare | undefined;
}
/** What `mergeInsertIntoTable` resolves to. */
export interface MergeInsertIntoTableResponse {
  /** Names the change for `describeTransaction`; absent if there is nothing to describe. */
  readonly transactionId?: string;
  /** The version after the merge. */
  readonly version: number;
  /** Rows of the table that got new values. */
  readonly numUpdatedRows: number;
  /** Rows that were added. */
  readonly numInsertedRows: number;
  /** Rows that the given rows lack; not those that were updated. */
  readonly numDeletedRows: number;
}
