import * as arrow from "apache-arrow";
import { describe, expect, it } from "vitest";
import { adoptSchema, adoptType } from "../../../src/arrow/types/foreignTypes.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import {
  arrowFieldFromLogical,
  arrowTypeFromLogical,
  logicalFieldOf,
  logicalTypeOf,
} from "../../../src/arrow/types/logicalTypes.js";
import { schemaToJson } from "../../../src/arrow/types/schemaJson.js";
import { formatType, parseType } from "../../../src/arrow/types/type.js";
import { type ForeignType, valueTypeOf } from "../../../src/arrow/types/typeParameters.js";
import { InvalidInputError, UnsupportedError } from "../../../src/errors.js";
import { arrow18 } from "../../support/arrow18.js";
import { fieldOf } from "../../support/arrowColumns.js";
import { compareSchemas } from "../../support/compareTables.js";
import { TYPES } from "../../support/generators.js";

const textOf = (type: arrow.DataType) => formatType(logicalTypeOf(type, "c"));
const fromText = (text: string, path: string, children?: arrow.Field[]) =>
  arrowTypeFromLogical(parseType(text), path, children);
const list = (item: arrow.DataType, size: number) => new arrow.FixedSizeList(size, fieldOf("item", item));

/** Logical types that the reference writes; see the format notes. */
const LOGICAL: [string, arrow.DataType][] = [
  ["null", new arrow.Null()],
  ["bool", new arrow.Bool()],
  ["int32", new arrow.Int32()],
  ["halffloat", TYPES.float16],
  ["float", new arrow.Float32()],
  ["double", new arrow.Float64()],
  ["string", new arrow.Utf8()],
  ["large_binary", TYPES.largeBinary],
  ["date32:day", new arrow.DateDay()],
  ["date64:ms", TYPES.date64],
  ["time32:ms", new arrow.TimeMillisecond()],
  ["time64:ns", TYPES.time64Nanosecond],
  ["timestamp:us:-", new arrow.TimestampMicrosecond()],
  ["timestamp:us:UTC", TYPES.timestampUtc],
  ["timestamp:ms:America/New_York", TYPES.timestampMillisecondZone],
  ["duration:s", TYPES.durationSecond],
  ["decimal:128:38:10", TYPES.decimal128Wide],
  ["decimal:256:76:20", TYPES.decimal256],
  ["decimal:128:5:-2", new arrow.Decimal(-2, 5, 128)],
  ["fixed_size_binary:16", new arrow.FixedSizeBinary(16)],
  ["fixed_size_list:float:24", TYPES.vectorFloat32],
  ["fixed_size_list:fixed_size_list:float:2:3", list(list(new arrow.Float32(), 2), 3)],
  ["fixed_size_list:timestamp:us:UTC:3", list(TYPES.timestampUtc, 3)],
  ["fixed_size_list:bool:7", list(new arrow.Bool(), 7)],
  ["dict:string:int32:false", new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32())],
  [
    "dict:fixed_size_binary:4:uint8:false",
    new arrow.Dictionary(new arrow.FixedSizeBinary(4), new arrow.Uint8()),
  ],
];

