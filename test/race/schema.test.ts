/**
 * Changes a schema while it or rows change. A change between the plan and the commit of another gives the
 * outcome of both in some order, or one of them is refused and leaves nothing.
 */

import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Field, Int32, Schema, Table, tableFromIPC, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { strideOf } from "../support/effort.js";
import { beforeAll, describe, expect, it, sharedDirectory } from "../support/fixtures.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];
/** Step between the changes that get in between of each; `npm run soak` takes more. */
const STRIDE = strideOf("RACE_STRIDE", 11);
const ALWAYS = [
  "v cast, v and x swapped",
  "rows with w appended, the nulls replaced by others",
  "all but x dropped, only v appended",
];

const rowsOf = (...values: (number | null)[]) =>
  new Table(
    new Schema([
      new Field("v", new Int32(), true),
      new Field("x", new Int32(), true),
      new Field("s", new Utf8(), true),
    ]),
    {
      v: vectorFromArray(values, new Int32()),
      x: vectorFromArray(
        values.map((value) => 100 - (value ?? 0)),
        new Int32(),
      ),
      s: vectorFromArray(values.map(String), new Utf8()),
    },
  );

interface Change {
  readonly ours: (ns: DirectoryNamespace) => Promise<unknown>;
  /** Null if the reference has no such call. */
  readonly theirs: ((root: string) => Promise<unknown>) | null;
}

const add = (name: string, expression: string): Change => ({
  ours: (ns) => ns.alterTableAddColumns({ id, newColumns: [{ name, expression }] }),
  theirs: (root) => reference.addColumns(root, "t", { [name]: expression }),
});
const alter = (...alterations: Parameters<typeof reference.alterColumns>[2]): Change => ({
  ours: (ns) => ns.alterTableAlterColumns({ id, alterations }),
  theirs: (root) => reference.alterColumns(root, "t", alterations),
});
const drop = (...columns: string[]): Change => ({
  ours: (ns) => ns.alterTableDropColumns({ id, columns }),
  theirs: (root) => reference.dropColumns(root, "t", columns),
});
const note = (path: string, metadata: Record<string, string | null>, replace: boolean): Change => ({
  ours: (ns) => ns.updateFieldMetadata({ id, updates: [{ path, metadata, replace }] }),
  theirs: (root) => reference.updateFieldMetadata(root, "t", [{ path, metadata, replace }]),
});
const append = (rows: Table): Change => ({
  ours: (ns) => ns.insertIntoTable({ id }, rows),
  theirs: (root) => reference.appendTable(root, "t", tableToIPC(rows)),
});
const WITH_NULLS = new Schema([...rowsOf().schema.fields, new Field("w", new Int32(), true)]);
const NULL_COLUMN = new Table(new Schema([new Field("n", new Int32(), true)]));

