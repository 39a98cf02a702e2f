/**
 * Repeated values of expressions. A short text can ask for very many, such as `array_repeat(array_repeat(s,
 * 1000), 1000)`. So their size is computed beforehand, and they are taken in steps.
 */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { codesIn } from "../../arrow/columns/lazyColumn.js";
import { areNarrow, checkOffsetRange } from "../../arrow/columns/offsets.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { takeBits, validityFrom } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { copyInSteps, STEP_BYTES } from "./work.js";

/** Maximum number of bytes, and of characters, that a function makes for one batch of rows. */
export const MAX_MADE = 2 ** 28;
/** Maximum number of values, and of bytes, taken in one step. For a fixed size, only bytes count. */
const FEW_VALUES = 2 ** 17;
const FEW_BYTES = 2 ** 21;
/** Up to this number of bytes, a loop copies a text faster than a call. */
const SHORT = 24;

/** @throws InvalidInputError if the values of a batch take too many bytes */
export function* takeBounded(column: Column, indices: Uint32Array, maxBytes = MAX_MADE): Steps<Column> {
  const byteLength = yield* takenBytes(column, indices);
  checkMade(byteLength, maxBytes);
  const isFew = indices.length <= FEW_VALUES || column.kind === "fixed";
  if (isFew && byteLength <= FEW_BYTES) return takeColumn(column, indices);
  return yield* takeInSteps(column, indices);
}

function* takenBytes(column: Column, indices: Uint32Array): Steps<number> {
  if (column.kind === "fixed") return column.byteWidth * indices.length;
  const { length } = indices;
  let byteLength = 0;
  const offsets =
    column.kind === "variable" && codesIn(column) === null && areNarrow(column.offsets)
      ? column.offsets
      : null;
  const bytesBefore = bytesBeforeValue(column);
  for (let first = 0; first < length; first += FEW_VALUES) {
    const end = Math.min(length, first + FEW_VALUES);
    if (offsets !== null) {
      for (let row = first; row < end; row++) byteLength += offsets[indices[row] + 1] - offsets[indices[row]];
    } else {
      for (let row = first; row < end; row++) {
        byteLength += bytesBefore(indices[row] + 1) - bytesBefore(indices[row]);
      }
    }
    if (end < length) yield;
  }
  return byteLength;
}

/** @throws InvalidInputError */
export function checkMade(size: number, max = MAX_MADE): void {
  if (size <= max) return;
  throw new InvalidInputError(
    `the values of an expression take more than ${max} bytes for one batch of rows`,
  );
}

/** Takes the values at `indices` like {@link takeColumn}. */
function* takeInSteps(column: Column, indices: Uint32Array): Steps<Column> {
  const { length } = indices;
  const validity = yield* takeValidity(column.validity, indices);
  switch (column.kind) {
    case "fixed": {
      const { byteWidth } = column;
      const values = new Uint8Array(byteWidth * length);
      const rows = Math.max(1, Math.min(FEW_VALUES, Math.floor(FEW_BYTES / byteWidth)));
      const plain = { ...column, validity: null };
      for (let first = 0; first < length; first += rows) {
        values.set(takeColumn(plain, indices.subarray(first, first + rows)).values, first * byteWidth);
        yield;
      }
      return { kind: "fixed", length, validity, byteWidth, values };
    }
    case "bits": {
      const bits = yield* bitsInSteps(column.bits, column.bitOffset, indices);
      return { kind: "bits", length, validity, bits, bitOffset: 0 };
    }
    case "variable": {
      if (!areNarrow(column.offsets)) return takeColumn(column, indices);
      return {
        kind: "variable",
        length,
        validity,
        ...(yield* takeTexts(column.offsets, column.bytes, indices)),
      };
    }
    case "list": {
      const { offsets: source } = column;
      const offsets = new Int32Array(length + 1);
      const pace = new Pace(FEW_VALUES);
      for (let row = 0; row < length; row++) {
        offsets[row + 1] = offsets[row] + Number(source[indices[row] + 1]) - Number(source[indices[row]]);
        checkOffsetRange(offsets[row + 1]);
        if (pace.isStep()) yield;
      }
      const startOf = (row: number) => Number(source[indices[row]]);
      const items = yield* takeInSteps(column.items, yield* itemPositions(offsets, startOf));
      return { kind: "list", length, validity, offsets, items };
    }
    case "fixedSizeList":
    case "sizedList": {
      const { dimension } = column;
      const offsets = new Int32Array(length + 1);
      for (let row = 0; row < length; row++) offsets[row + 1] = (row + 1) * dimension;
      const startOf = (row: number) => indices[row] * dimension;
      const items = yield* takeInSteps(column.items, yield* itemPositions(offsets, startOf));
      return { ...column, length, validity, items } as Column;
    }
    case "struct":
    case "packedStruct": {
      const children: Column[] = [];
      for (const child of column.children as readonly Column[])
        children.push(yield* takeInSteps(child, indices));
      return { kind: column.kind, length, validity, children } as Column;
    }
    default:
      return takeColumn(column, indices);
  }
}

