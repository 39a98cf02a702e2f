/** Empties directories that cannot be moved, while others recreate the same table or branch. */

import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { describe, expect, it } from "../support/fixtures.js";
import { CopyingUpDisk, ImmovableDisk } from "../support/immovableDisk.js";
import { rowsOf } from "../support/intRows.js";
import { type Pause, runPaused } from "../support/pausedEngine.js";
import { makeTempDir } from "../support/tempDir.js";

const pauseAt = (when: Pause["when"], verb: Pause["verb"], path: RegExp): Pause => ({ when, verb, path });

/** Tolerates that a table or branch does not exist any more. */
const unlessGone = async (call: Promise<unknown>): Promise<void> => {
  await call.catch((error: unknown) => {
    if (!(error instanceof NamespaceError) || !error.type.endsWith("NotFound")) throw error;
  });
};

const DROP_PAUSES: [name: string, pause: Pause][] = [
  ["before the record", pauseAt("before", "create", /dropped-/)],
  ["before the table is hidden", pauseAt("before", "link", /deregistered$/)],
  ["right after", pauseAt("after", "link", /deregistered$/)],
  ["before the first version goes", pauseAt("before", "rename", /_versions.\S*manifest \S*tiltyard.lock/)],
  [
    "before the hint goes",
    pauseAt("before", "rename", /_versions.latest_version_hint.json \S*tiltyard.lock/),
  ],
  ["before the tag goes", pauseAt("before", "rename", /_refs.tags.\S* \S*tiltyard.lock/)],
  ["before a data file goes", pauseAt("before", "remove", /r\.lance.data.[^ ]*lance$/)],
  ["before a directory is listed", pauseAt("before", "list", /r\.lance.data$/)],
  ["before a directory goes", pauseAt("before", "removeEmptyDirectory", /r\.lance._versions$/)],
  ["before the marker goes", pauseAt("before", "rename", /deregistered \S*tiltyard.lock/)],
  ["right after that", pauseAt("after", "rename", /deregistered \S*tiltyard.lock/)],
  ["before the table's directory goes", pauseAt("before", "removeEmptyDirectory", /r\.lance$/)],
];

describe.concurrent.each(DROP_PAUSES)("a process that drops a table is suspended %s", (_name, pause) => {
  it("and removes nothing of the table that is made there meanwhile", async ({ root }) => {
    const id = ["r"];
    await using ns = new DirectoryNamespace({ root, disk: new ImmovableDisk(), lock: { staleMs: 2000 } });
    await ns.createTable({ id }, rowsOf(1));
    await ns.insertIntoTable({ id }, rowsOf(2));
    await ns.createTableTag({ id, tag: "t", version: 1 });
    const meanwhile = async () => {
      await unlessGone(ns.dropTable({ id }));
      await ns.createTable({ id }, rowsOf(7, 8, 9));
      await ns.insertIntoTable({ id }, rowsOf(10));
      await ns.createTableTag({ id, tag: "t", version: 2 });
    };
    await runPaused({ root }, ["dropTable", { id }], pause, meanwhile, { immovable: true });
    expect(await ns.countTableRows({ id })).toBe(4);
    expect((await ns.listTableTags({ id })).tags).toMatchObject({ t: { version: 2 } });
    expect((await ns.listTableVersions({ id })).versions).toHaveLength(2);
    await ns.insertIntoTable({ id }, rowsOf(11));
    await using fresh = new DirectoryNamespace({ root });
    expect(await fresh.countTableRows({ id })).toBe(5);
  });
});

const BRANCH_PAUSES: [name: string, pause: Pause][] = [
  ["before the first version goes", pauseAt("before", "rename", /tree.b\S*manifest \S*tiltyard.lock/)],
  ["before the hint goes", pauseAt("before", "rename", /tree.b\S*hint.json \S*tiltyard.lock/)],
  ["before a data file goes", pauseAt("before", "remove", /tree.b.data.[^ ]*lance$/)],
  ["before a directory goes", pauseAt("before", "removeEmptyDirectory", /tree.b._versions$/)],
];

describe.concurrent.each(BRANCH_PAUSES)("a process that deletes a branch is suspended %s", (_name, pause) => {
  it("and removes nothing of the branch that is made there meanwhile", async ({ root }) => {
    const id = ["r"];
    await using ns = new DirectoryNamespace({ root, disk: new ImmovableDisk(), lock: { staleMs: 2000 } });
    await ns.createTable({ id }, rowsOf(1));
    await ns.createTableBranch({ id, name: "b" });
    await ns.insertIntoTable({ id, branch: "b" }, rowsOf(2));
    const meanwhile = async () => {
      await unlessGone(ns.deleteTableBranch({ id, name: "b" }));
      await ns.createTableBranch({ id, name: "b" });
      await ns.insertIntoTable({ id, branch: "b" }, rowsOf(7, 8, 9));
    };
    await runPaused({ root }, ["deleteTableBranch", { id, name: "b" }], pause, meanwhile, {
      immovable: true,
    });
    await using fresh = new DirectoryNamespace({ root });
    expect(await fresh.countTableRows({ id, branch: "b" })).toBe(4);
    await fresh.insertIntoTable({ id, branch: "b" }, rowsOf(10));
    expect(await ns.countTableRows({ id, branch: "b" })).toBe(5);
  });
});

