/**
 * Arrow tables from a small description (types, shapes, nulls, seed), which a failing property prints. Equal
 * descriptions give equal bytes.
 */

import * as arrow from "apache-arrow";
import * as fc from "fast-check";
import { fieldOf } from "./arrowColumns.js";

// The format does not store the nullability of a vector's items: all are nullable.
const vector = (item: arrow.DataType, dimension: number) =>
  new arrow.FixedSizeList(dimension, fieldOf("item", item));

/** All types of tables, by the name in column specs. */
export const TYPES = {
  bool: new arrow.Bool(),
  int8: new arrow.Int8(),
  int16: new arrow.Int16(),
  int32: new arrow.Int32(),
  int64: new arrow.Int64(),
  uint8: new arrow.Uint8(),
  uint16: new arrow.Uint16(),
  uint32: new arrow.Uint32(),
  uint64: new arrow.Uint64(),
  float16: new arrow.Float16(),
  float32: new arrow.Float32(),
  float64: new arrow.Float64(),
  utf8: new arrow.Utf8(),
  largeUtf8: new arrow.LargeUtf8(),
  binary: new arrow.Binary(),
  largeBinary: new arrow.LargeBinary(),
  date32: new arrow.DateDay(),
  date64: new arrow.DateMillisecond(),
  time32Second: new arrow.TimeSecond(),
  time32Millisecond: new arrow.TimeMillisecond(),
  time64Microsecond: new arrow.TimeMicrosecond(),
  time64Nanosecond: new arrow.TimeNanosecond(),
  timestampSecond: new arrow.TimestampSecond(),
  timestampMillisecond: new arrow.TimestampMillisecond(),
  timestampMicrosecond: new arrow.TimestampMicrosecond(),
  timestampNanosecond: new arrow.TimestampNanosecond(),
  timestampUtc: new arrow.TimestampMicrosecond("UTC"),
  timestampZone: new arrow.TimestampNanosecond("Europe/Berlin"),
  timestampMillisecondZone: new arrow.TimestampMillisecond("America/New_York"),
  durationSecond: new arrow.DurationSecond(),
  durationMillisecond: new arrow.DurationMillisecond(),
  durationMicrosecond: new arrow.DurationMicrosecond(),
  durationNanosecond: new arrow.DurationNanosecond(),
  decimal128: new arrow.Decimal(4, 18, 128),
  decimal128Wide: new arrow.Decimal(10, 38, 128),
  decimal256: new arrow.Decimal(20, 76, 256),
  fixedSizeBinary1: new arrow.FixedSizeBinary(1),
  fixedSizeBinary16: new arrow.FixedSizeBinary(16),
  fixedSizeBinary200: new arrow.FixedSizeBinary(200),
  vectorFloat16: vector(new arrow.Float16(), 16),
  vectorFloat32: vector(new arrow.Float32(), 24),
  vectorFloat32NullItems: vector(new arrow.Float32(), 8),
  vectorFloat64: vector(new arrow.Float64(), 3),
  vectorUint8: vector(new arrow.Uint8(), 32),
  vectorInt32: vector(new arrow.Int32(), 5),
} as const satisfies Record<string, arrow.DataType>;

export type TypeName = keyof typeof TYPES;
export const TYPE_NAMES = Object.keys(TYPES) as TypeName[];

/**
 * Distribution of a column's values. `extreme`: the ends of the type's range, NaN patterns, both zeros;
 * `long`: strings of some kilobytes (fixed-width types as `random`); `empty`: empty strings, zeros.
 */
export const SHAPES = [
  "random",
  "constant",
  "sorted",
  "lowCardinality",
  "runs",
  "extreme",
  "long",
  "empty",
] as const;
export type Shape = (typeof SHAPES)[number];

export const NULL_PATTERNS = ["none", "some", "all"] as const;
export type NullPattern = (typeof NULL_PATTERNS)[number];

