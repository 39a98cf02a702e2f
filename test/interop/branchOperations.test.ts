import { cp, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Table, tableFromIPC, tableToIPC } from "apache-arrow";
import {
  DirectoryNamespace,
  InvalidInputError,
  InvalidTableStateError,
  TableBranchNotFoundError,
  TableTagNotFoundError,
  TableVersionNotFoundError,
} from "tiltyard";
import { describe, expect } from "vitest";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { it } from "../support/fixtures.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];
const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value));
const readThere = async (root: string, branch?: string) =>
  valuesOf(tableFromIPC(await reference.readTable(root, "t", { branch })));

/** Main has 1, 3 and 4; branch dev adds 10 and deletes 11; dev/sub adds 20. */
async function layDown(root: string, maker: "us" | "them"): Promise<DirectoryNamespace> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(1, 2));
  await ns.insertIntoTable({ id }, rowsOf(3, 4));
  await reference.deleteRows(root, "t", "v = 2");
  const create = (name: string, fromBranch?: string) =>
    maker === "us"
      ? ns.createTableBranch({ id, name, fromBranch })
      : reference.createBranch(root, "t", name, { fromBranch });
  await create("dev");
  await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(10, 11));
  await create("dev/sub", "dev");
  await ns.insertIntoTable({ id, branch: "dev/sub" }, rowsOf(20));
  await reference.deleteRows(root, "t", "v = 11", { branch: "dev" });
  return ns;
}

