import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { InvalidInputError } from "../../../src/errors.js";
import { branchRoot, checkBranchName, checkTagName, isMainBranch } from "../../../src/table/refs/refNames.js";
import { branchExists, listRefNames } from "../../../src/table/refs/refs.js";
import { reference } from "../../support/reference.js";
import { disk, ipcOf, makeReferenceTable } from "../support.js";

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
    "a".repeat(241),
    "é".repeat(41),
    "\ud800",
  ])("not of branches: %j", (name) => {
    expect(() => checkBranchName(name)).toThrow(InvalidInputError);
  });
  it.each(["v1.0", "main", "-x", "A_b", "é", "__proto__"])("of tags: %s", (name) => checkTagName(name));
  it.each([
    "",
    ".a",
    "a.",
    "a..b",
    "a/b",
    "a b",
    "x.lock",
    "a@b",
    "a".repeat(241),
  ])("not of tags: %j", (name) => {
    expect(() => checkTagName(name)).toThrow(InvalidInputError);
  });
  it("of the main branch are recognised", () => {
    expect([undefined, "", "main", "dev"].map(isMainBranch)).toEqual([true, true, true, false]);
    expect(branchRoot("/t", "main")).toBe("/t");
    expect(branchRoot("/t", "a/b")).toBe(join("/t", "tree", "a", "b"));
  });
});

describe("branches of the reference", () => {
  it("are found, in any alphabet", async () => {
    const table = await makeReferenceTable([1]);
    await reference.appendTable(table.uri, "t", ipcOf(2));
    for (const branch of ["a/b", "é"]) await reference.createBranch(table.uri, "t", branch);
    expect(await branchExists({ disk, mainRoot: table.root }, "a/b")).toBe(true);
    expect(await branchExists({ disk, mainRoot: table.root }, "é")).toBe(true);
    expect(await branchExists({ disk, mainRoot: table.root }, "a")).toBe(false);
    const names = await listRefNames(disk, join(table.root, "_refs", "branches"), checkBranchName);
    expect(names.sort()).toEqual(["a/b", "é"]);
  });
});
