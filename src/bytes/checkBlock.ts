/**
 * The check block: a checksum that lies inside a file, where other readers pass over it. Little-endian:
 *
 *     0  8  magic "TYCHECK1"
 *     8  4  CRC-32 of all bytes of the file before the block and after it, and of what else the file's format adds
 *    12  4  zero
 *
 * The format of the file says where the block lies. A file without one was written by another program.
 */

import { crc32 } from "./crc32.js";

export const CHECK_BLOCK_BYTES = 16;

const MAGIC = new TextEncoder().encode("TYCHECK1");

/** The block for a file that consists of these pieces and the block. */
export function makeCheckBlock(...pieces: readonly Uint8Array[]): Uint8Array {
  const block = new Uint8Array(CHECK_BLOCK_BYTES);
  block.set(MAGIC);
  new DataView(block.buffer).setUint32(MAGIC.length, checksumOf(pieces), true);
  return block;
}

/**
 * Whether a file has a block at `blockStart`, and whether the checksum in it is that of the file.
 * @param addition what the file's format adds to the content
 */
export function lookAtCheckBlock(
  file: Uint8Array,
  blockStart: number,
  ...addition: readonly Uint8Array[]
): "absent" | "intact" | "damaged" {
  if (blockStart < 0 || MAGIC.some((byte, index) => file[blockStart + index] !== byte)) return "absent";
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const content = [file.subarray(0, blockStart), file.subarray(blockStart + CHECK_BLOCK_BYTES), ...addition];
  return view.getUint32(blockStart + MAGIC.length, true) === checksumOf(content) ? "intact" : "damaged";
}

const checksumOf = (pieces: readonly Uint8Array[]): number =>
  pieces.reduce((checksum, piece) => crc32(piece, checksum), 0);
