/**
 * The reference can buffer rows outside of versions (`setLsmWriteSpec`). We refuse to change such tables, and
 * to read them while rows are buffered.
 */

import { UnsupportedError } from "tiltyard";
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

/** Expects each kind of write to be refused. */
async function expectWritesRefused(name: string): Promise<void> {
  const id = [name];
  const { version } = await namespace.describeTable({ id });
  const upserts = { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
  for (const call of [
    () => namespace.insertIntoTable({ id }, streamOf([7, "g"])),
    () => namespace.insertIntoTable({ id, mode: "Overwrite" }, streamOf([7, "g"])),
    () => namespace.deleteFromTable({ id, predicate: "id = 1" }),
    () => namespace.updateTable({ id, updates: [["v", "'x'"]] }),
    () => namespace.mergeInsertIntoTable({ id, on: "id", ...upserts }, streamOf([7, "g"])),
    () => namespace.mergeInsertIntoTable({ id, on: "id", whenNotMatchedInsertAll: true }, streamOf([7, "g"])),
    () => namespace.alterTableAddColumns({ id, newColumns: [{ name: "w", expression: "1" }] }),
    () => namespace.alterTableDropColumns({ id, columns: ["v"] }),
    () => namespace.alterTableAlterColumns({ id, alterations: [{ path: "v", rename: "w" }] }),
    () => namespace.createTableIndex({ id, column: "v", indexType: "BTREE" }),
    () => namespace.restoreTable({ id, version: 1 }),
    () => namespace.optimizeTable({ id }),
  ]) {
    await expect(call()).rejects.toThrow(/LSM write spec/);
  }
  expect((await namespace.describeTable({ id })).version).toBe(version);
}

/** Expects reads and writes to be refused. */
async function expectRefusals(name: string): Promise<void> {
  const id = [name];
  for (const call of [
    () => byUs(name),
    () => namespace.countTableRows({ id }),
    () => namespace.countTableRows({ id, predicate: "id = 1" }),
    () => namespace.table(name).take([0]),
  ]) {
    await expect(call()).rejects.toThrow(UnsupportedError);
  }
  await expectWritesRefused(name);
}

it("are read as long as no rows are buffered, and changed once the write spec is gone", async () => {
  const table = await makeTable("empty");
  expect(await byUs("empty")).toEqual(["1a", "2b"]);
  await expectWritesRefused("empty");
  await table.checkoutLatest();
  expect(await table.getLsmWriteSpec()).toBeDefined();
  expect(await byThem(table)).toEqual(["1a", "2b"]);
  await table.unsetLsmWriteSpec();
  await namespace.insertIntoTable({ id: ["empty"] }, streamOf([3, "c"]));
  await table.checkoutLatest();
  expect(await byThem(table)).toEqual(["1a", "2b", "3c"]);
  expect(await byUs("empty")).toEqual(["1a", "2b", "3c"]);
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
