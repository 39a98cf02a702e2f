import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatType,
  isSameType,
  type LogicalType,
  parseType,
  timeBits,
} from "../../../src/arrow/types/type.js";

const large = fc.boolean();
const unit = fc.constantFrom("s", "ms", "us", "ns");
const size = fc.oneof(fc.integer({ min: 0, max: 2048 }), fc.maxSafeNat());
const integer = fc.record({
  kind: fc.constant("int"),
  bits: fc.constantFrom(8, 16, 32, 64),
  signed: fc.boolean(),
});
const zone = fc
  .oneof(fc.constantFrom("UTC", "Europe/Berlin"), fc.string({ minLength: 1, unit: "binary" }))
  .filter((text) => text !== "-" && !text.includes(":"));

/** Types of all kinds except `unknown`, with any allowed parameters. */
const { type: types } = fc.letrec<{ type: LogicalType }>((tie) => ({
  type: fc.oneof(
    { withCrossShrink: true, maxDepth: 6 },
    fc.record({ kind: fc.constantFrom("null", "bool", "json", "bfloat16", "struct", "map") }),
    integer,
    fc.record({ kind: fc.constant("float"), bits: fc.constantFrom(16, 32, 64) }),
    fc.record({
      kind: fc.constant("decimal"),
      bits: fc.constantFrom(128, 256),
      precision: fc.integer({ min: 0, max: 99 }),
      scale: fc.integer({ min: -999, max: 999 }),
    }),
    fc.record({ kind: fc.constantFrom("string", "binary"), large }),
    fc.record({ kind: fc.constant("fixedSizeBinary"), bytes: size }),
    fc.record({ kind: fc.constant("date"), bits: fc.constantFrom(32, 64) }),
    fc.record({ kind: fc.constantFrom("time", "duration"), unit }),
    fc.record({ kind: fc.constant("timestamp"), unit, timezone: fc.option(zone) }),
    fc.record({ kind: fc.constant("list"), large, ofStructs: fc.boolean() }),
    fc.record({
      kind: fc.constant("dictionary"),
      values: tie("type"),
      indices: integer,
      ordered: fc.boolean(),
    }),
    fc.record({ kind: fc.constant("fixedSizeList"), of: tie("type"), size }),
  ) as fc.Arbitrary<LogicalType>,
}));

const typelike = fc
  .array(
    fc.constantFrom(
      ...["fixed_size_list", "dict", "decimal", "timestamp", "fixed_size_binary", "large_", "struct", "list"],
      ...[
        "int32",
        "float",
        ":",
        ":",
        ":",
        ":",
        "128",
        "0",
        "-",
        "1",
        "us",
        "UTC",
        "false",
        ".",
        " ",
        "\n",
        "ü",
      ],
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(""));

describe("types and their texts", () => {
  it("every type is read back from its text", () => {
    fc.assert(
      fc.property(types, (type) => {
        expect(parseType(formatType(type))).toEqual(type);
      }),
    );
  });

  it("every text is written as it was read", () => {
    fc.assert(
      fc.property(fc.oneof(typelike, fc.string({ unit: "binary" })), (text) => {
        expect(formatType(parseType(text))).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each<[string, LogicalType]>([
    ["int8", { kind: "int", bits: 8, signed: true }],
    ["uint64", { kind: "int", bits: 64, signed: false }],
    ["halffloat", { kind: "float", bits: 16 }],
    ["double", { kind: "float", bits: 64 }],
    ["decimal:128:38:-10", { kind: "decimal", bits: 128, precision: 38, scale: -10 }],
    ["large_string", { kind: "string", large: true }],
    ["date64:ms", { kind: "date", bits: 64 }],
    ["time32:ms", { kind: "time", unit: "ms" }],
    ["timestamp:us:-", { kind: "timestamp", unit: "us", timezone: null }],
    ["timestamp:ns:Europe/Berlin", { kind: "timestamp", unit: "ns", timezone: "Europe/Berlin" }],
    ["list.struct", { kind: "list", large: false, ofStructs: true }],
    ["large_list", { kind: "list", large: true, ofStructs: false }],
    ["fixed_size_list:struct:3", { kind: "fixedSizeList", of: { kind: "struct" }, size: 3 }],
    ["fixed_size_list:lance.bfloat16:8", { kind: "fixedSizeList", of: { kind: "bfloat16" }, size: 8 }],
    [
      "fixed_size_list:fixed_size_list:float:3:2",
      {
        kind: "fixedSizeList",
        of: { kind: "fixedSizeList", of: { kind: "float", bits: 32 }, size: 3 },
        size: 2,
      },
    ],
    [
      "dict:decimal:128:5:2:uint16:true",
      {
        kind: "dictionary",
        values: { kind: "decimal", bits: 128, precision: 5, scale: 2 },
        indices: { kind: "int", bits: 16, signed: false },
        ordered: true,
      },
    ],
    ["fixed_size_list:blob:2", { kind: "fixedSizeList", of: { kind: "unknown", text: "blob" }, size: 2 }],
  ])("%s", (text, type) => {
    expect(parseType(text)).toEqual(type);
    expect(formatType(type)).toBe(text);
  });

  it.each([
    "",
    " int32",
    "INT32",
    "int32:",
    "int128",
    "constructor",
    "__proto__",
    "date32",
    "date32:ms",
    "time32:us",
    "timestamp:us",
    "timestamp:us:",
    "timestamp:us:+02:00",
    "timestamp:min:-",
    "fixed_size_binary:",
    "fixed_size_binary:-1",
    "fixed_size_binary:1e3",
    "fixed_size_binary:99999999999999999999",
    "fixed_size_list:float",
    "fixed_size_list:float:",
    "fixed_size_list:float:03",
    "fixed_size_list:float: 3",
    "decimal:64:5:2",
    "decimal:128:999:-5",
    "decimal:128:05:2",
    "decimal:128:5:-0",
    "dict:string:float:false",
    "dict:string:int32",
    "dict:int32:false",
    "dict:string:int32:no",
  ])("%j is no type, and kept", (text) => {
    expect(parseType(text)).toEqual({ kind: "unknown", text });
    expect(formatType(parseType(text))).toBe(text);
  });

  it("takes texts of any depth and length", () => {
    for (const depth of [300, 200_000]) {
      const text = `${"fixed_size_list:".repeat(depth)}int8${":1".repeat(depth)}`;
      expect(formatType(parseType(text))).toBe(text);
    }
    const long = `timestamp:us:${"x".repeat(1_000_000)}`;
    expect(formatType(parseType(long))).toBe(long);
    for (let count = 1; count < 5_000; count++) parseType(`fixed_size_binary:${count}`);
    expect(parseType("fixed_size_binary:1")).toEqual({ kind: "fixedSizeBinary", bytes: 1 });
  });

  it("are the same where all parameters are", () => {
    fc.assert(
      fc.property(types, types, (one, second) => {
        expect(isSameType(one, parseType(formatType(one)))).toBe(true);
        expect(isSameType(one, second)).toBe(formatType(one) === formatType(second));
      }),
    );
  });

  it("times have 32 bits up to milliseconds", () => {
    expect((["s", "ms", "us", "ns"] as const).map(timeBits)).toEqual([32, 32, 64, 64]);
  });
});
