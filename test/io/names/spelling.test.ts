/** Checks the spelling of names on disks that find entries by several names. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { areApart, Spelling } from "../../../src/io/names/spelling.js";
import { countingDisk } from "../../support/countingDisk.js";
import { expect, it } from "../../support/fixtures.js";
import { DISKS, diskOf } from "../../support/foldedNamespaces.js";
import { makeTempDir } from "../../support/tempDir.js";

it.each(DISKS)("an entry has only its own spelling on %s", async (disk) => {
  const root = await makeTempDir();
  await mkdir(join(root, "Trees"));
  const spelling = new Spelling(diskOf(disk));
  for (let round = 0; round < 2; round++) {
    // The caller has found the entry by that name.
    expect(await spelling.isExact(root, "Trees")).toBe(true);
    if (disk === "a plain disk") continue;
    expect(await spelling.isExact(root, "trees")).toBe(false);
    expect(await spelling.isExact(root, "TREES")).toBe(false);
  }
});

it("a case-sensitive disk is asked once", async ({ root }) => {
  for (const name of ["a", "b", "B", "1"]) await mkdir(join(root, name));
  const disk = countingDisk(diskOf("a plain disk"));
  const spelling = new Spelling(disk);
  // A name without letters has no other case.
  expect(await spelling.isExact(root, "1")).toBe(true);
  expect(await spelling.isExact(root, "a")).toBe(true);
  disk.reset();
  for (const name of ["a", "b", "B", "1"]) expect(await spelling.isExact(root, name)).toBe(true);
  expect(disk.total).toBe(0);
});

it("two entries that differ only in case show a case-sensitive disk", async ({ root }) => {
  for (const name of ["b", "B"]) await mkdir(join(root, name));
  const disk = countingDisk(diskOf("a plain disk"));
  const spelling = new Spelling(disk);
  expect(await spelling.isExact(root, "b")).toBe(true);
  disk.reset();
  expect(await spelling.isExact(root, "B")).toBe(true);
  expect(disk.total).toBe(0);
});

it("an entry that disappears before the look shows nothing about the disk", async ({ root }) => {
  const spelling = new Spelling(diskOf("NTFS"));
  expect(await spelling.isExact(root, "gone")).toBe(true);
  await mkdir(join(root, "Trees"));
  expect(await spelling.isExact(root, "trees")).toBe(false);
});

it("two paths are apart if they lead to two entries, or one to none", async ({ root }) => {
  for (const path of ["a/x", "A/y", "b/x"]) await mkdir(join(root, ...path.split("/")), { recursive: true });
  const plain = diskOf("a plain disk");
  expect(await areApart(plain, root, "a/x", "A/x")).toBe(true);
  expect(await areApart(plain, root, "a", "A/y")).toBe(true);
  expect(await areApart(plain, root, "b/x", "B/x")).toBe(true);
  expect(await areApart(plain, root, "a/x", "a/x")).toBe(false);
  expect(await areApart(plain, root, "a/x", "a")).toBe(false);
  expect(await areApart(plain, root, "a", "a/x")).toBe(false);
  expect(await areApart(plain, root, "none", "None")).toBe(true);
  for (const disk of ["NTFS", "APFS", "HFS+"]) {
    expect(await areApart(diskOf(disk), root, "b/x", "B/x")).toBe(false);
    expect(await areApart(diskOf(disk), root, "B", "b/x")).toBe(false);
    expect(await areApart(diskOf(disk), root, "none", "None")).toBe(true);
  }
});
