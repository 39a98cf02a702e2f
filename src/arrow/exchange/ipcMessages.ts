/**
 * Splits the bytes of Arrow IPC streams and files into messages and checks them. apache-arrow alone would
 * take a truncated stream for a complete one, and would trust every length.
 *
 *     message   u32 FFFFFFFF (absent before Arrow 0.15), i32 bytes of metadata, metadata (a flatbuffer), body
 */

import { Message, type MessageHeader } from "apache-arrow";
import { Pace, runAsync, type Steps, yieldToEventLoop } from "../../async/eventLoop.js";
import { concatBytes } from "../../bytes/concat.js";
import { readUint32 } from "../../bytes/littleEndian.js";
import type { MemoryShare } from "../../memory.js";
import { type CompressedBody, LENGTH_PREFIX_BYTES } from "./inflation.js";
import { malformedIpc as malformed, tooLargeIpc, truncatedIpc } from "./malformedIpc.js";
import { type BufferRange, checkMessageMetadata, type IpcFields, NO_FIELDS } from "./messageGuard.js";

/** Maximum bytes of one message's metadata. Thousands of columns take a few megabytes. */
const MAX_METADATA_BYTES = 2 ** 24;
/** Maximum rows of one batch. */
const MAX_BATCH_ROWS = 2 ** 31 - 1;
/** Number of nulls of a column if the writer did not count them. */
export const UNCOUNTED = -1;
const CONTINUATION = 0xffffffff;
/** Shorter pieces are copied together: the object of such a piece takes more memory than its bytes. */
const CRUMB_BYTES = 2 ** 12;
const CRUMBS_BYTES = 2 ** 16;
/** Bytes joined per step. */
const STEP_BYTES = 2 ** 20;

/** One message: its metadata with the length in front, as apache-arrow expects it, and its body. */
export interface Frame {
  readonly kind: MessageHeader;
  /** Fields of the schema of the messages that follow. */
  readonly fields: IpcFields;
  /** Prefixed metadata with lists instead of list views. */
  readonly head: Uint8Array;
  /** Ranges of the sizes of list views in the body. */
  readonly sizes: readonly BufferRange[];
  readonly body: Uint8Array;
  /** Dictionary that the message belongs to; `isDelta` if the part continues it. Null for other messages. */
  readonly dictionary: { readonly id: number; readonly isDelta: boolean } | null;
  /** True for a batch without rows. apache-arrow cannot read some of those that it writes itself. */
  readonly isEmpty: boolean;
  /** Indices of columns whose nulls the writer did not count. A nested column precedes its children. */
  readonly uncounted: ReadonlySet<number>;
  /** The body if its buffers are compressed; null otherwise. */
  readonly compressed: CompressedBody | null;
}

/** Yields a number of bytes and receives that many or, at the end of the input, fewer. */
type Requests<Result> = Generator<number, Result, Uint8Array>;

/** Reads messages from complete bytes in memory. */
export class ByteCursor {
  readonly #bytes: Uint8Array;
  #position = 0;
  #fields: IpcFields;

  /** @param fields fields of the schema, if it is not among the messages */
  constructor(bytes: Uint8Array, fields = NO_FIELDS) {
    this.#bytes = bytes;
    this.#fields = fields;
  }

