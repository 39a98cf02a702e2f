/**
 * Crash loop over cleanup and compaction. Whatever disk call fails, and however, every remaining version has
 * all its rows, as have tags and branches. The next run leaves the files that a successful one leaves.
 *
 * `npm run soak` covers more of the calls than `npm test`; `npm test` tries each kind of failure on some
 * calls.
 */

import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Int32, Table, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { strideOf } from "../support/effort.js";
import { type FaultMode, FaultyDisk } from "../support/faultyDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const STRIDE = strideOf("CRASH_STRIDE", 6);
/** Few calls lie between the two commits of a compaction. */
const COMPACTION_STRIDE = Math.ceil(STRIDE / 3);
const id = ["t"];

const rowsOf = (...values: number[]) => new Table({ v: vectorFromArray(values, new Int32()) });
const valuesOf = (table: Table) => Array.from(table.getChild("v") ?? [], Number);

/** Rows of the versions of the main branch, from 1 on. */
const HISTORY = [[1, 2, 3], [1, 2, 3, 4], [1, 3, 4], [1, 3, 4, 5], [6], [6, 7]];

/**
 * Makes the versions of {@link HISTORY}, a tag of the second, and a branch of the fourth with another row.
 */
async function prepare(root: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(1, 2, 3));
  await ns.insertIntoTable({ id }, rowsOf(4));
  await reference.deleteRows(root, "t", "v = 2");
  await ns.insertIntoTable({ id }, rowsOf(5));
  await ns.createTableTag({ id, tag: "old", version: 2 });
  await reference.createBranch(root, "t", "dev", { fromVersion: 4 });
  await reference.appendTable(root, "t", tableToIPC(rowsOf(50)), { branch: "dev" });
  await ns.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(6));
  await ns.insertIntoTable({ id }, rowsOf(7));
  await ns.close();
}

/** Checks the rows of every version; returns their numbers. */
async function checkVersions(root: string, where: string): Promise<number[]> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  const numbers = (await ns.listTableVersions({ id })).versions.map(({ version }) => version);
  for (const version of numbers) {
    const rows = valuesOf(await ns.table(id, { version }).scan().toArrow());
    expect(rows, `${where}, version ${version}`).toEqual(HISTORY[version - 1]);
  }
  expect(numbers, where).toEqual(expect.arrayContaining([2, 4, 6]));
  expect(await ns.table(id).version(), where).toBe(6);
  expect(valuesOf(await ns.table(id, { tag: "old" }).scan().toArrow()), where).toEqual([1, 2, 3, 4]);
  const branch = ns.table(id, { branch: "dev" });
  expect(valuesOf(await branch.scan().toArrow()), where).toEqual([1, 3, 4, 5, 50]);
  await ns.close();
  return numbers;
}

/** Returns the files of each part of the table, without unfinished ones. */
async function filesOf(root: string): Promise<Record<string, string[]>> {
  const parts = ["data", "_versions", "_transactions", "_deletions", join("_tiltyard", "retired")];
  const files: Record<string, string[]> = {};
  for (const part of parts) {
    const names = await readdir(join(root, "t.lance", part)).catch(() => []);
    files[part] = names.filter((name) => !name.startsWith(".tmp-") && !name.endsWith(".json")).sort();
  }
  return files;
}

const ways: { title: string; mode: FaultMode; dead: boolean; powerCut: boolean }[] = [
  { title: "a call fails", mode: "before", dead: false, powerCut: false },
  { title: "a call reports failure after its effect", mode: "after", dead: false, powerCut: false },
  { title: "the process dies", mode: "short", dead: true, powerCut: false },
  { title: "the power goes before a call", mode: "before", dead: true, powerCut: true },
  { title: "the power goes after a call", mode: "after", dead: true, powerCut: true },
];

describe("cleanup", () => {
  it.each(ways.map((way, index) => ({ ...way, index })))("$title", async ({
    mode,
    dead,
    powerCut,
    index,
  }) => {
    const base = await makeTempDir();
    // Prepare in place: the branch refers to its source by an absolute path.
    const root = join(base, "inner", "root");
    const template = join(base, "template");
    await mkdir(dirname(root));
    await prepare(root);
    await cp(root, template, { recursive: true });
    const engine = new DirectoryNamespace({ root, durability: "none" });
    await engine.cleanupTable({ id, olderThanMs: 0 });
    await engine.close();
    const clean = await filesOf(root);
    expect(await checkVersions(root, "without a fault")).toEqual([2, 4, 6]);

    let inBetween = 0;
    for (let failing = index % STRIDE; ; failing += STRIDE) {
      await rm(root, { recursive: true });
      await cp(template, root, { recursive: true });
      const disk = new FaultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
      disk.failAt(failing, mode, { dead });
      const writer = new DirectoryNamespace({ root, disk });
      let acknowledged = true;
      try {
        await writer.cleanupTable({ id, olderThanMs: 0 });
      } catch (error) {
        expect(error, String(error)).toBeInstanceOf(NamespaceError);
        acknowledged = false;
      }
      const { tripped } = disk;
      const where = `${failing}: ${disk.log[failing]}`;
      await writer.close();
      await disk.restart();
      if (powerCut) await disk.loseUnsynced();

      const versions = await checkVersions(root, where);
      if (acknowledged && !powerCut) expect(await filesOf(root), where).toEqual(clean);
      if (versions.length === 3 && !acknowledged) inBetween++;
      const next = new DirectoryNamespace({ root, durability: "none" });
      await next.cleanupTable({ id, olderThanMs: 0 });
      expect(await filesOf(root), where).toEqual(clean);
      expect(await next.insertIntoTable({ id }, rowsOf(8)), where).toMatchObject({ version: 7 });
      await next.close();
      if (failing % (5 * STRIDE) === index % STRIDE) {
        const seen = valuesOf(tableFromIPC(await reference.readTable(root, "t")));
        expect(seen, where).toEqual([6, 7, 8]);
        const ofBranch = valuesOf(tableFromIPC(await reference.readTable(root, "t", { branch: "dev" })));
        expect(ofBranch, where).toEqual([1, 3, 4, 5, 50]);
      }
      await disk.dispose();
      if (!tripped) {
        expect(acknowledged).toBe(true);
        break;
      }
    }
    // The loop has seen removed versions with remaining files.
    expect(inBetween).toBeGreaterThan(0);
  });
});

