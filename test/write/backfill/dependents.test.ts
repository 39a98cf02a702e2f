/** Columns that are computed from a computed column become null where a backfill changes it. */

import { Field as ArrowField, FixedSizeList, Float32, Int64, Schema, Table, Utf8 } from "apache-arrow";
import type { DirectoryNamespace, UserFunction } from "tiltyard";
import { expect, it } from "vitest";
import { int64s, utf8s } from "../../support/arrowColumns.js";
import { reference } from "../../support/reference.js";
import { createParts, freshStage } from "../../support/stage.js";

const ID = { id: ["t"] };
const stage = freshStage();
let ns: DirectoryNamespace;

type Computed = Record<string, string>;

/** Makes a table of numbers by fragment, and columns of SQL. */
async function makeTable(
  fragments: readonly (readonly number[])[],
  computed: Computed,
  options: { functions?: Record<string, UserFunction>; dataStorageVersion?: "2.0" | "2.2" } = {},
): Promise<void> {
  ns = stage.open({ ...options });
  await createParts(
    ns,
    ID.id,
    fragments.map((values) => values.map((a) => ({ a: BigInt(a) }))),
  );
  for (const [name, text] of Object.entries(computed)) {
    const column =
      text in (options.functions ?? {}) ? { virtualColumn: { udfName: text } } : { computed: text };
    await ns.alterTableAddColumns({ ...ID, newColumns: [{ name, ...column }] });
  }
}

async function fill(column: string, where?: string): Promise<void> {
  await ns.waitForJob(await ns.alterTableBackfillColumns({ ...ID, column, where }));
}

/** Returns values of a column by number, equal for the reference and for us. */
async function values(column: string): Promise<Record<number, number | null>> {
  const plain = (value: unknown): number | null => (value === null ? null : Number(value));
  const theirs = [...(await stage.rowsThere())].map((row) => [Number(row.a), plain(row[column])]);
  const ours = (await ns.table("t").scan().toArray()).map((row) => [Number(row.a), plain(row[column])]);
  expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(theirs));
  return Object.fromEntries(theirs);
}

const stale = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await ns.describeComputedColumns(ID)).columns.map(({ column, staleRows }) => [column, staleRows]),
  );

const CHAIN = { b: "a * 10", c: "coalesce(b, 0) + 1", d: "coalesce(c, 0) + 1" };

it("all dependent values of a fragment become null, through computed columns too; other fragments keep theirs", async () => {
  await makeTable(
    [
      [1, 2],
      [3, 4],
    ],
    CHAIN,
  );
  await fill("b", "a < 3");
  for (const column of ["c", "d"]) await fill(column);
  expect(await values("d")).toEqual({ 1: 12, 2: 22, 3: 2, 4: 2 });
  await fill("b");
  expect(await stale()).toEqual({ b: 0, c: 2, d: 2 });
  const left = { 1: 11, 2: 21, 3: null, 4: null };
  expect(await values("c")).toEqual(left);
  await reference.optimizeTable(stage.root, "t");
  expect(await values("c")).toEqual(left);
  for (const column of ["c", "d"]) await fill(column);
  expect(await values("d")).toEqual({ 1: 12, 2: 22, 3: 32, 4: 42 });
  expect(await stale()).toEqual({ b: 0, c: 0, d: 0 });
});

it.each([
  false,
  true,
])("those of the rows that got another value (in one file with others: %s)", async (isOne) => {
  await makeTable([[1, 2, 3, 4, 5, 6]], CHAIN);
  await fill("b", "a < 3");
  for (const column of ["c", "d"]) await fill(column);
  if (isOne) {
    await ns.insertIntoTable(ID, [{ a: 7n }]);
    await ns.optimizeTable(ID);
  }
  await ns.deleteFromTable({ ...ID, predicate: "a in (2, 5)" });
  await fill("b", "a > 3 and a < 7");
  expect(await values("c")).toEqual({ 1: 11, 3: 1, 4: null, 6: null, ...(isOne && { 7: null }) });
  expect(await values("d")).toEqual({ 1: 12, 3: 2, 4: null, 6: null, ...(isOne && { 7: null }) });
  for (const column of ["b", "c", "d"]) await fill(column);
  expect(await values("d")).toEqual({ 1: 12, 3: 32, 4: 42, 6: 62, ...(isOne && { 7: 72 }) });
});

