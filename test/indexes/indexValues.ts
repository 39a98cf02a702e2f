/** Values of all indexable types and their plain order, with which tests compare index answers. */

import type { Column } from "../../src/arrow/columns/column.js";
import { type LogicalType, parseType } from "../../src/arrow/types/type.js";
import type { RowIds } from "../../src/indexes/rowIds.js";
import type { TableField } from "../../src/schema/schema.js";
import type { Random } from "../support/generators.js";

/** Bytes of a value, little-endian for numbers, one byte for booleans; null for a null. */
export type Value = Uint8Array | null;

const INTEGERS = ["int", "uint"].flatMap((kind) => [8, 16, 32, 64].map((bits) => `${kind}${bits}`));
export const NARROW_TYPES = ["bool", ...INTEGERS];
export const ORDERED_TYPES = [
  ...NARROW_TYPES,
  "halffloat",
  "float",
  "double",
  "string",
  "fixed_size_binary:5",
  "date32:day",
  "date64:ms",
  "timestamp:us:-",
  "timestamp:ns:UTC",
  "time64:us",
  "time64:ns",
];

export const fieldOf = (type: string): TableField => ({
  id: 0,
  name: "value",
  type: parseType(type),
  nullable: true,
  metadata: new Map(),
  children: [],
});

const encoder = new TextEncoder();

const bytesWith = (length: number, write: (view: DataView) => void): Uint8Array => {
  const bytes = new Uint8Array(length);
  write(new DataView(bytes.buffer));
  return bytes;
};

export const int64 = (value: bigint): Uint8Array => bytesWith(8, (view) => view.setBigInt64(0, value, true));
export const int32 = (value: number): Uint8Array => bytesWith(4, (view) => view.setInt32(0, value, true));
export const double = (value: number): Uint8Array => bytesWith(8, (view) => view.setFloat64(0, value, true));
export const text = (value: string): Uint8Array => encoder.encode(value);

function widthOf(type: LogicalType): number | null {
  switch (type.kind) {
    case "int":
    case "float":
    case "date":
      return type.bits / 8;
    case "bool":
      return 1;
    case "fixedSizeBinary":
      return type.bytes;
    case "string":
    case "binary":
      return null;
    case "time":
      return type.unit === "us" || type.unit === "ns" ? 8 : 4;
    default:
      return 8;
  }
}

/** Returns edge values of a type: extremes, zeros, infinities, NaN of both signs. */
export function edgesOf(type: LogicalType): Uint8Array[] {
  const width = widthOf(type);
  if (type.kind === "bool") return [Uint8Array.of(0), Uint8Array.of(1)];
  if (width === null) {
    return ["", "a", "ab", "abc", "abd", "b", "\u00e9", "\uffff", "\u{10ffff}", "aaaaaaaaaaaaaaaaaaaab"].map(
      text,
    );
  }
  if (type.kind === "fixedSizeBinary") {
    return [0, 1, 0x7f, 0x80, 0xff].map((byte) => new Uint8Array(width).fill(byte));
  }
  if (type.kind === "float") {
    const [infinity, nan, one] =
      width === 2
        ? [0x7c00n, 0x7e00n, 0x3c00n]
        : width === 4
          ? [0x7f800000n, 0x7fc00000n, 0x3f800000n]
          : [0x7ff0000000000000n, 0x7ff8000000000000n, 0x3ff0000000000000n];
    const sign = 1n << BigInt(8 * width - 1);
    return [0n, 1n, one, infinity, nan].flatMap((bits) => [
      numberBytes(bits, width),
      numberBytes(bits | sign, width),
    ]);
  }
  const top = 1n << BigInt(8 * width - 1);
  return [0n, 1n, 2n, top - 1n, top, top + 1n, 2n * top - 1n, 2n * top - 2n].map((bits) =>
    numberBytes(bits, width),
  );
}

const numberBytes = (bits: bigint, width: number): Uint8Array =>
  bytesWith(8, (view) => view.setBigUint64(0, bits, true)).slice(0, width);

export interface ValueShape {
  readonly rowCount: number;
  /** Fraction of nulls. */
  readonly nulls: number;
  /** Number of distinct random values besides the edges. */
  readonly distinct: number;
}

