/**
 * What is read of a page in part, verified: each range is widened to the blocks that have checksums
 * (container/blockChecksums.ts), unless these were verified before. Pure: it plans what to read and cuts the ranges out of what
 * was read.
 */

import type { RangeList } from "../../io/disk/ranges.js";
import { BLOCK_BYTES, type BlockChecks } from "../container/blockChecksums.js";

/** Of each buffer of a page; null for one of which all was verified. */
export type PageChecks = readonly (BlockChecks | null)[];

/** Approximate bytes of memory, for caches. */
export function weightOfChecks(checks: PageChecks): number {
  let weight = 64;
  for (const check of checks) weight += check?.memoryWeight ?? 0;
  return weight;
}

/** How ranges are read that have yet to be verified. */
export interface CheckedRead {
  /** The ranges themselves. */
  readonly wanted: RangeList;
  /** What to read: checksums that are not there yet, then whole blocks that hold the ranges. */
  readonly reads: RangeList;
  /** Whose checksums come first. */
  readonly lacking: readonly BlockChecks[];
  /** Which of the `reads` holds each range. */
  readonly readOf: Uint32Array;
}

/** Plans how ranges of a page are verified. @returns null where there is nothing to verify */
export function planChecks(checks: PageChecks, wanted: RangeList): CheckedRead | null {
  const { byteOffsets, lengths } = wanted;
  const lacking: BlockChecks[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  const readOf = new Uint32Array(lengths.length);
  let isAny = false;
  for (let index = 0; index < lengths.length; index++) {
    let start = byteOffsets[index];
    let end = start + lengths[index];
    const check = checkOf(checks, start, end);
    if (check?.isToVerify(start, end) === true) {
      isAny = true;
      start = check.startOfBlock(start);
      end = check.endOfBlock(end);
      if (check.lacksTable && !lacking.includes(check)) lacking.push(check);
    }
    const last = starts.length - 1;
    // A gap of a block would be read along, and costs less here than a copy without it.
    const adjoins = last >= 0 && start >= starts[last] && start <= ends[last] + BLOCK_BYTES;
    if (adjoins && isSame(checks, starts[last], check)) {
      ends[last] = Math.max(ends[last], end);
    } else {
      starts.push(start);
      ends.push(end);
    }
    readOf[index] = starts.length - 1;
  }
  if (!isAny) return null;
  const before = lacking.length;
  const reads = {
    byteOffsets: new Float64Array(before + starts.length),
    lengths: new Float64Array(before + starts.length),
  };
  for (const [index, { table }] of lacking.entries()) {
    reads.byteOffsets[index] = table?.byteOffset ?? 0;
    reads.lengths[index] = table?.length ?? 0;
  }
  for (let index = 0; index < starts.length; index++) {
    reads.byteOffsets[before + index] = starts[index];
    reads.lengths[before + index] = ends[index] - starts[index];
  }
  for (let index = 0; index < readOf.length; index++) readOf[index] += before;
  return { wanted, reads, lacking, readOf };
}

/** That of the buffer in which a range lies that is not empty. */
function checkOf(checks: PageChecks, start: number, end: number): BlockChecks | null {
  if (start === end) return null;
  for (const check of checks) {
    if (check === null) continue;
    const { byteOffset, length } = check.buffer;
    if (start >= byteOffset && end <= byteOffset + length) return check;
  }
  return null;
}

const isSame = (checks: PageChecks, start: number, check: BlockChecks | null): boolean =>
  check !== null && checkOf(checks, start, start + 1) === check;

/**
 * Verifies what was read, and cuts out the ranges.
 * @param bytes of the `reads`, one behind the other
 * @param allocate makes memory for the ranges
 * @returns the ranges, one behind the other
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
    if (index < lacking.length) lacking[index].takeTable(part);
    else
      checkOf(checks, byteOffsets[index], byteOffsets[index] + part.length)?.verify(
        part,
        byteOffsets[index],
        path,
      );
  }
  let byteLength = 0;
  for (let index = 0; index < wanted.lengths.length; index++) byteLength += wanted.lengths[index];
  const out = allocate(byteLength);
  let end = 0;
  for (let index = 0; index < readOf.length; index++) {
    const start = positions[readOf[index]] + wanted.byteOffsets[index] - byteOffsets[readOf[index]];
    out.set(bytes.subarray(start, start + wanted.lengths[index]), end);
    end += wanted.lengths[index];
  }
  return out;
}
