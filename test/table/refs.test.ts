import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { CorruptFileError, InvalidInputError } from "../../src/errors.js";
import { BasePath, DataFile, Manifest } from "../../src/format/table.js";
import { tagPath } from "../../src/table/paths.js";
import {
  branchExists,
  branchRoot,
  checkBranchName,
  checkTagName,
  isMainBranch,
  readTag,
  resolveDataFile,
} from "../../src/table/refs.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";
import { disk, ipcOf, latestFile, makeReferenceTable } from "./support.js";

describe("names", () => {
  it.each(["dev", "a/b/c", ".a", "HEAD", "tree", "main/x", "é", "a.b-c_d"])("of branches: %s", (name) => {
    checkBranchName(name);
  });
  it.each([
    "",
    "main",
    "/a",
    "a/",
    "a//b",
    "a/../b",
    "..",
    "a\\b",
    "a b",
    "a:b",
    "x.lock",
    ".",
    "a/./b",
    "a\0",
  ])("not of branches: %j", (name) => {
    expect(() => checkBranchName(name)).toThrow(InvalidInputError);
  });
  it.each(["v1.0", "main", "-x", "A_b"])("of tags: %s", (name) => checkTagName(name));
  it.each(["", ".a", "a.", "a..b", "a/b", "a b", "é", "x.lock", "a@b"])("not of tags: %j", (name) => {
    expect(() => checkTagName(name)).toThrow(InvalidInputError);
  });
  it("of the main branch", () => {
    expect([undefined, "", "main", "dev"].map(isMainBranch)).toEqual([true, true, true, false]);
    expect(branchRoot("/t", "main")).toBe("/t");
    expect(branchRoot("/t", "a/b")).toBe(join("/t", "tree", "a", "b"));
  });
});

describe("refs of the reference", () => {
  it("are read", async () => {
    const table = await makeReferenceTable([1]);
    await reference.appendTable(table.uri, "t", ipcOf(2));
    await reference.createTag(table.uri, "t", "v1", 1);
    await reference.createBranch(table.uri, "t", "a/b");
    expect(await readTag(disk, table.root, "v1")).toEqual({ branch: null, version: 1 });
    expect(await readTag(disk, table.root, "v2")).toBeNull();
    expect(await branchExists(disk, table.root, "a/b")).toBe(true);
    expect(await branchExists(disk, table.root, "a")).toBe(false);
  });

  it("resolve the files of a branch to the table they came from", async () => {
    const table = await makeReferenceTable([1]);
    await reference.createBranch(table.uri, "t", "dev");
    await reference.appendTable(table.uri, "t", ipcOf(2), { branch: "dev" });
    const root = branchRoot(table.root, "dev");
    const { manifest } = await latestFile(root);
    const paths = manifest.fragments.map((fragment) => resolveDataFile(root, manifest, fragment.files[0]));
    expect(paths.map(dirname)).toEqual([join(table.root, "data"), join(root, "data")]);
    for (const path of paths) expect((await disk.stat(path))?.kind).toBe("file");
  });
});

describe("damage", () => {
  it.each([
    "",
    "[]",
    "null",
    "{}",
    '{"version":-1}',
    '{"version":1,"branch":7}',
    '{"version":1,"branch":"../x"}',
    "\ufffd{",
  ])("in a tag is found: %j", async (text) => {
    const root = await makeTempDir();
    await mkdir(dirname(tagPath(root, "v")), { recursive: true });
    await writeFile(tagPath(root, "v"), text);
    await expect(readTag(disk, root, "v")).rejects.toThrow(CorruptFileError);
  });

  it.each(["", "../a.lance", "/etc/passwd", "x/../../a", "..\\a"])("in a file name is found: %j", (path) => {
    expect(() => resolveDataFile("/t", Manifest.create(), DataFile.create({ path }))).toThrow(
      CorruptFileError,
    );
  });

  it("in base paths is found", () => {
    const file = DataFile.create({ path: "a.lance", baseId: 3 });
    expect(() => resolveDataFile("/t", Manifest.create(), file)).toThrow(CorruptFileError);
    const basePaths = (path: string, isDatasetRoot: boolean) =>
      Manifest.create({ basePaths: [BasePath.create({ id: 3, path, isDatasetRoot })] });
    expect(() => resolveDataFile("/t", basePaths("s3://b/t", true), file)).toThrow(CorruptFileError);
    expect(resolveDataFile("/t", basePaths("/u", true), file)).toBe(join("/u", "data", "a.lance"));
    expect(resolveDataFile("/t", basePaths("/u", false), file)).toBe(join("/u", "a.lance"));
  });
});
