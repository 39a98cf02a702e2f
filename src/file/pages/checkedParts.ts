/**
 * Verifies parts of a page. Each range grows to the blocks that have checksums (container/blockChecksums.ts),
 * unless these blocks were verified before. Pure: plans the reads, and cuts the ranges out of the bytes read.
 */

import { countBytes, type RangeList } from "../../io/disk/ranges.js";
import { BLOCK_BYTES, type BlockChecks } from "../container/blockChecksums.js";

/** Checks of each buffer of a page; null for a buffer that is verified whole. */
export type PageChecks = readonly (BlockChecks | null)[];

/** Returns the approximate bytes of memory, for caches. */
export function weightOfChecks(checks: PageChecks): number {
  let weight = 64;
  for (const check of checks) weight += check?.memoryWeight ?? 0;
  return weight;
}

/** Plan of reads for ranges that are not verified yet. */
export interface CheckedRead {
  /** Ranges that are wanted. */
  readonly wanted: RangeList;
  /** Ranges to read: tables of checksums, then whole blocks that hold the wanted ranges. */
  readonly reads: RangeList;
  /** Buffers whose tables of checksums come first. */
  readonly lacking: readonly BlockChecks[];
  /** Index in `reads` of the read that holds each range. */
  readonly readOf: Uint32Array;
}

/**
 * Plans how ranges of a page are verified.
 * @returns null if there is nothing to verify
 */
export function planChecks(checks: PageChecks, wanted: RangeList): CheckedRead | null {
  const lacking = lackingTables(checks, wanted);
  if (lacking === null) return null;
  const rangeCount = wanted.lengths.length;
  const starts = new Float64Array(lacking.length + rangeCount);
  const ends = new Float64Array(lacking.length + rangeCount);
  const readOf = new Uint32Array(rangeCount);
  let count = 0;
  for (const { table } of lacking) {
    starts[count] = table?.byteOffset ?? 0;
    ends[count] = starts[count] + (table?.length ?? 0);
    count++;
  }
  /** Checks of the buffer of the last read. */
  let lastCheck: BlockChecks | null = null;
  for (let index = 0; index < rangeCount; index++) {
    let start = wanted.byteOffsets[index];
    let end = start + wanted.lengths[index];
    const check = checkOf(checks, start, end);
    if (check?.isToVerify(start, end) === true) {
      start = check.startOfBlock(start);
      end = check.endOfBlock(end);
    }
    const last = count - 1;
    // Reading a gap of one block along with its neighbours costs less than a copy that leaves it out.
    const adjoins =
      check !== null && check === lastCheck && start >= starts[last] && start <= ends[last] + BLOCK_BYTES;
    if (adjoins) {
      ends[last] = Math.max(ends[last], end);
    } else {
      starts[count] = start;
      ends[count++] = end;
      lastCheck = check;
    }
    readOf[index] = count - 1;
  }
  const reads = {
    byteOffsets: starts.subarray(0, count),
    lengths: ends.subarray(0, count).map((end, index) => end - starts[index]),
  };
  return { wanted, reads, lacking, readOf };
}

/**
 * Finds the buffers whose tables of checksums must be read first.
 * @returns null if no range must be verified
 */
function lackingTables(checks: PageChecks, { byteOffsets, lengths }: RangeList): BlockChecks[] | null {
  const lacking: BlockChecks[] = [];
  let isAny = false;
  for (let index = 0; index < lengths.length; index++) {
    const start = byteOffsets[index];
    const end = start + lengths[index];
    const check = checkOf(checks, start, end);
    if (check?.isToVerify(start, end) !== true) continue;
    isAny = true;
    if (check.needsTable && !lacking.includes(check)) lacking.push(check);
  }
  return isAny ? lacking : null;
}

/** Returns the checks of the buffer that holds a range; null for an empty range. */
function checkOf(checks: PageChecks, start: number, end: number): BlockChecks | null {
  if (start === end) return null;
  for (const check of checks) {
    if (check === null) continue;
    const { byteOffset, length } = check.buffer;
    if (start >= byteOffset && end <= byteOffset + length) return check;
  }
  return null;
}

/**
 * Verifies the bytes read, and cuts out the ranges.
 * @param bytes of the `reads`, back to back
 * @param allocate makes memory for the ranges
 * @returns the ranges, back to back
 * @throws CorruptFileError
 */
export function cutChecked(
  { wanted, reads, lacking, readOf }: CheckedRead,
  checks: PageChecks,
  bytes: Uint8Array,
  allocate: (byteLength: number) => Uint8Array<ArrayBuffer>,
  path: string,
): Uint8Array<ArrayBuffer> {
  const { byteOffsets, lengths } = reads;
  const positions = new Float64Array(lengths.length);
  let position = 0;
  for (let index = 0; index < lengths.length; index++) {
    positions[index] = position;
    position += lengths[index];
    const part = bytes.subarray(positions[index], position);
    const start = byteOffsets[index];
    if (index < lacking.length) lacking[index].takeTable(part);
    else checkOf(checks, start, start + part.length)?.verify(part, start, path);
  }
  const out = allocate(countBytes(wanted));
  let end = 0;
  for (let index = 0; index < readOf.length; index++) {
    const start = positions[readOf[index]] + wanted.byteOffsets[index] - byteOffsets[readOf[index]];
    out.set(bytes.subarray(start, start + wanted.lengths[index]), end);
    end += wanted.lengths[index];
  }
  return out;
}
