/**
 * No two branches of a table get names that some file system treats as one. If another engine made them,
 * deleting one leaves the other.
 */

import { access, cp, mkdir, readdir, rename, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import type * as LockModule from "../../src/io/lock/lock.js";
import { someOf } from "../support/effort.js";
import {
  DISKS,
  expectFolding,
  expectRefusal,
  openOn,
  rowsOf,
  valuesOf,
} from "../support/foldedNamespaces.js";
import { type FileSystem, fileSystems, resolveOn } from "../support/foldingDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

/** File system of locks, which do not use the disk: it folds names while a test sets it. */
const locks = vi.hoisted(() => ({ fileSystem: null as FileSystem | null }));
vi.mock("../../src/io/lock/lock.js", async (importOriginal) => {
  const original = await importOriginal<typeof LockModule>();
  const withLock: typeof original.withLock = (directory, ...rest) =>
    original.withLock(
      locks.fileSystem === null ? directory : resolveOn(locks.fileSystem, directory),
      ...rest,
    );
  return { ...original, withLock };
});

const id = ["t"];
let root: string;
let table: string;

beforeEach(async () => {
  root = await makeTempDir();
  table = join(root, "t.lance");
  return () => {
    locks.fileSystem = null;
  };
});

async function openTable(disk: string): Promise<DirectoryNamespace> {
  locks.fileSystem = fileSystems.find(({ name }) => name === disk) ?? null;
  const ns = openOn(root, disk);
  await ns.createTable({ id }, rowsOf(1));
  return ns;
}

const PAIRS: readonly (readonly [first: string, second: string])[] = [
  ["dev", "Dev"],
  ["été", "Été"],
  // In decomposed form, other letters have marks, which branch names cannot contain.
  ["가", "가".normalize("NFD")],
  ["v1", "v1."],
  ["A/x", "a/y"],
  ["A/x", "a"],
  ["a", "A/y"],
  ["a/b/c", "a/B."],
  ["straße", "STRASSE"],
];

describe.each(DISKS)("on %s", (disk) => {
  it.each(someOf(PAIRS))("beside branch %s, creating %s is refused", async (one, second) => {
    await using ns = await openTable(disk);
    await using unauthenticated = openOn(root, disk);
    await ns.createTableBranch({ id, name: one });
    await ns.insertIntoTable({ id, branch: one }, rowsOf(2));
    for (const engine of [ns, unauthenticated]) {
      await expectFolding(root, () => engine.createTableBranch({ id, name: second }), one);
    }
    expect(await valuesOf(ns, id, one)).toEqual([1, 2]);
    await ns.deleteTableBranch({ id, name: one });
    await unauthenticated.createTableBranch({ id, name: second });
    expect(await valuesOf(unauthenticated, id, second)).toEqual([1]);
    expect(await readdir(join(table, "tree"))).toHaveLength(1);
  });

  it("a sweep spares a branch whose directories the disk spells differently", async () => {
    await using ns = await openTable(disk);
    for (const name of ["été", "Dev", "Dev/sub"]) {
      await ns.createTableBranch({ id, name });
      await ns.insertIntoTable({ id, branch: name }, rowsOf(2));
    }
    // The directories were made, or unpacked, on another file system.
    if (locks.fileSystem !== null) await rename(join(table, "tree", "Dev"), join(table, "tree", "dEV"));
    await makeOld(join(table, "tree"));
    await ns.cleanupTable({ id });
    for (const branch of ["été", "Dev", "Dev/sub"]) expect(await valuesOf(ns, id, branch)).toEqual([1, 2]);
  });

  it("one of two concurrent creations succeeds", async () => {
    await using ns = await openTable(disk);
    await using unauthenticated = openOn(root, disk);
    for (const [one, second] of PAIRS) {
      const made = await Promise.allSettled([
        ns.createTableBranch({ id, name: one }),
        unauthenticated.createTableBranch({ id, name: second }),
      ]);
      expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      expect(made.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: 13 } });
      const { branches } = await ns.listTableBranches({ id });
      const winner = made[0].status === "fulfilled" ? one : second;
      expect(Object.keys(branches)).toEqual([winner]);
      expect(await valuesOf(ns, id, winner)).toEqual([1]);
      await ns.deleteTableBranch({ id, name: winner });
    }
  });

  it("another branch's name finds, changes and deletes nothing", async () => {
    await using ns = await openTable(disk);
    await ns.createTableBranch({ id, name: "dev" });
    await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(2));
    for (const branch of ["Dev", "DEV", "dev."]) {
      for (const call of [
        () => ns.deleteTableBranch({ id, name: branch }),
        () => ns.insertIntoTable({ id, branch }, rowsOf(3)),
        () => ns.queryTable({ id, branch }),
        () => ns.createTableBranch({ id, name: "sub", fromBranch: branch }),
        () => ns.createTableTag({ id, tag: "t", branch, version: 1 }),
        () => ns.restoreTable({ id, branch, version: 1 }),
      ]) {
        await expectRefusal(root, call, "TableBranchNotFound");
      }
    }
    expect(await valuesOf(ns, id, "dev")).toEqual([1, 2]);
  });

  it.each([
    ...["con", "x/NUL", "aux.x/y", "COM1", "lpt¹", "ㅤ", "a/ㅤ"],
    ...[
      "a/DATA",
      "a/data.",
      "a/Tree",
      "a/_REFS",
      "a/_versions",
      "a/.TILTYARD.lock",
      "a/ＤＡＴＡ",
      "a/.lance-x",
    ],
  ])("creating a branch with the name %s is refused", async (name) => {
    await using ns = await openTable(disk);
    await ns.createTableBranch({ id, name: "a" });
    await expectRefusal(root, () => ns.createTableBranch({ id, name }), "InvalidInput");
  });

  it("tags have separate files", async () => {
    await using ns = await openTable(disk);
    await ns.insertIntoTable({ id }, rowsOf(2));
    await ns.createTableTag({ id, tag: "v1", version: 1 });
    await expectFolding(root, () => ns.createTableTag({ id, tag: "V1", version: 2 }), "v1");
    for (const call of [
      () => ns.getTableTagVersion({ id, tag: "V1" }),
      () => ns.updateTableTag({ id, tag: "V1", version: 2 }),
      () => ns.deleteTableTag({ id, tag: "V1" }),
      () => ns.queryTable({ id, tag: "V1" }),
      () => ns.createTableBranch({ id, name: "b", fromTag: "V1" }),
    ]) {
      await expectRefusal(root, call, "TableTagNotFound");
    }
    expect(await ns.getTableTagVersion({ id, tag: "v1" })).toEqual({ version: 1 });
    for (const tag of ["con", "NUL", "com1.x"]) {
      await expectRefusal(root, () => ns.createTableTag({ id, tag, version: 1 }), "InvalidInput");
    }
    await ns.deleteTableTag({ id, tag: "v1" });
    await ns.createTableTag({ id, tag: "V1", version: 2 });
    expect(await ns.getTableTagVersion({ id, tag: "V1" })).toEqual({ version: 2 });
  });

  it("a directory without a branch is not shared", async () => {
    await using ns = await openTable(disk);
    await mkdir(join(table, "tree", "Dev", "_versions"), { recursive: true });
    await expectFolding(root, () => ns.createTableBranch({ id, name: "dev" }), "Dev");
    await expectFolding(root, () => ns.createTableBranch({ id, name: "dev/x" }), "Dev");
    await ns.createTableBranch({ id, name: "Dev" });
    await ns.deleteTableBranch({ id, name: "Dev" });
    await ns.createTableBranch({ id, name: "dev/x" });
    expect(await readdir(join(table, "tree"))).toEqual(["dev"]);
  });

  it("a version does not begin a branch in another's directory", async () => {
    await using ns = await openTable(disk);
    await ns.createTableBranch({ id, name: "dev" });
    const begin = () =>
      ns.createTableVersion({
        id,
        branch: "DEV/x",
        unregisteredBranch: true,
        version: 1,
        manifestPath: "_versions/staged",
      });
    await expectFolding(root, begin, "dev");
  });
});

