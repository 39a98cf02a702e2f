/**
 * Crash loop over changes of the catalog: a new engine sees the state before or after the change, and the
 * change can be made or repeated.
 */

import type { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import { someOf, strideOf } from "../support/effort.js";
import { rowsOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { expectStates, stage, withNamespace } from "./interruptions.js";

const STRIDE = strideOf("CRASH_STRIDE", 211);

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

async function prepare(ns: DirectoryNamespace): Promise<void> {
  await ns.createNamespace({ id: ["a"], properties: { k: "v" } });
  await ns.createNamespace({ id: ["a", "b"] });
  await ns.createNamespace({ id: ["z"] });
  await ns.createTable({ id: ["a", "t"], properties: { p: "1" } }, rowsOf(1));
  await ns.createTable({ id: ["a", "b", "u"] }, rowsOf(2));
  await ns.declareTable({ id: ["a", "d"] });
  await ns.createTable({ id: ["r"] }, rowsOf(3));
  await ns.createTable({ id: ["hidden"] }, rowsOf(4));
  await ns.deregisterTable({ id: ["hidden"] });
}

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

describe.each(someOf(scenarios))("%s", (_name, run) => {
  it("leaves the state before or after it, wherever it is interrupted", async () => {
    const prepared = await stage((root) => withNamespace(root, prepare));
    const { root } = prepared;
    await expectStates(prepared, {
      stride: STRIDE,
      spread: 2,
      steps: [run],
      stateOf: () => withNamespace(root, stateOf),
      async checkDone({ round, where }) {
        const before = await withNamespace(root, stateOf);
        await withNamespace(root, (ns) => ns.createNamespace({ id: ["later"] }));
        const namespaces = { ...before.namespaces, later: {} };
        expect(await withNamespace(root, stateOf), where).toEqual({ ...before, namespaces });
        if (round % 3 > 0) return;
        const tables = Object.keys(before.tables).filter((name) => !name.includes("$"));
        expect(await reference.catalogStep(root, "listTables", []), where).toEqual(tables);
        expect(await reference.catalogStep(root, "describeNamespace", ["later"]), where).toEqual({});
      },
    });
  });
});
