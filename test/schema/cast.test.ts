import * as arrow from "apache-arrow";
import { InvalidInputError, TableSchemaValidationError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { makeBatch } from "../../src/arrow/exchange/batch.js";
import { columnFromData } from "../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../src/arrow/types/layouts.js";
import { logicalFieldOf } from "../../src/arrow/types/logicalTypes.js";
import { castBetween } from "../../src/schema/cast.js";

const fieldOf = (type: arrow.DataType) => logicalFieldOf(new arrow.Field("c", type, true), "c");

function cast(values: arrow.Vector, to: arrow.DataType): arrow.Vector {
  const from = values.type as arrow.DataType;
  const convert = castBetween(fieldOf(from), fieldOf(to), "c");
  const [data] = values.data;
  const column = columnFromData(data, layoutOf(from, "c"));
  const result = convert(column, (row) => row);
  const schema = new arrow.Schema([new arrow.Field("c", to, true)]);
  return makeBatch(schema, [result], result.length).getChildAt(0)!;
}
const listOf = (vector: arrow.Vector): unknown[] =>
  Array.from(vector, (value) =>
    value !== null && typeof value === "object" && "toArray" in value
      ? Array.from(value as arrow.Vector)
      : value,
  );
const vector = (type: arrow.DataType, values: readonly unknown[]): arrow.Vector =>
  arrow.vectorFromArray(values as never[], type as never);
const words = (...values: bigint[]) =>
  vectorOfData(
    new arrow.Decimal(2, 10, 128),
    new BigInt64Array(values.flatMap((value) => [value, value >> 63n])),
  );
function vectorOfData(type: arrow.DataType, array: BigInt64Array): arrow.Vector {
  const data = arrow.makeData({
    type: type as arrow.Decimal,
    data: new Uint32Array(array.buffer),
    length: array.length / 2,
  });
  return new (arrow.vectorFromArray([1]).constructor as new (data: unknown[]) => arrow.Vector)([data]);
}
const decimals = (values: arrow.Vector): bigint[] => {
  const { data } = { data: values.data[0] };
  const width = (values.type as arrow.Decimal).bitWidth / 64;
  const numbers = new BigInt64Array(data.values.buffer, data.values.byteOffset, data.length * width);
  return Array.from({ length: data.length }, (_, row) => numbers[row * width]);
};

describe("casts keep values", () => {
  it.each<[string, arrow.DataType, unknown[], arrow.DataType, unknown[]]>([
    ["int32 → int64", new arrow.Int32(), [1, -5, null], new arrow.Int64(), [1n, -5n, null]],
    ["int64 → int8", new arrow.Int64(), [1n, -128n, null], new arrow.Int8(), [1, -128, null]],
    ["uint8 → uint64", new arrow.Uint8(), [0, 255], new arrow.Uint64(), [0n, 255n]],
    ["uint64 → int64", new arrow.Uint64(), [2n ** 63n - 1n], new arrow.Int64(), [2n ** 63n - 1n]],
    ["int64 → uint32", new arrow.Int64(), [2n ** 32n - 1n], new arrow.Uint32(), [2 ** 32 - 1]],
    ["int32 → double", new arrow.Int32(), [2 ** 31 - 1, -1], new arrow.Float64(), [2 ** 31 - 1, -1]],
    ["int64 → float", new arrow.Int64(), [2n ** 24n], new arrow.Float32(), [2 ** 24]],
    [
      "double → float",
      new arrow.Float64(),
      [0.1, Infinity, NaN, null],
      new arrow.Float32(),
      [Math.fround(0.1), Infinity, NaN, null],
    ],
    [
      "double → half",
      new arrow.Float64(),
      [0.1, 65504, -0],
      new arrow.Float16(),
      [0.0999755859375, 65504, -0],
    ],
    ["half → double", new arrow.Float16(), [1.5, null], new arrow.Float64(), [1.5, null]],
    ["float → double", new arrow.Float32(), [1.5], new arrow.Float64(), [1.5]],
    ["string → large", new arrow.Utf8(), ["a", "", null, "é"], new arrow.LargeUtf8(), ["a", "", null, "é"]],
    ["large → string", new arrow.LargeUtf8(), ["a", "", null, "é"], new arrow.Utf8(), ["a", "", null, "é"]],
    [
      "dictionary → string",
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
      ["a", null, "a"],
      new arrow.Utf8(),
      ["a", null, "a"],
    ],
    [
      "text → dictionary",
      new arrow.Utf8(),
      ["a", "b", null, "a"],
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
      ["a", "b", null, "a"],
    ],
    [
      "text → dictionary of large",
      new arrow.Utf8(),
      ["", "é", ""],
      new arrow.Dictionary(new arrow.LargeUtf8(), new arrow.Int16()),
      ["", "é", ""],
    ],
    [
      "numbers → dictionary",
      new arrow.Int32(),
      [7, null, 7, 0],
      new arrow.Dictionary(new arrow.Int64(), new arrow.Int8()),
      [7n, null, 7n, 0n],
    ],
    [
      "nulls → dictionary",
      new arrow.Utf8(),
      [null, null],
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8()),
      [null, null],
    ],
    [
      "dictionary → other indices",
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
      ["b", null, "a", "b"],
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8()),
      ["b", null, "a", "b"],
    ],
    [
      "dictionary → large",
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int16()),
      ["a", "b"],
      new arrow.LargeUtf8(),
      ["a", "b"],
    ],
    ["ms → us", new arrow.Timestamp(1, null), [5], new arrow.Timestamp(2, null), [5]],
    ["us → s", new arrow.Timestamp(2, null), [5000], new arrow.Timestamp(0, null), [5000]],
    ["timestamp → UTC", new arrow.Timestamp(1, null), [5], new arrow.Timestamp(1, "UTC"), [5]],
    ["date → timestamp", new arrow.DateDay(), [86_400_000], new arrow.Timestamp(1, null), [86_400_000]],
    ["timestamp → date", new arrow.Timestamp(1, null), [-86_400_000], new arrow.DateDay(), [-86_400_000]],
    ["date32 → date64", new arrow.DateDay(), [86_400_000], new arrow.DateMillisecond(), [86_400_000]],
    ["time s → us", new arrow.Time(0, 32), [5], new arrow.Time(2, 64), [5_000_000n]],
    ["duration ns → ms", new arrow.Duration(3), [5_000_000n], new arrow.Duration(1), [5n]],
    [
      "list of int32 → list of int64",
      new arrow.List(new arrow.Field("item", new arrow.Int32(), true)),
      [[1, 2], [], null, [3]],
      new arrow.List(new arrow.Field("item", new arrow.Int64(), true)),
      [[1n, 2n], [], null, [3n]],
    ],
    [
      "list → large list",
      new arrow.List(new arrow.Field("item", new arrow.Int32(), true)),
      [[1, 2], null],
      new arrow.LargeList(new arrow.Field("item", new arrow.Int32(), true)),
      [[1, 2], null],
    ],
    [
      "fixed-size list of float → of double",
      new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Float32(), true)),
      [[1, 2], null],
      new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Float64(), true)),
      [[1, 2], null],
    ],
    [
      "fixed-size list → list",
      new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Float32(), true)),
      [
        [1, 2],
        [3, 4],
      ],
      new arrow.List(new arrow.Field("item", new arrow.Float64(), true)),
      [
        [1, 2],
        [3, 4],
      ],
    ],
    [
      "list → fixed-size list",
      new arrow.List(new arrow.Field("item", new arrow.Float32(), true)),
      [[1, 2], null, [3, null]],
      new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Float64(), true)),
      [[1, 2], null, [3, null]],
    ],
    [
      "nulls alone → fixed-size list",
      new arrow.LargeList(new arrow.Field("item", new arrow.Bool(), true)),
      [null, null],
      new arrow.FixedSizeList(3, new arrow.Field("item", new arrow.Bool(), true)),
      [null, null],
    ],
  ])("%s", (_name, from, values, to, expected) => {
    expect(listOf(cast(vector(from, values), to))).toEqual(expected);
    // A slice with an offset of its own.
    const sliced = vector(from, [...values, ...values]).slice(values.length);
    expect(listOf(cast(sliced, to))).toEqual(expected);
  });

  it("members of structs and values of maps", () => {
    const from = new arrow.Struct([
      new arrow.Field("a", new arrow.Int32(), true),
      new arrow.Field("b", new arrow.Utf8(), true),
    ]);
    const to = new arrow.Struct([
      new arrow.Field("a", new arrow.Int64(), true),
      new arrow.Field("b", new arrow.LargeUtf8(), true),
    ]);
    const rows = [{ a: 1, b: "x" }, null, { a: null, b: null }];
    expect(Array.from(cast(vector(from, rows), to), (row) => row?.toJSON() ?? null)).toEqual([
      { a: 1n, b: "x" },
      null,
      { a: null, b: null },
    ]);
    const mapOf = (value: arrow.DataType) =>
      new arrow.Map_(
        new arrow.Field(
          "entries",
          new arrow.Struct<{ key: arrow.Utf8; value: arrow.DataType }>([
            new arrow.Field("key", new arrow.Utf8(), false),
            new arrow.Field("value", value, true),
          ]),
          false,
        ),
      );
    const maps = vector(mapOf(new arrow.Int32()), [new Map([["k", 1]]), null]);
    expect(Array.from(cast(maps, mapOf(new arrow.Int64())), (row) => row?.toJSON() ?? null)).toEqual([
      { k: 1n },
      null,
    ]);
  });

  it("decimals", () => {
    const values = words(150n, -1n, 0n);
    expect(decimals(cast(values, new arrow.Decimal(4, 12, 128)))).toEqual([15_000n, -100n, 0n]);
    expect(decimals(cast(values, new arrow.Decimal(2, 3, 128)))).toEqual([150n, -1n, 0n]);
    expect(decimals(cast(values, new arrow.Decimal(3, 40, 256)))).toEqual([1500n, -10n, 0n]);
    expect(() => cast(values, new arrow.Decimal(1, 10, 128))).toThrow(TableSchemaValidationError);
    expect(() => cast(values, new arrow.Decimal(2, 2, 128))).toThrow(TableSchemaValidationError);
  });
});

