/**
 * Replaces tables of a batch between its decision and its execution: the batch must not change new tables.
 */

import { existsSync, readdirSync } from "node:fs";
import { cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConcurrentModificationError, DirectoryNamespace } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { manifestName } from "../../src/table/versions/paths.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { ipcOf, rowsOf } from "../support/intRows.js";
import { dieBehindDecision, refusingDisk } from "../support/leftBatches.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

const disk = new NodeDisk({ durability: "none" });
const open = (otherDisk?: Disk) =>
  new DirectoryNamespace({ root, durability: "none", ...(otherDisk && { disk: otherDisk }) });

/** Root tables `a` (versions 1 to 4) and `b`, `n.c`, and the declared `n.d`. */
let root: string;
let a: string;
let b: string;

beforeEach(async () => {
  root = await makeTempDir();
  a = join(root, "a.lance");
  b = join(root, "b.lance");
  await using ns = open();
  await ns.createNamespace({ id: ["n"] });
  await ns.createTable({ id: ["a"] }, rowsOf(1));
  for (const value of [2, 3, 4]) await ns.insertIntoTable({ id: ["a"] }, rowsOf(value));
  await ns.createTable({ id: ["b"] }, rowsOf(1));
  await ns.createTable({ id: ["n", "c"] }, rowsOf(1));
});

const isUnfinished = () => existsSync(join(root, ".tiltyard-batches"));
const versionsOf = async (ns: DirectoryNamespace, id: string[], branch?: string): Promise<number[]> =>
  (await ns.listTableVersions({ id, branch })).versions.map(({ version }) => version);

const valuesOf = async (ns: DirectoryNamespace, id: string[]): Promise<number[]> =>
  Array.from((await ns.table(id).scan().toArrow()).getChild("v") ?? [], Number);

/** Drops and recreates the table with as many versions. */
async function remakeA(): Promise<void> {
  await reference.dropTable(root, "a");
  await reference.createTable(root, "a", ipcOf(10));
  for (const value of [20, 30, 40]) await reference.appendTable(root, "a", ipcOf(value));
}

/** Version 5 of `a` and version 2 of `b`, with the previous rows twice. */
const entries = async () => [
  { id: ["a"], version: 5, manifestPath: await stageDoubled(a, 5) },
  { id: ["b"], version: 2, manifestPath: await stageDoubled(b, 2) },
];

