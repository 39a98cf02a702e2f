/** Checks which files of a table may be published as staged manifests: none that is published already. */

import {
  access,
  copyFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { InvalidInputError } from "../../../src/errors.js";
import { Manifest } from "../../../src/format/table.js";
import type { Disk } from "../../../src/io/disk/disk.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { whyNotStaged } from "../../../src/table/staging/stagedLocation.js";
import { decodeManifestFile } from "../../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { manifestName, manifestPath } from "../../../src/table/versions/paths.js";
import { directorySnapshot } from "../../support/directorySnapshot.js";
import { succeeds } from "../../support/outcomes.js";
import { stageDoubled } from "../../support/stageVersion.js";
import { makeTempDir } from "../../support/tempDir.js";
import { watchedDisk } from "../../support/watchedDisk.js";

const id = ["t"];
const rows = new Table({ v: vectorFromArray([1, 2, 3], new Int32()) });

let root: string;
let table: string;
let ns: DirectoryNamespace;
beforeEach(async () => {
  root = await makeTempDir();
  table = join(root, "t.lance");
  ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rows);
});
afterEach(() => ns.close());

describe("a file", () => {
  const name = `${manifestName(7, "V2")}-5b0e`;

  it.each([
    ["_versions", name],
    ["_versions", "staged"],
    ["_versions", ".tmp_7.manifest_5b0e"],
    ["staged"],
    ["_staging", "a"],
    ["_staging", "deep", "er", "a.manifest"],
    ["mine", "7.manifest"],
  ])("in a location for staged files is accepted: %s %s", (...names) => {
    expect(whyNotStaged(names)).toBeNull();
  });

  it.each([
    [["_versions", manifestName(7, "V2")]],
    [["_versions", manifestName(7, "V1")]],
    [["_versions", "7.MANIFEST"]],
    [["_versions", "7.manifest."]],
    [["_versions", "0.manifest"]],
    [["_versions", "d7.manifest"]],
    [["_versions", "7.retired"]],
    [["_versions", `${manifestName(7, "V2").slice(0, -9)}.Released`]],
    [["_versions", "latest_version_hint.json"]],
    [["_versions", ".tmp-0d1f2a3b-4c5d-6e7f-8091-a2b3c4d5e6f7"]],
    [["_versions", `${name}#1`]],
    [["_versions", "deep", name]],
    [["_Versions", name]],
    [["_ver\u017fions", name]],
    [["_transactions", "1-a.txn"]],
    [["data", "a"]],
    [["DATA", "a"]],
    [["_deletions", "a"]],
    [["_indices", "u", "a"]],
    [["_refs", "tags", "a.json"]],
    [["_tiltyard", "versions", "7.json"]],
    [["_tiltyard-of-later", "a"]],
    [["tree", "dev", "_versions", name]],
    [["dev", "_versions", name]],
    [["dev", "data", "a"]],
    [[".tiltyard.lock", "a"]],
    [[".lance-reserved"]],
    [[".tmp-a", "a"]],
    [["data"]],
  ])("among the published files is refused: %j", (names) => {
    expect(whyNotStaged(names)).toEqual(expect.any(String));
  });
});

/** Expects each of the three operations to refuse the file, whatever its content. */
async function expectRefused(version: number, manifestPath: string, branch?: string): Promise<void> {
  const part = { id, version, manifestPath, branch };
  const before = await directorySnapshot(root);
  for (const publish of [
    () => ns.createTableVersion(part),
    () => ns.batchCreateTableVersions({ entries: [part] }),
    () => ns.batchCommitTables({ operations: [{ createTableVersion: part }] }),
  ]) {
    await expect(publish()).rejects.toBeInstanceOf(InvalidInputError);
    expect(await directorySnapshot(root)).toEqual(before);
  }
}

it("a branch keeps its versions when one of them is offered to main", async () => {
  await ns.createTableBranch({ id, name: "dev" });
  const { version } = await ns.insertIntoTable({ id, branch: "dev" }, rows);
  await expectRefused(version as number, `tree/dev/_versions/${manifestName(version as number, "V2")}`);
  expect(await ns.countTableRows({ id, branch: "dev" })).toBe(6);
});

