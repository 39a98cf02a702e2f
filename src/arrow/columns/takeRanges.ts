/** Picks ranges of a column's rows, in steps and in any order. A row may come several times. */

import type { Steps } from "../../async/eventLoop.js";
import { Pace } from "../../async/eventLoop.js";
import { copyBits } from "../../bytes/bits.js";
import type { Column, Validity } from "./column.js";
import { areNarrow, checkOffsetRange, wordsOf } from "./offsets.js";
import { LONG_VALUE_BYTES } from "./takeColumn.js";
import { validityFrom } from "./validity.js";

export interface RowRanges {
  /** First row of each range. */
  readonly starts: Float64Array;
  /** The row after the last row of each range. */
  readonly ends: Float64Array;
  /** Number of rows in all ranges together. */
  readonly rowCount: number;
}

/** Bytes that one step copies; a range and a row count as some bytes, too. */
const STEP_BYTES = 2 ** 19;
const RANGE_COST = 16;
const ROW_COST = 4;

/**
 * Returns the rows in memory of their own; a dictionary is shared.
 * @param ranges inside the column, whose own offsets ascend
 * @throws UnsupportedError for more text or items than offsets of 32 bits reach
 */
export function* takeRanges(column: Column, ranges: RowRanges): Steps<Column> {
  const length = ranges.rowCount;
  const validity = yield* takenValidity(column.validity, ranges);
  switch (column.kind) {
    case "null":
      return { kind: "null", length, validity: null };
    case "fixed": {
      const { byteWidth } = column;
      const values = yield* copiedRanges(column.values, byteWidth, ranges);
      return { kind: "fixed", length, validity, byteWidth, values };
    }
    case "bits": {
      const bits = yield* copiedBits(column.bits, column.bitOffset, ranges);
      return { kind: "bits", length, validity, bits, bitOffset: 0 };
    }
    case "variable": {
      const offsets = yield* takenOffsets(column.offsets, ranges);
      const bytes = yield* copiedRanges(column.bytes, 1, yield* innerRanges(column.offsets, ranges));
      return { kind: "variable", length, validity, offsets, bytes };
    }
    case "list": {
      const offsets = yield* takenOffsets(column.offsets, ranges);
      const items = yield* takeRanges(column.items, yield* innerRanges(column.offsets, ranges));
      return { kind: "list", length, validity, offsets, items };
    }
    case "fixedSizeList":
    case "sizedList": {
      const { dimension } = column;
      const items = yield* takeRanges(column.items, multiplied(ranges, dimension));
      return { kind: column.kind, length, validity, dimension, items } as Column;
    }
    case "dictionary": {
      const indices = (yield* takeRanges(column.indices, ranges)) as typeof column.indices;
      return { kind: "dictionary", length, validity, indices, dictionary: column.dictionary };
    }
    case "struct":
    case "packedStruct": {
      const children: Column[] = [];
      for (const child of column.children) children.push(yield* takeRanges(child, ranges));
      return { kind: column.kind, length, validity, children } as Column;
    }
  }
}

/** Returns the bytes of the memory that {@link takeRanges} takes. */
export function* bytesOfRanges(column: Column, ranges: RowRanges): Steps<number> {
  const { rowCount } = ranges;
  const validity = column.validity === null ? 0 : Math.ceil(rowCount / 8);
  switch (column.kind) {
    case "null":
      return 0;
    case "fixed":
      return validity + rowCount * column.byteWidth;
    case "bits":
      return validity + Math.ceil(rowCount / 8);
    case "variable":
    case "list": {
      const offsets = (rowCount + 1) * column.offsets.BYTES_PER_ELEMENT;
      const inner = yield* innerRanges(column.offsets, ranges);
      const values = column.kind === "variable" ? inner.rowCount : yield* bytesOfRanges(column.items, inner);
      return validity + offsets + values;
    }
    case "fixedSizeList":
    case "sizedList":
      return validity + (yield* bytesOfRanges(column.items, multiplied(ranges, column.dimension)));
    case "dictionary":
      return validity + (yield* bytesOfRanges(column.indices, ranges));
    case "struct":
    case "packedStruct": {
      let sum = validity;
      for (const child of column.children) sum += yield* bytesOfRanges(child, ranges);
      return sum;
    }
  }
}

