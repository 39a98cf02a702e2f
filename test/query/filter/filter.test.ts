/** Filters of queries and counts: what is read, in which order, and what limits count. */

import * as arrow from "apache-arrow";
import {
  col,
  DirectoryNamespace,
  type FilterValue,
  InvalidInputError,
  sql,
  TableColumnNotFoundError,
  UnsupportedError,
} from "tiltyard";
import { afterEach, beforeEach, expect, it } from "vitest";
import { columnsOf, fieldOf, int32s, listOf, utf8s } from "../../support/arrowColumns.js";
import { reference } from "../../support/reference.js";
import { createParts } from "../../support/stage.js";
import { makeTempDir } from "../../support/tempDir.js";

const FRAGMENTS = 3;
const ROWS = 1000;

let root: string;
let namespace: DirectoryNamespace;
beforeEach(async () => {
  root = await makeTempDir();
  namespace = new DirectoryNamespace({ root, durability: "none" });
  await createParts(
    namespace,
    ["t"],
    Array.from({ length: FRAGMENTS }, (_, part) => rowsFrom(part * ROWS)),
  );
});
afterEach(() => namespace.close());

const member = new arrow.Struct([fieldOf("n", new arrow.Int32()), fieldOf("s", new arrow.Utf8())]);

function rowsFrom(first: number): arrow.Table {
  const ids = Array.from({ length: ROWS }, (_, row) => first + row);
  return new arrow.Table({
    id: int32s(ids),
    even: arrow.vectorFromArray(ids.map((id) => id % 2 === 0)),
    text: utf8s(ids.map((id) => (id % 7 === 0 ? null : `text ${id % 10}`))),
    nested: columnsOf(member)(ids.map((id) => ({ n: id % 5, s: String(id) }))),
    list: columnsOf(listOf(new arrow.Int32()))(ids.map((id) => [id % 3, id % 4])),
  });
}

type Options = Parameters<ReturnType<DirectoryNamespace["table"]>["scan"]>[0];

async function ids(options: Options): Promise<number[]> {
  const rows = await namespace
    .table("t")
    .scan({ columns: ["id", "nested"], ...options })
    .toArrow();
  expect(Array.from(rows.getChild("nested") ?? [], (value) => Number(value?.s))).toEqual(
    Array.from(rows.getChild("id") ?? []),
  );
  return Array.from(rows.getChild("id") ?? []);
}

const all = Array.from({ length: FRAGMENTS * ROWS }, (_, id) => id);

it.each([
  ["id = 1234", (id: number) => id === 1234],
  ["even", (id: number) => id % 2 === 0],
  ["text = 'text 3'", (id: number) => id % 7 !== 0 && id % 10 === 3],
  ["nested.n = 4 and id < 100", (id: number) => id % 5 === 4 && id < 100],
  ["array_has(list, 3)", (id: number) => id % 4 === 3],
  ["id >= 999 and id <= 1001", (id: number) => id >= 999 && id <= 1001],
  ["true", () => true],
  ["false", () => false],
  ["_rowid = 4294967297", (id: number) => id === 1001],
  ["_rowoffset in (0, 1500, 2999, 3000)", (id: number) => id === 0 || id === 1500 || id === 2999],
  ["_rowaddr in (0, 1, 4294967296)", (id: number) => id < 2 || id === 1000],
] as const)("%s", async (filter, holds) => {
  const expected = all.filter(holds);
  expect(await ids({ filter })).toEqual(expected);
  expect(await namespace.table("t").countRows(filter)).toBe(expected.length);
});

it("limits and offsets count selected rows", async () => {
  const even = all.filter((id) => id % 2 === 0);
  expect(await ids({ filter: "even", limit: 7 })).toEqual(even.slice(0, 7));
  expect(await ids({ filter: "even", limit: 700, offset: 490 })).toEqual(even.slice(490, 1190));
  expect(await ids({ filter: "even", offset: 1499 })).toEqual([2998]);
  expect(await ids({ filter: "even", offset: 1500 })).toEqual([]);
});

it("deleted rows are not selected, and row ids are those of a scan", async () => {
  await reference.deleteRows(root, "t", "id % 3 = 0");
  const expected = all.filter((id) => id % 3 !== 0 && id % 2 === 0);
  expect(await ids({ filter: "even" })).toEqual(expected);
  expect(await namespace.table("t").countRows("even")).toBe(expected.length);
  for (const filter of ["even", "id in (1, 1001, 2999)"]) {
    const rows = await namespace
      .table("t")
      .scan({ filter, columns: ["text", "id"], withRowId: true })
      .toArrow();
    const rowIds = Array.from(
      rows.getChild("_rowid") ?? [],
      (id) => Number(id >> 32n) * ROWS + Number(id & 0xffffffffn),
    );
    expect(rowIds).toEqual(Array.from(rows.getChild("id") ?? []));
    expect(rows.schema.fields.map(({ name }) => name)).toEqual(["text", "id", "_rowid"]);
  }
});

it("a filter that has read a column does not take it for its member", async () => {
  const filter = "nested is not null and nested.n = 1 and id < 10";
  const columns = { columnAliases: { whole: "nested", part: "nested.n", text: "nested.s" } };
  const rows = await namespace.table("t").scan({ filter, columns }).toArrow();
  expect(rows.toArray().map(({ whole, part, text }) => [whole.n, whole.s, part, text])).toEqual([
    [1, "1", 1, "1"],
    [1, "6", 1, "6"],
  ]);
});

