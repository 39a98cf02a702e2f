/** Changes a table while it is compacted: no row is lost, doubled or restored, and no copies remain. */

import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { type Table, tableFromIPC } from "apache-arrow";
import { DirectoryNamespace, type NamespaceError, ServiceUnavailableError } from "tiltyard";
import { connect, Index, type Table as ReferenceTable } from "tiltyard-reference/session.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { describe, expect, it } from "../support/fixtures.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { ipcOf, rowsOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";
import { latestFile } from "../table/support.js";

const id = ["t"];
const valuesOf = (table: Table) => Array.from(table.getChild("v") ?? table.getChildAt(0) ?? [], Number);
const count = (from: number, length: number) => Array.from({ length }, (_, index) => from + index);

async function prepare(root: string, ns: DirectoryNamespace): Promise<void> {
  await ns.createTable({ id }, rowsOf(...count(0, 10)));
  for (let part = 1; part < 12; part++) await ns.insertIntoTable({ id }, rowsOf(...count(part * 10, 10)));
  expect(await fragmentCount(root)).toBe(12);
}
const TARGET = 30;
const ROWS = count(0, 120);
const fragmentCount = async (root: string) =>
  (await latestFile(join(root, "t.lance"))).manifest.fragments.length;
const dataFiles = async (root: string) => (await readdir(join(root, "t.lance", "data"))).length;

/** Moments of the change: before the call with this number, from 1, of a verb in a directory. */
const MOMENTS = {
  "before the first file": { verb: "create", directory: "data", number: 1, isLocked: false },
  "between two files": { verb: "create", directory: "data", number: 3, isLocked: false },
  "after the last file": { verb: "syncDirectory", directory: "data", number: 4, isLocked: false },
  "while ids are reserved": { verb: "create", directory: "_transactions", number: 1, isLocked: true },
  "while it is committed": { verb: "create", directory: "_transactions", number: 2, isLocked: true },
} as const;
type Moment = keyof typeof MOMENTS;
const ALL = Object.keys(MOMENTS) as Moment[];
const UNLOCKED = ALL.filter((moment) => !MOMENTS[moment].isLocked);

interface Raced {
  readonly root: string;
  /** Outcome of the compaction: an answer, or the type of the error. */
  readonly outcome: object | string;
  readonly rows: number[];
}

async function race(
  moment: Moment,
  change: (ns: DirectoryNamespace, root: string) => Promise<unknown>,
): Promise<Raced> {
  const root = await makeTempDir();
  await using rival = new DirectoryNamespace({ root, durability: "none" });
  await prepare(root, rival);
  const { directory, number, ...when } = MOMENTS[moment];
  let calls = 0;
  const disk = interruptedDisk(
    new NodeDisk({ durability: "none" }),
    (verb, path) => verb === when.verb && path.includes(join("t.lance", directory)) && ++calls === number,
    () => change(rival, root),
  );
  const ours = new DirectoryNamespace({ root, durability: "none", disk } as { root: string });
  const outcome = await ours
    .optimizeTable({ id, targetRowsPerFragment: TARGET })
    .catch((error: NamespaceError) => error.type);
  expect(disk.interrupted).toBe(true);
  await ours.close();
  const exists = await rival.table(id).exists();
  const rows = exists ? valuesOf(await rival.table(id).scan().toArrow()) : [];
  if (exists) {
    expect(valuesOf(tableFromIPC(await reference.readTable(root, "t")))).toEqual(rows);
    // Each remaining data file is needed by a version.
    const before = await dataFiles(root);
    await rival.cleanupTable({ id, olderThanMs: 1e12, deleteUnverified: true });
    expect(await dataFiles(root)).toBe(before);
  }
  return { root, outcome, rows };
}

async function columnsOf(root: string): Promise<Record<string, number[]>> {
  const ns = new DirectoryNamespace({ root });
  const table = await ns.table(id).scan().toArrow();
  await ns.close();
  return Object.fromEntries(
    table.schema.fields.map(({ name }) => [name, Array.from(table.getChild(name) ?? [], Number)]),
  );
}

async function withReference(root: string, use: (table: ReferenceTable) => Promise<unknown>): Promise<void> {
  const connection = await connect(root);
  await use(await connection.openTable("t"));
  connection.close();
}

describe.each(ALL)("%s, the reference", (moment) => {
  it("appends rows", async () => {
    const { root, outcome, rows } = await race(moment, (_, root) =>
      reference.appendTable(root, "t", ipcOf(200, 201)),
    );
    expect(outcome).toMatchObject({ fragmentsRemoved: 12, fragmentsAdded: 4 });
    // The new rows precede the merged fragments, whose ids are higher, or follow them.
    expect([...rows].sort((a, b) => a - b)).toEqual([...ROWS, 200, 201]);
    expect(await fragmentCount(root)).toBe(5);
  });

  it("deletes rows of two fragments", async () => {
    const { root, outcome, rows } = await race(moment, (_, root) =>
      reference.deleteRows(root, "t", "v = 15 OR v >= 110"),
    );
    expect(outcome).toMatchObject({ fragmentsRemoved: 11, fragmentsAdded: 3 });
    expect(rows).toEqual(count(0, 110).filter((value) => value !== 15));
    expect(await fragmentCount(root)).toBe(3);
  });

  it("updates rows", async () => {
    const { rows } = await race(moment, (_, root) =>
      reference.updateRows(root, "t", { v: "v + 1000" }, "v IN (5, 64)"),
    );
    const others = ROWS.filter((value) => value !== 5 && value !== 64);
    expect([...rows].sort((a, b) => a - b)).toEqual([...others, 1005, 1064]);
  });

  it("compacts the table", async () => {
    const { root, outcome, rows } = await race(moment, (_, root) => reference.optimizeTable(root, "t"));
    expect(outcome).toMatchObject({ fragmentsRemoved: 0, fragmentsAdded: 0 });
    expect(outcome).not.toHaveProperty("transactionId");
    expect(rows).toEqual(ROWS);
    expect(await fragmentCount(root)).toBe(1);
  });

  it("replaces all rows, and restores others", async () => {
    const replaced = await race(moment, (_, root) => reference.overwriteTable(root, "t", ipcOf(1, 2)));
    expect(replaced.outcome).toMatchObject({ fragmentsRemoved: 0 });
    expect(replaced.rows).toEqual([1, 2]);
    const restored = await race(moment, (_, root) => reference.restoreTable(root, "t", 4));
    expect(restored.outcome).toMatchObject({ fragmentsRemoved: 4, fragmentsAdded: 1 });
    expect(restored.rows).toEqual(count(0, 40));
  });

  it("adds, renames and drops columns", async () => {
    const { root, outcome, rows } = await race(moment, async (_, root) => {
      await reference.addColumns(root, "t", { twice: "v * 2", seven: "7" });
      await reference.alterColumns(root, "t", [{ path: "v", rename: "w" }]);
      await reference.dropColumns(root, "t", ["seven"]);
    });
    expect(outcome).toMatchObject({ fragmentsRemoved: 12, fragmentsAdded: 4 });
    expect(rows).toEqual(ROWS);
    expect(await columnsOf(root)).toEqual({ w: ROWS, twice: ROWS.map((value) => value * 2) });
  });

  it("makes an index", async () => {
    const { root, outcome, rows } = await race(moment, (_, root) =>
      withReference(root, (table) => table.createIndex("v", { config: Index.btree() })),
    );
    expect(outcome).toMatchObject({ fragmentsRemoved: 12, indexedFragmentsLeft: 0 });
    expect(rows).toEqual(ROWS);
    expect(await reference.countRows(root, "t", "v >= 17 AND v < 64")).toBe(47);
  });
});

describe.each(UNLOCKED)("%s, another engine", (moment) => {
  it("appends rows and compacts the table", async () => {
    const { root, outcome, rows } = await race(moment, async (ns) => {
      await ns.optimizeTable({ id, targetRowsPerFragment: 60 });
      await ns.insertIntoTable({ id }, rowsOf(200));
    });
    expect(outcome).toMatchObject({ fragmentsRemoved: 0, fragmentsAdded: 0 });
    expect(rows).toEqual([...ROWS, 200]);
    expect(await fragmentCount(root)).toBe(3);
  });

  it("casts and drops columns", async () => {
    const { root, outcome } = await race(moment, async (ns) => {
      await ns.alterTableAddColumns({ id, newColumns: [{ name: "seven", expression: "7" }] });
      await ns.alterTableAlterColumns({ id, alterations: [{ path: "v", dataType: { type: "int64" } }] });
      await ns.alterTableAddColumns({ id, newColumns: [{ name: "none", dataType: { type: "int32" } }] });
      await ns.alterTableDropColumns({ id, columns: ["none"] });
    });
    expect(outcome).toMatchObject({ fragmentsRemoved: 12, fragmentsAdded: 4 });
    expect(await columnsOf(root)).toEqual({ v: ROWS, seven: ROWS.map(() => 7) });
  });

  it("cleans up the version that is read, after others", async () => {
    const { outcome, rows } = await race(moment, async (ns) => {
      await ns.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(...count(0, 10)));
      await ns.insertIntoTable({ id }, rowsOf(...count(10, 10)));
      await ns.cleanupTable({ id, olderThanMs: 0 });
    });
    expect(outcome).toMatchObject({ fragmentsRemoved: 2, fragmentsAdded: 1 });
    expect(rows).toEqual(count(0, 20));
  });

  it("drops and recreates the table", async () => {
    const dropped = await race(moment, (ns) => ns.dropTable({ id }));
    expect(["TableNotFound", "ConcurrentModification"]).toContain(dropped.outcome);
    expect(await readdir(dropped.root)).not.toContain("t.lance");
    const remade = await race(moment, async (ns) => {
      await ns.dropTable({ id });
      await ns.createTable({ id }, rowsOf(1));
      for (let version = 2; version <= 14; version++) await ns.insertIntoTable({ id }, rowsOf(version));
    });
    expect(remade.rows).toEqual(count(1, 14));
    if (typeof remade.outcome === "string") expect(remade.outcome).toBe("ConcurrentModification");
  });
});

