/**
 * Compares rows by the keys of an order. Every value of a key becomes unsigned 32-bit words whose order is that of the
 * values, or the reverse of it where a key descends, so that one loop over words compares values of any type:
 *
 *     booleans, integers, times    the value, with the sign bit flipped where there is a sign; high word first
 *     floats                       their bits in the total order of IEEE 754: -NaN, -∞ … -0, 0 … ∞, NaN
 *     decimals                     as integers, of 4 to 32 bytes
 *     text and bytes               the first 8 bytes; the rest is compared byte by byte where these are equal
 *
 * Nulls are compared before values, and stand where the key says, whatever its direction.
 */

import type { Column, FixedColumn } from "../arrow/columns/column.js";
import { isSet } from "../arrow/columns/validity.js";
import { InternalError } from "../errors.js";
import { type ByteLane, byteLane, plainColumn } from "../expression/values/operands.js";
import type { ValueType } from "../expression/values/types.js";

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
/** Ranks beside nulls, which are first or last. */
const NULL_FIRST = 0;
const VALUE = 1;
const NULL_LAST = 2;

/** The values of one key for some rows. */
interface KeyLane {
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
export function sortKeys(
  orders: readonly KeyOrder[],
  columns: readonly Column[],
  rowCount: number,
): SortKeys {
  return {
    lanes: orders.map((order, index) => laneOf(order, plainColumn(columns[index]), rowCount)),
    rowCount,
  };
}

/** Below 0 where row `i` of `a` comes before row `j` of `b`, above 0 where it comes after; 0 where their keys are equal. */
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
  for (let at = Math.min(PREFIX_BYTES, common); at < common; at++) {
    const left = one.bytes[oneStart + at];
    const right = other.bytes[otherStart + at];
    if (left !== right) return left - right;
  }
  return oneLength - otherLength;
}

/**
 * The rows in the order of their keys; rows of equal keys stay in theirs. Yields now and then, for whoever shares the
 * thread.
 */
export function* sortedRows(keys: SortKeys): Generator<void, Uint32Array> {
  const { rowCount } = keys;
  let rows = Uint32Array.from({ length: rowCount }, (_, row) => row);
  for (let start = 0; start < rowCount; start += INSERTED_ROWS) {
    insertionSort(keys, rows, start, Math.min(start + INSERTED_ROWS, rowCount));
    if (start % YIELD_ROWS === 0) yield;
  }
  let merged = new Uint32Array(rowCount);
  for (let width = INSERTED_ROWS; width < rowCount; width *= 2) {
    for (let start = 0; start < rowCount; start += 2 * width) {
      const middle = Math.min(start + width, rowCount);
      const end = Math.min(middle + width, rowCount);
      let left = start;
      let right = middle;
      for (let at = start; at < end; at++) {
        const fromLeft =
          right >= end || (left < middle && compareRows(keys, rows[left], keys, rows[right]) <= 0);
        merged[at] = fromLeft ? rows[left++] : rows[right++];
        if (at % YIELD_ROWS === 0) yield;
      }
    }
    [rows, merged] = [merged, rows];
  }
  return rows;
}

/** Rows that are sorted by insertion. */
const INSERTED_ROWS = 16;
/** Rows after which the sort yields. */
const YIELD_ROWS = 16_384;

function insertionSort(keys: SortKeys, rows: Uint32Array, start: number, end: number): void {
  for (let next = start + 1; next < end; next++) {
    const row = rows[next];
    let at = next;
    while (at > start && compareRows(keys, rows[at - 1], keys, row) > 0) {
      rows[at] = rows[at - 1];
      at--;
    }
    rows[at] = row;
  }
}

// ------------------------------------------------------------------------------------------------- lanes

