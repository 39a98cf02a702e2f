/** One catalog, two engines: each sees, uses and removes what the other made. */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Table } from "apache-arrow";
import {
  DirectoryNamespace,
  InvalidInputError,
  NamespaceAlreadyExistsError,
  NamespaceNotEmptyError,
  TableNotFoundError,
} from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import { int32s } from "../support/arrowColumns.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

let root: string;
let ours: DirectoryNamespace;
const theirs = (
  ...step: Parameters<typeof reference.catalogStep> extends [string, ...infer Step] ? Step : never
) => reference.catalogStep(root, ...step);

beforeEach(async () => {
  root = await makeTempDir();
  ours = new DirectoryNamespace({ root, durability: "none" });
  return () => ours.close();
});

const rowsOf = (...values: number[]) => new Table({ v: int32s(values) });
const objectsOf = (...values: number[]) => values.map((v) => ({ v }));
const read = async (id: string[]) =>
  Array.from((await ours.table(id).scan().toArrow()).getChild("v") ?? [], Number);

describe("a catalog made here", () => {
  it("is the reference's too: nested namespaces, their tables, properties", async () => {
    await ours.createNamespace({ id: ["a"], properties: { owner: "ann", note: 'with "quotes" and ü' } });
    await ours.createNamespace({ id: ["a", "b"] });
    await ours.createNamespace({ id: ["a", "b", "c"] });
    await ours.createTable({ id: ["root"] }, rowsOf(0));
    await ours.createTable({ id: ["a", "t"] }, rowsOf(1, 2));
    await ours.createTable({ id: ["a", "b", "c", "deep"] }, rowsOf(3));
    expect(await theirs("listNamespaces", [])).toEqual(["a"]);
    expect(await theirs("listNamespaces", ["a"])).toEqual(["b"]);
    expect(await theirs("listNamespaces", ["a", "b"])).toEqual(["c"]);
    expect(await theirs("describeNamespace", ["a"])).toEqual({
      owner: "ann",
      note: 'with "quotes" and ü',
    });
    expect(await theirs("describeNamespace", ["a", "b"])).toEqual({});
    expect(await theirs("listTables", [])).toEqual(["root"]);
    expect(await theirs("listTables", ["a"])).toEqual(["t"]);
    expect(await theirs("listTables", ["a", "b"])).toEqual([]);
    expect(await theirs("readRows", ["root"])).toEqual(objectsOf(0));
    expect(await theirs("readRows", ["a", "t"])).toEqual(objectsOf(1, 2));
    expect(await theirs("readRows", ["a", "b", "c", "deep"])).toEqual(objectsOf(3));
  });

  it("takes the reference's changes", async () => {
    await ours.createNamespace({ id: ["a"] });
    await ours.createTable({ id: ["a", "t"] }, rowsOf(1));
    await ours.createTable({ id: ["a", "u"] }, rowsOf(2));
    await ours.createTable({ id: ["r"] }, rowsOf(3));
    await theirs("addRows", ["a", "t"], objectsOf(10));
    expect(await read(["a", "t"])).toEqual([1, 10]);
    await theirs("createTable", ["a", "v"], objectsOf(4));
    expect((await ours.listTables({ id: ["a"] })).tables).toEqual(["t", "u", "v"]);
    await theirs("dropTable", ["a", "t"]);
    await theirs("dropTable", ["r"]);
    expect((await ours.listAllTables()).tables).toEqual(["a$u", "a$v"]);
    await expect(theirs("dropNamespace", ["a"])).rejects.toThrow(/not empty/);
    await ours.dropTable({ id: ["a", "u"] });
    await ours.dropTable({ id: ["a", "v"] });
    await theirs("dropNamespace", ["a"]);
    expect((await ours.listNamespaces()).namespaces).toEqual([]);
  });

  it("keeps the reference from making anew what is declared, and lets it fill it", async () => {
    await ours.createNamespace({ id: ["a"] });
    await ours.declareTable({ id: ["a", "d"], properties: { k: "v" } });
    await ours.declareTable({ id: ["d"] });
    expect(await theirs("listTables", ["a"])).toEqual(["d"]);
    expect(await theirs("listTables", [])).toEqual(["d"]);
    await expect(theirs("readRows", ["a", "d"])).rejects.toThrow(/not found/);
    await theirs("createTable", ["a", "d"], objectsOf(5));
    await theirs("createTable", ["d"], objectsOf(6));
    expect(await read(["a", "d"])).toEqual([5]);
    expect(await read(["d"])).toEqual([6]);
    expect(await ours.describeTable({ id: ["a", "d"] })).toMatchObject({
      version: 1,
      properties: { k: "v" },
      isOnlyDeclared: false,
    });
  });

  it("shows the reference tables under their new ids", async () => {
    await ours.createNamespace({ id: ["a"] });
    await ours.createNamespace({ id: ["b"] });
    await ours.createTable({ id: ["a", "t"] }, rowsOf(1));
    await ours.createTable({ id: ["r"] }, rowsOf(2));
    await ours.renameTable({ id: ["a", "t"], newTableName: "t2" });
    await ours.renameTable({ id: ["a", "t2"], newTableName: "t3", newNamespaceId: ["b"] });
    expect(await theirs("readRows", ["b", "t3"])).toEqual(objectsOf(1));
    await ours.renameTable({ id: ["r"], newTableName: "r2" });
    expect(await theirs("listTables", [])).toEqual(["r2"]);
    await ours.renameTable({ id: ["r2"], newTableName: "moved", newNamespaceId: ["a"] });
    await ours.renameTable({ id: ["b", "t3"], newTableName: "up", newNamespaceId: [] });
    expect(await theirs("listTables", [])).toEqual(["up"]);
    expect(await theirs("listTables", ["a"])).toEqual(["moved"]);
    expect(await theirs("listTables", ["b"])).toEqual([]);
    expect(await theirs("readRows", ["a", "moved"])).toEqual(objectsOf(2));
    expect(await theirs("readRows", ["up"])).toEqual(objectsOf(1));
    await theirs("addRows", ["up"], objectsOf(7));
    expect(await read(["up"])).toEqual([1, 7]);
    await theirs("dropTable", ["up"]);
    await theirs("dropTable", ["a", "moved"]);
    for (const id of [["r"], ["r2"], ["up"], ["a", "t"]]) await theirs("createTable", id, objectsOf(8));
    expect((await ours.listAllTables()).tables).toEqual(["a$t", "r", "r2", "up"]);
  });

  it("shows the reference what is registered, and not what was deregistered", async () => {
    await ours.createNamespace({ id: ["a"] });
    const { location } = await ours.createTable({ id: ["a", "t"] }, rowsOf(1));
    const directory = location.slice(root.length + 1);
    await ours.createTable({ id: ["r"] }, rowsOf(2));
    await ours.deregisterTable({ id: ["a", "t"] });
    await ours.deregisterTable({ id: ["r"] });
    expect(await theirs("listTables", ["a"])).toEqual([]);
    expect(await theirs("listTables", [])).toEqual([]);
    await ours.registerTable({ id: ["a", "again"], location: directory });
    await ours.registerTable({ id: ["r"], location: "r.lance" });
    expect(await theirs("readRows", ["a", "again"])).toEqual(objectsOf(1));
    expect(await theirs("readRows", ["r"])).toEqual(objectsOf(2));
    await theirs("dropTable", ["r"]);
  });

  it("is empty for the reference after a cascade", async () => {
    await ours.createNamespace({ id: ["a"] });
    await ours.createNamespace({ id: ["a", "b"] });
    await ours.createTable({ id: ["a", "t"] }, rowsOf(1));
    await ours.createTable({ id: ["a", "b", "u"] }, rowsOf(1));
    await ours.createNamespace({ id: ["ab"] });
    await ours.dropNamespace({ id: ["a"], behavior: "Cascade" });
    expect(await theirs("listNamespaces", [])).toEqual(["ab"]);
    expect(await readdir(root)).toEqual(["__manifest"]);
    await theirs("createNamespace", ["a"]);
    await theirs("createTable", ["a", "t"], objectsOf(2));
    expect(await read(["a", "t"])).toEqual([2]);
  });
});

