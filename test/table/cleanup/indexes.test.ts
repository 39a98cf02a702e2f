/**
 * A cleanup removes index files that nothing needs, and keeps those of versions, tags, branches and builds.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { buildIndex } from "../../support/indexedTable.js";
import { interruptedDisk } from "../../support/interruptedDisk.js";
import { makeTempDir } from "../../support/tempDir.js";

const ROWS = 200;
const id = ["t"];
let root: string;
let namespace: DirectoryNamespace;
beforeEach(async () => {
  root = await makeTempDir();
  namespace = new DirectoryNamespace({ root, durability: "none" });
  await namespace.createTable({ id }, rowsFrom(0));
});
afterEach(() => namespace.close());

function rowsFrom(first: number): Table {
  const values = Int32Array.from({ length: ROWS }, (_, row) => first + row);
  return new Table({ v: vectorFromArray(values) });
}

const build = (request: object = {}) =>
  buildIndex(namespace, { id, column: "v", indexType: "BTREE", name: "i", replace: true, ...request });
const cleanup = (request: object = {}) =>
  namespace.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true, ...request });
const directories = async (...names: string[]) =>
  (await readdir(join(root, "t.lance", ...names, "_indices")).catch(() => [])).sort();

/** Returns the directory of the index at a version. */
async function directoryAt(target: object = {}): Promise<string> {
  const { indexes } = await namespace.listTableIndices({ id, ...target });
  return indexes[0]?.indexUuid ?? "none";
}

async function find(value: number, target: object = {}): Promise<number> {
  const options = { filter: `v = ${value}`, useScalarIndex: true };
  return (await namespace.table(id, target).scan(options).toArrow()).numRows;
}

describe("a cleanup with indexes", () => {
  it("keeps those of the latest version", async () => {
    await build();
    await build({ indexType: "BITMAP" });
    await namespace.insertIntoTable({ id }, rowsFrom(ROWS));
    await namespace.optimizeTable({ id });
    const last = await directoryAt();
    expect((await directories()).length).toBeGreaterThan(2);
    const { indexFilesRemoved } = await cleanup();
    expect(indexFilesRemoved).toBeGreaterThan(0);
    expect(await directories()).toEqual([last]);
    expect(await find(ROWS + 7)).toBe(1);
    await namespace.dropTableIndex({ id, indexName: "i" });
    expect(await directories()).toEqual([last]);
    await cleanup();
    expect(await directories()).toEqual([]);
    expect(await find(7)).toBe(1);
  });

  it("keeps those of tagged versions until the tag is deleted", async () => {
    await build();
    const version = await namespace.table(id).version();
    const old = await directoryAt();
    await namespace.createTableTag({ id, tag: "kept", version });
    await build({ indexType: "ZONEMAP" });
    const last = await directoryAt();
    await cleanup();
    expect(await directories()).toEqual([old, last].sort());
    expect(await directoryAt({ version })).toBe(old);
    expect(await find(7, { tag: "kept" })).toBe(1);
    await namespace.deleteTableTag({ id, tag: "kept" });
    await cleanup();
    expect(await directories()).toEqual([last]);
  });

  it("keeps those that a branch inherited, and removes the branch's old ones", async () => {
    await build();
    const shared = await directoryAt();
    await namespace.createTableBranch({ id, name: "dev" });
    await namespace.insertIntoTable({ id, branch: "dev" }, rowsFrom(ROWS));
    await namespace.dropTableIndex({ id, indexName: "i" });
    await cleanup();
    expect(await directories()).toEqual([shared]);
    expect(await directoryAt({ branch: "dev" })).toBe(shared);
    expect(await find(7, { branch: "dev" })).toBe(1);
    await namespace.optimizeTable({ id, branch: "dev" });
    const branchDirectory = await directoryAt({ branch: "dev" });
    expect(branchDirectory).not.toBe(shared);
    await cleanup({ branch: "dev" });
    await cleanup();
    expect(await directories("tree", "dev")).toEqual([branchDirectory]);
    expect(await find(ROWS + 7, { branch: "dev" })).toBe(1);
    await namespace.deleteTableBranch({ id, name: "dev" });
    await cleanup();
    expect(await directories()).toEqual([]);
    expect(await find(7)).toBe(1);
  });

  /** Builds an index, while others add rows and clean up at its first call of a verb on the index's files. */
  async function interruptedBuild(verb: string, path: RegExp, settings: object): Promise<unknown> {
    await namespace.insertIntoTable({ id }, rowsFrom(ROWS));
    const meanwhile = async () => {
      await namespace.insertIntoTable({ id }, rowsFrom(2 * ROWS));
      await cleanup(settings);
    };
    const isMoment = (each: string, of: string): boolean => each === verb && path.test(of);
    const disk = interruptedDisk(new NodeDisk({ durability: "none" }), isMoment, meanwhile);
    await using builder = new DirectoryNamespace({ root, durability: "none", disk } as never);
    const error = await buildIndex(builder, { id, column: "v", indexType: "BTREE", name: "i" }).catch(
      (thrown: unknown) => thrown,
    );
    expect(disk.interrupted).toBe(true);
    return error;
  }

  const moments: readonly (readonly [string, string, RegExp])[] = [
    ["its first file is made", "create", /_indices/],
    ["its files are complete", "syncDirectory", /_indices\/[0-9a-f]/],
  ];
  it.each(moments)("keeps those of a build that is suspended when %s", async (_, verb, path) => {
    const error = await interruptedBuild(verb, path, { deleteUnverified: false });
    expect(error).toBeUndefined();
    expect(await find(7)).toBe(1);
    expect(await namespace.describeTableIndexStats({ id, indexName: "i" })).toMatchObject({
      numIndexedRows: 2 * ROWS,
      numUnindexedRows: ROWS,
    });
    expect(await directories()).toEqual([await directoryAt()]);
  });

  it.each(moments)("a build that lost files when %s publishes nothing", async (_, verb, path) => {
    const error = await interruptedBuild(verb, path, { deleteUnverified: true });
    expect(error).toMatchObject({ type: "ConcurrentModification" });
    expect(await directoryAt()).toBe("none");
    expect(await directories()).toEqual([]);
    await build();
    expect(await find(7)).toBe(1);
  });
});