export interface ColumnSpec {
  name: string;
  type: TypeName;
  shape: Shape;
  nulls: NullPattern;
  /** Default: true if the nulls pattern allows nulls. */
  nullable?: boolean;
}

export interface TableSpec {
  columns: ColumnSpec[];
  rowCount: number;
  seed: number;
  /** Rows of each batch but the last; default: one batch. */
  batchRows?: number;
}

/** Deterministic 32-bit numbers (xorshift128). */
export class Random {
  #a: number;
  #b = 0x9e3779b9;
  #c = 0x243f6a88;
  #d = 0xb7e15162;

  constructor(seed: number) {
    this.#a = seed | 0;
    for (let i = 0; i < 12; i++) this.next();
  }

  next(): number {
    let t = this.#a;
    t ^= t << 11;
    t ^= t >>> 8;
    this.#a = this.#b;
    this.#b = this.#c;
    this.#c = this.#d;
    this.#d = this.#d ^ (this.#d >>> 19) ^ t;
    return this.#d >>> 0;
  }

  below(limit: number): number {
    return this.next() % limit;
  }

  fill(bytes: Uint8Array): void {
    const words = new Uint32Array(Math.ceil(bytes.length / 4));
    let a = this.#a;
    let b = this.#b;
    let c = this.#c;
    let d = this.#d;
    for (let i = 0; i < words.length; i++) {
      let t = a;
      t ^= t << 11;
      t ^= t >>> 8;
      a = b;
      b = c;
      c = d;
      d = d ^ (d >>> 19) ^ t;
      words[i] = d;
    }
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#d = d;
    bytes.set(new Uint8Array(words.buffer, 0, bytes.length));
  }
}

export function makeTable(spec: TableSpec): arrow.Table {
  const schema = new arrow.Schema(
    spec.columns.map(({ name, type, nulls, nullable }) =>
      fieldOf(name, TYPES[type], nullable ?? nulls !== "none"),
    ),
  );
  const columns = spec.columns.map((column, i) => makeColumn(column, spec.rowCount, spec.seed + i * 7919));
  return tableInBatches(schema, columns, spec);
}

export function tableInBatches(
  schema: arrow.Schema,
  columns: readonly arrow.Data[],
  spec: { readonly rowCount: number; readonly batchRows?: number },
): arrow.Table {
  const batchRows = spec.batchRows ?? Math.max(1, spec.rowCount);
  const batches: arrow.RecordBatch[] = [];
  for (let start = 0; start < spec.rowCount || start === 0; start += batchRows) {
    const length = Math.min(batchRows, spec.rowCount - start);
    const children = columns.map((column) =>
      length === column.length ? column : column.slice(start, length),
    );
    batches.push(
      new arrow.RecordBatch(
        schema,
        arrow.makeData({ type: new arrow.Struct(schema.fields), length, nullCount: 0, children }),
      ),
    );
  }
  return new arrow.Table(schema, batches);
}

export function makeIpc(spec: TableSpec): Uint8Array {
  return arrow.tableToIPC(makeTable(spec), "stream");
}

export function allTypesSpec(
  rowCount: number,
  nulls: NullPattern,
  options: { shape?: Shape; seed?: number; batchRows?: number; types?: readonly TypeName[] } = {},
): TableSpec {
  return {
    columns: (options.types ?? TYPE_NAMES).map((type) => ({
      name: type,
      type,
      shape: options.shape ?? "random",
      nulls,
    })),
    rowCount,
    seed: options.seed ?? 1,
    batchRows: options.batchRows,
  };
}

export function makeColumn(
  spec: Pick<ColumnSpec, "type" | "shape" | "nulls">,
  rowCount: number,
  seed: number,
): arrow.Data {
  const itemNulls = spec.type === "vectorFloat32NullItems" && spec.nulls === "some" ? "some" : "none";
  return buildColumn(TYPES[spec.type], spec.shape, spec.nulls, rowCount, new Random(seed), itemNulls);
}

