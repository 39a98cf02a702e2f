/**
 * Arrow IPC framing, file to stream and back, without touching a single body byte: the reference's native layer
 * speaks IPC files only, and turning them into apache-arrow objects and back would hide what it really wrote.
 *
 * Stream:  messages, end marker
 * File:    "ARROW1" 00 00, zeros up to any alignment, messages, end marker, footer, i32 footer length, "ARROW1"
 * Message: FF FF FF FF, i32 metadata length (a multiple of 8 with the prefix), metadata, body
 * End:     FF FF FF FF 00 00 00 00
 */

import { RecordBatchReader } from "apache-arrow";
import { FileBlock, Footer } from "apache-arrow/ipc/metadata/file";

const MAGIC = new TextEncoder().encode("ARROW1");
const END_MARKER = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);
const FILE_HEADER_LENGTH = 8;

/** Header types of the Arrow `Message` table. */
const SCHEMA = 1;
const DICTIONARY_BATCH = 2;
const RECORD_BATCH = 3;

/** Position of field `index` of the flatbuffers table at `table`, or 0 where it is absent. */
function fieldPosition(view, table, index) {
  const vtable = table - view.getInt32(table, true);
  const slot = 4 + index * 2;
  const relative = slot < view.getUint16(vtable, true) ? view.getUint16(vtable + slot, true) : 0;
  return relative === 0 ? 0 : table + relative;
}

/** Messages from `start` to the end marker (or the end of the bytes), as byte ranges. */
function* messages(bytes, start) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let position = start;
  while (position + 8 <= bytes.length) {
    if (view.getUint32(position, true) !== 0xffffffff)
      throw new Error(`no Arrow message at byte ${position}`);
    const metadataLength = view.getInt32(position + 4, true);
    if (metadataLength === 0) return;
    const metadata = position + 8;
    const root = metadata + view.getUint32(metadata, true);
    const typeAt = fieldPosition(view, root, 1);
    const lengthAt = fieldPosition(view, root, 3);
    const bodyLength = lengthAt === 0 ? 0 : Number(view.getBigInt64(lengthAt, true));
    const end = metadata + metadataLength + bodyLength;
    if (end > bytes.length) throw new Error(`Arrow message at byte ${position} runs past the end`);
    yield {
      type: typeAt === 0 ? 0 : view.getUint8(typeAt),
      start: position,
      prefixedMetadataLength: 8 + metadataLength,
      bodyLength,
      end,
    };
    position = end;
  }
}

function isFile(bytes) {
  return bytes.length >= FILE_HEADER_LENGTH && MAGIC.every((byte, i) => bytes[i] === byte);
}

/** Where the first message of a file begins: behind the magic and the zeros that align it. */
function firstMessage(file) {
  let position = FILE_HEADER_LENGTH;
  while (position < file.length && file[position] === 0) position += 8;
  return position;
}

/** An IPC stream (or a file, returned as it is) as an IPC file. */
export function toIpcFile(bytes) {
  if (isFile(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const schema = RecordBatchReader.from(bytes).open().schema;
  const dictionaries = [];
  const batches = [];
  let end = 0;
  for (const message of messages(bytes, 0)) {
    end = message.end;
    if (message.type === SCHEMA) continue;
    const block = new FileBlock(
      message.prefixedMetadataLength,
      BigInt(message.bodyLength),
      BigInt(message.start + FILE_HEADER_LENGTH),
    );
    if (message.type === DICTIONARY_BATCH) dictionaries.push(block);
    else if (message.type === RECORD_BATCH) batches.push(block);
    else throw new Error(`unexpected Arrow message type ${message.type}`);
  }
  const footer = Footer.encode(new Footer(schema, undefined, batches, dictionaries));
  const header = new Uint8Array(FILE_HEADER_LENGTH);
  header.set(MAGIC);
  const footerLength = new Uint8Array(4);
  new DataView(footerLength.buffer).setInt32(0, footer.length, true);
  return Buffer.concat([header, bytes.subarray(0, end), END_MARKER, footer, footerLength, MAGIC]);
}

/** IPC files of one schema as one IPC stream of all their batches. */
export function toIpcStream(files) {
  const pieces = [];
  for (const [index, file] of files.entries()) {
    for (const message of messages(file, firstMessage(file))) {
      if (message.type === SCHEMA && index > 0) continue;
      pieces.push(file.subarray(message.start, message.end));
    }
  }
  pieces.push(END_MARKER);
  return new Uint8Array(Buffer.concat(pieces));
}