it("reserved ids may belong to a version that was made before and published after", async () => {
  const root = await makeTempDir();
  await using rival = new DirectoryNamespace({ root, durability: "none" });
  await prepare(root, rival);
  const manifestPath = await stageDoubled(join(root, "t.lance"), 20);
  let calls = 0;
  const disk = interruptedDisk(
    new NodeDisk({ durability: "none" }),
    (verb, path) => verb === "create" && path.includes("_transactions") && ++calls === 2,
    () => rival.createTableVersion({ id, version: 20, manifestPath }),
  );
  const ours = new DirectoryNamespace({ root, durability: "none", disk } as { root: string });
  await ours.optimizeTable({ id, targetRowsPerFragment: TARGET });
  expect(disk.interrupted).toBe(true);
  await ours.close();
  const ids = (await latestFile(join(root, "t.lance"))).manifest.fragments.map((fragment) => fragment.id);
  expect(new Set(ids).size).toBe(ids.length);
  const rows = valuesOf(tableFromIPC(await reference.readTable(root, "t"))).sort((a, b) => a - b);
  expect(rows).toEqual([...ROWS, ...ROWS].sort((a, b) => a - b));
});

it("a commit notices files that a cleanup removed as orphans", async () => {
  const { outcome, rows } = await race("after the last file", async (ns, root) => {
    const data = join(root, "t.lance", "data");
    const old = new Date(Date.now() - 1000 * 60 * 60);
    for (const name of await readdir(data)) await utimes(join(data, name), old, old);
    await ns.cleanupTable({ id, deleteUnverified: true });
  });
  expect(outcome).toBe("ConcurrentModification");
  expect(rows).toEqual(ROWS);
});

it("an aborted compaction leaves nothing", async ({ root, ns }) => {
  await prepare(root, ns);
  const before = await directorySnapshot(root);
  for (const number of [1, 2, 4]) {
    const controller = new AbortController();
    let calls = 0;
    const disk = interruptedDisk(
      new NodeDisk({ durability: "none" }),
      (verb, path) => verb === "create" && path.includes("data") && ++calls === number,
      async () => controller.abort(),
    );
    await using ours = new DirectoryNamespace({ root, durability: "none", disk } as { root: string });
    const compaction = ours.optimizeTable({ id, targetRowsPerFragment: TARGET, signal: controller.signal });
    await expect(compaction).rejects.toBeInstanceOf(ServiceUnavailableError);
    expect(await directorySnapshot(root)).toEqual(before);
  }
});
