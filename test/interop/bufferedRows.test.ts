/** The reference can buffer rows outside of versions (`setLsmWriteSpec`): our reads refuse such tables. */

import { type MergeInsertIntoTableRequest, UnsupportedError } from "tiltyard";
import { arrow, type Table } from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import { openBothEngines } from "../support/bothEngines.js";

const SCHEMA = new arrow.Schema([
  new arrow.Field("id", new arrow.Int32(), false),
  new arrow.Field("v", new arrow.Utf8(), true),
]);

const { namespace, connection } = await openBothEngines({});

const rowsOf = (...rows: readonly (readonly [number, string])[]) =>
  new arrow.Table(SCHEMA, {
    id: arrow.vectorFromArray(
      rows.map(([id]) => id),
      new arrow.Int32(),
    ),
    v: arrow.vectorFromArray(
      rows.map(([, v]) => v),
      new arrow.Utf8(),
    ),
  });

const streamOf = (...rows: readonly (readonly [number, string])[]) =>
  arrow.tableToIPC(rowsOf(...rows), "stream");

async function makeTable(name: string): Promise<Table> {
  const table = await connection.createTable(name, rowsOf([1, "a"], [2, "b"]));
  await table.setUnenforcedPrimaryKey("id");
  await table.setLsmWriteSpec({ specType: "bucket", column: "id", numBuckets: 1 });
  return table;
}

const upsert = (table: Table, ...rows: readonly (readonly [number, string])[]) =>
  table
    .mergeInsert("id")
    .whenMatchedUpdateAll()
    .whenNotMatchedInsertAll()
    .execute(rowsOf(...rows));

async function byUs(name: string): Promise<string[]> {
  const rows = await namespace.table(name).scan().toArrow();
  return Array.from(rows, (row) => `${row?.id}${row?.v}`).sort();
}

async function byThem(table: Table): Promise<string[]> {
  const rows = await table.query().toArrow();
  return Array.from(rows, (row) => `${row?.id}${row?.v}`).sort();
}

async function expectRefusals(name: string): Promise<void> {
  const id = [name];
  const { version } = await namespace.describeTable({ id });
  for (const call of [
    () => byUs(name),
    () => namespace.countTableRows({ id }),
    () => namespace.countTableRows({ id, predicate: "id = 1" }),
    () => namespace.table(name).take([0]),
    () => namespace.insertIntoTable({ id }, streamOf([7, "g"])),
    () => namespace.insertIntoTable({ id, mode: "Overwrite" }, streamOf([7, "g"])),
    () => namespace.deleteFromTable({ id, predicate: "id = 1" }),
    () => namespace.updateTable({ id, updates: [["v", "'x'"]] }),
    () => namespace.mergeInsertIntoTable({ id, on: "id", whenNotMatchedInsertAll: true }, streamOf([7, "g"])),
    () => namespace.alterTableAddColumns({ id, newColumns: [{ name: "w", expression: "1" }] }),
    () => namespace.alterTableDropColumns({ id, columns: ["v"] }),
    () => namespace.optimizeTable({ id }),
  ]) {
    await expect(call()).rejects.toThrow(UnsupportedError);
  }
  expect((await namespace.describeTable({ id })).version).toBe(version);
}

it("are read and changed as long as no rows are buffered, and the log stays set up", async () => {
  const table = await makeTable("empty");
  expect(await byUs("empty")).toEqual(["1a", "2b"]);
  await namespace.insertIntoTable({ id: ["empty"] }, streamOf([3, "c"]));
  await table.checkoutLatest();
  expect(await table.getLsmWriteSpec()).toBeDefined();
  expect(await byThem(table)).toEqual(["1a", "2b", "3c"]);
  expect(await byUs("empty")).toEqual(["1a", "2b", "3c"]);
});

