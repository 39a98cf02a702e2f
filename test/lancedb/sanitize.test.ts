/** Conversions of types, fields, schemas and tables of other copies of apache-arrow, against LanceDB's. */

import { describe, expect, it } from "vitest";
import * as arrow from "../../src/lancedb/arrow.js";
import * as ours from "../../src/lancedb/sanitize.js";
import { arrow18 } from "../support/arrow18.js";
import { nativeModule, outcomeOf, schemaText, tableText } from "../support/nativeLancedb.js";

const native = nativeModule<typeof ours>("sanitize");

const INT = { name: "i", type: "int32", nullable: true };

/** Objects of the form of types, good and bad. */
const TYPES: readonly unknown[] = [
  ...[null, undefined, 5, {}, { typeId: 99 }, { typeId: "3" }, { typeId: 0 }, { typeId: 1 }],
  ...[{ typeId: 2 }, { typeId: 2, bitWidth: 32 }, { typeId: 2, bitWidth: 32, isSigned: true }],
  ...[{ typeId: 3 }, { typeId: 3, precision: 2 }, { typeId: () => 3, precision: 1 }],
  ...[{ typeId: 7 }, { typeId: 7, scale: 1, precision: 2, bitWidth: 128 }],
  ...[{ typeId: 8 }, { typeId: 8, unit: 0 }, { typeId: 9, unit: 1 }, { typeId: 9, unit: 1, bitWidth: 32 }],
  ...[
    { typeId: 10 },
    { typeId: 10, unit: 1 },
    { typeId: 10, unit: 1, timezone: "UTC" },
    { typeId: 10, unit: 1, timezone: 5 },
  ],
  ...[{ typeId: 11 }, { typeId: 11, unit: 1 }, { typeId: 18 }, { typeId: 18, unit: 0 }],
  ...[
    { typeId: 12 },
    { typeId: 12, children: 5 },
    { typeId: 12, children: [] },
    { typeId: 12, children: [INT] },
  ],
  ...[
    { typeId: 13 },
    { typeId: 13, children: [] },
    { typeId: 13, children: [INT] },
    { typeId: 13, children: [5] },
  ],
  ...[{ typeId: 14 }, { typeId: 14, typeIds: [1], mode: 0, children: [INT] }],
  ...[{ typeId: 15 }, { typeId: 15, byteWidth: 3 }],
  ...[{ typeId: 16 }, { typeId: 16, listSize: 3 }, { typeId: 16, listSize: 3, children: [INT] }],
  ...[{ typeId: 17 }, { typeId: 17, children: [INT] }, { typeId: 17, children: [], keysSorted: true }],
  ...[{ typeId: -1 }, { typeId: -1, id: 1, indices: "int32" }],
  {
    typeId: -1,
    id: 1,
    indices: { typeId: 2, bitWidth: 32, isSigned: true },
    dictionary: { typeId: 5 },
    isOrdered: 5,
  },
  {
    typeId: -1,
    id: 1,
    indices: { typeId: 2, bitWidth: 32, isSigned: true },
    dictionary: { typeId: 5 },
    isOrdered: true,
  },
  ...[{ typeId: -23 }, { typeId: -24, typeIds: [0], children: [INT] }],
  ...[-2, -5, -9, -10, -12, -13, -14, -15, -18, -19, -22, -25, -26, -27, -30].map((typeId) => ({ typeId })),
  ...["null", "UTF8", "Float16", "dateday", "list", "string", ""],
];

const FIELDS: readonly unknown[] = [
  ...[null, 5, {}, { name: "a", type: "int32" }, { name: 5, type: "int32", nullable: true }],
  ...[5, {}, new Map([[1, 2]]), new Map([["a", 1]])].map((metadata) => ({ ...INT, metadata })),
  ...[
    { ...INT, type: null },
    { ...INT, type: "none" },
    { ...INT, nullable: undefined },
    { ...INT, nullable: "x" },
  ],
  { ...INT, metadata: new Map([["a", "b"]]) },
];

const SCHEMAS: readonly unknown[] = [
  ...[null, undefined, 5, {}, { fields: 5 }, { fields: [] }, { fields: [], metadata: null }, { fields: [5] }],
  ...[
    { fields: [], metadata: 5 },
    { fields: [], metadata: {} },
    { fields: [INT], metadata: new Map([["a", "b"]]) },
  ],
];

const typeText = (type: unknown): string =>
  schemaText({ fields: [new arrow.Field("x", type as arrow.DataType, true)] });