function* takeTexts(
  source: Int32Array,
  from: Uint8Array,
  indices: Uint32Array,
): Steps<{ offsets: Int32Array; bytes: Uint8Array }> {
  const { length } = indices;
  const offsets = new Int32Array(length + 1);
  const pace = new Pace(STEP_BYTES);
  let byteLength = 0;
  for (let row = 0; row < length; row++) {
    byteLength += source[indices[row] + 1] - source[indices[row]];
    checkOffsetRange(byteLength);
    offsets[row + 1] = byteLength;
    if (pace.isStep()) yield;
  }
  const bytes = new Uint8Array(byteLength);
  for (let row = 0; row < length; row++) {
    const start = source[indices[row]];
    const size = offsets[row + 1] - offsets[row];
    if (size <= SHORT) {
      const target = offsets[row];
      for (let byte = 0; byte < size; byte++) bytes[target + byte] = from[start + byte];
    } else if (size > FEW_BYTES) yield* copyInSteps(from, start, start + size, bytes, offsets[row]);
    else bytes.set(from.subarray(start, start + size), offsets[row]);
    // A copied byte takes a fraction of the time of other work on it.
    if (pace.isStep(16 + (size >>> 4))) yield;
  }
  return { offsets, bytes };
}

function* itemPositions(offsets: Int32Array, startOf: (row: number) => number): Steps<Uint32Array> {
  const pace = new Pace(FEW_VALUES);
  const positions = new Uint32Array(offsets[offsets.length - 1]);
  for (let row = 0, position = 0; row < offsets.length - 1; row++) {
    for (let item = startOf(row); position < offsets[row + 1]; ) {
      const end = Math.min(offsets[row + 1], position + FEW_VALUES);
      if (pace.isStep(1 + end - position)) yield;
      while (position < end) positions[position++] = item++;
    }
  }
  return positions;
}

function* takeValidity(validity: Validity | null, indices: Uint32Array): Steps<Validity | null> {
  if (validity === null) return null;
  return validityFrom(yield* bitsInSteps(validity.bytes, validity.bitOffset, indices), 0, indices.length);
}

function* bitsInSteps(bits: Uint8Array, bitOffset: number, indices: Uint32Array): Steps<Uint8Array> {
  const bytes = new Uint8Array((indices.length + 7) >>> 3);
  for (let first = 0; first < indices.length; first += FEW_VALUES) {
    bytes.set(takeBits(bits, bitOffset, indices.subarray(first, first + FEW_VALUES)), first >>> 3);
    yield;
  }
  return bytes;
}

/** Returns the number of bytes of the values before one, without validities and offsets. */
export function bytesBeforeValue(column: Column): (index: number) => number {
  switch (column.kind) {
    case "fixed":
      return (index) => index * column.byteWidth;
    case "bits":
      return (index) => index / 8;
    case "variable": {
      const coded = codesIn(column);
      if (coded !== null) return (index) => CODED_BYTES * coded.offsets[index];
      return (index) => Number(column.offsets[index]);
    }
    case "list": {
      const ofItems = bytesBeforeValue(column.items);
      return (index) => ofItems(Number(column.offsets[index]));
    }
    case "fixedSizeList":
    case "sizedList": {
      const ofItems = bytesBeforeValue(column.items);
      return (index) => ofItems(index * column.dimension);
    }
    case "dictionary":
      return bytesBeforeValue(column.indices);
    case "struct":
    case "packedStruct": {
      const ofMembers = (column.children as readonly Column[]).map(bytesBeforeValue);
      return (index) => ofMembers.reduce((sum, ofMember) => sum + ofMember(index), 0);
    }
    case "null":
      return () => 0;
  }
}

/** Average number of bytes of a code. */
const CODED_BYTES = 3;

/** Estimates the bytes of the values of a column, without decoding lazy values. */
export function estimatedBytes(column: Column): number {
  if (column.kind === "variable" && column.lazy?.kind === "chunks") {
    const byteLength = column.lazy.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    return column.lazy.symbols === null ? byteLength : CODED_BYTES * byteLength;
  }
  const before = bytesBeforeValue(column);
  return before(column.length) - before(0);
}
