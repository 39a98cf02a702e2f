import { access, cp, link, mkdir, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConcurrentModificationError, InvalidInputError } from "../../../src/errors.js";
import { publishStagedVersion, type StagedVersion } from "../../../src/table/staging/stagedVersion.js";
import { findLatestVersion } from "../../../src/table/versions/latestVersion.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import {
  manifestName,
  manifestPath,
  versionRecordsDirectory,
  versionsDirectory,
} from "../../../src/table/versions/paths.js";
import { tableAt } from "../../../src/table/versions/tableAt.js";
import { readVersionRecord } from "../../../src/table/versions/versionRecord.js";
import { findVersion, listVersions } from "../../../src/table/versions/versions.js";
import { directorySnapshot } from "../../support/directorySnapshot.js";
import { faultyDisk } from "../../support/faultyDisk.js";
import { succeeds } from "../../support/outcomes.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";
import { replacedVerbs } from "../../support/wrappedDisk.js";
import {
  anchorAt,
  disk,
  ipcOf,
  joinChunks,
  latestFile,
  makeReferenceTable,
  openEnvironment,
  type ReferenceTable,
  valuesOf,
} from "../support.js";

/** Makes a manifest of a version with the content of the table's latest. */
async function manifestBytes(table: ReferenceTable, version: number): Promise<Uint8Array> {
  const { manifest, indexSectionBytes, transactionBytes } = await latestFile(table.root);
  return joinChunks(
    encodeManifestFile({ manifest: { ...manifest, version }, indexSectionBytes, transactionBytes }).chunks,
  );
}

async function stage(table: ReferenceTable, version: number, name?: string): Promise<string> {
  const path = join(versionsDirectory(table.root), name ?? `${manifestName(version, "V2")}-5b0e`);
  await writeFile(path, await manifestBytes(table, version));
  return path;
}

const publish = async (table: ReferenceTable, staged: StagedVersion) =>
  publishStagedVersion(tableAt(openEnvironment(), table.root), await anchorAt(table.root), staged);

const versionsOf = async (table: ReferenceTable) =>
  (await listVersions({ disk, root: table.root })).map((entry) => entry.version);

describe("a staged manifest", () => {
  it.each([
    ["absolute", (path: string) => path],
    ["absolute without its leading slash", (path: string) => path.slice(1)],
    ["relative to the table", (path: string, table: ReferenceTable) => path.slice(table.root.length + 1)],
  ])("is published from a path that is %s, and removed", async (_name, form) => {
    const table = await makeReferenceTable([1, 2]);
    const path = await stage(table, 2);
    const bytes = await readFile(path);
    const published = await publish(table, {
      version: 2,
      stagedPath: form(path, table),
      manifestSize: bytes.length,
    });
    expect(published.path).toBe(manifestPath(table.root, 2, "V2"));
    expect(await readFile(published.path)).toEqual(bytes);
    await expect(access(path)).rejects.toThrow();
    expect(await reference.tableVersion(table.uri, "t")).toBe(2);
    await reference.appendTable(table.uri, "t", ipcOf(3));
    expect(await valuesOf(table)).toEqual([1, 2, 3]);
  });

  it("of the reference is published unchanged", async () => {
    const [table, second] = [await makeReferenceTable([1]), await makeReferenceTable([1])];
    await reference.appendTable(second.uri, "t", ipcOf(2));
    const source = await readFile(manifestPath(second.root, 2, "V2"));
    await writeFile(join(table.root, "staged"), source);
    // The manifest is another table's, whose files do not exist here.
    await expect(publish(table, { version: 2, stagedPath: "staged" })).rejects.toThrow(InvalidInputError);
    await cp(join(second.root, "data"), join(table.root, "data"), { recursive: true });
    const { path } = await publish(table, { version: 2, stagedPath: "staged" });
    expect(await readFile(path)).toEqual(source);
  });

  it("may skip numbers, and the version is still found", async () => {
    const table = await makeReferenceTable([1]);
    await publish(table, { version: 40, stagedPath: await stage(table, 40) });
    expect((await findLatestVersion({ disk, root: table.root }))?.version).toBe(40);
    await publish(table, { version: 90, stagedPath: await stage(table, 90) });
    expect((await findLatestVersion({ disk, root: table.root }))?.version).toBe(90);
    expect(await reference.tableVersion(table.uri, "t")).toBe(90);
    await reference.appendTable(table.uri, "t", ipcOf(2));
    expect((await findLatestVersion({ disk, root: table.root }))?.version).toBe(91);
    expect(await versionsOf(table)).toEqual([1, 40, 90, 91]);
  });

  it("may have any number below 2^32, and any scheme, if it is the first", async () => {
    const source = await makeReferenceTable([1]);
    for (const [version, scheme] of [
      [0, "V2"],
      [7, "V1"],
      [2 ** 32 - 1, "V2"],
    ] as const) {
      const root = join(await makeTempDir(), "t.lance");
      await cp(join(source.root, "data"), join(root, "data"), { recursive: true });
      await writeFile(join(root, "staged"), await manifestBytes(source, version));
      const published = await publishStagedVersion(tableAt(openEnvironment(), root), await anchorAt(root), {
        version,
        scheme,
        stagedPath: "staged",
      });
      expect(published.path).toBe(manifestPath(root, version, scheme));
      expect((await findLatestVersion({ disk, root }))?.version).toBe(version);
    }
  });

  it("does not exhaust the numbers", async () => {
    const table = await makeReferenceTable([1]);
    const empty = join(await makeTempDir(), "t.lance");
    await cp(join(table.root, "data"), join(empty, "data"), { recursive: true });
    await writeFile(join(empty, "staged"), await manifestBytes(table, 2 ** 32));
    const first = publishStagedVersion(tableAt(openEnvironment(), empty), await anchorAt(empty), {
      version: 2 ** 32,
      stagedPath: "staged",
    });
    await expect(first).rejects.toThrow(/^version: the first version of a table must be below 4294967296/);
    for (const version of [Number.MAX_SAFE_INTEGER, 2 ** 32 + 2]) {
      const stagedPath = await stage(table, version);
      await expect(publish(table, { version, stagedPath })).rejects.toThrow(InvalidInputError);
    }
    expect(await versionsOf(table)).toEqual([1]);
    const highest = 2 ** 32 + 1;
    await publish(table, { version: highest, stagedPath: await stage(table, highest) });
    expect(await versionsOf(table)).toEqual([1, highest]);
  });

  it("gets the table's naming scheme", async () => {
    const table = await makeReferenceTable([1], { v1Paths: true });
    const published = await publish(table, { version: 2, stagedPath: await stage(table, 2) });
    expect(published.scheme).toBe("V1");
    expect(await reference.tableVersion(table.uri, "t")).toBe(2);
  });
});

