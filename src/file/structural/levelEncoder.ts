/**
 * Encodes the levels of one kind in a page. All chunks share one encoding, so it is chosen for the page: from
 * version 2.2 on runs, if they are smaller than packed levels; packed levels otherwise.
 */

import { bytesOf } from "../../bytes/view.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { PACK_UNIT } from "../compression/bitpack.js";
import {
  describeOutOfLineBitpacking,
  encodeOutOfLineBitpacking,
  outOfLinePackedBytes,
} from "../compression/outOfLineEncoder.js";
import { describeRle, MAXIMUM_RUN, RleBlock } from "../compression/rleEncoder.js";
import type { StructuralVersion } from "../container/page.js";
import { MAXIMUM_CHUNK_LEVELS } from "./chunkHeader.js";

/** Encodes levels to bytes, a range at a time. */
export interface LevelEncoder {
  readonly encoding: CompressiveEncoding;
  /** Bytes of the levels from `start` to `end − 1`. */
  measure(start: number, end: number): number;
  /** Writes the levels that were measured last. */
  write(output: Uint8Array, outputOffset: number): void;
}

/** @param bits bits that hold each level */
export function levelEncoder(levels: Uint16Array, bits: number, version: StructuralVersion): LevelEncoder {
  return version !== "2.1" && runsSave(levels, bits) ? runEncoder(levels) : packEncoder(levels, bits);
}

/** Encodes all levels of a page as one block. */
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
  const bytes = bytesOf(levels);
  const block = new RleBlock(16);
  return {
    encoding: describeRle(16),
    measure: (start, end) => block.encode(bytes, 2 * start, end - start),
    write: (output, outputOffset) => block.write(output, outputOffset),
  };
}

/** Bytes of one run of levels, and of the head of a block of runs. */
const RUN_BYTES = 3;
const BLOCK_HEAD_BYTES = 8;
/** Maximum units of the levels of one chunk. */
const CHUNK_UNITS = Math.ceil(MAXIMUM_CHUNK_LEVELS / PACK_UNIT) + 1;

/**
 * True if levels take less room as runs than packed, counted as if each unit were a chunk. False if a chunk
 * of some size could have more bytes of runs than its header can state.
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
