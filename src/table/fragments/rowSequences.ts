/**
 * Encodes the ids of a fragment's rows, and the versions that made and last changed them, in a table with
 * stable row ids. They mostly form a few runs: of ids that count up, or of one version for many rows. Files
 * hold runs in five forms. All can be read; for each stretch, the shortest is written:
 *
 *     range             start, end
 *     rangeWithHoles    a range and the ascending values it lacks
 *     rangeWithBitmap   a range and a bit for each of its values, least-significant first
 *     sortedArray       ascending values, as a base and offsets of 16 or 32 bits, or as 64 bits each
 *     array             the same in any order
 *
 * Versions are stored as pairs of such a segment and a number. Their segments hold row positions, which may
 * have gaps after deletions, so only the lengths of the segments matter.
 */

import { countOnes } from "../../bytes/bits.js";
import { CorruptFileError } from "../../errors.js";
import {
  EncodedU64Array,
  RowDatasetVersionSequence,
  RowIdSequence,
  U16Array,
  U32Array,
  U64Array,
  U64Range,
  U64RangeWithBitmap,
  U64RangeWithHoles,
  U64Segment,
} from "../../format/table.js";

/** A value for each row, in runs. */
export interface ValueRuns {
  /** Difference between the values of two consecutive rows of a run: 1 for ids, 0 for versions. */
  readonly step: 0 | 1;
  /** Value of the first row of each run. */
  readonly values: readonly number[];
  /** Number of rows of each run, at least 1. */
  readonly counts: readonly number[];
}

/** Version of rows if the table does not record when they were made or changed: the first. */
export const UNKNOWN_ROW_VERSION = 1;

/** Maximum gap between ids of one segment. Each id in the gap takes a bit. */
const MAX_GAP = 64;
/** Maximum number of ids of a stretch that is listed id by id, if enough such stretches follow each other. */
const MAX_LISTED = 2;
const MIN_LISTED_STRETCHES = 4;

// -------------------------------------------------------------------------------------------------- runs

class RunBuilder implements ValueRuns {
  readonly step: 0 | 1;
  readonly values: number[] = [];
  readonly counts: number[] = [];

  constructor(step: 0 | 1) {
    this.step = step;
  }

  add(value: number, count: number): void {
    if (count === 0) return;
    const last = this.values.length - 1;
    if (last >= 0 && this.values[last] + this.step * this.counts[last] === value) {
      this.counts[last] += count;
    } else {
      this.values.push(value);
      this.counts.push(count);
    }
  }

  addAll({ values, counts }: ValueRuns): void {
    for (let run = 0; run < values.length; run++) this.add(values[run], counts[run]);
  }
}

/** Makes runs with the same value for all rows. */
export const uniformRuns = (value: number, rowCount: number): ValueRuns => ({
  step: 0,
  values: rowCount === 0 ? [] : [value],
  counts: rowCount === 0 ? [] : [rowCount],
});

/** Concatenates the rows of all parts. */
export function concatRuns(step: 0 | 1, parts: readonly ValueRuns[]): ValueRuns {
  const joined = new RunBuilder(step);
  for (const part of parts) joined.addAll(part);
  return joined;
}

/** @param deleted ascending positions of the rows to omit */
export function withoutRows(runs: ValueRuns, deleted: Uint32Array): ValueRuns {
  const kept = new RunBuilder(runs.step);
  let next = 0;
  let position = 0;
  for (let run = 0; run < runs.values.length; run++) {
    const end = position + runs.counts[run];
    const first = runs.values[run] - runs.step * position;
    while (next < deleted.length && deleted[next] < end) {
      kept.add(first + runs.step * position, deleted[next] - position);
      position = deleted[next++] + 1;
    }
    kept.add(first + runs.step * position, end - position);
    position = end;
  }
  return kept;
}

/** @param rows ascending positions of the rows to keep */
export function pickRuns(runs: ValueRuns, rows: Uint32Array): ValueRuns {
  const picked = new RunBuilder(runs.step);
  let next = 0;
  let position = 0;
  for (let run = 0; run < runs.values.length && next < rows.length; run++) {
    const end = position + runs.counts[run];
    const first = runs.values[run] - runs.step * position;
    while (next < rows.length && rows[next] < end) picked.add(first + runs.step * rows[next++], 1);
    position = end;
  }
  return picked;
}

/** Returns the number of rows that have a value. */
export const rowsOfRuns = ({ counts }: ValueRuns): number => counts.reduce((sum, count) => sum + count, 0);

/** Cuts runs into pieces with these numbers of rows. */
export function splitRuns(runs: ValueRuns, rowCounts: readonly number[]): ValueRuns[] {
  let run = 0;
  let used = 0;
  return rowCounts.map((rowCount) => {
    const piece = new RunBuilder(runs.step);
    for (let left = rowCount; left > 0; ) {
      const count = Math.min(left, runs.counts[run] - used);
      piece.add(runs.values[run] + runs.step * used, count);
      left -= count;
      used += count;
      if (used < runs.counts[run]) continue;
      run++;
      used = 0;
    }
    return piece;
  });
}