describe.each(["us", "them"] as const)("on a branch made by %s", (maker) => {
  it("every operation sees and changes that branch alone", async ({ root }) => {
    const ns = await layDown(root, maker);
    const branch = "dev";
    const dev = ns.table(id, { branch });
    const expected = [1, 3, 4, 10];
    expect(valuesOf(await dev.scan().toArrow())).toEqual(expected);
    expect(valuesOf(await dev.scan({ offset: 1, limit: 2 }).toArrow())).toEqual([3, 4]);
    expect(valuesOf(await dev.take([3, 0]))).toEqual([10, 1]);
    expect(await dev.countRows()).toBe(4);
    expect(await dev.exists()).toBe(true);
    expect((await dev.schema()).fields.map(({ name }) => name)).toEqual(["v"]);
    expect(await dev.stats()).toEqual(await reference.tableStats(root, "t", { branch }));
    expect(await ns.describeTable({ id, branch })).toMatchObject({
      version: 5,
      stats: { numFragments: 3, numDeletedRows: 2 },
    });

    const versions = (await dev.versions()).map(({ version }) => version);
    expect(versions).toEqual([3, 4, 5]);
    const theirs = (await reference.listVersions(root, "t", { branch })).map(({ version }) => version);
    expect(new Set(theirs)).toEqual(new Set(versions));
    const down = await ns.listTableVersions({ id, branch, descending: true, limit: 2 });
    expect(down.versions.map(({ version }) => version)).toEqual([5, 4]);
    const rest = await ns.listTableVersions({ id, branch, descending: true, pageToken: down.pageToken });
    expect(rest.versions.map(({ version }) => version)).toEqual([3]);
    const { version: described } = await ns.describeTableVersion({ id, branch, version: 4 });
    expect(described.manifestPath.startsWith(join(root, "t.lance", "tree", "dev"))).toBe(true);
    for (const version of [1, 2]) {
      await expect(ns.describeTableVersion({ id, branch, version })).rejects.toThrow(
        TableVersionNotFoundError,
      );
    }
    expect(valuesOf(await ns.table(id, { branch, version: 4 }).scan().toArrow())).toEqual([1, 3, 4, 10, 11]);

    await dev.insert(rowsOf(12));
    await dev.insert(rowsOf(30), { mode: "overwrite" });
    expect(await readThere(root, branch)).toEqual([30]);
    const manifestPath = await stageDoubled(join(root, "t.lance", "tree", "dev"), 8);
    await ns.createTableVersion({ id, branch, version: 8, manifestPath });
    expect(await readThere(root, branch)).toEqual([30, 30]);
    await dev.restore(6);
    expect(await readThere(root, branch)).toEqual([1, 3, 4, 10, 12]);
    await expect(dev.restore(2)).rejects.toThrow(TableVersionNotFoundError);
    expect(valuesOf(await ns.table(id).scan().toArrow())).toEqual([1, 3, 4]);
    expect(await ns.table(id).version()).toBe(3);
    expect(valuesOf(await ns.table(id, { branch: "dev/sub" }).scan().toArrow())).toEqual([
      1, 3, 4, 10, 11, 20,
    ]);
    for (const main of ["", "main"]) expect(await ns.table(id, { branch: main }).countRows()).toBe(3);
    await expect(ns.table(id, { branch: "none" }).insert(rowsOf(1))).rejects.toThrow(
      TableBranchNotFoundError,
    );
    await ns.close();
  });

  it("all is there when the namespace's directory has been moved", async () => {
    const base = await makeTempDir();
    const before = join(base, "before", "root");
    await (await layDown(before, maker)).close();
    const root = join(base, "after", "root");
    await cp(join(base, "before"), join(base, "after"), { recursive: true });
    // A new table with branches of the same names stands at the old location.
    await rm(before, { recursive: true });
    await (await layDown(before, maker)).close();

    await using ns = new DirectoryNamespace({ root, durability: "none" });
    const read = async (branch?: string) => valuesOf(await ns.table(id, { branch }).scan().toArrow());
    expect(await read("dev")).toEqual([1, 3, 4, 10]);
    expect(await read("dev/sub")).toEqual([1, 3, 4, 10, 11, 20]);
    expect(valuesOf(await ns.table(id, { branch: "dev/sub" }).take([5, 0, 4]))).toEqual([20, 1, 11]);
    await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(13));
    await ns.createTableBranch({ id, name: "new", fromBranch: "dev" });
    await ns.insertIntoTable({ id, branch: "new" }, rowsOf(14));
    expect(await read("new")).toEqual([1, 3, 4, 10, 13, 14]);
    await ns.createTableBranch({ id, name: "fresh" });
    expect(await read("fresh")).toEqual([1, 3, 4]);
    expect(await readThere(root, "fresh")).toEqual([1, 3, 4]);
    await ns.deleteTableBranch({ id, name: "new" });
    expect(await read("dev")).toEqual([1, 3, 4, 10, 13]);
  });

  it("columns and metadata change on that branch alone", async ({ root }) => {
    const ns = await layDown(root, maker);
    const branch = "dev";
    const target = { id, branch };
    const columnsOf = (table: Table) =>
      table.schema.fields.map(({ name }) => [name, Array.from(table.getChild(name) ?? [], numberOrNull)]);
    const expectBoth = async (expected: unknown) => {
      expect(columnsOf(await ns.table(id, { branch }).scan().toArrow())).toEqual(expected);
      expect(columnsOf(tableFromIPC(await reference.readTable(root, "t", { branch })))).toEqual(expected);
    };
    const rows = [1, 3, 4, 10];
    const added = await ns.alterTableAddColumns({
      ...target,
      newColumns: [
        { name: "n", dataType: "int32" },
        { name: "c", expression: "7" },
      ],
    });
    expect(added.version).toBe(6);
    const nulls = rows.map(() => null);
    const sevens = rows.map(() => 7);
    await expectBoth([
      ["v", rows],
      ["n", nulls],
      ["c", sevens],
    ]);
    // Rewrites fragments whose files and deletions are inherited.
    await ns.alterTableAlterColumns({
      ...target,
      alterations: [{ path: "v", rename: "w", dataType: "int64" }],
    });
    await expectBoth([
      ["w", rows],
      ["n", nulls],
      ["c", sevens],
    ]);
    await ns.alterTableDropColumns({ ...target, columns: ["n"] });
    await expectBoth([
      ["w", rows],
      ["c", sevens],
    ]);
    const { fields } = await ns.updateFieldMetadata({
      ...target,
      updates: [{ path: "w", metadata: { unit: "m" } }],
    });
    expect(fields).toEqual({ w: { unit: "m" } });
    await ns.updateTableSchemaMetadata({ ...target, metadata: { owner: "us" } });
    const theirs = await reference.schemaJson(root, "t", { branch });
    expect(theirs.fields.find(({ name }) => name === "w")?.metadata).toMatchObject({ unit: "m" });
    expect(theirs.metadata).toMatchObject({ owner: "us" });
    expect((await ns.describeTable(target)).metadata).toMatchObject({ owner: "us" });

    for (const unchanged of [undefined, "dev/sub"]) {
      expect((await reference.schemaJson(root, "t", { branch: unchanged })).metadata).toEqual({});
      const there = tableFromIPC(await reference.readTable(root, "t", { branch: unchanged }));
      expect(there.schema.fields.map(({ name }) => name)).toEqual(["v"]);
      expect(valuesOf(there)).toEqual(unchanged === undefined ? [1, 3, 4] : [1, 3, 4, 10, 11, 20]);
    }
    await ns.close();
  });

  it("versions come in batches, and old ones go, on that branch alone", async ({ root }) => {
    const ns = await layDown(root, maker);
    const directoryOf = (branch: string) => join(root, "t.lance", "tree", ...branch.split("/"));
    const entryOf = async (branch: string, version: number) => ({
      id,
      branch,
      version,
      manifestPath: await stageDoubled(directoryOf(branch), version),
    });
    const { versions } = await ns.batchCreateTableVersions({
      entries: [await entryOf("dev", 6), await entryOf("dev/sub", 6)],
    });
    expect(versions.map(({ manifestPath }) => dirname(dirname(manifestPath)))).toEqual([
      directoryOf("dev"),
      directoryOf("dev/sub"),
    ]);
    await ns.batchCommitTables({ operations: [{ createTableVersion: await entryOf("dev", 7) }] });
    const physical = [1, 2, 3, 4, 10, 11];
    const doubled = [1, 3, 4, 10, ...physical];
    const fourfold = [...doubled, ...physical, ...physical];
    const expectBoth = async (
      expected: number[],
      target: { branch?: string; version?: number; tag?: string },
    ) => {
      expect(valuesOf(await ns.table(id, target).scan().toArrow())).toEqual(expected);
      expect(valuesOf(tableFromIPC(await reference.readTable(root, "t", target)))).toEqual(expected);
    };
    await expectBoth(fourfold, { branch: "dev" });
    await expectBoth([1, 3, 4, 10, 11, 20, ...physical, 20], { branch: "dev/sub" });

    await ns.createTableTag({ id, tag: "kept", branch: "dev", version: 6 });
    const { versionsRemoved } = await ns.cleanupTable({ id, branch: "dev", olderThanMs: 0 });
    // Of versions 3 to 7 the latest, tagged ones and the parent of dev/sub stay.
    expect(versionsRemoved).toBe(2);
    const left = (await ns.listTableVersions({ id, branch: "dev" })).versions;
    expect(left.map(({ version }) => version)).toEqual([4, 6, 7]);
    await expectBoth(fourfold, { branch: "dev" });
    await expectBoth(doubled, { tag: "kept" });
    await expectBoth([1, 3, 4], {});
    await expectBoth([1, 3, 4, 10, 11, 20], { branch: "dev/sub", version: 5 });
    await ns.close();
  });

  it("a handle on a tag of that branch looks at its version, and lists the branch's", async ({ root }) => {
    const ns = await layDown(root, maker);
    if (maker === "us") await ns.createTableTag({ id, tag: "here", branch: "dev", version: 4 });
    else await reference.createTag(root, "t", "here", 4, { branch: "dev" });
    const tagged = ns.table(id, { tag: "here" });
    const rows = [1, 3, 4, 10, 11];
    expect(await tagged.exists()).toBe(true);
    expect(await tagged.version()).toBe(4);
    expect(valuesOf(await tagged.scan().toArrow())).toEqual(rows);
    expect(valuesOf(await tagged.take([4, 0]))).toEqual([11, 1]);
    expect(await tagged.countRows()).toBe(5);
    expect(await tagged.stats()).toEqual(await reference.tableStats(root, "t", { tag: "here" }));
    expect((await tagged.versions()).map(({ version }) => version)).toEqual([3, 4, 5]);
    expect(Object.keys(await tagged.branches())).toEqual(["dev", "dev/sub"]);
    expect(await tagged.tags()).toMatchObject({ here: { branch: "dev", version: 4 } });
    const atVersion = ns.table(id, { branch: "dev", version: 4 });
    expect(await atVersion.stats()).toEqual(await tagged.stats());
    expect(valuesOf(await atVersion.take([4]))).toEqual([11]);
    expect((await atVersion.versions()).map(({ version }) => version)).toEqual([3, 4, 5]);
    for (const handle of [tagged, atVersion]) {
      await expect(handle.insert(rowsOf(1))).rejects.toThrow(InvalidTableStateError);
      await expect(handle.cleanup()).rejects.toThrow(InvalidTableStateError);
      await expect(handle.optimize()).rejects.toThrow(InvalidTableStateError);
    }
    // Main's later version of that number is another one.
    expect(await ns.table(id, { version: 4 }).exists()).toBe(false);
    await expect(ns.table(id, { tag: "none" }).versions()).rejects.toThrow(TableTagNotFoundError);
    await ns.close();
  });
});

