/** Indexes on lists and parts of structs answer as a scan does, whatever changed the values. */

import { Int32, Struct, Utf8 } from "apache-arrow";
import type { DirectoryNamespace, UserFunction } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { fieldOf, listOf } from "../../support/arrowColumns.js";
import { withResolvers } from "../../support/deferred.js";
import { buildIndex, foundHere, foundThere } from "../../support/indexedTable.js";
import { interruptedDisk } from "../../support/interruptedDisk.js";
import { freshStage } from "../../support/stage.js";

const ID = { id: ["t"] };
const WORDS = listOf(new Utf8());

const stage = freshStage();
let ns: DirectoryNamespace;
/** Prefix of the words of computed lists. */
let prefix: string;
/** Awaited by the computation of a row. */
let held: () => Promise<void>;
beforeEach(() => {
  prefix = "x";
  held = async () => undefined;
});

const wordsOf = async ({ id }: Record<string, unknown>): Promise<string[]> => {
  await held();
  return [`${prefix}${id}`, "word"];
};
const functions: Record<string, UserFunction> = {
  list: { version: "1", inputs: ["id"], output: WORDS, row: wordsOf },
  struct: {
    version: "1",
    inputs: ["id"],
    output: new Struct([fieldOf("l", WORDS), fieldOf("n", new Int32())]),
    row: async (row) => ({ l: await wordsOf(row), n: 1 }),
  },
};

/** Makes a table of the numbers 1 to 4 in two fragments, with a computed column `b`. */
async function makeTable(
  udfName: string,
  options: ConstructorParameters<typeof DirectoryNamespace>[0] | object,
): Promise<void> {
  ns = stage.open({ workers: 0, functions, ...options });
  await ns.createTable(ID, [{ id: 1 }, { id: 2 }]);
  await ns.insertIntoTable(ID, [{ id: 3 }, { id: 4 }]);
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "b", virtualColumn: { udfName } }] });
}

async function fill(where?: string): Promise<void> {
  await ns.waitForJob(await ns.alterTableBackfillColumns({ ...ID, column: "b", where }));
}

/** Checks the ids of rows with a word: by a scan, our index, and the reference's use of it. */
async function expectFound(path: string, word: string, ids: readonly number[]): Promise<void> {
  const filter = `array_has(${path}, '${word}')`;
  const scanned = await ns
    .table("t")
    .scan({ filter, useScalarIndex: false, columns: ["id"] })
    .toArray();
  expect(scanned.map(({ id }) => Number(id)).sort()).toEqual(ids);
  expect(await foundHere(ns, "t", filter)).toEqual(ids);
  expect(await foundThere(stage.root, "t", filter)).toEqual(ids);
}

async function searched(text: string): Promise<number[]> {
  const rows = await ns
    .table("t")
    .search({ text, columns: ["id"] })
    .toArray();
  return rows.map(({ id }) => Number(id)).sort();
}

describe.each(["2.0", "2.1", "2.2"] as const)("in a table of %s", (dataStorageVersion) => {
  // In files of 2.0, no struct can be filled later.
  const structs = dataStorageVersion === "2.0" ? [] : [{ udfName: "struct", path: "b.l" }];
  it.each([{ udfName: "list", path: "b" }, ...structs])("a backfill of $path, computed by $udfName", async ({
    udfName,
    path,
  }) => {
    await makeTable(udfName, { dataStorageVersion });
    await fill("id = 1 or id = 3");
    await buildIndex(ns, { ...ID, column: path, indexType: "LABEL_LIST" });
    await expectFound(path, "word", [1, 3]);
    await fill();
    await expectFound(path, "word", [1, 2, 3, 4]);
    await expectFound(path, "x2", [2]);
    // The column then shares a file with others, from which a backfill removes it.
    await ns.optimizeTable(ID);
    await expectFound(path, "x2", [2]);
    prefix = "y";
    await fill("id > 2");
    await expectFound(path, "x4", []);
    await expectFound(path, "y4", [4]);
    await ns.optimizeTable(ID);
    await expectFound(path, "x4", []);
    await expectFound(path, "y4", [4]);
  });

  it("a backfill of a list of texts that are searched", async () => {
    await makeTable("list", { dataStorageVersion });
    await fill("id = 1 or id = 3");
    await buildIndex(ns, { ...ID, column: "b", indexType: "FTS" });
    expect(await searched("word")).toEqual([1, 3]);
    await fill();
    await ns.optimizeTable(ID);
    expect(await searched("word")).toEqual([1, 2, 3, 4]);
    prefix = "y";
    await fill("id > 2");
    await ns.optimizeTable(ID);
    expect([await searched("x4"), await searched("y4")]).toEqual([[], [4]]);
  });

  it("a backfill that ends after an index was built", async () => {
    await makeTable("list", { dataStorageVersion });
    const { promise: isEntered, resolve: entered } = withResolvers();
    const { promise: isOpen, resolve: open } = withResolvers();
    held = () => {
      entered();
      return isOpen;
    };
    const filled = fill();
    await isEntered;
    await buildIndex(ns, { ...ID, column: "b", indexType: "LABEL_LIST" });
    open();
    await filled;
    await expectFound("b", "x2", [2]);
  });

  it("a backfill while an index is built", async () => {
    let isArmed = false;
    const disk = interruptedDisk(
      new NodeDisk({ durability: "none" }),
      (verb, path) => isArmed && verb === "create" && path.includes("_indices"),
      () => fill("id > 2"),
    );
    await makeTable("list", { dataStorageVersion, disk });
    await fill("id < 3");
    isArmed = true;
    await buildIndex(ns, { ...ID, column: "b", indexType: "LABEL_LIST" });
    expect(disk.interrupted).toBe(true);
    await expectFound("b", "word", [1, 2, 3, 4]);
    await expectFound("b", "x4", [4]);
  });

  it("an update of a struct in a table of stable row ids", async () => {
    ns = stage.open({ workers: 0, dataStorageVersion });
    const rows = [1, 2].map((id) => ({ id, s: { x: id } }));
    await ns.createTable({ ...ID, stableRowIds: true }, rows);
    await buildIndex(ns, { ...ID, column: "s.x", indexType: "BTREE" });
    await ns.table("t").update({ where: "id = 1", valuesSql: { s: "named_struct('x', 7.0)" } });
    expect(await foundHere(ns, "t", "s.x = 7")).toEqual([1]);
    expect(await foundThere(stage.root, "t", "s.x = 7")).toEqual([1]);
  });

  it("casting the items of an indexed list is refused", async () => {
    ns = stage.open({ workers: 0, dataStorageVersion });
    await ns.createTable(ID, [{ id: 1, l: [1n] }]);
    await buildIndex(ns, { ...ID, column: "l", indexType: "LABEL_LIST" });
    const alterations = [{ path: "l.item", dataType: { type: "int32" } }];
    await expect(ns.alterTableAlterColumns({ ...ID, alterations })).rejects.toThrow(
      "column l has an index, l_idx, and cannot be cast before that is dropped",
    );
  });
});
