/**
 * Crash loop over changes of a schema and its metadata. Whatever disk call fails, and however, an engine that
 * opens the table afterwards sees schema, metadata and rows before or after the change, on the branch too.
 * Acknowledged changes are there, and the change can be made, or repeated.
 *
 * `npm run soak` covers more of the calls than `npm test`; `npm test` tries each kind of failure on some
 * calls.
 */

import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Field, Int32, Schema, Table, tableFromIPC, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { strideOf } from "../support/effort.js";
import { type FaultMode, FaultyDisk } from "../support/faultyDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

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

/**
 * Returns schema, metadata and rows of main and of the branch, without versions, which a repeated change
 * increments.
 */
async function stateOf(root: string): Promise<Record<string, unknown>> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  const state = {
    main: contentOf(await ns.table(id).scan().toArrow()),
    branch: contentOf(await ns.table(id, { branch: BRANCH }).scan().toArrow()),
  };
  await ns.close();
  return state;
}

/**
 * Makes columns v, s and w, the last all null; two fragments, the first with a deleted row; and a branch with
 * a fragment of its own.
 */
async function prepare(root: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(1, 2, 3));
  await ns.insertIntoTable({ id }, rowsOf(4, 5));
  await reference.deleteRows(root, "t", "v = 2");
  await ns.alterTableAddColumns({ id, newColumns: [{ name: "w", dataType: { type: "int32" } }] });
  await ns.updateFieldMetadata({ id, updates: [{ path: "s", metadata: { a: "1", b: "2" } }] });
  await ns.createTableBranch({ id, name: BRANCH });
  await ns.close();
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

const ways: { title: string; mode: FaultMode; dead: boolean; powerCut: boolean }[] = [
  { title: "a call fails", mode: "before", dead: false, powerCut: false },
  { title: "a call reports failure after its effect", mode: "after", dead: false, powerCut: false },
  { title: "the process dies", mode: "short", dead: true, powerCut: false },
  { title: "the power goes before a call", mode: "before", dead: true, powerCut: true },
  { title: "the power goes after a call", mode: "after", dead: true, powerCut: true },
];

describe.each(scenarios)("%s", (_name, run) => {
  it("leaves the state before or after it, wherever it is interrupted", async () => {
    const base = await makeTempDir();
    // Prepare in place: the branch refers to its source by an absolute path.
    const root = join(base, "inner", "root");
    const template = join(base, "template");
    await mkdir(dirname(root));
    await prepare(root);
    await cp(root, template, { recursive: true });
    const before = await stateOf(root);
    const filesBefore = await dataFiles(root);
    await changeAt(root, run);
    const after = await stateOf(root);
    const filesAfter = await dataFiles(root);
    expect(after).not.toEqual(before);

    for (const [index, { title, mode, dead, powerCut }] of ways.entries()) {
      const seen = { before: 0, after: 0 };
      for (let failing = index % STRIDE; ; failing += STRIDE) {
        await rm(root, { recursive: true });
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
        const where = `${title} ${failing}: ${disk.log[failing]}`;
        await writer.close();
        await disk.restart();
        if (powerCut) await disk.loseUnsynced();

        const state = await stateOf(root);
        if (acknowledged) expect(state, where).toEqual(after);
        else expect([before, after], where).toContainEqual(state);
        const isAfter = JSON.stringify(state) === JSON.stringify(after);
        seen[isAfter ? "after" : "before"]++;
        // A surviving writer cleans up, except for the file whose removal failed.
        if (!dead && !disk.log[failing]?.startsWith("remove")) {
          expect((await dataFiles(root)).length, where).toBe((isAfter ? filesAfter : filesBefore).length);
        }
        if (!isAfter) await changeAt(root, run);
        expect(await stateOf(root), where).toEqual(after);
        if (failing % (4 * STRIDE) === index % STRIDE) await expectReference(root, after, where);
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

async function changeAt(root: string, run: Run): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await run(ns);
  await ns.close();
}

/** Returns data files of main and of the branch; none is incomplete. */
async function dataFiles(root: string): Promise<string[]> {
  const places = [join(root, "t.lance", "data"), join(root, "t.lance", "tree", BRANCH, "data")];
  const names = await Promise.all(places.map((location) => readdir(location).catch(() => [])));
  return names.flat();
}

/** Checks that the reference sees the same, and adds rows, on main and on the branch. */
async function expectReference(root: string, state: Record<string, unknown>, where: string): Promise<void> {
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
