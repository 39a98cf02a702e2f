/**
 * Compares rows by the keys of an order. Every value of a key becomes unsigned 32-bit words that sort like
 * the values, or in reverse if the key descends. One loop over words then compares values of any type:
 *
 *     booleans, integers, times    the value, high word first; a signed value with its sign bit flipped
 *     floats                       their bits in the total order of IEEE 754: -NaN, -∞ … -0, 0 … ∞, NaN
 *     decimals                     as integers, of 4 to 32 bytes
 *     text and bytes               the first 8 bytes; if these are equal, the rest is compared byte by byte
 *
 * Nulls are compared before values, and stand where the key says, whatever its direction.
 */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { isSet } from "../../arrow/columns/validity.js";
import { runSync } from "../../async/eventLoop.js";
import { sharedPrefix } from "../../bytes/commonEnds.js";
import { InternalError } from "../../errors.js";
import { type ByteLane, byteLane } from "../../expression/values/operands.js";
import type { ValueType } from "../../expression/values/types.js";
import { areWordNumbers, fillKeyWords, storedWords } from "./numberKeys.js";

export interface KeyOrder {
  readonly type: ValueType;
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
}

/** True if rows can be sorted by values of a type. */
export function isSortable(type: ValueType): boolean {
  return type.kind !== "list" && type.kind !== "struct" && type.kind !== "other";
}

/** Bytes of text in the words of a key. */
const PREFIX_BYTES = 8;
export const PREFIX_WORDS = PREFIX_BYTES / 4;
/** Ranks of nulls, which are first or last. */
const NULL_FIRST = 0;
/** Rank of a value that is not null. */
export const VALUE = 1;
const NULL_LAST = 2;

/** Values of one key for some rows. */
export interface KeyLane {
  /** Number of words per row. */
  readonly stride: number;
  readonly words: Uint32Array;
  /** Rank of each row: a value, or a null that is first or last. Null if every row has a value. */
  readonly ranks: Uint8Array | null;
  /** Bytes of values that do not fit in the words; null if all fit. */
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

/** Makes keys for any number of rows. Yields now and then, for others on the thread. */
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

/** Compares keys: negative if row `i` of `a` comes before row `j` of `b`, positive if after, else 0. */
export function compareRows(a: SortKeys, i: number, b: SortKeys, j: number): number {
  for (let key = 0; key < a.lanes.length; key++) {
    const first = a.lanes[key];
    const second = b.lanes[key];
    const firstRank = first.ranks === null ? VALUE : first.ranks[i];
    const secondRank = second.ranks === null ? VALUE : second.ranks[j];
    if (firstRank !== secondRank) return firstRank - secondRank;
    if (firstRank !== VALUE) continue;
    const { stride } = first;
    for (let word = 0; word < stride; word++) {
      const left = first.words[i * stride + word];
      const right = second.words[j * stride + word];
      if (left !== right) return left < right ? -1 : 1;
    }
    if (first.bytes === null || second.bytes === null) continue;
    const order = compareBytes(first.bytes, i, second.bytes, j);
    if (order !== 0) return first.ascending ? order : -order;
  }
  return 0;
}

function compareBytes(first: ByteLane, i: number, second: ByteLane, j: number): number {
  const firstStart = first.offsets[i];
  const secondStart = second.offsets[j];
  const firstLength = first.offsets[i + 1] - firstStart;
  const secondLength = second.offsets[j + 1] - secondStart;
  const common = Math.min(firstLength, secondLength);
  const near = Math.min(common, NEAR_BYTES);
  for (let offset = Math.min(PREFIX_BYTES, common); offset < near; offset++) {
    const left = first.bytes[firstStart + offset];
    const right = second.bytes[secondStart + offset];
    if (left !== right) return left - right;
  }
  if (near < common) {
    comparedBytes += common - near;
    const left = first.bytes.subarray(firstStart + near, firstStart + common);
    const right = second.bytes.subarray(secondStart + near, secondStart + common);
    const shared = sharedPrefix(left, right);
    if (shared < left.length) return left[shared] - right[shared];
  }
  return firstLength - secondLength;
}

/** Maximum bytes of a value that a loop compares. */
const NEAR_BYTES = 72;
/** Bytes of long values that one step compares. */
export const COMPARED_STEP_BYTES = 2 ** 21;
/** Bytes of long values compared since the last step. */
let comparedBytes = 0;

/** True if the comparisons of long values end a step of work; the next step then begins. */
export function isLongStep(bytes = 0): boolean {
  comparedBytes += bytes;
  if (comparedBytes < COMPARED_STEP_BYTES) return false;
  comparedBytes = 0;
  return true;
}

// ------------------------------------------------------------------------------------------------- lanes

/** Number of rows after which work on lanes yields. */
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

/** Form of a key's words: the number of words per row, and the function that fills in those of some rows. */
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
      throw new InternalError(`a column of kind ${column.kind} cannot be sorted`);
  }
}

/** Puts 8 bytes of each value, from `skipped` on, in two words, with 0 after its end. */
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

function numberWords(column: FixedColumn, type: ValueType): WordForm {
  const { values, byteWidth } = column;
  const stride = Math.max(byteWidth >>> 2, 1);
  if (areWordNumbers(column, type)) {
    const stored = storedWords(column);
    return {
      stride,
      fill: (words, start, end) =>
        fillKeyWords(
          words.subarray(stride * start),
          stride,
          stored.subarray(stride * start, stride * end),
          stride,
          type,
        ),
    };
  }
  const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
  const isFloat = type.kind === "float";
  const isSigned = !isFloat && (type.kind !== "int" || type.signed);
  if (byteWidth < 4) {
    const signBit = byteWidth === 1 ? 0x80 : 0x8000;
    return {
      stride,
      fill(words, start, end) {
        for (let row = start; row < end; row++) {
          const word = byteWidth === 1 ? values[row] : view.getUint16(2 * row, true);
          if (isFloat) words[row] = word & signBit ? ~word & 0xffff : word | signBit;
          else words[row] = isSigned ? word ^ signBit : word;
        }
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
      }
    },
  };
}
