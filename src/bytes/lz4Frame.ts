/**
 * The LZ4 frame format, decoding only. Integers are little-endian; checksums are not verified.
 *
 *     magic             u32 184D2204
 *     flags             bits 6–7 version 1, bit 4 blocks have checksums, bit 3 content size, bit 2 content
 *                       checksum, bit 0 dictionary id
 *     block size        bits 4–6: 4 … 7 for blocks of at most 64 KiB, 256 KiB, 1 MiB, 4 MiB
 *     content size      u64, where the flags say so
 *     header checksum   1 byte
 *     blocks            u32 size, its top bit set where the bytes are stored as they are; bytes; u32 checksum
 *                       where the flags say so. A match may reach back into earlier blocks
 *     end mark          u32 0
 *     content checksum  u32, where the flags say so
 */

import { decodeLz4Block, lz4BlockLength } from "./lz4.js";

const MAGIC = 0x184d2204;

/**
 * The content of a frame; null where `frame` is not exactly one frame without dictionary or holds more than
 * `maximumSize` bytes. Sizes are known to be true before memory is taken for them.
 */
export function decodeLz4Frame(frame: Uint8Array, maximumSize: number): Uint8Array | null {
  const found = readBlocks(frame, maximumSize);
  if (found === null) return null;
  const output = new Uint8Array(found.size);
  let written = 0;
  for (const { bytes, stored, length } of found.blocks) {
    if (stored) output.set(bytes, written);
    else if (!decodeLz4Block(bytes, output.subarray(0, written + length), written)) return null;
    written += length;
  }
  return output;
}

/** Bytes that a frame holds; null where {@link decodeLz4Frame} takes none of it. */
export function lz4FrameLength(frame: Uint8Array, maximumSize: number): number | null {
  return readBlocks(frame, maximumSize)?.size ?? null;
}

interface Block {
  readonly bytes: Uint8Array;
  readonly stored: boolean;
  /** Of its content. */
  readonly length: number;
}

function readBlocks(
  frame: Uint8Array,
  maximumSize: number,
): { readonly blocks: readonly Block[]; readonly size: number } | null {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.length < 11 || view.getUint32(0, true) !== MAGIC) return null;
  const flags = frame[4];
  const sizeClass = (frame[5] >>> 4) & 7;
  if (flags >>> 6 !== 1 || (flags & 0x03) !== 0 || sizeClass < 4) return null;
  const maximumBlock = 1 << (8 + 2 * sizeClass);
  let position = 6;
  let contentSize: bigint | null = null;
  if ((flags & 0x08) !== 0) {
    if (frame.length < position + 8) return null;
    contentSize = view.getBigUint64(position, true);
    position += 8;
  }
  position += 1;

  const checksumBytes = (flags & 0x10) !== 0 ? 4 : 0;
  const blocks: Block[] = [];
  let size = 0;
  for (;;) {
    if (position + 4 > frame.length) return null;
    const header = view.getUint32(position, true);
    position += 4;
    if (header === 0) break;
    const byteLength = header & 0x7fffffff;
    if (byteLength > frame.length - position) return null;
    const bytes = frame.subarray(position, position + byteLength);
    const stored = header >>> 31 === 1;
    const length = stored ? byteLength : lz4BlockLength(bytes);
    if (length < 0 || length > maximumBlock) return null;
    size += length;
    if (size > maximumSize) return null;
    blocks.push({ bytes, stored, length });
    position += byteLength + checksumBytes;
  }
  if ((flags & 0x04) !== 0) position += 4;
  if (position !== frame.length) return null;
  if (contentSize !== null && contentSize !== BigInt(size)) return null;
  return { blocks, size };
}