describe("a catalog made by the reference", () => {
  it("is ours too", async () => {
    await theirs("createNamespace", ["a"], { k: "v" });
    await theirs("createNamespace", ["a", "b"]);
    await theirs("createTable", ["a", "b", "t"], objectsOf(1, 2));
    await theirs("createTable", ["r"], objectsOf(3));
    expect((await ours.listNamespaces()).namespaces).toEqual(["a"]);
    expect((await ours.describeNamespace({ id: ["a"] })).properties).toEqual({ k: "v" });
    expect((await ours.listNamespaces({ id: ["a"] })).namespaces).toEqual(["b"]);
    expect((await ours.listAllTables()).tables).toEqual(["a$b$t", "r"]);
    expect(await read(["a", "b", "t"])).toEqual([1, 2]);
    await ours.insertIntoTable({ id: ["a", "b", "t"] }, await ours.table(["a", "b", "t"]).scan().toArrow());
    expect(await theirs("readRows", ["a", "b", "t"])).toEqual(objectsOf(1, 2, 1, 2));
    await expect(ours.dropNamespace({ id: ["a"] })).rejects.toThrow(NamespaceNotEmptyError);
    await expect(ours.createNamespace({ id: ["a"] })).rejects.toThrow(NamespaceAlreadyExistsError);
    await ours.dropTable({ id: ["r"] });
    await theirs("createTable", ["r"], objectsOf(4));
    await ours.renameTable({ id: ["a", "b", "t"], newTableName: "t", newNamespaceId: ["a"] });
    await theirs("dropNamespace", ["a", "b"]);
    expect(await theirs("readRows", ["a", "t"])).toEqual(objectsOf(1, 2, 1, 2));
  });

  it("has tables whose namespace is in no row", async () => {
    await theirs("createTable", ["nowhere", "t"], objectsOf(1));
    expect(await read(["nowhere", "t"])).toEqual([1]);
    expect((await ours.listAllTables()).tables).toEqual(["nowhere$t"]);
    await ours.dropTable({ id: ["nowhere", "t"] });
    await expect(theirs("readRows", ["nowhere", "t"])).rejects.toThrow(/not found/);
  });

  it("has names and places that are escaped, or should be", async () => {
    const names = [
      "ü",
      "日本",
      "a b",
      "a%b",
      "a%20b",
      "a#b?c",
      "a'b",
      'a"b',
      "a`b",
      "end.",
      "~{}[]|<>^",
      "😀",
    ];
    await theirs("createNamespace", ["n"]);
    for (const name of names) await theirs("createTable", ["n", name], objectsOf(1));
    expect((await ours.listTables({ id: ["n"] })).tables).toEqual(await theirs("listTables", ["n"]));
    for (const name of names) {
      expect(await read(["n", name]), name).toEqual([1]);
      await ours.insertIntoTable({ id: ["n", name], mode: "overwrite" }, rowsOf(2));
      expect(await theirs("readRows", ["n", name]), name).toEqual(objectsOf(2));
      await ours.dropTable({ id: ["n", name] });
    }
    expect(await theirs("listTables", ["n"])).toEqual([]);
  });
});

