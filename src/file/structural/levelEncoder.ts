/**
 * How the levels of one kind are written in a page. One encoding serves all of its chunks, so it is chosen for the
 * page: runs where they take less room than packing, from version 2.2 on; packing else.
 */

import type { CompressiveEncoding } from "../../format/encodings.js";
import { PACK_UNIT } from "../compression/bitpack.js";
import {
  describeOutOfLineBitpacking,
  encodeOutOfLineBitpacking,
  outOfLinePackedBytes,
} from "../compression/outOfLineBitpacking.js";
import { describeRle, RleBlock } from "../compression/rle.js";
import type { StructuralVersion } from "../container/page.js";

/** Most events of a chunk, and most bytes of either of its kinds of levels: both are told in 16 bits. */
export const MAXIMUM_CHUNK_LEVELS = 65_535;

/** Levels to bytes, a range at a time. */
export interface LevelEncoder {
  readonly encoding: CompressiveEncoding;
  /** Bytes of the levels from `start` to `end − 1`. */
  measure(start: number, end: number): number;
  /** Writes the levels that were measured last. */
  write(output: Uint8Array, outputOffset: number): void;
}

/** @param bits that hold each of the levels */
export function levelEncoder(levels: Uint16Array, bits: number, version: StructuralVersion): LevelEncoder {
  return version !== "2.1" && runsSave(levels, bits) ? runEncoder(levels) : packEncoder(levels, bits);
}

/** All levels of a page as one block. */
export function encodeLevels(encoder: LevelEncoder, count: number): Uint8Array {
  const block = new Uint8Array(encoder.measure(0, count));
  encoder.write(block, 0);
  return block;
}

function packEncoder(levels: Uint16Array, bits: number): LevelEncoder {
  let start = 0;
  let end = 0;
  return {
    encoding: describeOutOfLineBitpacking(16, bits),
    measure(measuredStart, measuredEnd) {
      start = measuredStart;
      end = measuredEnd;
      return outOfLinePackedBytes(bits, end - start);
    },
    write: (output, outputOffset) =>
      encodeOutOfLineBitpacking(bits, levels, start, end, output, outputOffset),
  };
}

function runEncoder(levels: Uint16Array): LevelEncoder {
  const bytes = new Uint8Array(levels.buffer, levels.byteOffset, levels.byteLength);
  const block = new RleBlock(16);
  return {
    encoding: describeRle(16),
    measure: (start, end) => block.encode(bytes, 2 * start, end - start),
    write: (output, outputOffset) => block.write(output, outputOffset),
  };
}

/** Bytes of a run of levels, and of the head of a block of them. */
const RUN_BYTES = 3;
const BLOCK_HEAD_BYTES = 8;
/** Longest run that is told at once. */
const MAXIMUM_RUN = 255;
/** Units that the levels of one chunk are spread over at most. */
const CHUNK_UNITS = Math.ceil(MAXIMUM_CHUNK_LEVELS / PACK_UNIT) + 1;

/**
 * Whether levels take less room as runs, were they cut into chunks of a unit each, and no chunk of any size could
 * have more bytes of them than it can tell.
 */
function runsSave(levels: Uint16Array, bits: number): boolean {
  const limit = outOfLinePackedBytes(bits, levels.length);
  const unitBytes: number[] = [];
  let total = 0;
  let chunkBytes = 0;
  for (let start = 0; start < levels.length; start += PACK_UNIT) {
    const end = Math.min(start + PACK_UNIT, levels.length);
    let runs = Math.ceil((end - start) / MAXIMUM_RUN);
    for (let index = start + 1; index < end; index++) runs += +(levels[index] !== levels[index - 1]);
    const size = BLOCK_HEAD_BYTES + RUN_BYTES * runs;
    total += size;
    if (total >= limit) return false;
    unitBytes.push(size);
    chunkBytes += size;
    if (unitBytes.length > CHUNK_UNITS) chunkBytes -= unitBytes[unitBytes.length - 1 - CHUNK_UNITS];
    if (chunkBytes > MAXIMUM_CHUNK_LEVELS) return false;
  }
  return true;
}
