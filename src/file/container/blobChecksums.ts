/**
 * Checksums of blob values, which lie outside the pages. They are in a global buffer that only this library
 * writes; other readers ignore it. Little-endian:
 *
 *      0  8 bytes  "TILTYBLB"
 *      8  u32      number of this format: 2 if values lie in side files, else 1
 *     12  u32      number of values
 *     16  u32 ×    number of the side file that each value is in, ascending; 0 for this file; not in format 1
 *      …  u64 ×    position of each value in its file, ascending in each
 *      …  u32 ×    CRC-32 of each value, in the same order
 *      …  u32      CRC-32 of all bytes of the buffer before it
 *
 * Empty values are not listed. The buffer lies before the descriptor and is not covered by the checksums of
 * checksums.ts. Opening a file therefore does not read it: the first value that is read whole does.
 */

import { crc32 } from "../../bytes/crc32.js";
import { enlarged } from "../../bytes/growing.js";
import { firstIndex } from "../../bytes/search.js";
import { CorruptFileError } from "../../errors.js";
import type { ReadHandle } from "../../io/disk/disk.js";
import type { ByteRange } from "../../io/disk/ranges.js";

/** Index of this buffer among the global buffers of a file that has blobs. */
export const BLOB_CHECKSUM_BUFFER_INDEX = 1;

const MAGIC = new TextEncoder().encode("TILTYBLB");
const FORMAT = 1;
const FORMAT_WITH_SIDE_FILES = 2;
const HEADER_BYTES = 16;
const VALUE_BYTES = 12;
const SIDE_FILE_BYTES = 4;
const INITIAL_CAPACITY = 64;

/** Collects the checksums of the blobs of a file and its side files while they are written. */
export class BlobChecksumList {
  #count = 0;
  #sideFiles = new Uint32Array(INITIAL_CAPACITY);
  #positions = new Float64Array(INITIAL_CAPACITY);
  #checksums = new Uint32Array(INITIAL_CAPACITY);

  get count(): number {
    return this.#count;
  }

  /**
   * @param sideFile number of the side file that holds the value; 0 for the data file
   * @param position greater than that of the previous value in the same file
   */
  add(sideFile: number, position: number, value: Uint8Array): void {
    if (this.#count === this.#positions.length) {
      this.#sideFiles = enlarged(this.#sideFiles);
      this.#positions = enlarged(this.#positions);
      this.#checksums = enlarged(this.#checksums);
    }
    this.#sideFiles[this.#count] = sideFile;
    this.#positions[this.#count] = position;
    this.#checksums[this.#count++] = crc32(value);
  }

