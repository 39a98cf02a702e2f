/**
 * Suspends a process in the middle of a batch until another has finished it. When the process wakes, it does
 * nothing more, and reports the batch's outcome.
 */

import { existsSync, readdirSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import { rowsOf } from "../support/intRows.js";
import { type Pause, runPaused } from "../support/pausedEngine.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

const open = (root: string) => new DirectoryNamespace({ root, durability: "none" });
const versionsOf = async (ns: DirectoryNamespace, name: string): Promise<number[]> =>
  (await ns.listTableVersions({ id: [name] })).versions.map(({ version }) => version);

/** Makes root tables `a`, `b` and `c` at version 1, `d` with versions 1 to 3, and `n.e`. */
async function prepare() {
  const root = await makeTempDir();
  const ns = open(root);
  await ns.createNamespace({ id: ["n"] });
  for (const name of ["a", "b", "c", "d"]) await ns.createTable({ id: [name] }, rowsOf(1));
  for (const value of [2, 3]) await ns.insertIntoTable({ id: ["d"] }, rowsOf(value));
  await ns.createTable({ id: ["n", "e"] }, rowsOf(1));
  await ns.close();
  const entryOf = async (name: string) => ({
    id: [name],
    version: 2,
    manifestPath: await stageDoubled(join(root, `${name}.lance`), 2),
  });
  const operations = [
    { declareTable: { id: ["x"] } },
    { declareTable: { id: ["n", "y"] } },
    { createTableVersion: await entryOf("a") },
    { createTableVersion: await entryOf("b") },
    { deregisterTable: { id: ["c"] } },
    { deregisterTable: { id: ["n", "e"] } },
    { deleteTableVersions: { id: ["d"], ranges: [{ startVersion: 1, endVersion: 3 }] } },
  ];
  return { root, operations };
}

const pauseAt = (when: Pause["when"], verb: Pause["verb"], path: RegExp): Pause => ({ when, verb, path });
const JOURNAL = /journal\.json$/;

const pauses: [name: string, pause: Pause][] = [
  ["right behind the decision", pauseAt("after", "link", JOURNAL)],
  ["before a directory is reserved", pauseAt("before", "link", /x\.lance.*\.ns-reserved$/)],
  ["between its markers", pauseAt("after", "link", /x\.lance.*\.ns-reserved$/)],
  ["before a version is published", pauseAt("before", "link", /a\.lance.*\.manifest$/)],
  ["behind a version", pauseAt("after", "link", /a\.lance.*\.manifest$/)],
  ["before the second version", pauseAt("before", "link", /b\.lance.*\.manifest$/)],
  ["before a table is hidden", pauseAt("before", "create", /c\.lance/)],
  ["before versions are set aside", pauseAt("before", "rename", /d\.lance.*\.retired$/)],
  ["before the journal goes", pauseAt("before", "rename", /journal\.(done|undone)$/)],
];

describe.concurrent.each(pauses)("a process that is suspended %s", (_name, pause) => {
  it("learns that another one has done its batch, and does nothing more", async () => {
    const { root, operations } = await prepare();
    await using ns = open(root);
    const outcome = await runPaused({ root }, ["batchCommitTables", { operations }], pause, async () => {
      await ns.describeTable({ id: ["a"] });
      expect(existsSync(join(root, ".tiltyard-batches"))).toBe(false);
      expect(await ns.insertIntoTable({ id: ["a"] }, rowsOf(9))).toMatchObject({ version: 3 });
      // What the batch removed may have been made again.
      await ns.registerTable({ id: ["c"], location: "c.lance" });
      await ns.dropTable({ id: ["x"] });
    });
    expect(outcome).toMatchObject({
      ok: {
        results: [
          { declareTable: { location: join(root, "x.lance") } },
          { declareTable: {} },
          { createTableVersion: { version: { version: 2 } } },
          { createTableVersion: { version: { version: 2 } } },
          { deregisterTable: { id: ["c"] } },
          { deregisterTable: { id: ["n", "e"] } },
          { deleteTableVersions: { deletedCount: 2 } },
        ],
      },
    });
    expect(await versionsOf(ns, "a")).toEqual([1, 2, 3]);
    expect(await versionsOf(ns, "b")).toEqual([1, 2]);
    expect(await versionsOf(ns, "d")).toEqual([3]);
    expect((await ns.listTables()).tables).toEqual(["a", "b", "c", "d"]);
    expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["y"]);
    expect(await ns.countTableRows({ id: ["a"] })).toBe(3);
    expect(await reference.countRows(root, "a")).toBe(3);
    expect(readdirSync(root).filter((name) => name.startsWith(".tiltyard"))).toEqual([]);
  });

  it("learns that another one has undone its batch, and leaves nothing of it", async () => {
    const { root, operations } = await prepare();
    await using ns = open(root);
    const outcome = await runPaused({ root }, ["batchCommitTables", { operations }], pause, async () => {
      // From here on, the part of `b` is impossible.
      await rename(join(root, "b.lance"), join(root, "moved"));
      await reference.createTable(root, "b", tableToIPC(rowsOf(7, 8), "stream"));
      expect(await versionsOf(ns, "b")).toEqual([1]);
      expect(existsSync(join(root, ".tiltyard-batches"))).toBe(false);
      expect(await versionsOf(ns, "a")).toEqual([1]);
    });
    expect(outcome).toMatchObject({ type: "ConcurrentModification" });
    expect(await versionsOf(ns, "a")).toEqual([1]);
    expect(await versionsOf(ns, "b")).toEqual([1]);
    expect(await versionsOf(ns, "d")).toEqual([1, 2, 3]);
    expect((await ns.listTables()).tables).toEqual(["a", "b", "c", "d"]);
    expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["e"]);
    for (const version of [1, 2, 3]) expect(await ns.countTableRows({ id: ["d"], version })).toBe(version);
    expect(await ns.insertIntoTable({ id: ["a"] }, rowsOf(9))).toMatchObject({ version: 2 });
    expect(await reference.countRows(root, "a")).toBe(2);
    await rm(join(root, "moved"), { recursive: true });
    const left = readdirSync(root).filter((name) => name.startsWith(".tiltyard") || name.endsWith("y"));
    expect(left).toEqual([]);
  });
});

