/** Writes record batches as Arrow IPC while they arrive. */

import {
  AsyncByteQueue,
  type RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  type Schema,
} from "apache-arrow";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { concatBytes } from "../../bytes/concat.js";

/** Maximum bytes of joined small pieces. */
const PIECE_BYTES = 2 ** 18;
/** Shorter pieces are joined, because each piece costs a write of its own. */
const SMALL_BYTES = 2 ** 13;

/** Yields the pieces of an IPC stream, or of a file, whose batches must share their dictionaries. */
export async function* encodeIpc(
  schema: Schema,
  batches: AsyncIterable<RecordBatch>,
  asStream: boolean,
): AsyncGenerator<Uint8Array, undefined> {
  const sink = new Sink();
  const writer = (asStream ? new RecordBatchStreamWriter() : new RecordBatchFileWriter()).reset(sink, schema);
  for await (const batch of batches) {
    await yieldToEventLoop();
    writer.write(batch);
    yield* sink.take();
  }
  writer.finish();
  yield* sink.take();
}

/** Returns the bytes of an IPC stream, in one piece. */
export async function ipcBytes(schema: Schema, batches: AsyncIterable<RecordBatch>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of encodeIpc(schema, batches, true)) pieces.push(piece);
  return concatBytes(pieces);
}

/** Collects the bytes that the writer writes until the caller takes them. */
class Sink extends AsyncByteQueue {
  #pieces: Uint8Array[] = [];

  override write(piece: Uint8Array): void {
    this.#pieces.push(piece);
  }

  /** Returns the collected pieces, with small ones joined. */
  take(): Uint8Array[] {
    const taken: Uint8Array[] = [];
    let small: Uint8Array[] = [];
    let smallBytes = 0;
    const join = () => {
      if (small.length > 0) taken.push(small.length === 1 ? small[0] : concatBytes(small, smallBytes));
      small = [];
      smallBytes = 0;
    };
    for (const piece of this.#pieces) {
      if (piece.length === 0) continue;
      if (piece.length >= SMALL_BYTES || smallBytes >= PIECE_BYTES) join();
      if (piece.length >= SMALL_BYTES) {
        taken.push(piece);
      } else {
        small.push(piece);
        smallBytes += piece.length;
      }
    }
    join();
    this.#pieces = [];
    return taken;
  }
}
