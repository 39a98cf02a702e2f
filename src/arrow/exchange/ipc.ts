/**
 * Reads Arrow IPC streams and files, complete or while they arrive. A stream consists of messages and an
 * optional end mark: a message with 0 bytes of metadata.
 */

import type { RecordBatch, Schema } from "apache-arrow";
import { runAsync, runSync } from "../../async/eventLoop.js";
import type { MemoryShare } from "../../memory.js";
import { type DecodedIpc, IpcDecoder, inflatedAhead, measured } from "./ipcDecoder.js";
import { decodeIpcFile, FILE_MAGIC_BYTES, isIpcFile, outlineIpcFile } from "./ipcFile.js";
import { ByteCursor, ByteQueue } from "./ipcMessages.js";
import { malformedIpc as malformed, tooLargeIpc } from "./malformedIpc.js";

/** Name of this use of memory. */
const BATCH = "batch";
/** Bytes checked per step after the end of a stream. */
const REST_BYTES = 2 ** 16;

/** A schema and its record batches, each decoded when the caller asks for it. */
export interface IpcStream {
  readonly schema: Schema;
  readonly batches: AsyncIterable<RecordBatch>;
}

/**
 * Opens a complete stream or file. Batches are views over the bytes if these are aligned and not compressed.
 * @param maxBatchBytes limit of one uncompressed batch
 * @throws InvalidInputError, also while batches are read
 */
export async function openIpcBytes(
  bytes: Uint8Array,
  maxBatchBytes = Number.POSITIVE_INFINITY,
): Promise<IpcStream> {
  return streamOf(await runAsync(decodeIpc(bytes, maxBatchBytes)));
}

/** @param memory accounts for each batch until the caller asks for the next one */
function streamOf({ schema, batches }: DecodedIpc, memory?: MemoryShare): IpcStream {
  return {
    schema,
    batches: {
      async *[Symbol.asyncIterator]() {
        for (const { heldBytes, decode } of batches) {
          await memory?.hold(BATCH, heldBytes);
          const batch = await runAsync(decode());
          if (batch !== null) yield batch;
        }
      },
    },
  };
}

/**
 * Opens a stream or a file that arrives in pieces. Memory holds one batch of a stream, but a whole file.
 * @param maxBatchBytes limit of one uncompressed batch, and of a file
 * @param memory accounts for the bytes and their decoded form; each batch until the next one is requested
 * @throws InvalidInputError, also while batches are read
 */
export async function openIpcStream(
  source: AsyncIterator<Uint8Array>,
  maxBatchBytes = Number.POSITIVE_INFINITY,
  memory?: MemoryShare,
): Promise<IpcStream> {
  const queue = new ByteQueue(source, memory);
  if (isIpcFile(await queue.peek(FILE_MAGIC_BYTES))) {
    const file = await queue.take(maxBatchBytes + 1);
    if (file.length > maxBatchBytes) throw tooLargeIpc(file.length, maxBatchBytes);
    memory?.note(BATCH, file.length);
    queue.settle();
    const outline = await runAsync(outlineIpcFile(file, maxBatchBytes));
    await memory?.hold(BATCH, outline.file.length + outline.inflatedDictionaries);
    const decoded = await runAsync(decodeIpcFile(outline, maxBatchBytes));
    return streamOf(decoded, memory);
  }
  const decoder = new IpcDecoder(await queue.frame(maxBatchBytes), maxBatchBytes);
  return {
    schema: decoder.schema,
    batches: {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          const frame = await queue.frame(maxBatchBytes);
          if (frame === null) break;
          memory?.note(BATCH, decoder.keptBytes + frame.body.length);
          queue.settle();
          const message = await runAsync(measured(frame, maxBatchBytes));
          await memory?.hold(BATCH, decoder.bytesWith(message));
          await runAsync(inflatedAhead(message));
          const batch = decoder.push(message);
          if (batch !== null) yield batch;
          memory?.note(BATCH, decoder.keptBytes);
        }
        for (let rest = await queue.take(REST_BYTES); rest.length > 0; rest = await queue.take(REST_BYTES)) {
          checkPadding(rest);
        }
      },
    },
  };
}

/** Reads a whole stream or file. @throws InvalidInputError */
export function readIpc(bytes: Uint8Array): { readonly schema: Schema; readonly batches: RecordBatch[] } {
  const { schema, batches } = runSync(decodeIpc(bytes, Number.POSITIVE_INFINITY));
  const decoded = Array.from(batches, ({ decode }) => runSync(decode()));
  return { schema, batches: decoded.filter((batch) => batch !== null) };
}

function* decodeIpc(bytes: Uint8Array, maxBytes: number): Generator<void, DecodedIpc> {
  if (isIpcFile(bytes)) return yield* decodeIpcFile(yield* outlineIpcFile(bytes, maxBytes), maxBytes);
  const source = new ByteCursor(bytes);
  const decoder = new IpcDecoder(source.frame(maxBytes), maxBytes);
  return {
    schema: decoder.schema,
    batches: {
      *[Symbol.iterator]() {
        for (let frame = source.frame(maxBytes); frame !== null; frame = source.frame(maxBytes)) {
          const next = frame;
          yield {
            heldBytes: bytes.length,
            *decode() {
              const message = yield* measured(next, maxBytes);
              yield* inflatedAhead(message);
              return decoder.push(message);
            },
          };
        }
        checkPadding(source.rest());
      },
    },
  };
}

/**
 * Checks that only padding follows the end mark. Any other bytes may be rows, which must not be lost
 * silently.
 */
function checkPadding(rest: Uint8Array): void {
  if (rest.some((byte) => byte !== 0)) {
    throw malformed(
      "bytes after the end of the stream; streams are not joined by putting one after the other",
    );
  }
}