const CHANGES: Record<string, Change> = {
  "constants added": add("c", "7"),
  "nulls added": {
    ours: (ns) => ns.alterTableAddColumns({ id, newColumns: [{ name: "n", dataType: { type: "int32" } }] }),
    theirs: (root) => reference.addNullColumns(root, "t", tableToIPC(NULL_COLUMN)),
  },
  "v cast": alter({ path: "v", dataType: { type: "int64" } }),
  "s cast": alter({ path: "s", dataType: { type: "large_string" } }),
  "v and x swapped": alter({ path: "v", rename: "x" }, { path: "x", rename: "v" }),
  "v renamed": alter({ path: "v", rename: "y" }),
  "v not nullable": alter({ path: "v", nullable: false }),
  "s dropped": drop("s"),
  "the nulls dropped": drop("w"),
  // The reference then cannot read its own table.
  "all but the nulls dropped": { ...drop("v", "x", "s"), theirs: null },
  "all but x dropped": drop("v", "s", "w"),
  "a note on s": note("s", { a: "1", k: null }, false),
  "another note on s": note("s", { b: "2" }, true),
  "a note on v": note("v", { a: "3" }, false),
  "a note on the schema": {
    ours: (ns) => ns.updateTableSchemaMetadata({ id, metadata: { owner: "me" } }),
    theirs: null,
  },
  "rows appended": append(rowsOf(10, 11)),
  "a null appended": append(rowsOf(null)),
  "rows with w appended": append(
    new Table(WITH_NULLS, {
      v: vectorFromArray([12], new Int32()),
      x: vectorFromArray([12], new Int32()),
      s: vectorFromArray(["12"], new Utf8()),
      w: vectorFromArray([12], new Int32()),
    }),
  ),
  // No field names the id of w any more, so the new column gets it.
  "the nulls replaced by others": {
    ours: async (ns) => {
      await ns.alterTableDropColumns({ id, columns: ["w"] });
      await ns.alterTableAddColumns({ id, newColumns: [{ name: "n", dataType: { type: "int32" } }] });
    },
    theirs: async (root) => {
      await reference.dropColumns(root, "t", ["w"]);
      await reference.addNullColumns(root, "t", tableToIPC(NULL_COLUMN));
    },
  },
  // Rows appended earlier have no values for the final columns.
  "all replaced by nulls": {
    ours: async (ns) => {
      await ns.alterTableAddColumns({ id, newColumns: [{ name: "n", dataType: { type: "int32" } }] });
      await ns.alterTableDropColumns({ id, columns: ["v", "x", "s", "w"] });
    },
    theirs: null,
  },
  "only v appended": append(new Table({ v: vectorFromArray([13], new Int32()) })),
  "rows overwritten": {
    ours: (ns) => ns.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(20)),
    theirs: (root) => reference.overwriteTable(root, "t", tableToIPC(rowsOf(20))),
  },
  "version 1 restored": {
    ours: (ns) => ns.restoreTable({ id, version: 1 }),
    theirs: (root) => reference.restoreTable(root, "t", 1),
  },
};
/** Row changes by the reference only. */
const REFERENCE_CHANGES: Record<string, (root: string) => Promise<unknown>> = {
  "a row deleted": (root) => reference.deleteRows(root, "t", "v = 1"),
  "a row updated": (root) => reference.updateRows(root, "t", { s: "'changed'" }, "v = 3"),
};
/** Changes of ours without data files, whose only moment is within their commit. */
const WITHOUT_FILES = [
  "nulls added",
  "v and x swapped",
  "v renamed",
  "v not nullable",
  "s dropped",
  "the nulls dropped",
  "all but x dropped",
  "a note on s",
  "another note on s",
  "a note on v",
  "a note on the schema",
  "version 1 restored",
];

const template = sharedDirectory();
/** Columns v, x, s and, all null, w; two fragments; versions 1 to 4. */
beforeAll(async () => {
  await withEngine(template, async (ns) => {
    await ns.createTable({ id }, rowsOf(1, 2, 3));
    await ns.insertIntoTable({ id }, rowsOf(4));
    await ns.alterTableAddColumns({ id, newColumns: [{ name: "w", dataType: { type: "int32" } }] });
    await ns.updateFieldMetadata({ id, updates: [{ path: "s", metadata: { k: "v" } }] });
  });
});

async function withEngine<T>(root: string, work: (ns: DirectoryNamespace) => Promise<T>): Promise<T> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  return await work(ns);
}

async function copyOfTemplate(): Promise<string> {
  const root = join(await makeTempDir(), "root");
  await cp(template, root, { recursive: true });
  return root;
}

/** Formats schema, metadata and rows, which are sorted because commits decide the order of fragments. */
function stateOfTable(table: Table): string {
  const { schema } = table;
  const fields = schema.fields.map(({ name, type, nullable, metadata }) => [
    name,
    String(type),
    nullable,
    [...metadata].sort(),
  ]);
  return JSON.stringify([fields, [...schema.metadata].sort(), table.toArray().map(String).sort()], null, 1);
}

const stateOf = (root: string): Promise<string> =>
  withEngine(root, async (ns) => stateOfTable(await ns.table(id).scan().toArrow()));

/** Returns "ok", the type of our error, or the reference's message. */
const outcomeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: unknown) => (error instanceof NamespaceError ? error.type : String(error)),
  );

/** Result of two changes one after the other: the state, and the outcome of the second. */
interface Sequence {
  readonly state: string;
  readonly outcomes: readonly string[];
}
const sequences = new Map<string, Promise<Sequence>>();
type Run = (root: string) => Promise<unknown>;

