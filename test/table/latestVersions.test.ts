/** Checks that a remembered latest version is never returned if there is a newer one. */

import { mkdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { InvalidTableStateError } from "../../src/errors.js";
import type { Disk, FileStat } from "../../src/io/disk/disk.js";
import { writeGap } from "../../src/table/versions/gapWriter.js";
import { writeHint } from "../../src/table/versions/hintWriter.js";
import { findLatestVersion, LatestVersions } from "../../src/table/versions/latestVersion.js";
import { manifestPath, type NamingScheme, versionsDirectory } from "../../src/table/versions/paths.js";
import { countingDisk } from "../support/countingDisk.js";
import { makeTempDir } from "../support/tempDir.js";
import { disk } from "./support.js";

let root: string;

beforeEach(async () => {
  root = await makeTempDir();
  await mkdir(versionsDirectory(root));
});

/** Adds empty manifests: finding versions reads only their names. */
async function addVersions(versions: number[], scheme: NamingScheme = "V2"): Promise<void> {
  for (const version of versions) await writeFile(manifestPath(root, version, scheme), "");
}

/** Waits until a directory's time is old enough for the result to be remembered. */
const recover = () => new Promise((resolve) => setTimeout(resolve, 120));

/** Returns a disk whose directories never show a change. */
const frozenTimes = (inner: Disk): Disk => {
  const seen = new Map<string, FileStat | null>();
  return Object.assign(Object.create(inner) as Disk, {
    async stat(path: string) {
      const stat = await inner.stat(path);
      if (stat?.kind !== "directory") return stat;
      if (!seen.has(path)) seen.set(path, stat);
      return seen.get(path) ?? null;
    },
    open: (path: string) => inner.open(path),
    list: (path: string) => inner.list(path),
    readFile: (path: string, maxBytes?: number) => inner.readFile(path, maxBytes),
  });
};

describe("a remembered table", () => {
  const histories = [
    ["V1", 700],
    ["V2", 3],
    ["V2", 700],
  ] as const;
  it.each(histories)("costs two looks, scheme %s, %i versions", async (scheme, count) => {
    await addVersions(
      Array.from({ length: count }, (_, index) => index + 1),
      scheme,
    );
    await recover();
    const counting = countingDisk(disk);
    const versions = new LatestVersions(counting);
    expect((await versions.find(root))?.version).toBe(count);
    counting.reset();
    expect(await versions.find(root)).toEqual(await findLatestVersion({ disk, root }));
    expect([counting.count("stat"), counting.total]).toEqual([2, 2]);
  });

  it("that changed a moment ago costs only looks, and none of its next versions is missed", async () => {
    const counting = countingDisk(disk);
    const versions = new LatestVersions(counting);
    let cheap = 0;
    for (let version = 1; version <= 30; version++) {
      await addVersions([version]);
      expect((await versions.find(root))?.version).toBe(version);
      counting.reset();
      expect((await versions.find(root))?.version).toBe(version);
      expect(counting.total).toBeLessThanOrEqual(8);
      if (counting.count("list") === 0) cheap++;
      expect(counting.count("open") + counting.count("readFile")).toBe(0);
    }
    expect(cheap).toBeGreaterThan(15);
    await writeGap({ disk, root }, { from: 30, to: 77 });
    await addVersions([77]);
    expect((await versions.find(root))?.version).toBe(77);
  });

  it("is examined again with every version that comes or goes, whoever makes it and in whatever order", async () => {
    const versions = new LatestVersions(disk);
    const latest = async () => (await versions.find(root))?.version;
    expect(await latest()).toBeUndefined();
    await addVersions([1]);
    expect(await latest()).toBe(1);
    await recover();
    for (const version of [2, 3]) {
      expect(await latest()).toBe(version - 1);
      await addVersions([version]);
      expect(await latest()).toBe(version);
    }
    await recover();
    expect(await latest()).toBe(3);
    // A gap that the hint precedes.
    await addVersions([90]);
    expect(await latest()).toBe(90);
    await recover();
    expect(await latest()).toBe(90);
    await rm(manifestPath(root, 90, "V2"));
    expect(await latest()).toBe(3);
    await writeHint({ disk, root }, 3);
    await recover();
    expect(await latest()).toBe(3);
    await addVersions([4]);
    expect(await latest()).toBe(4);
  });

  it("is recognised as another one after a replacement with the same times", async () => {
    const versions = new LatestVersions(disk);
    const time = new Date(1_000_000_000_000);
    await addVersions([1, 2, 3]);
    await utimes(versionsDirectory(root), time, time);
    await recover();
    expect((await versions.find(root))?.version).toBe(3);
    expect((await versions.find(root))?.version).toBe(3);
    await rename(versionsDirectory(root), `${versionsDirectory(root)}-away`);
    expect(await versions.find(root)).toBeNull();
    await mkdir(versionsDirectory(root));
    await addVersions([1, 2]);
    await utimes(versionsDirectory(root), time, time);
    await recover();
    expect((await versions.find(root))?.version).toBe(2);
  });

  it("is checked for a next version even if its directory's times are unchanged", async () => {
    const versions = new LatestVersions(frozenTimes(disk));
    await addVersions([1, 2]);
    await recover();
    expect((await versions.find(root))?.version).toBe(2);
    for (const version of [3, 4]) {
      await addVersions([version]);
      expect((await versions.find(root))?.version).toBe(version);
    }
  });

  it("is refused as soon as its naming schemes are mixed", async () => {
    const versions = new LatestVersions(disk);
    await addVersions([1, 2]);
    await recover();
    expect((await versions.find(root))?.version).toBe(2);
    await addVersions([2], "V1");
    await expect(versions.find(root)).rejects.toThrow(InvalidTableStateError);
  });
});
