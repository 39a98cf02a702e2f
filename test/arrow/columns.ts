/** Columns of every layout for tests of the arrow layer, and their values as comparable JavaScript. */

import * as arrow from "apache-arrow";
import * as fc from "fast-check";
import type { Column } from "../../src/arrow/columns/column.js";
import { dataFromColumn } from "../../src/arrow/exchange/dataFromColumn.js";
import { columnFromData } from "../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../src/arrow/types/layouts.js";
import { fieldOf } from "../support/arrowColumns.js";
import {
  makeColumn,
  NULL_PATTERNS,
  type NullPattern,
  Random,
  TYPE_NAMES,
  type TypeName,
} from "../support/generators.js";

const INDEX_TYPES = {
  Int8: arrow.Int8,
  Int16: arrow.Int16,
  Int32: arrow.Int32,
  Int64: arrow.Int64,
  Uint8: arrow.Uint8,
  Uint16: arrow.Uint16,
  Uint32: arrow.Uint32,
  Uint64: arrow.Uint64,
};
type IndexName = keyof typeof INDEX_TYPES;

/** Names of the columns that {@link randomData} can make. */
export const COLUMN_NAMES = [
  ...TYPE_NAMES,
  "null",
  "vectorBool",
  "matrixFloat32",
  "dictionaryFixed",
  "dictionaryLargeUtf8",
  ...(Object.keys(INDEX_TYPES) as IndexName[]).map((name) => `dictionary${name}` as const),
] as const;
export type ColumnName = (typeof COLUMN_NAMES)[number];

/** Column of random values, equal for equal arguments. */
export function randomData(name: ColumnName, rowCount: number, nulls: NullPattern, seed: number): arrow.Data {
  switch (name) {
    case "null":
      return arrow.makeData({ type: new arrow.Null(), length: rowCount });
    case "vectorBool": {
      const child = makeColumn({ type: "bool", shape: "random", nulls: "some" }, rowCount * 5, seed + 1);
      return list(child, 5, rowCount, nulls, seed);
    }
    case "matrixFloat32": {
      const items = makeColumn({ type: "float32", shape: "random", nulls: "none" }, rowCount * 6, seed + 1);
      return list(list(items, 2, rowCount * 3, "some", seed + 2), 3, rowCount, nulls, seed);
    }
    case "dictionaryFixed":
      return dictionary(new arrow.FixedSizeBinary(16), "fixedSizeBinary16", "Int16", rowCount, nulls, seed);
    case "dictionaryLargeUtf8":
      return dictionary(new arrow.LargeUtf8(), "largeUtf8", "Int32", rowCount, nulls, seed);
  }
  if (name.startsWith("dictionary")) {
    const index = name.slice("dictionary".length) as IndexName;
    return dictionary(new arrow.Utf8(), "utf8", index, rowCount, nulls, seed);
  }
  return makeColumn({ type: name as TypeName, shape: "random", nulls }, rowCount, seed);
}

function validity(rowCount: number, nulls: NullPattern, seed: number) {
  const { nullBitmap, nullCount } = makeColumn({ type: "int8", shape: "random", nulls }, rowCount, seed);
  return nullCount === 0 ? { nullCount } : { nullBitmap, nullCount };
}

function list(
  child: arrow.Data,
  dimension: number,
  length: number,
  nulls: NullPattern,
  seed: number,
): arrow.Data {
  const type = new arrow.FixedSizeList(dimension, fieldOf("item", child.type));
  return arrow.makeData({ type, length, ...validity(length, nulls, seed), child });
}

function dictionary(
  value: arrow.DataType,
  valueName: TypeName,
  index: IndexName,
  length: number,
  nulls: NullPattern,
  seed: number,
): arrow.Data {
  const entries = 1 + (seed % 20);
  const values = makeColumn({ type: valueName, shape: "random", nulls: "some" }, entries, seed + 5);
  const type = new arrow.Dictionary(value, new INDEX_TYPES[index]() as arrow.Int32);
  const random = new Random(seed);
  const picks = Array.from({ length }, () => random.below(entries));
  const wide = index.endsWith("64");
  const ArrayType = type.indices.ArrayType as unknown as {
    from(values: ArrayLike<number | bigint>): Int32Array;
  };
  const data = ArrayType.from(wide ? picks.map(BigInt) : picks);
  return arrow.makeData({
    type,
    length,
    ...validity(length, nulls, seed),
    data,
    dictionary: new arrow.Vector([values]),
  });
}

interface AnyVector {
  readonly length: number;
  readonly data: readonly AnyData[];
  get(index: number): unknown;
}
interface AnyData {
  readonly length: number;
  readonly type: { readonly typeId: number };
  readonly values: ArrayLike<unknown>;
  readonly dictionary?: AnyVector;
  getValid(index: number): boolean;
}

/**
 * Values as JavaScript that `toEqual` compares bit for bit. apache-arrow's accessors fail on timestamps
 * beyond 2^53 and on 64-bit dictionary indices.
 */
export function valuesOf(vector: AnyVector): unknown[] {
  switch (vector.data[0]?.type.typeId) {
    case arrow.Type.Timestamp:
    case arrow.Type.Date:
      return vector.data.flatMap((data) =>
        Array.from({ length: data.length }, (_, index) => (data.getValid(index) ? data.values[index] : null)),
      );
    case arrow.Type.Dictionary:
      return vector.data.flatMap((data) => {
        const entries = valuesOf(data.dictionary as AnyVector);
        return Array.from({ length: data.length }, (_, index) =>
          data.getValid(index) ? entries[Number(data.values[index])] : null,
        );
      });
    default:
      return Array.from({ length: vector.length }, (_, index) => plain(vector.get(index)));
  }
}

export function columnValues(type: arrow.DataType, column: Column): unknown[] {
  return valuesOf(new arrow.Vector([dataFromColumn(type, column)]));
}

function plain(value: unknown): unknown {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "boolean" || typeof value === "bigint") return value;
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex");
  }
  return valuesOf(value as AnyVector);
}

export const columnArbitrary = fc.record({
  name: fc.constantFrom(...COLUMN_NAMES),
  rowCount: fc.nat(80),
  nulls: fc.constantFrom(...NULL_PATTERNS),
  seed: fc.nat(1_000_000),
  // Slices as fractions of the rest.
  slices: fc.array(
    fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
    {
      maxLength: 3,
    },
  ),
});

export function slicedData({
  name,
  rowCount,
  nulls,
  seed,
  slices,
}: typeof columnArbitrary extends fc.Arbitrary<infer T> ? T : never) {
  let data = randomData(name, rowCount, nulls, seed);
  for (const [index, size] of slices) {
    const start = Math.floor(index * data.length);
    data = data.slice(start, Math.floor(size * (data.length - start)));
  }
  return data;
}

export const columnOf = (data: ReturnType<typeof slicedData>): Column =>
  columnFromData(data, layoutOf(data.type, "test"));
