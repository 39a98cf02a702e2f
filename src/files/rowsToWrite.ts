/** Opens the rows that the writers of files take. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import { type ArrowInput, openInput } from "../arrow/exchange/input.js";
import type { ObjectTypes } from "../arrow/objects/objectBatches.js";
import { isObject } from "../optionMembers.js";
import { emptyBatch } from "./fileRows.js";

/**
 * Rows to write: a scan, search or query of a table, the result of `queryTable`, an Arrow table or record
 * batch, an iterable of record batches, or plain objects.
 */
export type RowsToWrite =
  | Table
  | RecordBatch
  | AsyncIterable<RecordBatch>
  | Iterable<RecordBatch>
  | AsyncIterable<object>
  | Iterable<object>;

/** Result of writing a file. */
export interface FileWriteResult {
  /** Number of rows in the file. */
  readonly rowCount: number;
  /** Length of the file in bytes. */
  readonly byteCount: number;
}

/**
 * Opens rows.
 * @param schema columns of rows that are objects
 * @throws InvalidInputError for data that is not rows
 */
export function openRows(
  rows: unknown,
  signal: AbortSignal | undefined,
  schema: Schema | undefined,
): Promise<ArrowInput> {
  const types: ObjectTypes = schema === undefined ? {} : { schema };
  return openInput(isScan(rows) ? batchesOfScan(rows) : rows, signal, {}, types);
}

interface ScanLike extends AsyncIterable<RecordBatch> {
  readonly schema: Schema | (() => Promise<Schema>);
}

/**
 * True for rows that know their schema without a batch. Arrow's tables and batches are no async iterables.
 */
const isScan = (rows: unknown): rows is ScanLike =>
  isObject(rows) && Symbol.asyncIterator in rows && "schema" in rows;

/** Yields the batches of a scan. Without rows, one empty batch tells the columns. */
async function* batchesOfScan(scan: ScanLike): AsyncGenerator<RecordBatch> {
  let isEmpty = true;
  for await (const batch of scan) {
    isEmpty = false;
    yield batch;
  }
  if (isEmpty) yield emptyBatch(typeof scan.schema === "function" ? await scan.schema() : scan.schema);
}
