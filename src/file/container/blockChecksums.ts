/**
 * Checksums of the blocks of large page buffers: they verify partial reads. They lie between the page buffers
 * and the schema descriptor, where other readers do not look:
 *
 *     u32 ×    CRC-32 of each block of each buffer with blocks, in column, page, buffer and block order.
 *              Little-endian
 *
 * Two fields of the descriptor give the number of blocks of each page buffer, and the position of the table.
 * A block has 4096 bytes; the last block of a buffer has the rest. Buffers of pages that are always read
 * whole have no blocks; neither have buffers of one block, which the buffer's checksum covers (checksums.ts).
 * The first read of a part of a buffer also reads the buffer's part of the table.
 */

import { crc32 } from "../../bytes/crc32.js";
import { CorruptFileError, InternalError } from "../../errors.js";
import type { ByteRange } from "../../io/disk/ranges.js";

/** Pages of at most this size are always read whole: a read costs about as much as these bytes. */
export const SMALL_PAGE_BYTES = 64 * 1024;

/** Bytes of a block: a page of the system's cache. */
export const BLOCK_BYTES = 4096;

const CHECKSUM_BYTES = 4;

/** Positions of the checksums of blocks in a file. */
export class BlockPlaces {
  /** Number of blocks before each page buffer, and the total as the last entry. */
  readonly #starts: Float64Array;

  /** @param byteOffset of the table */
  constructor(
    private readonly byteOffset: number,
    counts: readonly number[],
  ) {
    this.#starts = new Float64Array(counts.length + 1);
    for (const [index, count] of counts.entries()) this.#starts[index + 1] = this.#starts[index] + count;
  }

  /** One past the last byte of the table. */
  get end(): number {
    return this.byteOffset + CHECKSUM_BYTES * this.#starts[this.#starts.length - 1];
  }

  get memoryWeight(): number {
    return this.#starts.byteLength;
  }

  /** Range of the checksums of a buffer's blocks; empty if it has none. */
  rangeOf(buffer: number): ByteRange {
    const start = this.#starts[buffer];
    return {
      byteOffset: this.byteOffset + CHECKSUM_BYTES * start,
      length: CHECKSUM_BYTES * (this.#starts[buffer + 1] - start),
    };
  }
}

/** Verifies the blocks of one page buffer, each the first time that it is read. */
export class BlockChecks {
  /** Range of the buffer in the file. */
  readonly buffer: ByteRange;
  /** Range of the checksums; null for a buffer that is one block. */
  readonly table: ByteRange | null;
  readonly #blockBytes: number;
  readonly #isIntact: Uint8Array;
  #openCount: number;
  #checksums: Uint32Array | null = null;
  /** True after a block failed: the fault may be the table's or the disk's, so the table is read again. */
  #isDoubtful = false;

  /**
   * @param table range of the blocks' checksums, or the checksum of a buffer that is one block
   * @throws CorruptFileError for a table of another number of blocks
   */
  constructor(buffer: ByteRange, table: ByteRange | number, path: string) {
    this.buffer = buffer;
    if (typeof table === "number") {
      this.table = null;
      this.#blockBytes = buffer.length;
      this.#checksums = Uint32Array.of(table);
      this.#isIntact = new Uint8Array(1);
      this.#openCount = 1;
      return;
    }
    this.table = table;
    this.#blockBytes = BLOCK_BYTES;
    const count = Math.ceil(buffer.length / BLOCK_BYTES);
    if (table.length !== CHECKSUM_BYTES * count) {
      const reason = `${table.length} bytes of checksums for ${count} blocks`;
      throw new CorruptFileError(path, buffer.byteOffset, reason);
    }
    this.#isIntact = new Uint8Array(count);
    this.#openCount = count;
  }

  get memoryWeight(): number {
    return 128 + (1 + CHECKSUM_BYTES) * this.#isIntact.length;
  }

  /** True if the table has to be read, for the first time or again. */
  get needsTable(): boolean {
    return this.table !== null && (this.#checksums === null || this.#isDoubtful);
  }

  /** @param bytes of the {@link table} */
  takeTable(bytes: Uint8Array): void {
    this.#checksums = new Uint32Array(new Uint8Array(bytes).buffer);
    this.#isDoubtful = false;
  }

  /**
   * True if bytes of the buffer are not yet verified, and can be. A large buffer without blocks can be
   * verified only as a whole.
   * @param start position in the file; `end` likewise, one past the last byte
   */
  isToVerify(start: number, end: number): boolean {
    if (this.#openCount === 0) return false;
    const { byteOffset, length } = this.buffer;
    if (this.table === null && length > BLOCK_BYTES && end - start < length) return false;
    const last = Math.ceil((end - byteOffset) / this.#blockBytes);
    for (let block = Math.floor((start - byteOffset) / this.#blockBytes); block < last; block++) {
      if (this.#isIntact[block] === 0) return true;
    }
    return false;
  }

  /** Start of the block that holds a byte of the file. */
  startOfBlock(position: number): number {
    return position - ((position - this.buffer.byteOffset) % this.#blockBytes);
  }

  /** End of the block that holds the byte before a position of the file. */
  endOfBlock(position: number): number {
    const { byteOffset, length } = this.buffer;
    const blocks = Math.ceil((position - byteOffset) / this.#blockBytes);
    return byteOffset + Math.min(length, blocks * this.#blockBytes);
  }

  /**
   * Verifies all blocks that lie completely in some bytes. Call {@link takeTable} before.
   * @param start position of the bytes in the file
   * @throws CorruptFileError
   */
  verify(bytes: Uint8Array, start: number, path: string): void {
    const checksums = this.#checksums;
    if (checksums === null) throw new InternalError(`${path}: blocks have no checksums`);
    const { byteOffset, length } = this.buffer;
    const end = start + bytes.length;
    for (let block = Math.ceil((start - byteOffset) / this.#blockBytes); block < checksums.length; block++) {
      const from = byteOffset + block * this.#blockBytes;
      const to = Math.min(from + this.#blockBytes, byteOffset + length);
      if (to > end) return;
      if (this.#isIntact[block] === 1) continue;
      if (crc32(bytes.subarray(from - start, to - start)) !== checksums[block]) {
        this.#isDoubtful = true;
        throw new CorruptFileError(path, from, `${to - from} bytes of a page buffer fail their checksum`);
      }
      this.#isIntact[block] = 1;
      this.#openCount--;
    }
  }
}
