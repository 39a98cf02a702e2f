/**
 * Reads many byte ranges of a file in few calls. It reads neighbouring ranges together, and bounds the number
 * of concurrent reads. Invariants:
 *
 * - The answer has one view per range, in the order of the request. Ranges that were read together share
 *   memory, so one view keeps the whole read alive.
 * - A read starts at a multiple of 64 in the file, so a view has the alignment of its file offset. Any typed
 *   array fits over a range at a multiple of 8.
 */

import { mapParallel, runParallel } from "../../async/parallel.js";
import { CorruptFileError } from "../../errors.js";
import type { ScratchMemory } from "../memory/scratch.js";
import type { ReadHandle, ReadPieces } from "./disk.js";

export interface ByteRange {
  readonly byteOffset: number;
  /** Length in bytes. */
  readonly length: number;
}

export interface ReadPlan {
  /** In file order. */
  readonly reads: readonly ByteRange[];
  /** Index of the read that holds each requested range, and the start in it; -1 for an empty range. */
  readonly placements: readonly { readonly readIndex: number; readonly start: number }[];
}

const READ_ALIGNMENT = 64;
/** Maximum gap in bytes between two ranges that are read together, about the cost of one call. */
const GAP_BYTES = 64 * 1024;
/** Maximum number of bytes of a read that joins ranges; a longer single range is still one read. */
const MAX_READ_BYTES = 64 * 1024 * 1024;
/** Maximum number of concurrent reads. */
const PARALLELISM = 4;

/** Plans the reads of ranges, which may overlap, in any order. Only tests set other limits. */
export function planReads(
  ranges: readonly ByteRange[],
  gapBytes = GAP_BYTES,
  maxReadBytes = MAX_READ_BYTES,
): ReadPlan {
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
 * Reads the bytes of each range, in the order of the request.
 * @param allocate allocates the memory of a read, 8-byte aligned. Default: separate memory for each read
 * @throws CorruptFileError before any read, if a range does not lie within the file
 */
export async function readRanges(
  handle: ReadHandle,
  ranges: readonly ByteRange[],
  allocate?: (byteLength: number) => Uint8Array,
): Promise<Uint8Array[]> {
  for (const { byteOffset, length } of ranges) checkRange(handle, byteOffset, length);
  const plan = planReads(ranges);
  const buffers = await mapParallel(plan.reads, PARALLELISM, ({ byteOffset, length }) =>
    handle.read(byteOffset, length, allocate?.(length)),
  );
  return plan.placements.map(({ readIndex, start }, rangeIndex) =>
    readIndex < 0 ? new Uint8Array(0) : buffers[readIndex].subarray(start, start + ranges[rangeIndex].length),
  );
}

function checkRange(handle: ReadHandle, byteOffset: number, length: number): void {
  const valid =
    Number.isSafeInteger(byteOffset) && Number.isSafeInteger(length) && byteOffset >= 0 && length >= 0;
  if (valid && byteOffset + length <= handle.size) return;
  throw new CorruptFileError(
    handle.path,
    valid ? byteOffset : 0,
    `refers to ${length} bytes at ${byteOffset} of a file of ${handle.size}`,
  );
}

/**
 * Like {@link readRanges}, for few bytes that the system's cache mostly holds: these are read in line.
 * @param allocate allocates the memory for all of them, 8-byte aligned
 */
export async function readAtOnce(
  handle: ReadHandle,
  ranges: readonly ByteRange[],
  allocate: (byteLength: number) => Uint8Array,
): Promise<Uint8Array[]> {
  if (handle.readInto === undefined) return readRanges(handle, ranges, allocate);
  for (const { byteOffset, length } of ranges) checkRange(handle, byteOffset, length);
  const { reads, placements } = planReads(ranges);
  const positions = new Float64Array(reads.length);
  let byteLength = 0;
  for (const [index, { length }] of reads.entries()) {
    positions[index] = byteLength;
    byteLength += Math.ceil(length / READ_ALIGNMENT) * READ_ALIGNMENT;
  }
  const memory = allocate(byteLength);
  await handle.readInto(memory, {
    byteOffsets: Float64Array.from(reads, ({ byteOffset }) => byteOffset),
    lengths: Float64Array.from(reads, ({ length }) => length),
    positions,
  });
  return placements.map(({ readIndex, start }, index) => {
    if (readIndex < 0) return new Uint8Array(0);
    const from = positions[readIndex] + start;
    return memory.subarray(from, from + ranges[index].length);
  });
}

/** Many ranges of a file, as two lists of one length. */
export interface RangeList {
  readonly byteOffsets: Float64Array;
  /** Length of each range in bytes. */
  readonly lengths: Float64Array;
}

/** Maximum gap between ranges that one read gathers: a page of the system's cache. */
const GATHER_GAP_BYTES = 4096;

/** Sums the bytes of all ranges. */
export function countBytes({ lengths }: RangeList): number {
  let sum = 0;
  for (let index = 0; index < lengths.length; index++) sum += lengths[index];
  return sum;
}

/** Sums the bytes that {@link gatherRanges} reads. */
export function gatheredBytes({ byteOffsets, lengths }: RangeList): number {
  let byteLength = 0;
  for (let index = 0, end = 0; index < lengths.length; index++) {
    const gap = byteOffsets[index] - end;
    if (index > 0 && isReadAlong(gap)) byteLength += gap;
    byteLength += lengths[index];
    end = byteOffsets[index] + lengths[index];
  }
  return byteLength;
}

/** Returns true if the gap between two ranges is read as well. */
const isReadAlong = (gap: number): boolean => gap >= 0 && gap <= GATHER_GAP_BYTES;

/**
 * Reads all ranges into one memory, one range after the other. It serves many small ranges: no range costs a
 * promise or an object, and if the disk has all bytes at once, the caller need not wait.
 * @param scratch lends the memory for reads that include gaps
 * @param allocate makes the memory that is returned; default: fresh memory
 * @throws CorruptFileError before any read, if a range does not lie within the file
 */
export function gatherRanges(
  handle: ReadHandle,
  ranges: RangeList,
  scratch: ScratchMemory,
  allocate = (byteLength: number) => new Uint8Array(byteLength),
): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
  const { byteOffsets, lengths } = ranges;
  for (let index = 0; index < lengths.length; index++) checkRange(handle, byteOffsets[index], lengths[index]);
  const { reads, starts, byteLength } = planGather(ranges);
  const wantedBytes = countBytes(ranges);
  const direct = wantedBytes === byteLength;
  const read = direct ? allocate(byteLength) : scratch.lend(byteLength);
  const reading =
    handle.readInto === undefined ? readEach(handle, read, reads) : handle.readInto(read, reads);
  const finish = (): Uint8Array<ArrayBuffer> => {
    if (direct) return read;
    const wanted = allocate(wantedBytes);
    for (let index = 0, position = 0; index < lengths.length; index++) {
      wanted.set(read.subarray(starts[index], starts[index] + lengths[index]), position);
      position += lengths[index];
    }
    scratch.giveBack(read);
    return wanted;
  };
  return reading === undefined ? finish() : reading.then(finish);
}

