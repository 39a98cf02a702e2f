/** Expressions as columns of a result: their forms, types and errors. */

import { Int32, Struct, Table, vectorFromArray } from "apache-arrow";
import {
  col,
  type DirectoryNamespace,
  InvalidInputError,
  lit,
  sql,
  TableColumnNotFoundError,
} from "tiltyard";
import { beforeAll, expect, it } from "vitest";
import { columnsOf, fieldOf, int32s, listOf, utf8s } from "../../support/arrowColumns.js";
import { sharedNamespace } from "../../support/fixtures.js";

const ROWS = 200_000;
const namespace = sharedNamespace();
beforeAll(async () => {
  const ids = Array.from({ length: 10 }, (_, row) => row);
  await namespace.createTable(
    { id: ["t"] },
    new Table({
      id: int32s(ids),
      text: utf8s(ids.map((id) => (id % 4 === 0 ? null : `T${id}`))),
      st: columnsOf(new Struct([fieldOf("a", new Int32()), fieldOf("l", listOf(new Int32()))]))(
        ids.map((id) => ({ a: id, l: [id] })),
      ),
      "id + 1": utf8s(ids.map(String)),
    }),
  );
  await namespace.createTable(
    { id: ["large"] },
    new Table({ n: vectorFromArray(Int32Array.from({ length: ROWS }, (_, row) => row)) }),
  );
});

const scan = (columns: Parameters<ReturnType<DirectoryNamespace["table"]>["scan"]>[0]) =>
  namespace.table("t").scan(columns).toArrow();

async function column(expression: Parameters<typeof scan>[0] extends infer _ ? unknown : never, more = {}) {
  const columnAliases = { x: expression as string };
  const table = await scan({ columns: { columnAliases }, ...more });
  return { type: String(table.schema.fields[0].type), values: table.getChild("x")?.toJSON() };
}

it("take SQL texts and expressions of programs", async () => {
  const first = { limit: 3 };
  expect(await column("id * 2", first)).toEqual({ type: "Int32", values: [0, 2, 4] });
  expect(await column(col("id").times(2), first)).toEqual({ type: "Int32", values: [0, 2, 4] });
  expect(await column(sql`lower(${col("text")})`, first)).toEqual({
    type: "Utf8",
    values: [null, "t1", "t2"],
  });
  expect(await column("id > $least", { ...first, params: { least: 1 } })).toEqual({
    type: "Bool",
    values: [false, false, true],
  });
  expect(await column("st.a + 1", { filter: "id > 7" })).toEqual({ type: "Int32", values: [9, 10] });
  expect(await column(lit(7), first)).toMatchObject({ values: [7n, 7n, 7n] });
  expect(await column("NULL", first)).toEqual({ type: "Null", values: [null, null, null] });
  const list = await scan({ columns: [col("id").plus(1), "text"], limit: 1 });
  expect(list.schema.fields.map(({ name }) => name)).toEqual(["`id` + 1", "text"]);
});

it("give columns as they are, whatever their type", async () => {
  const table = await scan({
    columns: { columnAliases: { a: "st", b: "ST.l", c: "st['a']", d: "`st`.a" } },
    limit: 1,
  });
  expect(table.schema.fields.map(({ type }) => String(type))).toEqual([
    "Struct<{a:Int32, l:List<Int32>}>",
    "List<Int32>",
    "Int32",
    "Int32",
  ]);
});

it("let a column's exact path come before what it would mean as SQL", async () => {
  expect(await column("id + 1", { limit: 2 })).toEqual({ type: "Utf8", values: ["0", "1"] });
  expect(await column("id  + 1", { limit: 2 })).toEqual({ type: "Int32", values: [1, 2] });
});

it("count and skip rows before they are computed, and are taken and sorted beside", async () => {
  expect(await column("10 / (id - 3)", { offset: 4, limit: 2 })).toEqual({
    type: "Int64",
    values: [10n, 5n],
  });
  expect(await column("10 / (id - 3)", { filter: "id > 3", limit: 1 })).toMatchObject({ values: [10n] });
  const orderBy = [{ columnName: "id", ascending: false }];
  expect(await column("-id", { orderBy, limit: 2 })).toEqual({ type: "Int32", values: [-9, -8] });
  const taken = await namespace.table("t").take([3, 1], { columnAliases: { x: "id * id" } });
  expect(taken.getChild("x")?.toJSON()).toEqual([9, 1]);
});

it("run on few rows at a time", async () => {
  const columnAliases = { x: "n % 7" };
  const result = await namespace.queryTable({ id: ["large"], columns: { columnAliases } });
  let row = 0;
  for await (const batch of result) {
    expect(batch.numRows).toBeLessThanOrEqual(65_536);
    for (const value of batch.getChild("x") ?? []) expect(value).toBe(row++ % 7);
  }
  expect(row).toBe(ROWS);
});

it("refuse what filters refuse", async () => {
  await expect(column("nope + 1")).rejects.toThrow(TableColumnNotFoundError);
  await expect(column("id +")).rejects.toThrow(InvalidInputError);
  await expect(column("id; drop table t")).rejects.toThrow(InvalidInputError);
  await expect(column("10 / (id - 3)")).rejects.toThrow(InvalidInputError);
  await expect(column(7)).rejects.toThrow(InvalidInputError);
  await expect(scan({ columns: ["id * 2"] })).rejects.toThrow(TableColumnNotFoundError);
});
