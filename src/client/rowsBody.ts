/** Encodes the rows of a caller as the body of a request: an Arrow IPC stream. */

import type { RecordBatch, Schema } from "apache-arrow";
import { makeBatch } from "../arrow/exchange/batch.js";
import { type ArrowInput, openInput } from "../arrow/exchange/input.js";
import { encodeIpc } from "../arrow/exchange/ipcOutput.js";
import type { ObjectTypes } from "../arrow/objects/objectBatches.js";
import { pulledStream } from "../async/pulledStream.js";
import type { InputLimits } from "../namespace/members.js";
import type { RowsInput } from "../namespace/rows.js";
import type { Progress } from "../namespace/upkeep.js";
import { optionalCallback } from "../operations/request.js";
import { inputBounds, optionalSchema } from "../operations/requestValues.js";
import { ARROW_STREAM } from "../rest/wire/mediaTypes.js";
import type { RequestBody } from "./transport.js";

/** Maximum bytes of a body that is sent as a whole, so that it can be sent again. */
const WHOLE_BYTES = 2 ** 23;

/** Members of requests with rows. */
interface RowsRequest extends InputLimits {
  readonly schema?: unknown;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Returns the body with rows. It is whole if it is small or if the runtime can't stream bodies; else memory
 * holds a few batches.
 * @param tableSchema returns the columns of the table, for rows that are objects
 * @throws InvalidInputError for data that is not rows
 */
export async function rowsBody(
  data: RowsInput,
  request: RowsRequest,
  tableSchema: NonNullable<ObjectTypes["tableSchema"]>,
): Promise<RequestBody> {
  const { signal } = request;
  const onProgress = optionalCallback(request.onProgress, "onProgress");
  const schema = optionalSchema(request.schema);
  const input = await openInput(data, signal, inputBounds(request), { schema, tableSchema });
  let failure: unknown;
  const pieces = piecesOf(input, (rows) => onProgress?.({ done: rows, unit: "rows" }));
  const head: Uint8Array<ArrayBuffer>[] = [];
  let byteLength = 0;
  let isEnded = false;
  while (byteLength < WHOLE_BYTES || !STREAMS_BODIES) {
    const { done, value } = await pieces.next();
    isEnded = done === true;
    if (done) break;
    head.push(value);
    byteLength += value.length;
  }
  if (isEnded) return { type: ARROW_STREAM, content: new Blob(head) };
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      for (let piece = head.shift(); piece !== undefined; piece = head.shift()) yield piece;
      yield* pieces;
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  const stream = all();
  return {
    type: ARROW_STREAM,
    content: pulledStream(stream, () => stream.return(undefined)),
    failure: () => failure,
  };
}

/** Browsers stream bodies only over HTTP/2, or not at all. */
const STREAMS_BODIES = !("document" in globalThis) && !("importScripts" in globalThis);

/** Yields copies of the stream's pieces: the caller may change its rows after a batch. */
async function* piecesOf(
  input: ArrowInput,
  onRows: (rowCount: number) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  try {
    const batches = batchesOf(input.schema, input, onRows);
    for await (const piece of encodeIpc(input.schema, batches, true)) yield piece.slice();
  } finally {
    await input.close();
  }
}

async function* batchesOf(
  schema: Schema,
  input: ArrowInput,
  onRows: (rowCount: number) => void,
): AsyncGenerator<RecordBatch> {
  let rows = 0;
  for await (const { columns, rowCount } of input.batches) {
    yield makeBatch(schema, columns, rowCount);
    rows += rowCount;
    onRows(rows);
  }
}