it("a branch in the directory of another keeps what is staged for it", async () => {
  await ns.createTableBranch({ id, name: "dev" });
  await ns.createTableBranch({ id, name: "dev/x" });
  const inner = join(table, "tree", "dev", "x");
  const staged = await stageDoubled(inner, 2);
  await mkdir(join(inner, "_staging"));
  await copyFile(staged, join(inner, "_staging", "m"));
  await expectRefused(2, staged, "dev");
  await expectRefused(2, join(inner, "_staging", "m"), "dev");
  await ns.createTableVersion({ id, branch: "dev/x", version: 2, manifestPath: staged });
  expect(await ns.countTableRows({ id, branch: "dev/x" })).toBe(6);
});

it("the file of a transaction is not a manifest, even with one in its tail", async () => {
  const staged = await stageDoubled(table, 2);
  const [transactionName] = await readdir(join(table, "_transactions"));
  const path = join(table, "_transactions", transactionName);
  // The padding keeps the transaction's check block from being read as the manifest's.
  const head = Buffer.concat([await readFile(path), Buffer.alloc(16)]);
  const { manifest } = decodeManifestFile(await readFile(staged), staged);
  const message = Manifest.encode({ ...manifest, indexSection: undefined, transactionSection: undefined });
  const footer = Buffer.alloc(20);
  footer.writeBigUInt64LE(BigInt(head.length), 4);
  footer.write("\0\0\x02\0LANC", 12, "latin1");
  const length = Buffer.alloc(4);
  length.writeUInt32LE(message.length);
  await writeFile(path, Buffer.concat([head, length, message, footer.subarray(4)]));
  expect(decodeManifestFile(await readFile(path), path).manifest.version).toBe(2);
  await expectRefused(2, path);
  await ns.createTableVersion({ id, version: 2, manifestPath: staged });
});

it("a link among staged files does not lead to published ones", async () => {
  await ns.insertIntoTable({ id }, rows);
  await mkdir(join(table, "_staging"));
  const data = join(table, "data");
  await rename(await stageDoubled(table, 3), join(data, "m"));
  await symlink(join(data, "m"), join(table, "_staging", "m"));
  await expectRefused(3, join(table, "_staging", "m"));
  await symlink(data, join(table, "mine"));
  const part = { id, version: 3, manifestPath: "mine/m" };
  await expect(ns.createTableVersion(part)).rejects.toBeInstanceOf(InvalidInputError);
  await access(join(data, "m"));
});

it.each(["_staging/m", "staged", "mine/deep/m"])("a caller's own file is published: %s", async (location) => {
  const path = join(table, ...location.split("/"));
  await mkdir(dirname(path), { recursive: true });
  await rename(await stageDoubled(table, 2), path);
  await ns.createTableVersion({ id, version: 2, manifestPath: path.slice(1).replaceAll(sep, "/") });
  await expect(access(path)).rejects.toThrow();
  expect(await ns.countTableRows({ id })).toBe(6);
});

it("a staged file that was replaced during its publication stays", async () => {
  const path = await stageDoubled(table, 2);
  const bytes = await readFile(path);
  const target = manifestPath(table, 2, "V2");
  await using rival = new DirectoryNamespace({
    root,
    durability: "none",
    disk: replacingAfterLink(target, async () => {
      await rm(path);
      await writeFile(path, "another's");
    }),
  } as { root: string });
  await rival.createTableVersion({ id, version: 2, manifestPath: path });
  expect(await readFile(target)).toEqual(bytes);
  expect(await readFile(path, "utf8")).toBe("another's");
});

it("a version is refused if its manifest names no branch or another one", async () => {
  await ns.createTableBranch({ id, name: "dev" });
  const dev = join(table, "tree", "dev");
  const staged = await stageDoubled(dev, 2);
  await mkdir(join(table, "_staging"));
  await cp(staged, join(table, "_staging", "m"));
  await expectRefused(2, "_staging/m");
  const { manifest, indexSectionBytes, transactionBytes } = decodeManifestFile(
    await readFile(staged),
    staged,
  );
  for (const branch of [undefined, "main", "../../u.lance", "other", "dev/"]) {
    const { chunks } = encodeManifestFile({
      manifest: { ...manifest, branch },
      indexSectionBytes,
      transactionBytes: transactionBytes as Uint8Array,
    });
    await writeFile(staged, Buffer.concat(chunks));
    await expectRefused(2, staged, "dev");
  }
});

function replacingAfterLink(target: string, replace: () => Promise<void>): Disk {
  let done = false;
  return watchedDisk(new NodeDisk({ durability: "none" }), {
    after: async ({ verb }) => {
      if (verb !== "link" || done) return;
      if (await succeeds(access(target))) {
        done = true;
        await replace();
      }
    },
  });
}