describe("a value that the new type does not have", () => {
  it.each<[string, arrow.DataType, unknown[], arrow.DataType]>([
    ["too large", new arrow.Int32(), [200], new arrow.Int8()],
    [
      "a list of another size",
      new arrow.List(new arrow.Field("item", new arrow.Int32(), true)),
      [[1, 2], [3]],
      new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Int32(), true)),
    ],
    ["too small", new arrow.Int64(), [-(2n ** 31n) - 1n], new arrow.Int32()],
    ["negative", new arrow.Int8(), [-1], new arrow.Uint64()],
    ["beyond signed", new arrow.Uint64(), [2n ** 63n], new arrow.Int64()],
    ["not exact in a float", new arrow.Int32(), [2 ** 24 + 1], new arrow.Float32()],
    ["not exact in a double", new arrow.Int64(), [2n ** 53n + 1n], new arrow.Float64()],
    ["infinite", new arrow.Float64(), [1e300], new arrow.Float32()],
    ["infinite half", new arrow.Float32(), [1e6], new arrow.Float16()],
    ["part of a second", new arrow.Timestamp(1, null), [5], new arrow.Timestamp(0, null)],
    ["part of a day", new arrow.Timestamp(1, null), [5], new arrow.DateDay()],
    ["out of range in ns", new arrow.Timestamp(0, null), [1e13], new arrow.Timestamp(3, null)],
    [
      "in a list",
      new arrow.List(new arrow.Field("item", new arrow.Int32(), true)),
      [[1], [300]],
      new arrow.List(new arrow.Field("item", new arrow.Int8(), true)),
    ],
  ])("%s", (_name, from, values, to) => {
    expect(() => cast(vector(from, values), to)).toThrow(TableSchemaValidationError);
    expect(() => cast(vector(from, values), to)).toThrow(/column c/);
  });
  it("nulls inside what may not be null", () => {
    const to = new arrow.List(new arrow.Field("item", new arrow.Int64(), false));
    const from = new arrow.List(new arrow.Field("item", new arrow.Int32(), true));
    expect(listOf(cast(vector(from, [[1], null]), to))).toEqual([[1n], null]);
    expect(() => cast(vector(from, [[1, null]]), to)).toThrow(TableSchemaValidationError);
  });
});

