import { describe, expect, it } from "vitest";
import { parseType } from "../../src/arrow/types/type.js";
import { CorruptFileError } from "../../src/errors.js";
import { Field } from "../../src/format/file.js";
import { DataFile, DataFragment } from "../../src/format/table.js";
import { assignFieldIds, decodeSchema, type NewField, nextFieldId } from "../../src/schema/schema.js";
import { encodeSchema } from "../../src/schema/schemaEncoder.js";
import { latestFile, makeReferenceTable } from "../table/support.js";

const leaf = (
  name: string,
  type: string,
  nullable = true,
  metadata = new Map<string, string>(),
): NewField => ({
  name,
  type: parseType(type),
  nullable,
  metadata,
  children: [],
});
const nested = (name: string, type: string, ...children: NewField[]): NewField => ({
  ...leaf(name, type),
  children,
});

const FIELDS = assignFieldIds([
  leaf("a", "int64", false),
  nested("s", "struct", leaf("x", "string"), nested("l", "list", leaf("item", "dict:string:int32:false"))),
  leaf("v", "fixed_size_list:float:4"),
  leaf("n", "null"),
]);

describe("a schema", () => {
  it("gets ids in depth-first order", () => {
    expect(encodeSchema(FIELDS).map((field) => [field.name, field.id, field.parentId])).toEqual([
      ["a", 0, -1],
      ["s", 1, -1],
      ["x", 2, 1],
      ["l", 3, 1],
      ["item", 4, 3],
      ["v", 5, -1],
      ["n", 6, -1],
    ]);
  });

  it("decodes to the tree that was encoded", () => {
    expect(decodeSchema(encodeSchema(FIELDS), "m")).toEqual(FIELDS);
  });

  it("is written as the reference does", async () => {
    const { manifest } = await latestFile((await makeReferenceTable([1])).root);
    expect(encodeSchema(decodeSchema(manifest.fields, "m"))).toEqual(manifest.fields);
  });

  it("carries the old encodings, extension names and key positions", () => {
    expect(encodeSchema(FIELDS).map((field) => field.encoding)).toEqual([1, 0, 2, 1, 3, 1, 0]);
    expect(encodeSchema(FIELDS)[4].dictionary).toEqual({ offset: 0, length: 0 });
    const metadata = new Map([
      ["ARROW:extension:name", "lance.json"],
      ["lance-schema:unenforced-primary-key:position", "2"],
    ]);
    const [field] = encodeSchema(assignFieldIds([leaf("j", "json", true, metadata), leaf("k", "int8")]));
    expect([field.extensionName, field.unenforcedPrimaryKey, field.unenforcedPrimaryKeyPosition]).toEqual([
      "lance.json",
      true,
      2,
    ]);
    const yes = new Map([["lance-schema:unenforced-primary-key", "yes"]]);
    expect(encodeSchema(assignFieldIds([leaf("k", "int8", true, yes)]))[0].unenforcedPrimaryKey).toBe(true);
  });

  it("gives new fields ids above all that data files still name", () => {
    const fragments = [DataFragment.create({ files: [DataFile.create({ fields: [0, -2, 12] })] })];
    expect(nextFieldId(encodeSchema(FIELDS), [])).toBe(7);
    expect(nextFieldId(encodeSchema(FIELDS), fragments)).toBe(13);
    expect(nextFieldId([], [])).toBe(0);
  });

  it.each([
    [
      "a repeated id",
      [
        [0, -1],
        [0, -1],
      ],
    ],
    [
      "a child before its parent",
      [
        [1, 0],
        [0, -1],
      ],
    ],
    ["a field that is its own parent", [[0, 0]]],
    ["a negative id", [[-1, -1]]],
  ])("is refused with %s", (_name, rows) => {
    const flat = rows.map(([id, parentId]) => Field.create({ id, parentId, logicalType: "int8" }));
    expect(() => decodeSchema(flat, "m")).toThrow(CorruptFileError);
  });

  it("is refused with a field without a type", () => {
    expect(() => decodeSchema([Field.create({ id: 0, parentId: -1 })], "m")).toThrow(CorruptFileError);
  });
});
