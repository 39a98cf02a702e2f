/** Reads answers with rows as query results. Every batch is checked before it is passed on. */

import type { RecordBatch, Schema } from "apache-arrow";
import { makeBatch } from "../arrow/exchange/batch.js";
import { type ArrowInput, type InputBatch, isSameShape, openInput } from "../arrow/exchange/input.js";
import { ConcurrentModificationError, InvalidInputError, UnsupportedError } from "../errors.js";
import type { MemoryShare } from "../memory.js";
import type { QueryResult } from "../namespace/queries.js";
import { optionalCount } from "../operations/request.js";
import { resultOfBatches } from "../operations/rows/resultForms.js";
import { errorOfCall, malformedAnswer, withoutSecrets } from "./problems.js";
import { takenOnce } from "./takenOnce.js";
import type { Incoming } from "./transport.js";

/** Rows of one answer. */
export interface OpenRows {
  readonly schema: Schema;
  /** Yields the columns of each batch. */
  columns(): AsyncIterable<InputBatch>;
  batches(): AsyncGenerator<RecordBatch, void, undefined>;
  close(): void;
}

/**
 * Opens an answer with rows, and reads its schema.
 * @param maxBatchBytes limit of an uncompressed batch
 */
export async function openAnswer(
  incoming: Incoming,
  maxBatchBytes: number,
  memory: MemoryShare | undefined,
): Promise<OpenRows> {
  let input: ArrowInput;
  try {
    input = await openInput(incoming.pieces(), undefined, { maxBatchBytes, memory });
  } catch (error) {
    incoming.cancel();
    throw answerError(error, incoming);
  }
  const { schema } = input;
  async function* columnsOf(): AsyncGenerator<InputBatch, void, undefined> {
    try {
      yield* input.batches;
    } catch (error) {
      throw answerError(error, incoming);
    } finally {
      await input.close();
    }
  }
  return {
    schema,
    columns: columnsOf,
    async *batches() {
      for await (const { columns, rowCount } of columnsOf()) yield makeBatch(schema, columns, rowCount);
    },
    close: () => incoming.cancel(),
  };
}

/**
 * Returns the error of an answer. Malformed rows are the server's fault, although the decoder takes them for
 * input.
 */
function answerError(error: unknown, { secrets }: Incoming): unknown {
  if (!(error instanceof InvalidInputError || error instanceof UnsupportedError)) return error;
  // The decoder names columns, whose names the server chose.
  const reason = withoutSecrets(error.message, secrets);
  return malformedAnswer(reason, reason === error.message ? error : undefined);
}

/** Request of a query, as far as it concerns the client. */
interface RowsRequest {
  readonly batchSize?: unknown;
  readonly batchBytes?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Returns the result of a query, which was asked once. The first read takes that answer; each further read
 * asks again.
 * @param ask sends the query
 * @param operation operation that errors name
 */
export async function rowsResult(
  ask: () => Promise<OpenRows>,
  request: RowsRequest,
  operation: string,
): Promise<QueryResult> {
  const batchSize = optionalCount(request.batchSize, "batchSize", 1) ?? Number.POSITIVE_INFINITY;
  const batchBytes = optionalCount(request.batchBytes, "batchBytes", 1) ?? Number.POSITIVE_INFINITY;
  const first = await ask();
  const { schema } = first;
  const takeFirst = takenOnce(first, first.close);
  const open = async (): Promise<OpenRows> => {
    const opened = takeFirst() ?? (await ask());
    if (isSameShape(opened.schema, schema)) return opened;
    opened.close();
    throw new ConcurrentModificationError("the columns of the table have changed since the query began");
  };
  return resultOfBatches(schema, async function* () {
    try {
      const opened = await open();
      for await (const batch of opened.batches()) yield* slicesOf(batch, batchSize, batchBytes);
    } catch (error) {
      throw errorOfCall(error, operation, request.signal);
    }
  });
}

/** Cuts a batch to a number of rows and of bytes. */
function* slicesOf(batch: RecordBatch, batchSize: number, batchBytes: number): Generator<RecordBatch> {
  const { numRows } = batch;
  const bytesOfRow = Number.isFinite(batchBytes) ? batch.data.byteLength / Math.max(1, numRows) : 0;
  const rows = Math.max(1, Math.min(batchSize, Math.floor(batchBytes / Math.max(1, bytesOfRow))));
  if (rows >= numRows) {
    yield batch;
    return;
  }
  for (let start = 0; start < numRows; start += rows) yield batch.slice(start, start + rows);
}
