/**
 * Columns without nesting in the physical form of Parquet, whose values are bytes that a page holds as they
 * are. No value becomes a JavaScript value.
 *
 *     Int Date Time Timestamp Duration Float   little-endian; integers of 8 and 16 bits take 4 bytes
 *     Bool                                     bits
 *     Utf8 Binary                              u32 length, bytes
 */

import * as arrow from "apache-arrow";
import type { Statistics } from "hyparquet";
import type { BitsColumn, Column, FixedColumn, Validity, VariableColumn } from "../arrow/columns/column.js";
import { concatInSteps } from "../arrow/columns/concatColumns.js";
import { numbersColumn } from "../arrow/columns/numbersColumn.js";
import { isSet, isValid, shiftBits } from "../arrow/columns/validity.js";
import { runAsync } from "../async/eventLoop.js";
import { alignedBytes } from "../bytes/aligned.js";
import { compareRanges } from "../bytes/compare.js";

/** Meaning of the bytes of a value, which decides their order. */
type ValueOrder = "int32" | "uint32" | "int64" | "uint64" | "float" | "double" | "boolean" | "bytes";

/** A column in physical form. */
export interface FlatColumn {
  readonly column: FixedColumn | BitsColumn | VariableColumn;
  readonly order: ValueOrder;
}

/** Returns the order of a type's values; null for a type whose values are not stored as they are. */
function orderOf(type: arrow.DataType): ValueOrder | null {
  switch (type.typeId) {
    case arrow.Type.Bool:
      return "boolean";
    case arrow.Type.Int: {
      const { bitWidth, isSigned } = type as arrow.Int;
      if (bitWidth === 64) return isSigned ? "int64" : "uint64";
      return isSigned || bitWidth < 32 ? "int32" : "uint32";
    }
    case arrow.Type.Float: {
      const { precision } = type as arrow.Float;
      return precision === arrow.Precision.HALF
        ? null
        : precision === arrow.Precision.SINGLE
          ? "float"
          : "double";
    }
    case arrow.Type.Utf8:
    case arrow.Type.LargeUtf8:
    case arrow.Type.Binary:
    case arrow.Type.LargeBinary:
      return "bytes";
    case arrow.Type.Date:
      return (type as arrow.Date_).unit === arrow.DateUnit.DAY ? "int32" : null;
    case arrow.Type.Timestamp:
      // Parquet has no seconds.
      return (type as arrow.Timestamp).unit === arrow.TimeUnit.SECOND ? null : "int64";
    case arrow.Type.Time: {
      const { unit } = type as arrow.Time;
      if (unit === arrow.TimeUnit.SECOND) return null;
      return unit === arrow.TimeUnit.MILLISECOND ? "int32" : "int64";
    }
    case arrow.Type.Duration:
      return "int64";
    default:
      return null;
  }
}

/** Joins the parts of a column; null for a type whose values are not stored as they are. */
export async function flatColumn(parts: readonly Column[], type: arrow.DataType): Promise<FlatColumn | null> {
  const order = orderOf(type);
  if (order === null || parts.some(({ kind }) => !["fixed", "bits", "variable"].includes(kind))) return null;
  const column = (await runAsync(concatInSteps(parts))) as FlatColumn["column"];
  const isNarrow = column.kind === "fixed" && column.byteWidth < 4;
  return { order, column: isNarrow ? widened(column, (type as arrow.Int).isSigned) : column };
}

/** Returns integers of 8 or 16 bits as ones of 32 bits. */
function widened({ values, byteWidth, length, validity }: FixedColumn, isSigned: boolean): FixedColumn {
  const { buffer, byteOffset } = alignedBytes(values, byteWidth);
  const narrow =
    byteWidth === 1
      ? new (isSigned ? Int8Array : Uint8Array)(buffer as ArrayBuffer, byteOffset, length)
      : new (isSigned ? Int16Array : Uint16Array)(buffer as ArrayBuffer, byteOffset, length);
  return { ...numbersColumn(Int32Array.from(narrow)), validity };
}

/** Number of rows that are not null. */
export const validCount = ({ length, validity }: Column): number => length - (validity?.nullCount ?? 0);

/** Texts up to this length are copied byte by byte, which is faster than a call. */
const SHORT_BYTES = 48;

/** Returns the values that are not null in Parquet's encoding PLAIN. */
export function plainBytes({ column }: FlatColumn): Uint8Array {
  switch (column.kind) {
    case "fixed":
      return plainFixed(column);
    case "bits":
      return plainBits(column);
    case "variable":
      return plainVariable(column);
  }
}

function plainFixed(column: FixedColumn): Uint8Array {
  const { values, byteWidth, length, validity } = column;
  if (validity === null) return values.subarray(0, length * byteWidth);
  const plain = new Uint8Array(validCount(column) * byteWidth);
  let offset = 0;
  for (let row = 0; row < length; ) {
    const start = row;
    while (row < length && isSet(validity, row)) row++;
    plain.set(values.subarray(start * byteWidth, row * byteWidth), offset);
    offset += (row - start) * byteWidth;
    while (row < length && !isSet(validity, row)) row++;
  }
  return plain;
}

function plainBits(column: BitsColumn): Uint8Array {
  const { bits, bitOffset, length, validity } = column;
  const byteLength = (validCount(column) + 7) >>> 3;
  if (validity === null) return shiftBits(bits, bitOffset, 0, length).subarray(0, byteLength);
  const plain = new Uint8Array(byteLength);
  let count = 0;
  for (let row = 0; row < length; row++) {
    if (!isSet(validity, row)) continue;
    if (bitAt(column, row)) plain[count >>> 3] |= 1 << (count & 7);
    count++;
  }
  return plain;
}

