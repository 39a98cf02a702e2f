/**
 * Order of values in indexes, and of the rows in their files:
 *
 *     booleans, integers, times   as numbers
 *     floats                      the total order of IEEE 754: -NaN, -∞ … -0, 0 … ∞, NaN
 *     text and bytes              byte by byte; a prefix comes first
 *
 * Values are compared in their buffers, without a copy. No function here accepts a null: callers check
 * validity.
 */

import type { Column, Validity } from "../arrow/columns/column.js";
import { areNarrow, wordsOf } from "../arrow/columns/offsets.js";
import { formatType, type LogicalType } from "../arrow/types/type.js";
import { alignedBytes } from "../bytes/aligned.js";
import { compareRanges } from "../bytes/compare.js";
import { firstIndex } from "../bytes/search.js";
import { InternalError } from "../errors.js";

/** Values of a column, comparable with each other and with another column of their type. */
export type OrderedValues = { readonly length: number; readonly validity: Validity | null } & (
  | { readonly kind: "bits"; readonly bits: Uint8Array; readonly bitOffset: number }
  | { readonly kind: "numbers"; readonly numbers: Numbers }
  /** Floats of 16 or 32 bits, as signed integers. */
  | { readonly kind: "floats"; readonly numbers: Int16Array | Int32Array; readonly magnitude: number }
  /** Pairs of words: low, high. */
  | { readonly kind: "words"; readonly words: Uint32Array; readonly of: "signed" | "unsigned" | "float" }
  | { readonly kind: "fixedBytes"; readonly bytes: Uint8Array; readonly byteWidth: number }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array; readonly offsets: Int32Array | Float64Array }
);

type Numbers = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;

/** Views a column of this type, not a dictionary, as ordered values. */
export function orderedValues(type: LogicalType, column: Column): OrderedValues {
  const { length, validity } = column;
  switch (column.kind) {
    case "bits":
      return { kind: "bits", length, validity, bits: column.bits, bitOffset: column.bitOffset };
    case "variable": {
      const { bytes, offsets } = column;
      return { kind: "bytes", length, validity, bytes, offsets: byteOffsets(offsets) };
    }
    case "fixed": {
      const { values: bytes, byteWidth } = column;
      if (type.kind === "fixedSizeBinary") return { kind: "fixedBytes", length, validity, bytes, byteWidth };
      return { length, validity, ...orderedNumbers(type, bytes, byteWidth, length) };
    }
    default:
      throw new InternalError(`a column of kind ${column.kind} holds values of type ${formatType(type)}`);
  }
}

function orderedNumbers(type: LogicalType, values: Uint8Array, byteWidth: number, length: number) {
  const isFloat = type.kind === "float";
  const isSigned = type.kind !== "int" || type.signed;
  const { buffer, byteOffset } = alignedBytes(values, Math.min(byteWidth, 4));
  if (byteWidth === 8) {
    const words = new Uint32Array(buffer, byteOffset, 2 * length);
    return { kind: "words", words, of: isFloat ? "float" : isSigned ? "signed" : "unsigned" } as const;
  }
  const Numbers = (isSigned ? SIGNED : UNSIGNED)[byteWidth];
  if (Numbers === undefined)
    throw new InternalError(`values of type ${formatType(type)} have ${byteWidth} bytes`);
  const numbers = new Numbers(buffer, byteOffset, length);
  if (!isFloat) return { kind: "numbers", numbers } as const;
  const magnitude = byteWidth === 2 ? 0x7fff : 0x7fff_ffff;
  return { kind: "floats", numbers: numbers as Int16Array | Int32Array, magnitude } as const;
}

type NumbersOf = new (buffer: ArrayBufferLike, byteOffset: number, length: number) => Numbers;
/** Views of integers by byte width. */
const SIGNED: Readonly<Record<number, NumbersOf>> = { 1: Int8Array, 2: Int16Array, 4: Int32Array };
const UNSIGNED: Readonly<Record<number, NumbersOf>> = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };

/** Returns offsets as numbers. */
export function byteOffsets(offsets: Int32Array | BigInt64Array): Int32Array | Float64Array {
  if (areNarrow(offsets)) return offsets;
  const words = wordsOf(offsets);
  const numbers = new Float64Array(offsets.length);
  for (let row = 0; row < numbers.length; row++) numbers[row] = words[2 * row] + words[2 * row + 1] * 2 ** 32;
  return numbers;
}

