/**
 * Converts columns to JavaScript values:
 *
 *     Int                  number; bigint for 64 bits
 *     Float                number
 *     Bool Utf8            boolean, string
 *     Binary               Uint8Array
 *     Date Timestamp       number of milliseconds since 1970, as apache-arrow returns it
 *     Time Duration        number for 32 bits, bigint for 64, in the type's own unit
 *     Decimal              text with all digits of the scale
 *     List                 array
 *     FixedSizeList        typed array for numbers without nulls, array otherwise
 *     Struct               object
 *     Map                  Map
 *     Dictionary           value of the dictionary
 *
 * Nulls are null in all types. Arrays and bytes are copies, so they never change.
 */

import { type DataType, type Dictionary, type Field, Type } from "apache-arrow";
import { alignedBytes } from "../../bytes/aligned.js";
import { decodeHalfFloat } from "../../bytes/halfFloat.js";
import { InternalError } from "../../errors.js";
import { textReader } from "../../platform/native.js";
import type { Column, FixedColumn, VariableColumn } from "../columns/column.js";
import { itemsWithin } from "../columns/columnBytes.js";
import { readIndices } from "../columns/dictionaries.js";
import { isSet, validityFrom } from "../columns/validity.js";
import { formatDecimal } from "./decimalText.js";

/** Returns one value per row. */
export function decodeValues(column: Column, type: DataType): unknown[] {
  const values = decodeAll(column, type);
  const { validity, length } = column;
  if (validity !== null && column.kind !== "null") {
    for (let row = 0; row < length; row++) if (!isSet(validity, row)) values[row] = null;
  }
  return values;
}

/** Works like {@link decodeValues}, but the values of nulls are unspecified. */
function decodeAll(column: Column, type: DataType): unknown[] {
  const { length } = column;
  switch (column.kind) {
    case "null":
      return new Array(length).fill(null);
    case "bits": {
      const values: boolean[] = new Array(length);
      for (let row = 0; row < length; row++) {
        const bit = column.bitOffset + row;
        values[row] = ((column.bits[bit >>> 3] >>> (bit & 7)) & 1) === 1;
      }
      return values;
    }
    case "fixed":
      return fixedValues(column, type);
    case "variable":
      return variableValues(column, type);
    case "dictionary": {
      const entries = decodeValues(column.dictionary, (type as Dictionary).dictionary);
      return Array.from(readIndices(column), (index) => entries[index] ?? null);
    }
    case "list":
      return lists(column, type);
    case "fixedSizeList":
    case "sizedList":
      return sizedLists(column, type);
    case "struct":
    case "packedStruct": {
      const fields = type.children as Field[];
      const names = fields.map(({ name }) => name);
      const members = column.children.map((child, index) => decodeValues(child, fields[index].type));
      return makeObjects(names, members, length);
    }
  }
}

/** Makes one object per row from columns of values. All names differ. */
export function makeObjects(
  names: readonly string[],
  columns: readonly (readonly unknown[])[],
  rowCount: number,
): Record<string, unknown>[] {
  const objects: Record<string, unknown>[] = new Array(rowCount);
  for (let row = 0; row < rowCount; row++) objects[row] = {};
  for (const [index, name] of names.entries()) {
    const values = columns[index];
    if (name === "__proto__") {
      // Assigning __proto__ would replace the object's prototype.
      for (let row = 0; row < rowCount; row++) {
        const member = { value: values[row], enumerable: true, writable: true, configurable: true };
        Object.defineProperty(objects[row], name, member);
      }
      continue;
    }
    for (let row = 0; row < rowCount; row++) objects[row][name] = values[row];
  }
  return objects;
}

// ------------------------------------------------------------------------------- values of a fixed width

interface NumericType {
  readonly typeId: number;
  readonly isSigned?: boolean;
  readonly unit?: number;
  readonly scale?: number;
}

/** Typed arrays by the bytes of a number. Floats of 16 bits are arrays of their bits. */
const NUMBER_ARRAYS = {
  signed: { 1: Int8Array, 2: Int16Array, 4: Int32Array, 8: BigInt64Array },
  unsigned: { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array },
  float: { 2: Uint16Array, 4: Float32Array, 8: Float64Array },
} as Readonly<Record<string, Readonly<Record<number, NumberArrayType | undefined>>>>;

type NumberArrayType = new (buffer: ArrayBufferLike, byteOffset: number, length: number) => NumberArray;
type NumberArray = ArrayLike<unknown> & { slice(start: number, end: number): NumberArray };

const DAY_MS = 86_400_000;

