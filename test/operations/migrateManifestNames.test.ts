/** Manifests that get names of scheme V2: by either engine, under other writers, and after crashes. */

import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import {
  DirectoryNamespace,
  InvalidTableStateError,
  TableBranchNotFoundError,
  TableNotFoundError,
} from "tiltyard";
import type { Table } from "tiltyard-reference/session.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { faultyDisk } from "../support/faultyDisk.js";
import { describe, expect, it } from "../support/fixtures.js";
import { rowsOf } from "../support/intRows.js";
import { WORLDS } from "../support/restNamespace.js";
import { makeTempDir } from "../support/tempDir.js";

/** Methods of LanceDB's local tables. */
interface NamingMethods {
  usesV2ManifestPaths(): Promise<boolean>;
  migrateManifestPathsV2(): Promise<void>;
}

const id = ["t"];

/** A table of five versions with names of scheme V1. */
async function fillV1(root: string): Promise<void> {
  await using ns = new DirectoryNamespace({ root, manifestNaming: "V1", durability: "none" });
  await ns.createTable({ id }, rowsOf(1));
  for (let value = 2; value <= 5; value++) await ns.insertIntoTable({ id }, rowsOf(value));
  await ns.createTableTag({ id, tag: "three", version: 3 });
}

const namesIn = async (root: string) =>
  (await readdir(join(root, "t.lance", "_versions"))).filter((name) => name.endsWith(".manifest")).sort();
const V1_NAMES = [1, 2, 3, 4, 5].map((version) => `${version}.manifest`);
const V2_NAMES = [5, 4, 3, 2, 1].map((version) => `${2n ** 64n - 1n - BigInt(version)}.manifest`);

describe.each(WORLDS.slice(1))("%s", (_, openWorld) => {
  it("renames all manifests once, and the table goes on", async () => {
    const root = await makeTempDir();
    await fillV1(root);
    await using ns = openWorld(root);
    expect(await namesIn(root)).toEqual(V1_NAMES);
    expect(await ns.migrateManifestNames({ id })).toMatchObject({ numRenamed: 5 });
    expect(await namesIn(root)).toEqual(V2_NAMES);
    expect(await ns.migrateManifestNames({ id })).toMatchObject({ numRenamed: 0 });
    expect(await ns.countTableRows({ id })).toBe(5);
    expect(await ns.countTableRows({ id, tag: "three" })).toBe(3);
    expect(await ns.countTableRows({ id, version: 2 })).toBe(2);
    await ns.insertIntoTable({ id }, rowsOf(6));
    expect((await ns.listTableVersions({ id })).versions.length).toBe(6);
    await ns.restoreTable({ id, version: 1 });
    expect(await ns.countTableRows({ id })).toBe(1);
    await expect(ns.migrateManifestNames({ id: ["none"] })).rejects.toThrow(TableNotFoundError);
    await expect(ns.migrateManifestNames({ id, branch: "none" })).rejects.toThrow(TableBranchNotFoundError);
  });
});

it("LanceDB reads and writes a table that this engine migrated, and the other way round", async ({
  root,
  ns,
  theirs,
}) => {
  await fillV1(root);
  const open = async () => (await theirs.openTable("t")) as Table & NamingMethods;
  const native = await open();
  expect(await native.usesV2ManifestPaths()).toBe(false);
  await ns.table("t").migrateManifestNames();
  expect(await (await open()).usesV2ManifestPaths()).toBe(true);
  const reopened = await open();
  await reopened.add([{ v: 7 }]);
  expect(await ns.countTableRows({ id })).toBe(6);
  const other = await makeTempDir();
  await fillV1(other);
  const { connect } = await import("tiltyard-reference/session.js");
  const theirOther = (await (await connect(other)).openTable("t")) as Table & NamingMethods;
  await theirOther.migrateManifestPathsV2();
  await using migrated = new DirectoryNamespace({ root: other });
  await migrated.insertIntoTable({ id }, rowsOf(8));
  expect(await migrated.countTableRows({ id })).toBe(6);
  expect(await migrated.migrateManifestNames({ id })).toEqual({ numRenamed: 0 });
});

it("a branch is migrated on its own", async ({ root }) => {
  await fillV1(root);
  await using ns = new DirectoryNamespace({ root, manifestNaming: "V1", durability: "none" });
  await ns.createTableBranch({ id, name: "b" });
  await ns.insertIntoTable({ id, branch: "b" }, rowsOf(9));
  const { numRenamed } = await ns.migrateManifestNames({ id, branch: "b" });
  expect(numRenamed).toBe(2);
  expect(await namesIn(root)).toEqual(V1_NAMES);
  expect(await ns.countTableRows({ id, branch: "b" })).toBe(6);
});

it("writers of this engine wait for a migration, and lose nothing", async ({ root, open }) => {
  await fillV1(root);
  const writers = Array.from({ length: 3 }, () => open({ root }));
  await Promise.all([
    ...writers.map((writer, index) =>
      writer.insertIntoTable({ id }, rowsOf(10 + index)).catch(() => undefined),
    ),
    open({ root }).migrateManifestNames({ id }),
  ]);
  await open({ root }).migrateManifestNames({ id });
  const names = await namesIn(root);
  expect(names.every((name) => name.length === "18446744073709551615.manifest".length)).toBe(true);
  expect(await open({ root }).countTableRows({ id })).toBe(names.length);
});

it("a migration that died loses nothing, and the next one completes it", {
  timeout: 300_000,
}, async () => {
  for (const mode of ["before", "after"] as const) {
    for (let call = 0, isDone = false; !isDone; call++) {
      const root = await makeTempDir();
      await fillV1(root);
      const disk = faultyDisk(new NodeDisk({ durability: "none" }));
      disk.failAt(call, mode, { dead: true });
      const dying = new DirectoryNamespace({ root, disk });
      isDone = await dying.migrateManifestNames({ id }).then(
        () => true,
        () => false,
      );
      await disk.restart();
      await using ns = new DirectoryNamespace({ root, durability: "none" });
      const isMixed = new Set((await namesIn(root)).map((name) => name.length)).size > 1;
      const outcome = await ns.countTableRows({ id }).catch((error: unknown) => error);
      if (!isMixed || !(outcome instanceof InvalidTableStateError)) expect(outcome).toBe(5);
      // A writer that finds the latest version may go on; it never takes the number of another version.
      const added = await ns.insertIntoTable({ id }, rowsOf(6)).then(
        () => 1,
        () => 0,
      );
      await ns.migrateManifestNames({ id });
      expect((await namesIn(root)).slice(added)).toEqual(V2_NAMES);
      expect(await ns.countTableRows({ id })).toBe(5 + added);
      await dying.close();
    }
  }
});

it("two different manifests of one version are left as they are", async ({ root, ns }) => {
  await fillV1(root);
  const versions = join(root, "t.lance", "_versions");
  await rename(join(versions, "4.manifest"), join(versions, V2_NAMES[2]));
  await expect(ns.migrateManifestNames({ id })).rejects.toThrow(InvalidTableStateError);
  expect(await readdir(versions)).toContain("3.manifest");
});
