/** Checks the cached list of the root: it is never wrong, and making tables does not read it again. */

import { mkdir, readdir, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import { Catalog } from "../../../src/catalog/rows/catalogRows.js";
import { RootNames } from "../../../src/catalog/rows/rootNames.js";
import type { Disk } from "../../../src/io/disk/disk.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { rowsOf } from "../../support/foldedNamespaces.js";
import { makeTempDir } from "../../support/tempDir.js";
import { replacedVerbs } from "../../support/wrappedDisk.js";

let root: string;
let lists: number;

beforeEach(async () => {
  root = await makeTempDir();
  lists = 0;
});

/** Returns a disk that counts listings of the root and derives its link count from its subdirectories. */
function countingLists(linksOf: (subdirectories: number) => number): Disk {
  const disk = new NodeDisk({ durability: "none" });
  return replacedVerbs(disk, {
    list: (path) => {
      if (path === root) lists++;
      return disk.list(path);
    },
    stat: async (path) => {
      const stat = await disk.stat(path);
      if (path !== root || stat === null) return stat;
      const entries = await readdir(root, { withFileTypes: true });
      return { ...stat, links: linksOf(entries.filter((entry) => entry.isDirectory()).length) };
    },
  });
}

const counted = (subdirectories: number): number => 2 + subdirectories;
const catalog = Catalog.empty;
const later = Object.create(Catalog.empty) as Catalog;
const recover = () => new Promise((resolve) => setTimeout(resolve, 120));

describe("neighbours", () => {
  const openNames = (linksOf = counted) => new RootNames(countingLists(linksOf), root);
  const othersOf = async (names: RootNames, location: string, of = catalog, isMade = false) =>
    (await names.neighbours(location, of, isMade)).others.map(({ name }) => name);
  const make = async (names: RootNames, location: string) => {
    await mkdir(join(root, location));
    names.made(location);
  };

  it("include directories that were made here, without another listing", async () => {
    const names = openNames();
    expect(await othersOf(names, "trees.lance")).toEqual([]);
    for (let index = 0; index < 50; index++) {
      await make(names, `T${index}.lance`);
      expect(await othersOf(names, `t${index}.lance`)).toEqual([`T${index}.lance`]);
      expect(await names.neighbours(`T${index}.lance`, catalog, true)).toEqual({ isThere: true, others: [] });
    }
    await make(names, "two.lance");
    await make(names, "TWO.lance");
    expect(await othersOf(names, "Two.lance")).toEqual(["two.lance", "TWO.lance"]);
    expect(lists).toBe(1);
  });

  it("include directories that others made, however recently", async () => {
    const names = openNames();
    for (let index = 0; index < 50; index++) {
      await make(names, `own${index}.lance`);
      expect(await othersOf(names, `Trees${index}.lance`)).toEqual([]);
      await mkdir(join(root, `trees${index}.lance`));
      expect(await othersOf(names, `Trees${index}.lance`)).toEqual([`trees${index}.lance`]);
    }
  });

  it("include directories that others made at the same time as this engine", async () => {
    const names = openNames();
    for (let index = 0; index < 50; index++) {
      await othersOf(names, "x.lance");
      await mkdir(join(root, `trees${index}.lance`));
      await make(names, `own${index}.lance`);
      expect(await othersOf(names, `Trees${index}.lance`)).toEqual([`trees${index}.lance`]);
    }
  });

  it("reflect renamed and removed directories", async () => {
    const names = openNames();
    await mkdir(join(root, "a.lance"));
    await recover();
    expect(await othersOf(names, "A.lance")).toEqual(["a.lance"]);
    await rename(join(root, "a.lance"), join(root, "b.lance"));
    expect(await othersOf(names, "A.lance")).toEqual([]);
    expect(await othersOf(names, "B.lance")).toEqual(["b.lance"]);
    await rmdir(join(root, "b.lance"));
    expect(await othersOf(names, "B.lance")).toEqual([]);
  });

  it("are listed again with another catalog", async () => {
    const names = openNames();
    await othersOf(names, "a.lance");
    await othersOf(names, "a.lance");
    expect(lists).toBe(1);
    await othersOf(names, "a.lance", later);
    expect(lists).toBe(2);
    names.followed(later, catalog);
    await othersOf(names, "a.lance");
    expect(lists).toBe(2);
    names.forget();
    await othersOf(names, "a.lance");
    expect(lists).toBe(3);
  });

  it("are listed each time in a changing directory if links are not counted", async () => {
    const names = openNames(() => 1);
    for (let index = 0; index < 20; index++) {
      await make(names, `own${index}.lance`);
      expect(await othersOf(names, `Trees${index}.lance`)).toEqual([]);
      await mkdir(join(root, `trees${index}.lance`));
      expect(await othersOf(names, `Trees${index}.lance`)).toEqual([`trees${index}.lance`]);
    }
    await recover();
    await othersOf(names, "x.lance");
    const before = lists;
    await othersOf(names, "x.lance");
    await othersOf(names, "x.lance", later);
    expect(lists).toBe(before);
  });

  it("include a directory that the caller vouches for", async () => {
    const names = openNames((subdirectories) => counted(subdirectories === 0 ? 0 : 1));
    await make(names, "own.lance");
    await othersOf(names, "own.lance");
    await mkdir(join(root, "late.lance"));
    expect(await names.neighbours("late.lance", catalog, true)).toMatchObject({ isThere: true });
  });

  it("have the suffix of root tables' directories, in any case, with dots before or after it", async () => {
    const names = openNames();
    for (const name of ["a.LANCE", "a..lance", "a", "a.lance.x"]) await mkdir(join(root, name));
    expect((await othersOf(names, "A.lance")).sort()).toEqual(["a..lance", "a.LANCE"]);
  });
});

it.each(["declareTable", "createTable"] as const)("%s lists no others", async (method) => {
  const ns = new DirectoryNamespace({ root, disk: countingLists(counted), durability: "none" });
  for (let index = 0; index < 3; index++) await ns[method]({ id: [`first${index}`] }, rowsOf(1));
  lists = 0;
  for (let index = 0; index < 20; index++) await ns[method]({ id: [`t${index}`] }, rowsOf(1));
  expect(lists).toBe(0);
  await expect(ns[method]({ id: ["T19"] }, rowsOf(1))).rejects.toMatchObject({ code: 13 });
  await ns.close();
  await rm(root, { recursive: true });
});
