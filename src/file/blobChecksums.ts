/**
 * Checksums of the values of blobs, which lie outside of pages, in a global buffer of our own that other readers pass
 * over. Little-endian:
 *
 *      0  8 bytes  "TILTYBLB"
 *      8  u32      number of this format, 1
 *     12  u32      number of values
 *     16  u64 ×    position of each value in the file, ascending
 *      …  u32 ×    CRC-32 of each value, in the same order
 *      …  u32      CRC-32 of all of the buffer in front of it
 *
 * Values of no bytes are not among them. The buffer lies in front of the one of checksums.ts and is not part of what
 * that one covers, so that opening a file does not read it: it is read with the first value that is read whole.
 */

import { crc32 } from "../bytes/crc32.js";
import { CorruptFileError } from "../errors.js";
import type { ReadHandle } from "../io/disk.js";
import type { ByteRange } from "./page.js";

/** Index of the buffer among the global buffers, in files that have blobs. */
export const BLOB_CHECKSUM_BUFFER_INDEX = 2;

const MAGIC = new TextEncoder().encode("TILTYBLB");
const FORMAT = 1;
const HEADER_BYTES = 16;
const VALUE_BYTES = 12;
const INITIAL_CAPACITY = 64;

/** Gathers the checksums of the blobs of a file while it is written. */
export class BlobChecksumList {
  #count = 0;
  #positions = new Float64Array(INITIAL_CAPACITY);
  #checksums = new Uint32Array(INITIAL_CAPACITY);

  get count(): number {
    return this.#count;
  }

  /** @param position behind that of the value added before */
  add(position: number, value: Uint8Array): void {
    if (this.#count === this.#positions.length) {
      const positions = new Float64Array(2 * this.#count);
      positions.set(this.#positions);
      this.#positions = positions;
      const checksums = new Uint32Array(2 * this.#count);
      checksums.set(this.#checksums);
      this.#checksums = checksums;
    }
    this.#positions[this.#count] = position;
    this.#checksums[this.#count++] = crc32(value);
  }

  encode(): Uint8Array {
    const count = this.#count;
    const out = new Uint8Array(HEADER_BYTES + VALUE_BYTES * count + 4);
    const view = new DataView(out.buffer);
    out.set(MAGIC);
    view.setUint32(8, FORMAT, true);
    view.setUint32(12, count, true);
    let at = HEADER_BYTES;
    for (let index = 0; index < count; index++, at += 8) {
      view.setUint32(at, this.#positions[index] % 2 ** 32, true);
      view.setUint32(at + 4, Math.floor(this.#positions[index] / 2 ** 32), true);
    }
    for (let index = 0; index < count; index++, at += 4) view.setUint32(at, this.#checksums[index], true);
    view.setUint32(at, crc32(out.subarray(0, at)), true);
    return out;
  }
}

interface Values {
  /** Ascending. */
  readonly positions: Float64Array;
  readonly checksums: Uint32Array;
}

/** What blobs of one file that were read whole are held against. */
export class BlobChecksums {
  readonly #buffer: ByteRange;
  #values: Promise<Values | null> | null = null;

  constructor(buffer: ByteRange) {
    this.#buffer = buffer;
  }

  /** Bytes held once they are read. */
  get memoryWeight(): number {
    return this.#buffer.length;
  }

  /**
   * Checks values of the file.
   * @param handle of the file
   * @param ranges where the values lie; those of no bytes are passed over
   * @param values the bytes of each
   * @throws CorruptFileError
   */
  async verify(
    handle: ReadHandle,
    path: string,
    ranges: readonly ByteRange[],
    values: readonly Uint8Array[],
  ): Promise<void> {
    const known = await this.#read(handle, path);
    if (known === null) return;
    for (const [index, { byteOffset }] of ranges.entries()) {
      const value = values[index];
      if (value.length === 0) continue;
      const at = indexOf(known.positions, byteOffset);
      if (at < 0) throw new CorruptFileError(path, byteOffset, "a blob without a checksum among others");
      if (crc32(value) !== known.checksums[at]) {
        throw new CorruptFileError(path, byteOffset, `blob of ${value.length} bytes fails its checksum`);
      }
    }
  }

  async #read(handle: ReadHandle, path: string): Promise<Values | null> {
    this.#values ??= handle
      .read(this.#buffer.byteOffset, this.#buffer.length)
      .then((bytes) => decodeValues(bytes, this.#buffer.byteOffset, path));
    const reading = this.#values;
    try {
      return await reading;
    } catch (error) {
      // What failed may be the disk: the next read tries again.
      if (this.#values === reading) this.#values = null;
      throw error;
    }
  }
}

/** Null for a buffer that is another writer's, or of another format. */
function decodeValues(bytes: Uint8Array, byteOffset: number, path: string): Values | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - 4;
  const isIntact = end >= HEADER_BYTES && crc32(bytes.subarray(0, end)) === view.getUint32(end, true);
  if (!isIntact) throw new CorruptFileError(path, byteOffset, "the checksums of blobs fail their own");
  if (MAGIC.some((byte, index) => bytes[index] !== byte) || view.getUint32(8, true) !== FORMAT) return null;
  const count = view.getUint32(12, true);
  if (HEADER_BYTES + VALUE_BYTES * count !== end) {
    throw new CorruptFileError(path, byteOffset + 12, `checksums of ${count} blobs in ${bytes.length} bytes`);
  }
  const positions = new Float64Array(count);
  const checksums = new Uint32Array(count);
  let at = HEADER_BYTES;
  for (let index = 0; index < count; index++, at += 8) {
    positions[index] = view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
  }
  for (let index = 0; index < count; index++, at += 4) checksums[index] = view.getUint32(at, true);
  return { positions, checksums };
}

/** Where a position is among ascending ones; -1 where it is not. */
function indexOf(positions: Float64Array, position: number): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (positions[middle] < position) low = middle + 1;
    else high = middle;
  }
  return positions[low] === position ? low : -1;
}
