/** Every operation on a branch, and branches of tables that were moved or cloned. */

import { cp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  Field,
  LargeBinary,
  makeVector,
  Schema,
  Struct,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { DirectoryNamespace, TableBranchNotFoundError, TableVersionNotFoundError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { compareTables, reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];
const rowsOf = (...values: number[]): Table => new Table({ v: makeVector(Int32Array.from(values)) });
const valuesOf = (table: Table): number[] => Array.from(table.getChild("v") ?? [], Number);
const readThere = async (root: string, branch?: string) =>
  valuesOf(tableFromIPC(await reference.readTable(root, "t", { branch })));

/** Main has 1 to 4 without 2, branch dev 10 and 11 besides, dev/sub another 20; 11 is deleted in dev. */
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
  it("every operation sees and changes that branch alone", async () => {
    const root = await makeTempDir();
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
      await expect(ns.describeTableVersion({ id, branch, version })).rejects.toBeInstanceOf(
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
    await expect(dev.restore(2)).rejects.toBeInstanceOf(TableVersionNotFoundError);
    expect(valuesOf(await ns.table(id).scan().toArrow())).toEqual([1, 3, 4]);
    expect(await ns.table(id).version()).toBe(3);
    expect(valuesOf(await ns.table(id, { branch: "dev/sub" }).scan().toArrow())).toEqual([
      1, 3, 4, 10, 11, 20,
    ]);
    for (const main of ["", "main"]) expect(await ns.table(id, { branch: main }).countRows()).toBe(3);
    await expect(ns.table(id, { branch: "none" }).insert(rowsOf(1))).rejects.toBeInstanceOf(
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
    // Where it was there is another table by now, with branches of the same names.
    await rm(before, { recursive: true });
    await (await layDown(before, maker)).close();

    const ns = new DirectoryNamespace({ root, durability: "none" });
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
    // Of what was made where it now is, the reference finds the files too.
    expect(await readThere(root, "fresh")).toEqual([1, 3, 4]);
    await ns.deleteTableBranch({ id, name: "new" });
    expect(await read("dev")).toEqual([1, 3, 4, 10, 13]);
    await ns.close();
  });
});

it("a clone's branches find its own files and those of the table it was cloned from", async () => {
  const base = await makeTempDir();
  const source = join(base, "source", "root");
  await reference.createTable(source, "t", tableToIPC(rowsOf(1)));
  const before = join(base, "before", "root");
  await reference.cloneTable(before, "t", join(source, "t.lance"));
  const ns = new DirectoryNamespace({ root: before, durability: "none" });
  await ns.insertIntoTable({ id }, rowsOf(2));
  await ns.createTableBranch({ id, name: "dev" });
  await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(3));
  expect(await readThere(before, "dev")).toEqual([1, 2, 3]);
  expect(valuesOf(await ns.table(id, { branch: "dev" }).scan().toArrow())).toEqual([1, 2, 3]);
  await ns.close();
  await rename(join(base, "before"), join(base, "after"));
  const moved = new DirectoryNamespace({ root: join(base, "after", "root"), durability: "none" });
  expect(valuesOf(await moved.table(id, { branch: "dev" }).scan().toArrow())).toEqual([1, 2, 3]);
  await moved.close();
});

it("values of blobs are read where a branch inherits them", async () => {
  const base = await makeTempDir();
  const before = join(base, "before");
  const type = new Struct([new Field("data", new LargeBinary(), true), new Field("uri", new Utf8(), true)]);
  const field = new Field("b", type, true, new Map([["ARROW:extension:name", "lance.blob.v2"]]));
  const blob = (size: number) => Uint8Array.from({ length: size }, (_, index) => (index * 7 + size) & 0xff);
  // In the data file, in a side file with others, in one of its own.
  const sizes = [5, null, 70_000, 4_194_305];
  const rows = new Table(new Schema([field]), {
    b: vectorFromArray(
      sizes.map((size) => (size === null ? null : { data: blob(size), uri: null })),
      type,
    ),
  });
  await reference.createTable(before, "t", tableToIPC(rows));
  const made = new DirectoryNamespace({ root: before, durability: "none" });
  await made.createTableBranch({ id, name: "dev" });
  await reference.appendTable(before, "t", tableToIPC(rows), { branch: "dev" });
  const expectBlobs = async (ns: DirectoryNamespace) => {
    const dev = ns.table(id, { branch: "dev" });
    compareTables(rows.concat(rows), await dev.scan().toArrow());
    const lazy = await dev.takeBlobs("b", [2, 3, 6, 7]);
    const expected = [70_000, 4_194_305, 70_000, 4_194_305];
    expect(lazy.map((each) => each?.size)).toEqual(expected);
    for (const [index, each] of lazy.entries()) {
      expect(await each?.read(100, 50)).toEqual(blob(expected[index]!).subarray(100, 150));
    }
    await ns.close();
  };
  await expectBlobs(made);
  await rename(before, join(base, "after"));
  await expectBlobs(new DirectoryNamespace({ root: join(base, "after"), durability: "none" }));
});