describe("names", () => {
  const names = [
    ..."ü 日本 a_b a%b a%20b a#b?c a`b CON end. ~{}[]|<>^ 😀 -- (p) @h & * + , : ; = !".split(" "),
    " lead",
    "trail ",
    'a"b',
    ".hid",
    "x".repeat(200),
    "é".repeat(100),
    "__manifest",
    "t.lance",
  ];

  it("that are accepted are the reference's to use", async () => {
    for (const name of names) {
      await ours.createNamespace({ id: [name] });
      await ours.createNamespace({ id: [name, name] });
      await ours.createTable({ id: [name, name, name] }, rowsOf(1));
    }
    expect(await theirs("listTables", [])).toEqual([]);
    const sorted = await theirs("listNamespaces", []);
    expect((await ours.listNamespaces()).namespaces).toEqual(sorted);
    for (const name of names) {
      const id = [name, name, name];
      expect(await theirs("listNamespaces", [name]), name).toEqual([name]);
      expect(await theirs("listTables", [name, name]), name).toEqual([name]);
      expect(await theirs("readRows", id), name).toEqual(objectsOf(1));
      await theirs("addRows", id, objectsOf(2));
      expect(await read(id), name).toEqual([1, 2]);
      await theirs("dropTable", id);
      await expect(ours.tableExists({ id }), name).rejects.toThrow(TableNotFoundError);
      await theirs("dropNamespace", [name, name]);
    }
  });

  it("that the reference can't list what is in are refused", async () => {
    await expect(ours.createNamespace({ id: ["it's"] })).rejects.toThrow(InvalidInputError);
    await ours.createNamespace({ id: ["n"] });
    await ours.createTable({ id: ["n", "it's"] }, rowsOf(1));
    expect(await theirs("listTables", ["n"])).toEqual(["it's"]);
    expect(await theirs("readRows", ["n", "it's"])).toEqual(objectsOf(1));
  });
});

it("a row without its directory means nothing", async () => {
  await ours.createNamespace({ id: ["a"] });
  const { location } = await ours.createTable({ id: ["a", "t"] }, rowsOf(1));
  await rm(location, { recursive: true });
  await expect(ours.describeTable({ id: ["a", "t"] })).rejects.toThrow(TableNotFoundError);
  expect((await ours.listTables({ id: ["a"] })).tables).toEqual([]);
  await ours.createTable({ id: ["a", "t"] }, rowsOf(2));
  expect(await theirs("readRows", ["a", "t"])).toEqual(objectsOf(2));
  await rm(join(location), { recursive: true });
  await ours.dropNamespace({ id: ["a"] });
  expect(await theirs("listNamespaces", [])).toEqual([]);
});

it("a table has no properties of another that had its name", async () => {
  await ours.createTable({ id: ["t"], properties: { k: "old" } }, rowsOf(1));
  // The catalog does not learn of it.
  await reference.dropTable(root, "t");
  expect((await ours.createTable({ id: ["t"] }, rowsOf(2))).properties).toEqual({});
  expect((await ours.describeTable({ id: ["t"] })).properties).toEqual({});
});
