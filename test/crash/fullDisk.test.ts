/** Cleans up a full disk, where a removal must come before any write, and dies at each disk call. */

import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { strideOf } from "../support/effort.js";
import { describe, expect, it } from "../support/fixtures.js";
import { fullDisk } from "../support/fullDisk.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { interrupt, stage, WAYS, withNamespace } from "./interruptions.js";

const STRIDE = strideOf("CRASH_STRIDE", 12);
const id = ["t"];
const LATEST = 8;

async function prepare(root: string, tagged: readonly number[]): Promise<void> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(1));
  for (let version = 2; version <= LATEST; version++) {
    await ns.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(version));
  }
  for (const version of tagged) await ns.createTableTag({ id, tag: `v${version}`, version });
}

async function versionsOf(root: string, where = ""): Promise<number[]> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  const versions = (await ns.listTableVersions({ id })).versions.map(({ version }) => version);
  for (const version of versions) {
    expect(valuesOf(await ns.table(id, { version }).scan().toArrow()), where).toEqual([version]);
  }
  expect(await ns.table(id).version(), where).toBe(LATEST);
  return versions;
}

const filesIn = async (root: string, part: string): Promise<number> =>
  (await readdir(join(root, "t.lance", part))).filter((name) => /\.(lance|txn)$/.test(name)).length;

/** Only large files free space: a hint or a directory entry does not. */
const isDataFile = (path: string): boolean => path.endsWith(".lance");

const cases = [
  { title: "with nothing that is needed but the latest", tagged: [] },
  { title: "with versions in between that tags need", tagged: [3, 6] },
];

describe.each(cases)("a table $title", ({ tagged }) => {
  const left = [...tagged, LATEST];

  it("is cleaned up", async ({ root, open }) => {
    await prepare(root, tagged);
    const ns = open({ disk: fullDisk(new NodeDisk({ durability: "none" }), isDataFile) });
    await expect(ns.insertIntoTable({ id }, rowsOf(9))).rejects.toThrow("ENOSPC");
    expect(await ns.cleanupTable({ id, olderThanMs: 0 })).toMatchObject({
      versionsRemoved: LATEST - left.length,
      dataFilesRemoved: LATEST - left.length,
      transactionFilesRemoved: LATEST - left.length,
    });
    expect(await versionsOf(root)).toEqual(left);
    expect(await filesIn(root, "data")).toBe(left.length);
    // A hint of a stalled writer must not count.
    for (const version of [1, ...tagged]) {
      const hint = join(root, "t.lance", "_versions", "latest_version_hint.json");
      await writeFile(hint, JSON.stringify({ version }));
      expect(await ns.table(id).version()).toBe(LATEST);
    }
    expect(await ns.insertIntoTable({ id }, rowsOf(9))).toMatchObject({ version: LATEST + 1 });
    expect(valuesOf(tableFromIPC(await reference.readTable(root, "t")))).toEqual([LATEST, 9]);
  });

  it("is whole wherever the process dies", async () => {
    const prepared = await stage((root) => prepare(root, tagged));
    const { root } = prepared;
    const seen = new Set<number>();
    const cleanUp = (ns: DirectoryNamespace) => ns.cleanupTable({ id, olderThanMs: 0 });
    const titles = ["the process dies in the middle of a write", "the power goes before a call"];
    for (const way of WAYS.filter(({ title }) => titles.includes(title))) {
      const operation = {
        stride: STRIDE,
        first: way.powerCut ? STRIDE >> 1 : 0,
        wrap: (disk: Disk) => fullDisk(disk, isDataFile),
        run: cleanUp,
      };
      await interrupt(prepared, way, operation, async ({ acknowledged, tripped, where }) => {
        const versions = await versionsOf(root, where);
        seen.add(versions.length);
        expect(versions, where).toEqual(expect.arrayContaining(left));
        await withNamespace(root, cleanUp);
        expect(await versionsOf(root, where), where).toEqual(left);
        expect(await filesIn(root, "data"), where).toBe(left.length);
        expect(await filesIn(root, "_transactions"), where).toBe(left.length);
        if (tripped) return;
        expect(acknowledged?.answer).toMatchObject({ versionsRemoved: LATEST - left.length });
      });
    }
    expect(seen.size).toBeGreaterThan(1);
  });
});

describe("a table without files that can be removed before a note is written", () => {
  it("stays unchanged", async ({ root, open }) => {
    await prepare(root, [1]);
    const before = await directorySnapshot(root);
    const ns = open({ disk: fullDisk(new NodeDisk({ durability: "none" }), isDataFile) });
    await expect(ns.cleanupTable({ id, olderThanMs: 0 })).rejects.toThrow("ENOSPC");
    expect(await directorySnapshot(root)).toEqual(before);
  });

  it("is cleaned up if it has an orphan", async ({ root, open }) => {
    await prepare(root, [1]);
    const orphan = join(root, "t.lance", "data", `${"0".repeat(50)}.lance`);
    await writeFile(orphan, "large");
    const old = new Date(Date.now() - 14 * 24 * 60 * 60 * 1000);
    await utimes(orphan, old, old);
    const ns = open({ disk: fullDisk(new NodeDisk({ durability: "none" }), isDataFile) });
    expect(await ns.cleanupTable({ id, olderThanMs: 0 })).toMatchObject({
      versionsRemoved: LATEST - 2,
      dataFilesRemoved: LATEST - 1,
    });
    expect(await versionsOf(root)).toEqual([1, LATEST]);
  });
});