it("filters work on versions, branches and columns that a fragment lacks", async () => {
  await namespace.createTableBranch({ id: ["t"], name: "b" });
  const branch = namespace.table("t", { branch: "b" });
  await branch.insert(arrow.tableFromArrays({ id: Int32Array.of(5000) }));
  await namespace.alterTableAddColumns({ id: ["t"], newColumns: [{ name: "added", expression: "1 + 1" }] });
  expect(await branch.countRows("id >= 2999")).toBe(2);
  expect(await branch.countRows("text is null and id > 2997")).toBe(1);
  expect(await namespace.table("t", { version: 1 }).countRows("id >= 0")).toBe(ROWS);
  expect(await namespace.table("t").countRows("added = 2")).toBe(3 * ROWS);
});

it("batches have at most the requested number of rows", async () => {
  for (const filter of ["even", "id % 100 = 0", "id < 1500"]) {
    const sizes: number[] = [];
    let next = -1;
    for await (const batch of namespace.table("t").scan({ filter, batchSize: 64 })) {
      sizes.push(batch.numRows);
      for (const id of batch.getChild("id") ?? []) {
        expect(id).toBeGreaterThan(next);
        next = id;
      }
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(64);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
  }
});

it("a filter of many parts runs on few rows at once, and yields to the event loop", async () => {
  const parts = Array.from({ length: 4000 }, (_, part) => `(id * 2 = ${4 * part} and nested.n < ${part})`);
  const filter = parts.join(" or ");
  const expected = all.filter((id) => id % 2 === 0 && id % 5 < id / 2);
  let turns = 0;
  const turn = () => {
    turns++;
    timer = setImmediate(turn);
  };
  let timer = setImmediate(turn);
  expect(await ids({ filter })).toEqual(expected);
  clearImmediate(timer);
  expect(turns).toBeGreaterThan((FRAGMENTS * ROWS) / 256);
});

it("parameters and built expressions are values, whatever they hold", async () => {
  const filter = "id > $min and text = $text";
  expect(await ids({ filter, params: { min: 2950, text: "text 3" } })).toEqual(
    all.filter((id) => id > 2950 && id % 10 === 3 && id % 7 !== 0),
  );
  expect(
    await ids({
      filter: col("id")
        .gt(2990)
        .and(col("nested.n").in([1, 2])),
    }),
  ).toEqual(all.filter((id) => id > 2990 && [1, 2].includes(id % 5)));
  expect(await ids({ filter: sql`${col("text")} = ${"' or true --"}` })).toEqual([]);
  expect(await namespace.table("t").countRows("id = $id", { id: 5n })).toBe(1);
  // An array stands for the items of a list, which may be none.
  const listed = (filter: string, params: Record<string, readonly FilterValue[]>) =>
    namespace.table("t").countRows(filter, params);
  expect(await listed("id IN ($ids, 9)", { ids: [5, 8n, 1.5] })).toBe(3);
  expect(await listed("id IN ($ids)", { ids: [] })).toBe(0);
  expect(await listed("id NOT IN ($ids)", { ids: [] })).toBe(all.length);
  expect(await listed("id NOT IN ($ids) AND id < 20", { ids: [1, null] })).toBe(0);
  expect(await listed("text IN ($ids) AND id < 10", { ids: ["text 3", "') OR true --"] })).toBe(1);
  expect(await listed("[id] IN ($list)", { list: [5] })).toBe(1);
  await expect(listed("id IN ($ids)", { ids: [[5]] })).rejects.toThrow(InvalidInputError);
  await expect(ids({ filter: "id = $id" })).rejects.toThrow(/no value is passed for the parameter \$id/);
  await expect(ids({ filter: "id = $constructor", params: {} })).rejects.toThrow(InvalidInputError);
});

it("an invalid filter is refused before anything is read", async () => {
  await expect(ids({ filter: "" })).rejects.toThrow(InvalidInputError);
  await expect(ids({ filter: "id" })).rejects.toThrow(/expected a condition, not int32/);
  await expect(ids({ filter: "idd = 1" })).rejects.toThrow(TableColumnNotFoundError);
  await expect(ids({ filter: "idd = 1" })).rejects.toThrow(/near it: id/);
  await expect(ids({ filter: col("idd").eq(1) })).rejects.toThrow(/near it: id$/);
  await expect(ids({ filter: 'text = "tex"' })).rejects.toThrow(/a text is written 'tex'; near it: text,/);
  await expect(ids({ filter: "nested.x = 1" })).rejects.toThrow(/there is no column nested\.x, at/);
  // A name of one letter is near no other one.
  await expect(ids({ filter: "nested.m = 1" })).rejects.not.toThrow(/near it/);
  await expect(ids({ filter: "id = date '2019-01-15'" })).rejects.toThrow(
    /int32 cannot be compared with date32/,
  );
  await expect(ids({ filter: "no_such_function() > 1" })).rejects.toThrow(UnsupportedError);
  await expect(namespace.table("t").countRows("id = 'x'")).rejects.toThrow(
    /x is not a value of type int32 at position 3/,
  );
  await expect(namespace.countTableRows({ id: ["t"], predicate: 1 as never })).rejects.toThrow(
    InvalidInputError,
  );
  await expect(ids({ filter: "id / 0 = 1" })).rejects.toThrow(/divided by zero/);
});

it("empty tables are filtered, and signals end a scan", async () => {
  const controller = new AbortController();
  controller.abort(new Error("enough"));
  await expect(
    namespace.table("t").scan({ filter: "even", signal: controller.signal }).toArrow(),
  ).rejects.toThrow(/aborted/);
  const schema = new arrow.Schema([fieldOf("id", new arrow.Int32())]);
  await namespace.createTable({ id: ["empty"] }, new arrow.Table(schema));
  expect(await namespace.table("empty").countRows("id = 1")).toBe(0);
  expect((await namespace.table("empty").scan({ filter: "id = 1" }).toArrow()).numRows).toBe(0);
});
