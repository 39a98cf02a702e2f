/** Crash loop over finishing another process's batch: the next attempt finds all of it done or all undone. */

import { copyFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { strideOf } from "../support/effort.js";
import { rowsOf } from "../support/intRows.js";
import { refusingDisk } from "../support/leftBatches.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { interrupt, stage, WAYS, withNamespace } from "./interruptions.js";

const STRIDE = strideOf("CRASH_STRIDE", 127);

async function stateOf(ns: DirectoryNamespace): Promise<Record<string, unknown>> {
  // Any read of a table of the batch, here of one that blocks it, finishes the batch.
  await ns.describeTable({ id: ["a"] });
  const state: Record<string, unknown> = {};
  for (const name of (await ns.listAllTables()).tables) {
    const id = name.split("$");
    const { isOnlyDeclared, properties } = await ns.describeTable({ id });
    const counts: Record<number, number> = {};
    const versions =
      name === "spoiled" || isOnlyDeclared ? [] : (await ns.listTableVersions({ id })).versions;
    for (const { version } of versions) counts[version] = await ns.countTableRows({ id, version });
    state[name] = { counts, properties };
  }
  return state;
}

/** Makes tables `a` and `b`, and a batch whose process died after `parts` of its versions. */
async function prepare(root: string, parts: number, isPossible: boolean): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createNamespace({ id: ["n"] });
  for (const name of ["a", "b", "c", "gone"]) await ns.createTable({ id: [name] }, rowsOf(1));
  for (const value of [2, 3]) await ns.insertIntoTable({ id: ["c"] }, rowsOf(value));
  await ns.createTable({ id: ["n", "gone"], properties: { p: "1" } }, rowsOf(1));
  await ns.close();
  const entryOf = async (name: string) => ({
    createTableVersion: {
      id: [name],
      version: 2,
      manifestPath: await stageDoubled(join(root, `${name}.lance`), 2),
    },
  });
  const operations = [
    { declareTable: { id: ["x"] } },
    { declareTable: { id: ["n", "y"] } },
    await entryOf("a"),
    await entryOf("b"),
    { deregisterTable: { id: ["gone"] } },
    { deregisterTable: { id: ["n", "gone"] } },
    { deleteTableVersions: { id: ["c"], ranges: [{ startVersion: 1, endVersion: 3 }] } },
  ];
  let published = 0;
  let isDead = false;
  const dying = refusingDisk(new NodeDisk({ durability: "none" }), (verb, [, path = ""]) => {
    if (verb === "link" && /[ab]\.lance.*\.manifest$/.test(path)) isDead ||= published++ === parts;
    if (verb === "rename" && /retired/.test(path)) isDead = true;
    return isDead ? "EIO" : undefined;
  });
  const dead = new DirectoryNamespace({ root, durability: "none", disk: dying } as never);
  await expect(dead.batchCommitTables({ operations })).rejects.toThrow(/is decided/);
  await dead.close();
  if (isPossible) return;
  // Manifests of both naming schemes: a table without a latest version.
  const versions = join(root, "b.lance", "_versions");
  const [name] = (await readdir(versions)).filter((each) => /^\d{20}\.manifest$/.test(each));
  await copyFile(join(versions, name), join(versions, "1.manifest"));
}

const scenarios: [name: string, parts: number, isPossible: boolean][] = [
  ["not begun is done", 0, true],
  ["half done is done", 1, true],
  ["almost done is done", 2, true],
  ["half done, and impossible by now, is undone", 1, false],
];

describe.each(scenarios)("a batch that is %s", (_name, parts, isPossible) => {
  it("is finished or undone as a whole, wherever its finishers end", async () => {
    const prepared = await stage((root) => prepare(root, parts, isPossible));
    const { root } = prepared;
    const mend = async () => {
      if (!isPossible) await rm(join(root, "b.lance", "_versions", "1.manifest"));
    };
    const finish = (ns: DirectoryNamespace) => ns.describeTable({ id: ["a"] });
    await withNamespace(root, finish);
    await mend();
    const after = await withNamespace(root, stateOf);
    expect(Object.keys(after)).toEqual(
      isPossible ? ["a", "b", "c", "n$y", "x"] : ["a", "b", "c", "gone", "n$gone"],
    );
    expect(after.a).toMatchObject({ counts: isPossible ? { 1: 1, 2: 2 } : { 1: 1 } });
    expect(after.b).toMatchObject({ counts: isPossible ? { 1: 1, 2: 2 } : { 1: 1 } });

    for (const way of WAYS) {
      const operation = { stride: STRIDE, first: 2 * way.index, run: finish };
      await interrupt(prepared, way, operation, async ({ where }) => {
        await withNamespace(root, finish);
        await mend();
        expect(await withNamespace(root, stateOf), where).toEqual(after);
        const left = await readdir(join(root, ".tiltyard-batches"), { recursive: true }).catch(() => []);
        expect(left, where).toEqual([]);
      });
    }
    expect(await reference.countRows(root, "a")).toBe(isPossible ? 2 : 1);
  });
});
