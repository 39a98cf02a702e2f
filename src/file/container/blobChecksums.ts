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
import { firstIndex } from "../../bytes/search.js";
import { CorruptFileError } from "../../errors.js";
import type { ReadHandle } from "../../io/disk/disk.js";
import type { ByteRange } from "../../io/disk/ranges.js";

export const BLOB_MAGIC = new TextEncoder().encode("TILTYBLB");
export const BLOB_FORMAT = 1;
export const BLOB_FORMAT_WITH_SIDE_FILES = 2;
export const BLOB_HEADER_BYTES = 16;
export const BLOB_VALUE_BYTES = 12;
export const BLOB_SIDE_FILE_BYTES = 4;

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

const opened = new WeakMap<ByteRange, BlobChecksums>();

/**
 * Returns the checksums of an open file.
 * @param buffer range of their buffer, as the metadata of the file has it
 */
export function blobChecksumsIn(buffer: ByteRange): BlobChecksums {
  const checksums = opened.get(buffer) ?? new BlobChecksums(buffer);
  opened.set(buffer, checksums);
  return checksums;
}

/** Verifies blobs of one data file and its side files that were read whole. */
class BlobChecksums {
  #values: Promise<Values | null> | null = null;

  constructor(private readonly buffer: ByteRange) {}

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
  const isIntact = end >= BLOB_HEADER_BYTES && crc32(bytes.subarray(0, end)) === view.getUint32(end, true);
  if (!isIntact)
    throw new CorruptFileError(path, byteOffset, "the checksums of blobs fail their own checksum");
  const format = view.getUint32(8, true);
  if (BLOB_MAGIC.some((byte, index) => bytes[index] !== byte)) return null;
  if (format !== BLOB_FORMAT && format !== BLOB_FORMAT_WITH_SIDE_FILES) return null;
  const count = view.getUint32(12, true);
  const valueBytes = BLOB_VALUE_BYTES + (format === BLOB_FORMAT ? 0 : BLOB_SIDE_FILE_BYTES);
  if (BLOB_HEADER_BYTES + valueBytes * count !== end) {
    throw new CorruptFileError(
      path,
      byteOffset + 12,
      `${bytes.length} bytes cannot hold the checksums of ${count} blobs`,
    );
  }
  let offset = BLOB_HEADER_BYTES;
  const take = (): number => {
    offset += 4;
    return view.getUint32(offset - 4, true);
  };
  const sideFiles = format === BLOB_FORMAT ? null : Uint32Array.from({ length: count }, take);
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
