/**
 * Crash loop over deleting versions, alone and in a batch. Whatever disk call fails, and however, a later
 * engine sees all of the versions or none, and every version has its rows. The deletion can be made, or
 * repeated, and the next cleanup leaves no file of deleted versions.
 *
 * `npm run soak` covers more of the calls than `npm test`; `npm test` tries each kind of failure on some
 * calls.
 */

import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeVector, Table } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { strideOf } from "../support/effort.js";
import { type FaultMode, FaultyDisk } from "../support/faultyDisk.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

const STRIDE = strideOf("CRASH_STRIDE", 127);

const rowsOf = (...values: number[]) => new Table({ v: makeVector(Int32Array.from(values)) });
const valuesOf = (table: Table) => Array.from(table.getChild("v") ?? [], Number);

/** Tables and branches that have versions. */
const LINES = [
  { id: ["a"], branch: undefined, directory: "a.lance" },
  { id: ["b"], branch: undefined, directory: "b.lance" },
  { id: ["b"], branch: "dev", directory: join("b.lance", "tree", "dev") },
] as const;

/**
 * Makes tables a and b with versions 1 to 5, and a branch of b with versions 5 to 8; each replaces the one
 * before.
 */
async function prepare(root: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  for (const name of ["a", "b"]) {
    await ns.createTable({ id: [name] }, rowsOf(1));
    for (const row of [2, 3, 4, 5]) {
      await ns.insertIntoTable({ id: [name], mode: "Overwrite" }, rowsOf(row));
    }
  }
  await ns.createTableBranch({ id: ["b"], name: "dev" });
  for (const row of [6, 7, 8]) {
    await ns.insertIntoTable({ id: ["b"], branch: "dev", mode: "Overwrite" }, rowsOf(row));
  }
  await ns.createTableTag({ id: ["a"], tag: "kept", version: 2 });
  await ns.close();
}

/** Returns the rows of every version. */
async function stateOf(root: string): Promise<Record<string, number[]>> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  const state: Record<string, number[]> = {};
  for (const { id, branch } of LINES) {
    for (const { version } of (await ns.listTableVersions({ id, branch })).versions) {
      const rows = await ns.table(id, { branch, version }).scan().toArrow();
      state[`${id} ${branch} ${version}`] = valuesOf(rows);
    }
  }
  await ns.close();
  return state;
}

/** Counts the files of each part of the tables, without unfinished and staged ones. */
async function filesOf(root: string): Promise<Record<string, number>> {
  const files: Record<string, number> = {};
  for (const { directory } of LINES) {
    for (const part of ["data", "_versions", "_transactions", join("_tiltyard", "retired")]) {
      const names = await readdir(join(root, directory, part)).catch(() => []);
      files[join(directory, part)] = names.filter((name) => /\.(lance|manifest|txn)$/.test(name)).length;
    }
  }
  return files;
}

const ofA = [
  { startVersion: 1, endVersion: 2 },
  { startVersion: 3, endVersion: 5 },
];
const ofDev = [{ startVersion: 5, endVersion: 8 }];

const scenarios: [name: string, run: (ns: DirectoryNamespace, root: string) => Promise<unknown>][] = [
  ["of a table", (ns) => ns.batchDeleteTableVersions({ id: ["a"], ranges: ofA })],
  ["of a branch", (ns) => ns.batchDeleteTableVersions({ id: ["b"], branch: "dev", ranges: ofDev })],
  [
    "of several tables, with a new version",
    async (ns, root) => {
      const manifestPath = await stageDoubled(join(root, "b.lance"), 6);
      return ns.batchCommitTables({
        operations: [
          { deleteTableVersions: { id: ["a"], ranges: ofA } },
          { createTableVersion: { id: ["b"], version: 6, manifestPath } },
          { deleteTableVersions: { id: ["b"], branch: "dev", ranges: ofDev } },
        ],
      });
    },
  ],
];

const ways: { title: string; mode: FaultMode; dead: boolean; powerCut: boolean }[] = [
  { title: "a call fails", mode: "before", dead: false, powerCut: false },
  { title: "a call reports failure after its effect", mode: "after", dead: false, powerCut: false },
  { title: "the process dies", mode: "short", dead: true, powerCut: false },
  { title: "the power goes before a call", mode: "before", dead: true, powerCut: true },
  { title: "the power goes after a call", mode: "after", dead: true, powerCut: true },
];

/** Removes all orphans. */
async function cleanUp(root: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  for (const { id, branch } of LINES) await ns.cleanupTable({ id, branch });
  await ns.close();
}

describe.each(scenarios)("versions %s", (_name, run) => {
  it("are all there or all gone after any interruption", async () => {
    const base = await makeTempDir();
    // Prepare in place: the branch refers to its source by an absolute path.
    const root = join(base, "inner", "root");
    const template = join(base, "template");
    await mkdir(dirname(root));
    await prepare(root);
    await cp(root, template, { recursive: true });
    const before = await stateOf(root);
    const engine = new DirectoryNamespace({ root, durability: "none" });
    await run(engine, root);
    await engine.close();
    const after = await stateOf(root);
    expect(after).not.toEqual(before);
    const clean = await filesOf(root);
    await cleanUp(root);
    expect(await filesOf(root)).toEqual(clean);

    for (const [index, { title, mode, dead, powerCut }] of ways.entries()) {
      const seen = { before: 0, after: 0 };
      for (let failing = (2 * index) % STRIDE; ; failing += STRIDE) {
        await rm(root, { recursive: true });
        await cp(template, root, { recursive: true });
        const disk = new FaultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
        disk.failAt(failing, mode, { dead });
        const writer = new DirectoryNamespace({ root, disk });
        let acknowledged = true;
        try {
          await run(writer, root);
        } catch (error) {
          expect(error, String(error)).toBeInstanceOf(NamespaceError);
          acknowledged = false;
        }
        const { tripped } = disk;
        const where = `${title} ${failing}: ${disk.log[failing]}`;
        await writer.close();
        await disk.restart();
        if (powerCut) await disk.loseUnsynced();

        const state = await stateOf(root);
        if (acknowledged) expect(state, where).toEqual(after);
        else expect([before, after], where).toContainEqual(state);
        const isAfter = JSON.stringify(state) === JSON.stringify(after);
        seen[isAfter ? "after" : "before"]++;
        const next = new DirectoryNamespace({ root, durability: "none" });
        if (!isAfter) await run(next, root);
        await next.close();
        expect(await stateOf(root), where).toEqual(after);
        await cleanUp(root);
        expect(await filesOf(root), where).toEqual(clean);
        if (failing % (5 * STRIDE) === (2 * index) % STRIDE) {
          expect(await reference.countRows(root, "a"), where).toBe(1);
          expect(await reference.countRows(root, "b", undefined, { branch: "dev" }), where).toBe(1);
          const tagged = await reference.countRows(root, "a", undefined, { tag: "kept" });
          expect(tagged, where).toBe(1);
        }
        await disk.dispose();
        if (!tripped) {
          expect(acknowledged).toBe(true);
          break;
        }
      }
      expect(seen.before, title).toBeGreaterThan(0);
      expect(seen.after, title).toBeGreaterThan(0);
    }
  });
});
