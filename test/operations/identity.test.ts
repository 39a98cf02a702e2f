/** A slow call never takes a new table, branch or directory for the one that it replaced. */

import { cp, mkdir, readdir, readFile, rename, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RecordBatch, Table, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import {
  ConcurrentModificationError,
  DirectoryNamespace,
  NamespaceError,
  TableNotFoundError,
} from "tiltyard";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { UNRESTRICTED } from "../../src/operations/access.js";
import { openContext } from "../../src/operations/context.js";
import { dropTable } from "../../src/operations/table/dropTable.js";
import { renameTable } from "../../src/operations/table/renameTable.js";
import { createTableVersion } from "../../src/operations/version/createTableVersion.js";
import { manifestPath } from "../../src/table/versions/paths.js";
import { afterEach, beforeEach, describe, expect, it } from "../support/fixtures.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { rowsOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

const wordsOf = (...values: string[]): Table => new Table({ w: vectorFromArray(values) });

let root: string;
let ours: DirectoryNamespace;
let others: DirectoryNamespace;

beforeEach(async () => {
  root = await makeTempDir();
  ours = new DirectoryNamespace({ root, durability: "none" });
  others = new DirectoryNamespace({ root, durability: "none" });
});
afterEach(async () => {
  await ours.close();
  await others.close();
});

/** Yields one batch after a function has run, like the body of a slow upload. */
async function* slowRows(happens: () => Promise<unknown>, rows = rowsOf(1)): AsyncGenerator<RecordBatch> {
  await happens();
  yield* rows.batches;
}

const failureOf = (call: Promise<unknown>): Promise<NamespaceError> =>
  call.then(
    () => expect.unreachable("it did not fail"),
    (error) => error,
  );

describe("what goes away under a call is named as the request names it", () => {
  const gone: [string, { id: string[]; branch?: string }, () => Promise<unknown>, string, string][] = [
    [
      "a table",
      { id: ["t"] },
      () => others.dropTable({ id: ["t"] }),
      "TableNotFound",
      "table t does not exist any more",
    ],
    [
      "a table that is renamed",
      { id: ["t"] },
      () => others.renameTable({ id: ["t"], newTableName: "u" }),
      "TableNotFound",
      "table t does not exist any more",
    ],
    [
      "a table of a child namespace",
      { id: ["a", "t"] },
      () => others.dropTable({ id: ["a", "t"] }),
      "TableNotFound",
      "table a$t does not exist any more",
    ],
    [
      "a branch",
      { id: ["t"], branch: "b" },
      () => others.deleteTableBranch({ id: ["t"], name: "b" }),
      "TableBranchNotFound",
      "table t has no branch b any more",
    ],
  ];
  it.each(
    gone,
  )("the error names the object as the request does: %s", async (_, request, goes, type, message) => {
    const { id, branch } = request;
    if (id.length > 1) await ours.createNamespace({ id: [id[0]] });
    await ours.createTable({ id }, rowsOf(1));
    if (branch !== undefined) await ours.createTableBranch({ id, name: branch });
    const failure = await failureOf(ours.insertIntoTable(request, slowRows(goes)));
    expect(failure).toMatchObject({ type, message, operation: "insertIntoTable" });
  });
});

/** Returns the directories of tables in the root that are not empty. */
const tableDirectories = async (): Promise<string[]> =>
  (await readdir(root)).filter((name) => name !== "__manifest" && !name.startsWith("."));

const valuesOf = async (id: readonly string[], column = "v"): Promise<unknown[]> =>
  Array.from((await others.table(id).scan().toArrow()).getChild(column) ?? []);

describe("a declared table of a child namespace that disappears before its first rows", () => {
  const id = ["a", "t"];
  const goings: [string, () => Promise<unknown>][] = [
    ["dropped", () => others.dropTable({ id })],
    ["deregistered", () => others.deregisterTable({ id })],
    ["moved into the root", () => others.renameTable({ id, newTableName: "t", newNamespaceId: [] })],
    ["cascaded away", () => others.dropNamespace({ id: ["a"], behavior: "Cascade" })],
  ];

  it.each(goings)("an insert creates no version: %s", async (_how, go) => {
    await ours.createNamespace({ id: ["a"] });
    await ours.declareTable({ id });
    let before: string[] = [];
    const happens = async () => {
      await go();
      before = await tableDirectories();
    };
    await expect(ours.insertIntoTable({ id }, slowRows(happens))).rejects.toBeInstanceOf(NamespaceError);
    await expect(others.tableExists({ id })).rejects.toBeInstanceOf(NamespaceError);
    expect(await tableDirectories()).toEqual(before);
  });

  it("a table that is renamed within child namespaces gets the rows", async () => {
    await ours.createNamespace({ id: ["a"] });
    await ours.declareTable({ id });
    const happens = () => others.renameTable({ id, newTableName: "u" });
    await ours.insertIntoTable({ id }, slowRows(happens));
    expect(await valuesOf(["a", "u"])).toEqual([1]);
  });

  it.each(["declared", "new"])("createTable of a %s table leaves nothing of it either", async (state) => {
    await ours.createNamespace({ id: ["a"] });
    if (state === "declared") await ours.declareTable({ id });
    const happens = () => others.dropNamespace({ id: ["a"], behavior: "Cascade" });
    await expect(ours.createTable({ id }, slowRows(happens))).rejects.toBeInstanceOf(NamespaceError);
    expect(await tableDirectories()).toEqual([]);
  });
});

describe("a table that is dropped and created again during an upload", () => {
  it.each([
    ["a", "t"],
    ["t"],
  ])("does not get its rows, though it was cleaned up since: %j", async (...id: string[]) => {
    if (id.length > 1) await ours.createNamespace({ id: ["a"] });
    await ours.createTable({ id }, rowsOf(0));
    const happens = async () => {
      await others.dropTable({ id });
      await others.createTable({ id }, wordsOf("x"));
      await others.insertIntoTable({ id }, wordsOf("y"));
      await others.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
    };
    await expect(ours.insertIntoTable({ id }, slowRows(happens))).rejects.toBeInstanceOf(NamespaceError);
    expect(await valuesOf(id, "w")).toEqual(["x", "y"]);
  });

  it("the engine distinguishes two tables of the reference", async () => {
    await reference.createTable(root, "t", tableToIPC(rowsOf(0)));
    const happens = async () => {
      await reference.dropTable(root, "t");
      await reference.createTable(root, "t", tableToIPC(rowsOf(5)));
    };
    await expect(ours.insertIntoTable({ id: ["t"] }, slowRows(happens))).rejects.toBeInstanceOf(
      NamespaceError,
    );
    expect(await valuesOf(["t"])).toEqual([5]);
  });
});

describe("a branch that is deleted and created again during an upload", () => {
  it.each([1, 2])("the new branch does not get the rows if it starts from version %i", async (version) => {
    const id = ["t"];
    await ours.createTable({ id }, rowsOf(0));
    await ours.insertIntoTable({ id }, rowsOf(1));
    await ours.createTableBranch({ id, name: "b", fromVersion: 1 });
    const happens = async () => {
      await others.deleteTableBranch({ id, name: "b" });
      await others.createTableBranch({ id, name: "b", fromVersion: version });
    };
    await expect(
      ours.insertIntoTable({ id, branch: "b" }, slowRows(happens, rowsOf(7))),
    ).rejects.toBeInstanceOf(ConcurrentModificationError);
  });
});

it("the next commit is based on a restored directory, whatever is cached", async ({ root: first }) => {
  const id = ["t"];
  const directory = join(root, "t.lance");
  const second = manifestPath(directory, 2, "V2");
  await ours.createTable({ id }, rowsOf(0));
  await cp(directory, join(first, "t.lance"), { recursive: true, preserveTimestamps: true });
  await ours.insertIntoTable({ id }, rowsOf(1));
  // Archive of another second version of the same size. A manifest's timestamp takes a byte more or less.
  let archive: string;
  do {
    archive = await makeTempDir();
    await cp(first, archive, { recursive: true, preserveTimestamps: true });
    await using archived = new DirectoryNamespace({ root: archive, durability: "none" });
    await archived.insertIntoTable({ id }, rowsOf(9));
  } while ((await stat(manifestPath(join(archive, "t.lance"), 2, "V2"))).size !== (await stat(second)).size);
  await utimes(second, 1_700_000_000, 1_700_000_000);
  expect(await ours.table(id).countRows()).toBe(2);
  const before = await stat(second);
  // Files are unpacked over existing files, with modification times in whole seconds.
  for (const name of await readdir(join(archive, "t.lance"), { recursive: true })) {
    const file = join(archive, "t.lance", name);
    if ((await stat(file)).isDirectory()) await mkdir(join(directory, name), { recursive: true });
    else await writeFile(join(directory, name), await readFile(file));
  }
  await utimes(second, 1_700_000_000, 1_700_000_000);
  const after = await stat(second);
  expect([after.ino, after.size, after.mtimeMs]).toEqual([before.ino, before.size, before.mtimeMs]);
  await ours.insertIntoTable({ id }, rowsOf(6));
  expect(await valuesOf(id)).toEqual([0, 9, 6]);
  const seen = tableFromIPC(await reference.readTable(root, "t"));
  expect(Array.from(seen.getChild("v") ?? [])).toEqual([0, 9, 6]);
});

describe("a disk that pauses while the table is replaced", () => {
  const id = ["t"];
  /** Creates another table of that name with an engine that takes no lock. */
  const remake = async () => {
    await reference.dropTable(root, "t");
    await reference.createTable(root, "t", tableToIPC(wordsOf("x")));
  };

  it("a drop leaves the new table unchanged", async () => {
    await ours.createTable({ id }, rowsOf(0));
    const disk = interruptedDisk(
      new NodeDisk({ durability: "none" }),
      (verb, path) => verb === "rename" && path.endsWith("t.lance"),
      remake,
    );
    const context = openContext({ root, disk, durability: "none" });
    await expect(dropTable(context, { id }, UNRESTRICTED, [])).rejects.toBeInstanceOf(TableNotFoundError);
    await context.close();
    expect(await valuesOf(id, "w")).toEqual(["x"]);
  });

  it("a rename leaves the new table unchanged", async () => {
    await ours.createTable({ id }, rowsOf(0));
    const disk = interruptedDisk(
      new NodeDisk({ durability: "none" }),
      (verb, path) => verb === "rename" && path.endsWith("t.lance"),
      async () => {
        await rename(join(root, "t.lance"), join(root, "aside"));
        await reference.createTable(root, "t", tableToIPC(wordsOf("x")));
      },
    );
    const context = openContext({ root, disk, durability: "none" });
    await expect(renameTable(context, { id, newTableName: "u" }, UNRESTRICTED, [])).rejects.toBeInstanceOf(
      TableNotFoundError,
    );
    await context.close();
    expect(await valuesOf(id, "w")).toEqual(["x"]);
    await expect(others.tableExists({ id: ["u"] })).rejects.toBeInstanceOf(TableNotFoundError);
  });

  describe.each(["makeDirectory", "create", "link"] as const)("createTableVersion, before %s", (verb) => {
    it.each(["dropped", "made anew"])("publishes nothing where the table was %s", async (how) => {
      await ours.createTable({ id }, rowsOf(0));
      const staged = await stageDoubled(join(root, "t.lance"), 2);
      const disk = interruptedDisk(
        new NodeDisk({ durability: "none" }),
        (called, path) => called === verb && path.includes("_versions"),
        () => (how === "dropped" ? reference.dropTable(root, "t") : remake()),
      );
      const context = openContext({ root, disk, durability: "none" });
      const published = createTableVersion(
        context,
        { id, version: 2, manifestPath: staged },
        UNRESTRICTED,
        [],
      );
      await expect(published).rejects.toBeInstanceOf(NamespaceError);
      expect(disk.interrupted).toBe(true);
      await context.close();
      if (how === "made anew") expect(await valuesOf(id, "w")).toEqual(["x"]);
      else expect(await tableDirectories()).toEqual([]);
    });
  });
});
