/** A restore brings rows back while an index is built without them: no reader may count them as indexed. */

import { readdirSync } from "node:fs";
import { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";
import { buildIndex } from "../../support/indexedTable.js";
import { interruptedDisk } from "../../support/interruptedDisk.js";
import { reference } from "../../support/reference.js";

const KINDS = {
  BTREE: { column: "i", filter: "i = 90" },
  BITMAP: { column: "s", filter: "s = 'word90'" },
  ZONEMAP: { column: "i", filter: "i = 90" },
  BLOOMFILTER: { column: "i", filter: "i = 90" },
  LABEL_LIST: { column: "l", filter: "array_has(l, 'x90')" },
  NGRAM: { column: "s", filter: "contains(s, 'word90')" },
  FTS: { column: "s" },
  IVF_FLAT: { column: "v" },
} as const;
type Kind = keyof typeof KINDS;
const ALL = Object.keys(KINDS) as Kind[];

const rowsFrom = (first: number) =>
  Array.from({ length: 100 }, (_, row) => ({
    id: first + row,
    i: row,
    l: [`x${row}`],
    s: `word${row}`,
    v: Float32Array.of(row, 1),
  }));

let tables = 0;
const root = sharedDirectory();
const others = sharedNamespace({ root, workers: 0 });

const build = (namespace: DirectoryNamespace, name: string, kind: Kind) =>
  buildIndex(namespace, { id: [name], column: KINDS[kind].column, indexType: kind, name: kind });

/** Returns ids of the rows with number 90, by an index of a kind. */
async function idsByIndex(kind: Kind, name: string): Promise<unknown[]> {
  const table = others.table(name);
  const rows =
    kind === "FTS"
      ? table.search({ text: "word90", columns: ["id"] })
      : kind === "IVF_FLAT"
        ? table.search({ vector: [90, 1], limit: 2, upperBound: 0.5, columns: ["id"] })
        : table.scan({ filter: KINDS[kind].filter, columns: ["id"] });
  return (await rows.toArray()).map(({ id }) => id).sort((a, b) => Number(a) - Number(b));
}

/** Makes a namespace that runs `happens` before the first file of an index, once armed. */
function interrupted(happens: () => Promise<unknown>) {
  let isArmed = false;
  const disk = interruptedDisk(
    new NodeDisk({ durability: "none" }),
    (verb, path) => isArmed && verb === "create" && path.includes("_indices"),
    happens,
  );
  const namespace = new DirectoryNamespace({ root, durability: "none", workers: 0, disk });
  const arm = () => {
    isArmed = true;
  };
  return { namespace, disk, arm };
}

describe.each([
  { idKind: "addresses", kinds: ALL },
  { idKind: "stable ids", kinds: ["BTREE"] as const },
])("in a table of rows identified by $idKind", ({ idKind, kinds }) => {
  const make = async (): Promise<string> => {
    const name = `t${tables++}`;
    await others.createTable({ id: [name], stableRowIds: idKind === "stable ids" }, rowsFrom(0));
    return name;
  };

  it.each(kinds)("a new %s finds the restored rows", async (kind) => {
    const name = await make();
    const table = others.table(name);
    await table.delete("i >= 90");
    const { namespace, disk, arm } = interrupted(() => table.restore(1));
    arm();
    await build(namespace, name, kind);
    expect(disk.interrupted).toBe(true);
    expect(await idsByIndex(kind, name)).toEqual([90]);
    await namespace.close();
  });

  it("updated indexes find the restored rows", async () => {
    const name = await make();
    const table = others.table(name);
    for (const kind of kinds) await build(others, name, kind);
    const { version } = await table.insert(rowsFrom(100));
    await table.delete("i >= 90");
    const { namespace, disk, arm } = interrupted(() => table.restore(version));
    arm();
    await namespace.optimizeTable({ id: [name], targetRowsPerFragment: 1, materializeDeletions: false });
    expect(disk.interrupted).toBe(true);
    const { indexes } = await others.listTableIndices({ id: [name] });
    expect(indexes.map(({ numUnindexedRows }) => numUnindexedRows)).toEqual(kinds.map(() => 0));
    for (const kind of kinds) expect(await idsByIndex(kind, name), kind).toEqual([90, 190]);
    await namespace.close();
  });
});

it("an index with all rows of the restored version is not rebuilt", async () => {
  const table = others.table("fewer");
  await table.create(rowsFrom(0));
  const { version: fewer } = await table.delete("i >= 80");
  await table.restore(1);
  await table.delete("i >= 90");
  const { namespace, disk, arm } = interrupted(() => table.restore(fewer));
  arm();
  await build(namespace, "fewer", "BTREE");
  expect(disk.interrupted).toBe(true);
  expect(readdirSync(`${root}/fewer.lance/_indices`)).toHaveLength(1);
  const { indexes } = await others.listTableIndices({ id: ["fewer"] });
  expect(indexes).toMatchObject([{ numIndexedRows: 80, numUnindexedRows: 0 }]);
  expect(await idsByIndex("BTREE", "fewer")).toEqual([]);
  await namespace.close();
});

it("a restore by the reference counts, and the reference finds the rows by the index", async () => {
  const table = others.table("there");
  await table.create(rowsFrom(0));
  await table.delete("i >= 90");
  const { namespace, disk, arm } = interrupted(() => reference.restoreTable(root, "there", 1));
  arm();
  await build(namespace, "there", "BTREE");
  expect(disk.interrupted).toBe(true);
  expect(await idsByIndex("BTREE", "there")).toEqual([90]);
  expect(await reference.countRows(root, "there", "i = 90")).toBe(1);
  await namespace.close();
});