// --------------------------------------------------------------------------------------------------- ids

/**
 * Decodes the ids of all rows of a fragment.
 * @param path path of the manifest, for errors
 * @throws CorruptFileError if the number of ids is not `rowCount`
 */
export function decodeRowIds(bytes: Uint8Array, rowCount: number, path: string): ValueRuns {
  const ids = decodeLeadingRowIds(bytes, rowCount, path);
  const count = rowsOfRuns(ids);
  if (count !== rowCount) throw damaged(path, `${count} row ids for ${rowCount} rows`);
  return ids;
}

/**
 * Like {@link decodeRowIds}, for new rows of a transaction. Moved rows come first and have ids. The commit
 * assigns ids to the other rows.
 */
export function decodeLeadingRowIds(bytes: Uint8Array, rowCount: number, path: string): ValueRuns {
  const { segments } = RowIdSequence.decode(bytes, { path, byteOffset: 0 });
  const ids = new RunBuilder(1);
  let left = rowCount;
  for (const segment of segments) left -= addSegment(ids, segment, left, path);
  return ids;
}

export function encodeRowIds(runs: ValueRuns): Uint8Array {
  const segments: U64Segment[] = [];
  const stretches = [...stretchesOf(runs)];
  const isShort = ({ count }: Stretch): boolean => count <= MAX_LISTED;
  for (let index = 0; index < stretches.length; ) {
    let end = index;
    while (end < stretches.length && isShort(stretches[end])) end++;
    if (end - index >= MIN_LISTED_STRETCHES) {
      const ids = stretches.slice(index, end).flatMap((stretch) => idsOf(runs, stretch));
      segments.push(U64Segment.create({ array: encodeArray(ids) }));
      index = end;
    } else {
      segments.push(segmentOf(runs, stretches[index]));
      index++;
    }
  }
  return RowIdSequence.encode(RowIdSequence.create({ segments }));
}

/** A group of runs that ascend with small gaps. */
interface Stretch {
  readonly firstRun: number;
  /** One past the last run. */
  readonly endRun: number;
  /** Total number of ids. */
  readonly count: number;
}

function* stretchesOf({ values, counts }: ValueRuns): Generator<Stretch, void, undefined> {
  for (let firstRun = 0; firstRun < values.length; ) {
    let count = counts[firstRun];
    let endRun = firstRun + 1;
    for (; endRun < values.length; endRun++) {
      const gap = values[endRun] - (values[endRun - 1] + counts[endRun - 1]);
      if (gap < 0 || gap > MAX_GAP) break;
      count += counts[endRun];
    }
    yield { firstRun, endRun, count };
    firstRun = endRun;
  }
}

function idsOf({ values, counts }: ValueRuns, { firstRun, endRun }: Stretch): number[] {
  const ids: number[] = [];
  for (let run = firstRun; run < endRun; run++) {
    for (let index = 0; index < counts[run]; index++) ids.push(values[run] + index);
  }
  return ids;
}

/** Encodes a stretch in its shortest form. */
function segmentOf(runs: ValueRuns, stretch: Stretch): U64Segment {
  const { values, counts } = runs;
  const { firstRun, endRun, count } = stretch;
  const start = values[firstRun];
  const end = values[endRun - 1] + counts[endRun - 1];
  if (end - start === count) return U64Segment.create({ range: U64Range.create({ start, end }) });
  const width = byteWidthOf(end - 1 - start);
  const bitmapBytes = Math.ceil((end - start) / 8);
  const holesBytes = (end - start - count) * width;
  if (count * width < Math.min(bitmapBytes, holesBytes)) {
    return U64Segment.create({ sortedArray: encodeArray(idsOf(runs, stretch)) });
  }
  if (holesBytes < bitmapBytes) {
    const holes: number[] = [];
    for (let run = firstRun + 1; run < endRun; run++) {
      for (let id = values[run - 1] + counts[run - 1]; id < values[run]; id++) holes.push(id);
    }
    return U64Segment.create({
      rangeWithHoles: U64RangeWithHoles.create({ start, end, holes: encodeArray(holes) }),
    });
  }
  const bitmap = new Uint8Array(bitmapBytes);
  for (let run = firstRun; run < endRun; run++) {
    const first = values[run] - start;
    for (let bit = first; bit < first + counts[run]; bit++) bitmap[bit >>> 3] |= 1 << (bit & 7);
  }
  return U64Segment.create({ rangeWithBitmap: U64RangeWithBitmap.create({ start, end, bitmap }) });
}

const byteWidthOf = (span: number): 2 | 4 | 8 => (span < 2 ** 16 ? 2 : span < 2 ** 32 ? 4 : 8);

// ---------------------------------------------------------------------------------------------- versions