describe("types that do not go together", () => {
  const struct = new arrow.Struct([new arrow.Field("a", new arrow.Int32(), true)]);
  it.each<[arrow.DataType, arrow.DataType]>([
    [new arrow.Bool(), new arrow.Utf8()],
    [new arrow.Utf8(), new arrow.Bool()],
    [new arrow.Float64(), new arrow.Decimal(2, 10, 128)],
    [new arrow.Bool(), new arrow.Int8()],
    [new arrow.Utf8(), new arrow.Binary()],
    [new arrow.LargeBinary(), new arrow.Utf8()],
    [new arrow.Int32(), new arrow.Decimal(2, 10, 128)],
    [new arrow.Int64(), new arrow.Timestamp(1, null)],
    [new arrow.Timestamp(1, "Europe/Berlin"), new arrow.Timestamp(1, null)],
    [new arrow.Timestamp(1, null), new arrow.Timestamp(1, "Europe/Berlin")],
    [new arrow.DateDay(), new arrow.Timestamp(1, "Europe/Berlin")],
    [new arrow.Time(0, 32), new arrow.Timestamp(0, null)],
    [new arrow.Duration(0), new arrow.Int64()],
    [new arrow.Bool(), new arrow.Dictionary(new arrow.Int32(), new arrow.Int32())],
    [struct, new arrow.Int32()],
    [struct, new arrow.Struct([new arrow.Field("b", new arrow.Int32(), true)])],
    [
      struct,
      new arrow.Struct([
        new arrow.Field("a", new arrow.Int32(), true),
        new arrow.Field("b", new arrow.Int32(), true),
      ]),
    ],
    [new arrow.List(new arrow.Field("item", new arrow.Int32(), true)), new arrow.Int32()],
    [
      new arrow.List(new arrow.Field("item", new arrow.Int32(), true)),
      new arrow.List(new arrow.Field("item", new arrow.Bool(), true)),
    ],
    [
      new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Float32(), true)),
      new arrow.FixedSizeList(3, new arrow.Field("item", new arrow.Float32(), true)),
    ],
    [
      new arrow.List(new arrow.Field("item", new arrow.Bool(), true)),
      new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Float32(), true)),
    ],
    [new arrow.Int32(), new arrow.Null()],
  ])("%s → %s", (from, to) => {
    expect(() => castBetween(fieldOf(from), fieldOf(to), "a.b")).toThrow(InvalidInputError);
    expect(() => castBetween(fieldOf(from), fieldOf(to), "a.b")).toThrow(/column a\.b/);
  });
});
