/**
 * Compares rows by the keys of an order. Every value of a key becomes unsigned 32-bit words whose order is
 * that of the values, or the reverse of it where a key descends, so that one loop over words compares values
 * of any type:
 *
 *     booleans, integers, times    the value, with the sign bit flipped where there is a sign; high word first
 *     floats                       their bits in the total order of IEEE 754: -NaN, -∞ … -0, 0 … ∞, NaN
 *     decimals                     as integers, of 4 to 32 bytes
 *     text and bytes               the first 8 bytes; the rest is compared byte by byte where these are equal
 *
 * Nulls are compared before values, and stand where the key says, whatever its direction.
 */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { isSet } from "../../arrow/columns/validity.js";
import { runSync } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { sharedPrefix } from "../../bytes/commonEnds.js";
import { InternalError } from "../../errors.js";
import { type ByteLane, byteLane } from "../../expression/values/operands.js";
import type { ValueType } from "../../expression/values/types.js";

export interface KeyOrder {
  readonly type: ValueType;
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
}

/** Whether rows can be sorted by values of a type. */
export function isSortable(type: ValueType): boolean {
  return type.kind !== "list" && type.kind !== "struct" && type.kind !== "other";
}

/** Bytes of text in the words of a key. */
const PREFIX_BYTES = 8;
export const PREFIX_WORDS = PREFIX_BYTES / 4;
/** Ranks beside nulls, which are first or last. */
const NULL_FIRST = 0;
/** Rank of a value that is not null. */
export const VALUE = 1;
const NULL_LAST = 2;

/** The values of one key for some rows. */
export interface KeyLane {
  /** Words of a row. */
  readonly stride: number;
  readonly words: Uint32Array;
  /** By row, whether it has a value, or where its null stands; null where every row has a value. */
  readonly ranks: Uint8Array | null;
  /** What the words do not hold all of. */
  readonly bytes: ByteLane | null;
  readonly ascending: boolean;
}

/** The keys of some rows. */
export interface SortKeys {
  readonly lanes: readonly KeyLane[];
  readonly rowCount: number;
}

/** @param columns one for each key */
export const sortKeys = (
  orders: readonly KeyOrder[],
  columns: readonly Column[],
  rowCount: number,
): SortKeys => runSync(makeSortKeys(orders, columns, rowCount));

/** The same for any number of rows: yields now and then, for whoever shares the thread. */
export function* makeSortKeys(
  orders: readonly KeyOrder[],
  columns: readonly Column[],
  rowCount: number,
): Generator<void, SortKeys> {
  const lanes: KeyLane[] = [];
  for (const [index, order] of orders.entries()) {
    lanes.push(yield* laneOf(order, plainColumn(columns[index]), rowCount));
  }
  return { lanes, rowCount };
}

/**
 * Below 0 where row `i` of `a` comes before row `j` of `b`, above 0 where it comes after; 0 where their keys
 * are equal.
 */
export function compareRows(a: SortKeys, i: number, b: SortKeys, j: number): number {
  for (let key = 0; key < a.lanes.length; key++) {
    const one = a.lanes[key];
    const other = b.lanes[key];
    const oneRank = one.ranks === null ? VALUE : one.ranks[i];
    const otherRank = other.ranks === null ? VALUE : other.ranks[j];
    if (oneRank !== otherRank) return oneRank - otherRank;
    if (oneRank !== VALUE) continue;
    const { stride } = one;
    for (let word = 0; word < stride; word++) {
      const left = one.words[i * stride + word];
      const right = other.words[j * stride + word];
      if (left !== right) return left < right ? -1 : 1;
    }
    if (one.bytes === null || other.bytes === null) continue;
    const order = compareBytes(one.bytes, i, other.bytes, j);
    if (order !== 0) return one.ascending ? order : -order;
  }
  return 0;
}

