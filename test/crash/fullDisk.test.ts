/**
 * Cleans up a full disk, where nothing can be written before something is removed. Files that need no note
 * are removed first, then the rest. Wherever the process dies, every version has its rows, and the next
 * cleanup finishes.
 *
 * `npm run soak` covers more of the calls than `npm test`.
 */

import { cp, mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Int32, Table, tableFromIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { strideOf } from "../support/effort.js";
import { FaultyDisk } from "../support/faultyDisk.js";
import { fullDisk } from "../support/fullDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const STRIDE = strideOf("CRASH_STRIDE", 12);
const id = ["t"];
const LATEST = 8;
const rowsOf = (...values: number[]) => new Table({ v: vectorFromArray(values, new Int32()) });
const valuesOf = (table: Table) => Array.from(table.getChild("v") ?? [], Number);

/** Makes versions 1 to 8; each holds one row, its number. */
async function prepare(root: string, tagged: readonly number[]): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(1));
  for (let version = 2; version <= LATEST; version++) {
    await ns.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(version));
  }
  for (const version of tagged) await ns.createTableTag({ id, tag: `v${version}`, version });
  await ns.close();
}

/** Returns the numbers of the versions; each has its row. */
async function versionsOf(root: string, where = ""): Promise<number[]> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  const versions = (await ns.listTableVersions({ id })).versions.map(({ version }) => version);
  for (const version of versions) {
    expect(valuesOf(await ns.table(id, { version }).scan().toArrow()), where).toEqual([version]);
  }
  expect(await ns.table(id).version(), where).toBe(LATEST);
  await ns.close();
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

  it("is cleaned up", async () => {
    const root = await makeTempDir();
    await prepare(root, tagged);
    const disk = fullDisk(new NodeDisk({ durability: "none" }), isDataFile);
    const ns = new DirectoryNamespace({ root, disk } as { root: string });
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
    await ns.close();
  });

  it("is whole wherever the process dies", async () => {
    const base = await makeTempDir();
    const root = join(base, "inner", "root");
    const template = join(base, "template");
    await mkdir(dirname(root));
    await prepare(root, tagged);
    await cp(root, template, { recursive: true });
    const seen = new Set<number>();
    for (const powerCut of [false, true]) {
      for (let failing = powerCut ? STRIDE >> 1 : 0; ; failing += STRIDE) {
        await rm(root, { recursive: true });
        await cp(template, root, { recursive: true });
        const faulty = new FaultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
        faulty.failAt(failing, "short", { dead: true });
        const ns = new DirectoryNamespace({ root, disk: fullDisk(faulty, isDataFile) } as { root: string });
        const answer = await ns.cleanupTable({ id, olderThanMs: 0 }).catch((error: unknown) => {
          expect(error).toBeInstanceOf(NamespaceError);
          return null;
        });
        const { tripped } = faulty;
        const where = `${failing}: ${faulty.log[failing]}`;
        await ns.close();
        await faulty.restart();
        if (powerCut) await faulty.loseUnsynced();
        const versions = await versionsOf(root, where);
        seen.add(versions.length);
        expect(versions, where).toEqual(expect.arrayContaining(left));
        const next = new DirectoryNamespace({ root, durability: "none" });
        await next.cleanupTable({ id, olderThanMs: 0 });
        expect(await versionsOf(root, where), where).toEqual(left);
        expect(await filesIn(root, "data"), where).toBe(left.length);
        expect(await filesIn(root, "_transactions"), where).toBe(left.length);
        await next.close();
        await faulty.dispose();
        if (!tripped) {
          expect(answer).toMatchObject({ versionsRemoved: LATEST - left.length });
          break;
        }
      }
    }
    expect(seen.size).toBeGreaterThan(1);
  });
});

describe("a table without files that can be removed before a note is written", () => {
  it("stays unchanged", async () => {
    const root = await makeTempDir();
    await prepare(root, [1]);
    const before = await directorySnapshot(root);
    const disk = fullDisk(new NodeDisk({ durability: "none" }), isDataFile);
    const ns = new DirectoryNamespace({ root, disk } as { root: string });
    await expect(ns.cleanupTable({ id, olderThanMs: 0 })).rejects.toThrow("ENOSPC");
    expect(await directorySnapshot(root)).toEqual(before);
    await ns.close();
  });

  it("is cleaned up if it has an orphan", async () => {
    const root = await makeTempDir();
    await prepare(root, [1]);
    const orphan = join(root, "t.lance", "data", `${"0".repeat(50)}.lance`);
    await writeFile(orphan, "large");
    const old = new Date(Date.now() - 14 * 24 * 60 * 60 * 1000);
    await utimes(orphan, old, old);
    const disk = fullDisk(new NodeDisk({ durability: "none" }), isDataFile);
    const ns = new DirectoryNamespace({ root, disk } as { root: string });
    expect(await ns.cleanupTable({ id, olderThanMs: 0 })).toMatchObject({
      versionsRemoved: LATEST - 2,
      dataFilesRemoved: LATEST - 1,
    });
    expect(await versionsOf(root)).toEqual([1, LATEST]);
    await ns.close();
  });
});