describe("a number that is not above the latest", () => {
  it.each([1, 2, 3])("is refused: %s", async (version) => {
    const table = await makeReferenceTable([1]);
    await publish(table, { version: 3, stagedPath: await stage(table, 3) });
    const path = await stage(table, version);
    const before = await directorySnapshot(table.root);
    await expect(publish(table, { version, stagedPath: path })).rejects.toThrow(ConcurrentModificationError);
    expect(await directorySnapshot(table.root)).toEqual(before);
  });

  it("is refused for identical bytes too, and if the winner removed the staged file", async () => {
    const table = await makeReferenceTable([1]);
    const path = await stage(table, 2);
    const attempts = await Promise.allSettled(
      Array.from({ length: 8 }, () => publish(table, { version: 2, stagedPath: path })),
    );
    const failures = attempts.filter((attempt) => attempt.status === "rejected");
    expect(failures.length).toBe(7);
    for (const { reason } of failures) expect(reason).toBeInstanceOf(ConcurrentModificationError);
  });
});

describe("an invalid staged file", () => {
  async function refused(table: ReferenceTable, staged: StagedVersion): Promise<void> {
    const before = await directorySnapshot(table.uri);
    await expect(publish(table, staged)).rejects.toThrow(InvalidInputError);
    expect(await directorySnapshot(table.uri)).toEqual(before);
  }

  it.each([
    "",
    "nowhere",
    "..",
    "../outside",
    "/etc/passwd",
    "etc/passwd",
    "_versions",
    "a\0b",
    ".",
    "/",
    "data/../../outside",
  ])("is refused by its path: %j", async (stagedPath) => {
    const table = await makeReferenceTable([1]);
    await writeFile(join(table.uri, "outside"), await manifestBytes(table, 2));
    await refused(table, { version: 2, stagedPath });
  });

  it("is refused if a symbolic link leads out of the table", async () => {
    const table = await makeReferenceTable([1]);
    const outside = join(table.uri, "outside");
    await mkdir(outside);
    await writeFile(join(outside, "m"), await manifestBytes(table, 2));
    await symlink(join(outside, "m"), join(table.root, "file"));
    await symlink(outside, join(table.root, "directory"));
    for (const stagedPath of ["file", "directory/m"]) {
      await expect(publish(table, { version: 2, stagedPath })).rejects.toThrow(InvalidInputError);
    }
    expect(await versionsOf(table)).toEqual([1]);
  });

  it("is refused in a table whose name has the same prefix", async () => {
    const table = await makeReferenceTable([1]);
    const twin = `${table.root}x`;
    await mkdir(twin);
    await writeFile(join(twin, "m"), await manifestBytes(table, 2));
    await refused(table, { version: 2, stagedPath: join(twin, "m") });
  });

  it("is refused by version, by size, by naming scheme, and as a published manifest", async () => {
    const table = await makeReferenceTable([1]);
    const path = await stage(table, 3);
    await refused(table, { version: 2, stagedPath: path });
    await refused(table, { version: 3, stagedPath: path, manifestSize: 1 });
    await refused(table, { version: 3, stagedPath: path, scheme: "V1" });
    await refused(table, { version: 2, stagedPath: manifestPath(table.root, 1, "V2") });
    await refused(table, { version: 2, stagedPath: dirname(path) });
  });

  it("is refused with any byte missing or changed", async () => {
    const table = await makeReferenceTable([1]);
    const path = await stage(table, 2);
    const bytes = await readFile(path);
    await truncate(path, bytes.length - 1);
    await refused(table, { version: 2, stagedPath: path });
    // Only the magic and the padding of the check block may change: they do not alter the content.
    const blockStart = Number(bytes.readBigUInt64LE(bytes.length - 16)) - 16;
    const unseen = (index: number) =>
      index >= blockStart && (index < blockStart + 8 || index >= blockStart + 12);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (index, mask) => {
        if (unseen(index) && index < blockStart + 16) return;
        const changed = Buffer.from(bytes);
        changed[index] ^= mask;
        await writeFile(path, changed);
        await expect(publish(table, { version: 2, stagedPath: path })).rejects.toThrow(InvalidInputError);
      }),
      { numRuns: 60 },
    );
    expect(await versionsOf(table)).toEqual([1]);
  });
});

