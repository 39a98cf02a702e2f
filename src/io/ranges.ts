/**
 * Reads many byte ranges of a file in few calls: neighbouring ranges are read together, a bounded number of
 * reads is under way at once. What always holds:
 *
 * - The answer has one view per range, in the order asked, over memory shared with its neighbours; holding one
 *   view keeps its whole read alive.
 * - A read starts at a multiple of 64 in the file, so a view keeps its file offset's alignment: a range at a
 *   multiple of 8 can be laid under any typed array.
 */

import { CorruptFileError } from "../errors.js";
import type { ReadHandle } from "./disk.js";

export interface ByteRange {
  readonly byteOffset: number;
  /** Bytes. */
  readonly length: number;
}

export interface ReadPlanOptions {
  /** Ranges at most this far apart are read together: about what one call costs, in bytes. Default 64 KiB. */
  readonly gapBytes?: number;
  /** No read grows beyond this by joining ranges; one longer range is still read whole. Default 64 MiB. */
  readonly maxReadBytes?: number;
}

export interface ReadRangesOptions extends ReadPlanOptions {
  /** Reads under way at once. Default 4. */
  readonly parallelism?: number;
}

export interface ReadPlan {
  /** In file order. */
  readonly reads: readonly ByteRange[];
  /** Per range asked for: which read holds it, and where in it; `readIndex` -1 for an empty range. */
  readonly placements: readonly { readonly readIndex: number; readonly start: number }[];
}

const READ_ALIGNMENT = 64;
const DEFAULT_GAP_BYTES = 64 * 1024;
const DEFAULT_MAX_READ_BYTES = 64 * 1024 * 1024;
const DEFAULT_PARALLELISM = 4;

/** Decides which reads serve the ranges. Ranges may overlap and come in any order. */
export function planReads(ranges: readonly ByteRange[], options: ReadPlanOptions = {}): ReadPlan {
  const gapBytes = options.gapBytes ?? DEFAULT_GAP_BYTES;
  const maxReadBytes = options.maxReadBytes ?? DEFAULT_MAX_READ_BYTES;
  const placements = ranges.map(() => ({ readIndex: -1, start: 0 }));
  const order: number[] = [];
  for (let rangeIndex = 0; rangeIndex < ranges.length; rangeIndex++) {
    if (ranges[rangeIndex].length > 0) order.push(rangeIndex);
  }
  order.sort((a, b) => ranges[a].byteOffset - ranges[b].byteOffset);

  const reads: { byteOffset: number; length: number }[] = [];
  for (const rangeIndex of order) {
    const { byteOffset, length } = ranges[rangeIndex];
    const end = byteOffset + length;
    let read = reads[reads.length - 1];
    const joins =
      read !== undefined &&
      byteOffset <= read.byteOffset + read.length + gapBytes &&
      (end <= read.byteOffset + read.length || end - read.byteOffset <= maxReadBytes);
    if (joins) {
      read.length = Math.max(read.length, end - read.byteOffset);
    } else {
      const start = byteOffset - (byteOffset % READ_ALIGNMENT);
      read = { byteOffset: start, length: end - start };
      reads.push(read);
    }
    placements[rangeIndex] = { readIndex: reads.length - 1, start: byteOffset - read.byteOffset };
  }
  return { reads, placements };
}

/**
 * The bytes of each range, in the order asked. A range that does not lie within the file is a
 * `CorruptFileError`, before anything is read.
 */
export async function readRanges(
  handle: ReadHandle,
  ranges: readonly ByteRange[],
  options: ReadRangesOptions = {},
): Promise<Uint8Array[]> {
  for (const { byteOffset, length } of ranges) {
    const valid =
      Number.isSafeInteger(byteOffset) && Number.isSafeInteger(length) && byteOffset >= 0 && length >= 0;
    if (!valid || byteOffset + length > handle.size) {
      throw new CorruptFileError(
        handle.path,
        valid ? byteOffset : 0,
        `refers to ${length} bytes at ${byteOffset} of a file of ${handle.size}`,
      );
    }
  }
  const plan = planReads(ranges, options);
  const buffers = new Array<Uint8Array>(plan.reads.length);
  let nextRead = 0;
  let failed = false;
  const readOn = async () => {
    while (nextRead < plan.reads.length && !failed) {
      const readIndex = nextRead++;
      const { byteOffset, length } = plan.reads[readIndex];
      try {
        buffers[readIndex] = await handle.read(byteOffset, length);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const parallelism = Math.max(1, Math.min(options.parallelism ?? DEFAULT_PARALLELISM, plan.reads.length));
  await Promise.all(Array.from({ length: parallelism }, readOn));
  return plan.placements.map(({ readIndex, start }, rangeIndex) =>
    readIndex < 0 ? new Uint8Array(0) : buffers[readIndex].subarray(start, start + ranges[rangeIndex].length),
  );
}
