/**
 * Reads Arrow IPC files:
 *
 *     "ARROW1", 2 zero bytes, messages, footer, i32 bytes of the footer, "ARROW1"
 *
 * The footer holds the schema and the locations of the dictionaries and batches. Some writers also write the
 * schema as the first message.
 */

import { MessageHeader, type RecordBatchFileReader, RecordBatchReader } from "apache-arrow";
import { readUint32 } from "../../bytes/littleEndian.js";
import { completedBatch } from "./completedBatch.js";
import { ensureCodecs } from "./inflation.js";
import { type DecodedIpc, decoding, inflatedAhead, type Measured, measured } from "./ipcDecoder.js";
import { ByteCursor } from "./ipcMessages.js";
import { malformedIpc as malformed, tooLargeIpc, truncatedIpc } from "./malformedIpc.js";
import { checkFooter } from "./messageGuard.js";

const FILE_MAGIC = [0x41, 0x52, 0x52, 0x4f, 0x57, 0x31];
/** Number of first bytes that identify a file. */
export const FILE_MAGIC_BYTES = FILE_MAGIC.length;
const FILE_HEADER_BYTES = 8;

/** True if the bytes start with the magic of a file. */
export function isIpcFile(start: Uint8Array): boolean {
  return start.length >= FILE_MAGIC.length && FILE_MAGIC.every((byte, index) => start[index] === byte);
}

/** Bytes of a file copied per step. */
const COPIED_BYTES = 2 ** 22;

/** Checked content of a file. */
export interface FileOutline {
  /** The file for apache-arrow. A file with list views is a copy that has lists instead. */
  readonly file: Uint8Array;
  /** Batches that have rows. */
  readonly filled: readonly (Measured & { readonly index: number })[];
  readonly dictionaries: readonly Measured[];
  /** Inflated bytes of the buffers of the file's dictionaries. */
  readonly inflatedDictionaries: number;
}

/** Checks the footer of a file and every message that it lists, in steps. */
export function* outlineIpcFile(bytes: Uint8Array, maxBytes: number): Generator<void, FileOutline> {
  const trailer = bytes.length - FILE_MAGIC.length;
  if (trailer < FILE_HEADER_BYTES + 4 || !isIpcFile(bytes.subarray(trailer))) throw truncatedIpc();
  const footerStart = trailer - 4 - readUint32(bytes, trailer - 4);
  if (footerStart < FILE_HEADER_BYTES) throw malformed("a footer that is longer than the file");
  const footer = checkFooter(bytes.subarray(footerStart, trailer - 4));
  const hasListViews = footer.fields.types !== null;
  const file = hasListViews ? yield* copyOf(bytes) : bytes;
  const changes: ChangedMessage[] = [];
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
      if (hasListViews) changes.push({ start: offset, end: offset + byteLength, head: frame.head });
      const message = yield* measured(frame, maxBytes);
      if (kind === MessageHeader.RecordBatch) {
        if (!frame.isEmpty) filled.push({ index, ...message });
      } else {
        dictionaries.push(message);
        inflatedDictionaries += message.inflation;
      }
      yield;
      if (inflatedDictionaries > maxBytes) throw tooLargeIpc(inflatedDictionaries, maxBytes);
    }
  }
  if (hasListViews) {
    file.set(footer.footer, footerStart);
    changeMessages(file, changes);
  }
  return { file, filled, dictionaries, inflatedDictionaries };
}

interface ChangedMessage {
  readonly start: number;
  readonly end: number;
  readonly head: Uint8Array;
}

function changeMessages(file: Uint8Array, changes: ChangedMessage[]): void {
  changes.sort((left, right) => left.start - right.start);
  for (const [index, { start, end, head }] of changes.entries()) {
    // A change inside another checked message could invalidate that check.
    if (index + 1 < changes.length && changes[index + 1].start < end) {
      throw malformed("a footer that points to the same bytes twice");
    }
    file.set(head, start);
  }
}

function* copyOf(bytes: Uint8Array): Generator<void, Uint8Array> {
  const copy = new Uint8Array(bytes.length);
  for (let start = 0; start < bytes.length; start += COPIED_BYTES) {
    copy.set(bytes.subarray(start, start + COPIED_BYTES), start);
    yield;
  }
  return copy;
}

/** Opens a file through its footer and decodes its dictionaries, in steps. */
export function* decodeIpcFile(
  { file, filled, dictionaries, inflatedDictionaries }: FileOutline,
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
              return decoding(
                () => {
                  const batch = reader.readRecordBatch(index);
                  if (batch === null) throw malformed("a batch that cannot be decoded");
                  return completedBatch(batch, message.frame);
                },
                Math.min(maxBytes, inflation),
              );
            },
          };
        }
      },
    },
  };
}