interface GatherPlan {
  /** Reads in the order of the ranges; they follow one another in memory. */
  readonly reads: ReadPieces;
  /** Start of each range in the memory of the reads. */
  readonly starts: Float64Array;
  /** Sum of the reads in bytes. */
  readonly byteLength: number;
}

/** Joins each range to the previous one if the gap between them is small. */
function planGather({ byteOffsets, lengths }: RangeList): GatherPlan {
  const readStarts = new Float64Array(lengths.length);
  const readLengths = new Float64Array(lengths.length);
  const positions = new Float64Array(lengths.length);
  const starts = new Float64Array(lengths.length);
  let count = 0;
  let end = 0;
  let byteLength = 0;
  for (let index = 0; index < lengths.length; index++) {
    const length = lengths[index];
    const gap = byteOffsets[index] - end;
    if (count > 0 && isReadAlong(gap)) {
      readLengths[count - 1] += gap + length;
      byteLength += gap;
    } else {
      readStarts[count] = byteOffsets[index];
      positions[count] = byteLength;
      readLengths[count++] = length;
    }
    starts[index] = byteLength;
    byteLength += length;
    end = byteOffsets[index] + length;
  }
  const reads = {
    byteOffsets: readStarts.subarray(0, count),
    lengths: readLengths.subarray(0, count),
    positions: positions.subarray(0, count),
  };
  return { reads, starts, byteLength };
}

/** Reads each piece with one `read`, with a bounded number of concurrent reads. */
function readEach(
  handle: ReadHandle,
  target: Uint8Array,
  { byteOffsets, lengths, positions }: ReadPieces,
): Promise<void> {
  return runParallel(lengths.length, PARALLELISM, async (index) => {
    target.set(await handle.read(byteOffsets[index], lengths[index]), positions[index]);
  });
}