function inSequence(key: string, runs: readonly Run[]): Promise<Sequence> {
  const cached = sequences.get(key);
  if (cached !== undefined) return cached;
  const sequence = (async () => {
    const root = await copyOfTemplate();
    const outcomes: string[] = [];
    for (const run of runs) outcomes.push(await outcomeOf(run(root)));
    return { state: await stateOf(root), outcomes };
  })();
  sequences.set(key, sequence);
  return sequence;
}

const byUs =
  ({ ours }: Change): Run =>
  (root) =>
    withEngine(root, ours);

/**
 * @param rival change that gets in between, before `mine` makes its first file in that directory
 * @param otherName unique name of that change
 */
async function expectOneAfterTheOther(
  mine: string,
  otherName: string,
  rival: Run,
  moment: "data" | "_transactions",
): Promise<void> {
  const root = await copyOfTemplate();
  const inner = new NodeDisk({ durability: "none" });
  const isMoment = (verb: string, path: string) => verb === "create" && path.includes(`/t.lance/${moment}/`);
  const disk = interruptedDisk(inner, isMoment, () => rival(root));
  const ns = new DirectoryNamespace({ root, disk });
  const outcome = await outcomeOf(CHANGES[mine].ours(ns));
  await ns.close();
  expect(disk.interrupted).toBe(true);
  const state = await stateOf(root);
  const run = byUs(CHANGES[mine]);
  const otherFirst = await inSequence(`${otherName}, ${mine}`, [rival, run]);
  if (outcome === "ok") {
    const mineFirst = await inSequence(`${mine}, ${otherName}`, [run, rival]);
    const whole = [otherFirst, mineFirst].filter(({ outcomes }) => outcomes.every((each) => each === "ok"));
    expect(whole.map((sequence) => sequence.state)).toContain(state);
  } else {
    expect(["ConcurrentModification", otherFirst.outcomes[1]]).toContain(outcome);
    expect(state).toBe((await inSequence(otherName, [rival])).state);
  }
  await expectNoOrphans(root);
  expect(stateOfTable(tableFromIPC(await reference.readTable(root, "t")))).toBe(state);
}

async function expectNoOrphans(root: string): Promise<void> {
  const before = (await readdir(join(root, "t.lance", "data"))).length;
  await withEngine(root, (ns) => ns.cleanupTable({ id, olderThanMs: 1e12, deleteUnverified: true }));
  expect((await readdir(join(root, "t.lance", "data"))).length).toBe(before);
}

const NAMES = Object.keys(CHANGES);
/** Changes that consist of one commit. */
const SINGLE = NAMES.filter(
  (name) => !["the nulls replaced by others", "all replaced by nulls"].includes(name),
);

const selected = (mine: string, others: readonly string[]): string[] =>
  others.filter(
    (otherName, index) =>
      (index + NAMES.indexOf(mine)) % STRIDE === 0 || ALWAYS.includes(`${mine}, ${otherName}`),
  );

/** Returns the changes with at least one selected rival, because a group without a test fails a run. */
const withTests = (mine: readonly string[], others: readonly string[]): string[] =>
  mine.filter((name) => selected(name, others).length > 0);

const WITH_FILES = SINGLE.filter((name) => !WITHOUT_FILES.includes(name));

describe.each(withTests(WITH_FILES, NAMES))("%s, while others of ours", (mine) => {
  it.each(selected(mine, NAMES))("have %s", async (otherName) => {
    await expectOneAfterTheOther(mine, `we: ${otherName}`, byUs(CHANGES[otherName]), "data");
  });
});

const runOfReference = (name: string) => REFERENCE_CHANGES[name] ?? CHANGES[name].theirs;
const OTHERS = [...NAMES, ...Object.keys(REFERENCE_CHANGES)].filter((name) => runOfReference(name) !== null);

describe.each(withTests(SINGLE, OTHERS))("%s, while the reference", (mine) => {
  const moments = WITHOUT_FILES.includes(mine)
    ? (["_transactions"] as const)
    : (["data", "_transactions"] as const);
  it.each(selected(mine, OTHERS))("has %s", async (otherName) => {
    const run = runOfReference(otherName);
    for (const moment of moments) await expectOneAfterTheOther(mine, `they: ${otherName}`, run, moment);
  });
});