function compareBytes(one: ByteLane, i: number, other: ByteLane, j: number): number {
  const oneStart = one.offsets[i];
  const otherStart = other.offsets[j];
  const oneLength = one.offsets[i + 1] - oneStart;
  const otherLength = other.offsets[j + 1] - otherStart;
  const common = Math.min(oneLength, otherLength);
  const near = Math.min(common, NEAR_BYTES);
  for (let offset = Math.min(PREFIX_BYTES, common); offset < near; offset++) {
    const left = one.bytes[oneStart + offset];
    const right = other.bytes[otherStart + offset];
    if (left !== right) return left - right;
  }
  if (near < common) {
    comparedBytes += common - near;
    const left = one.bytes.subarray(oneStart + near, oneStart + common);
    const right = other.bytes.subarray(otherStart + near, otherStart + common);
    const shared = sharedPrefix(left, right);
    if (shared < left.length) return left[shared] - right[shared];
  }
  return oneLength - otherLength;
}

/** Bytes of a value up to which a loop compares it. */
const NEAR_BYTES = 72;
/** Bytes of long values that are compared in one step. */
export const COMPARED_STEP_BYTES = 2 ** 21;
/** Bytes of long values that were compared since a step ended for them. */
let comparedBytes = 0;

/**
 * Whether comparisons of long values have gone through so many bytes that a step of work ends; the next one
 * begins.
 */
export function isLongStep(bytes = 0): boolean {
  comparedBytes += bytes;
  if (comparedBytes < COMPARED_STEP_BYTES) return false;
  comparedBytes = 0;
  return true;
}

// ------------------------------------------------------------------------------------------------- lanes

/** Rows after which work on lanes yields. */
const STEP_ROWS = 65_536;

function* laneOf(order: KeyOrder, column: Column, rowCount: number): Generator<void, KeyLane> {
  const { ascending } = order;
  const { stride, fill } = wordsOf(column, order.type);
  const words = new Uint32Array(stride * rowCount);
  for (let start = 0; start < rowCount && stride > 0; start += STEP_ROWS) {
    const end = Math.min(start + STEP_ROWS, rowCount);
    fill(words, start, end);
    if (!ascending)
      for (let index = stride * start; index < stride * end; index++) words[index] = ~words[index];
    yield;
  }
  return {
    stride,
    words,
    ranks: yield* ranksOf(column, order, rowCount),
    bytes: column.kind === "variable" ? byteLane({ column, step: 1 }) : null,
    ascending,
  };
}

function* ranksOf(
  column: Column,
  { nullsFirst }: KeyOrder,
  rowCount: number,
): Generator<void, Uint8Array | null> {
  const ofNulls = nullsFirst ? NULL_FIRST : NULL_LAST;
  if (column.kind === "null") return new Uint8Array(rowCount).fill(ofNulls);
  const { validity } = column;
  if (validity === null) return null;
  const ranks = new Uint8Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    ranks[row] = isSet(validity, row) ? VALUE : ofNulls;
    if (row % STEP_ROWS === 0) yield;
  }
  return ranks;
}

/**
 * How values become words: the number of words of a row, and what puts those of some rows in their places.
 */
interface WordForm {
  readonly stride: number;
  fill(words: Uint32Array, start: number, end: number): void;
}

function wordsOf(column: Column, type: ValueType): WordForm {
  switch (column.kind) {
    case "null":
      return { stride: 0, fill: () => undefined };
    case "bits": {
      const { bits, bitOffset } = column;
      return {
        stride: 1,
        fill(words, start, end) {
          for (let row = start; row < end; row++) {
            words[row] = (bits[(bitOffset + row) >>> 3] >>> ((bitOffset + row) & 7)) & 1;
          }
        },
      };
    }
    case "variable": {
      const lane = byteLane({ column, step: 1 });
      return {
        stride: PREFIX_WORDS,
        fill: (words, start, end) => fillPrefixes(words, lane, 0, start, end),
      };
    }
    case "fixed":
      return type.kind === "fixedSizeBinary" ? byteWords(column) : numberWords(column, type);
    default:
      throw new InternalError(`sorting by a column of kind ${column.kind}`);
  }
}

