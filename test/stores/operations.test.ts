/** Operations of a namespace in a bucket, on each server. */

import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { STORES, Store } from "./support/stores.js";

describe.each(STORES)("a namespace in a bucket of %s", (name) => {
  let store: Store;
  beforeAll(async () => {
    store = await Store.start(name);
  });
  afterAll(() => store?.[Symbol.asyncDispose]());

  const open = (prefix: string) => new DirectoryNamespace({ root: "/", disk: store.disk(prefix) });

  it("creates, changes, reads and drops tables", async () => {
    await using ns = open("rows");
    const trees = ns.table("trees");
    await ns.createTable({ id: ["trees"] }, [
      { id: 1, name: "ash" },
      { id: 2, name: "elm" },
    ]);
    await trees.insert([{ id: 3, name: "oak" }]);
    await trees.update({ where: "id = 3", values: { name: "holm oak" } });
    await trees.delete("id = 1");
    await trees.mergeInsert(
      "id",
      [
        { id: 2, name: "wych elm" },
        { id: 4, name: "fir" },
      ],
      {
        whenMatchedUpdateAll: true,
        whenNotMatchedInsertAll: true,
      },
    );
    expect(await trees.scan({ orderBy: "id" } as never).toArray()).toEqual([
      { id: 2, name: "wych elm" },
      { id: 3, name: "holm oak" },
      { id: 4, name: "fir" },
    ]);
    expect((await ns.listTables()).tables).toEqual(["trees"]);
    expect(await ns.describeTable({ id: ["trees"] })).toMatchObject({
      location: "s3://tables/rows/trees.lance",
      tableUri: "s3://tables/rows/trees.lance",
    });
    await ns.dropTable({ id: ["trees"] });
    expect((await ns.listTables()).tables).toEqual([]);
    // A listing of SeaweedFS shows empty directories for a while.
    expect(await store.disk("rows").stat?.("/trees.lance")).toBeNull();
  });

  it("keeps versions, tags and branches, and cleans up", async () => {
    await using ns = open("versions");
    const table = ns.table("t");
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    await table.insert([{ id: 2 }]);
    await ns.createTableTag({ id: ["t"], tag: "second", version: 2 });
    await table.insert([{ id: 3 }]);
    await ns.updateTableTag({ id: ["t"], tag: "second", version: 3 });
    expect(await ns.countTableRows({ id: ["t"], tag: "second" } as never)).toBe(3);
    await table.restore(1);
    expect(await table.scan().toArray()).toEqual([{ id: 1 }]);
    await ns.createTableBranch({ id: ["t"], name: "side" });
    await ns.insertIntoTable({ id: ["t"], branch: "side" }, [{ id: 9 }]);
    expect(await ns.countTableRows({ id: ["t"], branch: "side" })).toBe(2);
    await ns.deleteTableBranch({ id: ["t"], name: "side" });
    await ns.cleanupTable({ id: ["t"], olderThanMs: 0 });
    const { versions } = await ns.listTableVersions({ id: ["t"] });
    expect(versions.map(({ version }) => version)).toEqual([3, 4]);
    await ns.deleteTableTag({ id: ["t"], tag: "second" });
  });

  it("builds indexes, searches by them, changes columns, and compacts", async () => {
    await using ns = open("indexes");
    const table = ns.table("t");
    const rows = Array.from({ length: 600 }, (_, id) => ({
      id,
      text: id % 7 === 0 ? "an old oak" : "a young ash",
      vector: [id / 600, 1 - id / 600],
    }));
    await ns.createTable({ id: ["t"] }, rows.slice(0, 300));
    await table.insert(rows.slice(300));
    await table.waitForJob(await table.createIndex("id"));
    await table.waitForJob(await table.createIndex("text", { indexType: "FTS" }));
    expect(await table.scan({ filter: "id = 421" }).toArray()).toHaveLength(1);
    expect((await ns.listTableIndices({ id: ["t"] })).indexes).toHaveLength(2);
    await table.addColumns([{ name: "twice", expression: "id * 2" }]);
    expect(await table.scan({ columns: ["twice"], filter: "id = 5" }).toArray()).toEqual([{ twice: 10 }]);
    await table.optimize();
    expect(await table.countRows("text LIKE '%oak%'")).toBe(86);
  });

  it("holds child namespaces, whose tables can be renamed", async () => {
    await using ns = open("children");
    await ns.createNamespace({ id: ["n"] });
    await ns.createTable({ id: ["n", "t"] }, [{ id: 1 }]);
    await ns.renameTable({ id: ["n", "t"], newTableName: "u" });
    expect(await ns.countTableRows({ id: ["n", "u"] })).toBe(1);
    expect((await ns.listAllTables()).tables).toEqual(["n$u"]);
    await ns.declareTable({ id: ["n", "declared"] });
    await ns.dropNamespace({ id: ["n"], behavior: "Cascade" });
    expect((await ns.listAllTables()).tables).toEqual([]);
  });

  it("refuses by name what needs a rename, and changes nothing", async () => {
    await using ns = open("refusals");
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    const before = await store.disk("refusals").list("/");
    await expect(ns.renameTable({ id: ["t"], newTableName: "u" })).rejects.toMatchObject({
      name: "MissingVerbError",
      verb: "rename",
      status: 406,
    });
    await expect(
      ns.batchCommitTables({
        operations: [{ declareTable: { id: ["x"] } }, { declareTable: { id: ["y"] } }],
      }),
    ).rejects.toMatchObject({ verb: "rename" });
    expect(await store.disk("refusals").list("/")).toEqual(before);
    expect((await ns.listTables()).tables).toEqual(["t"]);
  });
});
