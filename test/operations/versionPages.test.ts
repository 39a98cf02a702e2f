/** ListTableVersions lists pages in order and completely, while others write and delete. */

import { DirectoryNamespace, InvalidInputError, TableBranchNotFoundError } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { countingDisk } from "../support/countingDisk.js";
import { rowsOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { lacks } from "../support/suite/diskLimits.js";
import { suiteDisk } from "../support/suite/suiteDisk.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];

let root: string;
let ns: DirectoryNamespace;
beforeEach(async () => {
  root = await makeTempDir();
  ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(1));
});
afterEach(() => ns.close());

const insert = (branch?: string) => ns.insertIntoTable({ id, branch }, rowsOf(2));

/** Returns the numbers of each page, and calls `between` after each page except the last. */
async function pagesOf(
  options: { branch?: string; descending?: boolean; limit?: number },
  between: () => Promise<unknown> = async () => undefined,
): Promise<number[][]> {
  const pages: number[][] = [];
  for (let pageToken: string | undefined; ; ) {
    const page = await ns.listTableVersions({ id, ...options, pageToken });
    pages.push(page.versions.map(({ version }) => version));
    if (page.pageToken === undefined) return pages;
    pageToken = page.pageToken;
    await between();
  }
}

describe.each([undefined, "dev"])("on branch %s", (branch) => {
  beforeEach(async () => {
    if (branch !== undefined) await reference.createBranch(root, "t", branch);
    for (let version = 2; version <= 5; version++) await insert(branch);
  });

  it("a page has the requested number of versions, and the last page has no token", async () => {
    expect(await pagesOf({ branch })).toEqual([[1, 2, 3, 4, 5]]);
    expect(await pagesOf({ branch, limit: 2 })).toEqual([[1, 2], [3, 4], [5]]);
    expect(await pagesOf({ branch, limit: 5 })).toEqual([[1, 2, 3, 4, 5]]);
    expect(await pagesOf({ branch, limit: 1 })).toEqual([[1], [2], [3], [4], [5]]);
    expect(await pagesOf({ branch, limit: 2, descending: true })).toEqual([[5, 4], [3, 2], [1]]);
    expect(await pagesOf({ branch, limit: 1000, descending: true })).toEqual([[5, 4, 3, 2, 1]]);
    const theirs = await reference.listVersions(root, "t", { branch });
    const { versions } = await ns.listTableVersions({ id, branch });
    const times = new Map(theirs.map((each) => [each.version, Math.floor(each.timestampMillis)]));
    expect(new Map(versions.map((each) => [each.version, each.timestampMillis]))).toEqual(times);
  });

  it.skipIf(lacks("rename"))(
    "a token marks the start of the next page, even if its version is gone",
    async () => {
      const list = async (options: object) =>
        (await ns.listTableVersions({ id, branch, ...options })).versions.map(({ version }) => version);
      await ns.batchDeleteTableVersions({ id, branch, ranges: [{ startVersion: 2, endVersion: 4 }] });
      expect(await list({ pageToken: "" })).toEqual([1, 4, 5]);
      expect(await list({ pageToken: "2" })).toEqual([4, 5]);
      expect(await list({ pageToken: "3", descending: true })).toEqual([1]);
      expect(await list({ pageToken: "100" })).toEqual([]);
      expect(await list({ pageToken: "0", descending: true })).toEqual([]);
      expect(await list({ pageToken: "100", descending: true, limit: 1 })).toEqual([5]);
    },
  );

  it.skipIf(lacks("rename"))("pages show every lasting version once during concurrent changes", async () => {
    const expectOrdered = (seen: number[], descending: boolean) => {
      const sorted = [...new Set(seen)].sort((a, b) => (descending ? b - a : a - b));
      expect(seen).toEqual(sorted);
    };
    for (const descending of [false, true]) {
      const first = (await pagesOf({ branch })).flat();
      let inserted = 0;
      const pages = await pagesOf({ branch, limit: 2, descending }, async () => {
        if (inserted === 4) return;
        await insert(branch);
        inserted++;
      });
      expect(inserted).toBeGreaterThan(1);
      expectOrdered(pages.flat(), descending);
      const latest = first[first.length - 1];
      // In ascending order the new versions follow; in descending order they were listed before.
      const expected = descending
        ? first
        : Array.from({ length: latest + inserted }, (_, index) => index + 1);
      expect([...pages.flat()].sort((a, b) => a - b)).toEqual(expected);
    }
    const all = (await pagesOf({ branch })).flat();
    const [, second, third] = all;
    let deleted = false;
    const pages = await pagesOf({ branch, limit: 1 }, async () => {
      if (deleted) return;
      deleted = true;
      const ranges = [{ startVersion: second, endVersion: third + 1 }];
      await ns.batchDeleteTableVersions({ id, branch, ranges });
    });
    expect(pages.flat()).toEqual(all.filter((version) => version !== second && version !== third));
  });

  it.skipIf(lacks("rename"))(
    "a version that disappears between listing and reading is omitted, and later ones follow",
    async () => {
      const disk = countingDisk(suiteDisk());
      await using engine = new DirectoryNamespace({ root, disk });
      const list = disk.list.bind(disk);
      disk.list = async (path) => {
        const entries = await list(path);
        if (path.endsWith("_versions")) {
          disk.list = list;
          await ns.batchDeleteTableVersions({ id, branch, ranges: [{ startVersion: 1, endVersion: 3 }] });
        }
        return entries;
      };
      const page = await engine.listTableVersions({ id, branch, limit: 2 });
      expect(page).toEqual({ versions: [], pageToken: "2" });
      const rest = await engine.listTableVersions({ id, branch, limit: 3, pageToken: page.pageToken });
      expect(rest.versions.map(({ version }) => version)).toEqual([3, 4, 5]);
      expect(rest.pageToken).toBeUndefined();
    },
  );
});

it("a page reads only its own manifests", async () => {
  for (let version = 2; version <= 20; version++) await insert();
  const disk = countingDisk(suiteDisk());
  await using engine = new DirectoryNamespace({ root, disk });
  await engine.listTableVersions({ id, limit: 3, descending: true });
  const read = disk.reads.filter(({ path }) => path.endsWith(".manifest"));
  expect(new Set(read.map(({ path }) => path)).size).toBe(3);
});

it("invalid tokens, limits and directions are refused", async () => {
  for (const request of [
    { pageToken: "x" },
    { pageToken: "-1" },
    { pageToken: "1.5" },
    { pageToken: " 1" },
    { pageToken: "9007199254740993" },
    // In a URL, the token is always text.
    ...("overHttp" in DirectoryNamespace ? [] : [{ pageToken: 1 }]),
    { limit: 0 },
    { limit: -1 },
    { limit: 1.5 },
    { limit: "1" },
    { descending: "true" },
  ]) {
    const refused = ns.listTableVersions({ id, ...(request as object) });
    await expect(refused, JSON.stringify(request)).rejects.toBeInstanceOf(InvalidInputError);
  }
  await expect(ns.listTableVersions({ id, branch: "none" })).rejects.toBeInstanceOf(TableBranchNotFoundError);
  await ns.declareTable({ id: ["declared"] });
  expect(await ns.listTableVersions({ id: ["declared"], limit: 1 })).toEqual({ versions: [] });
});