function buildColumn(
  type: arrow.DataType,
  shape: Shape,
  nulls: NullPattern,
  rowCount: number,
  random: Random,
  itemNulls: NullPattern,
): arrow.Data {
  const { nullCount, nullBitmap } = makeValidity(nulls, rowCount, random);
  const base = { length: rowCount, nullCount, nullBitmap };
  if (arrow.DataType.isFixedSizeList(type)) {
    const itemType = type.children[0].type;
    const child = buildColumn(itemType, shape, itemNulls, rowCount * type.listSize, random, "none");
    return arrow.makeData({ ...base, type, child });
  }
  if (arrow.DataType.isUtf8(type) || arrow.DataType.isBinary(type)) {
    const { offsets, bytes } = makeVariable(shape, arrow.DataType.isUtf8(type), rowCount, random);
    return arrow.makeData({
      ...base,
      type: type as arrow.Binary,
      valueOffsets: Int32Array.from(offsets),
      data: bytes,
    });
  }
  if (arrow.DataType.isLargeUtf8(type) || arrow.DataType.isLargeBinary(type)) {
    const { offsets, bytes } = makeVariable(shape, arrow.DataType.isLargeUtf8(type), rowCount, random);
    const valueOffsets = BigInt64Array.from(offsets, (offset) => BigInt(offset));
    return arrow.makeData({ ...base, type: type as arrow.LargeBinary, valueOffsets, data: bytes });
  }
  if (arrow.DataType.isBool(type)) {
    const pick = makePicker(shape, 2, rowCount, random);
    const bits = new Uint8Array(Math.ceil(rowCount / 8));
    for (let i = 0; i < rowCount; i++) if (pick(i) === 1) bits[i >> 3] |= 1 << (i & 7);
    return arrow.makeData({ ...base, type, data: bits });
  }
  const bytes = makeFixed(type, shape, rowCount, random);
  const data = new (type.ArrayType as typeof Uint8Array)(bytes.buffer as ArrayBuffer);
  return arrow.makeData({ ...base, type: type as arrow.Int32, data: data as unknown as Int32Array });
}

/** A column of random strings or binaries of the given byte lengths. */
export function makeStrings(
  type: arrow.Utf8 | arrow.LargeUtf8 | arrow.Binary | arrow.LargeBinary,
  lengths: readonly number[],
  random: Random,
  validity: { nullCount: number; nullBitmap?: Uint8Array } = { nullCount: 0 },
): arrow.Data {
  const text = arrow.DataType.isUtf8(type) || arrow.DataType.isLargeUtf8(type);
  const ends = lengths.map((_, row) => lengths.slice(0, row + 1).reduce((sum, length) => sum + length));
  const large = arrow.DataType.isLargeUtf8(type) || arrow.DataType.isLargeBinary(type);
  const valueOffsets = large ? BigInt64Array.from([0, ...ends], BigInt) : Int32Array.from([0, ...ends]);
  const data = makeRandomString(text, ends[ends.length - 1], random);
  return arrow.makeData({
    type: type as arrow.Binary,
    length: lengths.length,
    ...validity,
    valueOffsets,
    data,
  } as never);
}

function makeValidity(nulls: NullPattern, rowCount: number, random: Random) {
  if (nulls === "none" || rowCount === 0) return { nullCount: 0, nullBitmap: undefined };
  const nullBitmap = new Uint8Array(Math.ceil(rowCount / 8));
  if (nulls === "all") return { nullCount: rowCount, nullBitmap };
  random.fill(nullBitmap);
  // A stretch without nulls and one of nulls only, so that whole chunks of either kind occur.
  const third = Math.floor(nullBitmap.length / 3);
  nullBitmap.fill(0xff, 0, third).fill(0, third, Math.floor(third * 1.5));
  if ((rowCount & 7) !== 0) nullBitmap[nullBitmap.length - 1] &= (1 << (rowCount & 7)) - 1;
  let validCount = 0;
  for (let i = 0; i < rowCount; i++) validCount += (nullBitmap[i >> 3] >> (i & 7)) & 1;
  return { nullCount: rowCount - validCount, nullBitmap };
}

