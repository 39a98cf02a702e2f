/** Namespaces on a disk without directories, renames, links and inodes. */

import { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "../support/fixtures.js";
import { objectStore } from "../support/objectStore.js";

const open = (disk = objectStore()) => ({ disk, ns: new DirectoryNamespace({ root: "/data", disk }) });

describe("a namespace on an object store", () => {
  it("creates, appends to, updates, deletes from and reads a table", async () => {
    const { ns } = open();
    const table = ns.table("t");
    await ns.createTable({ id: ["t"] }, [
      { id: 1, name: "one" },
      { id: 2, name: "two" },
    ]);
    await table.insert([{ id: 3, name: "three" }]);
    await table.delete("id = 1");
    await table.update({ where: "id = 3", values: { name: "drei" } });
    expect(await table.scan().toArray()).toEqual([
      { id: 2, name: "two" },
      { id: 3, name: "drei" },
    ]);
    expect((await ns.listTables({ id: [] })).tables).toEqual(["t"]);
    await ns.close();
  });

  it("commits once if the store denies that it stored a manifest", async () => {
    const store = objectStore();
    let denied = 0;
    const { ns } = open({
      ...store,
      async putIfAbsent(path, chunks) {
        const stored = (await store.putIfAbsent?.(path, chunks)) ?? false;
        if (!path.endsWith(".manifest")) return stored;
        denied++;
        return false;
      },
    });
    await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
    await Promise.all([2, 3, 4].map((id) => ns.insertIntoTable({ id: ["t"] }, [{ id }])));
    await ns.deleteFromTable({ id: ["t"], predicate: "id = 1" });
    await ns.close();
    expect(denied).toBeGreaterThan(3);
    const honest = open(store).ns;
    expect(await honest.table("t").scan({ orderBy: "id" }).toArray()).toEqual([
      { id: 2 },
      { id: 3 },
      { id: 4 },
    ]);
    const { isSound } = await honest.verifyTable({ id: ["t"] });
    expect(isSound).toBe(true);
    await honest.close();
  });
});
