/** Deletes and updates of all types of columns, on branches and clones; refused changes have no effect. */

import { join } from "node:path";
import * as arrow from "apache-arrow";
import { col, DirectoryNamespace, type UpdateTableRequest } from "tiltyard";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { expect, it } from "../support/fixtures.js";
import { compareTables, reference } from "../support/reference.js";
import { lacks } from "../support/suite/diskLimits.js";
import { readdir } from "../support/suite/rootFiles.js";
import { makeTempDir } from "../support/tempDir.js";

async function open(options: object = {}): Promise<{ root: string; ns: DirectoryNamespace }> {
  const root = await makeTempDir();
  return { root, ns: new DirectoryNamespace({ root, durability: "none", ...options }) };
}

const numbers = (from: number, count: number): arrow.Table =>
  new arrow.Table({
    n: arrow.vectorFromArray(
      Array.from({ length: count }, (_, index) => from + index),
      new arrow.Int32(),
    ),
  });

const valuesOf = async (ns: DirectoryNamespace, branch?: string): Promise<number[]> =>
  Array.from((await ns.table("t", { branch }).scan().toArrow()).getChild("n") ?? [], Number);

/** A column that forbids nulls, one that allows them, and one of text. */
const strictRows = (): arrow.Table => {
  const schema = new arrow.Schema([
    new arrow.Field("n", new arrow.Int32(), false),
    new arrow.Field("m", new arrow.Int32(), true),
    new arrow.Field("s", new arrow.Utf8(), true),
  ]);
  const columns = {
    n: arrow.vectorFromArray([1, 2, 3], new arrow.Int32()),
    m: arrow.vectorFromArray([4, null, 6], new arrow.Int32()),
    s: arrow.vectorFromArray(["7", "8", "nine"], new arrow.Utf8()),
  };
  return new arrow.Table(schema, columns);
};

it("a refused change leaves the table unchanged", async () => {
  const { root, ns } = await open();
  const id = ["t"];
  await ns.createTable({ id }, strictRows());
  await ns.insertIntoTable({ id }, strictRows());
  const before = await directorySnapshot(root);
  const update = (request: Omit<UpdateTableRequest, "id">) => ns.updateTable({ id, ...request });
  const refusals: [string, () => Promise<unknown>][] = [
    ["TableSchemaValidation", () => update({ updates: [["n", "m"]] })],
    ["TableSchemaValidation", () => update({ values: { n: null } })],
    ["InvalidInput", () => update({ updates: [["n", "CAST(s AS INT)"]] })],
    ["InvalidInput", () => update({ updates: [["n", "'x'"]] })],
    ["InvalidInput", () => update({ updates: [["n", "1 +"]] })],
    ["InvalidInput", () => update({ updates: [["n", "1"]], values: { n: 2 } })],
    ["InvalidInput", () => update({ updates: [] })],
    ["InvalidInput", () => update({ updates: [["n", "1"]], predicate: "n" })],
    ["InvalidInput", () => update({ updates: [["n", "1", "2"]] as never })],
    ["TableSchemaValidation", () => update({ values: { n: { a: 1 } } })],
    ["InvalidInput", () => update({ values: [1] as never })],
    ["InvalidInput", () => update({ updates: [["n", "$x"]] })],
    ["InvalidInput", () => update({ updates: [["n", "1 / (n - 3)"]] })],
    ["TableSchemaValidation", () => update({ values: { n: 1.5 } })],
    ["TableSchemaValidation", () => update({ values: { n: 2 ** 60 } })],
    ["TableColumnNotFound", () => update({ values: { none: 1 } })],
    ["TableColumnNotFound", () => update({ updates: [["n", "none"]] })],
    ["TableColumnNotFound", () => ns.deleteFromTable({ id, predicate: "none = 1" })],
    ["TableBranchNotFound", () => ns.deleteFromTable({ id, predicate: "true", branch: "none" })],
    ["TableNotFound", () => ns.deleteFromTable({ id: ["none"], predicate: "true" })],
    ["InvalidInput", () => ns.deleteFromTable({ id, predicate: "" })],
    ["InvalidInput", () => ns.deleteFromTable({ id, predicate: "n = 1; DROP TABLE t" })],
    ["InvalidInput", () => ns.deleteFromTable({ id } as never)],
    ["InvalidInput", () => ns.deleteFromTable({ id, predicate: "1 / (n - 3) = 1" })],
  ];
  for (const [index, [type, run]] of refusals.entries()) {
    await expect(run(), String(index)).rejects.toMatchObject({ type });
  }
  const reason = new Error("enough");
  const signal = AbortSignal.abort(reason);
  await expect(ns.deleteFromTable({ id, predicate: "true", signal })).rejects.toThrow();
  expect(await directorySnapshot(root)).toEqual(before);
  await ns.declareTable({ id: ["d"] });
  await expect(ns.deleteFromTable({ id: ["d"], predicate: "true" })).rejects.toMatchObject({
    type: "InvalidTableState",
  });
  await expect(ns.table("t", { version: 1 }).delete("true")).rejects.toMatchObject({
    type: "InvalidTableState",
  });
  await ns.close();
});

