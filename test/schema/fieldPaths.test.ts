import { InvalidInputError, TableColumnNotFoundError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { parseType } from "../../src/arrow/types/type.js";
import { allFields, resolveField } from "../../src/schema/fieldPaths.js";
import { assignFieldIds, type NewField } from "../../src/schema/schema.js";

const field = (name: string, type = "int32", ...children: NewField[]): NewField => ({
  name,
  type: parseType(type),
  nullable: true,
  metadata: new Map(),
  children,
});
const fields = assignFieldIds([
  field("id"),
  field("s", "struct", field("a"), field("b.c"), field("d`e"), field("list", "list", field("item"))),
  field("m", "map", field("entries", "struct", field("key"), field("value"))),
]);

describe("paths of fields", () => {
  it.each([
    ["id", "id", 0],
    ["`id`", "id", 0],
    ["s.a", "s.a", 2],
    ["s.`a`", "s.a", 2],
    ["s.`b.c`", "s.`b.c`", 3],
    ["`s`.`d``e`", "s.`d``e`", 4],
    ["s.list.item", "s.list.item", 6],
    ["m.entries.key", "m.entries.key", 9],
  ])("%s", (text, path, id) => {
    const resolved = resolveField(fields, text);
    expect(resolved.path).toBe(path);
    expect(resolved.field.id).toBe(id);
    expect(resolved.chain.at(-1)).toBe(resolved.field);
  });
  it.each([
    "ID",
    "a",
    "s.b.c",
    "s.A",
    "id.x",
    "s.list.element",
    "item",
    " id",
    "id ",
  ])("%s leads nowhere", (text) => {
    expect(() => resolveField(fields, text)).toThrow(TableColumnNotFoundError);
  });
  it("is named from the root where another is near", () => {
    expect(() => resolveField(fields, "s.lst")).toThrow("did you mean s.list?");
    expect(() => resolveField(fields, "m.entris.key")).toThrow("did you mean m.entries?");
  });
  it.each([
    ["", /empty/],
    ["s..a", /position 2/],
    [".id", /position 0/],
    ["id.", /position 3/],
    ["`id", /position 0/],
    ["s.a`b", /position 3/],
    ["`s`a", /position 3/],
    ["``", /position 0/],
  ])("%j is none", (text, message) => {
    expect(() => resolveField(fields, text)).toThrow(InvalidInputError);
    expect(() => resolveField(fields, text)).toThrow(message);
  });
  it("are known for every field, and lead back to it", () => {
    const all = [...allFields(fields)];
    expect(all.map(({ field }) => field.id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for (const located of all) expect(resolveField(fields, located.path)).toEqual(located);
  });
});
