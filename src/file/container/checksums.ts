/**
 * Checksums of a data file. They lie in fields of the schema descriptor, which other readers ignore:
 *
 *     bufferCounts   page buffers of each column; then the number of global buffers that the writer of the
 *                    file added, if there are any
 *     checksums      u32 × CRC-32 of every page buffer, in column, page and buffer order; of the added global
 *                    buffers; then the CRC-32 of the rest of the file: from the first byte of the descriptor
 *                    to the end of the file, these last four bytes of the descriptor left out. Little-endian
 *     blockCounts    blocks of every page buffer, in the same order; absent if none has any
 *     blocksOffset   position of the checksums of blocks (blockChecksums.ts)
 *
 * Page buffers and global buffers lie before the descriptor, and all other metadata after it. Exactly one
 * checksum covers each byte that matters. Blob values have checksums of their own (blobChecksums.ts). A file
 * without these fields is read unverified.
 */

import { crc32 } from "../../bytes/crc32.js";
import { CorruptFileError } from "../../errors.js";
import type { FileDescriptor } from "../../format/file.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import { BlockChecks, BlockPlaces } from "./blockChecksums.js";

/** Verifies page buffers that were read. */
export interface BufferChecksums {
  /**
   * Checks the bytes of a whole page buffer the first time it is read.
   * @param bufferIndex number of the buffer among those of the column
   * @param byteOffset of the buffer, for errors
   * @throws CorruptFileError
   */
  verify(columnIndex: number, bufferIndex: number, bytes: Uint8Array, path: string, byteOffset: number): void;
  /**
   * Returns the checks for parts of a page buffer; null if all of it was verified.
   * @throws CorruptFileError
   */
  blocksOf(columnIndex: number, bufferIndex: number, buffer: ByteRange, path: string): BlockChecks | null;
}

/** Checksums of the page buffers of a file, and of the global buffers that its writer added. */
export class FileChecksums implements BufferChecksums {
  readonly #columnCount: number;
  /** 1 for each verified page buffer. */
  readonly #verified: Uint8Array;

  /**
   * @param starts position of each column's first checksum in `values`, and that of the first of global
   *   buffers
   * @param blocks null if no buffer has checksums of blocks
   */
  constructor(
    private readonly starts: Uint32Array,
    private readonly values: Uint32Array,
    private readonly blocks: BlockPlaces | null,
  ) {
    this.#columnCount = starts.length - 1;
    this.#verified = new Uint8Array(values.length);
  }

  bufferCount(columnIndex: number): number {
    return this.starts[columnIndex + 1] - this.starts[columnIndex];
  }

  get globalCount(): number {
    return this.values.length - this.starts[this.#columnCount];
  }

  get memoryWeight(): number {
    const blocks = this.blocks?.memoryWeight ?? 0;
    return this.starts.byteLength + this.values.byteLength + this.#verified.byteLength + blocks;
  }

  verify(
    columnIndex: number,
    bufferIndex: number,
    bytes: Uint8Array,
    path: string,
    byteOffset: number,
  ): void {
    this.#verify(this.starts[columnIndex] + bufferIndex, bytes, path, byteOffset, "page buffer");
  }

  blocksOf(columnIndex: number, bufferIndex: number, buffer: ByteRange, path: string): BlockChecks | null {
    const index = this.starts[columnIndex] + bufferIndex;
    if (this.#verified[index] === 1) return null;
    const table = this.blocks?.rangeOf(index);
    const hasBlocks = table !== undefined && table.length > 0;
    return new BlockChecks(buffer, hasBlocks ? table : this.values[index], path);
  }

  /**
   * Checks the bytes of a whole global buffer the first time it is read.
   * @param number of the buffer among the global buffers; number 0 is the descriptor
   * @param byteOffset of the buffer, for errors
   * @throws CorruptFileError
   */
  verifyGlobal(number: number, bytes: Uint8Array, path: string, byteOffset: number): void {
    this.#verify(this.starts[this.#columnCount] + number - 1, bytes, path, byteOffset, "global buffer");
  }

  #verify(index: number, bytes: Uint8Array, path: string, byteOffset: number, what: string): void {
    if (this.#verified[index] === 1) return;
    if (crc32(bytes) !== this.values[index]) {
      throw new CorruptFileError(path, byteOffset, `${what} of ${bytes.length} bytes fails its checksum`);
    }
    this.#verified[index] = 1;
  }
}

export const FILE_CHECKSUM_BYTES = 4;

export const metadataChecksum = (rest: Uint8Array, descriptorLength: number): number =>
  crc32(rest.subarray(descriptorLength), crc32(rest.subarray(0, descriptorLength - FILE_CHECKSUM_BYTES)));

/**
 * Verifies the metadata and extracts the checksums of the page buffers.
 * @param descriptor one with checksums
 * @param range of the descriptor
 * @param rest the file from the first byte of the descriptor to its end
 * @throws CorruptFileError if the metadata fails its checksum
 */
export function decodeChecksums(
  { bufferCounts, checksums, blockCounts, blocksOffset }: FileDescriptor,
  range: ByteRange,
  rest: Uint8Array,
  columnCount: number,
  path: string,
): FileChecksums {
  const fail = (reason: string) => new CorruptFileError(path, range.byteOffset, reason);
  const view = new DataView(rest.buffer, rest.byteOffset, rest.byteLength);
  const last = view.getUint32(range.length - FILE_CHECKSUM_BYTES, true);
  if (metadataChecksum(rest, range.length) !== last) throw fail("the file's metadata fails its checksum");
  const hasGlobals = bufferCounts.length === columnCount + 1;
  if (bufferCounts.length !== columnCount && !hasGlobals) {
    throw fail("checksums of another number of columns");
  }
  const starts = new Uint32Array(columnCount + 1);
  for (let column = 0; column < columnCount; column++) {
    starts[column + 1] = starts[column] + bufferCounts[column];
  }
  const valueCount = checksums.length / FILE_CHECKSUM_BYTES - 1;
  const globalCount = hasGlobals ? bufferCounts[columnCount] : 0;
  if (starts[columnCount] + globalCount !== valueCount) throw fail("checksums of another number of buffers");
  const values = new Uint32Array(new Uint8Array(checksums).buffer, 0, valueCount);
  if (blockCounts.length === 0) return new FileChecksums(starts, values, null);
  if (blockCounts.length !== starts[columnCount])
    throw fail("another number of block counts than of page buffers");
  const blocks = new BlockPlaces(blocksOffset, blockCounts);
  if (blocks.end > range.byteOffset) throw fail("the checksums of blocks overlap the descriptor");
  return new FileChecksums(starts, values, blocks);
}
