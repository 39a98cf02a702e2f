/**
 * Tables of child namespaces may have any name. A registered location must not be one in which some file
 * system finds another table or the engine's files.
 */

import { cp, mkdir, readdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { newLocation } from "../../src/catalog/locations/newLocations.js";
import { changeCatalog } from "../../src/catalog/rows/catalogTable.js";
import { foldName, isDeviceName } from "../../src/io/names/foldName.js";
import { openContext } from "../../src/operations/context.js";
import { DISKS, expectRefusal, openOn, rowsOf, valuesOf } from "../support/foldedNamespaces.js";
import { makeTempDir } from "../support/tempDir.js";

let root: string;

beforeEach(async () => {
  root = await makeTempDir();
});

const NAMES = [
  "Trees",
  "trees",
  "TREES",
  "été",
  "ÉTÉ",
  "été".normalize("NFD"),
  "v1",
  "v1.",
  "v1 ",
  "con",
  "nul.x",
];

describe.each(DISKS)("on %s", (disk) => {
  it("tables whose names fold together exist side by side", async () => {
    await using ns = openOn(root, disk);
    await ns.createNamespace({ id: ["n"] });
    await ns.createNamespace({ id: ["N"] });
    const ids = ["n", "N"].flatMap((parent) => NAMES.map((name) => [parent, name]));
    for (const [index, id] of ids.entries()) {
      if (index % 3 === 0) await ns.declareTable({ id });
      if (index % 3 !== 1) await ns.createTable({ id }, rowsOf(index));
      if (index % 3 === 1) {
        await ns.createTable({ id: [id[0], "passing"] }, rowsOf(index));
        await ns.renameTable({ id: [id[0], "passing"], newTableName: id[1] });
      }
    }
    for (const [index, id] of ids.entries()) expect(await valuesOf(ns, id), id.join("$")).toEqual([index]);
    const names = await readdir(root);
    expect(new Set(names.map(foldName)).size).toBe(names.length);
    for (const id of ids.slice(1)) await ns.dropTable({ id });
    expect(await valuesOf(ns, ids[0])).toEqual([0]);
    expect((await readdir(root)).length).toBe(2);
  });

  it("registering another table's location, or the engine's own, is refused", async () => {
    await using ns = openOn(root, disk);
    await ns.createNamespace({ id: ["n"] });
    await ns.createTable({ id: ["rooted"] }, rowsOf(1));
    await ns.createTable({ id: ["n", "t"] }, rowsOf(2));
    const { location } = await ns.describeTable({ id: ["n", "t"] });
    const table = location.slice(root.length + 1);
    await mkdir(join(root, "Foreign"));
    await cp(location, join(root, "Foreign", "Table"), { recursive: true });
    await ns.registerTable({ id: ["n", "foreign"], location: "Foreign/Table" });
    for (const directory of [
      ...[table, table.toUpperCase(), `${table}.`, `${table}/data`, `${table.toUpperCase()}/Data`],
      ...["rooted.lance", "Rooted.lance", "ROOTED.LANCE", "rooted.lance.", "rooted.LANCE/data"],
      ...["Foreign/Table", "foreign/table", "foreign", "FOREIGN/TABLE/data", "Foreign/Table. "],
      ...["__manifest", "__MANIFEST", "__manifest.", "__Manifest/data", ".TILTYARD-batches", ".tiltyard-x/y"],
      ...["con", "x/NUL.txt", "aux./t"],
    ]) {
      // A disk that does not fold may contain a table of another engine there.
      const real = join(root, ...directory.split("/"));
      const isMade =
        disk === "a plain disk" &&
        directory !== table &&
        !directory.startsWith("__manifest") &&
        directory !== "foreign";
      const before = await readdir(root);
      if (isMade)
        await cp(location, real, { recursive: true, force: false, errorOnExist: true }).catch(
          () => undefined,
        );
      const register = () => ns.registerTable({ id: ["n", "new"], location: directory });
      await expectRefusal(root, register, "InvalidInput");
      for (const name of await readdir(root)) {
        if (!before.includes(name)) await rm(join(root, name), { recursive: true });
      }
    }
  });

  it.skipIf(process.platform === "win32")(
    "registering a link to another table's directory is refused",
    async () => {
      await using ns = openOn(root, disk);
      await ns.createNamespace({ id: ["n"] });
      await ns.createTable({ id: ["rooted"] }, rowsOf(1));
      await symlink(join(root, "rooted.lance"), join(root, "alias"));
      await symlink(join(root, "__manifest"), join(root, "catalog"));
      for (const location of ["alias", "catalog"]) {
        await expect(ns.registerTable({ id: ["n", "t"], location })).rejects.toMatchObject({ code: 13 });
      }
      expect((await ns.listTables({ id: ["n"] })).tables).toEqual([]);
    },
  );

  it("a location must be registered as the disk spells it", async () => {
    await using ns = openOn(root, disk);
    await ns.createNamespace({ id: ["n"] });
    await ns.createTable({ id: ["n", "t"] }, rowsOf(2));
    const { location } = await ns.describeTable({ id: ["n", "t"] });
    await ns.deregisterTable({ id: ["n", "t"] });
    await rename(location, join(root, "Foreign"));
    await expectRefusal(
      root,
      () => ns.registerTable({ id: ["n", "t"], location: "foreign" }),
      "InvalidInput",
      /no directory foreign/,
    );
    await ns.registerTable({ id: ["n", "t"], location: "Foreign" });
    expect(await valuesOf(ns, ["n", "t"])).toEqual([2]);
  });
});

describe("two rows whose locations fold together", () => {
  /** Registers two tables one after the other, which another engine has moved to such directories. */
  async function twoTables(merged: boolean): Promise<void> {
    await using ns = openOn(root, "a plain disk");
    await ns.createNamespace({ id: ["n"] });
    await ns.createNamespace({ id: ["n", "inner"] });
    await ns.createTable({ id: ["n", "a"] }, rowsOf(1));
    const { location } = await ns.describeTable({ id: ["n", "a"] });
    await ns.deregisterTable({ id: ["n", "a"] });
    await mkdir(join(root, "Place"));
    await cp(location, join(root, "Place", "x"), { recursive: true });
    await mkdir(join(root, "place"));
    await cp(location, join(root, "place", "X"), { recursive: true });
    await ns.registerTable({ id: ["n", "a"], location: "Place/x" });
    // Registering the second is refused, so its row is written as by another engine.
    await ns.registerTable({ id: ["n", "inner", "b"], location: location.slice(root.length + 1) });
    await replaceInCatalog(location.slice(root.length + 1), "place/X");
    await rm(location, { recursive: true });
    if (merged) await rm(join(root, "place"), { recursive: true });
  }

  async function replaceInCatalog(directory: string, newDirectory: string): Promise<void> {
    const context = openContext({ root, durability: "none" });
    await changeCatalog(context, (catalog) => {
      const row = catalog.rows.find(({ location }) => location === directory);
      if (row === undefined) throw new Error(`no row of ${directory}`);
      return { replace: new Map([[row.objectId, { ...row, location: newDirectory }]]) };
    });
    await context.close();
  }

  it("are two tables on a disk that does not fold: each drop removes its own directory", async () => {
    await twoTables(false);
    await using ns = openOn(root, "a plain disk");
    await ns.dropTable({ id: ["n", "a"] });
    expect(await readdir(join(root, "Place"))).toEqual([]);
    expect(await valuesOf(ns, ["n", "inner", "b"])).toEqual([1]);
    await ns.dropNamespace({ id: ["n", "inner"], behavior: "Cascade" });
    expect(await readdir(join(root, "place"))).toEqual([]);
  });

  const FILE_SYSTEMS = ["NTFS", "APFS", "HFS+"];
  it.each(FILE_SYSTEMS)("share a directory on %s: dropping one leaves the other's files", async (disk) => {
    await twoTables(true);
    await using ns = openOn(root, disk);
    expect(await valuesOf(ns, ["n", "inner", "b"])).toEqual([1]);
    await ns.dropTable({ id: ["n", "a"] });
    expect(await valuesOf(ns, ["n", "inner", "b"])).toEqual([1]);
    await ns.dropNamespace({ id: ["n", "inner"], behavior: "Cascade" });
  });

  it.each(["NTFS", "APFS"])("share a directory on %s: a cascade leaves the other's files", async (disk) => {
    await twoTables(true);
    await using ns = openOn(root, disk);
    await ns.dropNamespace({ id: ["n", "inner"], behavior: "Cascade" });
    expect(await valuesOf(ns, ["n", "a"])).toEqual([1]);
  });
});

it("directories of child tables have names that every file system accepts", () => {
  const anyName = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom(...NAMES, "a.lance", "x.LANCE.", "..lance.", "a. ", "😀".repeat(50)),
  );
  fc.assert(
    fc.property(fc.array(anyName, { minLength: 2, maxLength: 6 }), (path) => {
      const location = newLocation(path.join("$"));
      expect(location).toMatch(/^[0-9a-f]{8}_[A-Za-z0-9_$.-]*$/);
      expect(location).not.toMatch(/[. ]$|\.lance$/i);
      expect(location.length).toBeLessThanOrEqual(255);
      expect(isDeviceName(location)).toBe(false);
      expect(foldName(location)).toBe(location.toUpperCase());
    }),
  );
  const folded = Array.from({ length: 1000 }, (_, index) =>
    foldName(newLocation(index % 2 ? "n$Trees" : "N$trees")),
  );
  expect(new Set(folded).size).toBe(1000);
});
