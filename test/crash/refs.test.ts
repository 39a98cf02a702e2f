/**
 * Crash loop over changes of tags and branches. Whatever disk call fails, and however, an engine that opens
 * the table afterwards sees the refs before or after the change. Acknowledged changes are there, and the
 * change can be made, or repeated.
 *
 * `npm run soak` covers more of the calls than `npm test`; `npm test` tries each kind of failure on some
 * calls.
 */

import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Int32, Table, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { someOf, strideOf } from "../support/effort.js";
import { type FaultMode, FaultyDisk } from "../support/faultyDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const STRIDE = strideOf("CRASH_STRIDE", 47);
const id = ["t"];

const rowsOf = (...values: number[]) => new Table({ v: vectorFromArray(values, new Int32()) });
const valuesOf = (table: Table) => Array.from(table.getChild("v") ?? [], Number);

/** Returns every tag and branch with its rows. */
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

/**
 * Makes the start of all scenarios: versions 1 and 2, a tag of the first, branches dev (with rows), dev/x in
 * it, and deep/down. If a branch is deleted and made again, its version differs.
 */
async function prepare(root: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
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
  await rm(join(root, "t.lance", "_refs", "branches", "gone.json"));
  await ns.close();
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

const ways: { title: string; mode: FaultMode; dead: boolean; powerCut: boolean }[] = [
  { title: "a call fails", mode: "before", dead: false, powerCut: false },
  { title: "a call reports failure after its effect", mode: "after", dead: false, powerCut: false },
  { title: "the process dies", mode: "short", dead: true, powerCut: false },
  { title: "the power goes before a call", mode: "before", dead: true, powerCut: true },
  { title: "the power goes after a call", mode: "after", dead: true, powerCut: true },
];

describe.each(someOf(scenarios))("%s", (_name, ...steps) => {
  it("leaves the state before or after it, wherever it is interrupted", async () => {
    const base = await makeTempDir();
    const template = join(base, "template");
    await prepare(template);
    const snapshot = async (root: string) => {
      const ns = new DirectoryNamespace({ root, durability: "none" });
      const state = await stateOf(ns);
      await ns.close();
      return state;
    };
    const before = await snapshot(template);
    const done = join(base, "done");
    await cp(template, done, { recursive: true });
    const engine = new DirectoryNamespace({ root: done, durability: "none" });
    const states = [before];
    for (const step of steps) {
      await step(engine);
      states.push(await snapshot(done));
    }
    await engine.close();
    const after = states[steps.length];
    expect(after).not.toEqual(before);
    /** Takes the steps that follow a state. */
    const goOn = async (ns: DirectoryNamespace, from: number) => {
      for (const step of steps.slice(from)) await step(ns);
    };

    for (const [index, { title, mode, dead, powerCut }] of ways.entries()) {
      const seen = { before: 0, after: 0 };
      for (let failing = index % STRIDE; ; failing += STRIDE) {
        const root = join(base, `${index}-${failing}`, "root");
        await mkdir(dirname(root));
        await cp(template, root, { recursive: true });
        const disk = new FaultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
        disk.failAt(failing, mode, { dead });
        const writer = new DirectoryNamespace({ root, disk });
        let acknowledged = true;
        try {
          await goOn(writer, 0);
        } catch (error) {
          expect(error, String(error)).toBeInstanceOf(NamespaceError);
          acknowledged = false;
        }
        const { tripped } = disk;
        const where = `${title} ${failing}: ${disk.log[failing]}`;
        await writer.close();
        await disk.restart();
        if (powerCut) await disk.loseUnsynced();

        const state = await snapshot(root);
        if (acknowledged) expect(state, where).toEqual(after);
        else expect(states, where).toContainEqual(state);
        const taken = states.findIndex((each) => isDeepStrictEqual(each, state));
        seen[taken === steps.length ? "after" : "before"]++;
        const next = new DirectoryNamespace({ root, durability: "none" });
        await goOn(next, taken);
        expect(await stateOf(next), where).toEqual(after);
        const branches = Object.keys(await next.table(id).branches());
        for (const branch of branches) await next.insertIntoTable({ id, branch }, rowsOf(99));
        await next.close();
        if (failing % (5 * STRIDE) === index % STRIDE) await expectReference(root, where);
        await disk.dispose();
        await rm(dirname(root), { recursive: true });
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

/** Checks that the reference sees the same refs, writes to the branches, and recreates a deleted one. */
async function expectReference(root: string, where: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
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
  await ns.close();
}
