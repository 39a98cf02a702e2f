/** Handles have a method for everything that a table can do, and queries are built step by step. */

import { tableFromIPC } from "apache-arrow";
import { col, InvalidInputError, InvalidTableStateError, type TableHandle } from "tiltyard";
import { describe, expect } from "vitest";
import { it } from "./support/fixtures.js";
import { lacks } from "./support/suite/diskLimits.js";

interface Order {
  id: number;
  city: string | null;
  price: number;
}

const ORDERS: Order[] = [
  { id: 1, city: "Oslo", price: 3 },
  { id: 2, city: "Rome", price: 1 },
  { id: 3, city: null, price: 2 },
  { id: 4, city: "Oslo", price: 9 },
];

let table: TableHandle<Order>;

it.beforeEach(async ({ ns }) => {
  await ns.createNamespace({ id: "sales" });
  table = ns.table<Order>("sales$orders");
  await table.create(ORDERS);
});

describe("a handle", () => {
  it.skipIf(lacks("rename"))("a handle creates, describes, renames and drops its table", async ({ ns }) => {
    const plain = ns.table<Order>("plain");
    expect(await plain.exists()).toBe(false);
    expect(await plain.create(ORDERS, { properties: { a: "b" } })).toMatchObject({ numInsertedRows: 4 });
    expect(await plain.describe()).toMatchObject({ table: "plain", version: 1, properties: { a: "b" } });
    const renamed = await plain.rename("simple");
    expect(renamed.id).toEqual(["simple"]);
    expect([await plain.exists(), await renamed.countRows()]).toEqual([false, 4]);
    const inSales = await renamed.rename("sales$simple");
    expect([inSales.id, await inSales.countRows()]).toEqual([["sales", "simple"], 4]);
    expect((await inSales.rename("other")).id).toEqual(["sales", "other"]);
    const back = await ns.table("sales$other").rename(["back"]);
    expect([back.id, await back.exists()]).toEqual([["back"], true]);
    expect((await back.drop()).id).toEqual(["back"]);
    expect(await back.exists()).toBe(false);
  });

  it("a handle changes columns and metadata", async () => {
    await table.addColumns({ name: "gross", expression: "price * 2" });
    await table.addColumns([{ name: "note", dataType: "utf8" }]);
    await table.alterColumns({ path: "note", rename: "remark" });
    expect((await table.schema()).fields.map(({ name }) => name)).toEqual([
      ...["id", "city", "price", "gross", "remark"],
    ]);
    await table.dropColumns("remark");
    await table.dropColumns(["gross"]);
    await table.updateMetadata({ owner: "us" });
    await table.updateFieldMetadata({ path: "id", metadata: { unit: "1" } });
    expect(await table.metadata()).toEqual({ owner: "us" });
    expect((await table.schema()).fields[0].metadata.get("unit")).toBe("1");
  });

  it("a handle creates, moves and deletes tags and branches, relative to its version", async ({ ns }) => {
    await table.insert([{ id: 5, city: "Bonn", price: 4 }]);
    await table.createTag("latest");
    await table.createTag("first", 1);
    expect(await table.tags()).toMatchObject({ latest: { version: 2 }, first: { version: 1 } });
    await table.updateTag("latest", 1);
    expect((await table.tags()).latest.version).toBe(1);
    await table.deleteTag("latest");
    const dev = await table.createBranch("dev", 1);
    await dev.insert([{ id: 6, city: "Kyiv", price: 5 }]);
    expect([await dev.countRows(), await table.countRows()]).toEqual([5, 5]);
    await dev.createTag("on-dev");
    expect((await table.tags())["on-dev"]).toMatchObject({ branch: "dev" });
    const tagged = ns.table("sales$orders", { tag: "on-dev" });
    await tagged.createBranch("from-tag");
    expect((await table.branches())["from-tag"]).toMatchObject({ parentBranch: "dev" });
    expect((await tagged.versions()).map(({ version }) => version)).toEqual(
      (await dev.versions()).map(({ version }) => version),
    );
    await table.createBranch("by-tag", { tag: "first" });
    await expect(dev.drop()).rejects.toBeInstanceOf(InvalidTableStateError);
    await expect(dev.rename("x")).rejects.toBeInstanceOf(InvalidTableStateError);
    for (const name of ["by-tag", "from-tag"]) await table.deleteBranch(name);
    await table.deleteTag("on-dev");
    await table.deleteBranch("dev");
    expect(await table.branches()).toEqual({});
  });

  it("a handle lists the indexes of its version", async ({ ns }) => {
    await table.createTag("bare");
    const { jobId } = await table.createIndex("id", { indexType: "BTREE" });
    await table.waitForJob(jobId);
    expect((await table.indexes()).map(({ indexName }) => indexName)).toEqual(["id_idx"]);
    expect((await table.indexStats("id_idx")).numIndexedRows).toBe(4);
    expect(await ns.table("sales$orders", { tag: "bare" }).indexes()).toEqual([]);
    expect(await ns.table("sales$orders", { version: 1 }).indexes()).toEqual([]);
    await table.dropIndex("id_idx");
    expect(await table.indexes()).toEqual([]);
  });

  it("a signal ends every call of a handle", async () => {
    const signal = AbortSignal.abort();
    const options = { signal };
    const calls: (() => unknown)[] = [
      ...[() => table.exists(options), () => table.describe(options), () => table.schema(options)],
      ...[() => table.version(options), () => table.create([], options), () => table.rename("x", options)],
      ...[() => table.drop(options), () => table.stats(options), () => table.insert(ORDERS, options)],
      ...[() => table.scan(options).toArray(), () => table.query(options).toArray()],
      ...[() => table.take([0], undefined, options), () => table.takeBlobs("id", [0], options)],
      ...[() => table.countRows(undefined, undefined, options), () => table.delete("true", {}, options)],
      ...[() => table.update({ values: { id: 1 }, signal }), () => table.indexStats("x", options)],
      () => table.mergeInsert("id", ORDERS, { whenMatchedUpdateAll: true, signal }),
      ...[() => table.addColumns({ name: "x", expression: "1" }, options)],
      ...[() => table.alterColumns({ path: "id", rename: "x" }, options)],
      ...[() => table.dropColumns("id", options), () => table.backfill("id", options)],
      ...[() => table.computedColumns(options), () => table.metadata(options)],
      ...[() => table.updateMetadata({}, options), () => table.updateFieldMetadata([], options)],
      ...[() => table.createIndex("id", options), () => table.indexes(options)],
      ...[() => table.dropIndex("x", options), () => table.listJobs(options)],
      ...[() => table.describeJob("x", options), () => table.waitForJob("x", options)],
      ...[() => table.cancelJob("x", options), () => table.versions(options)],
      ...[() => table.restore(1, options), () => table.branches(options)],
      ...[() => table.createBranch("x", 1, options), () => table.deleteBranch("x", options)],
      ...[() => table.tags(options), () => table.createTag("x", 1, options)],
      ...[() => table.updateTag("x", 1, options), () => table.deleteTag("x", options)],
      ...[() => table.optimize(options), () => table.cleanup(options)],
      ...[() => table.query().explain(options), () => table.query().analyze(options)],
    ];
    for (const call of calls) {
      await expect(
        Promise.resolve().then(() => call()),
        String(call),
      ).rejects.toMatchObject({ name: "AbortError" });
    }
    expect(await table.version()).toBe(1);
  });
});