describe("logical type strings", () => {
  it.each(LOGICAL)("%s", (text, type) => {
    expect(textOf(type)).toBe(text);
    const parsed = fromText(text, "c");
    expect(String(parsed)).toBe(String(type));
    expect(textOf(parsed)).toBe(text);
    expect(layoutOf(parsed, "c")).toEqual(layoutOf(type, "c"));
  });

  it("round trip for every type that tables hold", () => {
    for (const type of Object.values(TYPES)) {
      expect(String(arrowTypeFromLogical(logicalTypeOf(type, "c"), "c"))).toBe(String(type));
      expect(parseType(textOf(type))).toEqual(logicalTypeOf(type, "c"));
    }
  });

  it.each([
    "",
    "list",
    "list.struct",
    "map",
    "json",
    "int128",
    "time32:us",
    "timestamp:us",
    "timestamp:us:",
    "timestamp:us:+02:00",
    "timestamp:min:-",
    "fixed_size_binary:0",
    "fixed_size_binary:99999999999",
    "fixed_size_binary:",
    "fixed_size_list:string:3",
    "fixed_size_list:float:0",
    "fixed_size_list:struct:3",
    "dict:list:int32:false",
    "dict:string:float:false",
    "decimal:64:5:2",
    "date32:ms",
    "constructor",
  ])("refuses %j, naming column and type", (text) => {
    expect(() => fromText(text, "a.b")).toThrow(UnsupportedError);
    expect(() => fromText(text, "a.b")).toThrow("a.b");
  });

  it.each([
    ["fixed_size_list:float:99999999999", "type fixed-size list of 99999999999 float is not supported"],
    ["fixed_size_list:blob:99999999999", "type blob is not supported"],
    ["fixed_size_list:fixed_size_list:float:0:2", "type fixed-size list of 0 float is not supported"],
    ["fixed_size_binary:2147483648", "type fixed-size binary of 2147483648 bytes is not supported"],
    ["decimal:128:999:-5", "type decimal:128:999:-5 is not supported"],
    ["decimal:128:0:0", "no decimal of 128 bits has precision 0"],
    ["decimal:128:5:-129", "no decimal has scale -129"],
    ["dict:decimal:256:77:0:int8:false", "no decimal of 256 bits has precision 77"],
    ["dict:json:int8:false", "type json is not supported"],
    ["lance.bfloat16", "type bfloat16 is not supported"],
    [`${"fixed_size_list:".repeat(100_000)}int8${":1".repeat(100_000)}`, "is not supported"],
    [`timestamp:us:${"x".repeat(100_000)}:`, "is not supported"],
  ])("refuses hostile texts with a telling message (%#)", (text, message) => {
    expect(() => fromText(text, "a.b")).toThrow(/^column a\.b: /);
    expect(() => fromText(text, "a.b")).toThrow(message);
  });

  it("refuses decimals of impossible precision", () => {
    expect(() => fromText("decimal:128:39:0", "c")).toThrow(InvalidInputError);
  });
});

describe("nested types", () => {
  const item = (type: arrow.DataType, name = "item") => fieldOf(name, type, true, { k: "v" });
  const pair = new arrow.Struct([
    fieldOf("key", new arrow.Utf8(), false),
    fieldOf("value", new arrow.List(item(new arrow.Int32()))),
  ]);
  const types: [string, arrow.DataType][] = [
    ["list", new arrow.List(item(new arrow.Int32(), "element"))],
    ["large_list", new arrow.LargeList(item(list(new arrow.Float32(), 4)))],
    [
      "list.struct",
      new arrow.List(item(new arrow.Struct([item(new arrow.Utf8(), "a.b"), item(new arrow.Bool(), "")]))),
    ],
    ["large_list.struct", new arrow.LargeList(item(new arrow.Struct([item(new arrow.Int64(), "n")])))],
    [
      "struct",
      new arrow.Struct([
        item(new arrow.Struct([item(new arrow.Int32(), "x")]), "s"),
        item(new arrow.Utf8(), "t"),
      ]),
    ],
    ["map", new arrow.Map_(fieldOf("entries", pair as never, false))],
    ["struct", new arrow.Struct([])],
    ["list.struct", new arrow.List(item(new arrow.Struct([])))],
  ];
  it.each(types)("%s, from a field and back", (text, type) => {
    const field = fieldOf("c", type, true, { "ARROW:extension:name": "ours" });
    const logical = logicalFieldOf(field, "c");
    expect(formatType(logical.type)).toBe(text);
    compareSchemas(new arrow.Schema([field]), new arrow.Schema([arrowFieldFromLogical(logical, "c")]));
  });

  it("have layouts of lists and structs", () => {
    expect(layoutOf(types[5][1], "c")).toEqual({
      kind: "list",
      offsetBits: 32,
      isMap: true,
      itemNullable: false,
      item: {
        kind: "struct",
        children: [
          { name: "key", nullable: false, layout: { kind: "variable", offsetBits: 32, text: true } },
          {
            name: "value",
            nullable: true,
            layout: {
              kind: "list",
              offsetBits: 32,
              isMap: false,
              itemNullable: true,
              item: { kind: "fixed", byteWidth: 4 },
            },
          },
        ],
      },
    });
  });

  it("are refused with members of one name, and as strings whose children do not fit", () => {
    const twins = new arrow.Struct([item(new arrow.Int32(), "a"), item(new arrow.Utf8(), "a")]);
    expect(() => logicalFieldOf(fieldOf("c", twins), "c")).toThrow(InvalidInputError);
    expect(() => fromText("list", "c", [])).toThrow(UnsupportedError);
    expect(() => fromText("map", "c", [item(new arrow.Int32())])).toThrow(UnsupportedError);
    expect(() => fromText("int32", "c", [item(new arrow.Int32())])).toThrow(UnsupportedError);
  });
});

