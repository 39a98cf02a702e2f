/** Results of handles, which run their query when the rows are read. */

import type { RecordBatch, Schema } from "apache-arrow";
import { setInspection, shownQuery } from "../inspection.js";
import type * as queries from "../namespace/queries.js";
import type { AnyRow, Selectable, SortColumns } from "./rowTypes.js";

/** Members of a query request that are options of scans. */
type ScanMember =
  | "filter"
  | "predicate"
  | "where"
  | "params"
  | "limit"
  | "offset"
  | "withRowId"
  | "batchSize";

/** Options of {@link TableHandle.scan}. */
export interface ScanOptions<Columns = Selectable, Path extends string = string>
  extends Pick<queries.QueryTableRequest, ScanMember | "useScalarIndex" | "signal"> {
  /** Columns of the result. Default: all columns of the table. */
  readonly columns?: Columns | undefined;
  /** Columns to sort by; the first has the highest priority. See {@link QueryTableRequest.orderBy}. */
  readonly orderBy?: SortColumns<Path> | undefined;
}

/**
 * Rows of a scan. The query starts with the first read, and again for each iteration and call.
 *
 *     for await (const row of table.scan({ filter: "price > 10" }).rows()) console.log(row.id);
 */
export interface Scan<Row extends object = AnyRow> extends AsyncIterable<RecordBatch>, queries.RowForms<Row> {
  /** Returns the Arrow schema of the rows. */
  schema(): Promise<Schema>;
}

/**
 * Returns a scan that starts its query with each read.
 * @param run starts the query
 * @param shown request that `console.log` of the scan shows
 */
export function scanOf<Row extends object>(
  run: () => Promise<queries.QueryResult>,
  shown: object = {},
): Scan<Row> {
  // The caller chooses the type of the rows.
  const query = run as unknown as () => Promise<queries.QueryResult<Row>>;
  const scan: Scan<Row> = {
    [Symbol.asyncIterator]: () => later(query),
    schema: async () => (await query()).schema,
    toArrow: async () => (await query()).toArrow(),
    toArray: async (options) => (await query()).toArray(options),
    rows: (options) => ({ [Symbol.asyncIterator]: () => later(async () => (await query()).rows(options)) }),
    print: async (options) => (await query()).print(options),
    toIPC: async () => (await query()).toIPC(),
    toIPCStream: () => laterStream(async () => (await query()).toIPCStream()),
  };
  setInspection(scan, () => ["Scan", shownQuery(shown)]);
  return scan;
}

/** Yields the items of a list that is opened with the first read. */
async function* later<Item>(open: () => Promise<AsyncIterable<Item>>): AsyncGenerator<Item> {
  yield* await open();
}

/** Returns a stream that is opened with the first read. */
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
