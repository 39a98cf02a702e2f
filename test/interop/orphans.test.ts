/** A cleanup removes files of dead writers, and keeps those of versions, branches and current commits. */

import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tableFromIPC, tableToIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { temporaryName } from "../../src/io/names/temporaryNames.js";
import { manifestName } from "../../src/table/versions/paths.js";

import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";

const WEEK_S = 7 * 24 * 60 * 60;
const CONTENT = "12345";

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let tables = 0;

async function makeTable(): Promise<{ id: string[]; directory: string }> {
  const name = `t${tables++}`;
  const id = [name];
  await namespace.createTable({ id }, rowsOf(1));
  await namespace.insertIntoTable({ id }, rowsOf(2));
  await namespace.createTableBranch({ id, name: "dev" });
  await namespace.insertIntoTable({ id, branch: "dev" }, rowsOf(3));
  await namespace.createTableTag({ id, tag: "kept", version: 1 });
  return { id, directory: join(root, `${name}.lance`) };
}

async function put(directory: string, path: string, ageS: number): Promise<string> {
  const file = join(directory, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, CONTENT);
  await makeOld(file, ageS);
  return file;
}

async function makeOld(path: string, ageS: number): Promise<void> {
  const then = Date.now() / 1000 - ageS;
  await utimes(path, then, then);
}

/** Makes a directory tree old. Retries if a short-lived lock vanishes meanwhile. */
async function makeTreeOld(directory: string, ageS: number): Promise<void> {
  try {
    for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
      await makeOld(join(entry.parentPath, entry.name), ageS);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return makeTreeOld(directory, ageS);
  }
  await makeOld(directory, ageS);
}

async function checkRows(id: string[]): Promise<void> {
  expect(valuesOf(await namespace.table(id).scan().toArrow())).toEqual([1, 2]);
  expect(valuesOf(await namespace.table(id, { tag: "kept" }).scan().toArrow())).toEqual([1]);
  expect(valuesOf(await namespace.table(id, { branch: "dev" }).scan().toArrow())).toEqual([1, 2, 3]);
  expect(valuesOf(tableFromIPC(await reference.readTable(root, id[0])))).toEqual([1, 2]);
  const ofBranch = tableFromIPC(await reference.readTable(root, id[0], { branch: "dev" }));
  expect(valuesOf(ofBranch)).toEqual([1, 2, 3]);
}

const staged = `${manifestName(9, "V2")}-0d1f2a3b-4c5d-6e7f-8091-a2b3c4d5e6f7`;

/** Files that no live writer can have under the cleanup's lock. */
const FENCED = [
  `_versions/${temporaryName()}`,
  `_refs/tags/${temporaryName()}`,
  `_refs/branches/${temporaryName()}`,
  `_tiltyard/${temporaryName()}`,
  `_tiltyard/versions/${temporaryName()}`,
  "_tiltyard/versions/7.json",
];
/** Files that their writer may still publish. */
const UNPUBLISHED = [
  `_versions/${staged}`,
  "_versions/7.manifest-x",
  `_staging/${manifestName(9, "V2")}`,
  "_staging/any.name",
];
/** Files of commits by engines without locks. */
const FOREIGN = [
  `_versions/${manifestName(9, "V2")}#1`,
  "_versions/latest_version_hint.json#2",
  "_refs/tags/v.json#1",
  "_refs/branches/b.json#1",
  ".lance-reserved#1",
  temporaryName(),
];
/** Files that no engine writes. */
const STRANGE = [
  "_versions/notes.txt",
  `_versions/d${manifestName(9, "V2")}`,
  "_versions/.tmp-notes",
  "_tiltyard/notes.json",
  "_tiltyard/versions/notes.json",
  "_refs/tags/notes",
  "notes",
];

