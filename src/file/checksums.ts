/**
 * Checksums of a data file, in a global buffer of our own that other readers pass over. Little-endian:
 *
 *      0  8 bytes  "TILTYCRC"
 *      8  u32      number of this format, 1
 *     12  u32      number of columns
 *     16  u32 ×    page buffers of each column
 *      …  u32 ×    CRC-32 of every page buffer, in column, page and buffer order
 *      …  u32      CRC-32 of the rest of the file: from the first byte of this buffer to the end of the file,
 *                  these four bytes left out
 *
 * Page buffers lie in front of this buffer and all metadata behind it, so that every byte that matters is under
 * one checksum; values of blobs have their own (blobChecksums.ts). A file without the buffer, or with one of another format, is read unverified.
 */

import { crc32 } from "../bytes/crc32.js";
import { CorruptFileError } from "../errors.js";
import type { ByteRange } from "./page.js";

/** Index of the checksum buffer among the global buffers. */
export const CHECKSUM_BUFFER_INDEX = 1;

const MAGIC = new TextEncoder().encode("TILTYCRC");
const FORMAT = 1;
/** Bytes in front of the counts; they tell a checksum buffer from others. */
export const CHECKSUM_HEADER_BYTES = 16;

/** What page buffers that were read are held against. */
export interface BufferChecksums {
  /**
   * Checks the bytes of a whole page buffer, the first time it is read.
   * @param bufferIndex number of the buffer among those of the column
   * @param byteOffset where it lies, for errors
   * @throws CorruptFileError
   */
  verify(columnIndex: number, bufferIndex: number, bytes: Uint8Array, path: string, byteOffset: number): void;
}

/** The checksums of the page buffers of a file. */
export class PageChecksums implements BufferChecksums {
  /** Position of each column's first checksum in `values`, and one entry for the end. */
  readonly #starts: Uint32Array;
  readonly #values: Uint32Array;
  /** 1 for each page buffer found intact. */
  readonly #verified: Uint8Array;

  constructor(starts: Uint32Array, values: Uint32Array) {
    this.#starts = starts;
    this.#values = values;
    this.#verified = new Uint8Array(values.length);
  }

  /** Page buffers of a column. */
  bufferCount(columnIndex: number): number {
    return this.#starts[columnIndex + 1] - this.#starts[columnIndex];
  }

  get memoryWeight(): number {
    return this.#starts.byteLength + this.#values.byteLength + this.#verified.byteLength;
  }

  verify(
    columnIndex: number,
    bufferIndex: number,
    bytes: Uint8Array,
    path: string,
    byteOffset: number,
  ): void {
    const index = this.#starts[columnIndex] + bufferIndex;
    if (this.#verified[index] === 1) return;
    if (crc32(bytes) !== this.#values[index]) {
      throw new CorruptFileError(path, byteOffset, `page buffer of ${bytes.length} bytes fails its checksum`);
    }
    this.#verified[index] = 1;
  }
}

/**
 * Puts the checksum buffer in front of the rest of a file.
 * @param position where the buffer begins
 * @param pageChecksums of the page buffers of each column
 * @param encodeRest makes the bytes from `position` to the end of the file, the buffer's own left blank
 */
export function encodeChecksums(
  position: number,
  pageChecksums: readonly (readonly number[])[],
  encodeRest: (buffer: ByteRange) => Uint8Array,
): Uint8Array {
  const total = pageChecksums.reduce((sum, column) => sum + column.length, 0);
  const length = CHECKSUM_HEADER_BYTES + 4 * (pageChecksums.length + total + 1);
  const out = encodeRest({ byteOffset: position, length });
  const view = new DataView(out.buffer, out.byteOffset, out.byteLength);
  out.set(MAGIC);
  view.setUint32(8, FORMAT, true);
  view.setUint32(12, pageChecksums.length, true);
  let at = CHECKSUM_HEADER_BYTES;
  for (const column of pageChecksums) {
    view.setUint32(at, column.length, true);
    at += 4;
  }
  for (const column of pageChecksums) {
    for (const checksum of column) {
      view.setUint32(at, checksum, true);
      at += 4;
    }
  }
  view.setUint32(at, metadataChecksum(out, length), true);
  return out;
}

const metadataChecksum = (rest: Uint8Array, bufferLength: number): number =>
  crc32(rest.subarray(bufferLength), crc32(rest.subarray(0, bufferLength - 4)));

/** Whether a global buffer begins like a checksum buffer of the format this build knows. */
export function isChecksumBuffer(bytes: Uint8Array): boolean {
  if (bytes.length < CHECKSUM_HEADER_BYTES || MAGIC.some((byte, index) => bytes[index] !== byte))
    return false;
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true) === FORMAT;
}

/**
 * Checks the metadata and takes out the checksums of the pages.
 * @param rest the file from the first byte of the checksum buffer to its end
 * @param buffer where the checksum buffer lies
 * @throws CorruptFileError where the metadata is not what was written
 */
export function decodeChecksums(
  rest: Uint8Array,
  buffer: ByteRange,
  columnCount: number,
  path: string,
): PageChecksums {
  const view = new DataView(rest.buffer, rest.byteOffset, rest.byteLength);
  const fail = (at: number, reason: string) => new CorruptFileError(path, buffer.byteOffset + at, reason);
  const wordCount = (buffer.length - CHECKSUM_HEADER_BYTES) / 4 - 1;
  if (!Number.isInteger(wordCount) || wordCount < columnCount) throw fail(12, "checksum buffer cut short");
  if (metadataChecksum(rest, buffer.length) !== view.getUint32(buffer.length - 4, true)) {
    throw fail(0, "the file's metadata fails its checksum");
  }
  if (view.getUint32(12, true) !== columnCount) throw fail(12, "checksums of another number of columns");
  const starts = new Uint32Array(columnCount + 1);
  for (let column = 0; column < columnCount; column++) {
    starts[column + 1] = starts[column] + view.getUint32(CHECKSUM_HEADER_BYTES + 4 * column, true);
  }
  const valueCount = wordCount - columnCount;
  if (starts[columnCount] !== valueCount)
    throw fail(CHECKSUM_HEADER_BYTES, "checksums of another number of page buffers");
  const values = new Uint32Array(valueCount);
  const firstValue = CHECKSUM_HEADER_BYTES + 4 * columnCount;
  for (let index = 0; index < valueCount; index++)
    values[index] = view.getUint32(firstValue + 4 * index, true);
  return new PageChecksums(starts, values);
}
