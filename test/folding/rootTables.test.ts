/**
 * No two root tables get names that some file system treats as one, and nobody reaches a table by the
 * other's name.
 */

import { access, mkdir, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { someOf } from "../support/effort.js";
import {
  DISKS,
  expectFolding,
  expectRefusal,
  openOn,
  rowsOf,
  valuesOf,
} from "../support/foldedNamespaces.js";
import { succeeds } from "../support/outcomes.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

let root: string;

beforeEach(async () => {
  root = await makeTempDir();
});

const exists = (path: string): Promise<boolean> => succeeds(access(path));

const PAIRS: readonly (readonly [first: string, second: string])[] = [
  ["Trees", "trees"],
  ["v1", "v1."],
  ["a.B", "A.b.."],
];

const makings: readonly (readonly [string, (ns: DirectoryNamespace, name: string) => Promise<unknown>])[] = [
  ["createTable", (ns, name) => ns.createTable({ id: [name] }, rowsOf(1))],
  ["createTable, ExistOk", (ns, name) => ns.createTable({ id: [name], mode: "ExistOk" }, rowsOf(1))],
  ["createTable, Overwrite", (ns, name) => ns.createTable({ id: [name], mode: "Overwrite" }, rowsOf(1))],
  ["declareTable", (ns, name) => ns.declareTable({ id: [name] })],
  [
    "batchCommitTables",
    (ns, name) => ns.batchCommitTables({ operations: [{ declareTable: { id: [name] } }] }),
  ],
  ["renameTable", (ns, name) => ns.renameTable({ id: ["spare"], newTableName: name })],
  [
    "renameTable out of a namespace",
    (ns, name) => ns.renameTable({ id: ["n", "spare"], newTableName: name, newNamespaceId: [] }),
  ],
];

async function openWithSpares(disk: string): Promise<DirectoryNamespace> {
  const ns = openOn(root, disk);
  await ns.createNamespace({ id: ["n"] });
  await ns.createTable({ id: ["spare"] }, rowsOf(7));
  await ns.createTable({ id: ["n", "spare"] }, rowsOf(8));
  return ns;
}

describe.each(DISKS)("on %s", (disk) => {
  describe.each(disk === "NTFS" ? someOf(PAIRS) : PAIRS.slice(0, 1))("beside %s", (one, second) => {
    it.each(makings)(`${second} is refused by %s`, async (_, make) => {
      await using ns = await openWithSpares(disk);
      await ns.createTable({ id: [one] }, rowsOf(1, 2));
      await using unauthenticated = openOn(root, disk);
      for (const engine of [ns, unauthenticated]) await expectFolding(root, () => make(engine, second), one);
      expect(await valuesOf(ns, [one])).toEqual([1, 2]);

      await ns.dropTable({ id: [one] });
      await make(unauthenticated, second);
      await ns.tableExists({ id: [second] });
      await expectFolding(root, () => ns.createTable({ id: [one] }, rowsOf(1)), second);
    });

    it.each(["declared", "deregistered"])(`creating ${second} is refused while it is %s`, async (state) => {
      await using ns = await openWithSpares(disk);
      if (state === "declared") await ns.declareTable({ id: [one] });
      else {
        await ns.createTable({ id: [one] }, rowsOf(1));
        await ns.deregisterTable({ id: [one] });
      }
      for (const [, make] of makings) await expectFolding(root, () => make(ns, second), one);
    });

    it(`finding, changing and dropping ${second} has no effect`, async () => {
      await using ns = await openWithSpares(disk);
      await ns.createTable({ id: [one] }, rowsOf(1, 2));
      const id = [second];
      const before = await directorySnapshot(root);
      for (const call of [
        () => ns.tableExists({ id }),
        () => ns.describeTable({ id }),
        () => ns.queryTable({ id }),
        () => ns.insertIntoTable({ id }, rowsOf(3)),
        () => ns.insertIntoTable({ id, mode: "overwrite" }, rowsOf(3)),
        () => ns.dropTable({ id }),
        () => ns.deregisterTable({ id }),
        () => ns.renameTable({ id, newTableName: "elsewhere" }),
        () => ns.createTableBranch({ id, name: "b" }),
        () => ns.createTableTag({ id, tag: "t", version: 1 }),
        () => ns.restoreTable({ id, version: 1 }),
      ]) {
        await expect(call()).rejects.toMatchObject({ type: "TableNotFound" });
      }
      expect(await directorySnapshot(root)).toEqual(before);
      expect((await ns.listTables({ id: [] })).tables).toEqual([one, "spare"].sort());
    });
  });

  it("a table may change the case of its own name", async () => {
    await using ns = await openWithSpares(disk);
    await ns.createTable({ id: ["trees"], properties: { k: "v" } }, rowsOf(1, 2));
    await ns.renameTable({ id: ["trees"], newTableName: "Trees" });
    expect(await valuesOf(ns, ["Trees"])).toEqual([1, 2]);
    expect((await ns.describeTable({ id: ["Trees"] })).properties).toEqual({ k: "v" });
    await expect(ns.tableExists({ id: ["trees"] })).rejects.toMatchObject({ type: "TableNotFound" });
    expect(await readdir(root)).toContain("Trees.lance");
    expect(await readdir(root)).not.toContain("trees.lance");
  });

  it("a deregistered table can be registered again, but not beside another", async () => {
    await using ns = await openWithSpares(disk);
    await ns.createTable({ id: ["Trees"] }, rowsOf(1));
    await ns.deregisterTable({ id: ["Trees"] });
    await expectFolding(root, () => ns.createTable({ id: ["trees"] }, rowsOf(2)), "Trees");
    const asOther = () => ns.registerTable({ id: ["trees"], location: "trees.lance" });
    await expectRefusal(root, asOther, "InvalidInput");
    await ns.registerTable({ id: ["Trees"], location: "Trees.lance" });
    expect(await valuesOf(ns, ["Trees"])).toEqual([1]);
  });

  it("a batch refuses to make both tables", async () => {
    await using ns = await openWithSpares(disk);
    const declare = (...names: string[]) =>
      ns.batchCommitTables({ operations: names.map((name) => ({ declareTable: { id: [name] } })) });
    await expectFolding(root, () => declare("a", "Trees", "trees"), "Trees");
    await expectFolding(root, () => declare("v1", "v1."), "v1");
    await declare("Trees", "trees2");
  });

  it.each([
    ...["con", "CON", "prn", "aux.x", "nul.tar.gz", "com0", "Com9", "lpt1", "lpt0.a"],
    ...[".tiltyard", ".TILTYARD", ".Tiltyard-batches", ".tiltyard-dropped-x", ".lance-reserved", ".tmp-x"],
    ...["__manifest", "__MANIFEST"],
  ])("creating a table with the name %s is refused", async (name) => {
    await using ns = await openWithSpares(disk);
    for (const [, make] of makings) await expectRefusal(root, () => make(ns, name), "InvalidInput");
  });

  it("the refusal names the existing entry, even if it is not a table", async () => {
    await using ns = await openWithSpares(disk);
    await mkdir(join(root, "Trees.LANCE"));
    await expectFolding(root, () => ns.createTable({ id: ["trees"] }, rowsOf(1)), "Trees.LANCE");
    await writeFile(join(root, "Leaves.lance"), "a file");
    await expectFolding(root, () => ns.declareTable({ id: ["leaves"] }), "Leaves.lance");
  });

  it("the orphans of an old creation do not block a new one", async () => {
    await using ns = await openWithSpares(disk);
    const left = join(root, "Trees.lance");
    await mkdir(join(left, "data"), { recursive: true });
    await writeFile(join(left, "data", "0.lance"), "rows");
    for (const path of [join(left, "data", "0.lance"), join(left, "data"), left]) await utimes(path, 1, 1);
    await ns.createTable({ id: ["trees"] }, rowsOf(1));
    expect(await valuesOf(ns, ["trees"])).toEqual([1]);
    expect(await readdir(root)).toContain("trees.lance");
  });

  it("a row of a dead creation does not block for long", async () => {
    await using ns = await openWithSpares(disk);
    await ns.declareTable({ id: ["Trees"] });
    const left = join(root, "Trees.lance");
    for (const name of await readdir(left)) await rm(join(left, name));
    await expectFolding(root, () => ns.createTable({ id: ["trees"] }, rowsOf(1)), "Trees");
    await utimes(left, 1, 1);
    await ns.createTable({ id: ["trees"] }, rowsOf(1));
    expect(await valuesOf(ns, ["trees"])).toEqual([1]);
    expect(await exists(left)).toBe(disk !== "a plain disk" && (await readdir(root)).includes("Trees.lance"));
  });
});

describe("an existing directory", () => {
  it.each(["con", "nul.x", ".tiltyard-dropped-x", ".lance-x", "COM1"])("stays usable: %s", async (name) => {
    await using ns = await openWithSpares("a plain disk");
    await ns.createTable({ id: ["t"] }, rowsOf(1));
    await rename(join(root, "t.lance"), join(root, `${name}.lance`));
    expect((await ns.listTables({ id: [] })).tables).toContain(name);
    await ns.insertIntoTable({ id: [name] }, rowsOf(2));
    await ns.createTable({ id: [name], mode: "Overwrite" }, rowsOf(3));
    await ns.dropTable({ id: ["spare"] });
    expect(await valuesOf(ns, [name])).toEqual([3]);
    await ns.renameTable({ id: [name], newTableName: "legal" });
    expect(await valuesOf(ns, ["legal"])).toEqual([3]);
    await ns.dropTable({ id: ["legal"] });
    expect((await ns.listTables({ id: [] })).tables).toEqual([]);
  });

  it("that is one of two tables of the reference stays separate", async () => {
    for (const [name, value] of [
      ["Trees", 1],
      ["trees", 2],
    ] as const) {
      await reference.createTable(root, name, tableToIPC(rowsOf(value)));
    }
    await using ns = openOn(root, "a plain disk");
    expect((await ns.listTables({ id: [] })).tables).toEqual(["Trees", "trees"]);
    await ns.insertIntoTable({ id: ["trees"] }, rowsOf(3));
    await ns.createTable({ id: ["Trees"], mode: "Overwrite" }, rowsOf(4));
    expect(await valuesOf(ns, ["Trees"])).toEqual([4]);
    expect(await valuesOf(ns, ["trees"])).toEqual([2, 3]);
    await expectFolding(root, () => ns.createTable({ id: ["TREES"] }, rowsOf(5)), "[Tt]rees");
    await ns.dropTable({ id: ["Trees"] });
    expect(await valuesOf(ns, ["trees"])).toEqual([2, 3]);
    await expectFolding(root, () => ns.declareTable({ id: ["Trees"] }), "trees");
  });

  it("that is a declared table, beside which no other is made, accepts its first rows", async () => {
    await using ns = openOn(root, "a plain disk");
    await ns.declareTable({ id: ["t"] });
    await ns.createTable({ id: ["Trees"] }, rowsOf(1));
    await rename(join(root, "t.lance"), join(root, "trees.lance"));
    await ns.createTable({ id: ["trees"] }, rowsOf(2));
    expect(await valuesOf(ns, ["trees"])).toEqual([2]);
  });
});

it("a table that the reference made a moment ago is noticed", async () => {
  await using ns = openOn(root, "a plain disk");
  for (let round = 0; round < 20; round++) {
    await ns.declareTable({ id: [`before${round}`] });
    await reference.createTable(root, `Trees${round}`, tableToIPC(rowsOf(1)));
    await expectFolding(root, () => ns.declareTable({ id: [`trees${round}`] }), `Trees${round}`);
  }
});