describe("orphans", () => {
  it("of writers that were overruled go at any age, others when they are a week old", async () => {
    const { id, directory } = await makeTable();
    const files = async (paths: string[], ageS: number) =>
      Promise.all(paths.map((path) => put(directory, path, ageS)));
    const fenced = await files(FENCED, 0);
    const rest = await files([...UNPUBLISHED, ...FOREIGN, ...STRANGE], WEEK_S - 60);
    const present = (paths: string[]) => paths.filter((path) => existsSync(path));
    expect(await namespace.cleanupTable({ id })).toMatchObject({
      versionsRemoved: 0,
      filesRemoved: FENCED.length,
      dataFilesRemoved: 0,
      bytesRemoved: CONTENT.length * FENCED.length,
    });
    expect(present(fenced)).toEqual([]);
    expect(present(rest)).toEqual(rest);

    for (const path of rest) await makeOld(path, WEEK_S + 60);
    const old = UNPUBLISHED.length + FOREIGN.length;
    expect(await namespace.cleanupTable({ id })).toMatchObject({
      filesRemoved: old,
      bytesRemoved: CONTENT.length * old,
    });
    expect(present(rest)).toEqual(STRANGE.map((path) => join(directory, path)));
    await checkRows(id);
  });

  it("that were staged go at once where the caller vouches for there being no writer", async () => {
    const { id, directory } = await makeTable();
    for (const path of [...UNPUBLISHED, ...FOREIGN]) await put(directory, path, 60);
    expect(await namespace.cleanupTable({ id, deleteUnverified: true })).toMatchObject({
      filesRemoved: UNPUBLISHED.length,
    });
    for (const path of UNPUBLISHED) expect(existsSync(join(directory, path))).toBe(false);
    for (const path of FOREIGN) expect(existsSync(join(directory, path))).toBe(true);
    await checkRows(id);
  });

  it("of a branch go with its cleanup, and with no other's", async () => {
    const { id, directory } = await makeTable();
    const ofBranch = FENCED.filter((path) => !path.startsWith("_refs")).map((path) => `tree/dev/${path}`);
    for (const path of ofBranch) await put(directory, path, 0);
    expect(await namespace.cleanupTable({ id })).toMatchObject({ filesRemoved: 0 });
    expect(await namespace.cleanupTable({ id, branch: "dev" })).toMatchObject({
      filesRemoved: ofBranch.length,
    });
    await checkRows(id);
  });

  it("don't include the record of a version, or a staged manifest that can still be published", async () => {
    const { id, directory } = await makeTable();
    const manifestPath = await stageDoubled(directory, 3);
    const metadata = { made: "by hand" };
    await namespace.cleanupTable({ id });
    await namespace.createTableVersion({ id, version: 3, manifestPath, metadata });
    await namespace.cleanupTable({ id });
    const { version } = await namespace.describeTableVersion({ id, version: 3 });
    expect(version).toMatchObject({ version: 3, metadata });
    expect(valuesOf(await namespace.table(id).scan().toArrow())).toEqual([1, 2, 1, 2]);
  });
});

