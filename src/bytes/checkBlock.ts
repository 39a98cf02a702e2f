/**
 * The check block: a checksum that lies inside a file in a place that other readers ignore. Little-endian:
 *
 *     0  8  magic "TYCHECK1"
 *     8  4  CRC-32 of all bytes of the file before and after the block, and of an addition (see below)
 *    12  4  zero
 *
 * The format of the file says where the block lies, and which bytes its checksum covers besides. A file
 * without a block was written by another program.
 */

import { crc32 } from "./crc32.js";

export const CHECK_BLOCK_BYTES = 16;

const MAGIC = new TextEncoder().encode("TYCHECK1");
/**
 * Minimum sound bytes of the magic in a damaged block, whose zeros at the end are sound, too. Content of
 * another program looks like that about once in 10^17 files.
 */
const LEAST_MAGIC_BYTES = 4;

/** Makes the block for a file that consists of these pieces and the block. */
export function makeCheckBlock(...pieces: readonly Uint8Array[]): Uint8Array {
  const block = new Uint8Array(CHECK_BLOCK_BYTES);
  block.set(MAGIC);
  new DataView(block.buffer).setUint32(MAGIC.length, checksumOf(pieces), true);
  return block;
}

/**
 * Tells if a file has a block at `blockStart`, and if the block's checksum is that of the file. If the
 * magic is damaged, the rest of the block still shows that there is one.
 * @param addition bytes that the file's format adds to the content
 */
export function lookAtCheckBlock(
  file: Uint8Array,
  blockStart: number,
  ...addition: readonly Uint8Array[]
): "absent" | "intact" | "damaged" {
  if (blockStart < 0 || blockStart + CHECK_BLOCK_BYTES > file.length) return "absent";
  const view = new DataView(file.buffer, file.byteOffset + blockStart, CHECK_BLOCK_BYTES);
  const magicBytes = MAGIC.reduce((count, byte, index) => count + (view.getUint8(index) === byte ? 1 : 0), 0);
  const endsInZeros = view.getUint32(CHECK_BLOCK_BYTES - 4, true) === 0;
  if (magicBytes < MAGIC.length) return magicBytes >= LEAST_MAGIC_BYTES && endsInZeros ? "damaged" : "absent";
  const content = [file.subarray(0, blockStart), file.subarray(blockStart + CHECK_BLOCK_BYTES), ...addition];
  return endsInZeros && view.getUint32(MAGIC.length, true) === checksumOf(content) ? "intact" : "damaged";
}

const checksumOf = (pieces: readonly Uint8Array[]): number =>
  pieces.reduce((checksum, piece) => crc32(piece, checksum), 0);