const bitAt = ({ bits, bitOffset }: BitsColumn, row: number): boolean =>
  ((bits[(bitOffset + row) >>> 3] >>> ((bitOffset + row) & 7)) & 1) === 1;

function plainVariable({ offsets, bytes, length, validity }: VariableColumn): Uint8Array {
  const plain = new Uint8Array(4 * length + Number(offsets[length]) - Number(offsets[0]));
  let position = 0;
  let end = Number(offsets[0]);
  for (let row = 0; row < length; row++) {
    const start = end;
    end = Number(offsets[row + 1]);
    if (validity !== null && !isSet(validity, row)) continue;
    const byteLength = end - start;
    for (let rest = byteLength, byte = 0; byte < 4; byte++, rest >>>= 8) plain[position++] = rest;
    if (byteLength > SHORT_BYTES) {
      plain.set(bytes.subarray(start, end), position);
      position += byteLength;
    } else {
      for (let offset = start; offset < end; offset++) plain[position++] = bytes[offset];
    }
  }
  return plain.subarray(0, position);
}

// --------------------------------------------------------------------------------------------- statistics

/** Returns the number of nulls, and the bounds of the values; no bounds if all are null or NaN. */
export function flatStatistics({ column, order }: FlatColumn): Statistics {
  const { validity } = column;
  const bounds = boundsOf(column, order);
  return {
    null_count: BigInt(validity?.nullCount ?? 0),
    ...(bounds !== null && { min_value: bounds[0], max_value: bounds[1] }),
  };
}

type Bounds<Value> = readonly [Value, Value] | null;

function boundsOf(
  column: FlatColumn["column"],
  order: ValueOrder,
): Bounds<NonNullable<Statistics["min_value"]>> {
  if (column.kind === "variable") return textBounds(column);
  if (column.kind === "bits") return booleanBounds(column);
  const { length, byteWidth, validity } = column;
  const { buffer, byteOffset } = alignedBytes(column.values, byteWidth);
  switch (order) {
    case "int64":
    case "uint64":
      return longBounds(new Uint32Array(buffer, byteOffset, 2 * length), validity, order === "int64");
    case "float":
      return numberBounds(new Float32Array(buffer, byteOffset, length), validity);
    case "double":
      return numberBounds(new Float64Array(buffer, byteOffset, length), validity);
    case "uint32":
      return numberBounds(new Uint32Array(buffer, byteOffset, length), validity);
    default:
      return numberBounds(new Int32Array(buffer, byteOffset, length), validity);
  }
}

/** Zeros are -0 as a minimum and 0 as a maximum, as Parquet wants it. */
function numberBounds(numbers: ArrayLike<number>, validity: Validity | null): Bounds<number> {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let row = 0; row < numbers.length; row++) {
    if (validity !== null && !isSet(validity, row)) continue;
    const number = numbers[row];
    if (number < least) least = number;
    if (number > greatest) greatest = number;
  }
  if (least === Number.POSITIVE_INFINITY && greatest === Number.NEGATIVE_INFINITY) return null;
  return [least === 0 ? -0 : least, greatest === 0 ? 0 : greatest];
}

/** Compares 64-bit integers by their words, because each bigint is an object. */
function longBounds(words: Uint32Array, validity: Validity | null, isSigned: boolean): Bounds<bigint> {
  const flip = isSigned ? 2 ** 31 : 0;
  let [least, greatest] = [-1, -1];
  let [leastHigh, leastLow, greatestHigh, greatestLow] = [0, 0, 0, 0];
  for (let row = 0; 2 * row < words.length; row++) {
    if (validity !== null && !isSet(validity, row)) continue;
    const low = words[2 * row];
    const high = (words[2 * row + 1] ^ flip) >>> 0;
    if (least < 0 || high < leastHigh || (high === leastHigh && low < leastLow)) {
      [least, leastHigh, leastLow] = [row, high, low];
    }
    if (greatest < 0 || high > greatestHigh || (high === greatestHigh && low > greatestLow)) {
      [greatest, greatestHigh, greatestLow] = [row, high, low];
    }
  }
  if (least < 0) return null;
  const longs = isSigned
    ? new BigInt64Array(words.buffer, words.byteOffset, words.length / 2)
    : new BigUint64Array(words.buffer, words.byteOffset, words.length / 2);
  return [longs[least], longs[greatest]];
}

function booleanBounds(column: BitsColumn): Bounds<boolean> {
  let [hasFalse, hasTrue] = [false, false];
  for (let row = 0; row < column.length && !(hasFalse && hasTrue); row++) {
    if (!isValid(column.validity, row)) continue;
    if (bitAt(column, row)) hasTrue = true;
    else hasFalse = true;
  }
  return hasFalse || hasTrue ? [!hasFalse, hasTrue] : null;
}

function textBounds({ bytes, offsets, length, validity }: VariableColumn): Bounds<Uint8Array> {
  let [leastStart, leastEnd, greatestStart, greatestEnd] = [-1, -1, -1, -1];
  for (let row = 0; row < length; row++) {
    if (validity !== null && !isSet(validity, row)) continue;
    const [start, end] = [Number(offsets[row]), Number(offsets[row + 1])];
    if (leastStart < 0 || compareRanges(bytes, start, end, bytes, leastStart, leastEnd) < 0) {
      [leastStart, leastEnd] = [start, end];
    }
    if (greatestStart < 0 || compareRanges(bytes, start, end, bytes, greatestStart, greatestEnd) > 0) {
      [greatestStart, greatestEnd] = [start, end];
    }
  }
  return leastStart < 0 ? null : [bytes.slice(leastStart, leastEnd), bytes.slice(greatestStart, greatestEnd)];
}