export function drawValues(
  random: Random,
  type: LogicalType,
  { rowCount, nulls, distinct }: ValueShape,
): Value[] {
  const width = widthOf(type);
  const some = Array.from({ length: distinct }, () => {
    if (type.kind === "bool") return Uint8Array.of(random.below(2));
    if (width === null) return text(`v${random.next().toString(36)}`);
    return Uint8Array.from({ length: width }, () => random.below(256));
  });
  const pool = [...edgesOf(type), ...some];
  return Array.from({ length: rowCount }, () =>
    random.next() < nulls * 2 ** 32 ? null : pool[random.below(pool.length)]!,
  );
}

export function columnOf(type: LogicalType, values: readonly Value[]): Column {
  const { length } = values;
  const bytes = new Uint8Array((length + 7) >>> 3);
  let nullCount = 0;
  for (const [row, value] of values.entries()) {
    if (value === null) nullCount++;
    else bytes[row >>> 3] |= 1 << (row & 7);
  }
  const validity = nullCount === 0 ? null : { bytes, bitOffset: 0, nullCount };
  if (type.kind === "bool") {
    const bits = new Uint8Array((length + 7) >>> 3);
    for (const [row, value] of values.entries()) if (value?.[0] === 1) bits[row >>> 3] |= 1 << (row & 7);
    return { kind: "bits", length, validity, bits, bitOffset: 0 };
  }
  const width = widthOf(type);
  if (width === null) {
    const large = (type.kind === "string" || type.kind === "binary") && type.large;
    const ends = [0];
    for (const value of values) ends.push(ends[ends.length - 1] + (value?.length ?? 0));
    const all = new Uint8Array(ends[ends.length - 1]);
    for (const [row, value] of values.entries()) if (value !== null) all.set(value, ends[row]);
    const offsets = large ? BigInt64Array.from(ends, BigInt) : Int32Array.from(ends);
    return { kind: "variable", length, validity, offsets, bytes: all };
  }
  const all = new Uint8Array(length * width);
  for (const [row, value] of values.entries()) if (value !== null) all.set(value, row * width);
  return { kind: "fixed", length, validity, byteWidth: width, values: all };
}

/** Returns a key that JavaScript orders like the type. */
export function sortKey(type: LogicalType, value: Uint8Array): bigint | string {
  if (type.kind === "string" || type.kind === "binary" || type.kind === "fixedSizeBinary") {
    return Buffer.from(value).toString("hex");
  }
  const width = value.length;
  const bits = value.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const sign = 1n << BigInt(8 * width - 1);
  if (type.kind === "bool" || (type.kind === "int" && !type.signed) || bits < sign) return bits;
  return type.kind === "float" ? -(bits - sign) - 1n : bits - 2n * sign;
}

export function compareKeys(a: bigint | string, b: bigint | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export const idWords = (ids: readonly bigint[]): Uint32Array =>
  Uint32Array.from(ids.flatMap((id) => [Number(id & 0xffff_ffffn), Number(id >> 32n)]));

/** Row number in the low word; a wrong high word fails the test. */
export const idOf = (row: number): bigint => (BigInt(highOf(row)) << 32n) + BigInt(row);

/** Spreads rows over two fragments and one with the highest id. */
const highOf = (row: number): number => (row % 3 === 0 ? 7 : row % 997 === 1 ? 0xffff_ffff : 0);

/** Returns the row numbers of an answer, ascending. */
export function rowsOfAnswer(rows: RowIds, highWord: (row: number) => number = highOf): number[] {
  const rowNumbers: number[] = [];
  for (const high of rows.highWords()) {
    for (const row of rows.lows(high, 2 ** 32)) {
      if (highWord(row) !== high) throw new Error(`row ${row} has high word ${high}`);
      rowNumbers.push(row);
    }
  }
  return rowNumbers.sort((a, b) => a - b);
}

export const idsOf = (rows: RowIds): bigint[] =>
  rows
    .highWords()
    .flatMap((high) => Array.from(rows.lows(high, 2 ** 32), (low) => (BigInt(high) << 32n) + BigInt(low)));

export const ascending = (ids: readonly bigint[]): bigint[] =>
  [...new Set(ids)].sort((a, b) => compareKeys(a, b));