it("no dependent value changes if a null is computed to be null again, or there are no values", async () => {
  const even: UserFunction = {
    ...{ version: "1", inputs: ["a"], output: new Int64() },
    row: ({ a }) => ((a as bigint) % 2n === 0n ? (a as bigint) : null),
  };
  await makeTable([[1, 2, 3]], { b: "even", c: "coalesce(b, 0) + 1" }, { functions: { even } });
  await fill("b");
  await fill("c");
  await fill("b");
  expect(await stale()).toEqual({ b: 2, c: 0 });
  expect(await values("c")).toEqual({ 1: 1, 2: 3, 3: 1 });
  await fill("b", "a < 3");
  expect(await values("c")).toEqual({ 1: null, 2: null, 3: 1 });
  await fill("b", "a < 3");
  expect(await stale()).toEqual({ b: 2, c: 2 });
});

it("indexes on dependent columns no longer find the rows", async () => {
  await makeTable(
    [
      [1, 2],
      [3, 4],
    ],
    CHAIN,
  );
  await fill("c");
  await ns.createTableIndex({ ...ID, column: "c", indexType: "BTREE" });
  const countFound = () => ns.countTableRows({ ...ID, predicate: "c = 1" });
  expect(await countFound()).toBe(4);
  await fill("b", "a < 3");
  expect(await countFound()).toBe(2);
  await fill("b", "a = 3");
  expect(await countFound()).toBe(1);
  await fill("c");
  expect(await countFound()).toBe(1);
  expect(await ns.countTableRows({ ...ID, predicate: "c = 31" })).toBe(1);
});

it.each([
  "2.0",
  "2.2",
] as const)("some values of vectors become null in files of %s", async (dataStorageVersion) => {
  const pair: UserFunction = {
    ...{
      version: "1",
      inputs: ["b"],
      output: new FixedSizeList(2, new ArrowField("item", new Float32(), true)),
    },
    row: ({ b }) => [Number(b ?? 0n), 1],
  };
  await makeTable([[1, 2, 3]], { b: "a * 10", v: "pair" }, { functions: { pair }, dataStorageVersion });
  await fill("v");
  await fill("b", "a = 2");
  expect(await stale()).toEqual({ b: 2, v: 1 });
  const theirs = [...(await stage.rowsThere())].map(({ v }) => v && [...v]);
  expect(theirs).toEqual([[0, 1], null, [0, 1]]);
  await fill("v");
  expect([...(await stage.rowsThere())].map(({ v }) => [...v])[1]).toEqual([20, 1]);
});

/** Makes a table whose column `c` exists before its declaration to be computed from `b`. */
async function declareLater(c: ArrowField, texts: readonly string[]): Promise<void> {
  const later: UserFunction = { version: "1", inputs: ["b"], output: new Utf8(), row: ({ b }) => String(b) };
  ns = stage.open({ functions: { later } });
  const columns = {
    a: int64s(texts.map((_, index) => BigInt(index))),
    c: utf8s(texts),
  };
  await ns.createTable(ID, new Table(new Schema([new ArrowField("a", new Int64()), c]), columns));
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "b", computed: "a * 10" }] });
  const metadata = {
    virtual_column: "true",
    "virtual_column.udf_name": "later",
    "virtual_column.udf_inputs": '["b"]',
  };
  await ns.updateFieldMetadata({ ...ID, updates: [{ path: "c", metadata }] });
}

it("some values of JSON become null", async () => {
  const json = new Map([["ARROW:extension:name", "arrow.json"]]);
  await declareLater(new ArrowField("c", new Utf8(), true, json), ['{"k":1}', '{"k":2}']);
  await fill("b", "a = 0");
  expect(
    (
      await ns
        .table("t")
        .scan({ columns: ["c"] })
        .toArray()
    ).map(({ c }) => c),
  ).toEqual([null, '{"k":2}']);
});

it("a column with a dependent that is not nullable is not filled", async () => {
  await declareLater(new ArrowField("c", new Utf8(), false), ["x", "y"]);
  await expect(fill("b")).rejects.toMatchObject({
    ...{ type: "InvalidInput", message: expect.stringContaining("make c nullable first") },
  });
  expect(
    await ns
      .table("t")
      .scan({ columns: ["b", "c"] })
      .toArray(),
  ).toEqual([
    { b: null, c: "x" },
    { b: null, c: "y" },
  ]);
});