function fixedValues(column: FixedColumn, type: DataType): unknown[] {
  const { typeId, unit = 0, scale = 0 } = type as unknown as NumericType;
  switch (typeId) {
    case Type.FixedSizeBinary: {
      const { byteWidth, values } = column;
      const { length } = column;
      return Array.from({ length }, (_, row) => values.slice(row * byteWidth, (row + 1) * byteWidth));
    }
    case Type.Decimal:
      return decimals(column, scale);
    case Type.Timestamp:
      return moments(numbersOf(column, type) as BigInt64Array, unit);
    case Type.Date:
      return unit === 0
        ? Array.from(numbersOf(column, type) as Int32Array, (days) => days * DAY_MS)
        : Array.from(numbersOf(column, type) as BigInt64Array, Number);
    case Type.Float:
      if (column.byteWidth === 2) return Array.from(numbersOf(column, type) as Uint16Array, decodeHalfFloat);
      break;
  }
  return Array.from(numbersOf(column, type));
}

/** Converts instants of any unit to milliseconds. Whole milliseconds stay exact. */
function moments(values: BigInt64Array, unit: number): number[] {
  if (unit === 0) return Array.from(values, (value) => Number(value) * 1000);
  if (unit === 1) return Array.from(values, Number);
  const factor = unit === 2 ? 1000n : 1_000_000n;
  const divisor = Number(factor);
  return Array.from(values, (value) => Number(value / factor) + Number(value % factor) / divisor);
}

function decimals({ values, byteWidth, length }: FixedColumn, scale: number): string[] {
  const words = new BigInt64Array(alignedBytes(values, 8).slice(0, length * byteWidth).buffer);
  const perValue = byteWidth / 8;
  return Array.from({ length }, (_, row) => {
    let unscaled = words[row * perValue + perValue - 1];
    for (let word = perValue - 2; word >= 0; word--) {
      unscaled = (unscaled << 64n) | BigInt.asUintN(64, words[row * perValue + word]);
    }
    return formatDecimal(unscaled, scale);
  });
}

/** Returns the numbers of a column, as a view of its memory if that is aligned. */
function numbersOf(column: FixedColumn, type: DataType): NumberArray {
  const { typeId, isSigned = true } = type as unknown as NumericType;
  const { byteWidth, length } = column;
  const { buffer, byteOffset } = alignedBytes(column.values, byteWidth);
  const kind = typeId === Type.Float ? "float" : isSigned ? "signed" : "unsigned";
  const Numbers = NUMBER_ARRAYS[kind][byteWidth];
  if (Numbers === undefined) throw new InternalError(`numbers of ${byteWidth} bytes are unknown`);
  return new Numbers(buffer, byteOffset, length);
}

// ------------------------------------------------------------------------------- values of a variable width

function variableValues({ offsets, bytes, length }: VariableColumn, type: DataType): unknown[] {
  const isText = type.typeId === Type.Utf8 || type.typeId === Type.LargeUtf8;
  const textAt = isText ? textReader(bytes) : null;
  const values: unknown[] = new Array(length);
  let start = Number(offsets[0]);
  for (let row = 0; row < length; row++) {
    const end = Number(offsets[row + 1]);
    values[row] = textAt === null ? bytes.slice(start, end) : textAt(start, end);
    start = end;
  }
  return values;
}

// --------------------------------------------------------------------------------------------- nested values

function lists(column: Extract<Column, { kind: "list" }>, type: DataType): unknown[] {
  const { offsets, length } = column;
  const [item] = type.children as Field[];
  const isMap = type.typeId === Type.Map;
  const first = Number(offsets[0]);
  const flat = decodeValues(itemsWithin(column), item.type);
  const values: unknown[] = new Array(length);
  const names = isMap ? (item.type.children as Field[]).map(({ name }) => name) : [];
  for (let row = 0; row < length; row++) {
    const listItems = flat.slice(Number(offsets[row]) - first, Number(offsets[row + 1]) - first);
    values[row] = isMap
      ? new Map((listItems as Record<string, unknown>[]).map((entry) => [entry[names[0]], entry[names[1]]]))
      : listItems;
  }
  return values;
}

function sizedLists(
  column: Extract<Column, { kind: "fixedSizeList" | "sizedList" }>,
  type: DataType,
): unknown[] {
  const { dimension, length } = column;
  const items: Column = column.items;
  const [item] = type.children as Field[];
  const isNumeric = item.type.typeId === Type.Float || item.type.typeId === Type.Int;
  const values: unknown[] = new Array(length);
  if (!isNumeric || items.kind !== "fixed") {
    const flat = decodeValues(items, item.type);
    for (let row = 0; row < length; row++) values[row] = flat.slice(row * dimension, (row + 1) * dimension);
    return values;
  }
  const numbers = itemNumbers(items, item.type);
  const { validity } = items;
  for (let row = 0; row < length; row++) {
    const slice = numbers.slice(row * dimension, (row + 1) * dimension);
    const bits = validity && validityFrom(validity.bytes, validity.bitOffset + row * dimension, dimension);
    values[row] =
      bits === null ? slice : Array.from(slice, (value, index) => (isSet(bits, index) ? value : null));
  }
  return values;
}

function itemNumbers(items: FixedColumn, type: DataType): NumberArray {
  const numbers = numbersOf(items, type);
  const isHalf = type.typeId === Type.Float && items.byteWidth === 2;
  return isHalf ? Float32Array.from(numbers as Uint16Array, decodeHalfFloat) : numbers;
}
