/**
 * The LZ4 frame format, decoding only. Integers are little-endian; checksums are not verified.
 *
 *     magic             u32 184D2204
 *     flags             bits 6–7 version 1, bit 4 blocks have checksums, bit 3 content size, bit 2 content
 *                       checksum, bit 0 dictionary id
 *     block size        bits 4–6: 4 … 7 for blocks of at most 64 KiB, 256 KiB, 1 MiB, 4 MiB
 *     content size      u64, if the flags say so
 *     header checksum   1 byte
 *     blocks            u32 size, its top bit set if the bytes are stored as they are; bytes; u32 checksum
 *                       if the flags say so. A match may reach back into earlier blocks
 *     end mark          u32 0
 *     content checksum  u32, if the flags say so
 */

import { runSync } from "../async/eventLoop.js";
import { readUint32 } from "./littleEndian.js";
import { decodeLz4Block, lz4BlockLength } from "./lz4.js";

const MAGIC = 0x184d2204;
const BLOCK_HEADER_BYTES = 4;
const END_MARK_BYTES = 4;

/** Bytes processed per step. */
const STEP_BYTES = 2 ** 16;

/**
 * Returns the content of a frame. Null if `frame` is not exactly one frame without dictionary, or holds more
 * than `maximumSize` bytes. Sizes are verified before memory is allocated for them.
 */
export function decodeLz4Frame(frame: Uint8Array, maximumSize: number): Uint8Array | null {
  return runSync(decodingLz4Frame(frame, maximumSize));
}

/** {@link decodeLz4Frame}, in steps. */
export function* decodingLz4Frame(
  frame: Uint8Array,
  maximumSize: number,
): Generator<void, Uint8Array | null> {
  const size = yield* lz4FrameLength(frame, maximumSize);
  const header = readHeader(frame);
  if (size === null || header === null) return null;
  const output = new Uint8Array(size);
  let written = 0;
  let passed = 0;
  for (
    let block = blockAt(frame, header.end, header);
    block !== null;
    block = blockAt(frame, block.end, header)
  ) {
    const { bytes, stored } = block;
    const length = lengthOf(block);
    if (stored) output.set(bytes, written);
    else if (!decodeLz4Block(bytes, output.subarray(0, written + length), written)) return null;
    written += length;
    passed += bytes.length + length;
    if (passed < STEP_BYTES) continue;
    passed = 0;
    yield;
  }
  return output;
}

/**
 * Number of bytes that a frame holds, counted in steps; null if its header or sizes make {@link
 * decodeLz4Frame} refuse it.
 */
export function* lz4FrameLength(frame: Uint8Array, maximumSize: number): Generator<void, number | null> {
  const header = readHeader(frame);
  if (header === null) return null;
  let size = 0;
  let passed = 0;
  let { end } = header;
  for (let block = blockAt(frame, end, header); block !== null; block = blockAt(frame, end, header)) {
    const length = lengthOf(block);
    if (length < 0 || length > header.maximumBlock) return null;
    size += length;
    if (size > maximumSize) return null;
    end = block.end;
    passed += block.bytes.length;
    if (passed < STEP_BYTES) continue;
    passed = 0;
    yield;
  }
  const tailBytes = END_MARK_BYTES + (header.hasContentChecksum ? 4 : 0);
  if (end + tailBytes !== frame.length || readUint32(frame, end) !== 0) return null;
  if (header.contentSize !== null && header.contentSize !== BigInt(size)) return null;
  return size;
}

interface Header {
  /** Start of the first block. */
  readonly end: number;
  readonly maximumBlock: number;
  /** Bytes of the checksum after each block. */
  readonly checksumBytes: number;
  readonly hasContentChecksum: boolean;
  readonly contentSize: bigint | null;
}

function readHeader(frame: Uint8Array): Header | null {
  if (frame.length < 11 || readUint32(frame, 0) !== MAGIC) return null;
  const flags = frame[4];
  const sizeClass = (frame[5] >>> 4) & 7;
  if (flags >>> 6 !== 1 || (flags & 0x03) !== 0 || sizeClass < 4) return null;
  const hasContentSize = (flags & 0x08) !== 0;
  if (hasContentSize && frame.length < 14) return null;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  return {
    end: hasContentSize ? 15 : 7,
    maximumBlock: 1 << (8 + 2 * sizeClass),
    checksumBytes: (flags & 0x10) !== 0 ? 4 : 0,
    hasContentChecksum: (flags & 0x04) !== 0,
    contentSize: hasContentSize ? view.getBigUint64(6, true) : null,
  };
}

interface Block {
  readonly bytes: Uint8Array;
  readonly stored: boolean;
  /** Start of the next block. */
  readonly end: number;
}

/** Reads the block at a position; null for the end mark and for an incomplete block. */
function blockAt(frame: Uint8Array, position: number, { checksumBytes }: Header): Block | null {
  const start = position + BLOCK_HEADER_BYTES;
  if (start > frame.length) return null;
  const header = readUint32(frame, position);
  const byteLength = header & 0x7fffffff;
  if (header === 0 || byteLength > frame.length - start) return null;
  const bytes = frame.subarray(start, start + byteLength);
  return { bytes, stored: header >>> 31 === 1, end: start + byteLength + checksumBytes };
}

/** Number of bytes that a block decodes to; negative for a malformed block. */
const lengthOf = ({ bytes, stored }: Block): number => (stored ? bytes.length : lz4BlockLength(bytes));
