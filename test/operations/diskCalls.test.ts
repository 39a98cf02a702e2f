/**
 * Exact disk calls of each operation on an open table, without syncs. Stat and list calls have a maximum,
 * because they depend on the age of the directories.
 */

import { Int32, Table, vectorFromArray } from "apache-arrow";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { countingDisk } from "../support/countingDisk.js";
import { beforeAll, expect, it, sharedNamespace } from "../support/fixtures.js";
import type { Verb } from "../support/wrappedDisk.js";

const disk = countingDisk(new NodeDisk({ durability: "none" }));
const rows = new Table({ v: vectorFromArray([1, 2, 3], new Int32()) });
const id = ["t"];
const ns = sharedNamespace({ disk });

beforeAll(async () => {
  await ns.createNamespace({ id: ["n"] });
  for (const each of [id, ["n", "t"]]) await ns.createTable({ id: each }, rows);
  for (let version = 2; version < 40; version++) await ns.insertIntoTable({ id }, rows);
  await ns.createTableBranch({ id, name: "before" });
  await ns.deleteTableBranch({ id, name: "before" });
});

type Calls = Partial<Record<Verb, number>>;

/** Calls for one new file: closed and durable, without its directory entry. */
const FILE: Calls = { create: 1, write: 1, sync: 1, close: 1 };
/** Calls that publish a manifest or ref: a temporary file, a link, and the removal of the temporary name. */
const PUBLISHED: Calls = { ...FILE, link: 1, remove: 1, syncDirectory: 1 };
/** Calls for a version after the first: data file, transaction, manifest, hint; and a read of the base. */
const COMMIT: Calls = sum(FILE, { syncDirectory: 1 }, { create: 1, write: 1, close: 1 }, PUBLISHED, {
  open: 1,
  close: 1,
  overwrite: 1,
});
/** Calls for one change of the catalog, which keeps no transaction. */
const CATALOG_CHANGE: Calls = sum(COMMIT, { create: -1, write: -1, close: -1 });
/** Calls for a table's first version: three directories and a new hint. */
const CREATION: Calls = sum(COMMIT, { makeDirectory: 3, open: -1, overwrite: -1 }, { create: 1, write: 1 });

function sum(...parts: readonly Calls[]): Calls {
  const calls: Calls = {};
  for (const part of parts) {
    for (const [verb, count] of Object.entries(part) as [Verb, number][])
      calls[verb] = (calls[verb] ?? 0) + count;
  }
  return calls;
}

interface Case {
  readonly name: string;
  readonly run: () => Promise<unknown>;
  /** Maximum number of stat and list calls. */
  readonly looks: number;
  readonly calls: Calls;
}

const CASES: readonly Case[] = [
  { name: "append rows", run: () => ns.insertIntoTable({ id }, rows), looks: 16, calls: COMMIT },
  { name: "append rows again", run: () => ns.insertIntoTable({ id }, rows), looks: 16, calls: COMMIT },
  {
    name: "delete rows of one fragment",
    run: () => ns.deleteFromTable({ id, predicate: "_rowid = 0" }),
    looks: 24,
    // The plan of the change looks up the latest version again.
    calls: sum(COMMIT, { readFile: 1, makeDirectory: 1 }),
  },
  {
    name: "delete all rows of one fragment",
    run: () => ns.deleteFromTable({ id, predicate: "_rowaddr >= 4294967296 AND _rowaddr < 8589934592" }),
    looks: 24,
    calls: sum(COMMIT, { readFile: 2, create: -1, write: -1, sync: -1, close: -1, syncDirectory: -1 }),
  },
  {
    name: "update rows of one fragment",
    run: () => ns.updateTable({ id, predicate: "_rowid = 1", updates: [["v", "v + 1"]] }),
    looks: 28,
    // The recent deletion is still in memory.
    calls: sum(COMMIT, FILE, { syncDirectory: 1 }, { readFile: 1, open: 1, close: 1 }),
  },
  { name: "a table exists", run: () => ns.tableExists({ id }), looks: 9, calls: {} },
  { name: "a table exists, asked again", run: () => ns.tableExists({ id }), looks: 9, calls: {} },
  { name: "describe a table", run: () => ns.describeTable({ id }), looks: 15, calls: {} },
  { name: "list one table", run: () => ns.listTables({ id: [] }), looks: 9, calls: {} },
  {
    name: "rows that were read before",
    run: async () => {
      const rowsAt = () => ns.takeRows({ id, rowOffsets: [1, 4, 7, 10, 13, 16, 19] });
      await rowsAt();
      disk.reset();
      await rowsAt();
    },
    // As many as a count of rows, and none for the seven files.
    looks: 9,
    calls: {},
  },
  { name: "count rows", run: () => ns.countTableRows({ id }), looks: 9, calls: {} },
  {
    name: "restore",
    run: () => ns.restoreTable({ id, version: 3 }),
    looks: 17,
    calls: sum(COMMIT, { create: -1, write: -1, close: -1, sync: -1, syncDirectory: -1 }),
  },
  {
    name: "create a table",
    run: () => ns.createTable({ id: ["new"] }, rows),
    looks: 22,
    calls: sum(CREATION, CATALOG_CHANGE, { makeDirectory: 1 }),
  },
  {
    name: "drop a table",
    run: () => ns.dropTable({ id: ["new"] }),
    looks: 21,
    calls: sum(CATALOG_CHANGE, { rename: 2, syncDirectory: 1, removeTree: 1 }),
  },
  {
    name: "create a branch",
    run: () => ns.createTableBranch({ id, name: "b" }),
    looks: 20,
    calls: sum(PUBLISHED, PUBLISHED, { makeDirectory: 3, create: 2, write: 2, close: 2 }),
  },
  {
    name: "delete a branch",
    run: () => ns.deleteTableBranch({ id, name: "b" }),
    looks: 10,
    calls: { readFile: 1, rename: 2, syncDirectory: 1, removeTree: 2 },
  },
  {
    name: "create a table in a namespace",
    run: () => ns.createTable({ id: ["n", "new"] }, rows),
    // 19 if the catalog's version is younger than the resolution of its hint; a slow machine needs more.
    looks: 25,
    calls: sum(CREATION, CATALOG_CHANGE),
  },
  {
    name: "a table exists in a namespace",
    run: () => ns.tableExists({ id: ["n", "t"] }),
    looks: 13,
    calls: {},
  },
  { name: "list the tables of a namespace", run: () => ns.listTables({ id: ["n"] }), looks: 11, calls: {} },
];

it.each(CASES)("$name", async ({ run, looks, calls }) => {
  disk.reset();
  await run();
  const { stat = 0, list = 0, ...others } = disk.counts;
  expect(others).toEqual(calls);
  expect(stat + list).toBeLessThanOrEqual(looks);
});