describe("metadata and eTag", () => {
  const record = { metadata: { who: "me", "k é": "v" }, eTag: "e1" };

  it("are returned", async () => {
    const table = await makeReferenceTable([1]);
    const entry = await publish(table, { version: 2, stagedPath: await stage(table, 2), ...record });
    expect(await readVersionRecord({ disk, root: table.root }, entry)).toEqual(record);
    const first = await findVersion({ disk, root: table.root }, 1);
    expect(await readVersionRecord({ disk, root: table.root }, first!)).toEqual({});
  });

  it("of an unpublished attempt do not apply to another manifest", async () => {
    const table = await makeReferenceTable([1]);
    const path = await stage(table, 2);
    const linkless = replacedVerbs(disk, {
      link: () => Promise.reject(new Error("the process died here")),
    });
    const died = publishStagedVersion(
      tableAt({ ...openEnvironment(), disk: linkless }, table.root),
      await anchorAt(table.root),
      {
        version: 2,
        stagedPath: path,
        ...record,
      },
    );
    await expect(died).rejects.toThrow("died here");
    await access(join(versionRecordsDirectory(table.root), "2.json"));
    await reference.appendTable(table.uri, "t", ipcOf(5));
    const entry = (await findVersion({ disk, root: table.root }, 2))!;
    expect(await readVersionRecord({ disk, root: table.root }, entry)).toEqual({});
  });

  it("of such an attempt do not return with a retry without any", async () => {
    const table = await makeReferenceTable([1]);
    const path = await stage(table, 2);
    const kept = join(table.root, "kept");
    await link(path, kept);
    const { path: published } = await publish(table, { version: 2, stagedPath: path, ...record });
    await disk.remove(published);
    await disk.remove(join(versionsDirectory(table.root), "latest_version_hint.json"));
    const entry = await publish(table, { version: 2, stagedPath: kept });
    expect(await readVersionRecord({ disk, root: table.root }, entry)).toEqual({});
  });

  it("are ignored if their file is garbage", async () => {
    const table = await makeReferenceTable([1]);
    const entry = await publish(table, { version: 2, stagedPath: await stage(table, 2), ...record });
    const path = join(versionRecordsDirectory(table.root), "2.json");
    const bytes = await readFile(path);
    for (const garbage of [
      "",
      "{}",
      "null",
      "[",
      '{"manifestSize":1,"manifestSha256":2}',
      bytes.subarray(0, 40),
    ]) {
      await writeFile(path, garbage);
      expect(await readVersionRecord({ disk, root: table.root }, entry)).toEqual({});
    }
  });

  it("are limited in size", async () => {
    const table = await makeReferenceTable([1]);
    const staged = { version: 2, stagedPath: await stage(table, 2), metadata: { k: "x".repeat(2 ** 20) } };
    await expect(publish(table, staged)).rejects.toThrow(InvalidInputError);
    expect(await versionsOf(table)).toEqual([1]);
  });
});

it("a publication that fails at any disk call is complete or without effect, and the next attempt tells", async () => {
  for (let failAt = 0; ; failAt++) {
    const table = await makeReferenceTable([1]);
    const path = await stage(table, 9);
    const faulty = faultyDisk(disk);
    faulty.failAt(failAt, "before", { dead: true });
    const staged = { version: 9, stagedPath: path, metadata: { a: "b" } };
    const succeeded = await succeeds(
      publishStagedVersion(
        tableAt({ ...openEnvironment(), disk: faulty }, table.root),
        await anchorAt(table.root),
        staged,
      ),
    );
    const done = !faulty.tripped;
    await faulty.restart();
    const { version } = (await findLatestVersion({ disk, root: table.root }))!;
    if (succeeded) expect(version).toBe(9);
    if (version === 1) {
      expect((await publish(table, staged)).version).toBe(9);
    } else {
      await expect(publish(table, staged)).rejects.toThrow(ConcurrentModificationError);
    }
    const entry = (await findLatestVersion({ disk, root: table.root }))!;
    expect(entry.version).toBe(9);
    expect((await readVersionRecord({ disk, root: table.root }, entry)).metadata).toEqual({ a: "b" });
    if (done) break;
  }
});
