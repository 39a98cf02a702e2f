/**
 * Reads Arrow IPC files:
 *
 *     "ARROW1", 2 zero bytes, messages, footer, i32 bytes of the footer, "ARROW1"
 *
 * The footer holds the schema and says where the dictionaries and batches are. Not every writer also puts the schema in
 * front of them.
 */

import { MessageHeader, type RecordBatchFileReader, RecordBatchReader } from "apache-arrow";
import { readUint32 } from "../../bytes/littleEndian.js";
import { ensureCodecs } from "./inflation.js";
import { type DecodedIpc, decoding, inflatedAhead, type Measured, measured } from "./ipcDecoder.js";
import { ByteCursor } from "./ipcMessages.js";
import { malformedIpc as malformed, tooLargeIpc, truncatedIpc } from "./malformedIpc.js";
import { checkFooter } from "./messageGuard.js";

const FILE_MAGIC = [0x41, 0x52, 0x52, 0x4f, 0x57, 0x31];
/** Bytes at the beginning by which a file is known. */
export const FILE_MAGIC_BYTES = FILE_MAGIC.length;
const FILE_HEADER_BYTES = 8;

/** Whether bytes begin as a file does. */
export function isIpcFile(start: Uint8Array): boolean {
  return start.length >= FILE_MAGIC.length && FILE_MAGIC.every((byte, index) => start[index] === byte);
}

/** The content of a file. */
export interface FileOutline {
  /** Batches with rows. */
  readonly filled: readonly (Measured & { readonly index: number })[];
  readonly dictionaries: readonly Measured[];
  /** Inflated bytes of the buffers of its dictionaries. */
  readonly inflatedDictionaries: number;
}

/** Checks the footer of a file and every message that it points to, with breaks. */
export function* outlineIpcFile(file: Uint8Array, maxBytes: number): Generator<void, FileOutline> {
  const trailer = file.length - FILE_MAGIC.length;
  if (trailer < FILE_HEADER_BYTES + 4 || !isIpcFile(file.subarray(trailer))) throw truncatedIpc();
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
      if (inflatedDictionaries > maxBytes) throw tooLargeIpc(inflatedDictionaries, maxBytes);
    }
  }
  return { filled, dictionaries, inflatedDictionaries };
}

/** Opens a file through its footer and decodes its dictionaries, with breaks. */
export function* decodeIpcFile(
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
