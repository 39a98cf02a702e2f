/** Crash loop over cleanup and compaction: every remaining version, tag and branch has all its rows. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { tableFromIPC, tableToIPC } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import { strideOf } from "../support/effort.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { interrupt, stage, WAYS, withNamespace } from "./interruptions.js";

const STRIDE = strideOf("CRASH_STRIDE", 6);
/** Few calls lie between the two commits of a compaction. */
const COMPACTION_STRIDE = Math.ceil(STRIDE / 3);
const id = ["t"];

/** Rows of the versions of the main branch, from 1 on. */
const HISTORY = [[1, 2, 3], [1, 2, 3, 4], [1, 3, 4], [1, 3, 4, 5], [6], [6, 7]];

/** Makes the versions of {@link HISTORY}, a tag of the second, and a branch of the fourth with more rows. */
async function prepare(ns: DirectoryNamespace): Promise<void> {
  const { root } = ns;
  await ns.createTable({ id }, rowsOf(1, 2, 3));
  await ns.insertIntoTable({ id }, rowsOf(4));
  await reference.deleteRows(root, "t", "v = 2");
  await ns.insertIntoTable({ id }, rowsOf(5));
  await ns.createTableTag({ id, tag: "old", version: 2 });
  await reference.createBranch(root, "t", "dev", { fromVersion: 4 });
  await reference.appendTable(root, "t", tableToIPC(rowsOf(50)), { branch: "dev" });
  await ns.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(6));
  await ns.insertIntoTable({ id }, rowsOf(7));
}

async function checkVersions(ns: DirectoryNamespace, where: string): Promise<number[]> {
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

describe("cleanup", () => {
  const cleanUp = (ns: DirectoryNamespace) => ns.cleanupTable({ id, olderThanMs: 0 });

  it.each(WAYS)("$title", async (way) => {
    const prepared = await stage((root) => withNamespace(root, prepare));
    const { root } = prepared;
    const check = (where: string) => withNamespace(root, (ns) => checkVersions(ns, where));
    await withNamespace(root, cleanUp);
    const clean = await filesOf(root);
    expect(await check("without a fault")).toEqual([2, 4, 6]);

    let inBetween = 0;
    const operation = { stride: STRIDE, run: cleanUp };
    await interrupt(prepared, way, operation, async ({ acknowledged, round, where }) => {
      const versions = await check(where);
      if (acknowledged && !way.powerCut) expect(await filesOf(root), where).toEqual(clean);
      if (versions.length === 3 && !acknowledged) inBetween++;
      await withNamespace(root, async (next) => {
        await cleanUp(next);
        expect(await filesOf(root), where).toEqual(clean);
        expect(await next.insertIntoTable({ id }, rowsOf(8)), where).toMatchObject({ version: 7 });
      });
      if (round % 5 > 0) return;
      const seen = valuesOf(tableFromIPC(await reference.readTable(root, "t")));
      expect(seen, where).toEqual([6, 7, 8]);
      const ofBranch = valuesOf(tableFromIPC(await reference.readTable(root, "t", { branch: "dev" })));
      expect(ofBranch, where).toEqual([1, 3, 4, 5, 50]);
    });
    // The loop has seen removed versions with remaining files.
    expect(inBetween).toBeGreaterThan(0);
  });
});

describe("compaction", () => {
  /** Rows of a table of five fragments, two of which have lost rows. */
  const ROWS = [0, 1, 2, 10, 12, 20, 21, 22, 30, 31, 32, 40];

  async function prepareFragments(ns: DirectoryNamespace): Promise<void> {
    await ns.createTable({ id }, rowsOf(0, 1, 2));
    for (const from of [10, 20, 30, 40]) await ns.insertIntoTable({ id }, rowsOf(from, from + 1, from + 2));
    await reference.deleteRows(ns.root, "t", "v IN (11, 41, 42)");
  }

  async function checkRows(ns: DirectoryNamespace, where: string): Promise<number> {
    const { versions } = await ns.listTableVersions({ id });
    for (const { version } of versions.slice(5)) {
      const rows = valuesOf(await ns.table(id, { version }).scan().toArrow());
      expect(rows, `${where}, version ${version}`).toEqual(ROWS);
    }
    return versions.length;
  }

  it.each(WAYS)("$title", async (way) => {
    const prepared = await stage((root) => withNamespace(root, prepareFragments));
    const { root } = prepared;
    const seen = new Set<number>();
    // Two groups: rows 0 to 12, and 20 to 40.
    const compact = (ns: DirectoryNamespace) => ns.optimizeTable({ id, targetRowsPerFragment: 5 });
    const operation = { stride: COMPACTION_STRIDE, run: compact };
    await interrupt(prepared, way, operation, async ({ acknowledged, round, tripped, where }) => {
      const latest = await withNamespace(root, (ns) => checkRows(ns, where));
      seen.add(latest);
      expect([6, 7, 8], where).toContain(latest);
      if (acknowledged) expect(latest, where).toBe(acknowledged.answer.version);
      if (!tripped) expect(acknowledged?.answer).toMatchObject({ version: 8, fragmentsAdded: 2 });
      if (!way.dead && latest < 8) {
        // A surviving writer removes its files, except those whose removal failed, and those of a commit that
        // may last.
        const isUncertain = /syncDirectory .*_versions$/.test(where);
        expect((await filesOf(root)).data.length, where).toBeLessThanOrEqual(
          isUncertain ? 7 : tripped ? 6 : 5,
        );
      }
      await withNamespace(root, async (next) => {
        expect(await compact(next), where).toMatchObject(
          latest === 8
            ? { version: 8, fragmentsRemoved: 0 }
            : { version: latest + 2, fragmentsRemoved: 5, fragmentsAdded: 2 },
        );
        await next.insertIntoTable({ id }, rowsOf(50));
        await next.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
        const { data, _versions, _deletions } = await filesOf(root);
        expect([data.length, _versions.length, _deletions.length], where).toEqual([3, 1, 0]);
        expect(valuesOf(await next.table(id).scan().toArrow()), where).toEqual([...ROWS, 50]);
      });
      if (round % 5 > 0) return;
      expect(valuesOf(tableFromIPC(await reference.readTable(root, "t"))), where).toEqual([...ROWS, 50]);
    });
    // The loop has seen the states before, between and after the commits.
    expect([...seen].sort()).toEqual([6, 7, 8]);
  });
});
