/** Casts, names and nullability inside of lists, structs and maps. */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import { NamespaceError } from "tiltyard";
import { expect, it } from "vitest";
import { fieldOf, int32s, mapOf } from "../support/arrowColumns.js";
import { type Change, expectAlike, rowsOf, Side } from "../support/columnChanges.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { compareTables, reference } from "../support/reference.js";

const listOf = (item: arrow.DataType) => new arrow.List(fieldOf("item", item));
const sizedOf = (size: number, item: arrow.DataType) => new arrow.FixedSizeList(size, fieldOf("item", item));
const POINT = new arrow.Struct([fieldOf("a", new arrow.Int32()), fieldOf("b", new arrow.Utf8())]);
const MAP = mapOf(new arrow.Utf8(), new arrow.Int32());

const field = (name: string, type: string | object, nullable = true) => ({
  name,
  type: typeof type === "string" ? { type } : type,
  nullable,
});
const jsonList = (...fields: object[]) => ({ type: "list", fields });
const jsonSized = (length: number, item: string) => ({
  type: "fixed_size_list",
  length,
  fields: [field("item", item)],
});
const jsonStruct = (...fields: object[]) => ({ type: "struct", fields });
const cast = (path: string, dataType: object): Change => ({ alter: [{ path, dataType: dataType as never }] });

/** "neither" names our error; after "only we" the reference reads the result; "only they" names our error. */
type Outcome = "same" | `neither: ${string}` | "only we" | `only they: ${string}`;

const cases: Record<string, [type: arrow.DataType, change: Change, outcome: Outcome]> = {
  "a list of wider items": [listOf(new arrow.Int32()), cast("c", jsonList(field("item", "int64"))), "same"],
  "its items by their path": [listOf(new arrow.Int32()), cast("c.item", { type: "int64" }), "same"],
  "a large list": [
    listOf(new arrow.Int32()),
    cast("c", { type: "large_list", fields: [field("item", "int32")] }),
    "same",
  ],
  "items of another name": [
    listOf(new arrow.Int32()),
    cast("c", jsonList(field("element", "int32"))),
    "same",
  ],
  "items that are null made non-nullable": [
    listOf(new arrow.Int32()),
    cast("c", jsonList(field("item", "int32", false))),
    "neither: TableSchemaValidation",
  ],
  "lists of all sizes in one": [
    listOf(new arrow.Float32()),
    cast("c", jsonSized(2, "float")),
    "neither: TableSchemaValidation",
  ],
  "items of text as numbers": [
    listOf(new arrow.Utf8()),
    cast("c", jsonList(field("item", "int32"))),
    "neither: TableSchemaValidation",
  ],
  "lists in lists": [listOf(listOf(new arrow.Int32())), cast("c.item.item", { type: "int64" }), "same"],
  "members of listed structs": [listOf(POINT), cast("c.item.a", { type: "int64" }), "same"],
  "vectors of wider items": [sizedOf(2, new arrow.Float32()), cast("c", jsonSized(2, "double")), "same"],
  "vectors of narrower items": [
    sizedOf(2, new arrow.Float32()),
    cast("c", jsonSized(2, "halffloat")),
    "same",
  ],
  "vectors of another size": [
    sizedOf(2, new arrow.Float32()),
    cast("c", jsonSized(3, "float")),
    "neither: InvalidInput",
  ],
  "vectors as lists": [sizedOf(2, new arrow.Float32()), cast("c", jsonList(field("item", "float"))), "same"],
  "items of vectors by their path": [
    sizedOf(2, new arrow.Float32()),
    cast("c.item", { type: "double" }),
    "neither: TableColumnNotFound",
  ],
  "a member by its path": [POINT, cast("c.a", { type: "int64" }), "same"],
  "a struct with a wider member": [
    POINT,
    cast("c", jsonStruct(field("a", "int64"), field("b", "string"))),
    "only we",
  ],
  "a struct with fewer members": [POINT, cast("c", jsonStruct(field("a", "int32"))), "neither: InvalidInput"],
  "a struct with its members turned round": [
    POINT,
    cast("c", jsonStruct(field("b", "string"), field("a", "int32"))),
    "neither: InvalidInput",
  ],
  "values of maps by their path": [MAP, cast("c.entries.value", { type: "int64" }), "neither: Unsupported"],
  // The reference then has a map with non-standard names.
  "values of maps by another name": [
    MAP,
    { alter: [{ path: "c.entries.value", rename: "x" }] },
    "only they: Unsupported",
  ],
  // The reference then has no map any more.
  "maps without values": [MAP, { drop: ["c.entries.value"] }, "only they: Unsupported"],
  "items by another name": [
    listOf(new arrow.Int32()),
    { alter: [{ path: "c.item", rename: "element" }] },
    "same",
  ],
  "lists without items": [listOf(new arrow.Int32()), { drop: ["c.item"] }, "same"],
  "items made non-nullable": [
    listOf(new arrow.Int32()),
    { alter: [{ path: "c.item", nullable: false }] },
    "neither: Unsupported",
  ],
  // The reference ignores values below the top level, and declares nulls absent that exist.
  "a member with nulls made non-nullable": [
    POINT,
    { alter: [{ path: "c.b", nullable: false }] },
    "neither: TableSchemaValidation",
  ],
  "a struct that is null made non-nullable": [
    POINT,
    { alter: [{ path: "c", nullable: false }] },
    "neither: TableSchemaValidation",
  ],
};

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let tables = 0;