/** Picks one of `poolSize` values for each row. Call it with ascending rows. */
function makePicker(
  shape: Shape,
  poolSize: number,
  rowCount: number,
  random: Random,
): (row: number) => number {
  switch (shape) {
    case "constant":
    case "empty":
      return () => 0;
    case "sorted":
      return (row) => Math.floor((row * poolSize) / Math.max(1, rowCount));
    case "runs": {
      let left = 0;
      let current = 0;
      return () => {
        if (left === 0) {
          left = 1 + random.below(random.below(4) === 0 ? 400 : 20);
          current = random.below(poolSize);
        }
        left--;
        return current;
      };
    }
    default:
      return () => random.below(poolSize);
  }
}

function fixedWidth(type: arrow.DataType): number {
  if (arrow.DataType.isFixedSizeBinary(type)) return type.byteWidth;
  if (arrow.DataType.isDecimal(type)) return type.bitWidth / 8;
  return (type.ArrayType as typeof Uint8Array).BYTES_PER_ELEMENT;
}

function makeFixed(type: arrow.DataType, shape: Shape, rowCount: number, random: Random): Uint8Array {
  const width = fixedWidth(type);
  const bytes = new Uint8Array(rowCount * width);
  if (shape === "empty") return bytes;
  if (shape === "random" || shape === "long") {
    fillWithinDomain(type, bytes, random);
    return bytes;
  }
  if (shape === "sorted") {
    for (let row = 0; row < rowCount; row++) writeAscending(type, bytes, row, rowCount, width);
    return bytes;
  }
  const pool = shape === "extreme" ? extremes(type, width) : new Uint8Array(12 * width);
  if (shape !== "extreme") fillWithinDomain(type, pool, random);
  const pick = makePicker(shape, pool.length / width, rowCount, random);
  for (let row = 0; row < rowCount; row++) {
    const from = pick(row) * width;
    for (let i = 0; i < width; i++) bytes[row * width + i] = pool[from + i];
  }
  return bytes;
}

/** Random values within the type's domain. */
function fillWithinDomain(type: arrow.DataType, bytes: Uint8Array, random: Random): void {
  random.fill(bytes);
  const width = fixedWidth(type);
  if (arrow.DataType.isDecimal(type)) {
    // A signed 56-bit number, below 10^17, sign-extended.
    for (let end = width; end <= bytes.length; end += width) {
      bytes.fill((bytes[end - width + 6] & 0x80) === 0 ? 0 : 0xff, end - width + 7, end);
    }
  } else if (arrow.DataType.isTime(type) || arrow.DataType.isDate(type)) {
    reduceToDomain(type, bytes);
  }
}

const MILLISECONDS_PER_DAY = 86_400_000;

function reduceToDomain(type: arrow.DataType, bytes: Uint8Array): void {
  if (arrow.DataType.isTime(type)) {
    const unitsPerDay = 86_400 * 10 ** (type.unit * 3);
    if (type.bitWidth === 32) {
      const values = new Int32Array(bytes.buffer);
      for (let i = 0; i < values.length; i++) values[i] = (values[i] >>> 0) % unitsPerDay;
    } else {
      const values = new BigUint64Array(bytes.buffer);
      for (let i = 0; i < values.length; i++) values[i] %= BigInt(unitsPerDay);
    }
  } else if (fixedWidth(type) === 8) {
    const values = new BigInt64Array(bytes.buffer);
    const dayMask = 0xffffn;
    for (let i = 0; i < values.length; i++) {
      values[i] = ((values[i] & dayMask) - 30_000n) * BigInt(MILLISECONDS_PER_DAY);
    }
  } else {
    const values = new Int32Array(bytes.buffer);
    for (let i = 0; i < values.length; i++) values[i] >>= 14;
  }
}

