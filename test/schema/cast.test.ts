import {
  Binary,
  Bool,
  type DataType,
  DateDay,
  DateMillisecond,
  Decimal,
  Dictionary,
  Duration,
  Field,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  LargeBinary,
  LargeList,
  LargeUtf8,
  List,
  Map_,
  makeData,
  Null,
  Schema,
  Struct,
  Time,
  Timestamp,
  Uint8,
  Uint32,
  Uint64,
  Utf8,
  type Vector,
  vectorFromArray,
} from "apache-arrow";
import { InvalidInputError, TableSchemaValidationError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { makeBatch } from "../../src/arrow/exchange/batch.js";
import { columnFromData } from "../../src/arrow/exchange/data.js";
import { layoutOf } from "../../src/arrow/types/layouts.js";
import { logicalFieldOf } from "../../src/arrow/types/logicalTypes.js";
import { castBetween } from "../../src/schema/cast.js";

const fieldOf = (type: DataType) => logicalFieldOf(new Field("c", type, true), "c");

function cast(values: Vector, to: DataType): Vector {
  const from = values.type as DataType;
  const convert = castBetween(fieldOf(from), fieldOf(to), "c");
  const [data] = values.data;
  const column = columnFromData(data, layoutOf(from, "c"));
  const result = convert(column);
  const schema = new Schema([new Field("c", to, true)]);
  return makeBatch(schema, [result], result.length).getChildAt(0)!;
}
const listOf = (vector: Vector): unknown[] =>
  Array.from(vector, (value) =>
    value !== null && typeof value === "object" && "toArray" in value ? Array.from(value as Vector) : value,
  );
const vector = (type: DataType, values: readonly unknown[]): Vector =>
  vectorFromArray(values as never[], type as never);
const words = (...values: bigint[]) =>
  vectorOfData(new Decimal(2, 10, 128), new BigInt64Array(values.flatMap((value) => [value, value >> 63n])));
function vectorOfData(type: DataType, array: BigInt64Array): Vector {
  const data = makeData({
    type: type as Decimal,
    data: new Uint32Array(array.buffer),
    length: array.length / 2,
  });
  return new (vectorFromArray([1]).constructor as new (data: unknown[]) => Vector)([data]);
}
const decimals = (values: Vector): bigint[] => {
  const { data } = { data: values.data[0] };
  const width = (values.type as Decimal).bitWidth / 64;
  const numbers = new BigInt64Array(data.values.buffer, data.values.byteOffset, data.length * width);
  return Array.from({ length: data.length }, (_, row) => numbers[row * width]);
};

describe("casts keep values", () => {
  it.each<[string, DataType, unknown[], DataType, unknown[]]>([
    ["int32 → int64", new Int32(), [1, -5, null], new Int64(), [1n, -5n, null]],
    ["int64 → int8", new Int64(), [1n, -128n, null], new Int8(), [1, -128, null]],
    ["uint8 → uint64", new Uint8(), [0, 255], new Uint64(), [0n, 255n]],
    ["uint64 → int64", new Uint64(), [2n ** 63n - 1n], new Int64(), [2n ** 63n - 1n]],
    ["int64 → uint32", new Int64(), [2n ** 32n - 1n], new Uint32(), [2 ** 32 - 1]],
    ["int32 → double", new Int32(), [2 ** 31 - 1, -1], new Float64(), [2 ** 31 - 1, -1]],
    ["int64 → float", new Int64(), [2n ** 24n], new Float32(), [2 ** 24]],
    [
      "double → float",
      new Float64(),
      [0.1, Infinity, NaN, null],
      new Float32(),
      [Math.fround(0.1), Infinity, NaN, null],
    ],
    ["double → half", new Float64(), [0.1, 65504, -0], new Float16(), [0.0999755859375, 65504, -0]],
    ["half → double", new Float16(), [1.5, null], new Float64(), [1.5, null]],
    ["float → double", new Float32(), [1.5], new Float64(), [1.5]],
    ["string → large", new Utf8(), ["a", "", null, "é"], new LargeUtf8(), ["a", "", null, "é"]],
    ["large → string", new LargeUtf8(), ["a", "", null, "é"], new Utf8(), ["a", "", null, "é"]],
    [
      "dictionary → string",
      new Dictionary(new Utf8(), new Int32()),
      ["a", null, "a"],
      new Utf8(),
      ["a", null, "a"],
    ],
    [
      "text → dictionary",
      new Utf8(),
      ["a", "b", null, "a"],
      new Dictionary(new Utf8(), new Int32()),
      ["a", "b", null, "a"],
    ],
    [
      "text → dictionary of large",
      new Utf8(),
      ["", "é", ""],
      new Dictionary(new LargeUtf8(), new Int16()),
      ["", "é", ""],
    ],
    [
      "numbers → dictionary",
      new Int32(),
      [7, null, 7, 0],
      new Dictionary(new Int64(), new Int8()),
      [7n, null, 7n, 0n],
    ],
    ["nulls → dictionary", new Utf8(), [null, null], new Dictionary(new Utf8(), new Int8()), [null, null]],
    [
      "dictionary → other indices",
      new Dictionary(new Utf8(), new Int32()),
      ["b", null, "a", "b"],
      new Dictionary(new Utf8(), new Int8()),
      ["b", null, "a", "b"],
    ],
    ["dictionary → large", new Dictionary(new Utf8(), new Int16()), ["a", "b"], new LargeUtf8(), ["a", "b"]],
    ["ms → us", new Timestamp(1, null), [5], new Timestamp(2, null), [5]],
    ["us → s", new Timestamp(2, null), [5000], new Timestamp(0, null), [5000]],
    ["timestamp → UTC", new Timestamp(1, null), [5], new Timestamp(1, "UTC"), [5]],
    ["date → timestamp", new DateDay(), [86_400_000], new Timestamp(1, null), [86_400_000]],
    ["timestamp → date", new Timestamp(1, null), [-86_400_000], new DateDay(), [-86_400_000]],
    ["date32 → date64", new DateDay(), [86_400_000], new DateMillisecond(), [86_400_000]],
    ["time s → us", new Time(0, 32), [5], new Time(2, 64), [5_000_000n]],
    ["duration ns → ms", new Duration(3), [5_000_000n], new Duration(1), [5n]],
    [
      "list of int32 → list of int64",
      new List(new Field("item", new Int32(), true)),
      [[1, 2], [], null, [3]],
      new List(new Field("item", new Int64(), true)),
      [[1n, 2n], [], null, [3n]],
    ],
    [
      "list → large list",
      new List(new Field("item", new Int32(), true)),
      [[1, 2], null],
      new LargeList(new Field("item", new Int32(), true)),
      [[1, 2], null],
    ],
    [
      "fixed-size list of float → of double",
      new FixedSizeList(2, new Field("item", new Float32(), true)),
      [[1, 2], null],
      new FixedSizeList(2, new Field("item", new Float64(), true)),
      [[1, 2], null],
    ],
    [
      "fixed-size list → list",
      new FixedSizeList(2, new Field("item", new Float32(), true)),
      [
        [1, 2],
        [3, 4],
      ],
      new List(new Field("item", new Float64(), true)),
      [
        [1, 2],
        [3, 4],
      ],
    ],
    [
      "list → fixed-size list",
      new List(new Field("item", new Float32(), true)),
      [[1, 2], null, [3, null]],
      new FixedSizeList(2, new Field("item", new Float64(), true)),
      [[1, 2], null, [3, null]],
    ],
    [
      "nulls alone → fixed-size list",
      new LargeList(new Field("item", new Bool(), true)),
      [null, null],
      new FixedSizeList(3, new Field("item", new Bool(), true)),
      [null, null],
    ],
  ])("%s", (_name, from, values, to, expected) => {
    expect(listOf(cast(vector(from, values), to))).toEqual(expected);
    // A slice with an offset of its own.
    const sliced = vector(from, [...values, ...values]).slice(values.length);
    expect(listOf(cast(sliced, to))).toEqual(expected);
  });

  it("members of structs and values of maps", () => {
    const from = new Struct([new Field("a", new Int32(), true), new Field("b", new Utf8(), true)]);
    const to = new Struct([new Field("a", new Int64(), true), new Field("b", new LargeUtf8(), true)]);
    const rows = [{ a: 1, b: "x" }, null, { a: null, b: null }];
    expect(Array.from(cast(vector(from, rows), to), (row) => row?.toJSON() ?? null)).toEqual([
      { a: 1n, b: "x" },
      null,
      { a: null, b: null },
    ]);
    const mapOf = (value: DataType) =>
      new Map_(
        new Field(
          "entries",
          new Struct<{ key: Utf8; value: DataType }>([
            new Field("key", new Utf8(), false),
            new Field("value", value, true),
          ]),
          false,
        ),
      );
    const maps = vector(mapOf(new Int32()), [new Map([["k", 1]]), null]);
    expect(Array.from(cast(maps, mapOf(new Int64())), (row) => row?.toJSON() ?? null)).toEqual([
      { k: 1n },
      null,
    ]);
  });

  it("decimals", () => {
    const values = words(150n, -1n, 0n);
    expect(decimals(cast(values, new Decimal(4, 12, 128)))).toEqual([15_000n, -100n, 0n]);
    expect(decimals(cast(values, new Decimal(2, 3, 128)))).toEqual([150n, -1n, 0n]);
    expect(decimals(cast(values, new Decimal(3, 40, 256)))).toEqual([1500n, -10n, 0n]);
    expect(() => cast(values, new Decimal(1, 10, 128))).toThrow(TableSchemaValidationError);
    expect(() => cast(values, new Decimal(2, 2, 128))).toThrow(TableSchemaValidationError);
  });
});

describe("a value that the new type does not have", () => {
  it.each<[string, DataType, unknown[], DataType]>([
    ["too large", new Int32(), [200], new Int8()],
    [
      "a list of another size",
      new List(new Field("item", new Int32(), true)),
      [[1, 2], [3]],
      new FixedSizeList(2, new Field("item", new Int32(), true)),
    ],
    ["too small", new Int64(), [-(2n ** 31n) - 1n], new Int32()],
    ["negative", new Int8(), [-1], new Uint64()],
    ["beyond signed", new Uint64(), [2n ** 63n], new Int64()],
    ["not exact in a float", new Int32(), [2 ** 24 + 1], new Float32()],
    ["not exact in a double", new Int64(), [2n ** 53n + 1n], new Float64()],
    ["infinite", new Float64(), [1e300], new Float32()],
    ["infinite half", new Float32(), [1e6], new Float16()],
    ["part of a second", new Timestamp(1, null), [5], new Timestamp(0, null)],
    ["part of a day", new Timestamp(1, null), [5], new DateDay()],
    ["out of range in ns", new Timestamp(0, null), [1e13], new Timestamp(3, null)],
    [
      "in a list",
      new List(new Field("item", new Int32(), true)),
      [[1], [300]],
      new List(new Field("item", new Int8(), true)),
    ],
  ])("%s", (_name, from, values, to) => {
    expect(() => cast(vector(from, values), to)).toThrow(TableSchemaValidationError);
    expect(() => cast(vector(from, values), to)).toThrow(/column c/);
  });
  it("nulls inside what may not be null", () => {
    const to = new List(new Field("item", new Int64(), false));
    const from = new List(new Field("item", new Int32(), true));
    expect(listOf(cast(vector(from, [[1], null]), to))).toEqual([[1n], null]);
    expect(() => cast(vector(from, [[1, null]]), to)).toThrow(TableSchemaValidationError);
  });
});

describe("types that do not go together", () => {
  const struct = new Struct([new Field("a", new Int32(), true)]);
  it.each<[DataType, DataType]>([
    [new Int32(), new Utf8()],
    [new Utf8(), new Int32()],
    [new Float64(), new Int64()],
    [new Bool(), new Int8()],
    [new Utf8(), new Binary()],
    [new LargeBinary(), new Utf8()],
    [new Int32(), new Decimal(2, 10, 128)],
    [new Int64(), new Timestamp(1, null)],
    [new Timestamp(1, "Europe/Berlin"), new Timestamp(1, null)],
    [new Timestamp(1, null), new Timestamp(1, "Europe/Berlin")],
    [new DateDay(), new Timestamp(1, "Europe/Berlin")],
    [new Time(0, 32), new Timestamp(0, null)],
    [new Duration(0), new Int64()],
    [new Utf8(), new Dictionary(new Int32(), new Int32())],
    [struct, new Int32()],
    [struct, new Struct([new Field("b", new Int32(), true)])],
    [struct, new Struct([new Field("a", new Int32(), true), new Field("b", new Int32(), true)])],
    [new List(new Field("item", new Int32(), true)), new Int32()],
    [new List(new Field("item", new Int32(), true)), new List(new Field("item", new Utf8(), true))],
    [
      new FixedSizeList(2, new Field("item", new Float32(), true)),
      new FixedSizeList(3, new Field("item", new Float32(), true)),
    ],
    [
      new List(new Field("item", new Utf8(), true)),
      new FixedSizeList(2, new Field("item", new Float32(), true)),
    ],
    [new Int32(), new Null()],
  ])("%s → %s", (from, to) => {
    expect(() => castBetween(fieldOf(from), fieldOf(to), "a.b")).toThrow(InvalidInputError);
    expect(() => castBetween(fieldOf(from), fieldOf(to), "a.b")).toThrow(/column a\.b/);
  });
});
