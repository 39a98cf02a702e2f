/** Runs on a file system that is mounted read-only: reads work, and writes report the reason. */

import { DirectoryNamespace, type Disk, NamespaceError } from "tiltyard";
import { expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { errorOf } from "../support/outcomes.js";
import { makeTempDir } from "../support/tempDir.js";

const WRITING = [
  ...["create", "link", "rename", "remove", "removeTree", "removeEmptyDirectory", "makeDirectory"],
  ...["syncFile", "syncDirectory"],
] as const;

/** Makes every changing call of a disk fail like a read-only mount. */
function readOnly(disk: Disk): Disk {
  const tried: Record<string, unknown> = {};
  for (const verb of WRITING) {
    tried[verb] = async (path: string) => {
      throw Object.assign(new Error(`EROFS: read-only file system, ${verb} '${path}'`), { code: "EROFS" });
    };
  }
  return new Proxy(disk, {
    get(target, name) {
      if (typeof name === "string" && Object.hasOwn(tried, name)) return tried[name];
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function openReadOnly(): Promise<DirectoryNamespace> {
  const root = await makeTempDir();
  await using writer = new DirectoryNamespace({ root, durability: "none" });
  await writer.createNamespace({ id: ["inner"] });
  for (const id of [["t"], ["inner", "t"]]) {
    const rows = Array.from({ length: 500 }, (_, n) => ({ n, text: `row ${n}` }));
    await writer.createTable({ id }, rows);
    const { jobId } = await writer.createTableIndex({ id, column: "n", indexType: "BTREE" });
    await writer.waitForJob({ jobId });
    await writer.deleteFromTable({ id, predicate: "n = 7" });
    await writer.createTableTag({ id, tag: "first", version: 1 });
    await writer.createTableBranch({ id, name: "side" });
  }
  return new DirectoryNamespace({ root, disk: readOnly(new NodeDisk({ durability: "none" })) });
}

it("all reads succeed", async () => {
  await using ns = await openReadOnly();
  expect((await ns.listNamespaces({})).namespaces).toEqual(["inner"]);
  for (const id of [["t"], ["inner", "t"]]) {
    expect(await ns.countTableRows({ id })).toBe(499);
    expect(await ns.countTableRows({ id, predicate: "n < 10" })).toBe(9);
    expect(await ns.countTableRows({ id, version: 1 })).toBe(500);
    expect(await ns.countTableRows({ id, tag: "first" })).toBe(500);
    expect(await ns.countTableRows({ id, branch: "side" })).toBe(499);
    const last = await ns
      .table(id)
      .scan({ orderBy: [{ columnName: "n", ascending: false }], limit: 1 })
      .toArray();
    expect(last).toEqual([{ n: 499, text: "row 499" }]);
    expect((await ns.table(id).indexes()).map(({ indexName }) => indexName)).toEqual(["n_idx"]);
    expect((await ns.describeTable({ id })).version).toBe(3);
    expect((await ns.getTableStats({ id })).numRows).toBe(499);
    expect((await ns.table(id).versions()).length).toBe(3);
  }
  expect((await ns.listAllTables({})).tables).toEqual(["inner$t", "t"]);
  expect((await ns.listJobs({})).jobs.length).toBe(2);
});

it("all writes fail with a typed error, and change nothing", async () => {
  await using ns = await openReadOnly();
  const id = ["t"];
  const writes = [
    () => ns.insertIntoTable({ id }, [{ n: 1, text: "x" }]),
    () => ns.createTable({ id: ["u"] }, [{ n: 1 }]),
    () => ns.declareTable({ id: ["u"] }),
    () => ns.deleteFromTable({ id, predicate: "n = 1" }),
    () => ns.createTableTag({ id, tag: "second", version: 1 }),
    () => ns.createNamespace({ id: ["other"] }),
    () => ns.dropTable({ id }),
  ];
  for (const write of writes) {
    const error = (await errorOf(write())) as NamespaceError & { cause: Error };
    expect(error).toBeInstanceOf(NamespaceError);
    expect(`${error.message} ${error.cause?.message}`).toContain("EROFS");
  }
  expect(await ns.countTableRows({ id })).toBe(499);
});
