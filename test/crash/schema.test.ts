/**
 * Crash loop over changes of a schema and its metadata: a new engine sees them before or after the change,
 * on the branch too.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Field, Int32, Schema, Table, tableFromIPC, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import { strideOf } from "../support/effort.js";
import { reference } from "../support/reference.js";
import { expectStates, stage, withNamespace } from "./interruptions.js";

const STRIDE = strideOf("CRASH_STRIDE", 83);
const id = ["t"];
const BRANCH = "dev";

const rowsOf = (...values: number[]) =>
  new Table(new Schema([new Field("v", new Int32(), true), new Field("s", new Utf8(), true)]), {
    v: vectorFromArray(values, new Int32()),
    s: vectorFromArray(values.map(String), new Utf8()),
  });

const shapeOf = ({ fields, metadata }: Schema) => ({
  fields: fields.map(({ name, type, nullable, metadata }) => [
    name,
    String(type),
    nullable,
    [...metadata].sort(),
  ]),
  metadata: [...metadata].sort(),
});

const contentOf = (table: Table) => ({ ...shapeOf(table.schema), rows: table.toArray().map(String) });

/** Returns schema, metadata and rows of main and of the branch, without version numbers. */
const stateOf = async (ns: DirectoryNamespace) => ({
  main: contentOf(await ns.table(id).scan().toArrow()),
  branch: contentOf(await ns.table(id, { branch: BRANCH }).scan().toArrow()),
});

/**
 * Makes columns v, s and w (all null), two fragments, one with a deleted row, and a branch with a fragment.
 */
async function prepare(ns: DirectoryNamespace): Promise<void> {
  const { root } = ns;
  await ns.createTable({ id }, rowsOf(1, 2, 3));
  await ns.insertIntoTable({ id }, rowsOf(4, 5));
  await reference.deleteRows(root, "t", "v = 2");
  await ns.alterTableAddColumns({ id, newColumns: [{ name: "w", dataType: { type: "int32" } }] });
  await ns.updateFieldMetadata({ id, updates: [{ path: "s", metadata: { a: "1", b: "2" } }] });
  await ns.createTableBranch({ id, name: BRANCH });
  // The reference adds to the branch, so that its fragment has no file for w.
  await reference.appendTable(root, "t", tableToIPC(rowsOf(50)), { branch: BRANCH });
}

type Run = (ns: DirectoryNamespace) => Promise<unknown>;

const scenarios: [name: string, run: Run][] = [
  [
    "updateFieldMetadata",
    (ns) =>
      ns.updateFieldMetadata({
        id,
        updates: [
          { path: "s", metadata: { a: null, c: "3" } },
          { path: "v", metadata: { k: "v" }, replace: true },
        ],
      }),
  ],
  ["updateTableSchemaMetadata", (ns) => ns.updateTableSchemaMetadata({ id, metadata: { owner: "me" } })],
  [
    "alterTableAddColumns, constants",
    (ns) =>
      ns.alterTableAddColumns({
        id,
        newColumns: [
          { name: "c", expression: "7" },
          { name: "d", dataType: { type: "utf8" } },
          { name: "e", expression: "'text'" },
        ],
      }),
  ],
  [
    "alterTableAddColumns, nulls",
    (ns) => ns.alterTableAddColumns({ id, newColumns: [{ name: "d", dataType: { type: "float64" } }] }),
  ],
  [
    "alterTableAlterColumns, names and nullability",
    (ns) =>
      ns.alterTableAlterColumns({
        id,
        alterations: [
          { path: "v", rename: "s", nullable: false },
          { path: "s", rename: "v" },
        ],
      }),
  ],
  [
    "alterTableAlterColumns, types",
    (ns) =>
      ns.alterTableAlterColumns({
        id,
        alterations: [
          { path: "v", dataType: { type: "int64" } },
          { path: "s", dataType: { type: "large_utf8" }, rename: "text" },
        ],
      }),
  ],
  ["alterTableDropColumns", (ns) => ns.alterTableDropColumns({ id, columns: ["s"] })],
  ["alterTableDropColumns, all but nulls", (ns) => ns.alterTableDropColumns({ id, columns: ["s", "v"] })],
  [
    "alterTableAddColumns on a branch",
    (ns) => ns.alterTableAddColumns({ id, branch: BRANCH, newColumns: [{ name: "c", expression: "1.5" }] }),
  ],
  [
    "alterTableAlterColumns on a branch",
    (ns) =>
      ns.alterTableAlterColumns({
        id,
        branch: BRANCH,
        alterations: [{ path: "v", dataType: { type: "int64" } }],
      }),
  ],
  [
    "alterTableDropColumns on a branch",
    (ns) => ns.alterTableDropColumns({ id, branch: BRANCH, columns: ["s"] }),
  ],
  [
    "updateFieldMetadata on a branch",
    (ns) => ns.updateFieldMetadata({ id, branch: BRANCH, updates: [{ path: "s", metadata: { a: null } }] }),
  ],
];

describe.each(scenarios)("%s", (_name, run) => {
  it("leaves the state before or after it, wherever it is interrupted", async () => {
    const prepared = await stage((root) => withNamespace(root, prepare));
    const { root } = prepared;
    const filesBefore = await dataFiles(root);
    await withNamespace(root, run);
    const filesAfter = await dataFiles(root);
    await expectStates(prepared, {
      stride: STRIDE,
      steps: [run],
      stateOf: () => withNamespace(root, stateOf),
      async checkLeft({ call, where }, { dead }, isDone) {
        // A surviving writer cleans up, except for the file whose removal failed.
        if (dead || call?.startsWith("remove")) return;
        expect((await dataFiles(root)).length, where).toBe((isDone ? filesAfter : filesBefore).length);
      },
      async checkDone({ round, where }) {
        if (round % 4 === 0) await expectReference(root, where);
      },
    });
  });
});

/** Returns data files of main and of the branch; none is incomplete. */
async function dataFiles(root: string): Promise<string[]> {
  const places = [join(root, "t.lance", "data"), join(root, "t.lance", "tree", BRANCH, "data")];
  const names = await Promise.all(places.map((location) => readdir(location).catch(() => [])));
  return names.flat();
}

/** Checks that the reference sees the same, and adds rows, on main and on the branch. */
async function expectReference(root: string, where: string): Promise<void> {
  const state = await withNamespace(root, stateOf);
  for (const [line, options] of [
    ["main", {}],
    ["branch", { branch: BRANCH }],
  ] as const) {
    const seen = tableFromIPC(await reference.readTable(root, "t", options));
    expect(contentOf(seen), where).toEqual(state[line]);
    await reference.appendTable(root, "t", tableToIPC(seen.slice(0, 1)), options);
    expect(await reference.countRows(root, "t", undefined, options), where).toBe(seen.numRows + 1);
  }
}