describe("compaction", () => {
  /** Rows of a table of five fragments, two of which have lost rows. */
  const ROWS = [0, 1, 2, 10, 12, 20, 21, 22, 30, 31, 32, 40];

  async function prepareFragments(root: string): Promise<void> {
    const ns = new DirectoryNamespace({ root, durability: "none" });
    await ns.createTable({ id }, rowsOf(0, 1, 2));
    for (const from of [10, 20, 30, 40]) await ns.insertIntoTable({ id }, rowsOf(from, from + 1, from + 2));
    await ns.close();
    await reference.deleteRows(root, "t", "v IN (11, 41, 42)");
  }

  /** Checks the rows of all versions; returns the latest. */
  async function checkRows(root: string, where: string): Promise<number> {
    const ns = new DirectoryNamespace({ root, durability: "none" });
    const { versions } = await ns.listTableVersions({ id });
    for (const { version } of versions.slice(5)) {
      const rows = valuesOf(await ns.table(id, { version }).scan().toArrow());
      expect(rows, `${where}, version ${version}`).toEqual(ROWS);
    }
    await ns.close();
    return versions.length;
  }

  it.each(ways.map((way, index) => ({ ...way, index })))("$title", async ({
    mode,
    dead,
    powerCut,
    index,
  }) => {
    const base = await makeTempDir();
    const root = join(base, "inner", "root");
    const template = join(base, "template");
    await mkdir(dirname(root));
    await prepareFragments(root);
    await cp(root, template, { recursive: true });
    const seen = new Set<number>();
    for (let failing = index % COMPACTION_STRIDE; ; failing += COMPACTION_STRIDE) {
      await rm(root, { recursive: true });
      await cp(template, root, { recursive: true });
      const disk = new FaultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
      disk.failAt(failing, mode, { dead });
      const writer = new DirectoryNamespace({ root, disk });
      // Two groups: rows 0 to 12, and 20 to 40.
      const answer = await writer.optimizeTable({ id, targetRowsPerFragment: 5 }).catch((error: unknown) => {
        expect(error, String(error)).toBeInstanceOf(NamespaceError);
        return null;
      });
      const { tripped } = disk;
      const where = `${failing}: ${disk.log[failing]}`;
      await writer.close();
      await disk.restart();
      if (powerCut) await disk.loseUnsynced();

      const latest = await checkRows(root, where);
      seen.add(latest);
      expect([6, 7, 8], where).toContain(latest);
      if (answer !== null) expect(latest, where).toBe(answer.version);
      if (!dead && latest < 8) {
        // A surviving writer removes its files, except those whose removal failed, and those of a commit that
        // may last.
        const isUncertain = /syncDirectory .*_versions$/.test(where);
        expect((await filesOf(root)).data.length, where).toBeLessThanOrEqual(
          isUncertain ? 7 : tripped ? 6 : 5,
        );
      }
      const next = new DirectoryNamespace({ root, durability: "none" });
      const again = await next.optimizeTable({ id, targetRowsPerFragment: 5 });
      expect(again, where).toMatchObject(
        latest === 8
          ? { version: 8, fragmentsRemoved: 0 }
          : { version: latest + 2, fragmentsRemoved: 5, fragmentsAdded: 2 },
      );
      await next.insertIntoTable({ id }, rowsOf(50));
      await next.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
      const { data, _versions, _deletions } = await filesOf(root);
      expect([data.length, _versions.length, _deletions.length], where).toEqual([3, 1, 0]);
      const rows = valuesOf(await next.table(id).scan().toArrow());
      expect(rows, where).toEqual([...ROWS, 50]);
      await next.close();
      if (failing % (5 * COMPACTION_STRIDE) === index % COMPACTION_STRIDE) {
        expect(valuesOf(tableFromIPC(await reference.readTable(root, "t"))), where).toEqual([...ROWS, 50]);
      }
      await disk.dispose();
      if (!tripped) {
        expect(answer).toMatchObject({ version: 8, fragmentsAdded: 2 });
        break;
      }
    }
    // The loop has seen the states before, between and after the commits.
    expect([...seen].sort()).toEqual([6, 7, 8]);
  });
});