describe("a decided version", () => {
  it("is not published into a recreated table, nor are the batch's other versions", async () => {
    const parts = await entries();
    await dieBehindDecision({ root }, (ns) => ns.batchCreateTableVersions({ entries: parts }));
    await remakeA();
    await using ns = open();
    expect(await versionsOf(ns, ["a"])).toEqual([1, 2, 3, 4]);
    expect(await versionsOf(ns, ["b"])).toEqual([1]);
    expect(isUnfinished()).toBe(false);
    expect(await valuesOf(ns, ["a"])).toEqual([10, 20, 30, 40]);
    expect(await ns.insertIntoTable({ id: ["a"] }, rowsOf(50))).toMatchObject({ version: 5 });
    expect(await reference.countRows(root, "a")).toBe(5);
  });

  it("is not published into a table that is recreated during the publication", async () => {
    const parts = await entries();
    const raced = interruptedDisk(
      disk,
      (verb, path) => verb === "link" && path.startsWith(b),
      async () => {
        await rm(a, { recursive: true });
        await reference.createTable(root, "a", ipcOf(10));
      },
    );
    // The version of `b` is published first, and then taken back.
    await using ns = open(raced);
    const outcome = ns.batchCreateTableVersions({ entries: [parts[1], parts[0]] });
    await expect(outcome).rejects.toBeInstanceOf(ConcurrentModificationError);
    // The table's lock vanished with its directory, as if it had been taken over.
    await expect(outcome).rejects.toThrow(/undid it/);
    expect(raced.interrupted).toBe(true);
    expect(await versionsOf(ns, ["a"])).toEqual([1]);
    expect(await versionsOf(ns, ["b"])).toEqual([1]);
    expect(await ns.countTableRows({ id: ["a"] })).toBe(1);
  });

  it("is removed again if the table is recreated at that very moment", async () => {
    const parts = await entries();
    const raced = interruptedDisk(
      disk,
      (verb, path) => verb === "link" && path.startsWith(join(a, "_versions")),
      async () => {
        // The temporary file moves as well, as it would during the link.
        const [temporary] = readdirSync(join(a, "_versions")).filter((name) => name.startsWith(".tmp-"));
        const bytes = await readFile(join(a, "_versions", temporary));
        await rm(a, { recursive: true });
        await reference.createTable(root, "a", ipcOf(10));
        await writeFile(join(a, "_versions", temporary), bytes);
      },
    );
    await using ns = open(raced);
    const outcome = ns.batchCreateTableVersions({ entries: parts });
    await expect(outcome).rejects.toBeInstanceOf(ConcurrentModificationError);
    expect(raced.interrupted).toBe(true);
    expect(await versionsOf(ns, ["a"])).toEqual([1]);
    expect(await versionsOf(ns, ["b"])).toEqual([1]);
    expect(await valuesOf(ns, ["a"])).toEqual([10]);
  });

  it("is not published into a recreated branch", async () => {
    const setUp = open();
    await setUp.createTableBranch({ id: ["a"], name: "dev" });
    await setUp.insertIntoTable({ id: ["a"], branch: "dev" }, rowsOf(5));
    await setUp.close();
    const branch = join(a, "tree", "dev");
    const parts = [
      { id: ["a"], branch: "dev", version: 6, manifestPath: await stageDoubled(branch, 6) },
      (await entries())[1],
    ];
    await dieBehindDecision({ root }, (ns) => ns.batchCreateTableVersions({ entries: parts }));
    await reference.deleteBranch(root, "a", "dev");
    await reference.createBranch(root, "a", "dev");
    await reference.appendTable(root, "a", ipcOf(50), { branch: "dev" });
    await using ns = open();
    expect(await versionsOf(ns, ["a"], "dev")).toEqual([4, 5]);
    expect(await versionsOf(ns, ["b"])).toEqual([1]);
    expect(isUnfinished()).toBe(false);
    expect(await reference.countRows(root, "a", undefined, { branch: "dev" })).toBe(5);
  });

  it("is not published over an older state that a directory was restored to", async () => {
    const kept = join(await makeTempDir(), "a");
    await cp(a, kept, { recursive: true });
    const setUp = open();
    await setUp.insertIntoTable({ id: ["a"] }, rowsOf(5));
    await setUp.close();
    const parts = [{ id: ["a"], version: 6, manifestPath: await stageDoubled(a, 6) }, (await entries())[1]];
    await dieBehindDecision({ root }, (ns) => ns.batchCreateTableVersions({ entries: parts }));
    // The directory itself stays.
    for (const name of readdirSync(a)) await rm(join(a, name), { recursive: true });
    for (const name of readdirSync(kept)) await rename(join(kept, name), join(a, name));
    await using ns = open();
    expect(await versionsOf(ns, ["a"])).toEqual([1, 2, 3, 4]);
    expect(await versionsOf(ns, ["b"])).toEqual([1]);
    expect(await reference.countRows(root, "a")).toBe(4);
  });

  it("is published in a copy of the whole namespace", async () => {
    const parts = await entries();
    await dieBehindDecision({ root }, (ns) => ns.batchCreateTableVersions({ entries: parts }));
    const copy = join(await makeTempDir(), "copy");
    await cp(root, copy, { recursive: true });
    await using ns = new DirectoryNamespace({ root: copy, durability: "none" });
    expect(await versionsOf(ns, ["a"])).toEqual([1, 2, 3, 4, 5]);
    expect(await versionsOf(ns, ["b"])).toEqual([1, 2]);
    expect(await reference.countRows(copy, "a")).toBe(8);
  });

  it("is published after the version that it was planned on was cleaned up", async () => {
    const parts = await entries();
    await dieBehindDecision({ root }, (ns) => ns.batchCreateTableVersions({ entries: parts }));
    // The batch was done, and the process died before it removed the journal.
    const [directory] = readdirSync(join(root, ".tiltyard-batches"));
    const kept = join(root, ".tiltyard-batches", directory, "journal.json");
    const journal = await readFile(kept);
    const manifests = await readFile(join(kept, "..", "0.manifest"));
    const others = await readFile(join(kept, "..", "1.manifest"));
    const first = open();
    expect(await versionsOf(first, ["a"])).toEqual([1, 2, 3, 4, 5]);
    await first.close();
    await rm(join(root, ".tiltyard-ended-batches"), { recursive: true });
    await mkdir(join(kept, ".."), { recursive: true });
    await writeFile(join(kept, "..", "0.manifest"), manifests);
    await writeFile(join(kept, "..", "1.manifest"), others);
    await writeFile(kept, journal);
    // Another engine's cleanup, which ignores the lock, leaves the table like this.
    await rm(join(a, "_versions", manifestName(4, "V2")));
    await using ns = open();
    expect(await versionsOf(ns, ["a"])).toEqual([1, 2, 3, 5]);
    expect(await versionsOf(ns, ["b"])).toEqual([1, 2]);
    expect(isUnfinished()).toBe(false);
    expect(await ns.countTableRows({ id: ["a"] })).toBe(8);
  });
});

