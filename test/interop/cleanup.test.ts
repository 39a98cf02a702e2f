import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { InvalidInputError, InvalidTableStateError } from "tiltyard";
import { describe, expect, it, vi } from "vitest";
import { UpdateConfig } from "../../src/format/table.js";
import { newTransaction } from "../../src/table/commit/transaction.js";

import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { ipcOf, rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { commitPlannedOn, openEnvironment } from "../table/support.js";

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let tables = 0;

const directoryOf = (name: string): string => join(root, `${name}.lance`);
const filesIn = async (name: string, part: string): Promise<string[]> =>
  (await readdir(join(directoryOf(name), part)).catch(() => []))
    .filter((file) => !file.endsWith(".json"))
    .sort();
const countsOf = async (name: string) => ({
  data: (await filesIn(name, "data")).length,
  versions: (await filesIn(name, "_versions")).length,
  transactions: (await filesIn(name, "_transactions")).length,
  deletions: (await filesIn(name, "_deletions")).length,
});
const versionsOf = async (name: string, branch?: string): Promise<number[]> =>
  (await namespace.listTableVersions({ id: [name], branch })).versions.map(({ version }) => version);
const rowsHere = async (name: string, target: object = {}): Promise<number[]> =>
  valuesOf(await namespace.table([name], target).scan().toArrow());
const rowsThere = async (name: string, target: object = {}): Promise<number[]> =>
  valuesOf(tableFromIPC(await reference.readTable(root, name, target)));

/** Versions 1 to 5: rows 0 to 4, then without row 1, then 5 and 6 alone. */
async function makeTable(maker: "us" | "them"): Promise<string> {
  const name = `${maker}${tables++}`;
  if (maker === "us") {
    await namespace.createTable({ id: [name] }, rowsOf(0, 1, 2));
    await namespace.insertIntoTable({ id: [name] }, rowsOf(3, 4));
  } else {
    await reference.createTable(root, name, ipcOf(0, 1, 2));
    await reference.appendTable(root, name, ipcOf(3, 4));
  }
  await reference.deleteRows(root, name, "v = 1");
  await reference.overwriteTable(root, name, ipcOf(5));
  if (maker === "us") await namespace.insertIntoTable({ id: [name] }, rowsOf(6));
  else await reference.appendTable(root, name, ipcOf(6));
  return name;
}

describe.each(["us", "them"] as const)("a table made by %s", (maker) => {
  it("loses its old versions and what only they had", async () => {
    const name = await makeTable(maker);
    expect(await versionsOf(name)).toEqual([1, 2, 3, 4, 5]);
    const response = await namespace.cleanupTable({ id: [name], olderThanMs: 0 });
    expect(response).toMatchObject({
      versionsRemoved: 4,
      filesRemoved: 2 + 1 + 4,
      dataFilesRemoved: 2,
      deletionFilesRemoved: 1,
      transactionFilesRemoved: 4,
      indexFilesRemoved: 0,
    });
    expect(await countsOf(name)).toEqual({ data: 2, versions: 1, transactions: 1, deletions: 0 });
    expect(await versionsOf(name)).toEqual([5]);
    expect(await rowsHere(name)).toEqual([5, 6]);
    expect(await rowsThere(name)).toEqual([5, 6]);
    await expect(rowsHere(name, { version: 4 })).rejects.toMatchObject({ type: "TableVersionNotFound" });

    expect(await namespace.insertIntoTable({ id: [name] }, rowsOf(7))).toMatchObject({ version: 6 });
    expect(await reference.appendTable(root, name, ipcOf(8))).toMatchObject({ version: 7 });
    expect(await rowsHere(name)).toEqual([5, 6, 7, 8]);
    expect(await rowsThere(name)).toEqual([5, 6, 7, 8]);
    expect(await namespace.cleanupTable({ id: [name], olderThanMs: 0 })).toMatchObject({
      versionsRemoved: 2,
    });
    const again = await namespace.cleanupTable({ id: [name], olderThanMs: 0, deleteUnverified: true });
    expect(again).toEqual({
      bytesRemoved: 0,
      versionsRemoved: 0,
      filesRemoved: 0,
      dataFilesRemoved: 0,
      deletionFilesRemoved: 0,
      transactionFilesRemoved: 0,
      indexFilesRemoved: 0,
    });
    expect(await rowsThere(name)).toEqual([5, 6, 7, 8]);
  });

  it("loses as much by the reference as by us", async () => {
    const names = [`twin${tables++}`, `twin${tables++}`];
    // Tables of one fragment, so that the reference compacts nothing.
    for (const name of names) {
      if (maker === "us") await namespace.createTable({ id: [name] }, rowsOf(0));
      for (const row of [1, 2, 3]) {
        if (maker === "us") await namespace.insertIntoTable({ id: [name], mode: "Overwrite" }, rowsOf(row));
        else await reference.createTable(root, name, ipcOf(row), { mode: "overwrite" });
      }
    }
    const here = await namespace.cleanupTable({ id: [names[0]], olderThanMs: 0 });
    const there = await reference.optimizeTable(root, names[1], { before: Date.now() + 1 });
    expect(there.prune.oldVersionsRemoved).toBe(here.versionsRemoved);
    // The encoded time of a version varies by some bytes.
    const difference = Math.abs(there.prune.bytesRemoved - here.bytesRemoved);
    expect(difference).toBeLessThanOrEqual(5 * here.versionsRemoved);
    expect(await countsOf(names[0])).toEqual(await countsOf(names[1]));
    expect(await rowsHere(names[1])).toEqual([3]);
  });

  it("stays whole where nothing is old enough, and where enough versions are to stay", async () => {
    const name = await makeTable(maker);
    const before = await countsOf(name);
    expect(await namespace.cleanupTable({ id: [name] })).toMatchObject({
      versionsRemoved: 0,
      filesRemoved: 0,
    });
    expect(await namespace.table([name]).cleanup({ olderThanMs: 0, retainVersions: 5 })).toMatchObject({
      versionsRemoved: 0,
    });
    expect(await countsOf(name)).toEqual(before);
    expect(await namespace.cleanupTable({ id: [name], olderThanMs: 0, retainVersions: 3 })).toMatchObject({
      versionsRemoved: 2,
    });
    expect(await versionsOf(name)).toEqual([3, 4, 5]);
    for (const [version, rows] of [
      [3, [0, 2, 3, 4]],
      [4, [5]],
      [5, [5, 6]],
    ] as const) {
      expect(await rowsHere(name, { version })).toEqual(rows);
      expect(await rowsThere(name, { version })).toEqual(rows);
    }
  });

  it("keeps what tags and branches need, whoever made these", async () => {
    const name = await makeTable(maker);
    await reference.createTag(root, name, "old", 2);
    await namespace.createTableTag({ id: [name], tag: "older", version: 1 });
    await reference.createBranch(root, name, "dev", { fromVersion: 3 });
    await reference.appendTable(root, name, ipcOf(33), { branch: "dev" });
    await reference.overwriteTable(root, name, ipcOf(44), { branch: "dev" });
    await expect(namespace.cleanupTable({ id: [name], olderThanMs: 0, errorIfTagged: true })).rejects.toThrow(
      InvalidTableStateError,
    );
    expect(await versionsOf(name)).toEqual([1, 2, 3, 4, 5]);

    expect(await namespace.cleanupTable({ id: [name], olderThanMs: 0 })).toMatchObject({
      versionsRemoved: 1,
    });
    expect(await versionsOf(name)).toEqual([1, 2, 3, 5]);
    expect(await rowsHere(name, { tag: "old" })).toEqual([0, 1, 2, 3, 4]);
    expect(await rowsThere(name, { tag: "older" })).toEqual([0, 1, 2]);
    expect(await rowsThere(name, { branch: "dev", version: 4 })).toEqual([0, 2, 3, 4, 33]);

    // Of the branch's versions only the latest stays, which inherits nothing.
    const ofBranch = await namespace.cleanupTable({ id: [name], branch: "dev", olderThanMs: 0 });
    expect(ofBranch).toMatchObject({ versionsRemoved: 2, dataFilesRemoved: 1 });
    expect(await rowsThere(name, { branch: "dev" })).toEqual([44]);
    expect(await rowsHere(name, { branch: "dev" })).toEqual([44]);
    expect(await rowsThere(name, { version: 3 })).toEqual([0, 2, 3, 4]);

    await reference.deleteBranch(root, name, "dev");
    await namespace.deleteTableTag({ id: [name], tag: "old" });
    await reference.deleteTag(root, name, "older");
    expect(await namespace.cleanupTable({ id: [name], olderThanMs: 0 })).toMatchObject({
      versionsRemoved: 3,
    });
    expect(await countsOf(name)).toMatchObject({ data: 2, versions: 1, deletions: 0 });
    expect(await rowsThere(name)).toEqual([5, 6]);
  });

  it("keeps what every version of a branch inherits, and of branches of branches", async () => {
    const name = await makeTable(maker);
    await reference.createBranch(root, name, "a/b", { fromVersion: 2 });
    await reference.createBranch(root, name, "c", { fromBranch: "a/b" });
    await reference.overwriteTable(root, name, ipcOf(9), { branch: "a/b" });
    const response = await namespace.cleanupTable({ id: [name], olderThanMs: 0, deleteUnverified: true });
    expect(response).toMatchObject({ versionsRemoved: 3, dataFilesRemoved: 0 });
    expect(await rowsThere(name, { branch: "c" })).toEqual([0, 1, 2, 3, 4]);
    expect(await rowsThere(name, { branch: "a/b", version: 2 })).toEqual([0, 1, 2, 3, 4]);
    expect(await namespace.cleanupTable({ id: [name], branch: "a/b", olderThanMs: 0 })).toMatchObject({
      // Branch c starts at version 2.
      versionsRemoved: 0,
    });
  });

  it("is cleaned up after commits as its config says, by both alike", async () => {
    const settings = [
      { interval: "3", older_than: "0s" },
      { interval: "2", retain_versions: "3" },
      { interval: "0" },
      { interval: "1", older_than: "1h", retain_versions: "1" },
      { interval: "x" },
      { interval: "1", retain_versions: "0" },
    ];
    for (const setting of settings) {
      const seen: Record<string, number[][]> = { us: [], them: [] };
      for (const writer of ["us", "them"] as const) {
        const name = `auto${tables++}`;
        if (maker === "us") await namespace.createTable({ id: [name] }, rowsOf(0));
        else await reference.createTable(root, name, ipcOf(0));
        const updateEntries = Object.entries(setting).map(([key, value]) => ({
          key: `lance.auto_cleanup.${key}`,
          value,
        }));
        const config = UpdateConfig.create({ configUpdates: { updateEntries, replace: false } });
        await commitPlannedOn(
          openEnvironment(),
          directoryOf(name),
          newTransaction(1, "updateConfig", config),
        );
        for (let row = 1; row <= 6; row++) {
          if (writer === "us") await namespace.insertIntoTable({ id: [name] }, rowsOf(row));
          else await reference.appendTable(root, name, ipcOf(row));
          seen[writer].push(await versionsOf(name));
        }
        expect(await rowsThere(name)).toEqual([0, 1, 2, 3, 4, 5, 6]);
      }
      expect(seen.us, JSON.stringify(setting)).toEqual(seen.them);
    }
  });
});

describe("files that no version refers to", () => {
  const WEEK_S = 7 * 24 * 60 * 60;
  const orphan = "0".repeat(50);

  /** Makes orphans of every kind in a table of one version, which was committed after them. */
  async function withStrays(ageS: number): Promise<string> {
    const name = await makeTable("us");
    await namespace.cleanupTable({ id: [name], olderThanMs: 0 });
    const paths = [
      `data/${orphan}.lance`,
      `data/${orphan}/10.blob`,
      `_deletions/1-2-3.arrow`,
      `_deletions/1-2-3.bin`,
      `_transactions/1-${orphan}.txn`,
      `_indices/01234567-89ab-cdef-0123-456789abcdef/page_data.lance`,
      `_versions/1.manifest#1`,
      // Names that no engine writes: these stay.
      `data/.tmpabc`,
      `data/${orphan}x/10.lance`,
      `_indices/notes/a`,
      `_transactions/a.txt`,
    ];
    const then = Date.now() / 1000 - ageS;
    for (const path of paths) {
      const file = join(directoryOf(name), path);
      await mkdir(join(file, ".."), { recursive: true });
      await writeFile(file, "12345");
      await utimes(file, then, then);
    }
    return name;
  }

  it("go when they are a week old", async () => {
    const name = await withStrays(WEEK_S + 60);
    expect(await namespace.cleanupTable({ id: [name] })).toMatchObject({
      bytesRemoved: 35,
      versionsRemoved: 0,
      filesRemoved: 7,
      dataFilesRemoved: 2,
      deletionFilesRemoved: 2,
      transactionFilesRemoved: 1,
      indexFilesRemoved: 1,
    });
    expect(await filesIn(name, "data")).toHaveLength(4);
    expect(await filesIn(name, "_indices")).toEqual(["notes"]);
    expect(await filesIn(name, "_versions")).toHaveLength(1);
    expect(await rowsThere(name)).toEqual([5, 6]);
  });

  it("stay while they are younger, unless the caller vouches for them", async () => {
    const name = await withStrays(WEEK_S - 60);
    expect(await namespace.cleanupTable({ id: [name] })).toMatchObject({ filesRemoved: 0 });
    expect(await namespace.cleanupTable({ id: [name], deleteUnverified: true })).toMatchObject({
      filesRemoved: 6,
    });
    // May be a commit of the reference under way.
    expect(await filesIn(name, "_versions")).toContain("1.manifest#1");
    expect(await rowsThere(name)).toEqual([5, 6]);
  });

  it("may be empty directories, whose own age counts", async () => {
    const name = await makeTable("us");
    await namespace.cleanupTable({ id: [name], olderThanMs: 0 });
    const directory = join(directoryOf(name), "data", orphan);
    await mkdir(directory);
    await namespace.cleanupTable({ id: [name] });
    expect(await filesIn(name, "data")).toContain(orphan);
    const then = Date.now() / 1000 - WEEK_S - 60;
    await utimes(directory, then, then);
    await namespace.cleanupTable({ id: [name] });
    expect(await filesIn(name, "data")).not.toContain(orphan);
  });

  it("stay where they are younger than the oldest version that stays", async () => {
    const name = await withStrays(-60);
    expect(await namespace.cleanupTable({ id: [name], deleteUnverified: true })).toMatchObject({
      filesRemoved: 0,
    });
  });
});

describe("a cleanup", () => {
  it("of a table that is only declared, or asked for in vain words, is refused", async () => {
    await namespace.declareTable({ id: ["declared"] });
    await expect(namespace.cleanupTable({ id: ["declared"] })).rejects.toThrow(InvalidTableStateError);
    const name = await makeTable("us");
    for (const wrong of [
      { olderThanMs: -1 },
      { olderThanMs: "1d" },
      { retainVersions: 0 },
      { errorIfTagged: 1 },
    ]) {
      await expect(namespace.cleanupTable({ id: [name], ...(wrong as object) })).rejects.toThrow(
        InvalidInputError,
      );
    }
    await expect(namespace.cleanupTable({ id: ["none"] })).rejects.toMatchObject({ type: "TableNotFound" });
    await expect(namespace.cleanupTable({ id: [name], branch: "none" })).rejects.toMatchObject({
      type: "TableBranchNotFound",
    });
    await expect(namespace.table([name], { version: 1 }).cleanup()).rejects.toThrow(InvalidTableStateError);
  });

  it("changes nothing where a version or a ref can't be read", async () => {
    const name = await makeTable("us");
    const before = await countsOf(name);
    const [manifest] = await filesIn(name, "_versions");
    const path = join(directoryOf(name), "_versions", manifest);
    const bytes = await readFile(path);
    await writeFile(path, bytes.subarray(0, bytes.length - 3));
    await expect(namespace.cleanupTable({ id: [name], olderThanMs: 0 })).rejects.toMatchObject({ code: 18 });
    await writeFile(path, bytes);
    const tags = join(directoryOf(name), "_refs", "tags");
    await mkdir(tags, { recursive: true });
    await writeFile(join(tags, "x.json"), "{");
    await expect(namespace.cleanupTable({ id: [name], olderThanMs: 0 })).rejects.toMatchObject({ code: 18 });
    expect(await countsOf(name)).toEqual(before);
  });

  it("leaves the latest version easy to find, and hints of versions that were kept untrusted", async () => {
    const name = await makeTable("us");
    await namespace.createTableTag({ id: [name], tag: "kept", version: 2 });
    await namespace.cleanupTable({ id: [name], olderThanMs: 0 });
    expect(await versionsOf(name)).toEqual([2, 5]);
    const hint = join(directoryOf(name), "_versions", "latest_version_hint.json");
    expect(JSON.parse(await readFile(hint, "utf8"))).toEqual({ version: 5 });
    // From a stalled writer of version 2.
    await writeFile(hint, '{"version":2}');
    expect(await namespace.table([name]).version()).toBe(5);
    expect(await namespace.insertIntoTable({ id: [name] }, rowsOf(7))).toMatchObject({ version: 6 });
    expect(await rowsThere(name)).toEqual([5, 6, 7]);
  });

  it("gives a version its time from when it is no longer the latest, however old it is", async () => {
    const name = `aged${tables++}`;
    const id = [name];
    const [begin, day] = [Date.UTC(2024, 0, 1), 24 * 60 * 60 * 1000];
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      vi.setSystemTime(begin);
      await namespace.createTable({ id }, rowsOf(1));
      vi.setSystemTime(begin + 30 * day);
      await namespace.insertIntoTable({ id }, rowsOf(2));
      vi.setSystemTime(begin + 36 * day);
      await namespace.cleanupTable({ id });
      expect(await versionsOf(name)).toEqual([1, 2]);
      vi.setSystemTime(begin + 37 * day);
      await namespace.cleanupTable({ id });
      expect(await versionsOf(name)).toEqual([2]);
    } finally {
      vi.useRealTimers();
    }
  });
});
