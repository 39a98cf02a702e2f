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
    expect(await store.disk("rows").list("/trees.lance")).toBeNull();
  });
});
