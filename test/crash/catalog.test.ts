/**
 * Crash loop over changes of the catalog. Whatever disk call fails, and however, an engine that opens the
 * root afterwards sees the state before or after the change. Acknowledged changes are there, and the change
 * can be made, or repeated.
 *
 * Each kind of failure has some of the calls to itself; `npm run soak` covers more.
 */

import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { someOf, strideOf } from "../support/effort.js";
import { type FaultMode, FaultyDisk } from "../support/faultyDisk.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

const STRIDE = strideOf("CRASH_STRIDE", 211);

const rowsOf = (...values: number[]) => new Table({ v: vectorFromArray(values, new Int32()) });

/** State of a root: properties of namespaces, rows of tables. */
interface State {
  namespaces: Record<string, unknown>;
  tables: Record<string, unknown>;
}

async function stateOf(ns: DirectoryNamespace): Promise<State> {
  const state: State = { namespaces: {}, tables: {} };
  const visit = async (path: string[]): Promise<void> => {
    for (const name of (await ns.listNamespaces({ id: path })).namespaces) {
      const id = [...path, name];
      state.namespaces[id.join("$")] = (await ns.describeNamespace({ id })).properties;
      await visit(id);
    }
  };
  await visit([]);
  for (const name of (await ns.listAllTables()).tables) {
    const id = name.split("$");
    const { isOnlyDeclared, properties } = await ns.describeTable({ id });
    const rows = isOnlyDeclared
      ? "declared"
      : Array.from((await ns.table(id).scan().toArrow()).getChild("v") ?? [], Number);
    state.tables[name] = { rows, properties };
  }
  return state;
}

/** Makes the start of all scenarios: namespaces a, a.b and z, tables in each and in the root. */
async function prepare(root: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createNamespace({ id: ["a"], properties: { k: "v" } });
  await ns.createNamespace({ id: ["a", "b"] });
  await ns.createNamespace({ id: ["z"] });
  await ns.createTable({ id: ["a", "t"], properties: { p: "1" } }, rowsOf(1));
  await ns.createTable({ id: ["a", "b", "u"] }, rowsOf(2));
  await ns.declareTable({ id: ["a", "d"] });
  await ns.createTable({ id: ["r"] }, rowsOf(3));
  await ns.createTable({ id: ["hidden"] }, rowsOf(4));
  await ns.deregisterTable({ id: ["hidden"] });
  await ns.close();
}

/** Returns an entry of a batch: the only version of a table. */
async function entryOf(ns: DirectoryNamespace, ...id: string[]) {
  const { location } = await ns.describeTable({ id });
  return { id, version: 2, manifestPath: await stageDoubled(location as string, 2) };
}

const scenarios: [name: string, run: (ns: DirectoryNamespace) => Promise<unknown>][] = [
  [
    "batchCommitTables",
    async (ns) =>
      ns.batchCommitTables({
        operations: [
          { createTableVersion: await entryOf(ns, "a", "t") },
          { createTableVersion: await entryOf(ns, "r") },
          { declareTable: { id: ["z", "n"], properties: { x: "y" } } },
          { declareTable: { id: ["n"] } },
          { deregisterTable: { id: ["a", "d"] } },
        ],
      }),
  ],
  ["createNamespace", (ns) => ns.createNamespace({ id: ["a", "n"], properties: { x: "y" } })],
  ["dropNamespace, cascading", (ns) => ns.dropNamespace({ id: ["a"], behavior: "Cascade" })],
  ["createTable in a namespace", (ns) => ns.createTable({ id: ["z", "n"] }, rowsOf(5, 6))],
  ["createTable in the root", (ns) => ns.createTable({ id: ["n"], properties: { x: "y" } }, rowsOf(5, 6))],
  ["declareTable in a namespace", (ns) => ns.declareTable({ id: ["z", "n"], properties: { x: "y" } })],
  ["declareTable in the root", (ns) => ns.declareTable({ id: ["n"], properties: { x: "y" } })],
  [
    "renameTable across namespaces",
    (ns) => ns.renameTable({ id: ["a", "t"], newTableName: "m", newNamespaceId: ["z"] }),
  ],
  ["renameTable in the root", (ns) => ns.renameTable({ id: ["r"], newTableName: "m" })],
  [
    "renameTable into a namespace",
    (ns) => ns.renameTable({ id: ["r"], newTableName: "m", newNamespaceId: ["z"] }),
  ],
  [
    "renameTable into the root",
    (ns) => ns.renameTable({ id: ["a", "t"], newTableName: "m", newNamespaceId: [] }),
  ],
  ["deregisterTable in a namespace", (ns) => ns.deregisterTable({ id: ["a", "t"] })],
  ["deregisterTable in the root", (ns) => ns.deregisterTable({ id: ["r"] })],
  ["registerTable", (ns) => ns.registerTable({ id: ["hidden"], location: "hidden.lance" })],
  ["dropTable in a namespace", (ns) => ns.dropTable({ id: ["a", "t"] })],
  ["dropTable in the root", (ns) => ns.dropTable({ id: ["r"] })],
];

