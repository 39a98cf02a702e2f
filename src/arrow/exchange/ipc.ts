/**
 * Reads Arrow IPC streams and files. Messages are cut from the bytes and checked here; apache-arrow decodes them. By
 * itself, apache-arrow would mistake a stream that breaks off for one that ends, and believe every length.
 *
 *     stream    message*, then optionally an end mark: a message with metadata of 0 bytes
 *     message   u32 FFFFFFFF (absent before Arrow 0.15), i32 bytes of metadata, metadata (a flatbuffer), body
 *     file      "ARROW1", 2 zero bytes, messages, footer, i32 bytes of the footer, "ARROW1"
 *
 * The footer of a file holds its schema and says where its dictionaries and batches are. Not every writer also puts the
 * schema in front of them.
 */

import type { RecordBatch, Schema } from "apache-arrow";
import { Message, MessageHeader, type RecordBatchFileReader, RecordBatchReader } from "apache-arrow";
import { atOnce, goThrough } from "../../async/eventLoop.js";
import { concatBytes } from "../../bytes/concat.js";
import { InvalidInputError, messageOf, NamespaceError } from "../../errors.js";
import type { MemoryShare } from "../../memory.js";
import {
  type CompressedBody,
  ensureCodecs,
  inflateAhead,
  inflatedBytes,
  LENGTH_PREFIX_BYTES,
  withInflation,
} from "./inflation.js";
import { malformedIpc as malformed } from "./malformedIpc.js";
import { checkFooter, checkMessageMetadata } from "./messageGuard.js";

/** Largest metadata of one message; thousands of columns take a few megabytes. */
const MAX_METADATA_BYTES = 2 ** 24;
/** Most rows in one batch. */
const MAX_BATCH_ROWS = 2 ** 31 - 1;
const CONTINUATION = 0xffffffff;
const FILE_MAGIC = [0x41, 0x52, 0x52, 0x4f, 0x57, 0x31];
const FILE_HEADER_BYTES = 8;
/** Maximum number of parts of one dictionary: for each part, apache-arrow goes through those before it. */
const MAX_DICTIONARY_PARTS = 1024;
/** Smaller pieces are copied together: the object that holds such a piece takes more memory than the piece. */
const CRUMB_BYTES = 2 ** 12;
const CRUMBS_BYTES = 2 ** 16;
/** Bytes after the end of a stream are checked in portions of this size. */
const REST_BYTES = 2 ** 16;

/** One message: its metadata with the length in front, as apache-arrow expects it, and its body. */
interface Frame {
  readonly kind: MessageHeader;
  /** Number of fields of the schema that the following messages have, nested ones included. */
  readonly fields: number;
  readonly head: Uint8Array;
  readonly body: Uint8Array;
  /** For a part of a dictionary: the dictionary's id, and whether the part continues or replaces it. Else null. */
  readonly dictionary: { readonly id: number; readonly isDelta: boolean } | null;
  /**
   * True for a batch without rows. apache-arrow writes some that it can't read again: children of nested columns are
   * missing.
   */
  readonly isEmpty: boolean;
  /** The body if its buffers are compressed, else null. */
  readonly compressed: CompressedBody | null;
}

/** Yields a number of bytes and is given as many or, at the end of the input, fewer. */
type Requests<Result> = Generator<number, Result, Uint8Array>;

/**
 * The next message, with a body of at most `maxBytes`; null at the end of the stream.
 * @param fields number of fields of the schema before it
 */