it("a signal ends a running update, and nothing of it stays", async () => {
  const { root, ns } = await open();
  const id = ["t"];
  for (let part = 0; part < 4; part++) {
    await ns.insertIntoTable({ id }, numbers(0, 1)).catch(() => ns.createTable({ id }, numbers(0, 20_000)));
  }
  const before = await directorySnapshot(root);
  const controller = new AbortController();
  const running = ns.updateTable({ id, updates: [["n", "n + 1"]], signal: controller.signal });
  setTimeout(() => controller.abort(), 1);
  const outcome = await running.then(
    () => "done",
    () => "ended",
  );
  if (outcome === "ended") expect(await directorySnapshot(root)).toEqual(before);
  await ns.close();
});

it("each deletion writes a bitmap of all deleted rows of its fragment", async () => {
  const { root, ns } = await open();
  const id = ["t"];
  await ns.createTable({ id }, numbers(0, 12_000));
  await ns.insertIntoTable({ id }, numbers(12_000, 100));
  expect(await ns.deleteFromTable({ id, predicate: "n < 4999" })).toMatchObject({ numDeletedRows: 4999 });
  expect(await ns.deleteFromTable({ id, predicate: "n = 5000" })).toMatchObject({ numDeletedRows: 1 });
  const names = await readdir(join(root, "t.lance", "_deletions"));
  expect(names.map((name) => name.replace(/-\d+\./, "-id.")).sort()).toEqual(["0-2-id.bin", "0-3-id.bin"]);
  expect(await reference.countRows(root, "t")).toBe(7100);
  // No deletion file lists the rows of a fragment that is gone.
  expect(await ns.deleteFromTable({ id, predicate: "n >= 12000" })).toMatchObject({ numDeletedRows: 100 });
  expect((await readdir(join(root, "t.lance", "_deletions"))).length).toBe(2);
  expect(await ns.deleteFromTable({ id, predicate: "true" })).toMatchObject({
    numDeletedRows: 7000,
    version: 6,
  });
  expect(await ns.deleteFromTable({ id, predicate: "true" })).toMatchObject({
    numDeletedRows: 0,
    version: 7,
  });
  expect(await ns.updateTable({ id, values: { n: 1 } })).toMatchObject({ updatedRows: 0, version: 8 });
  expect([await ns.countTableRows({ id }), await reference.countRows(root, "t")]).toEqual([0, 0]);
  await ns.insertIntoTable({ id }, numbers(5, 2));
  expect(arrow.tableFromIPC(await reference.readTable(root, "t")).numRows).toBe(2);
  await ns.close();
});

it.skipIf(lacks("copiedBranches"))("a branch changes alone and includes inherited rows", async () => {
  const { root, ns } = await open();
  const id = ["t"];
  await ns.createTable({ id }, numbers(0, 10));
  await ns.deleteFromTable({ id, predicate: "n = 0" });
  await ns.createTableBranch({ id, name: "dev" });
  const branch = "dev";
  await ns.deleteFromTable({ id, branch, predicate: "n IN (1, 2)" });
  await ns.updateTable({ id, branch, updates: [["n", "n * 10"]], predicate: "n >= 8" });
  await ns.table("t", { branch }).delete("n = 3");
  expect(await valuesOf(ns, branch)).toEqual([4, 5, 6, 7, 80, 90]);
  expect(await valuesOf(ns)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const theirs = arrow.tableFromIPC(await reference.readTable(root, "t", { branch }));
  expect(Array.from(theirs.getChild("n") ?? [])).toEqual([4, 5, 6, 7, 80, 90]);
  await ns.close();
});

it("updates and deletions change rows of a clone, whose files are elsewhere", async ({ root: source }) => {
  await reference.createTable(source, "s", arrow.tableToIPC(numbers(0, 6), "stream"));
  await reference.deleteRows(source, "s", "n = 0");
  const { root, ns } = await open({ allowedBases: [source] });
  await reference.cloneTable(root, "t", join(source, "s.lance"));
  expect(await ns.deleteFromTable({ id: ["t"], predicate: "n = 1" })).toMatchObject({ numDeletedRows: 1 });
  await ns.updateTable({ id: ["t"], updates: [["n", "n + 100"]], predicate: "n > 3" });
  expect(await valuesOf(ns)).toEqual([2, 3, 104, 105]);
  compareTables(await reference.readTable(root, "t"), await ns.table("t").scan().toArrow());
  expect(await reference.countRows(source, "s")).toBe(5);
  await ns.close();
});

it("plain values set columns of every type", async () => {
  const { root, ns } = await open();
  const vector = new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Float32(), true));
  const rows = new arrow.Table({
    i: arrow.vectorFromArray([1], new arrow.Int32()),
    l: arrow.vectorFromArray([1n], new arrow.Int64()),
    s: arrow.vectorFromArray(["x"], new arrow.Utf8()),
    d: arrow.vectorFromArray(["x"], new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32())),
    b: arrow.vectorFromArray([false], new arrow.Bool()),
    t: arrow.vectorFromArray([0], new arrow.TimestampMillisecond()),
    v: arrow.vectorFromArray([[1, 2]], vector),
  });
  await ns.createTable({ id: ["t"] }, rows);
  const text = "it's; DROP TABLE t -- $x \\ \"";
  const values = {
    ...{ i: 7, l: 2n ** 62n, s: text, d: text, b: true },
    ...{ t: new Date(86_400_000), v: Float32Array.of(0.5, -1) },
  };
  await ns.table("t").update({ values });
  const read = arrow.tableFromIPC(await reference.readTable(root, "t"));
  const [row] = read.toArray();
  expect({ ...row.toJSON(), v: Array.from(row.v) }).toEqual({ ...values, t: 86_400_000, v: [0.5, -1] });
  await ns.table("t").update({ values: { i: null, s: undefined, v: null, d: null } });
  const [nulls] = (await ns.table("t").scan().toArrow()).toArray();
  expect([nulls.i, nulls.s, nulls.v, nulls.d, nulls.b]).toEqual([null, null, null, null, true]);
  await ns.close();
});