/** Like {@link decodeRowIds}, for the version of each row. */
export function decodeRowVersions(bytes: Uint8Array, rowCount: number, path: string): ValueRuns {
  const sequence = RowDatasetVersionSequence.decode(bytes, { path, byteOffset: 0 });
  const versions = new RunBuilder(0);
  let left = rowCount;
  for (const { span, version } of sequence.runs) {
    const count = span === undefined ? 0 : addSegment(new RunBuilder(1), span, left, path);
    versions.add(version, count);
    left -= count;
  }
  if (left !== 0) throw damaged(path, `versions of ${rowCount - left} rows for ${rowCount} rows`);
  return versions;
}

export function encodeRowVersions({ values, counts }: ValueRuns): Uint8Array {
  let start = 0;
  const runs = values.map((version, run) => {
    const span = U64Segment.create({ range: U64Range.create({ start, end: start + counts[run] }) });
    start += counts[run];
    return { span, version };
  });
  return RowDatasetVersionSequence.encode(RowDatasetVersionSequence.create({ runs }));
}

// ---------------------------------------------------------------------------------------------- segments

/** Adds at most `limit` values of a segment, and returns their number. */
function addSegment(target: RunBuilder, segment: U64Segment, limit: number, path: string): number {
  const { range, rangeWithHoles, rangeWithBitmap } = segment;
  const checkedCount = (count: number): number => {
    if (count < 0 || count > limit) throw damaged(path, `a segment of ${count} rows where ${limit} are left`);
    return count;
  };
  if (range !== undefined) {
    const count = checkedCount(range.end - range.start);
    target.add(range.start, count);
    return count;
  }
  if (rangeWithHoles !== undefined) {
    const { start, end } = rangeWithHoles;
    const holes = decodeArray(rangeWithHoles.holes, path);
    const count = checkedCount(end - start - holes.length);
    let next = start;
    for (const hole of holes) {
      if (hole < next || hole >= end)
        throw damaged(path, `hole ${hole} of ${start} to ${end} is out of order`);
      target.add(next, hole - next);
      next = hole + 1;
    }
    target.add(next, end - next);
    return count;
  }
  if (rangeWithBitmap !== undefined) {
    const { start, end, bitmap } = rangeWithBitmap;
    const span = end - start;
    if (span < 0 || span > bitmap.length * 8) {
      throw damaged(path, `a bitmap of ${bitmap.length} bytes for ${span} values`);
    }
    const count = checkedCount(countOnes(bitmap, 0, span));
    for (let bit = 0; bit < span; bit++) {
      if ((bitmap[bit >>> 3] & (1 << (bit & 7))) !== 0) target.add(start + bit, 1);
    }
    return count;
  }
  const values = decodeArray(segment.sortedArray ?? segment.array, path);
  checkedCount(values.length);
  for (const value of values) target.add(value, 1);
  return values.length;
}

function encodeArray(values: readonly number[]): EncodedU64Array {
  let base = Number.POSITIVE_INFINITY;
  let last = 0;
  for (const value of values) {
    base = Math.min(base, value);
    last = Math.max(last, value);
  }
  const width = byteWidthOf(last - base);
  const bytes = new Uint8Array(values.length * width);
  const view = new DataView(bytes.buffer);
  for (const [index, value] of values.entries()) {
    if (width === 2) view.setUint16(2 * index, value - base, true);
    else if (width === 4) view.setUint32(4 * index, value - base, true);
    else view.setBigUint64(8 * index, BigInt(value), true);
  }
  switch (width) {
    case 2:
      return EncodedU64Array.create({ u16Array: U16Array.create({ base, offsets: bytes }) });
    case 4:
      return EncodedU64Array.create({ u32Array: U32Array.create({ base, offsets: bytes }) });
    case 8:
      return EncodedU64Array.create({ u64Array: U64Array.create({ values: bytes }) });
  }
}

function decodeArray(array: EncodedU64Array | undefined, path: string): number[] {
  if (array?.u16Array !== undefined) return offsetsOf(array.u16Array, 2, path);
  if (array?.u32Array !== undefined) return offsetsOf(array.u32Array, 4, path);
  return offsetsOf({ base: 0, offsets: array?.u64Array?.values ?? new Uint8Array(0) }, 8, path);
}

function offsetsOf(
  { base, offsets }: { readonly base: number; readonly offsets: Uint8Array },
  width: 2 | 4 | 8,
  path: string,
): number[] {
  if (offsets.length % width !== 0) throw damaged(path, `${offsets.length} bytes of values of ${width}`);
  const view = new DataView(offsets.buffer, offsets.byteOffset, offsets.length);
  const values: number[] = [];
  for (let byteOffset = 0; byteOffset < offsets.length; byteOffset += width) {
    const offset =
      width === 2
        ? view.getUint16(byteOffset, true)
        : width === 4
          ? view.getUint32(byteOffset, true)
          : Number(view.getBigUint64(byteOffset, true));
    if (!Number.isSafeInteger(base + offset)) throw damaged(path, "a value beyond 2^53");
    values.push(base + offset);
  }
  return values;
}

const damaged = (path: string, reason: string): CorruptFileError =>
  new CorruptFileError(path, 0, `row ids or versions: ${reason}`);