it("refuse merges that the reference refuses for their write spec, before any row is buffered", async () => {
  const table = await makeTable("spec");
  const update = { whenMatchedUpdateAll: true };
  const insert = { whenNotMatchedInsertAll: true };
  const sent = rowsOf([2, "B"], [4, "d"]);
  const merge = (on: string | string[]) => table.mergeInsert(on);
  const refused: [Omit<MergeInsertIntoTableRequest, "id">, () => Promise<unknown>][] = [
    [{ on: "id", ...insert }, () => merge("id").whenNotMatchedInsertAll().execute(sent)],
    [{ on: "id", ...update }, () => merge("id").whenMatchedUpdateAll().execute(sent)],
    [
      { on: "id", ...insert, ...update, whenMatchedUpdateAllFilt: "target.v = 'b'" },
      () =>
        merge("id").whenMatchedUpdateAll({ where: "target.v = 'b'" }).whenNotMatchedInsertAll().execute(sent),
    ],
    [
      { on: "id", ...insert, ...update, whenNotMatchedBySourceDelete: true },
      () =>
        merge("id")
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
          .whenNotMatchedBySourceDelete()
          .execute(sent),
    ],
    [
      { on: "v", ...insert, ...update },
      () => merge("v").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(sent),
    ],
    [
      { on: ["id", "v"], ...insert, ...update },
      () => merge(["id", "v"]).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(sent),
    ],
  ];
  const version = await table.version();
  for (const [clauses, byReference] of refused) {
    await expect(byReference()).rejects.toThrow("LSM write spec");
    const error = await namespace
      .mergeInsertIntoTable({ id: ["spec"], ...clauses }, arrow.tableToIPC(sent, "stream"))
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toContain("LSM write spec");
  }
  expect((await namespace.describeTable({ id: ["spec"] })).version).toBe(version);
  const plain = await namespace.mergeInsertIntoTable(
    { id: ["spec"], on: "ID", ...insert, ...update },
    arrow.tableToIPC(sent, "stream"),
  );
  expect(plain).toMatchObject({ numUpdatedRows: 1, numInsertedRows: 1, version: version + 1 });
  await table.checkoutLatest();
  expect(await byThem(table)).toEqual(["1a", "2B", "4d"]);
  // Rows that the reference buffers from here on replace ours.
  await upsert(table, [4, "D"]);
  expect(await byThem(table)).toEqual(["1a", "2B", "4D"]);
  await expectRefusals("spec");
});

it("are refused while rows lie in the log, or in a generation", async () => {
  const table = await makeTable("buffered");
  await upsert(table, [2, "B"], [4, "d"]);
  expect(await byThem(table)).toEqual(["1a", "2B", "4d"]);
  await expectRefusals("buffered");
  await table.closeLsmWriters();
  expect(await byThem(table)).toEqual(["1a", "2B", "4d"]);
  await expectRefusals("buffered");
});

it("tell what versions and fragments have, as the reference does, of which buffered rows are no part", async () => {
  const table = await makeTable("told");
  await table.createIndex("v");
  await upsert(table, [2, "B"], [4, "d"]);
  const id = ["told"];
  for (const isClosed of [false, true]) {
    if (isClosed) await table.closeLsmWriters();
    expect(await namespace.tableExists({ id })).toBeUndefined();
    const { indexes } = await namespace.listTableIndices({ id });
    const [theirs, ...others] = await table.listIndices();
    expect(others).toEqual([]);
    expect(indexes.map(({ indexName, indexUuid }) => [indexName, indexUuid])).toEqual([
      [theirs.name, theirs.indexUuid],
    ]);
    expect(indexes[0].numIndexedRows).toBe(theirs.numIndexedRows);
    expect(await namespace.getTableStats({ id })).toEqual(await table.stats());
    const { version } = await namespace.describeTableVersion({ id });
    expect(version.version).toBe(await table.version());
    const { versions } = await namespace.listTableVersions({ id });
    expect(versions.map((each) => each.version)).toEqual(
      (await table.listVersions()).map((each) => each.version),
    );
    // Statistics of an index count all rows, and buffered ones are unknown.
    await expect(namespace.describeTableIndexStats({ id, indexName: "v_idx" })).rejects.toThrow(
      UnsupportedError,
    );
  }
});

it("give the rows of a version from before, and of one after the log was given up", async () => {
  const table = await makeTable("given-up");
  await upsert(table, [2, "B"]);
  await table.closeLsmWriters();
  const before = await namespace.table("given-up", { version: 1 }).scan().toArrow();
  expect(before.numRows).toBe(2);
  await table.unsetLsmWriteSpec();
  expect(await byUs("given-up")).toEqual(await byThem(table));
});