function* readFrame(maxBytes: number, fields: number): Requests<Frame | null> {
  const start = yield 4;
  if (start.length === 0) return null;
  if (start.length < 4) throw truncated();
  let head = start;
  let metadataLength = readUint32(start, 0);
  if (metadataLength === CONTINUATION) {
    const length = yield 4;
    if (length.length < 4) throw truncated();
    metadataLength = readUint32(length, 0);
    head = concatBytes([start, length]);
  }
  if (metadataLength === 0) return null;
  if (metadataLength > Math.min(MAX_METADATA_BYTES, maxBytes)) {
    throw malformed(`metadata of ${metadataLength} bytes; are these bytes an Arrow IPC stream?`);
  }
  const metadata = yield metadataLength;
  if (metadata.length < metadataLength) throw truncated();
  const fieldsBehind = checkMessageMetadata(metadata, fields);
  const message = decodeMessage(metadata);
  const { bodyLength } = message;
  if (!Number.isSafeInteger(bodyLength) || bodyLength < 0) throw malformed(`a body of ${bodyLength} bytes`);
  if (bodyLength > maxBytes) throw tooLarge(bodyLength, maxBytes);
  const batch = checkedBatchHeader(message, bodyLength);
  const isEmpty = message.isRecordBatch() && batch !== null && isEmptyBatch(batch);
  const dictionary = message.isDictionaryBatch() ? message.header() : null;
  const body = bodyLength === 0 ? new Uint8Array(0) : yield bodyLength;
  if (body.length < bodyLength) throw truncated();
  const compressed =
    batch === null || batch.compression === null || batch.compression === undefined
      ? null
      : { body, type: batch.compression.type, buffers: batch.buffers };
  return {
    kind: message.headerType,
    fields: fieldsBehind,
    head: concatBytes([head, metadata]),
    body,
    dictionary,
    isEmpty,
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

/** Null for a message that is no batch. */
function checkedBatchHeader(message: Message, bodyLength: number): BatchHeader | null {
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
  for (const { length, nullCount } of batch.nodes) {
    if (length < 0 || length > Number.MAX_SAFE_INTEGER || nullCount < 0 || nullCount > length) {
      throw malformed(`a column of ${length} values, ${nullCount} of them null`);
    }
  }
  for (const { offset, length } of batch.buffers) {
    if (offset < 0 || length < 0 || offset + length > bodyLength) {
      throw malformed(`a buffer of ${length} bytes at ${offset} in a body of ${bodyLength} bytes`);
    }
  }
  if (batch.compression !== null && batch.compression !== undefined) {
    for (const { length } of batch.buffers) {
      if (length > 0 && length < LENGTH_PREFIX_BYTES)
        throw malformed("a compressed buffer without its length");
    }
  }
  return batch;
}

/** A message, and the inflated size of its buffers if they are compressed. */
interface Measured {
  readonly frame: Frame;
  readonly inflation: number;
}

/** Computes the inflated size of a message, with breaks. */
function* measured(frame: Frame, maxBytes: number): Generator<void, Measured> {
  const inflation = frame.compressed === null ? 0 : yield* inflatedBytes(frame.compressed, maxBytes);
  return { frame, inflation };
}

/** Inflates the buffers of a message before it is decoded, with breaks. */
function* inflatedAhead({ frame, inflation }: Measured): Generator<void, void> {
  if (frame.compressed !== null && !frame.isEmpty) yield* inflateAhead(frame.compressed, inflation);
}

/** Turns messages into record batches. */
class FrameDecoder {
  readonly #maxBytes: number;
  readonly #queue: Uint8Array[] = [];
  /** Number of dictionary parts in the queue; `#queuedBytes` are their bytes. */
  #queuedParts = 0;
  #queuedBytes = 0;
  /** Bytes that the queued parts become when inflated. */
  #queuedInflation = 0;
  /** Bytes of the dictionaries of earlier batches. */
  #dictionaryBytes = 0;
  /** Number of parts of each dictionary, by its id. */
  readonly #parts = new Map<number, number>();
  readonly #reader: RecordBatchReader;
  #starved = false;
  readonly schema: Schema;

  /** @param maxBytes limit of one batch, uncompressed, and of its dictionaries together */
  constructor(frame: Frame | null, maxBytes: number) {
    this.#maxBytes = maxBytes;
    if (frame === null) throw new InvalidInputError("no Arrow data: the input is empty");
    if (frame.kind !== MessageHeader.Schema) throw malformed("the first message is not a schema");
    ensureCodecs();
    this.#queue.push(frame.head);
    const source: IterableIterator<Uint8Array> = {
      [Symbol.iterator]: () => source,
      next: () => this.#nextPiece(),
    };
    this.#reader = decoding(() => RecordBatchReader.from(source).open({ autoDestroy: false }));
    this.schema = this.#reader.schema;
    if (this.schema === undefined || this.schema === null) throw malformed("a schema that cannot be decoded");
  }

  /**
   * apache-arrow takes the next piece before it returns the end of the last, so it is given an empty one if there is no
   * next piece yet. It asks for more only if it misread a message.
   */
  #nextPiece(): IteratorResult<Uint8Array, undefined> {
    const value = this.#queue.shift();
    if (value !== undefined) {
      this.#starved = false;
      return { done: false, value };
    }
    if (this.#starved) return { done: true, value: undefined };
    this.#starved = true;
    return { done: false, value: new Uint8Array(0) };
  }

  /** Bytes held between batches. */
  get keptBytes(): number {
    return this.#dictionaryBytes + this.#queuedBytes;
  }

  /** Bytes held while the message is decoded and its batch is in use. */
  bytesWith({ frame, inflation }: Measured): number {
    if (frame.isEmpty) return this.keptBytes;
    return this.keptBytes + frame.body.length + this.#queuedInflation + inflation;
  }

  /** The batch that the message completes; null if it has no rows or if more messages have to come first. */
  push({ frame, inflation: ownInflation }: Measured): RecordBatch | null {
    const { kind, head, body, dictionary, isEmpty } = frame;
    if (kind === MessageHeader.Schema) throw malformed("a second schema");
    if (isEmpty) return null;
    this.#queue.push(head);
    if (body.length > 0) this.#queue.push(body);
    if (dictionary !== null) {
      // Dictionaries wait for their batch.
      this.#countPart(dictionary);
      this.#queuedBytes += head.length + body.length;
      this.#queuedInflation += ownInflation;
      if (this.#queuedBytes > this.#maxBytes) throw tooLarge(this.#queuedBytes, this.#maxBytes);
      return null;
    }
    const maxInflation = Math.min(this.#maxBytes, this.#queuedInflation + ownInflation);
    const { done, value } = decoding(() => this.#reader.next() as IteratorResult<RecordBatch>, maxInflation);
    if (done === true || this.#queue.length > 0) throw malformed("a batch that cannot be decoded");
    if (this.#queuedParts > 0) this.#checkDictionaries(value);
    this.#queuedParts = 0;
    this.#queuedBytes = 0;
    this.#queuedInflation = 0;
    return value;
  }

  #countPart({ id, isDelta }: NonNullable<Frame["dictionary"]>): void {
    const parts = isDelta ? (this.#parts.get(id) ?? 0) + 1 : 1;
    this.#parts.set(id, parts);
    this.#queuedParts++;
    if (parts > MAX_DICTIONARY_PARTS || this.#queuedParts > MAX_DICTIONARY_PARTS + this.#parts.size) {
      throw malformed(`a dictionary in more than ${MAX_DICTIONARY_PARTS} parts`);
    }
  }

  /**
   * Checks the size of dictionaries: they outlive their batch, and those with many parts become longer than any single
   * message.
   */
  #checkDictionaries(batch: RecordBatch): void {
    let bytes = 0;
    for (const dictionary of batch.dictionaries.values()) bytes += dictionary.byteLength;
    if (bytes > this.#maxBytes) throw tooLarge(bytes, this.#maxBytes);
    this.#dictionaryBytes = bytes;
  }
}

/** @param maxBytes limit of all compressed buffers together, inflated */
function decoding<Result>(decode: () => Result, maxBytes = Number.POSITIVE_INFINITY): Result {
  try {
    return withInflation(maxBytes, decode);
  } catch (error) {
    if (error instanceof NamespaceError) throw error;
    throw malformed(messageOf(error), error);
  }
}

function isFile(start: Uint8Array): boolean {
  return start.length >= FILE_MAGIC.length && FILE_MAGIC.every((byte, index) => start[index] === byte);
}

/** The content of a file. */
interface FileOutline {
  /** Batches with rows. */
  readonly filled: readonly (Measured & { readonly index: number })[];
  readonly dictionaries: readonly Measured[];
  /** Inflated bytes of the buffers of its dictionaries. */
  readonly inflatedDictionaries: number;
}

/** Checks the footer of a file and every message that it points to, with breaks. */
function* outlineFile(file: Uint8Array, maxBytes: number): Generator<void, FileOutline> {
  const trailer = file.length - FILE_MAGIC.length;
  if (trailer < FILE_HEADER_BYTES + 4 || !isFile(file.subarray(trailer))) throw truncated();
  const footerStart = trailer - 4 - readUint32(file, trailer - 4);
  if (footerStart < FILE_HEADER_BYTES) throw malformed("a footer that is longer than the file");
  const footer = checkFooter(file.subarray(footerStart, trailer - 4));
  const filled: (Measured & { readonly index: number })[] = [];
  const dictionaries: Measured[] = [];
  let inflatedDictionaries = 0;
  let pointedTo = 0;
  for (const [blocks, kind] of [
    [footer.dictionaries, MessageHeader.DictionaryBatch],
    [footer.batches, MessageHeader.RecordBatch],
  ] as const) {
    for (const [index, { offset, byteLength }] of blocks.entries()) {
      pointedTo += byteLength;
      if (offset < 0 || byteLength < 0 || offset + byteLength > footerStart || pointedTo > footerStart) {
        throw malformed("a footer that points outside the file");
      }
      const block = file.subarray(offset, offset + byteLength);
      const frame = new ByteCursor(block, footer.fields).frame(maxBytes);
      if (frame?.kind !== kind) throw malformed("a footer that points to something else than a batch");
      const message = yield* measured(frame, maxBytes);
      if (kind === MessageHeader.RecordBatch) {
        if (!frame.isEmpty) filled.push({ index, ...message });
      } else {
        dictionaries.push(message);
        inflatedDictionaries += message.inflation;
      }
      yield;
      if (inflatedDictionaries > maxBytes) throw tooLarge(inflatedDictionaries, maxBytes);
    }
  }
  return { filled, dictionaries, inflatedDictionaries };
}

/** Opens a file through its footer and decodes its dictionaries, with breaks. */
function* decodeFile(
  file: Uint8Array,
  { filled, dictionaries, inflatedDictionaries }: FileOutline,
  maxBytes: number,
): Generator<void, DecodedIpc> {
  ensureCodecs();
  for (const dictionary of dictionaries) yield* inflatedAhead(dictionary);
  const open = () => RecordBatchReader.from(file).open();
  const reader = decoding(open, inflatedDictionaries) as RecordBatchFileReader;
  const { schema } = reader;
  if (schema === undefined || schema === null) throw malformed("a schema that cannot be decoded");
  return {
    schema,
    batches: {
      *[Symbol.iterator]() {
        for (const message of filled) {
          const { index, inflation } = message;
          yield {
            heldBytes: file.length + inflatedDictionaries + inflation,
            *decode() {
              yield* inflatedAhead(message);
              const batch = decoding(() => reader.readRecordBatch(index), Math.min(maxBytes, inflation));
              if (batch === null) throw malformed("a batch that cannot be decoded");
              return batch;
            },
          };
        }
      },
    },
  };
}

/** Reads messages from bytes that are completely in memory. */
class ByteCursor {
  readonly #bytes: Uint8Array;
  #position = 0;
  #fields: number;

  /** @param fields number of fields of the schema, if it is not among the messages */
  constructor(bytes: Uint8Array, fields = 0) {
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

  /** The bytes after the last message taken. */
  rest(): Uint8Array {
    return this.#bytes.subarray(this.#position);
  }
}

/** Factor by which received pieces count: while a message is assembled from pieces, its bytes are in memory twice. */
const RECEIVED_FACTOR = 2;
/** Names of uses of memory. */
const RECEIVED = "received";
const BATCH = "batch";

/** Reads messages from bytes that arrive in pieces of any size. */
class ByteQueue {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #memory: MemoryShare | undefined;
  /** Number of fields of the schema among the messages so far. */
  #fields = 0;
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

  /** `length` bytes, or all that is left if that is less. */
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
    return taken.length === 1 ? taken[0] : concatBytes(taken);
  }

  async #fill(length: number): Promise<void> {
    while (this.#held < length && !this.#ended) {
      const { done, value } = await this.#source.next();
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

  /** Makes a piece of the crumbs. The rest of their memory is for the next crumbs. */
  #sweep(): void {
    if (this.#crumbed === 0) return;
    this.#pieces.push(this.#crumbs.subarray(0, this.#crumbed));
    this.#crumbs = this.#crumbs.subarray(this.#crumbed);
    this.#crumbed = 0;
  }
}

/** A schema and the record batches after it, each decoded when it is asked for. */
export interface IpcStream {
  readonly schema: Schema;
  readonly batches: AsyncIterable<RecordBatch>;
}

/**
 * Opens a stream or a file that is completely in memory. Batches are views over the bytes where these are aligned and
 * not compressed.
 * @param maxBatchBytes limit of one batch, uncompressed
 * @throws InvalidInputError, also while batches are read
 */
export async function openIpcBytes(
  bytes: Uint8Array,
  maxBatchBytes = Number.POSITIVE_INFINITY,
): Promise<IpcStream> {
  return streamOf(await goThrough(decodeIpc(bytes, maxBatchBytes)));
}

/** @param memory accounts for batches, each until the next one is asked for */
function streamOf({ schema, batches }: DecodedIpc, memory?: MemoryShare): IpcStream {
  return {
    schema,
    batches: {
      async *[Symbol.asyncIterator]() {
        for (const { heldBytes, decode } of batches) {
          await memory?.hold(BATCH, heldBytes);
          const batch = await goThrough(decode());
          if (batch !== null) yield batch;
        }
      },
    },
  };
}

/**
 * Opens a stream or a file that arrives in pieces. A stream holds one batch in memory at a time, a file all of its
 * bytes.
 * @param maxBatchBytes limit of one batch, uncompressed, and of a file
 * @param memory accounts for the bytes and their decoded form: a batch until the next one is asked for
 * @throws InvalidInputError, also while batches are read
 */
export async function openIpcStream(
  source: AsyncIterator<Uint8Array>,
  maxBatchBytes = Number.POSITIVE_INFINITY,
  memory?: MemoryShare,
): Promise<IpcStream> {
  const queue = new ByteQueue(source, memory);
  if (isFile(await queue.peek(FILE_MAGIC.length))) {
    const file = await queue.take(maxBatchBytes + 1);
    if (file.length > maxBatchBytes) throw tooLarge(file.length, maxBatchBytes);
    memory?.note(BATCH, file.length);
    queue.settle();
    const outline = await goThrough(outlineFile(file, maxBatchBytes));
    await memory?.hold(BATCH, file.length + outline.inflatedDictionaries);
    const decoded = await goThrough(decodeFile(file, outline, maxBatchBytes));
    return streamOf(decoded, memory);
  }
  const decoder = new FrameDecoder(await queue.frame(maxBatchBytes), maxBatchBytes);
  return {
    schema: decoder.schema,
    batches: {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          const frame = await queue.frame(maxBatchBytes);
          if (frame === null) break;
          memory?.note(BATCH, decoder.keptBytes + frame.body.length);
          queue.settle();
          const message = await goThrough(measured(frame, maxBatchBytes));
          await memory?.hold(BATCH, decoder.bytesWith(message));
          await goThrough(inflatedAhead(message));
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

/**
 * Reads a whole stream or file.
 * @throws InvalidInputError
 */
export function readIpc(bytes: Uint8Array): { readonly schema: Schema; readonly batches: RecordBatch[] } {
  const { schema, batches } = atOnce(decodeIpc(bytes, Number.POSITIVE_INFINITY));
  const decoded = Array.from(batches, ({ decode }) => atOnce(decode()));
  return { schema, batches: decoded.filter((batch) => batch !== null) };
}

interface DecodedIpc {
  readonly schema: Schema;
  readonly batches: Iterable<{
    /** Bytes held while the batch is in use. */
    readonly heldBytes: number;
    /**
     * Decodes the batch, with breaks. To be called once, before the next batch is taken. Null if a message completes no
     * batch.
     */
    readonly decode: () => Generator<void, RecordBatch | null>;
  }>;
}

function* decodeIpc(bytes: Uint8Array, maxBytes: number): Generator<void, DecodedIpc> {
  if (isFile(bytes)) return yield* decodeFile(bytes, yield* outlineFile(bytes, maxBytes), maxBytes);
  const source = new ByteCursor(bytes);
  const decoder = new FrameDecoder(source.frame(maxBytes), maxBytes);
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

/** Padding may follow the end mark; anything else would be rows lost silently. */
function checkPadding(rest: Uint8Array): void {
  if (rest.some((byte) => byte !== 0)) {
    throw malformed(
      "bytes after the end of the stream; streams are not joined by putting one after the other",
    );
  }
}

function readUint32(bytes: Uint8Array, at: number): number {
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
}

function tooLarge(bytes: number, maxBytes: number): InvalidInputError {
  return new InvalidInputError(`a batch of ${bytes} bytes; at most ${maxBytes} are taken at once`);
}

function truncated(): InvalidInputError {
  return malformed("it breaks off in the middle of a message");
}