describe("a record that was considered stale before its directory was hidden", () => {
  it("is written again, so that the directory is swept", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root, disk: new ImmovableDisk(), lock: { staleMs: 2000 } });
    for (const name of ["r", "e"]) await ns.createTable({ id: [name] }, rowsOf(1));
    const disk = new ImmovableDisk();
    const link = disk.link.bind(disk);
    disk.link = async (from, to) => {
      if (to.endsWith("deregistered")) {
        for (const name of await recordsIn(root)) await utimes(join(root, name), 1, 1);
        await ns.dropTable({ id: ["e"] });
        expect(await recordsIn(root)).toEqual([]);
      }
      return link(from, to);
    };
    // The sweep after the drop fails.
    disk.removeEmptyDirectory = async () => {
      throw Object.assign(new Error("EIO"), { code: "EIO" });
    };
    await using slow = new DirectoryNamespace({ root, disk });
    // A child namespace's table is hidden without the catalog's lock, which the other drop takes in between.
    await ns.createNamespace({ id: ["n"] });
    await ns.createTable({ id: ["n", "t"] }, rowsOf(1));
    await slow.dropTable({ id: ["n", "t"] });
    expect(await recordsIn(root)).toHaveLength(1);
    await ns.dropTable({ id: ["r"] });
    expect((await readdir(root)).filter((name) => name !== "__manifest")).toEqual([]);
  });
});

describe("a directory that gets a new file while it is emptied", () => {
  it.each([
    false,
    true,
  ])("stays hidden, and a later sweep removes it by its stale record: %s", async (isStale) => {
    const root = await makeTempDir();
    const disk = new ImmovableDisk();
    const removeEmptyDirectory = disk.removeEmptyDirectory.bind(disk);
    let count = 0;
    disk.removeEmptyDirectory = async (path) => {
      if (path.endsWith("data")) await writeFile(join(path, `late-${count++}`), "");
      return removeEmptyDirectory(path);
    };
    await using ns = new DirectoryNamespace({ root, disk, lock: { staleMs: 2000 } });
    for (const name of ["r", "e", "f"]) await ns.createTable({ id: [name] }, rowsOf(1));
    await ns.dropTable({ id: ["r"] });
    if (isStale) for (const name of await recordsIn(root)) await utimes(join(root, name), 1, 1);
    await ns.cleanupTable({ id: ["e"] });
    expect(count).toBe(2);
    expect(await recordsIn(root)).toHaveLength(1);
    await expect(ns.tableExists({ id: ["r"] })).rejects.toThrow("not exist");
    disk.removeEmptyDirectory = removeEmptyDirectory;
    await ns.dropTable({ id: ["f"] });
    expect((await readdir(root)).sort()).toEqual(["__manifest", "e.lance"]);
  });
});

const recordsIn = async (root: string): Promise<string[]> =>
  (await readdir(root)).filter((name) => name.startsWith(".tiltyard-dropped-"));

describe("an undone batch", () => {
  it("removes the tables that it declared", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root, disk: new ImmovableDisk(), lock: { staleMs: 2000 } });
    await ns.createNamespace({ id: ["n"] });
    await ns.createTable({ id: ["a"] }, rowsOf(1));
    const disk = new ImmovableDisk();
    const link = disk.link.bind(disk);
    // Another writer declares the last table before the batch does.
    disk.link = async (from, to) => {
      if (to.includes("last.lance") && to.endsWith("reserved")) {
        await writeFile(to, "another's");
      }
      return link(from, to);
    };
    await using batch = new DirectoryNamespace({ root, disk, lock: { staleMs: 2000 } });
    const operations = [["x"], ["n", "y"], ["last"]].map((id) => ({ declareTable: { id } }));
    await expect(batch.batchCommitTables({ operations })).rejects.toBeInstanceOf(NamespaceError);
    for (const id of [["x"], ["n", "y"]]) await expect(ns.tableExists({ id })).rejects.toThrow("not exist");
    const left = await readdir(root);
    expect(left.filter((name) => /^x\.|_n\$y$|dropped/.test(name))).toEqual([]);
  });
});

describe("directories whose birth times change", () => {
  const prepared = async () => {
    const root = await makeTempDir();
    await using ns = new DirectoryNamespace({ root, durability: "none" });
    await ns.createNamespace({ id: ["n"] });
    for (const id of [["r"], ["n", "r"]]) await ns.createTable({ id }, rowsOf(1));
    for (const id of [["d"], ["n", "d"]]) await ns.declareTable({ id });
    return root;
  };
  const open = (root: string, immovable: boolean) =>
    new DirectoryNamespace({ root, disk: new CopyingUpDisk({ immovable }) });
  const ids = [["r"], ["d"], ["n", "r"], ["n", "d"]];

  it.each(
    ids.flatMap((id) => [
      { id, immovable: true },
      { id, immovable: false },
    ]),
  )("$id is dropped, immovable: $immovable", async ({ id, immovable }) => {
    const root = await prepared();
    const { length } = await readdir(root);
    await using ns = open(root, immovable);
    await ns.dropTable({ id });
    await expect(ns.tableExists({ id })).rejects.toThrow("not exist");
    expect(await readdir(root)).toHaveLength(length - 1);
  });

  it.each([[["d"]], [["n", "d"]]])("%j accepts rows", async (id) => {
    const root = await prepared();
    await using ns = open(root, true);
    await ns.insertIntoTable({ id }, rowsOf(1, 2));
    expect(await ns.countTableRows({ id })).toBe(2);
  });

  it.each([[["r"]], [["d"]], [["n", "r"]]])("%j gets another id", async (id) => {
    const root = await prepared();
    await using ns = open(root, false);
    const to = id.length === 1 ? ["n"] : [];
    await ns.renameTable({ id, newTableName: "other", newNamespaceId: to });
    await ns.tableExists({ id: [...to, "other"] });
    await expect(ns.tableExists({ id })).rejects.toThrow("not exist");
  });
});