  frame(maxBytes: number): Frame | null {
    const requests = readFrame(maxBytes, this.#fields);
    let step = requests.next();
    while (step.done !== true) {
      const start = this.#position;
      this.#position = Math.min(start + step.value, this.#bytes.length);
      step = requests.next(this.#bytes.subarray(start, this.#position));
    }
    this.#fields = step.value?.fields ?? this.#fields;
    return step.value;
  }

  /** Returns the bytes after the last message taken. */
  rest(): Uint8Array {
    return this.#bytes.subarray(this.#position);
  }
}

/** Memory factor of received pieces: while a message is assembled, its bytes are in memory twice. */
const RECEIVED_FACTOR = 2;
/** Name of this use of memory. */
const RECEIVED = "received";

/** Reads messages from bytes that arrive in pieces of any size. */
export class ByteQueue {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #memory: MemoryShare | undefined;
  /** Fields of the last schema message. */
  #fields = NO_FIELDS;
  #pieces: Uint8Array[] = [];
  #held = 0;
  #ended = false;
  /** Small pieces that follow the others; the first `#crumbed` bytes are in use. */
  #crumbs = new Uint8Array(0);
  #crumbed = 0;

  constructor(source: AsyncIterator<Uint8Array>, memory?: MemoryShare) {
    this.#source = source;
    this.#memory = memory;
  }

  /** Reports the memory still in use after the last message was taken. */
  settle(): void {
    this.#memory?.note(RECEIVED, RECEIVED_FACTOR * this.#held);
  }

  async frame(maxBytes: number): Promise<Frame | null> {
    const requests = readFrame(maxBytes, this.#fields);
    let step = requests.next();
    while (step.done !== true) step = requests.next(await this.take(step.value));
    this.#fields = step.value?.fields ?? this.#fields;
    return step.value;
  }

  async peek(length: number): Promise<Uint8Array> {
    await this.#fill(length);
    if (this.#pieces.length > 1) this.#pieces = [concatBytes(this.#pieces)];
    return this.#pieces[0]?.subarray(0, length) ?? new Uint8Array(0);
  }

  /** Returns `length` bytes, or all remaining bytes if there are fewer. */
  async take(length: number): Promise<Uint8Array> {
    await this.#fill(length);
    const taken: Uint8Array[] = [];
    let missing = Math.min(length, this.#held);
    this.#held -= missing;
    let used = 0;
    while (missing > 0) {
      const piece = this.#pieces[used];
      if (piece.length <= missing) {
        taken.push(piece);
        missing -= piece.length;
        used++;
      } else {
        taken.push(piece.subarray(0, missing));
        this.#pieces[used] = piece.subarray(missing);
        missing = 0;
      }
    }
    if (used > 0) this.#pieces.splice(0, used);
    return taken.length === 1 ? taken[0] : runAsync(joined(taken));
  }

  async #fill(length: number): Promise<void> {
    while (this.#held < length && !this.#ended) {
      const { done, value } = await this.#source.next();
      // Pieces that are already available arrive without a turn of the event loop.
      await yieldToEventLoop();
      if (done === true) {
        this.#ended = true;
      } else if (value.length > 0) {
        this.#hold(value);
        this.#held += value.length;
        const waiting = this.#memory?.hold(RECEIVED, RECEIVED_FACTOR * this.#held);
        if (waiting !== undefined) await waiting;
      }
    }
    this.#sweep();
  }

  #hold(piece: Uint8Array): void {
    if (piece.length >= CRUMB_BYTES) {
      this.#sweep();
      this.#pieces.push(piece);
      return;
    }
    if (this.#crumbed + piece.length > this.#crumbs.length) {
      this.#sweep();
      this.#crumbs = new Uint8Array(CRUMBS_BYTES);
    }
    this.#crumbs.set(piece, this.#crumbed);
    this.#crumbed += piece.length;
  }

  /** Makes a piece of the crumbs. The remaining memory is for later crumbs. */
  #sweep(): void {
    if (this.#crumbed === 0) return;
    this.#pieces.push(this.#crumbs.subarray(0, this.#crumbed));
    this.#crumbs = this.#crumbs.subarray(this.#crumbed);
    this.#crumbed = 0;
  }
}

/** Joins pieces, in steps. */
function* joined(pieces: readonly Uint8Array[]): Steps<Uint8Array> {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  const pace = new Pace(STEP_BYTES);
  let position = 0;
  for (const piece of pieces) {
    for (let start = 0; start < piece.length; start += STEP_BYTES) {
      const part = piece.subarray(start, start + STEP_BYTES);
      whole.set(part, position);
      position += part.length;
      if (pace.isStep(part.length)) yield;
    }
  }
  return whole;
}

/**
 * Reads the next message, with a body of at most `maxBytes`, for the fields of the schema before it; null at
 * the end.
 */
function* readFrame(maxBytes: number, fields: IpcFields): Requests<Frame | null> {
  const start = yield 4;
  if (start.length === 0) return null;
  if (start.length < 4) throw truncatedIpc();
  let head = start;
  let metadataLength = readUint32(start, 0);
  if (metadataLength === CONTINUATION) {
    const length = yield 4;
    if (length.length < 4) throw truncatedIpc();
    metadataLength = readUint32(length, 0);
    head = concatBytes([start, length]);
  }
  if (metadataLength === 0) return null;
  if (metadataLength > Math.min(MAX_METADATA_BYTES, maxBytes)) {
    throw malformed(`metadata of ${metadataLength} bytes; are these bytes an Arrow IPC stream?`);
  }
  const metadata = yield metadataLength;
  if (metadata.length < metadataLength) throw truncatedIpc();
  const checked = checkMessageMetadata(metadata, fields);
  const { sizes } = checked;
  const message = decodeMessage(checked.metadata);
  const { bodyLength } = message;
  if (!Number.isSafeInteger(bodyLength) || bodyLength < 0) throw malformed(`a body of ${bodyLength} bytes`);
  if (bodyLength > maxBytes) throw tooLargeIpc(bodyLength, maxBytes);
  const batch = checkedBatchHeader(message, sizes, bodyLength);
  const isEmpty = message.isRecordBatch() && batch !== null && isEmptyBatch(batch);
  const dictionary = message.isDictionaryBatch() ? message.header() : null;
  const body = bodyLength === 0 ? new Uint8Array(0) : yield bodyLength;
  if (body.length < bodyLength) throw truncatedIpc();
  const compressed =
    batch === null || batch.compression === null || batch.compression === undefined
      ? null
      : { body, type: batch.compression.type, buffers: [...batch.buffers, ...sizes] };
  return {
    kind: message.headerType,
    fields: checked.fields,
    head: concatBytes([head, checked.metadata]),
    sizes,
    body,
    dictionary,
    isEmpty,
    uncounted: batch === null ? NONE_UNCOUNTED : uncountedIn(batch),
    compressed,
  };
}

function decodeMessage(metadata: Uint8Array): Message {
  try {
    return Message.decode(metadata);
  } catch (error) {
    throw malformed("metadata that cannot be decoded", error);
  }
}

type BatchHeader = ReturnType<Message<MessageHeader.RecordBatch>["header"]>;

const isEmptyBatch = ({ length, nodes }: BatchHeader): boolean =>
  length === 0 && nodes.every((node) => node.length === 0);

const NONE_UNCOUNTED: ReadonlySet<number> = new Set();

function uncountedIn({ nodes }: BatchHeader): ReadonlySet<number> {
  if (nodes.every(({ nullCount }) => nullCount !== UNCOUNTED)) return NONE_UNCOUNTED;
  return new Set(nodes.flatMap(({ nullCount }, column) => (nullCount === UNCOUNTED ? [column] : [])));
}

/** Null for a message that is not a batch. */
function checkedBatchHeader(
  message: Message,
  sizes: readonly BufferRange[],
  bodyLength: number,
): BatchHeader | null {
  if (!message.isRecordBatch() && !message.isDictionaryBatch()) return null;
  let batch: BatchHeader;
  try {
    batch = message.isRecordBatch()
      ? message.header()
      : (message as Message<MessageHeader.DictionaryBatch>).header().data;
  } catch (error) {
    throw malformed("a batch that cannot be decoded", error);
  }
  if (batch.length < 0 || batch.length > MAX_BATCH_ROWS) throw malformed(`a batch of ${batch.length} rows`);
  const leastNulls = message.isRecordBatch() ? UNCOUNTED : 0;
  for (const { length, nullCount } of batch.nodes) {
    if (length < 0 || length > Number.MAX_SAFE_INTEGER || nullCount < leastNulls || nullCount > length) {
      throw malformed(`a column of ${length} values, ${nullCount} of them null`);
    }
  }
  const buffers = [...batch.buffers, ...sizes];
  for (const { offset, length } of buffers) {
    if (offset < 0 || length < 0 || offset + length > bodyLength) {
      throw malformed(`a buffer of ${length} bytes at ${offset} in a body of ${bodyLength} bytes`);
    }
  }
  if (batch.compression !== null && batch.compression !== undefined) {
    for (const { length } of buffers) {
      if (length > 0 && length < LENGTH_PREFIX_BYTES)
        throw malformed("a compressed buffer without its length");
    }
  }
  return batch;
}