/** The value of `row` in an ascending column. */
function writeAscending(
  type: arrow.DataType,
  bytes: Uint8Array,
  row: number,
  rowCount: number,
  width: number,
) {
  const view = new DataView(bytes.buffer, row * width, width);
  if (arrow.DataType.isFloat(type)) {
    if (width === 2) view.setUint16(0, Math.floor((row * 0x7bff) / Math.max(1, rowCount)), true);
    else if (width === 4) view.setFloat32(0, row * 0.5 - 100, true);
    else view.setFloat64(0, row * 0.1 - 100, true);
  } else if (width === 1) {
    view.setUint8(0, Math.floor((row * 128) / Math.max(1, rowCount)));
  } else if (width === 2) {
    view.setUint16(0, Math.floor((row * 32_768) / Math.max(1, rowCount)), true);
  } else if (arrow.DataType.isFixedSizeBinary(type)) {
    view.setUint32(0, row, false);
  } else if (fixedWidth(type) === 8 && arrow.DataType.isDate(type)) {
    view.setBigInt64(0, BigInt(row) * BigInt(MILLISECONDS_PER_DAY), true);
  } else {
    view.setUint32(0, arrow.DataType.isTime(type) ? row % 86_400 : row * 3, true);
  }
}

/** The ends of the range and the values that break naive code. */
function extremes(type: arrow.DataType, width: number): Uint8Array {
  const values: bigint[] = [0n];
  const bits = BigInt(width * 8);
  if (arrow.DataType.isFloat(type)) {
    const [exponentBits, mantissaBits] = { 2: [5n, 10n], 4: [8n, 23n], 8: [11n, 52n] }[width] as bigint[];
    const sign = 1n << (bits - 1n);
    const infinity = ((1n << exponentBits) - 1n) << mantissaBits;
    const quiet = 1n << (mantissaBits - 1n);
    values.push(sign, infinity, sign | infinity, infinity | quiet, sign | infinity | quiet | 5n);
    values.push(1n, sign | 1n, infinity - 1n, sign | (infinity - 1n));
  } else if (arrow.DataType.isDecimal(type)) {
    const largest = 10n ** BigInt(type.precision) - 1n;
    values.push(1n, -1n, largest, -largest);
  } else if (arrow.DataType.isTime(type)) {
    values.push(1n, 86_400n * 1000n ** BigInt(type.unit) - 1n);
  } else if (arrow.DataType.isDate(type) && width === 8) {
    values.push(BigInt(MILLISECONDS_PER_DAY), -BigInt(MILLISECONDS_PER_DAY), 8_640_000_000_000_000n);
  } else {
    const top = 1n << (bits - 1n);
    values.push(1n, -1n, top, top - 1n, top - 2n);
  }
  const pool = new Uint8Array(values.length * width);
  values.forEach((value, i) => {
    let rest = BigInt.asUintN(width * 8, value);
    for (let b = 0; b < width; b++, rest >>= 8n) pool[i * width + b] = Number(rest & 0xffn);
  });
  return pool;
}

const WORDS = [
  "",
  "a",
  "alpha",
  "München",
  "naïve café",
  "日本語",
  "🦊🚀",
  "user@example.com",
  "https://example.com/a/b?c=d",
  "\u0000\u0001",
  "  spaces  ",
  "The quick brown fox jumps over the lazy dog",
];

/** Column size in bytes after which shapes with long strings give short ones. */
const LONG_COLUMN_BYTES = 8 << 20;

