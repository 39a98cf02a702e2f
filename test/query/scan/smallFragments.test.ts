/** Tables of many small fragments: disk calls of scans and compactions per fragment, and damage. */

import { readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Table } from "apache-arrow";
import { CorruptFileError, DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { int32s, utf8s } from "../../support/arrowColumns.js";
import { type CountingDisk, countingDisk } from "../../support/countingDisk.js";
import { directorySnapshot } from "../../support/directorySnapshot.js";
import { Random } from "../../support/generators.js";
import { errorOf } from "../../support/outcomes.js";
import { makeTempDir } from "../../support/tempDir.js";

const FRAGMENTS = 60;
const FEW = 15;
const id = ["t"];
const KIB = 1024;

/** Rows whose text makes a file of about `fileBytes`. */
function rowsOf(fragment: number, fileBytes: number): Table {
  const random = new Random(fragment + 1);
  const text = (): string => {
    const bytes = new Uint8Array(Math.floor(fileBytes / 10));
    random.fill(bytes);
    return Buffer.from(bytes.map((byte) => 32 + (byte >>> 2))).toString("latin1");
  };
  return new Table({
    n: int32s(10, (row) => fragment * 10 + row),
    text: utf8s(Array.from({ length: 10 }, text)),
  });
}

async function makeFragments(fileBytes: number, fragments = FRAGMENTS) {
  const root = await makeTempDir();
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(0, fileBytes));
  for (let fragment = 1; fragment < fragments; fragment++) {
    await ns.insertIntoTable({ id }, rowsOf(fragment, fileBytes));
  }
  const data = join(root, "t.lance", "data");
  const files = (await readdir(data)).map((name) => join(data, name));
  const sizes = await Promise.all(files.map(async (file) => (await readFile(file)).length));
  return { root, data, files, sizes };
}

const openCounted = (root: string) => {
  const disk = countingDisk(new NodeDisk({ durability: "none" }));
  const ns = new DirectoryNamespace({ root, durability: "none", disk });
  return { disk, ns };
};
const rowsIn = async (ns: DirectoryNamespace) => (await ns.queryTable({ id })).toArrow();
const numbersIn = async (ns: DirectoryNamespace) =>
  Array.from((await rowsIn(ns)).getChild("n") ?? [], Number);
const NUMBERS = Array.from({ length: FRAGMENTS * 10 }, (_, row) => row);
const readsOf = (disk: CountingDisk, files: readonly string[]) =>
  disk.reads
    .filter(({ path }) => files.includes(path))
    .map(({ path, length }) => `${basename(path)} ${length}`);
const wholeFiles = (files: readonly string[], sizes: readonly number[]) =>
  files.map((file, index) => `${basename(file)} ${sizes[index]}`).sort();

