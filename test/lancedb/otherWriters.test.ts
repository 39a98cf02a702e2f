/** Handles of the drop-in while others write: a second process, and a table that is dropped and recreated. */

import { Float64, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import * as reference from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import { connect } from "../../src/lancedb/connect.js";
import { ReferenceWorker } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const rowsOf = (...ids: number[]) => ids.map((id) => ({ id }));
const payloadOf = (id: number): Uint8Array =>
  tableToIPC(new Table({ id: vectorFromArray([id], new Float64()) }), "stream");

/** Appends rows to the table `t` in another process, one commit each. */
async function appendElsewhere(uri: string, ...ids: number[]): Promise<void> {
  const worker = new ReferenceWorker({
    kind: "appendEach",
    uri,
    name: "t",
    payloads: ids.map(payloadOf),
    retries: 3,
  });
  await worker.ready;
  worker.go();
  const outcomes = await worker.outcomes;
  expect(outcomes.filter((outcome) => "error" in outcome)).toEqual([]);
}

it("a handle shows what a second process wrote after checkoutLatest", async () => {
  const root = await makeTempDir();
  const table = await (await connect(root)).createTable("t", rowsOf(1));
  await appendElsewhere(root, 2, 3);
  expect([await table.version(), await table.countRows()]).toEqual([1, 1]);
  await table.checkoutLatest();
  expect([await table.version(), await table.countRows()]).toEqual([3, 3]);
});

it("a handle's own write shows what a second process wrote before it", async () => {
  const root = await makeTempDir();
  const table = await (await connect(root)).createTable("t", rowsOf(1));
  await appendElsewhere(root, 2);
  expect(await table.add(rowsOf(3))).toEqual({ version: 3 });
  expect(await table.countRows()).toBe(3);
  const native = await (await reference.connect(root)).openTable("t");
  expect([await native.version(), await native.countRows()]).toEqual([3, 3]);
});

it("an interval of 0 shows what a second process wrote with the next read", async () => {
  const root = await makeTempDir();
  const creator = await (await connect(root)).createTable("t", rowsOf(1));
  const table = await (await connect(root, { readConsistencyInterval: 0 })).openTable("t");
  await appendElsewhere(root, 2);
  expect([await table.countRows(), await table.version()]).toEqual([2, 2]);
  expect(await table.query().toArray()).toHaveLength(2);
  await creator.add(rowsOf(3));
  expect((await table.toArrow()).numRows).toBe(3);
});

it("an interval holds a version until it has passed, and checkout holds it for good", async () => {
  const root = await makeTempDir();
  const writer = await (await connect(root)).createTable("t", rowsOf(1));
  const connection = await connect(root, { readConsistencyInterval: 0.3 });
  const table = await connection.openTable("t");
  const pinned = await connection.openTable("t", [], { version: 1 });
  await writer.add(rowsOf(2));
  expect(await table.countRows()).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 350));
  expect([await table.countRows(), await pinned.countRows()]).toEqual([2, 1]);
});

it("a handle of a dropped table fails, and shows the new table after checkoutLatest", async () => {
  const connection = await connect(await makeTempDir());
  const table = await connection.createTable("t", rowsOf(1));
  await table.add(rowsOf(2));
  await connection.dropTable("t");
  await expect(table.countRows()).rejects.toThrow("Table 't' was not found");
  await expect(table.add(rowsOf(3))).rejects.toThrow("Table 't' was not found");
  await expect(table.checkoutLatest()).rejects.toThrow("Table 't' was not found");
  await connection.createTable("t", [{ other: "x" }]);
  await expect(table.countRows()).rejects.toThrow(/was not found/);
  await table.checkoutLatest();
  expect((await table.schema()).fields.map(({ name }) => name)).toEqual(["other"]);
  expect([await table.version(), await table.countRows()]).toEqual([1, 1]);
});

it("a handle's own writes show a table that was recreated with fewer versions", async () => {
  const connection = await connect(await makeTempDir());
  const table = await connection.createTable("t", rowsOf(1));
  for (const id of [2, 3, 4]) await table.add(rowsOf(id));
  await connection.dropTable("t");
  await connection.createTable("t", rowsOf(7, 8, 9));
  await Promise.all([table.delete("id = 7"), table.delete("id = 8")]);
  expect([await table.version(), await table.countRows()]).toEqual([3, 1]);
});

it("checkoutLatest shows the columns of a table that was recreated with as many versions", async () => {
  const connection = await connect(await makeTempDir());
  const table = await connection.createTable("t", rowsOf(1));
  await connection.dropTable("t");
  await connection.createTable("t", [{ other: "x" }]);
  await table.checkoutLatest();
  expect((await table.schema()).fields.map(({ name }) => name)).toEqual(["other"]);
  expect(await table.add([{ other: "y" }])).toEqual({ version: 2 });
});

it("a deletion, an update and a merge see the latest rows, even through an old handle", async () => {
  const connection = await connect(await makeTempDir());
  const table = await connection.createTable("t", [{ id: 1, n: 1 }]);
  const old = await connection.openTable("t");
  await table.add([
    { id: 2, n: 1 },
    { id: 3, n: 1 },
  ]);
  expect(await old.update({ where: "id = 2", values: { n: 2 } })).toMatchObject({ rowsUpdated: 1 });
  const merge = old.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll();
  expect(await merge.execute([{ id: 3, n: 5 }])).toMatchObject({ numInsertedRows: 0, numUpdatedRows: 1 });
  expect(await old.delete("id = 3")).toMatchObject({ numDeletedRows: 1 });
  expect(await old.countRows()).toBe(2);
});

it("concurrent writes of one handle leave it at the last version", async () => {
  const table = await (await connect(await makeTempDir())).createTable("t", rowsOf(0));
  const added = await Promise.all([1, 2, 3, 4, 5].map((id) => table.add(rowsOf(id))));
  expect(added.map(({ version }) => version).sort()).toEqual([2, 3, 4, 5, 6]);
  expect([await table.version(), await table.countRows()]).toEqual([6, 6]);
});

it("two connections drop all tables at once", async () => {
  const root = await makeTempDir();
  const [connection, rival] = [await connect(root), await connect(root)];
  for (const name of ["a", "b", "c"]) await connection.createTable(name, rowsOf(1));
  await Promise.all([connection.dropAllTables(), rival.dropAllTables()]);
  expect(await connection.tableNames()).toEqual([]);
});

it("a database in memory keeps its tables while the connection lives", async () => {
  const connection = await connect("memory://");
  const table = await connection.createTable("t", rowsOf(1, 2));
  await table.add(rowsOf(3));
  expect(await (await connection.openTable("t")).countRows()).toBe(3);
  expect(connection.display()).toBe("ListingDatabase(uri=memory://, read_consistency_interval=None)");
  expect(await (await connect("memory://")).tableNames()).toEqual([]);
});

it("waiting for an index ends if the timeout is not a number", async () => {
  const table = await (await connect(await makeTempDir())).createTable("t", rowsOf(1));
  await expect(table.waitForIndex(["none"], Number.NaN)).rejects.toThrow("timed out waiting for indices");
  await expect(table.update(null as never)).rejects.toThrow("an update takes an object or a map of columns");
});
