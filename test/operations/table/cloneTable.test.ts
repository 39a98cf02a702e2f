/** Shallow clones: what they share, how both tables change afterwards, and how LanceDB uses them. */

import { Table } from "apache-arrow";
import {
  DirectoryNamespace,
  InvalidInputError,
  InvalidTableStateError,
  PermissionDeniedError,
  TableAlreadyExistsError,
  TableNotFoundError,
  TableTagNotFoundError,
  TableVersionNotFoundError,
} from "tiltyard";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { int32s, utf8s } from "../../support/arrowColumns.js";
import { faultyDisk } from "../../support/faultyDisk.js";
import { describe, expect, it } from "../../support/fixtures.js";
import { WORLDS } from "../../support/restNamespace.js";
import { makeTempDir } from "../../support/tempDir.js";

const rowsOf = (first: number, count: number) =>
  new Table({
    n: int32s(count, (row) => first + row),
    s: utf8s(Array.from({ length: count }, (_, row) => `text ${first + row}`)),
  });

/** Three versions of a table, with a deletion file and a tag of the second. */
async function fill(ns: DirectoryNamespace, id: string[], stableRowIds = false): Promise<void> {
  await ns.createTable({ id, stableRowIds }, rowsOf(0, 20));
  await ns.insertIntoTable({ id }, rowsOf(20, 10));
  await ns.createTableTag({ id, tag: "two", version: 2 });
  await ns.deleteFromTable({ id, predicate: "n = 3" });
}

const numbers = async (ns: DirectoryNamespace, id: string[], filter?: string) =>
  (await (await ns.queryTable({ id, columns: ["n"], orderBy: "n", filter })).toArray()).map(({ n }) => n);
const range = (start: number, end: number) =>
  Array.from({ length: end - start }, (_, index) => start + index);

describe.each(WORLDS)("%s", (_, openWorld) => {
  it("clones the latest version, a number and a tag, and both tables change on their own", async () => {
    await using ns = openWorld(await makeTempDir());
    await fill(ns, ["t"]);
    await ns.createNamespace({ id: ["space"] });
    const clone = ["space", "c"];
    const made = await ns.cloneTable({ id: clone, from: ["t"] });
    expect(made.version).toBe(4 - 1);
    expect(await numbers(ns, clone)).toEqual(range(0, 30).filter((n) => n !== 3));
    await ns.insertIntoTable({ id: clone }, rowsOf(100, 2));
    await ns.deleteFromTable({ id: clone, predicate: "n < 10" });
    await ns.updateTable({ id: clone, where: "n = 20", values: { s: "changed" } });
    await ns.deleteFromTable({ id: ["t"], predicate: "n > 25" });
    expect(await numbers(ns, clone)).toEqual([...range(10, 30), 100, 101]);
    expect(await numbers(ns, clone, "s = 'changed'")).toEqual([20]);
    expect(await numbers(ns, ["t"])).toEqual(range(0, 26).filter((n) => n !== 3));
    await ns.cloneTable({ id: ["first"], from: ["t"], version: 1 });
    await ns.cloneTable({ id: ["second"], from: ["t"], tag: "two" });
    expect(await numbers(ns, ["first"])).toEqual(range(0, 20));
    expect(await numbers(ns, ["second"])).toEqual(range(0, 30));
    // A clone of a clone shares files of both.
    await ns.cloneTable({ id: ["again"], from: clone });
    expect(await numbers(ns, ["again"])).toEqual([...range(10, 30), 100, 101]);
  });

  it("refuses clones of what is missing, over what exists, and by wrong members", async () => {
    await using ns = openWorld(await makeTempDir());
    await fill(ns, ["t"]);
    await ns.declareTable({ id: ["declared"] });
    const call = (members: object) => ns.cloneTable({ id: ["c"], from: ["t"], ...members });
    await expect(call({ from: ["none"] })).rejects.toThrow(TableNotFoundError);
    await expect(call({ version: 99 })).rejects.toThrow(TableVersionNotFoundError);
    await expect(call({ tag: "none" })).rejects.toThrow(TableTagNotFoundError);
    await expect(call({ tag: "two", version: 1 })).rejects.toThrow(InvalidInputError);
    await expect(call({ from: ["declared"] })).rejects.toThrow(InvalidTableStateError);
    await expect(call({ from: [] })).rejects.toThrow(InvalidInputError);
    await expect(call({ from: undefined })).rejects.toThrow(InvalidInputError);
    await expect(call({ id: ["t"] })).rejects.toThrow(TableAlreadyExistsError);
    await expect(call({ id: ["a/b"] })).rejects.toThrow(InvalidInputError);
    expect((await ns.listTables()).tables).toEqual(["declared", "t"]);
    // A declared table gets its first version.
    await ns.cloneTable({ id: ["declared"], from: ["t"] });
    expect((await numbers(ns, ["declared"])).length).toBe(29);
  });
});

it("a handle clones the version that it reads", async ({ ns }) => {
  await fill(ns, ["t"]);
  const clone = await ns.table("t", { version: 1 }).cloneTo("c");
  expect(clone.id).toEqual(["c"]);
  expect(await clone.countRows()).toBe(20);
  await clone.insert(rowsOf(50, 1));
  expect(await clone.countRows()).toBe(21);
  const branch = await ns.table("t").createBranch("b");
  await branch.insert(rowsOf(60, 1));
  await branch.createTag("onBranch");
  expect(await (await ns.table("t", { tag: "onBranch" }).cloneTo("d")).countRows()).toBe(30);
  await expect(branch.cloneTo("e")).rejects.toThrow(InvalidTableStateError);
});

