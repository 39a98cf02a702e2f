/** DescribeTransaction returns the version for every id that a change returned. */

import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import {
  DirectoryNamespace,
  InvalidInputError,
  PermissionDeniedError,
  TableNotFoundError,
  TransactionNotFoundError,
} from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { countingDisk } from "../support/countingDisk.js";
import { rowsOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { diskName, lacks } from "../support/suite/diskLimits.js";
import { readdir, readFile, rm, writeFile } from "../support/suite/rootFiles.js";
import { suiteDisk } from "../support/suite/suiteDisk.js";
import { makeTempDir } from "../support/tempDir.js";

const UNKNOWN = "00000000-0000-4000-8000-000000000000";

let root: string;
let ns: DirectoryNamespace;
beforeEach(async () => {
  root = await makeTempDir();
  ns = new DirectoryNamespace({ root, durability: "none" });
});
afterEach(() => ns.close());

const idsIn = async (directory: string): Promise<string[]> =>
  (await readdir(join(directory, "_transactions"))).map((name) => name.replace(/^\d+-|\.txn$/g, ""));

/** Describes a transaction with its table, without it, and without it by an engine that did not commit it. */
async function described(table: readonly string[], transaction: string | undefined) {
  const answer = await ns.describeTransaction({ id: [...table, transaction as string] });
  expect(await ns.describeTransaction({ id: [transaction as string] })).toEqual(answer);
  const secondNamespace = new DirectoryNamespace({ root, durability: "none" });
  expect(await secondNamespace.describeTransaction({ id: [transaction as string] })).toEqual(answer);
  await secondNamespace.close();
  expect(answer.status).toBe("Succeeded");
  const { properties } = answer;
  expect(properties.uuid).toBe(transaction);
  expect(properties.table).toBe(table.join("$"));
  const { version } = await ns.describeTableVersion({
    id: table,
    branch: properties.branch,
    version: Number(properties.version),
  });
  expect(properties.timestamp_millis).toBe(String(version.timestampMillis));
  return properties;
}

describe.each([
  ["in the root", ["t"]],
  ["in a namespace", ["n", "t"]],
])("of a table %s", (_name, id) => {
  it("each change names its version, on main and on a branch", async () => {
    await ns.createNamespace({ id: ["n"] });
    await ns.createTable({ id: ["other"] }, rowsOf(9));
    const made = await ns.createTable({ id }, rowsOf(1));
    expect(await described(id, made.transactionId)).toMatchObject({
      operation: "Overwrite",
      version: "1",
      read_version: "0",
    });
    const branched = await ns.createTableBranch({ id, name: "dev/x" });
    expect(await described(id, branched.transactionId)).toMatchObject({
      operation: "Clone",
      branch: "dev/x",
      version: "1",
    });
    for (const branch of [undefined, "dev/x"]) {
      const target = { id, branch };
      const changes: [string, { transactionId?: string; version: number }][] = [
        ["Append", await ns.insertIntoTable(target, rowsOf(2))],
        ["Overwrite", await ns.insertIntoTable({ ...target, mode: "Overwrite" }, rowsOf(3))],
        ["Restore", await ns.restoreTable({ ...target, version: 2 })],
        [
          "UpdateConfig",
          await ns.updateFieldMetadata({ ...target, updates: [{ path: "v", metadata: { k: "v" } }] }),
        ],
        ["UpdateConfig", await ns.updateTableSchemaMetadata({ ...target, metadata: { k: "v" } })],
        [
          "Merge",
          await ns.alterTableAddColumns({ ...target, newColumns: [{ name: "n", dataType: "int32" }] }),
        ],
        [
          "Project",
          await ns.alterTableAlterColumns({ ...target, alterations: [{ path: "n", rename: "m" }] }),
        ],
        ["Project", await ns.alterTableDropColumns({ ...target, columns: ["m"] })],
      ];
      for (const [operation, { transactionId, version }] of changes) {
        const properties = await described(id, transactionId);
        expect(properties).toMatchObject({ version: String(version), read_version: String(version - 1) });
        expect(properties.branch).toBe(branch);
        expect({ version, operation: properties.operation }).toEqual({ version, operation });
      }
    }
  });
});

it("transactions of the reference have the same descriptions", async () => {
  await reference.createTable(root, "t", tableToIPC(rowsOf(1, 2)));
  await reference.deleteRows(root, "t", "v = 1");
  await reference.createBranch(root, "t", "dev");
  await reference.appendTable(root, "t", tableToIPC(rowsOf(3)), { branch: "dev" });
  const table = join(root, "t.lance");
  const seen: Record<string, string> = {};
  for (const transaction of [...(await idsIn(table)), ...(await idsIn(join(table, "tree", "dev")))]) {
    const { branch = "main", version, operation } = await described(["t"], transaction);
    seen[`${branch} ${version}`] = operation;
  }
  expect(seen).toEqual({ "main 1": "Overwrite", "main 2": "Delete", "dev 2": "Clone", "dev 3": "Append" });
});

it("a transaction that was planned on an older version names both versions", async () => {
  const id = ["t"];
  await ns.createTable({ id }, rowsOf(1));
  const slowly = async function* () {
    await ns.insertIntoTable({ id }, rowsOf(2));
    await ns.insertIntoTable({ id }, rowsOf(3));
    yield* rowsOf(4).batches;
  };
  const { transactionId } = await ns.insertIntoTable({ id }, slowly());
  expect(await described(id, transactionId)).toMatchObject({ read_version: "1", version: "4" });
});

it("the transaction of a staged manifest is found in its table, and everywhere if it has a file", async () => {
  const id = ["t"];
  await ns.createTable({ id }, rowsOf(1));
  const manifestPath = await stageDoubled(join(root, "t.lance"), 5);
  const { transactionId } = await ns.createTableVersion({ id, version: 5, manifestPath });
  const { properties } = await ns.describeTransaction({ id: [...id, transactionId as string] });
  expect(properties).toMatchObject({ version: "5", read_version: "1", operation: "Append" });
  const anywhere = ns.describeTransaction({ id: [transactionId as string] });
  // On a private disk no transaction has a file, so the manifests of all tables are searched.
  if (diskName === "opfs") expect((await anywhere).properties).toEqual(properties);
  else await expect(anywhere).rejects.toBeInstanceOf(TransactionNotFoundError);
});

it.skipIf(lacks("rename"))("an uncommitted change and a removed version have no transaction", async () => {
  const id = ["t"];
  const first = await ns.createTable({ id }, rowsOf(1));
  const second = await ns.insertIntoTable({ id }, rowsOf(2));
  const directory = join(root, "t.lance", "_transactions");
  // A writer that died before its version leaves such a file.
  const [file] = await readdir(directory);
  const bytes = await readFile(join(directory, file));
  await writeFile(join(directory, `1-${UNKNOWN}.txn`), bytes);
  await writeFile(join(directory, `99999999999999999999-${UNKNOWN}.txn`), bytes);
  const expectNone = async (transaction: string | undefined) => {
    for (const table of [[], id]) {
      const refused = ns.describeTransaction({ id: [...table, transaction as string] });
      await expect(refused).rejects.toBeInstanceOf(TransactionNotFoundError);
      await expect(refused).rejects.toMatchObject({ code: 10, status: 404 });
    }
  };
  await expectNone(UNKNOWN);
  await described(id, first.transactionId);
  await ns.batchDeleteTableVersions({ id, ranges: [{ startVersion: 1, endVersion: 2 }] });
  await expectNone(first.transactionId);
  await described(id, second.transactionId);
  await ns.dropTable({ id });
  await expect(
    ns.describeTransaction({ id: [...id, second.transactionId as string] }),
  ).rejects.toBeInstanceOf(TableNotFoundError);
  await expect(ns.describeTransaction({ id: [second.transactionId as string] })).rejects.toBeInstanceOf(
    TransactionNotFoundError,
  );
});

it("malformed ids are refused", async () => {
  await ns.createTable({ id: ["t"] }, rowsOf(1));
  for (const id of [
    undefined,
    [],
    ["t"],
    ["t", ""],
    ["t", "7"],
    ["t", "../../x"],
    ["t", `${UNKNOWN}.txn`],
    ["t", `x${UNKNOWN}`],
    ["a/b", UNKNOWN],
    [7, UNKNOWN],
    `${UNKNOWN}$`,
  ]) {
    const refused = ns.describeTransaction({ id: id as never });
    await expect(refused, JSON.stringify(id)).rejects.toBeInstanceOf(InvalidInputError);
  }
  await expect(ns.describeTransaction({ id: ["none", UNKNOWN] })).rejects.toBeInstanceOf(TableNotFoundError);
  await ns.declareTable({ id: ["declared"] });
  for (const id of [["declared", UNKNOWN], [UNKNOWN.toUpperCase()], UNKNOWN, `declared$${UNKNOWN}`]) {
    await expect(ns.describeTransaction({ id })).rejects.toBeInstanceOf(TransactionNotFoundError);
  }
});

it("an unreadable table does not hide transactions of other tables", async () => {
  await ns.createTable({ id: ["a"] }, rowsOf(1));
  const { transactionId } = await ns.createTable({ id: ["b"] }, rowsOf(1));
  await ns.createTableBranch({ id: ["a"], name: "dev" });
  await writeFile(join(root, "a.lance", "_refs", "branches", "%%.json"), "{}");
  await described(["b"], transactionId);
  await expect(ns.describeTransaction({ id: [UNKNOWN] })).rejects.toMatchObject({ code: 18 });
  await rm(join(root, "a.lance", "_refs"), { recursive: true });
  await expect(ns.describeTransaction({ id: [UNKNOWN] })).rejects.toMatchObject({ code: 10 });
});

it.skipIf(lacks("rename"))(
  "a lookup of this engine's transaction reads no other table unless its own has moved",
  async () => {
    const disk = countingDisk(suiteDisk());
    await using counting = new DirectoryNamespace({ root, disk });
    for (let index = 0; index < 20; index++) await ns.createTable({ id: [`t${index}`] }, rowsOf(1));
    const { transactionId } = await counting.insertIntoTable({ id: ["t7"] }, rowsOf(2));
    disk.reset();
    const { properties } = await counting.describeTransaction({ id: [transactionId] });
    expect(properties).toMatchObject({ table: "t7", version: "2" });
    expect(disk.total).toBeLessThan(20);
    await ns.createTable({ id: ["t8"], mode: "Overwrite" }, rowsOf(1));
    await ns.renameTable({ id: ["t7"], newTableName: "moved" });
    const moved = await counting.describeTransaction({ id: [transactionId] });
    expect(moved.properties).toEqual({ ...properties, table: "moved" });
  },
);

it("describeTransaction requires permission for the table, with and without its path", async () => {
  const { transactionId } = await ns.createTable({ id: ["secret"] }, rowsOf(1));
  const calls: string[][] = [];
  await using guarded = new DirectoryNamespace({
    root,
    durability: "none",
    authorize({ operation, id }) {
      calls.push([operation, ...id]);
      if (id.length === 1 && id[0] === "secret") throw new Error("not for you");
    },
  });
  const unnamed = guarded.describeTransaction({ id: [transactionId as string] });
  await expect(unnamed).rejects.toMatchObject({ message: `there is no transaction ${transactionId}` });
  const missing = "00000000-0000-4000-8000-000000000000";
  const absent = guarded.describeTransaction({ id: [missing] });
  await expect(absent).rejects.toMatchObject({ message: `there is no transaction ${missing}` });
  for (const id of [transactionId as string, missing]) {
    const named = guarded.describeTransaction({ id: ["secret", id] });
    await expect(named).rejects.toBeInstanceOf(PermissionDeniedError);
  }
  expect(calls).toEqual([
    ["tableExists", "secret"],
    ["describeTransaction", "secret"],
    ["describeTransaction", "secret"],
  ]);
});
