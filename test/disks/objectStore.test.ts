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
});