describe("sanitizeType", () => {
  it.each(TYPES.map((type) => [type]))("of %j gives what LanceDB gives", (type) => {
    const outcome = (modules: typeof ours) => outcomeOf(() => typeText(modules.sanitizeType(type)));
    expect(outcome(ours)).toBe(outcome(native));
  });

  it("takes large types, which LanceDB refuses", () => {
    for (const typeId of [19, 20]) expect(ours.sanitizeType({ typeId }).typeId).toBe(typeId);
    expect(`${ours.sanitizeType({ typeId: 21, children: [INT] })}`).toBe("LargeList<Int32>");
  });

  it("refuses a type that contains itself, and a map without key and value", () => {
    const type: Record<string, unknown> = { typeId: 12 };
    type.children = [{ name: "item", type, nullable: true }];
    expect(() => ours.sanitizeType(type)).toThrow("nested at most 64 deep");
    expect(() => ours.sanitizeType({ typeId: 17, children: [INT], keysSorted: true })).toThrow(
      "Struct of key and value",
    );
  });
});

describe("sanitizeField and sanitizeSchema", () => {
  it.each(FIELDS.map((field) => [field]))("of a field %j give what LanceDB gives", (field) => {
    const outcome = (modules: typeof ours) =>
      outcomeOf(() => {
        const { name, type, nullable, metadata } = modules.sanitizeField(field);
        return [name, typeText(type), nullable, [...metadata]];
      });
    expect(outcome(ours)).toBe(outcome(native));
  });

  it.each(SCHEMAS.map((schema) => [schema]))("of a schema %j give what LanceDB gives", (schema) => {
    const outcome = (modules: typeof ours) =>
      outcomeOf(() => {
        const { fields, metadata } = modules.sanitizeSchema(schema as arrow.Schema);
        return [schemaText({ fields }), [...metadata]];
      });
    expect(outcome(ours)).toBe(outcome(native));
  });

  it("return objects of this copy of apache-arrow as they are", () => {
    const schema = new arrow.Schema([new arrow.Field("a", new arrow.Int32())]);
    expect(ours.sanitizeSchema(schema)).toBe(schema);
    expect(ours.sanitizeField(schema.fields[0])).toBe(schema.fields[0]);
  });
});

describe("sanitizeTable", () => {
  const { Schema, Field, vectorFromArray, Table } = arrow18;

  it("shares the buffers of a table of another copy, and its dictionaries", () => {
    const dictionary = vectorFromArray(["a", "b", "a"]);
    const values = vectorFromArray([1, null, 3], new arrow18.Float64());
    const table = new Table({ first: dictionary, second: dictionary, values });
    const converted = ours.sanitizeTable(table as unknown as arrow.Table);
    expect(converted).toBeInstanceOf(arrow.Table);
    expect(tableText(converted)).toBe(tableText(table as unknown as arrow.Table));
    const [first, second, floats] = converted.batches[0].data.children;
    expect(first.dictionary).toBe(second.dictionary);
    expect(floats.values.buffer).toBe(values.data[0].values.buffer);
  });

  it("keeps nested columns and slices", () => {
    const rows = Array.from({ length: 20 }, (_, id) => ({
      id,
      tags: id % 3 === 0 ? null : [`${id}`],
      s: { x: id % 4 === 0 ? null : BigInt(id), y: [id, 1] },
      vector: [id, id],
    }));
    const nativeArrow = nativeModule<typeof arrow>("arrow");
    const table = nativeArrow.makeArrowTable(rows).slice(5, 17);
    expect(tableText(ours.sanitizeTable(table))).toBe(tableText(table));
  });

  it("takes 64-bit times as the pairs of integers that apache-arrow 15 makes", () => {
    const type = new arrow18.TimestampMillisecond();
    const data = { ...arrow18.makeData({ type, data: BigInt64Array.of(5n, 7n) }) };
    const pairs = {
      ...data,
      values: Int32Array.of(5, 0, 7, 0),
      children: [],
      nullBitmap: new Uint8Array(0),
      nullCount: 0,
    };
    const schema = new Schema([new Field("t", type)]);
    const batch = {
      schema,
      data: {
        type: new arrow18.Struct(schema.fields),
        length: 2,
        offset: 0,
        nullCount: 0,
        children: [pairs],
      },
    };
    const table = ours.sanitizeTable({ schema, batches: [batch] } as unknown as arrow.TableLike);
    expect(table.getChild("t")?.data[0].values).toEqual(BigInt64Array.of(5n, 7n));
  });

  it.each([
    null,
    5,
    {},
    { schema: 1 },
    { schema: new arrow.Schema([]) },
    { schema: new arrow.Schema([]), batches: [] },
  ])("of %j gives what LanceDB gives", (table) => {
    const outcome = (modules: typeof ours) => outcomeOf(() => modules.sanitizeTable(table as never).numRows);
    expect(outcome(ours)).toBe(outcome(native));
  });

  it.each([
    [[5]],
    [[null]],
    [[{}]],
    [[{ schema: new arrow.Schema([]) }]],
    [[{ schema: new arrow.Schema([]), data: 5 }]],
  ])("of batches %j fails as LanceDB's does", (batches) => {
    const table = { schema: new arrow.Schema([]), batches } as unknown as arrow.TableLike;
    const outcome = (modules: typeof ours) => outcomeOf(() => modules.sanitizeTable(table).numRows);
    expect(outcome(ours)).toBe(outcome(native));
  });
});
