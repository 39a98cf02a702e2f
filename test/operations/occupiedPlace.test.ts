/** A file occupies the directory of a table: the operation fails and changes nothing. */

import { mkdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeVector, Table } from "apache-arrow";
import { type DirectoryNamespace, TableAlreadyExistsError, TableNotFoundError } from "tiltyard";
import { decideBatch, prepareBatch } from "../../src/catalog/batches/batchJournal.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { describe, expect, it } from "../support/fixtures.js";
import { errorOf } from "../support/outcomes.js";

const id = ["t"];
const rows = new Table({ v: makeVector(Int32Array.of(1)) });

const ways: [name: string, run: (ns: DirectoryNamespace) => Promise<unknown>][] = [
  ["createTable", (ns) => ns.createTable({ id }, rows)],
  ["createTable in mode ExistOk", (ns) => ns.createTable({ id, mode: "ExistOk" }, rows)],
  ["createTable in mode Overwrite", (ns) => ns.createTable({ id, mode: "Overwrite" }, rows)],
  ["declareTable", (ns) => ns.declareTable({ id })],
  ["batchCommitTables", (ns) => ns.batchCommitTables({ operations: [{ declareTable: { id } }] })],
  ["renameTable", (ns) => ns.renameTable({ id: ["other"], newTableName: "t" })],
  [
    "renameTable out of a namespace",
    (ns) => ns.renameTable({ id: ["n", "inner"], newTableName: "t", newNamespaceId: [] }),
  ],
];

describe.each(ways)("%s over a file", (_name, run) => {
  it("the error names the file, and nothing changes", async ({ root, ns }) => {
    await ns.createTable({ id: ["other"] }, rows);
    await ns.createNamespace({ id: ["n"] });
    await ns.createTable({ id: ["n", "inner"] }, rows);
    const path = join(root, "t.lance");
    await writeFile(path, "not a table");
    // Old enough to count as an orphan of a creation.
    await utimes(path, 1, 1);
    const before = await directorySnapshot(root);

    const error = await errorOf(run(ns));
    expect(error).toBeInstanceOf(TableAlreadyExistsError);
    expect((error as Error).message).toContain("the location of table t, t.lance, is not a directory");
    expect(await directorySnapshot(root)).toEqual(before);
    await expect(ns.describeTable({ id })).rejects.toBeInstanceOf(TableNotFoundError);

    await rm(path);
    await run(ns);
    await ns.tableExists({ id });
  });
});

it("a batch is undone if a file occupies the directory of one of its tables", async ({ root, ns }) => {
  const disk = new NodeDisk({ durability: "none" });
  await ns.createTable({ id: ["other"] }, rows);
  // The batch of a process that died after the decision.
  const declare = (name: string) =>
    ({ kind: "declareTable", id: [name], location: `${name}.lance`, properties: undefined }) as const;
  const batch = await prepareBatch(disk, root, [declare("s"), declare("t")], []);
  await decideBatch(disk, batch);
  await writeFile(join(root, "t.lance"), "not a table");

  const { tables } = await ns.listTables({ id: [], includeDeclared: true });
  expect(tables).toEqual(["other"]);
  await expect(ns.declareTable({ id })).rejects.toBeInstanceOf(TableAlreadyExistsError);
  await ns.declareTable({ id: ["s"] });
});

it("a file in place of a child namespace's table is not a table", async ({ root, ns }) => {
  const inner = ["n", "inner"];
  await ns.createNamespace({ id: ["n"] });
  const { location } = await ns.createTable({ id: inner }, rows);
  await rename(location as string, join(root, "elsewhere"));
  await writeFile(location as string, "not a table");
  await expect(ns.tableExists({ id: inner })).rejects.toBeInstanceOf(TableNotFoundError);
  await expect(ns.insertIntoTable({ id: inner }, rows)).rejects.toBeInstanceOf(TableNotFoundError);
});

it("an empty directory does not prevent a creation", async ({ root, ns }) => {
  await mkdir(join(root, "t.lance"));
  await ns.createTable({ id }, rows);
  expect((await ns.table(id).scan().toArrow()).numRows).toBe(1);
});
