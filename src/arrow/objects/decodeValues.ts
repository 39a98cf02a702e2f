/**
 * Converts columns to JavaScript values:
 *
 *     Int                  number; for 64 bits as `bigints` says
 *     Float                number
 *     Bool Utf8            boolean, string
 *     Binary               Uint8Array
 *     Date Timestamp       as `dates` says: Date, milliseconds since 1970, or ISO text
 *     Duration             as 64-bit integers, in the type's own unit
 *     Time                 the same for 64 bits, number for 32 bits; text if dates are texts
 *     Decimal              text with all digits of the scale
 *     List                 array
 *     FixedSizeList        typed array for numbers without nulls, array otherwise
 *     Struct               object
 *     Map                  Map
 *     Dictionary           value of the dictionary
 *
 * With `json`, JSON.stringify writes all of these: bytes are text in base64, vectors are arrays, and maps are
 * objects or arrays of pairs. NaN and infinities are null or text.
 *
 * Nulls are null in all types. Arrays and bytes are copies, so they never change.
 */

import { type DataType, type Dictionary, type Field, Type } from "apache-arrow";
import { alignedBytes } from "../../bytes/aligned.js";
import { encodeBase64 } from "../../bytes/base64.js";
import { decodeHalfFloat } from "../../bytes/halfFloat.js";
import { InternalError } from "../../errors.js";
import { textReader } from "../../platform/native.js";
import type { Column, FixedColumn, VariableColumn } from "../columns/column.js";
import { itemsWithin } from "../columns/columnBytes.js";
import { readIndices } from "../columns/dictionaries.js";
import { isSet, validityFrom } from "../columns/validity.js";
import { isText } from "../types/logicalTypes.js";
import { formatDecimal } from "./decimalText.js";
import { datesOf, longsOf, timesOf, type ValueForms } from "./valueForms.js";

/**
 * Returns one value per row.
 * @throws InvalidInputError for a value that the wanted form cannot hold
 */
export function decodeValues(column: Column, type: DataType, forms: ValueForms): unknown[] {
  const values = decodeAll(column, type, forms);
  const { validity, length } = column;
  if (validity !== null && column.kind !== "null") {
    for (let row = 0; row < length; row++) if (!isSet(validity, row)) values[row] = null;
  }
  return values;
}

/** Works like {@link decodeValues}, but the values of nulls are unspecified. */
function decodeAll(column: Column, type: DataType, forms: ValueForms): unknown[] {
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
      return fixedValues(column, type, forms);
    case "variable":
      return variableValues(column, type, forms);
    case "dictionary": {
      const entries = decodeValues(column.dictionary, (type as Dictionary).dictionary, forms);
      return Array.from(readIndices(column), (index) => entries[index] ?? null);
    }
    case "list":
      return lists(column, type, forms);
    case "fixedSizeList":
    case "sizedList":
      return sizedLists(column, type, forms);
    case "struct":
    case "packedStruct": {
      const fields = type.children as Field[];
      const names = fields.map(({ name }) => name);
      const members = column.children.map((child, index) => decodeValues(child, fields[index].type, forms));
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

function fixedValues(column: FixedColumn, type: DataType, forms: ValueForms): unknown[] {
  const { typeId, scale = 0 } = type as unknown as NumericType;
  switch (typeId) {
    case Type.FixedSizeBinary: {
      const { byteWidth, values, length } = column;
      const bytesOfRow = (row: number) => values.subarray(row * byteWidth, (row + 1) * byteWidth);
      return Array.from({ length }, (_, row) => binaryForm(bytesOfRow(row), forms));
    }
    case Type.Decimal:
      return decimals(column, scale);
    case Type.Timestamp:
    case Type.Date:
      return datesOf(numbersOf(column, type), type, column.validity, forms);
    case Type.Time:
      if (forms.dates === "iso") return timesOf(numbersOf(column, type), type);
      break;
    case Type.Float:
      return floatsOf(column, type, forms);
  }
  const numbers = numbersOf(column, type);
  return column.byteWidth === 8 ? longsOf(numbers, column.validity, forms) : Array.from(numbers);
}

function floatsOf(column: FixedColumn, type: DataType, { json }: ValueForms): unknown[] {
  const numbers = numbersOf(column, type) as ArrayLike<number>;
  const floats: unknown[] =
    column.byteWidth === 2 ? Array.from(numbers, decodeHalfFloat) : Array.from(numbers);
  if (json === undefined) return floats;
  return floats.map((value) =>
    Number.isFinite(value) ? value : json.nonFinite === "text" ? `${value}` : null,
  );
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

function variableValues(
  { offsets, bytes, length }: VariableColumn,
  type: DataType,
  forms: ValueForms,
): unknown[] {
  const textAt = isText(type) ? textReader(bytes) : null;
  const values: unknown[] = new Array(length);
  let start = Number(offsets[0]);
  for (let row = 0; row < length; row++) {
    const end = Number(offsets[row + 1]);
    values[row] = textAt === null ? binaryForm(bytes.subarray(start, end), forms) : textAt(start, end);
    start = end;
  }
  return values;
}

/** Returns a copy of bytes, or their text in JSON. */
const binaryForm = (bytes: Uint8Array, { json }: ValueForms): unknown =>
  json === undefined ? bytes.slice() : encodeBase64(bytes);

// --------------------------------------------------------------------------------------------- nested values

function lists(column: Extract<Column, { kind: "list" }>, type: DataType, forms: ValueForms): unknown[] {
  const { offsets, length } = column;
  const [item] = type.children as Field[];
  const isMap = type.typeId === Type.Map;
  const first = Number(offsets[0]);
  const flat = decodeValues(itemsWithin(column), item.type, forms);
  const values: unknown[] = new Array(length);
  for (let row = 0; row < length; row++) {
    const listItems = flat.slice(Number(offsets[row]) - first, Number(offsets[row + 1]) - first);
    values[row] = isMap ? mapForm(listItems as Record<string, unknown>[], item.type, forms) : listItems;
  }
  return values;
}

/** Returns a Map; for JSON an object if keys are texts, otherwise an array of pairs. */
function mapForm(
  entries: readonly Record<string, unknown>[],
  entryType: DataType,
  { json }: ValueForms,
): unknown {
  const [key, value] = entryType.children as Field[];
  const pairs = entries.map((entry): [unknown, unknown] => [entry[key.name], entry[value.name]]);
  if (json === undefined) return new Map(pairs);
  return isText(key.type) ? Object.fromEntries(pairs as [string, unknown][]) : pairs;
}

function sizedLists(
  column: Extract<Column, { kind: "fixedSizeList" | "sizedList" }>,
  type: DataType,
  forms: ValueForms,
): unknown[] {
  const { dimension, length } = column;
  const items: Column = column.items;
  const [item] = type.children as Field[];
  const isNumeric = item.type.typeId === Type.Float || item.type.typeId === Type.Int;
  const values: unknown[] = new Array(length);
  if (!isNumeric || items.kind !== "fixed" || !isTyped(items, item.type, forms)) {
    const flat = decodeValues(items, item.type, forms);
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

/** True if vectors are typed arrays. */
const isTyped = ({ byteWidth }: FixedColumn, { typeId }: DataType, { bigints, json }: ValueForms): boolean =>
  json === undefined && (typeId !== Type.Int || byteWidth < 8 || bigints === "bigint");

function itemNumbers(items: FixedColumn, type: DataType): NumberArray {
  const numbers = numbersOf(items, type);
  const isHalf = type.typeId === Type.Float && items.byteWidth === 2;
  return isHalf ? Float32Array.from(numbers as Uint16Array, decodeHalfFloat) : numbers;
}