describe("a query built step by step", () => {
  it("a query returns the rows of a scan with the same options, in every form", async () => {
    const query = table.query().where("price < $most", { most: 5 }).select(["id", "city"]).orderBy("price");
    const scan = table.scan({
      columns: ["id", "city"],
      filter: "price < 5",
      orderBy: [{ columnName: "price" }],
    });
    const rows = await scan.toArray();
    expect(rows.map(({ id }) => id)).toEqual([2, 3, 1]);
    expect(await query.toArray()).toEqual(rows);
    const oneByOne: unknown[] = [];
    for await (const row of query.rows()) oneByOne.push(row);
    expect(oneByOne).toEqual(rows);
    let count = 0;
    for await (const batch of query) count += batch.numRows;
    expect(count).toBe(3);
    expect((await query.toArrow()).numRows).toBe(3);
    expect(tableFromIPC(await query.toIPC()).numRows).toBe(3);
    expect(tableFromIPC(await new Response(query.toIPCStream()).bytes()).numRows).toBe(3);
    expect((await query.schema()).fields.map(({ name }) => name)).toEqual(["id", "city"]);
    expect(await query.limit(1).offset(1).toArray()).toEqual(rows.slice(1, 2));
    expect(await query.explain()).toMatch(/Sort/);
    expect(await query.analyze({ format: "json" })).toMatch(/"operator"/);
  });

  it("a step does not change the earlier query", async () => {
    const all = table.query();
    const some = all.where("price > 1");
    const fewer = some.where(col("city").eq("Oslo"));
    const counts = [all, some, fewer, fewer.limit(1)].map(async (query) => (await query.toArray()).length);
    expect(await Promise.all(counts)).toEqual([4, 3, 2, 1]);
  });

  it("a query combines all conditions, each with its parameters", async () => {
    const query = table
      .query()
      .where("price > $low -- a comment", { low: 1 })
      .where("id < $high", { high: 4 });
    expect((await query.toArray()).map(({ id }) => id)).toEqual([1, 3]);
    expect(() => query.where("price > $low", { low: 2 })).toThrow(InvalidInputError);
    const either = table.query().where("id = 1 OR id = 2").where("price = 1 OR price = 9");
    expect((await either.toArray()).map(({ id }) => id)).toEqual([2]);
  });

  it("a query sorts by several columns and reads the version of its handle", async ({ ns }) => {
    const sorted = table.query().orderBy("city", { columnName: "price", ascending: false });
    expect((await sorted.toArray()).map(({ id }) => id)).toEqual([4, 1, 2, 3]);
    await table.insert([{ id: 5, city: "Bonn", price: 4 }]);
    expect(await ns.table("sales$orders", { version: 1 }).query().toArray()).toHaveLength(4);
    const [first] = await table.query({ filter: "id = 5" }).withRowId().toArray();
    expect(first._rowid).toBeTypeOf("bigint");
  });
});