function makeVariable(
  shape: Shape,
  text: boolean,
  rowCount: number,
  random: Random,
): { offsets: Float64Array; bytes: Uint8Array } {
  const offsets = new Float64Array(rowCount + 1);
  if (shape === "random") {
    for (let row = 0; row < rowCount; row++) offsets[row + 1] = offsets[row] + 4 + random.below(28);
    return { offsets, bytes: makeRandomString(text, offsets[rowCount], random) };
  }
  const encoder = new TextEncoder();
  const pieces: Uint8Array[] = new Array(rowCount);
  const pool = makeStringPool(shape, text, encoder, random);
  const pick = makePicker(shape, pool.length, rowCount, random);
  let end = 0;
  for (let row = 0; row < rowCount; row++) {
    let piece = shape === "sorted" ? encoder.encode(`key-${String(row).padStart(9, "0")}`) : pool[pick(row)];
    // Long values until the column is large enough, short ones after.
    if ((shape === "long" || shape === "extreme") && end > LONG_COLUMN_BYTES) piece = piece.subarray(0, 12);
    pieces[row] = piece;
    end += piece.length;
    offsets[row + 1] = end;
  }
  const bytes = new Uint8Array(end);
  for (let row = 0; row < rowCount; row++) bytes.set(pieces[row], offsets[row]);
  return { offsets, bytes };
}

function makeStringPool(shape: Shape, text: boolean, encoder: TextEncoder, random: Random): Uint8Array[] {
  switch (shape) {
    case "empty":
      return [new Uint8Array(0)];
    case "constant":
      return [encoder.encode("the same value")];
    case "long":
      return Array.from({ length: 6 }, () => makeRandomString(text, 500 + random.below(40_000), random));
    case "extreme":
      return [0, 1, 255, 256, 65_535, 65_536].map((length) => makeRandomString(text, length, random));
    default:
      return WORDS.map((word) => encoder.encode(word));
  }
}

const LETTERS = new TextEncoder().encode("abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

function makeRandomString(text: boolean, length: number, random: Random): Uint8Array {
  const bytes = new Uint8Array(length);
  random.fill(bytes);
  if (text) for (let i = 0; i < length; i++) bytes[i] = LETTERS[bytes[i] & 63];
  return bytes;
}

/** Arbitrary table descriptions; pass them to `makeTable`. */
export function tableSpecs(
  options: {
    types?: readonly TypeName[];
    shapes?: readonly Shape[];
    nulls?: readonly NullPattern[];
    minColumns?: number;
    maxColumns?: number;
    minRows?: number;
    maxRows?: number;
  } = {},
): fc.Arbitrary<TableSpec> {
  const column = fc.record({
    type: fc.constantFrom(...(options.types ?? TYPE_NAMES)),
    shape: fc.constantFrom(...(options.shapes ?? SHAPES)),
    nulls: fc.constantFrom(...(options.nulls ?? NULL_PATTERNS)),
    nullable: fc.boolean(),
  });
  const minRows = options.minRows ?? 0;
  const maxRows = options.maxRows ?? 5_000;
  return fc
    .record({
      columns: fc.array(column, { minLength: options.minColumns ?? 1, maxLength: options.maxColumns ?? 4 }),
      // Small counts, the neighbourhood of powers of two, and anything.
      rowCount: fc.oneof(
        fc.integer({ min: minRows, max: Math.min(maxRows, minRows + 20) }),
        fc
          .tuple(fc.integer({ min: 5, max: 20 }), fc.integer({ min: -1, max: 1 }))
          .map(([power, delta]) => Math.max(minRows, Math.min(maxRows, 2 ** power + delta))),
        fc.integer({ min: minRows, max: maxRows }),
      ),
      seed: fc.integer({ min: 0, max: 0x7fffffff }),
      batchRows: fc.option(fc.integer({ min: 1, max: 2_000 }), { nil: undefined }),
    })
    .map(({ columns, ...rest }) => ({
      ...rest,
      columns: columns.map((spec, i) => ({
        ...spec,
        name: `c${i}`,
        nullable: spec.nullable || spec.nulls !== "none",
      })),
    }));
}