describe.concurrent("a suspended process", () => {
  it("changes nothing if it wakes right before its decision after others went on", async () => {
    const { root, operations } = await prepare();
    await using ns = open(root);
    const pause = pauseAt("before", "link", JOURNAL);
    const outcome = await runPaused({ root }, ["batchCommitTables", { operations }], pause, async () => {
      expect(await ns.insertIntoTable({ id: ["b"] }, rowsOf(9))).toMatchObject({ version: 2 });
    });
    expect(outcome).toMatchObject({ type: "ConcurrentModification" });
    expect(await versionsOf(ns, "a")).toEqual([1]);
    expect(await ns.countTableRows({ id: ["b"] })).toBe(2);
    expect((await ns.listAllTables()).tables).toEqual(["a", "b", "c", "d", "n$e"]);
    expect(readdirSync(root).filter((name) => name.startsWith(".tiltyard"))).toEqual([]);
  });

  it("continues with fresh locks if nobody came in the middle", async () => {
    const { root, operations } = await prepare();
    await using ns = open(root);
    const pause = pauseAt("before", "link", /b\.lance.*\.manifest$/);
    const outcome = await runPaused({ root }, ["batchCommitTables", { operations }], pause, async () => {});
    expect(outcome).toHaveProperty("ok");
    expect(await versionsOf(ns, "b")).toEqual([1, 2]);
    expect((await ns.listAllTables()).tables).toEqual(["a", "b", "d", "n$y", "x"]);
  });

  it("does not take another's version with its number for its own", async () => {
    const { root, operations } = await prepare();
    await using ns = open(root);
    const pause = pauseAt("before", "link", /a\.lance.*\.manifest$/);
    const outcome = await runPaused({ root }, ["batchCommitTables", { operations }], pause, async () => {
      await rm(join(root, "b.lance"), { recursive: true });
      expect(await ns.insertIntoTable({ id: ["a"] }, rowsOf(9))).toMatchObject({ version: 2 });
    });
    expect(outcome).toMatchObject({ type: "ConcurrentModification" });
    expect(await versionsOf(ns, "a")).toEqual([1, 2]);
    expect(await ns.countTableRows({ id: ["a"] })).toBe(2);
    const values = (await ns.table("a").scan().toArrow()).getChild("v");
    expect(Array.from(values ?? [], Number)).toEqual([1, 9]);
  });

  it("removes no later version while it undoes another's batch", async () => {
    const { root, operations } = await prepare();
    await using ns = open(root);
    const dying = pauseAt("after", "link", JOURNAL);
    await runPaused({ root }, ["batchCommitTables", { operations }], dying, async () => {
      await rename(join(root, "b.lance"), join(root, "moved"));
      await reference.createTable(root, "b", tableToIPC(rowsOf(7, 8), "stream"));
      const pause = pauseAt("before", "rename", /a\.lance.*\.manifest .*\.tiltyard\.lock/);
      const undoing = await runPaused({ root }, ["describeTable", { id: ["a"] }], pause, async () => {
        expect(await ns.insertIntoTable({ id: ["a"] }, rowsOf(9))).toMatchObject({ version: 2 });
      });
      expect(undoing).toMatchObject({ ok: { version: 2 } });
    });
    expect(await versionsOf(ns, "a")).toEqual([1, 2]);
    expect(await reference.countRows(root, "a")).toBe(2);
  });

  it("leaves a table that replaced a declared one while it undoes another's batch", async () => {
    const { root, operations } = await prepare();
    await using ns = open(root);
    const dying = pauseAt("after", "link", JOURNAL);
    await runPaused({ root }, ["batchCommitTables", { operations }], dying, async () => {
      await rename(join(root, "b.lance"), join(root, "moved"));
      await reference.createTable(root, "b", tableToIPC(rowsOf(7, 8), "stream"));
      const pause = pauseAt("before", "rename", /x\.lance .*dropping/);
      await runPaused({ root }, ["describeTable", { id: ["a"] }], pause, async () => {
        await ns.describeTable({ id: ["a"] });
        await ns.createTable({ id: ["x"] }, rowsOf(9));
      });
    });
    expect(await ns.countTableRows({ id: ["x"] })).toBe(1);
    expect((await ns.listTables()).tables).toEqual(["a", "b", "c", "d", "x"]);
  });

  it("does nothing more while it recovers another's batch", async () => {
    const { root, operations } = await prepare();
    await using ns = open(root);
    const dying = pauseAt("after", "link", JOURNAL);
    // The second process is paused itself. The third overtakes it before the first wakes.
    const first = runPaused({ root }, ["batchCommitTables", { operations }], dying, async () => {
      const pause = pauseAt("before", "link", /a\.lance.*\.manifest$/);
      const second = await runPaused({ root }, ["describeTable", { id: ["a"] }], pause, async () => {
        await rename(join(root, "b.lance"), join(root, "moved"));
        await reference.createTable(root, "b", tableToIPC(rowsOf(7, 8), "stream"));
        expect(await versionsOf(ns, "a")).toEqual([1]);
      });
      expect(second).toMatchObject({ ok: { version: 1 } });
    });
    expect(await first).toMatchObject({ type: "ConcurrentModification" });
    expect(await versionsOf(ns, "a")).toEqual([1]);
    expect((await ns.listAllTables()).tables).toEqual(["a", "b", "c", "d", "n$e"]);
  });
});
