/** Rows of a handle, to be read in several forms; the query runs when they are. */

import type { RecordBatch, Schema } from "apache-arrow";
import type * as queries from "../namespace/queries.js";
import type { AnyRow, Selectable } from "./rowTypes.js";

/** Which rows and columns to read, and in which order. */
export interface ScanOptions<Columns extends Selectable = Selectable> {
  /** Which columns the rows have. Default: all columns of the table. */
  readonly columns?: Columns | undefined;
  /** Selects rows: SQL text, or an expression made with `col`, `lit` or `sql`. */
  readonly filter?: string | queries.FilterExpression | undefined;
  /** Values of the parameters of the filter: `$name` in its text. */
  readonly params?: queries.FilterParameters | undefined;
  /** Columns to sort by; the first one has the highest priority. */
  readonly orderBy?: queries.QueryTableRequest["orderBy"];
  /** Maximum number of rows, ≥ 1. Default: all. */
  readonly limit?: number | undefined;
  /** Rows to skip, ≥ 0. Default: none. */
  readonly offset?: number | undefined;
  /** Whether rows have the column `_rowid`. Default false. */
  readonly withRowId?: boolean | undefined;
  /** Maximum rows per batch. Default: as the data lies on disk. */
  readonly batchSize?: number | undefined;
  /** Whether scalar indexes find the rows of the filter. Default: where that should be quicker. */
  readonly useScalarIndex?: boolean | undefined;
  /** Aborting it ends the query. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Rows of a scan; the query starts when the first row is asked for, and anew with each iteration and call.
 *
 *     for await (const row of table.scan({ filter: "price > 10" }).rows()) console.log(row.id);
 */
export interface Scan<Row extends object = AnyRow> extends AsyncIterable<RecordBatch>, queries.RowForms<Row> {
  /** The Arrow schema of the rows. */
  schema(): Promise<Schema>;
}

/** @param run starts the query */
export function scanOf<Row extends object>(run: () => Promise<queries.QueryResult>): Scan<Row> {
  // The rows' type is what the caller says that it is.
  const query = run as unknown as () => Promise<queries.QueryResult<Row>>;
  return {
    async *[Symbol.asyncIterator]() {
      yield* await query();
    },
    schema: async () => (await query()).schema,
    toArrow: async () => (await query()).toArrow(),
    toArray: async () => (await query()).toArray(),
    rows: () => ({
      async *[Symbol.asyncIterator]() {
        yield* (await query()).rows();
      },
    }),
    toIPC: async () => (await query()).toIPC(),
    toIPCStream: () => laterStream(async () => (await query()).toIPCStream()),
  };
}

/** A stream that is opened when its first piece is asked for. */
function laterStream(open: () => Promise<ReadableStream<Uint8Array>>): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= (await open()).getReader();
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