it("what takes a branch refuses one that is not there, and one that cannot be, and changes nothing", async ({
  root,
}) => {
  const ns = await layDown(root, "us");
  const before = await directorySnapshot(root);
  const calls: Record<string, (branch: string) => Promise<unknown>> = {
    tableExists: (branch) => ns.tableExists({ id, branch }),
    describeTable: (branch) => ns.describeTable({ id, branch }),
    getTableStats: (branch) => ns.getTableStats({ id, branch }),
    restoreTable: (branch) => ns.restoreTable({ id, branch, version: 3 }),
    insertIntoTable: (branch) => ns.insertIntoTable({ id, branch }, rowsOf(1)),
    queryTable: (branch) => ns.queryTable({ id, branch }),
    takeRows: (branch) => ns.takeRows({ id, branch, rowOffsets: [0] }),
    takeBlobs: (branch) => ns.takeBlobs({ id, branch, column: "v", rowOffsets: [0] }),
    countTableRows: (branch) => ns.countTableRows({ id, branch }),
    cleanupTable: (branch) => ns.cleanupTable({ id, branch }),
    optimizeTable: (branch) => ns.optimizeTable({ id, branch }),
    listTableVersions: (branch) => ns.listTableVersions({ id, branch }),
    describeTableVersion: (branch) => ns.describeTableVersion({ id, branch }),
    createTableVersion: (branch) => ns.createTableVersion({ id, branch, version: 9, manifestPath: "x" }),
    batchCreateTableVersions: (branch) =>
      ns.batchCreateTableVersions({ entries: [{ id, branch, version: 9, manifestPath: "x" }] }),
    createTableBranch: (fromBranch) => ns.createTableBranch({ id, name: "new", fromBranch }),
    deleteTableBranch: (name) => ns.deleteTableBranch({ id, name }),
    createTableTag: (branch) => ns.createTableTag({ id, branch, tag: "new", version: 3 }),
    updateFieldMetadata: (branch) =>
      ns.updateFieldMetadata({ id, branch, updates: [{ path: "v", metadata: { k: "v" } }] }),
    updateTableSchemaMetadata: (branch) => ns.updateTableSchemaMetadata({ id, branch, metadata: {} }),
    alterTableAddColumns: (branch) =>
      ns.alterTableAddColumns({ id, branch, newColumns: [{ name: "n", dataType: "int32" }] }),
    alterTableAlterColumns: (branch) =>
      ns.alterTableAlterColumns({ id, branch, alterations: [{ path: "v", rename: "w" }] }),
    alterTableDropColumns: (branch) => ns.alterTableDropColumns({ id, branch, columns: ["v"] }),
  };
  for (const [name, call] of Object.entries(calls)) {
    await expect(call("none"), name).rejects.toThrow(TableBranchNotFoundError);
    for (const illegal of ["a//b", "../x", "a b", 7 as unknown as string]) {
      await expect(call(illegal), `${name} ${illegal}`).rejects.toThrow(InvalidInputError);
    }
  }
  expect(await directorySnapshot(root)).toEqual(before);
  await ns.close();
});

it("a clone's branches find its own files and those of the table it was cloned from", async () => {
  const base = await makeTempDir();
  const source = join(base, "source", "root");
  await reference.createTable(source, "t", tableToIPC(rowsOf(1)));
  const before = join(base, "before", "root");
  await reference.cloneTable(before, "t", join(source, "t.lance"));
  const ns = new DirectoryNamespace({ root: before, durability: "none", allowedBases: [source] });
  await ns.insertIntoTable({ id }, rowsOf(2));
  await ns.createTableBranch({ id, name: "dev" });
  await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(3));
  expect(await readThere(before, "dev")).toEqual([1, 2, 3]);
  expect(valuesOf(await ns.table(id, { branch: "dev" }).scan().toArrow())).toEqual([1, 2, 3]);
  await ns.close();
  await rename(join(base, "before"), join(base, "after"));
  await using moved = new DirectoryNamespace({
    root: join(base, "after", "root"),
    durability: "none",
    allowedBases: [source],
  });
  expect(valuesOf(await moved.table(id, { branch: "dev" }).scan().toArrow())).toEqual([1, 2, 3]);
});
