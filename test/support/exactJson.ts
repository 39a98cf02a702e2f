/**
 * Values of an Arrow table as JSON that keeps every bit, read from the buffers: apache-arrow's accessors
 * round dates and hide NaN patterns.
 *
 *     bool, integers of up to 32 bits, times of 32 bits    as they are
 *     integers, times, dates and decimals of more          decimal digits in a string
 *     floats                  as they are; "-0", "Infinity", "-Infinity"; rare NaN as "NaN:<bits>"
 *     text, binary            a string; hexadecimal digits
 *     list, fixed-size list   an array
 *     map                     an array of pairs
 *     struct                  an object
 *     dictionary              the value
 */

import { type Data, DataType, type FixedSizeBinary, type Table, Type, type Vector } from "apache-arrow";

export type ExactJson = null | boolean | number | string | ExactJson[] | { [name: string]: ExactJson };

/** Name, type and nullability of a column, and its values. */
export interface ExactColumn {
  name: string;
  type: string;
  nullable: boolean;
  values: ExactJson[];
}

export function exactColumns(table: Table): ExactColumn[] {
  return table.schema.fields.map(({ name, type, nullable }, index) => {
    const chunks = (table.getChildAt(index) as Vector).data;
    const values = chunks.flatMap((chunk) =>
      Array.from({ length: chunk.length }, (_, row) => valueAt(chunk, row)),
    );
    return { name, type: typeName(type), nullable, values };
  });
}

/** Type as apache-arrow prints it, with the width of decimals and the nullability of members. */
function typeName(type: DataType): string {
  const decimal = DataType.isDecimal(type) ? `:${type.bitWidth}` : "";
  const children = type.children ?? [];
  const inner = children.map((child) => `${child.name}: ${typeName(child.type)}${child.nullable ? "?" : ""}`);
  return `${type}${decimal}${inner.length === 0 ? "" : ` {${inner.join(", ")}}`}`;
}

function valueAt(data: Data, row: number): ExactJson {
  const { type } = data;
  if (DataType.isNull(type)) return null;
  if (data.nullCount > 0) {
    const bit = data.offset + row;
    if (((data.nullBitmap[bit >> 3] >> (bit & 7)) & 1) === 0) return null;
  }
  switch (type.typeId as Type) {
    case Type.Bool: {
      const bit = data.offset + row;
      return (((data.values as Uint8Array)[bit >> 3] >> (bit & 7)) & 1) === 1;
    }
    case Type.Utf8:
    case Type.LargeUtf8:
      return new TextDecoder("utf-8", { fatal: true }).decode(bytesAt(data, row));
    case Type.Binary:
    case Type.LargeBinary:
      return Buffer.from(bytesAt(data, row)).toString("hex");
    case Type.FixedSizeBinary: {
      const { byteWidth } = type as FixedSizeBinary;
      return Buffer.from(
        (data.values as Uint8Array).subarray(row * byteWidth, (row + 1) * byteWidth),
      ).toString("hex");
    }
    case Type.Float:
      return floatAt(data, row);
    case Type.Decimal:
      return decimalAt(data, row);
    case Type.List:
    case Type.LargeList:
    case Type.Map: {
      const [start, end] = rangeAt(data, row);
      const items = data.children[0];
      const range = Array.from({ length: end - start }, (_, index) => start + index);
      if (!DataType.isMap(type)) return range.map((index) => valueAt(items, index));
      return range.map((index) => items.children.map((child) => valueAt(child, index)));
    }
    case Type.FixedSizeList: {
      const { listSize } = type as { listSize: number } & DataType;
      return Array.from({ length: listSize }, (_, index) =>
        valueAt(data.children[0], row * listSize + index),
      );
    }
    case Type.Struct:
      return Object.fromEntries(
        type.children.map(({ name }, index) => [name, valueAt(data.children[index], row)]),
      );
    case Type.Dictionary:
      return dictionaryValue(data.dictionary as Vector, Number((data.values as Int32Array)[row]));
    default: {
      const value = (data.values as Int32Array | BigInt64Array)[row];
      return typeof value === "bigint" ? String(value) : value;
    }
  }
}

function dictionaryValue(dictionary: Vector, index: number): ExactJson {
  let start = 0;
  for (const chunk of dictionary.data) {
    if (index < start + chunk.length) return valueAt(chunk, index - start);
    start += chunk.length;
  }
  throw new Error(`index ${index} in a dictionary of ${start} values`);
}

function rangeAt(data: Data, row: number): [number, number] {
  const offsets = data.valueOffsets as Int32Array | BigInt64Array;
  return [Number(offsets[row]), Number(offsets[row + 1])];
}

const bytesAt = (data: Data, row: number): Uint8Array =>
  (data.values as Uint8Array).subarray(...rangeAt(data, row));

const QUIET_NAN = { 2: 0x7e00n, 4: 0x7fc00000n, 8: 0x7ff8000000000000n } as const;

function floatAt(data: Data, row: number): ExactJson {
  const values = data.values as Uint16Array | Float32Array | Float64Array;
  const width = values.BYTES_PER_ELEMENT as 2 | 4 | 8;
  const view = new DataView(values.buffer, values.byteOffset + row * width, width);
  const bits =
    width === 2
      ? BigInt(view.getUint16(0, true))
      : width === 4
        ? BigInt(view.getUint32(0, true))
        : view.getBigUint64(0, true);
  const value =
    width === 2 ? halfFloat(Number(bits)) : width === 4 ? view.getFloat32(0, true) : view.getFloat64(0, true);
  if (Number.isNaN(value)) return bits === QUIET_NAN[width] ? "NaN" : `NaN:${bits.toString(16)}`;
  return Number.isFinite(value) && !Object.is(value, -0)
    ? value
    : Object.is(value, -0)
      ? "-0"
      : String(value);
}

function halfFloat(bits: number): number {
  const sign = bits < 0x8000 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const mantissa = bits & 0x3ff;
  if (exponent === 31) return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * mantissa * 2 ** -24 : sign * (mantissa + 1024) * 2 ** (exponent - 25);
}

function decimalAt(data: Data, row: number): string {
  const { bitWidth } = data.type as { bitWidth: number } & DataType;
  const words = (data.values as Uint32Array).subarray((row * bitWidth) / 32, ((row + 1) * bitWidth) / 32);
  const bits = words.reduceRight((high, word) => (high << 32n) | BigInt(word), 0n);
  return String(BigInt.asIntN(bitWidth, bits));
}