describe("a decided removal", () => {
  it("spares the versions of a recreated table", async () => {
    const ranges = [{ startVersion: 1, endVersion: 4 }];
    await dieBehindDecision({ root }, (ns) => ns.batchDeleteTableVersions({ id: ["a"], ranges }));
    await remakeA();
    await using ns = open();
    expect(await versionsOf(ns, ["a"])).toEqual([1, 2, 3, 4]);
    expect(isUnfinished()).toBe(false);
  });

  it("spares the versions of a recreated branch", async () => {
    const setUp = open();
    await setUp.createTableBranch({ id: ["a"], name: "dev" });
    for (const value of [5, 6]) await setUp.insertIntoTable({ id: ["a"], branch: "dev" }, rowsOf(value));
    await setUp.close();
    const ranges = [{ startVersion: 1, endVersion: 6 }];
    await dieBehindDecision({ root }, (ns) =>
      ns.batchDeleteTableVersions({ id: ["a"], branch: "dev", ranges }),
    );
    await reference.deleteBranch(root, "a", "dev");
    await reference.createBranch(root, "a", "dev");
    for (const value of [50, 60]) await reference.appendTable(root, "a", ipcOf(value), { branch: "dev" });
    await using ns = open();
    expect(await versionsOf(ns, ["a"], "dev")).toEqual([4, 5, 6]);
    expect(isUnfinished()).toBe(false);
  });

  it("spares the id of a recreated table", async () => {
    await dieBehindDecision({ root }, (ns) =>
      ns.batchCommitTables({
        operations: [{ deregisterTable: { id: ["a"] } }, { deregisterTable: { id: ["n", "c"] } }],
      }),
    );
    await remakeA();
    await reference.catalogStep(root, "dropTable", ["n", "c"]);
    await reference.catalogStep(root, "createTable", ["n", "c"], [{ v: 7 }]);
    await using ns = open();
    expect(await ns.countTableRows({ id: ["a"] })).toBe(4);
    expect(await ns.countTableRows({ id: ["n", "c"] })).toBe(1);
    expect(isUnfinished()).toBe(false);
  });
});

describe("a decided declaration", () => {
  const operations = [{ declareTable: { id: ["x"] } }, { declareTable: { id: ["n", "y"] } }];

  it("declares nothing if another writer has made a table of that name since", async () => {
    await dieBehindDecision({ root }, (ns) => ns.batchCommitTables({ operations }));
    await reference.createTable(root, "x", ipcOf(1, 2));
    const before = await directorySnapshot(join(root, "x.lance"));
    await using ns = open();
    expect(await ns.countTableRows({ id: ["x"] })).toBe(2);
    expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["c"]);
    expect(isUnfinished()).toBe(false);
    expect(await directorySnapshot(join(root, "x.lance"))).toEqual(before);
  });

  it("declares nothing if the reference has declared a table of that name since", async () => {
    await dieBehindDecision({ root }, (ns) => ns.batchCommitTables({ operations }));
    await mkdir(join(root, "x.lance"));
    await writeFile(join(root, "x.lance", ".lance-reserved"), "reserved");
    await using ns = open();
    expect((await ns.describeTable({ id: ["x"] })).isOnlyDeclared).toBe(true);
    expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["c"]);
    expect(readdirSync(join(root, "x.lance"))).toEqual([".lance-reserved"]);
  });

  it("leaves a recreated table when it is undone", async () => {
    // Both tables are declared. Then the process dies while it changes `b`.
    const parts = [...operations, { createTableVersion: (await entries())[1] }];
    let isDead = false;
    const dying = refusingDisk(disk, (verb, [, path = ""]) => {
      isDead ||= verb === "link" && path.startsWith(join(b, "_versions"));
      return isDead ? "EIO" : undefined;
    });
    const dead = open(dying);
    await expect(dead.batchCommitTables({ operations: parts })).rejects.toThrow(/is decided/);
    await dead.close();
    expect(readdirSync(join(root, "x.lance")).sort()).toEqual([".lance-reserved", ".ns-reserved"]);
    await rm(join(root, "x.lance"), { recursive: true });
    await mkdir(join(root, "x.lance"));
    await writeFile(join(root, "x.lance", ".ns-reserved"), "reserved");
    await using ns = open();
    // Nothing of `y`, which the batch declared, remains.
    await expect(ns.tableExists({ id: ["n", "y"] })).rejects.toThrow(/does not exist/);
    expect((await ns.describeTable({ id: ["x"] })).isOnlyDeclared).toBe(true);
    expect(await versionsOf(ns, ["b"])).toEqual([1]);
    expect(readdirSync(root).filter((name) => name.endsWith("_n$y"))).toEqual([]);
  });

  it("is also visible to the reference, wherever a process died in between", async () => {
    for (const failing of [".ns-reserved", ".lance-reserved"]) {
      const name = failing.slice(1, 3);
      let isDead = false;
      const dying = refusingDisk(disk, (verb, [, path = ""]) => {
        isDead ||= verb === "link" && path.endsWith(failing);
        return isDead ? "EIO" : undefined;
      });
      const dead = open(dying);
      const declared = [{ declareTable: { id: [name] } }];
      await expect(dead.batchCommitTables({ operations: declared })).rejects.toThrow(/is decided/);
      await dead.close();
      await using ns = open();
      expect((await ns.describeTable({ id: [name] })).isOnlyDeclared).toBe(true);
      const markers = readdirSync(join(root, `${name}.lance`)).filter((each) => !each.startsWith(".tmp-"));
      expect(markers.sort()).toEqual([".lance-reserved", ".ns-reserved"]);
      await ns.insertIntoTable({ id: [name] }, rowsOf(1));
      expect(await reference.countRows(root, name)).toBe(1);
    }
  });
});
