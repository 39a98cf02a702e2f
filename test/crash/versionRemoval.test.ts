/**
 * Crash loop over deleting versions, alone and in a batch: a new engine sees all of them or none, and the
 * next cleanup leaves no file of deleted versions.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import { strideOf } from "../support/effort.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { expectStates, stage, withNamespace } from "./interruptions.js";

const STRIDE = strideOf("CRASH_STRIDE", 127);

const LINES = [
  { id: ["a"], branch: undefined, directory: "a.lance" },
  { id: ["b"], branch: undefined, directory: "b.lance" },
  { id: ["b"], branch: "dev", directory: join("b.lance", "tree", "dev") },
] as const;

/** Makes tables a and b with versions 1 to 5, and a branch of b with 5 to 8. Each replaces the one before. */
async function prepare(ns: DirectoryNamespace): Promise<void> {
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
}

async function stateOf(ns: DirectoryNamespace): Promise<Record<string, number[]>> {
  const state: Record<string, number[]> = {};
  for (const { id, branch } of LINES) {
    for (const { version } of (await ns.listTableVersions({ id, branch })).versions) {
      const rows = await ns.table(id, { branch, version }).scan().toArrow();
      state[`${id} ${branch} ${version}`] = valuesOf(rows);
    }
  }
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

async function cleanUp(ns: DirectoryNamespace): Promise<void> {
  for (const { id, branch } of LINES) await ns.cleanupTable({ id, branch });
}

describe.each(scenarios)("versions %s", (_name, run) => {
  it("are all there or all gone after any interruption", async () => {
    const prepared = await stage((root) => withNamespace(root, prepare));
    const { root } = prepared;
    await withNamespace(root, (ns) => run(ns, root));
    const clean = await filesOf(root);
    await withNamespace(root, cleanUp);
    expect(await filesOf(root)).toEqual(clean);
    await expectStates(prepared, {
      stride: STRIDE,
      spread: 2,
      steps: [run],
      stateOf: () => withNamespace(root, stateOf),
      async checkDone({ round, where }) {
        await withNamespace(root, cleanUp);
        expect(await filesOf(root), where).toEqual(clean);
        if (round % 5 > 0) return;
        expect(await reference.countRows(root, "a"), where).toBe(1);
        expect(await reference.countRows(root, "b", undefined, { branch: "dev" }), where).toBe(1);
        expect(await reference.countRows(root, "a", undefined, { tag: "kept" }), where).toBe(1);
      },
    });
  });
});