it("a dead branch's directory is swept beside one whose name folds together with its own", async () => {
  await using ns = await openTable("a plain disk");
  await ns.createTableBranch({ id, name: "Dev" });
  await ns.insertIntoTable({ id, branch: "Dev" }, rowsOf(2));
  // A kept lock may disappear at any moment.
  const filter = (from: string) => !from.endsWith(LOCK_NAME);
  await cp(join(table, "tree", "Dev"), join(table, "tree", "dev"), { recursive: true, filter });
  await makeOld(join(table, "tree"));
  await ns.cleanupTable({ id });
  expect(await readdir(join(table, "tree"))).toEqual(["Dev"]);
  expect(await valuesOf(ns, id, "Dev")).toEqual([1, 2]);
});

/** Makes everything below a directory old, except locks, which may disappear at any moment. */
async function makeOld(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.name === LOCK_NAME) continue;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await makeOld(path);
    await utimes(path, 1, 1);
  }
}

describe("branches of the reference whose names fold together", () => {
  /** Makes the table with both branches, and a separate row on each. */
  async function makeBoth(one: string, second: string): Promise<void> {
    await reference.createTable(root, "t", tableToIPC(rowsOf(1)));
    for (const [index, name] of [one, second].entries()) {
      await reference.createBranch(root, "t", name);
      await reference.appendTable(root, "t", tableToIPC(rowsOf(10 + index)), { branch: name });
    }
  }

  const MADE: readonly (readonly [first: string, second: string])[] = [
    ["été", "Été"],
    // In decomposed form, other letters have marks, which branch names cannot contain.
    ["가", "가".normalize("NFD")],
    ["v1", "v1."],
    ["A/x", "a/y"],
    ["A", "a/y"],
    ["A/x", "a"],
    ["A/x/y", "a/X/z"],
  ];

  it.each(MADE)("are two on a disk that does not fold: %s and %s", async (one, second) => {
    await makeBoth(one, second);
    await using ns = openOn(root, "a plain disk");
    await ns.insertIntoTable({ id, branch: one }, rowsOf(20));
    await ns.deleteTableBranch({ id, name: one });
    expect(await valuesOf(ns, id, second)).toEqual([1, 11]);
    await ns.insertIntoTable({ id, branch: second }, rowsOf(21));
    expect(await valuesOf(ns, id, second)).toEqual([1, 11, 21]);
    // Nothing of the first branch remains.
    expect(await readdir(join(table, "tree"))).toEqual([second.split("/")[0]]);
    await ns.deleteTableBranch({ id, name: second });
    expect(await readdir(join(table, "tree"))).toEqual([]);
  });

  /** Merges the directories of both branches, as a copy to a disk that folds names does. */
  async function merge(fileSystem: FileSystem, one: string, second: string): Promise<void> {
    const tree = join(table, "tree");
    const aside = join(table, "aside");
    const [first] = second.split("/");
    await rename(join(tree, first), aside);
    await cp(aside, resolveOn(fileSystem, join(tree, first)), { recursive: true });
    await rm(aside, { recursive: true });
    expect(resolveOn(fileSystem, join(tree, ...one.split("/")))).toContain(tree);
  }

  it.each(
    fileSystems.flatMap((fileSystem) =>
      MADE.filter(
        ([one, second]) =>
          fileSystem.key(fileSystem.storedName(one.split("/")[0])) ===
          fileSystem.key(fileSystem.storedName(second.split("/")[0])),
      ).map(([one, second]) => [fileSystem.name, one, second] as const),
    ),
  )("share directories on %s, and deleting %s leaves the files of %s", async (name, one, second) => {
    const fileSystem = fileSystems.find((each) => each.name === name) as FileSystem;
    await makeBoth(one, second);
    await merge(fileSystem, one, second);
    locks.fileSystem = fileSystem;
    await using ns = openOn(root, name);
    const rows = await valuesOf(ns, id, second);
    expect(rows.at(-1)).toBeGreaterThan(9);
    await ns.deleteTableBranch({ id, name: one });
    expect(await valuesOf(ns, id, second)).toEqual(rows);
    await expect(ns.queryTable({ id, branch: one })).rejects.toMatchObject({ type: "TableBranchNotFound" });
    await ns.deleteTableBranch({ id, name: second });
    expect(await valuesOf(ns, id)).toEqual([1]);
    await access(table);
  });
});
