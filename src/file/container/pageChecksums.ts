/** Computes the checksums of page buffers and their blocks, which blockChecksums.ts describes. */

import { crc32 } from "../../bytes/crc32.js";
import { bytesOf } from "../../bytes/view.js";
import { BLOCK_BYTES, SMALL_PAGE_BYTES } from "./blockChecksums.js";

export interface BufferChecksum {
  readonly whole: number;
  /** Empty for a buffer that has no blocks. */
  readonly blocks: Uint32Array;
}

const NO_BLOCKS = new Uint32Array(0);

/** Computes the checksums of a page's buffers. @param buffers each as pieces that are written back to back */
export function checksumsOfPage(buffers: readonly (readonly Uint8Array[])[]): BufferChecksum[] {
  const lengths = buffers.map((pieces) => pieces.reduce((sum, { length }) => sum + length, 0));
  const isLarge = lengths.reduce((sum, length) => sum + length, 0) > SMALL_PAGE_BYTES;
  return buffers.map((pieces, index) =>
    isLarge && lengths[index] > BLOCK_BYTES
      ? checksumByBlocks(pieces, lengths[index])
      : { whole: pieces.reduce((checksum, piece) => crc32(piece, checksum), 0), blocks: NO_BLOCKS },
  );
}

/** Computes the checksum of the whole from those of the blocks. */
function checksumByBlocks(pieces: readonly Uint8Array[], byteLength: number): BufferChecksum {
  const blocks = new Uint32Array(Math.ceil(byteLength / BLOCK_BYTES));
  let whole = 0;
  let index = 0;
  let checksum = 0;
  let room = BLOCK_BYTES;
  // If the last block is shorter, its bytes are read twice.
  const rest = byteLength - (byteLength % BLOCK_BYTES);
  let position = 0;
  for (const piece of pieces) {
    for (let start = 0; start < piece.length; ) {
      const count = Math.min(room, piece.length - start);
      const bytes = piece.subarray(start, start + count);
      checksum = crc32(bytes, checksum);
      if (position >= rest) whole = crc32(bytes, whole);
      start += count;
      position += count;
      room -= count;
      if (room > 0) continue;
      blocks[index++] = checksum;
      whole = (afterBlock(whole) ^ checksum) >>> 0;
      checksum = 0;
      room = BLOCK_BYTES;
    }
  }
  if (room < BLOCK_BYTES) blocks[index] = checksum;
  return { whole, blocks };
}

/** Four tables of 256: entry `k · 256 + b` is the checksum of byte `k` of value `b` and a block of zeros. */
let afterZeros: Uint32Array | undefined;

function makeAfterZeros(): Uint32Array {
  const zeros = new Uint8Array(BLOCK_BYTES);
  const table = new Uint32Array(4 * 256);
  for (let byte = 0; byte < 4; byte++) {
    for (let value = 1; value < 256; value++) {
      const lowest = value & -value;
      // A checksum's register is its complement. The tables are linear: entries are sums over the bits.
      const register = ~(lowest << (8 * byte)) >>> 0;
      table[byte * 256 + value] =
        value === lowest
          ? ~crc32(zeros, register)
          : table[byte * 256 + lowest] ^ table[byte * 256 + (value ^ lowest)];
    }
  }
  return table;
}

/** Returns what the checksum of the bytes before a block contributes to the checksum of both. */
function afterBlock(checksum: number): number {
  const table = (afterZeros ??= makeAfterZeros());
  return (
    table[checksum & 0xff] ^
    table[256 + ((checksum >>> 8) & 0xff)] ^
    table[512 + ((checksum >>> 16) & 0xff)] ^
    table[768 + (checksum >>> 24)]
  );
}

/**
 * Makes the file's record of its blocks: the number of blocks of each page buffer, and the table in pieces.
 * @param checksums of the page buffers of each column. @returns null where no buffer has blocks
 */
export function encodeBlockTable(
  checksums: readonly (readonly BufferChecksum[])[],
): { readonly counts: number[]; readonly pieces: Uint8Array[] } | null {
  const lists = checksums.flat().map(({ blocks }) => blocks);
  const pieces = lists.filter(({ length }) => length > 0).map(bytesOf);
  return pieces.length === 0 ? null : { counts: lists.map(({ length }) => length), pieces };
}