describe("directories of branches", () => {
  it("that are not registered go when all in them is a week old", async () => {
    const { id, directory } = await makeTable();
    for (const name of ["gone", "up/gone", "up/there", "dev/below"]) {
      await namespace.createTableBranch({ id, name });
      await namespace.insertIntoTable({ id, branch: name }, rowsOf(4));
    }
    // A process that dies while it deletes a branch leaves them.
    for (const name of ["gone", "up%2Fgone"]) {
      await rm(join(directory, "_refs", "branches", `${name}.json`));
    }
    // A process that dies before it writes a branch leaves this.
    await put(directory, "tree/new/_transactions/2-x.txn", 0);
    await mkdir(join(directory, "tree", "empty", "nested"), { recursive: true });
    const dead = ["gone", "up/gone", "new", "empty"].map((name) => join(directory, "tree", name));
    expect(await namespace.cleanupTable({ id })).toMatchObject({ filesRemoved: 0 });
    for (const path of dead) expect(existsSync(path), path).toBe(true);

    for (const path of dead) await makeTreeOld(path, WEEK_S + 60);
    // One file is younger: a writer may still use it.
    await makeOld(join(directory, "tree", "gone", "_transactions"), 60);
    await namespace.cleanupTable({ id });
    expect(dead.filter((path) => existsSync(path))).toEqual([join(directory, "tree", "gone")]);

    await makeTreeOld(join(directory, "tree", "gone"), WEEK_S + 60);
    const { filesRemoved, bytesRemoved } = await namespace.cleanupTable({ id });
    expect(filesRemoved).toBeGreaterThanOrEqual(5);
    expect(bytesRemoved).toBeGreaterThan(500);
    expect((await readdir(join(directory, "tree"))).sort()).toEqual(["dev", "up"]);
    await checkRows(id);
    for (const branch of ["up/there", "dev/below"]) {
      expect(valuesOf(await namespace.table(id, { branch }).scan().toArrow())).toContain(4);
    }
    await reference.createBranch(root, id[0], "gone");
    await reference.appendTable(root, id[0], tableToIPC(rowsOf(5)), { branch: "gone" });
    expect(valuesOf(await namespace.table(id, { branch: "gone" }).scan().toArrow())).toEqual([1, 2, 5]);
  });

  it("that hold other branches, or are locked, stay as far as those need them", async () => {
    const { id, directory } = await makeTable();
    for (const name of ["a", "a/b", "held"]) {
      await namespace.createTableBranch({ id, name });
      await namespace.insertIntoTable({ id, branch: name }, rowsOf(4));
    }
    for (const name of ["a", "held"]) await rm(join(directory, "_refs", "branches", `${name}.json`));
    for (const name of ["a/_versions", "a/_transactions", "a/data", "held"]) {
      await makeTreeOld(join(directory, "tree", name), WEEK_S + 60);
    }
    // A live owner may hold it.
    const lock = join(directory, "tree", "held", LOCK_NAME);
    await mkdir(join(lock, "owner-000000000000-0-0-1-0-0123456789abcdef"), { recursive: true });
    await namespace.cleanupTable({ id });
    expect(await readdir(join(directory, "tree", "a"))).toEqual(["b"]);
    expect(await readdir(join(directory, "tree", "held"))).toContain("_versions");
    expect(valuesOf(await namespace.table(id, { branch: "a/b" }).scan().toArrow())).toEqual([1, 2, 4]);
    const seen = tableFromIPC(await reference.readTable(root, id[0], { branch: "a/b" }));
    expect(valuesOf(seen)).toEqual([1, 2, 4]);
    await rm(lock, { recursive: true });
    await namespace.cleanupTable({ id });
    expect(existsSync(join(directory, "tree", "held"))).toBe(false);
    await checkRows(id);
  });

  it("leave no empty directory above them", async () => {
    const { id, directory } = await makeTable();
    await namespace.deleteTableBranch({ id, name: "dev" });
    await mkdir(join(directory, "tree", "some", "where"), { recursive: true });
    await mkdir(join(directory, "_staging"));
    await mkdir(join(directory, "_tiltyard", "retired"), { recursive: true });
    await makeTreeOld(join(directory, "tree"), WEEK_S + 60);
    for (const path of ["_staging", "_tiltyard/retired"]) await makeOld(join(directory, path), WEEK_S + 60);
    await namespace.cleanupTable({ id });
    const left = await readdir(directory);
    expect(left).not.toContain("_staging");
    expect(left).not.toContain("tree");
    expect(await readdir(join(directory, "_tiltyard"))).not.toContain("retired");
  });
});

it("versions that an older release has set aside are finished, or put back", async () => {
  const { id, directory } = await makeTable();
  await namespace.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(7));
  await namespace.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(8));
  await namespace.deleteTableBranch({ id, name: "dev" });
  const former = join(directory, "_tiltyard", "retired");
  await mkdir(former, { recursive: true });
  for (const version of [1, 3]) {
    const name = manifestName(version, "V2");
    await rename(join(directory, "_versions", name), join(former, name));
  }
  expect((await namespace.listTableVersions({ id })).versions.map(({ version }) => version)).toEqual([2, 4]);
  expect(await namespace.cleanupTable({ id })).toMatchObject({ versionsRemoved: 1, dataFilesRemoved: 1 });
  const { versions } = await namespace.listTableVersions({ id });
  expect(versions.map(({ version }) => version)).toEqual([1, 2, 4]);
  expect(valuesOf(await namespace.table(id, { tag: "kept" }).scan().toArrow())).toEqual([1]);
  expect(valuesOf(tableFromIPC(await reference.readTable(root, id[0], { tag: "kept" })))).toEqual([1]);
});