function laneOf(order: KeyOrder, column: Column, rowCount: number): KeyLane {
  const { ascending } = order;
  const words = wordsOf(column, order.type, rowCount);
  if (!ascending) for (let at = 0; at < words.length; at++) words[at] = ~words[at];
  return {
    stride: rowCount === 0 ? 0 : words.length / rowCount,
    words,
    ranks: ranksOf(column, order, rowCount),
    bytes: column.kind === "variable" ? byteLane({ column, step: 1 }) : null,
    ascending,
  };
}

function ranksOf(column: Column, { nullsFirst }: KeyOrder, rowCount: number): Uint8Array | null {
  const ofNulls = nullsFirst ? NULL_FIRST : NULL_LAST;
  if (column.kind === "null") return new Uint8Array(rowCount).fill(ofNulls);
  const { validity } = column;
  if (validity === null) return null;
  const ranks = new Uint8Array(rowCount);
  for (let row = 0; row < rowCount; row++) ranks[row] = isSet(validity, row) ? VALUE : ofNulls;
  return ranks;
}

function wordsOf(column: Column, type: ValueType, rowCount: number): Uint32Array {
  switch (column.kind) {
    case "null":
      return new Uint32Array(0);
    case "bits": {
      const words = new Uint32Array(rowCount);
      const { bits, bitOffset } = column;
      for (let row = 0; row < rowCount; row++) {
        words[row] = (bits[(bitOffset + row) >>> 3] >>> ((bitOffset + row) & 7)) & 1;
      }
      return words;
    }
    case "variable":
      return prefixWords(byteLane({ column, step: 1 }), rowCount);
    case "fixed":
      return type.kind === "fixedSizeBinary" ? byteWords(column) : numberWords(column, type);
    default:
      throw new InternalError(`sorting by a column of kind ${column.kind}`);
  }
}

function prefixWords({ bytes, offsets }: ByteLane, rowCount: number): Uint32Array {
  const words = new Uint32Array(2 * rowCount);
  for (let row = 0; row < rowCount; row++) {
    const start = offsets[row];
    const count = Math.min(offsets[row + 1] - start, PREFIX_BYTES);
    for (let at = 0; at < count; at++) {
      words[2 * row + (at >>> 2)] |= bytes[start + at] << (24 - 8 * (at & 3));
    }
  }
  return words;
}

function byteWords({ values, byteWidth, length }: FixedColumn): Uint32Array {
  const stride = (byteWidth + 3) >>> 2;
  const words = new Uint32Array(stride * length);
  for (let row = 0; row < length; row++) {
    for (let at = 0; at < byteWidth; at++) {
      words[stride * row + (at >>> 2)] |= values[row * byteWidth + at] << (24 - 8 * (at & 3));
    }
  }
  return words;
}

const SIGN = 0x8000_0000;

function numberWords({ values, byteWidth, length }: FixedColumn, type: ValueType): Uint32Array {
  const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
  const isFloat = type.kind === "float";
  const isSigned = !isFloat && (type.kind !== "int" || type.signed);
  if (byteWidth < 4) {
    const words = new Uint32Array(length);
    const signBit = byteWidth === 1 ? 0x80 : 0x8000;
    for (let row = 0; row < length; row++) {
      const word = byteWidth === 1 ? values[row] : view.getUint16(2 * row, true);
      words[row] = isFloat
        ? word & signBit
          ? ~word & 0xffff
          : word | signBit
        : isSigned
          ? word ^ signBit
          : word;
    }
    return words;
  }
  const stride = byteWidth >>> 2;
  const words = new Uint32Array(stride * length);
  for (let row = 0; row < length; row++) {
    for (let word = 0; word < stride; word++) {
      words[stride * row + word] = view.getUint32(byteWidth * row + 4 * (stride - 1 - word), true);
    }
  }
  if (isSigned) for (let at = 0; at < words.length; at += stride) words[at] ^= SIGN;
  if (isFloat) {
    for (let at = 0; at < words.length; at += stride) {
      if (words[at] >= SIGN) for (let word = 0; word < stride; word++) words[at + word] = ~words[at + word];
      else words[at] |= SIGN;
    }
  }
  return words;
}
