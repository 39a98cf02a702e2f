/** Crash loop over changes of tags and branches: a new engine sees the refs before or after the change. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { tableFromIPC, tableToIPC } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import { someOf, strideOf } from "../support/effort.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { expectStates, stage, withNamespace } from "./interruptions.js";

const STRIDE = strideOf("CRASH_STRIDE", 47);
const id = ["t"];

async function stateOf(ns: DirectoryNamespace): Promise<Record<string, unknown>> {
  const state: Record<string, unknown> = {};
  for (const [tag, { version, branch }] of Object.entries((await ns.listTableTags({ id })).tags)) {
    state[`tag ${tag}`] = { version, branch, rows: valuesOf(await ns.table(id, { tag }).scan().toArrow()) };
  }
  for (const [branch, contents] of Object.entries((await ns.listTableBranches({ id })).branches)) {
    const { createAt: _, ...rest } = contents;
    const rows = valuesOf(await ns.table(id, { branch }).scan().toArrow());
    state[`branch ${branch}`] = { ...rest, rows, version: await ns.table(id, { branch }).version() };
  }
  return state;
}

/** Makes versions 1 and 2, a tag of the first, and branches dev (with rows), dev/x in it, and deep/down. */
async function prepare(ns: DirectoryNamespace): Promise<void> {
  await ns.createTable({ id }, rowsOf(1));
  await ns.insertIntoTable({ id }, rowsOf(2));
  await ns.createTableTag({ id, tag: "v", version: 1 });
  await ns.createTableBranch({ id, name: "dev", fromVersion: 1 });
  await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(50));
  await ns.createTableBranch({ id, name: "dev/x" });
  await ns.createTableBranch({ id, name: "deep/down", fromBranch: "dev" });
  await ns.createTableBranch({ id, name: "gone" });
  await ns.insertIntoTable({ id, branch: "gone" }, rowsOf(60));
  // A creation that ended before it wrote the ref leaves this state.
  await rm(join(ns.root, "t.lance", "_refs", "branches", "gone.json"));
}

type Step = (ns: DirectoryNamespace) => Promise<unknown>;

/** Consecutive steps; others may see the first ones alone. */
const scenarios: [name: string, ...steps: Step[]][] = [
  ["createTableTag", (ns) => ns.createTableTag({ id, tag: "w", version: 2 })],
  ["updateTableTag", (ns) => ns.updateTableTag({ id, tag: "v", version: 2 })],
  ["deleteTableTag", (ns) => ns.deleteTableTag({ id, tag: "v" })],
  ["createTableBranch", (ns) => ns.createTableBranch({ id, name: "new/one" })],
  ["createTableBranch of a branch", (ns) => ns.createTableBranch({ id, name: "dev/y", fromBranch: "dev" })],
  ["createTableBranch over orphans", (ns) => ns.createTableBranch({ id, name: "gone", fromVersion: 1 })],
  ["deleteTableBranch", (ns) => ns.deleteTableBranch({ id, name: "deep/down" })],
  ["deleteTableBranch in another", (ns) => ns.deleteTableBranch({ id, name: "dev/x" })],
  [
    "deleteTableBranch and createTableBranch of another version",
    (ns) => ns.deleteTableBranch({ id, name: "deep/down" }),
    (ns) => ns.createTableBranch({ id, name: "deep/down", fromVersion: 2 }),
  ],
];

describe.each(someOf(scenarios))("%s", (_name, ...steps) => {
  it("leaves the state before or after it, wherever it is interrupted", async () => {
    const prepared = await stage((root) => withNamespace(root, prepare));
    const { root } = prepared;
    await expectStates(prepared, {
      stride: STRIDE,
      steps,
      stateOf: () => withNamespace(root, stateOf),
      checkDone: ({ round, where }) =>
        withNamespace(root, async (ns) => {
          const branches = Object.keys(await ns.table(id).branches());
          for (const branch of branches) await ns.insertIntoTable({ id, branch }, rowsOf(99));
          if (round % 5 === 0) await expectReference(ns, where);
        }),
    });
  });
});

/** Checks that the reference sees the same refs, writes to the branches, and recreates a deleted one. */
async function expectReference(ns: DirectoryNamespace, where: string): Promise<void> {
  const { root } = ns;
  const { tags } = await ns.listTableTags({ id });
  expect(Object.keys(await reference.listTags(root, "t")).sort(), where).toEqual(Object.keys(tags));
  const branches = Object.keys(await ns.table(id).branches());
  expect(Object.keys(await reference.listBranches(root, "t")).sort(), where).toEqual(branches);
  for (const branch of branches) {
    const rows = valuesOf(await ns.table(id, { branch }).scan().toArrow());
    expect(valuesOf(tableFromIPC(await reference.readTable(root, "t", { branch }))), where).toEqual(rows);
    await reference.appendTable(root, "t", tableToIPC(rowsOf(7)), { branch });
    expect(valuesOf(await ns.table(id, { branch }).scan().toArrow()), where).toEqual([...rows, 7]);
  }
}