describe("types that cannot be stored", () => {
  it.each([
    list(new arrow.Struct([]), 2),
    list(
      new arrow.Struct([new arrow.Field("a", new arrow.List(new arrow.Field("item", new arrow.Int32())))]),
      2,
    ),
    new arrow.List(
      new arrow.Field("item", list(new arrow.Struct([new arrow.Field("a", new arrow.Int32())]), 2)),
    ),
    list(list(new arrow.Struct([new arrow.Field("a", new arrow.Int32())]), 2), 3),
    new arrow.IntervalDayTime(),
    new arrow.Utf8View(),
    list(new arrow.Utf8(), 3),
    new arrow.FixedSizeList(0, fieldOf("item", new arrow.Float32())),
    new arrow.FixedSizeBinary(0),
    new arrow.Decimal(2, 5, 64),
    new arrow.Dictionary(new arrow.Bool(), new arrow.Int32()),
  ])("%s", (type) => {
    expect(() => layoutOf(type, "some column")).toThrow(UnsupportedError);
    expect(() => layoutOf(type, "some column")).toThrow("some column");
    // The parent has its own entry in a schema.
    if (type instanceof arrow.List) return;
    expect(() => logicalTypeOf(type, "some column")).toThrow(UnsupportedError);
    expect(() => logicalTypeOf(type, "some column")).toThrow("some column");
  });

  it("time zones with a colon, which the reference cannot open", () => {
    expect(() => logicalTypeOf(new arrow.TimestampMicrosecond("+02:00"), "c")).toThrow(InvalidInputError);
    expect(() => layoutOf(new arrow.TimestampMicrosecond("+02:00"), "c")).toThrow(InvalidInputError);
  });

  it("parameters no type has", () => {
    const broken: ForeignType[] = [
      { typeId: 2, bitWidth: 12, isSigned: true },
      { typeId: 3, precision: 7 },
      { typeId: 7, bitWidth: 128, precision: 0, scale: 0 },
      { typeId: 9, bitWidth: 64, unit: 0 },
      { typeId: 10, unit: 9 },
      { typeId: 15, byteWidth: -1 },
      { typeId: 16, listSize: 1.5, children: [] },
    ];
    for (const type of broken) {
      expect(() =>
        layoutOf(type.typeId === 16 ? list(new arrow.Int32(), 1.5) : (type as arrow.DataType), "c"),
      ).toThrow(InvalidInputError);
    }
  });
});