it("authorize is asked to read the cloned table", async ({ root, ns, open }) => {
  await fill(ns, ["t"]);
  const asked: string[] = [];
  const guarded = open({
    root,
    authorize: ({ operation, id }) => {
      asked.push(`${operation} ${id.join("$")}`);
      if (operation === "queryTable") throw new Error("denied");
    },
  });
  await expect(guarded.cloneTable({ id: ["c"], from: ["t"] })).rejects.toThrow(PermissionDeniedError);
  expect(asked).toEqual(["cloneTable c", "queryTable t"]);
  expect((await ns.listTables()).tables).toEqual(["t"]);
});

it("racing clones of one name make one table", async ({ ns, root, open }) => {
  await fill(ns, ["t"]);
  const others = Array.from({ length: 4 }, () => open({ root }));
  const outcomes = await Promise.allSettled(
    others.flatMap((other) => [1, 2].map((version) => other.cloneTable({ id: ["c"], from: ["t"], version }))),
  );
  expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBe(1);
  for (const outcome of outcomes) {
    if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(TableAlreadyExistsError);
  }
  expect([20, 30]).toContain(await ns.countTableRows({ id: ["c"] }));
});

describe.each([true, false])("with stable row ids: %s", (stableRowIds) => {
  it("LanceDB reads, changes and compacts a clone, and clones a clone", async ({ ns, theirs, root }) => {
    await fill(ns, ["t"], stableRowIds);
    const { jobId } = await ns.table("t").createIndex("n", { indexType: "BTREE" });
    await ns.waitForJob({ jobId: jobId as string });
    await ns.cloneTable({ id: ["c"], from: ["t"] });
    const table = await theirs.openTable("c");
    expect(await table.countRows()).toBe(29);
    expect((await table.listIndices()).map(({ name }) => name)).toEqual(["n_idx"]);
    expect(await table.countRows("n = 7")).toBe(1);
    await table.add([{ n: 500, s: "theirs" }]);
    await table.delete("n = 8");
    await table.optimize();
    expect(await numbers(ns, ["c"], "n > 28 OR n < 10")).toEqual([0, 1, 2, 4, 5, 6, 7, 9, 29, 500]);
    await ns.insertIntoTable({ id: ["c"] }, rowsOf(600, 1));
    // Without stable ids, LanceDB looks for an index that it remapped in the directory of the source.
    expect(await table.countRows(stableRowIds ? "n = 600" : undefined)).toBe(stableRowIds ? 1 : 30);
    await theirs.cloneTable("d", `${root}/c.lance`);
    expect((await numbers(ns, ["d"])).slice(-3)).toEqual([29, 500, 600]);
    await ns.insertIntoTable({ id: ["d"] }, rowsOf(700, 1));
    expect(await (await theirs.openTable("d")).countRows()).toBe(31);
    expect(await numbers(ns, ["t"])).toEqual(range(0, 30).filter((n) => n !== 3));
  });

  it("optimising and cleaning a clone leaves the files of its source", async ({ ns }) => {
    await fill(ns, ["t"], stableRowIds);
    const { jobId } = await ns.table("t").createIndex("s", { indexType: "FTS" });
    await ns.waitForJob({ jobId: jobId as string });
    const clone = await ns.table("t").cloneTo("c");
    await clone.insert(rowsOf(40, 5));
    await clone.optimize();
    await clone.cleanup({ olderThanMs: 0, retainVersions: 1 });
    expect((await clone.search({ text: "41", limit: 5 }).toArray()).length).toBe(1);
    await clone.drop();
    expect((await ns.table("t").search({ text: "21", limit: 5 }).toArray()).length).toBe(1);
    expect(await ns.table("t").countRows()).toBe(29);
  });
});

it("a tag keeps what a clone needs from a cleanup of its source; without one, the clone breaks", async ({
  ns,
}) => {
  await fill(ns, ["t"]);
  await ns.table("t", { tag: "two" }).cloneTo("kept");
  await ns.table("t", { version: 3 }).cloneTo("broken");
  await ns.table("t").insert(rowsOf(0, 3), { mode: "Overwrite" });
  await ns.cleanupTable({ id: "t", olderThanMs: 0, retainVersions: 1 });
  expect(await ns.table("kept").scan().toArray()).toHaveLength(30);
  await ns.deleteTableTag({ id: "t", tag: "two" });
  await ns.cleanupTable({ id: "t", olderThanMs: 0, retainVersions: 1 });
  await expect(ns.table("broken").scan().toArray()).rejects.toThrow(/t\.lance/);
});

it("a clone that fails at any call leaves no table or a whole one", { timeout: 300_000 }, async () => {
  for (const id of [["c"], ["space", "c"]]) {
    for (let call = 0, isDone = false; !isDone; call++) {
      const root = await makeTempDir();
      await using ns = new DirectoryNamespace({ root, durability: "none" });
      await ns.createNamespace({ id: ["space"] });
      await fill(ns, ["t"]);
      const faults = faultyDisk(new NodeDisk({ durability: "none" }));
      faults.failAt(call, "before", { dead: true });
      const dying = new DirectoryNamespace({ root, disk: faults, lock: { staleMs: 2000 } });
      isDone = await dying.cloneTable({ id, from: ["t"] }).then(
        () => true,
        () => false,
      );
      await faults.restart();
      const { tables } = await ns.listTables({ id: id.slice(0, -1) });
      if (tables.includes("c")) expect(await numbers(ns, id)).toHaveLength(29);
      else await ns.cloneTable({ id, from: ["t"] });
      expect(await numbers(ns, id)).toHaveLength(29);
      await dying.close();
    }
  }
});