async function twins(rows: arrow.Table): Promise<[Side, Side]> {
  const name = `t${tables++}`;
  await namespace.createTable({ id: [name] }, rows);
  await reference.deleteRows(root, name, "id = 3");
  await cp(join(root, `${name}.lance`), join(root, `${name}b.lance`), { recursive: true });
  return [new Side(namespace, root, name), new Side(namespace, root, `${name}b`)];
}

it.each(Object.entries(cases))("%s", async (name, [type, change, outcome]) => {
  const schema = new arrow.Schema([fieldOf("id", new arrow.Int32()), fieldOf("c", type)]);
  const [ours, theirs] = await twins(rowsOf(schema, 0, 14, "2.2"));
  const before = await directorySnapshot(join(root, `${ours.name}.lance`));
  const ofError = (error: unknown) => {
    if (error instanceof NamespaceError) return error.type;
    return "refused";
  };
  const here = await ours.byUs(change).then(() => "made", ofError);
  const there = await theirs.byThem(change).then(() => "made", ofError);
  const [who, error] = outcome.split(": ");
  expect([here, there], name).toEqual([
    who === "same" || who === "only we" ? "made" : error,
    who === "same" || who === "only they" ? "made" : "refused",
  ]);
  if (who === "same") await expectAlike(ours, theirs, name);
  else if (who === "only we") compareTables(await ours.readByUs(), await ours.readByThem());
  else expect(await directorySnapshot(join(root, `${ours.name}.lance`))).toEqual(before);
});

it("lists that all have one size as vectors", async () => {
  const lists = [[1, 2], null, [3, 4.5], null, [-1, 0]];
  const ids = lists.map((_, row) => row);
  const rows = new arrow.Table({
    id: int32s(ids),
    c: arrow.vectorFromArray(lists, listOf(new arrow.Float32())),
  });
  const [ours, theirs] = await twins(rows);
  const change = cast("c", jsonSized(2, "float"));
  await ours.byUs(change);
  await theirs.byThem(change);
  await expectAlike(ours, theirs, "vectors");
  const seen = arrow.tableFromIPC(await reference.readTable(root, ours.name, { columns: ["c"] }));
  expect(Array.from(seen.getChild("c") ?? [], (value) => value && Array.from(value))).toEqual([
    [1, 2],
    null,
    [3, 4.5],
    [-1, 0],
  ]);
});