describe("types of another apache-arrow", () => {
  it("become types of ours", () => {
    const foreign: [object, string][] = [
      [new arrow18.Null(), "null"],
      [new arrow18.Bool(), "bool"],
      [new arrow18.Uint16(), "uint16"],
      [new arrow18.Int64(), "int64"],
      [new arrow18.Float16(), "halffloat"],
      [new arrow18.Utf8(), "string"],
      [new arrow18.LargeUtf8(), "large_string"],
      [new arrow18.LargeBinary(), "large_binary"],
      [new arrow18.Decimal(3, 20, 128), "decimal:128:20:3"],
      [new arrow18.DateDay(), "date32:day"],
      [new arrow18.TimeSecond(), "time32:s"],
      [new arrow18.TimeNanosecond(), "time64:ns"],
      [new arrow18.TimestampNanosecond("UTC"), "timestamp:ns:UTC"],
      [new arrow18.DurationMicrosecond(), "duration:us"],
      [new arrow18.FixedSizeBinary(5), "fixed_size_binary:5"],
      [
        new arrow18.FixedSizeList(4, new arrow18.Field("item", new arrow18.Float32(), true)),
        "fixed_size_list:float:4",
      ],
      [new arrow18.Dictionary(new arrow18.Utf8(), new arrow18.Int16()), "dict:string:int16:false"],
    ];
    for (const [type, logical] of foreign) {
      const adopted = adoptType(type as ForeignType);
      expect(adopted).toBeInstanceOf(arrow.DataType);
      expect(Object.getPrototypeOf(adopted)).not.toBe(Object.getPrototypeOf(type));
      expect(textOf(adopted)).toBe(logical);
    }
  });

  it("keep order of dictionaries, names, nullability and metadata", () => {
    const metadata = new Map([["k", "v"]]);
    const foreign = new arrow18.Schema(
      [
        new arrow18.Field(
          "d",
          new arrow18.Dictionary(new arrow18.Utf8(), new arrow18.Int8(), 0, true),
          false,
          metadata,
        ),
        new arrow18.Field("l", new arrow18.List(new arrow18.Field("x", new arrow18.Int8(), false)), true),
      ],
      new Map([["s", "t"]]),
    );
    const schema = adoptSchema(foreign);
    expect(schema).toBeInstanceOf(arrow.Schema);
    expect((schema.fields[0].type as arrow.Dictionary).isOrdered).toBe(true);
    expect(schema.fields[0].nullable).toBe(false);
    expect([...schema.fields[0].metadata]).toEqual([["k", "v"]]);
    expect([...schema.metadata]).toEqual([["s", "t"]]);
    expect(schema.fields[0].metadata).not.toBe(metadata);
    expect(String(schema.fields[1].type)).toBe("List<Int8>");
  });

  it("get dictionary ids that collide with no other", () => {
    const ids = [0, 0].map(
      (id) =>
        (adoptType(new arrow18.Dictionary(new arrow18.Utf8(), new arrow18.Int8(), id)) as arrow.Dictionary)
          .id,
    );
    expect(new Set(ids).size).toBe(2);
  });

  it("are refused when they are none", () => {
    expect(() => adoptType({} as ForeignType)).toThrow(InvalidInputError);
    expect(() => adoptType({ typeId: 99 })).toThrow(UnsupportedError);
    expect(() => adoptSchema({ fields: [{} as never] })).toThrow(InvalidInputError);
  });
});

it("names the type of a dictionary's values", () => {
  expect(String(valueTypeOf(new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32())))).toBe("Utf8");
  expect(valueTypeOf(new arrow.Utf8())).toBeNull();
});

it("writes schemas as JSON of the namespace spec", () => {
  const schema = new arrow.Schema(
    [
      fieldOf("id", new arrow.Int64(), false),
      fieldOf("price", new arrow.Decimal(4, 18, 128)),
      fieldOf("v", list(new arrow.Float32(), 8), true, { k: "1" }),
      fieldOf("tag", new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32())),
    ],
    new Map([["owner", "me"]]),
  );
  expect(schemaToJson(schema)).toEqual({
    fields: [
      { name: "id", nullable: false, type: { type: "int64" } },
      { name: "price", nullable: true, type: { type: "decimal128", length: 18004 } },
      {
        name: "v",
        nullable: true,
        type: {
          type: "fixed_size_list",
          fields: [{ name: "item", nullable: true, type: { type: "float32" } }],
          length: 8,
        },
        metadata: { k: "1" },
      },
      { name: "tag", nullable: true, type: { type: "utf8" } },
    ],
    metadata: { owner: "me" },
  });
  expect(schemaToJson(new arrow.Schema([]))).toEqual({ fields: [] });
});
