import { copyFile, mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { CorruptFileError, InvalidTableStateError } from "../../../src/errors.js";
import type { DataFragment } from "../../../src/format/table.js";
import { writeGap } from "../../../src/table/versions/gapWriter.js";
import { writeHint } from "../../../src/table/versions/hintWriter.js";
import { findLatestVersion } from "../../../src/table/versions/latestVersion.js";
import { readManifestFile } from "../../../src/table/versions/manifest.js";
import { ManifestCache } from "../../../src/table/versions/manifestCache.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { readManifestAt } from "../../../src/table/versions/openVersion.js";
import {
  gapsPath,
  hintPath,
  manifestPath,
  type NamingScheme,
  versionsDirectory,
} from "../../../src/table/versions/paths.js";
import { findVersion, listVersions } from "../../../src/table/versions/versions.js";
import { countingDisk } from "../../support/countingDisk.js";
import { faultyDisk } from "../../support/faultyDisk.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";
import { disk, ipcOf, joinChunks, latestFile, makeReferenceTable } from "../support.js";

let root: string;

beforeEach(async () => {
  root = await makeTempDir();
  await mkdir(versionsDirectory(root));
});

/** Adds empty manifests: finding versions reads only their names. */
async function addVersions(versions: number[], scheme: NamingScheme = "V2"): Promise<void> {
  for (const version of versions) await writeFile(manifestPath(root, version, scheme), "");
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

const latest = async (): Promise<number | undefined> => (await findLatestVersion({ disk, root }))?.version;

/** Makes `_versions` look as if it changed long after the hint. */
async function touchVersions(): Promise<void> {
  const later = new Date(Date.now() + 10_000);
  await utimes(versionsDirectory(root), later, later);
}

describe("the latest version", () => {
  it("is null without versions", async () => {
    expect(await findLatestVersion({ disk, root })).toBeNull();
    expect(await findLatestVersion({ disk, root: join(root, "nowhere") })).toBeNull();
  });

  it.each(["V1", "V2"] as const)("is found without a hint, scheme %s", async (scheme) => {
    await addVersions(range(1, 12), scheme);
    expect(await findLatestVersion({ disk, root })).toMatchObject({
      version: 12,
      scheme,
      path: manifestPath(root, 12, scheme),
    });
  });

  it("costs the same number of disk calls at any number of versions, and no listing", async () => {
    const costs: number[] = [];
    let last = 0;
    for (const count of [10, 500]) {
      await addVersions(range(last + 1, count));
      last = count;
      await writeHint({ disk, root }, count);
      const counting = countingDisk(disk);
      expect((await findLatestVersion({ disk: counting, root }))?.version).toBe(count);
      expect(counting.count("list")).toBe(0);
      costs.push(counting.total);
    }
    expect(costs[0]).toBe(costs[1]);
    expect(costs[0]).toBeLessThanOrEqual(8);
  });

  it.each([
    ["too low", '{"version":3}'],
    ["one too low", '{"version":9}'],
    ["too high", '{"version":11}'],
    ["far too high", '{"version":9007199254740991}'],
    ["beyond 2^53", '{"version":9007199254740993000}'],
    ["negative", '{"version":-1}'],
    ["fractional", '{"version":9.5}'],
    ["text", '{"version":"10"}'],
    ["empty", ""],
    ["torn", '{"vers'],
    ["null", "null"],
    ["an array", "[10]"],
    ["endless", `{"version":10${" ".repeat(5000)}}`],
  ])("is correct if the hint is %s", async (_name, hint) => {
    await addVersions(range(1, 10));
    await writeFile(hintPath(root), hint);
    expect(await latest()).toBe(10);
  });

  it("is correct if the hint is half written with another number", async () => {
    await addVersions(range(999_998, 1_000_001));
    await writeHint({ disk, root }, 999_999);
    const faulty = faultyDisk(disk);
    faulty.failAt(0, "short");
    await writeHint({ disk: faulty, root }, 1_000_001);
    expect(JSON.parse(await readFile(hintPath(root), "utf8"))).toEqual({ version: 100_009 });
    expect(await latest()).toBe(1_000_001);
  });

  it("is recorded in one file, in which any hint fits", async () => {
    await addVersions([Number.MAX_SAFE_INTEGER]);
    await writeHint({ disk, root }, 1);
    const first = await stat(hintPath(root));
    const counting = countingDisk(disk);
    await writeHint({ disk: counting, root }, Number.MAX_SAFE_INTEGER);
    expect(counting.total).toBe(1);
    expect((await stat(hintPath(root))).ino).toBe(first.ino);
    expect(await latest()).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("makes its hint at once if there is none, and overwrites no existing one", async () => {
    await addVersions([1, 2]);
    const counting = countingDisk(disk);
    await writeHint({ disk: counting, root }, 1, { isFirst: true });
    expect([counting.count("create"), counting.count("rename"), counting.total]).toEqual([1, 0, 3]);
    const { ino } = await stat(hintPath(root));
    await writeHint({ disk, root }, 2, { isFirst: true });
    expect(JSON.parse(await readFile(hintPath(root), "utf8"))).toEqual({ version: 2 });
    expect((await stat(hintPath(root))).ino).toBe(ino);
  });

  it("replaces a hint that another engine wrote", async () => {
    await addVersions([1, 2]);
    await writeFile(hintPath(root), '{"version":1}');
    await writeHint({ disk, root }, 2);
    const counting = countingDisk(disk);
    expect((await findLatestVersion({ disk: counting, root }))?.version).toBe(2);
    expect(counting.count("list")).toBe(0);
  });

  it("is correct if the hint is a directory", async () => {
    await addVersions(range(1, 10));
    await mkdir(hintPath(root));
    expect(await latest()).toBe(10);
  });

  it("is correct whatever the hint contains", async () => {
    await addVersions(range(1, 10));
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 40 }),
          fc.json().map((text) => Buffer.from(text)),
        ),
        async (bytes) => {
          await writeFile(hintPath(root), bytes);
          expect(await latest()).toBe(10);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("is found across a recorded jump from a stale hint", async () => {
    await addVersions(range(1, 5));
    await writeGap({ disk, root }, { from: 5, to: 100 });
    await addVersions([100]);
    await writeHint({ disk, root }, 5);
    expect(await latest()).toBe(100);
    await addVersions([101]);
    expect(await latest()).toBe(101);
  });

  it("is correct after a jump that was recorded but never made", async () => {
    await addVersions(range(1, 5));
    await writeGap({ disk, root }, { from: 5, to: 100 });
    await writeHint({ disk, root }, 5);
    const counting = countingDisk(disk);
    expect((await findLatestVersion({ disk: counting, root }))?.version).toBe(5);
    expect(counting.count("list")).toBe(0);
    await addVersions([6, 7]);
    await writeHint({ disk, root }, 7);
    expect(await latest()).toBe(7);
  });

  it("is found from a hint older than the last recorded jump", async () => {
    await addVersions([...range(1, 5), 100, 300]);
    await writeGap({ disk, root }, { from: 100, to: 300 });
    await writeHint({ disk, root }, 5);
    expect(await latest()).toBe(300);
  });

  it("is correct if the record of jumps is garbage", async () => {
    await addVersions([...range(1, 5), 9]);
    await writeGap({ disk, root }, { from: 5, to: 9 });
    await writeFile(gapsPath(root), "{");
    await writeHint({ disk, root }, 5);
    expect(await latest()).toBe(9);
  });

  it("is found across a jump that nobody recorded", async () => {
    await addVersions(range(1, 5));
    await writeHint({ disk, root }, 5);
    await addVersions([50]);
    await touchVersions();
    expect(await latest()).toBe(50);
  });

  it("may follow missing numbers", async () => {
    await addVersions([4, 7, 19]);
    await writeHint({ disk, root }, 19);
    expect(await latest()).toBe(19);
    expect((await listVersions({ disk, root })).map((entry) => entry.version)).toEqual([4, 7, 19]);
  });

  it("ignores staging files, detached versions and directories", async () => {
    await addVersions([1, 2]);
    const names = [
      "18446744073709551600.manifest#1",
      "18446744073709551600.manifest-5",
      ".tmp-1",
      "d9223372036854775900.manifest",
    ];
    for (const name of names) await writeFile(join(versionsDirectory(root), name), "");
    await mkdir(manifestPath(root, 9, "V2"));
    expect(await latest()).toBe(2);
  });

  it("is refused if naming schemes are mixed", async () => {
    await addVersions([1, 2], "V1");
    await addVersions([3], "V2");
    await expect(findLatestVersion({ disk, root })).rejects.toThrow(InvalidTableStateError);
    await writeHint({ disk, root }, 2);
    await expect(findLatestVersion({ disk, root })).rejects.toThrow(InvalidTableStateError);
  });
});

describe("one version", () => {
  it.each(["V1", "V2"] as const)("is found in scheme %s", async (scheme) => {
    await addVersions([3], scheme);
    expect(await findVersion({ disk, root }, 3)).toEqual({
      version: 3,
      scheme,
      path: manifestPath(root, 3, scheme),
    });
    expect(await findVersion({ disk, root }, 4)).toBeNull();
    expect(await findVersion({ disk, root }, Number.MAX_SAFE_INTEGER)).toBeNull();
  });
});

describe("the manifest cache", () => {
  it("reads a manifest once, and again after the file was replaced", async () => {
    const table = await makeReferenceTable([1]);
    const second = await makeReferenceTable([1, 2]);
    const entry = (await findLatestVersion({ disk, root: table.root }))!;
    const otherEntry = (await findLatestVersion({ disk, root: second.root }))!;
    const counting = countingDisk(disk);
    const manifests = new ManifestCache(2 ** 20);
    const first = await manifests.read(counting, entry.path);
    expect(await manifests.read(counting, entry.path)).toBe(first);
    expect(counting.count("open")).toBe(1);
    await rm(entry.path);
    expect(await manifests.read(counting, entry.path)).toBeNull();
    await copyFile(otherEntry.path, entry.path);
    expect((await manifests.read(counting, entry.path))?.manifest.fragments[0].physicalRows).toBe(2);
  });

  it("reads once for concurrent callers even without memory, and checks the file's identity", async () => {
    const table = await makeReferenceTable([1]);
    const second = await makeReferenceTable([1, 2]);
    const entry = (await findLatestVersion({ disk, root: table.root }))!;
    const otherEntry = (await findLatestVersion({ disk, root: second.root }))!;
    const counting = countingDisk(disk);
    const manifests = new ManifestCache(0);
    const rowsAt = async () =>
      (await manifests.read(counting, entry.path))?.manifest.fragments[0].physicalRows;
    expect(await Promise.all(Array.from({ length: 20 }, rowsAt))).toEqual(Array(20).fill(1));
    expect(counting.count("open")).toBe(1);
    const early = rowsAt();
    // Replaces the file while it is being read.
    await rm(entry.path);
    await copyFile(otherEntry.path, entry.path);
    expect([1, 2, undefined]).toContain(await early);
    expect(await rowsAt()).toBe(2);
  });

  const orders = [
    ["ascending", [1, 2, 3, 4, 5]],
    ["descending", [5, 4, 3, 2, 1]],
    ["mixed", [3, 5, 1, 4, 2]],
  ] as const;
  it.each(
    orders,
  )("returns the same manifests whichever were read before, with shared fragments: %s", async (_, order) => {
    const table = await makeReferenceTable([1, 2, 3], { stableRowIds: true });
    await reference.appendTable(table.uri, "t", ipcOf(4));
    await reference.deleteRows(table.uri, "t", "v = 2");
    await reference.appendTable(table.uri, "t", ipcOf(5));
    await reference.overwriteTable(table.uri, "t", ipcOf(6));
    const manifests = new ManifestCache(2 ** 20);
    const fragments = new Map<number, DataFragment[]>();
    for (const version of order) {
      const path = manifestPath(table.root, version, "V2");
      const file = await manifests.read(disk, path);
      const { chunks } = encodeManifestFile(file!);
      expect(file?.manifest).toEqual((await readManifestFile(disk, path))?.manifest);
      expect(joinChunks(chunks)).toEqual(
        joinChunks(encodeManifestFile((await readManifestFile(disk, path))!).chunks),
      );
      fragments.set(version, file!.manifest.fragments);
    }
    const fragmentAt = (version: number, index: number) => fragments.get(version)?.[index];
    if (order[0] === 1) {
      expect(fragmentAt(2, 0)).toBe(fragmentAt(1, 0));
      expect(fragmentAt(3, 0)).not.toBe(fragmentAt(2, 0));
      expect(fragmentAt(4, 0)).toBe(fragmentAt(3, 0));
      expect(fragmentAt(4, 1)).toBe(fragmentAt(2, 1));
      expect(fragmentAt(5, 0)).not.toBe(fragmentAt(4, 0));
      // The added fragment keeps only its own bytes in memory.
      expect(fragmentAt(2, 1)?.inlineRowIds?.buffer.byteLength).toBeLessThan(200);
    }
  });

  it("refuses a manifest under another version's name", async () => {
    const table = await makeReferenceTable([1]);
    const entry = (await findLatestVersion({ disk, root: table.root }))!;
    const path = manifestPath(table.root, 2, "V2");
    await rename(entry.path, path);
    const environment = { disk, manifests: new ManifestCache(2 ** 20) };
    await expect(readManifestAt(environment, { version: 2, scheme: "V2", path })).rejects.toThrow(
      CorruptFileError,
    );
  });
});

it("the engine and the reference agree on a table of the reference", async () => {
  const table = await makeReferenceTable([1, 2]);
  expect((await latestFile(table.root)).manifest.version).toBe(1);
});