const ways: { title: string; mode: FaultMode; dead: boolean; powerCut: boolean }[] = [
  { title: "a call fails", mode: "before", dead: false, powerCut: false },
  { title: "a call reports failure after its effect", mode: "after", dead: false, powerCut: false },
  { title: "the process dies", mode: "short", dead: true, powerCut: false },
  { title: "the power goes before a call", mode: "before", dead: true, powerCut: true },
  { title: "the power goes after a call", mode: "after", dead: true, powerCut: true },
];

describe.each(someOf(scenarios))("%s", (_name, run) => {
  it("leaves the state before or after it, wherever it is interrupted", async () => {
    const base = await makeTempDir();
    const template = join(base, "template");
    await prepare(template);
    const snapshot = async (root: string): Promise<State> => {
      const ns = new DirectoryNamespace({ root, durability: "none" });
      const state = await stateOf(ns);
      await ns.close();
      return state;
    };
    const before = await snapshot(template);
    const done = join(base, "done");
    await cp(template, done, { recursive: true });
    const engine = new DirectoryNamespace({ root: done, durability: "none" });
    await run(engine);
    await engine.close();
    const after = await snapshot(done);
    expect(after).not.toEqual(before);

    for (const [index, { mode, dead, powerCut }] of ways.entries()) {
      const seen = { before: 0, after: 0 };
      for (let failing = (2 * index) % STRIDE; ; failing += STRIDE) {
        const root = join(base, `${index}-${failing}`, "root");
        await mkdir(dirname(root));
        await cp(template, root, { recursive: true });
        const disk = new FaultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
        disk.failAt(failing, mode, { dead });
        const writer = new DirectoryNamespace({ root, disk });
        let acknowledged = true;
        try {
          await run(writer);
        } catch (error) {
          expect(error, String(error)).toBeInstanceOf(NamespaceError);
          acknowledged = false;
        }
        const { tripped } = disk;
        const where = `${ways[index].title} ${failing}: ${disk.log[failing]}`;
        await writer.close();
        await disk.restart();
        if (powerCut) await disk.loseUnsynced();

        const state = await snapshot(root);
        if (acknowledged) expect(state, where).toEqual(after);
        else expect([before, after], where).toContainEqual(state);
        const isAfter = JSON.stringify(state) === JSON.stringify(after);
        seen[isAfter ? "after" : "before"]++;
        const next = new DirectoryNamespace({ root, durability: "none" });
        if (!isAfter) await run(next);
        await next.createNamespace({ id: ["later"] });
        expect(await stateOf(next), where).toEqual({
          ...after,
          namespaces: { ...after.namespaces, later: {} },
        });
        await next.close();
        if (failing % (3 * STRIDE) === (2 * index) % STRIDE) {
          const tables = Object.keys(after.tables).filter((name) => !name.includes("$"));
          expect(await reference.catalogStep(root, "listTables", []), where).toEqual(tables);
          expect(await reference.catalogStep(root, "describeNamespace", ["later"]), where).toEqual({});
        }
        await disk.dispose();
        await rm(dirname(root), { recursive: true });
        if (!tripped) {
          expect(acknowledged).toBe(true);
          break;
        }
      }
      expect(seen.before, ways[index].title).toBeGreaterThan(0);
      expect(seen.after, ways[index].title).toBeGreaterThan(0);
    }
  });
});