function multiplied({ starts, ends, rowCount }: RowRanges, dimension: number): RowRanges {
  const times = (rows: Float64Array) => rows.map((row) => row * dimension);
  return { starts: times(starts), ends: times(ends), rowCount: rowCount * dimension };
}

/** Returns the ranges that offsets point to: one for each range of rows. */
function* innerRanges(offsets: Int32Array | BigInt64Array, { starts, ends }: RowRanges): Steps<RowRanges> {
  const inner = { starts: new Float64Array(starts.length), ends: new Float64Array(starts.length) };
  const pace = new Pace(STEP_BYTES);
  let rowCount = 0;
  for (let range = 0; range < starts.length; range++) {
    if (pace.isStep(RANGE_COST)) yield;
    const start = Number(offsets[starts[range]]);
    const end = Number(offsets[ends[range]]);
    inner.starts[range] = start;
    inner.ends[range] = end;
    rowCount += end - start;
  }
  return { ...inner, rowCount };
}

function* takenOffsets(
  source: Int32Array | BigInt64Array,
  { starts, ends, rowCount }: RowRanges,
): Steps<Int32Array | BigInt64Array> {
  const isNarrow = areNarrow(source);
  const taken = isNarrow ? new Int32Array(rowCount + 1) : new BigInt64Array(rowCount + 1);
  const to = isNarrow ? (taken as Int32Array) : wordsOf(taken as BigInt64Array);
  const from = isNarrow ? source : wordsOf(source);
  const pace = new Pace(STEP_BYTES);
  let write = 0;
  let total = 0;
  for (let range = 0; range < starts.length; range++) {
    if (pace.isStep(RANGE_COST)) yield;
    for (let row = starts[range]; row < ends[range]; row++) {
      if (pace.isStep(ROW_COST)) yield;
      write++;
      if (isNarrow) {
        total += from[row + 1] - from[row];
        checkOffsetRange(total);
        to[write] = total;
      } else {
        const word = row * 2;
        total += from[word + 2] - from[word] + (from[word + 3] - from[word + 1]) * 0x1_0000_0000;
        to[write * 2] = total;
        to[write * 2 + 1] = total / 0x1_0000_0000;
      }
    }
  }
  return taken;
}

function* copiedRanges(
  source: Uint8Array,
  byteWidth: number,
  { starts, ends, rowCount }: RowRanges,
): Steps<Uint8Array> {
  const target = new Uint8Array(rowCount * byteWidth);
  const pace = new Pace(STEP_BYTES);
  let write = 0;
  for (let range = 0; range < starts.length; range++) {
    if (pace.isStep(RANGE_COST)) yield;
    const end = ends[range] * byteWidth;
    for (let read = starts[range] * byteWidth; read < end; ) {
      const pieceEnd = Math.min(end, read + STEP_BYTES);
      if (pace.isStep(pieceEnd - read)) yield;
      if (pieceEnd - read >= LONG_VALUE_BYTES) {
        target.set(source.subarray(read, pieceEnd), write);
        write += pieceEnd - read;
        read = pieceEnd;
      } else {
        while (read < pieceEnd) target[write++] = source[read++];
      }
    }
  }
  return target;
}

function* copiedBits(
  bits: Uint8Array,
  bitOffset: number,
  { starts, ends, rowCount }: RowRanges,
): Steps<Uint8Array> {
  const target = new Uint8Array(Math.ceil(rowCount / 8));
  const pace = new Pace(STEP_BYTES);
  let write = 0;
  for (let range = 0; range < starts.length; range++) {
    if (pace.isStep(RANGE_COST)) yield;
    const end = ends[range];
    for (let read = starts[range]; read < end; ) {
      const count = Math.min(end - read, STEP_BYTES);
      if (pace.isStep(count)) yield;
      copyBits(bits, bitOffset + read, target, write, count);
      write += count;
      read += count;
    }
  }
  return target;
}

function* takenValidity(validity: Validity | null, ranges: RowRanges): Steps<Validity | null> {
  if (validity === null) return null;
  return validityFrom(yield* copiedBits(validity.bytes, validity.bitOffset, ranges), 0, ranges.rowCount);
}