/** Compares value `i` of `a` with value `j` of `b`, both valid: less than, greater than or equal to 0. */
export function compareValues(a: OrderedValues, i: number, b: OrderedValues, j: number): number {
  switch (a.kind) {
    case "bits":
      if (b.kind !== "bits") break;
      return bitAt(a.bits, a.bitOffset + i) - bitAt(b.bits, b.bitOffset + j);
    case "numbers":
      if (b.kind !== "numbers") break;
      return a.numbers[i] - b.numbers[j];
    case "floats": {
      if (b.kind !== "floats") break;
      // Bits without the sign grow as a negative float falls.
      const left = a.numbers[i];
      const right = b.numbers[j];
      return (left < 0 ? left ^ a.magnitude : left) - (right < 0 ? right ^ a.magnitude : right);
    }
    case "words":
      if (b.kind !== "words") break;
      return compareWords(a.words, i, b.words, j, a.of);
    case "fixedBytes":
      if (b.kind !== "fixedBytes") break;
      return compareRanges(
        a.bytes,
        i * a.byteWidth,
        (i + 1) * a.byteWidth,
        b.bytes,
        j * b.byteWidth,
        (j + 1) * b.byteWidth,
      );
    case "bytes":
      if (b.kind !== "bytes") break;
      return compareRanges(a.bytes, a.offsets[i], a.offsets[i + 1], b.bytes, b.offsets[j], b.offsets[j + 1]);
  }
  throw new InternalError(`values of kind ${a.kind} do not compare with values of kind ${b.kind}`);
}

export const bitAt = (bits: Uint8Array, bit: number): number => (bits[bit >>> 3] >>> (bit & 7)) & 1;

function compareWords(
  a: Uint32Array,
  i: number,
  b: Uint32Array,
  j: number,
  of: "signed" | "unsigned" | "float",
): number {
  let high = a[2 * i + 1];
  let otherHigh = b[2 * j + 1];
  if (of !== "unsigned") {
    high |= 0;
    otherHigh |= 0;
  }
  if (high !== otherHigh) {
    if (of === "float" && high < 0 && otherHigh < 0) return high < otherHigh ? 1 : -1;
    return high < otherHigh ? -1 : 1;
  }
  const difference = a[2 * i] - b[2 * j];
  return of === "float" && high < 0 ? -difference : difference;
}

/** Returns the first index in `[start, end)` of a value that is at least value `row` of `than`, or `end`. */
export const firstFrom = (
  values: OrderedValues,
  start: number,
  end: number,
  than: OrderedValues,
  row: number,
): number => firstIndex(start, end, (index) => compareValues(values, index, than, row) >= 0);

/** Returns the first index in `[start, end)` of a value greater than value `row` of `than`, or `end`. */
export const firstAfter = (
  values: OrderedValues,
  start: number,
  end: number,
  than: OrderedValues,
  row: number,
): number => firstIndex(start, end, (index) => compareValues(values, index, than, row) > 0);

/** Sorts the rows of a few valid values; equal values keep their order. */
export function orderOf(values: OrderedValues): Uint32Array {
  return Uint32Array.from({ length: values.length }, (_, row) => row).sort(
    (a, b) => compareValues(values, a, values, b) || a - b,
  );
}

/** Number of rows between yields. */
const YIELD_ROWS = 8192;

/** Sorts like {@link orderOf}, and yields to other work. Returns null if the values are in order already. */
export function* sortedOrder(values: OrderedValues): Generator<void, Uint32Array | null> {
  const { length } = values;
  let isSorted = true;
  for (let row = 1; row < length && isSorted; row++) {
    isSorted = compareValues(values, row - 1, values, row) <= 0;
    if (row % YIELD_ROWS === 0) yield;
  }
  if (isSorted) return null;
  let rows = Uint32Array.from({ length }, (_, row) => row);
  let merged = new Uint32Array(length);
  for (let width = 1; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(start + width, length);
      const end = Math.min(middle + width, length);
      let left = start;
      let right = middle;
      for (let index = start; index < end; index++) {
        const fromLeft =
          right >= end || (left < middle && compareValues(values, rows[left], values, rows[right]) <= 0);
        merged[index] = fromLeft ? rows[left++] : rows[right++];
        if (index % YIELD_ROWS === 0) yield;
      }
    }
    [rows, merged] = [merged, rows];
  }
  return rows;
}