describe("files that are read when they are opened", () => {
  it.each([
    [4 * KIB, "small ones"],
    [100 * KIB, "ones too large for the cache"],
  ])("of %d bytes (%s) cost a scan one opening each and no other call", async (fileBytes) => {
    const { root, files, sizes } = await makeFragments(fileBytes);
    expect(Math.max(...sizes)).toBeLessThan(128 * KIB);
    const { disk, ns } = openCounted(root);
    await ns.countTableRows({ id });
    disk.reset();
    expect(await numbersIn(ns)).toEqual(NUMBERS);
    expect(readsOf(disk, files).sort()).toEqual(wholeFiles(files, sizes));
    const calls = ["open", "close", "stat", "read"] as const;
    const [opened, closed, ...others] = calls.map((verb) => disk.count(verb));
    // A few more are about the manifest, whatever the number of fragments.
    expect(opened).toBeLessThan(FRAGMENTS + FEW);
    expect(closed).toBe(opened);
    for (const count of others) expect(count).toBeLessThan(FEW);
    await ns.close();
    await rm(root, { recursive: true });
  });

  it.each([
    4 * KIB,
    100 * KIB,
  ])("of %d bytes cost a compaction one opening each and no other call", async (fileBytes) => {
    const { root, files, sizes } = await makeFragments(fileBytes);
    const { disk, ns } = openCounted(root);
    const before = await ns.countTableRows({ id });
    disk.reset();
    expect(await ns.optimizeTable({ id })).toMatchObject({ fragmentsRemoved: FRAGMENTS, fragmentsAdded: 1 });
    expect(readsOf(disk, files).sort()).toEqual(wholeFiles(files, sizes));
    expect(disk.count("open")).toBeLessThan(FRAGMENTS + 20);
    expect(disk.count("stat")).toBeLessThan(FRAGMENTS);
    expect(await numbersIn(ns)).toEqual(NUMBERS);
    expect(await ns.countTableRows({ id })).toEqual(before);
    await ns.close();
    await rm(root, { recursive: true });
  });

  it("stay in memory if they are small; one stat compares each with the file", async () => {
    const { root, files } = await makeFragments(4 * KIB);
    const { disk, ns } = openCounted(root);
    const first = await rowsIn(ns);
    disk.reset();
    // The caller may write into returned rows.
    for (const batch of first.batches) {
      for (const child of batch.data.children) (child.values as Uint8Array).fill(7);
    }
    expect(await numbersIn(ns)).toEqual(NUMBERS);
    expect(readsOf(disk, files)).toEqual([]);
    expect(disk.count("stat")).toBeLessThan(FRAGMENTS + FEW);
    await ns.close();
    await rm(root, { recursive: true });
  });

  it("cost a query of a row or two no more", async () => {
    const { root, files } = await makeFragments(100 * KIB, 3);
    const { disk, ns } = openCounted(root);
    expect((await ns.takeRows({ id, rowOffsets: [25], columns: ["n"] })).numRows).toBe(1);
    const bytes = disk.reads.filter(({ path }) => files.includes(path)).map(({ length }) => length);
    expect(bytes.reduce((sum, length) => sum + length, 0)).toBeLessThan(80 * KIB);
    await ns.close();
    await rm(root, { recursive: true });
  });

  it("are read again if another file has replaced them", async () => {
    const { root, files } = await makeFragments(4 * KIB, 2);
    const { ns } = openCounted(root);
    const [first, second] = [await readFile(files[0]), await readFile(files[1])];
    const before = await numbersIn(ns);
    await writeFile(files[0], second);
    await writeFile(files[1], first);
    const swapped = await numbersIn(ns);
    expect(swapped).toEqual([...before.slice(10), ...before.slice(0, 10)]);
    await ns.close();
    await rm(root, { recursive: true });
  });
});

describe("a damaged small file", () => {
  const damages: Record<string, (file: string, size: number) => Promise<void>> = {
    "cut in its footer": (file, size) => truncate(file, size - 7),
    "cut in its pages": (file) => truncate(file, 100),
    "of no bytes": (file) => truncate(file, 0),
    "with a flipped bit in a page": async (file) => {
      const bytes = await readFile(file);
      bytes[3] ^= 4;
      await writeFile(file, bytes);
    },
    "with a position that leads out of it": async (file, size) => {
      const bytes = await readFile(file);
      bytes.writeUInt32LE(size, size - 40 + 8);
      await writeFile(file, bytes);
    },
    "that is not there": (file) => rm(file),
  };

  it.each(Object.keys(damages))("with %s is reported with its offset, and nothing changes", async (how) => {
    const { root, data, files, sizes } = await makeFragments(4 * KIB, 12);
    await damages[how](files[7], sizes[7]);
    const { ns } = openCounted(root);
    const before = await directorySnapshot(data);
    for (const attempt of [
      () => ns.optimizeTable({ id }),
      () => numbersIn(ns),
      () => ns.optimizeTable({ id }),
    ]) {
      const error = await errorOf(attempt());
      expect(error).toBeInstanceOf(CorruptFileError);
      const { path, byteOffset } = error as CorruptFileError;
      expect(path).toBe(files[7]);
      expect(byteOffset).toBeGreaterThanOrEqual(0);
    }
    expect(await directorySnapshot(data)).toEqual(before);
    await ns.close();
    await rm(root, { recursive: true });
  });
});