it("predicates may be expressions and have parameters", async () => {
  const { ns } = await open();
  await ns.createTable({ id: ["t"] }, numbers(0, 10));
  const table = ns.table("t");
  await table.delete(col("n").gt(7));
  await table.delete("n = $gone", { gone: 0 });
  await table.update({ where: col("n").in([1, 2]), valuesSql: { n: "n + $more" }, params: { more: 40 } });
  expect(await valuesOf(ns)).toEqual([3, 4, 5, 6, 7, 41, 42]);
  await ns.close();
});

it.each([
  "2.0",
  "2.1",
] as const)("blobs move along with their rows, and are set, in files of %s", async (version) => {
  const { ns } = await open({ dataStorageVersion: version });
  const blob = (value: number) => new Uint8Array(5000).fill(value);
  const schema = new arrow.Schema([
    new arrow.Field("n", new arrow.Int32(), true),
    new arrow.Field("b", new arrow.LargeBinary(), true, new Map([["lance-encoding:blob", "true"]])),
  ]);
  const rows = new arrow.Table(schema, {
    n: arrow.vectorFromArray([0, 1, 2, 3], new arrow.Int32()),
    b: arrow.vectorFromArray([blob(0), null, blob(2), blob(3)], new arrow.LargeBinary()),
  });
  await ns.createTable({ id: ["t"] }, rows);
  await ns.updateTable({ id: ["t"], updates: [["n", "n + 10"]], predicate: "n <> 2" });
  await ns.updateTable({ id: ["t"], values: { b: blob(9) }, predicate: "n = 13" });
  const read = (await ns.table("t").scan().toArrow()).toArray().map(({ n, b }) => [n, b?.length, b?.[0]]);
  expect(read).toEqual([
    [2, 5000, 2],
    [10, 5000, 0],
    [11, undefined, undefined],
    [13, 5000, 9],
  ]);
  await ns.close();
});

it("JSON moves with its row, and text sets it", async () => {
  const { root, ns } = await open();
  const json = new Map([["ARROW:extension:name", "arrow.json"]]);
  const schema = new arrow.Schema([
    new arrow.Field("n", new arrow.Int32(), true),
    new arrow.Field("j", new arrow.Utf8(), true, json),
  ]);
  const rows = new arrow.Table(schema, {
    n: arrow.vectorFromArray([0, 1], new arrow.Int32()),
    j: arrow.vectorFromArray(['{"a":1}', "[2]"], new arrow.Utf8()),
  });
  await ns.createTable({ id: ["t"] }, rows);
  await ns.updateTable({ id: ["t"], updates: [["n", "5"]], predicate: "n = 0" });
  await ns.updateTable({ id: ["t"], values: { j: '{"b": [true]}' }, predicate: "n = 1" });
  await expect(ns.updateTable({ id: ["t"], values: { j: "{" } })).rejects.toMatchObject({
    type: "InvalidInput",
  });
  const read = (await ns.table("t").scan().toArrow()).toArray().map(({ n, j }) => [n, j]);
  expect(read).toEqual([
    [5, '{"a":1}'],
    [1, '{"b":[true]}'],
  ]);
  expect(await reference.countRows(root, "t")).toBe(2);
  await ns.close();
});