/**
 * Puts 8 bytes of each value in two words, and 0 behind the end of a value.
 * @param skipped bytes of each value that come before them
 */
export function fillPrefixes(
  words: Uint32Array,
  { bytes, offsets }: ByteLane,
  skipped: number,
  firstRow: number,
  endRow: number,
): void {
  for (let row = firstRow; row < endRow; row++) {
    const start = offsets[row] + skipped;
    const count = Math.min(offsets[row + 1] - start, PREFIX_BYTES);
    for (let offset = 0; offset < count; offset++) {
      words[2 * row + (offset >>> 2)] |= bytes[start + offset] << (24 - 8 * (offset & 3));
    }
  }
}

function byteWords({ values, byteWidth }: FixedColumn): WordForm {
  const stride = (byteWidth + 3) >>> 2;
  return {
    stride,
    fill(words, start, end) {
      for (let row = start; row < end; row++) {
        for (let offset = 0; offset < byteWidth; offset++) {
          words[stride * row + (offset >>> 2)] |= values[row * byteWidth + offset] << (24 - 8 * (offset & 3));
        }
      }
    },
  };
}

const SIGN = 0x8000_0000;

function numberWords({ values, byteWidth }: FixedColumn, type: ValueType): WordForm {
  const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
  const isFloat = type.kind === "float";
  const isSigned = !isFloat && (type.kind !== "int" || type.signed);
  if (byteWidth < 4) {
    const signBit = byteWidth === 1 ? 0x80 : 0x8000;
    return {
      stride: 1,
      fill(words, start, end) {
        for (let row = start; row < end; row++) {
          const word = byteWidth === 1 ? values[row] : view.getUint16(2 * row, true);
          if (isFloat) words[row] = word & signBit ? ~word & 0xffff : word | signBit;
          else words[row] = isSigned ? word ^ signBit : word;
        }
      },
    };
  }
  const stride = byteWidth >>> 2;
  if (byteWidth === 4 && !isFloat) {
    const flipped = isSigned ? SIGN : 0;
    const { buffer, byteOffset } = alignedBytes(values, 4);
    const numbers = new Uint32Array(buffer, byteOffset, values.byteLength / 4);
    return {
      stride,
      fill(words, start, end) {
        for (let row = start; row < end; row++) words[row] = numbers[row] ^ flipped;
      },
    };
  }
  return {
    stride,
    fill(words, start, end) {
      for (let row = start; row < end; row++) {
        const index = stride * row;
        for (let word = 0; word < stride; word++) {
          words[index + word] = view.getUint32(byteWidth * row + 4 * (stride - 1 - word), true);
        }
        if (isSigned) words[index] ^= SIGN;
        else if (isFloat && words[index] < SIGN) words[index] |= SIGN;
        else if (isFloat)
          for (let word = 0; word < stride; word++) words[index + word] = ~words[index + word];
      }
    },
  };
}

/**
 * The values of 4 bytes whose words come in pairs with something else: what filling in words did, undone.
 * @param type of numbers, whose words are those of an order that ascends
 */
export function numbersOfWords(pairs: Uint32Array, type: ValueType): Uint32Array {
  const numbers = new Uint32Array(pairs.length / 2);
  if (type.kind === "float") {
    for (let row = 0; row < numbers.length; row++) {
      const word = pairs[2 * row];
      numbers[row] = word >= SIGN ? word ^ SIGN : ~word;
    }
    return numbers;
  }
  const flipped = type.kind === "int" && !type.signed ? 0 : SIGN;
  for (let row = 0; row < numbers.length; row++) numbers[row] = pairs[2 * row] ^ flipped;
  return numbers;
}
