/** Decodes the messages of an Arrow IPC stream with apache-arrow, within bounds on memory. */

import { MessageHeader, type RecordBatch, RecordBatchReader, type Schema } from "apache-arrow";
import { InvalidInputError, messageOf, NamespaceError } from "../../errors.js";
import { completedBatch } from "./completedBatch.js";
import { ensureCodecs, inflateAhead, inflatedBytes, withInflation } from "./inflation.js";
import type { Frame } from "./ipcMessages.js";
import { malformedIpc as malformed, tooLargeIpc } from "./malformedIpc.js";

/** Maximum number of parts of one dictionary. apache-arrow visits all earlier parts for each new one. */
const MAX_DICTIONARY_PARTS = 1024;

/** A message and the inflated size of its compressed buffers. */
export interface Measured {
  readonly frame: Frame;
  readonly inflation: number;
}

/** Computes the inflated size of a message, in steps. */
export function* measured(frame: Frame, maxBytes: number): Generator<void, Measured> {
  const inflation = frame.compressed === null ? 0 : yield* inflatedBytes(frame.compressed, maxBytes);
  return { frame, inflation };
}

/** Inflates the buffers of a message before it is decoded, in steps. */
export function* inflatedAhead({ frame, inflation }: Measured): Generator<void, void> {
  if (frame.compressed !== null && !frame.isEmpty) yield* inflateAhead(frame.compressed, inflation);
}

/** A schema, and the record batches after it. */
export interface DecodedIpc {
  readonly schema: Schema;
  readonly batches: Iterable<{
    /** Bytes held while the batch is in use. */
    readonly heldBytes: number;
    /** Decodes the batch, in steps; null if the message completes none. Called once, before the next. */
    readonly decode: () => Generator<void, RecordBatch | null>;
  }>;
}

/** Turns messages into record batches. */
export class IpcDecoder {
  readonly #maxBytes: number;
  readonly #queue: Uint8Array[] = [];
  /** Number of dictionary parts in the queue. `#queuedBytes` counts their bytes. */
  #queuedParts = 0;
  #queuedBytes = 0;
  /** Inflated bytes of the queued parts. */
  #queuedInflation = 0;
  /** Bytes of the dictionaries of earlier batches. */
  #dictionaryBytes = 0;
  /** Number of parts of each dictionary, by its id. */
  readonly #parts = new Map<number, number>();
  readonly #reader: RecordBatchReader;
  #starved = false;
  readonly schema: Schema;

  /** @param maxBytes limit of one uncompressed batch, and of its dictionaries together */
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
   * Returns the next piece, or an empty one if there is none yet: apache-arrow asks for a piece too early,
   * before it returns the end of the last message. A further request means that apache-arrow misread a
   * message.
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

  /** The batch that the message completes; null if it has no rows or needs further messages. */
  push({ frame, inflation: ownInflation }: Measured): RecordBatch | null {
    const { kind, head, body, dictionary, isEmpty } = frame;
    if (kind === MessageHeader.Schema) throw malformed("a second schema");
    if (isEmpty) return null;
    this.#queue.push(head);
    if (body.length > 0) this.#queue.push(body);
    if (dictionary !== null) {
      // The queue holds dictionaries until their batch arrives.
      this.#countPart(dictionary);
      this.#queuedBytes += head.length + body.length;
      this.#queuedInflation += ownInflation;
      if (this.#queuedBytes > this.#maxBytes) throw tooLargeIpc(this.#queuedBytes, this.#maxBytes);
      return null;
    }
    const maxInflation = Math.min(this.#maxBytes, this.#queuedInflation + ownInflation);
    const batch = decoding(() => {
      const { done, value } = this.#reader.next() as IteratorResult<RecordBatch>;
      if (done === true || this.#queue.length > 0) throw malformed("a batch that cannot be decoded");
      if (this.#queuedParts > 0) this.#checkDictionaries(value);
      return completedBatch(value, frame);
    }, maxInflation);
    this.#queuedParts = 0;
    this.#queuedBytes = 0;
    this.#queuedInflation = 0;
    return batch;
  }

  #countPart({ id, isDelta }: NonNullable<Frame["dictionary"]>): void {
    const parts = isDelta ? (this.#parts.get(id) ?? 0) + 1 : 1;
    this.#parts.set(id, parts);
    this.#queuedParts++;
    if (parts > MAX_DICTIONARY_PARTS || this.#queuedParts > MAX_DICTIONARY_PARTS + this.#parts.size) {
      throw malformed(`a dictionary in more than ${MAX_DICTIONARY_PARTS} parts`);
    }
  }

  /** Bounds dictionaries: they outlive their batch, and grow by parts beyond any single message. */
  #checkDictionaries(batch: RecordBatch): void {
    let bytes = 0;
    for (const dictionary of batch.dictionaries.values()) bytes += dictionary.byteLength;
    if (bytes > this.#maxBytes) throw tooLargeIpc(bytes, this.#maxBytes);
    this.#dictionaryBytes = bytes;
  }
}

/** @param maxBytes limit of all inflated buffers together */
export function decoding<Result>(decode: () => Result, maxBytes = Number.POSITIVE_INFINITY): Result {
  try {
    return withInflation(maxBytes, decode);
  } catch (error) {
    if (error instanceof NamespaceError) throw error;
    throw malformed(messageOf(error), error);
  }
}