  encode(): Uint8Array {
    const count = this.#count;
    const files = this.#sideFiles;
    const order = Uint32Array.from({ length: count }, (_, index) => index);
    const withSideFiles = files.subarray(0, count).some((file) => file > 0);
    // Within a file, values stay in the order in which they were added.
    if (withSideFiles) order.sort((a, b) => files[a] - files[b] || a - b);
    const valueBytes = VALUE_BYTES + (withSideFiles ? SIDE_FILE_BYTES : 0);
    const out = new Uint8Array(HEADER_BYTES + valueBytes * count + 4);
    const view = new DataView(out.buffer);
    out.set(MAGIC);
    view.setUint32(8, withSideFiles ? FORMAT_WITH_SIDE_FILES : FORMAT, true);
    view.setUint32(12, count, true);
    let offset = HEADER_BYTES;
    const put = (value: number) => {
      view.setUint32(offset, value, true);
      offset += 4;
    };
    if (withSideFiles) for (const index of order) put(files[index]);
    for (const index of order) {
      put(this.#positions[index] % 2 ** 32);
      put(Math.floor(this.#positions[index] / 2 ** 32));
    }
    for (const index of order) put(this.#checksums[index]);
    put(crc32(out.subarray(0, offset)));
    return out;
  }
}

interface Values {
  /** Ascending; null if all values are in the data file. */
  readonly sideFiles: Uint32Array | null;
  /** Ascending in each file. */
  readonly positions: Float64Array;
  readonly checksums: Uint32Array;
}

/** Locations of the values that were read. */
export interface ReadValues {
  readonly path: string;
  /** Number of the side file; 0 for the data file. */
  readonly sideFile: number;
  /** Range of each value. Empty values are not verified. */
  readonly ranges: readonly ByteRange[];
}

/** Verifies blobs of one data file and its side files that were read whole. */
export class BlobChecksums {
  #values: Promise<Values | null> | null = null;

  constructor(private readonly buffer: ByteRange) {}

  /** Bytes of memory held once the checksums are read. */
  get memoryWeight(): number {
    return this.buffer.length;
  }

  /**
   * Verifies values of one file.
   * @param handle of the data file
   * @param values the bytes of each value
   * @throws CorruptFileError
   */
  async verify(
    handle: ReadHandle,
    { path, sideFile, ranges }: ReadValues,
    values: readonly Uint8Array[],
  ): Promise<void> {
    const expected = await this.#read(handle, handle.path);
    if (expected === null) return;
    for (const [index, { byteOffset }] of ranges.entries()) {
      const value = values[index];
      if (value.length === 0) continue;
      const slot = indexOf(expected, sideFile, byteOffset);
      if (slot < 0)
        throw new CorruptFileError(
          path,
          byteOffset,
          "a blob has no checksum, but other blobs of the file have one",
        );
      if (crc32(value) !== expected.checksums[slot]) {
        throw new CorruptFileError(path, byteOffset, `blob of ${value.length} bytes fails its checksum`);
      }
    }
  }

  async #read(handle: ReadHandle, path: string): Promise<Values | null> {
    this.#values ??= handle
      .read(this.buffer.byteOffset, this.buffer.length)
      .then((bytes) => decodeValues(bytes, this.buffer.byteOffset, path));
    const reading = this.#values;
    try {
      return await reading;
    } catch (error) {
      // The fault may be the disk's, so the next read tries again.
      if (this.#values === reading) this.#values = null;
      throw error;
    }
  }
}

/** Returns null for a buffer of another writer or of another format number. */
function decodeValues(bytes: Uint8Array, byteOffset: number, path: string): Values | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - 4;
  const isIntact = end >= HEADER_BYTES && crc32(bytes.subarray(0, end)) === view.getUint32(end, true);
  if (!isIntact)
    throw new CorruptFileError(path, byteOffset, "the checksums of blobs fail their own checksum");
  const format = view.getUint32(8, true);
  if (MAGIC.some((byte, index) => bytes[index] !== byte)) return null;
  if (format !== FORMAT && format !== FORMAT_WITH_SIDE_FILES) return null;
  const count = view.getUint32(12, true);
  const valueBytes = VALUE_BYTES + (format === FORMAT ? 0 : SIDE_FILE_BYTES);
  if (HEADER_BYTES + valueBytes * count !== end) {
    throw new CorruptFileError(
      path,
      byteOffset + 12,
      `${bytes.length} bytes cannot hold the checksums of ${count} blobs`,
    );
  }
  let offset = HEADER_BYTES;
  const take = (): number => {
    offset += 4;
    return view.getUint32(offset - 4, true);
  };
  const sideFiles = format === FORMAT ? null : Uint32Array.from({ length: count }, take);
  const positions = Float64Array.from({ length: count }, () => take() + take() * 2 ** 32);
  const checksums = Uint32Array.from({ length: count }, take);
  return { sideFiles, positions, checksums };
}

/** Index of a file position among the ascending ones; -1 if it is not there. */
function indexOf({ sideFiles, positions }: Values, sideFile: number, position: number): number {
  const fileOf = (index: number): number => (sideFiles === null ? 0 : sideFiles[index]);
  const isMet = (index: number) => (fileOf(index) - sideFile || positions[index] - position) >= 0;
  const index = firstIndex(0, positions.length, isMet);
  return positions[index] === position && fileOf(index) === sideFile ? index : -1;
}
