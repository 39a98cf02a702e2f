/** Makes small tables with the reference, and opens them with the engine. */

import { join } from "node:path";
import { Table, tableFromIPC, tableToIPC } from "apache-arrow";
import type { CreateOptions } from "tiltyard-reference";
import { Manifest, ManifestHead, type Transaction } from "../../src/format/table.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { commitTransaction } from "../../src/table/commit/commit.js";
import type { CommitOptions } from "../../src/table/commit/preparedCommit.js";
import { completeManifest } from "../../src/table/fragments/oldManifests.js";
import { ABSENT, anchorOf, declaredAnchor, type TableAnchor } from "../../src/table/versions/identity.js";
import { findLatestVersion } from "../../src/table/versions/latestVersion.js";
import { ManifestFile } from "../../src/table/versions/manifest.js";
import { ManifestCache } from "../../src/table/versions/manifestCache.js";
import { type OpenVersion, type TableEnvironment, tableAt } from "../../src/table/versions/tableAt.js";
import { versionEntry } from "../../src/table/versions/versions.js";
import { int32s } from "../support/arrowColumns.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

export { ipcOf } from "../support/intRows.js";

export const disk = new NodeDisk({ durability: "none" });

export const openEnvironment = (): TableEnvironment => ({
  disk,
  lock: {},
  manifests: new ManifestCache(2 ** 24, completeManifest),
});

/** Returns the anchor of a change that is planned on the latest version, or on none. */
export async function anchorAt(root: string): Promise<TableAnchor> {
  const entry = await findLatestVersion({ disk, root });
  const file = entry && (await new ManifestCache(2 ** 20, completeManifest).read(disk, entry.path));
  const table = tableAt(openEnvironment(), root);
  if (entry !== null && file !== null) return anchorOf({ ...entry, table, file });
  const stat = await disk.stat(root);
  return stat === null ? ABSENT : declaredAnchor(table);
}

/** Commits a transaction that was planned on the version it names, which may be cleaned up. */
export async function commitPlannedOn(
  environment: TableEnvironment,
  root: string,
  transaction: Transaction,
  options?: CommitOptions,
): Promise<OpenVersion> {
  const table = tableAt(environment, root);
  const latest = await findLatestVersion({ disk, root });
  const entry = versionEntry(root, transaction.readVersion, latest?.scheme ?? "V2");
  const directory = latest?.directory ?? { inode: "0:0", birthNs: 0n, changedNs: 0n };
  const gone = ManifestHead.create({ version: transaction.readVersion });
  const parts = {
    head: gone,
    manifest: Manifest.create({}),
    indexSectionBytes: null,
    transactionBytes: null,
  };
  const file =
    (await new ManifestCache(2 ** 20, completeManifest).read(disk, entry.path)) ??
    new ManifestFile(entry.path, { ...parts, content: [] });
  return commitTransaction({ ...entry, directory, table, file }, transaction, options);
}

export interface ReferenceTable {
  readonly uri: string;
  readonly name: string;
  readonly root: string;
}

export async function makeReferenceTable(
  values: number[],
  options: CreateOptions = {},
): Promise<ReferenceTable> {
  const uri = await makeTempDir();
  await reference.createTable(uri, "t", tableToIPC(new Table({ v: int32s(values) })), options);
  return { uri, name: "t", root: join(uri, "t.lance") };
}

/** Reads the column `v` with the reference. */
export async function valuesOf(table: ReferenceTable, version?: number): Promise<number[]> {
  const rows = tableFromIPC(await reference.readTable(table.uri, table.name, { version }));
  return Array.from((rows.getChild("v")?.toArray() ?? []) as Int32Array);
}

export async function latestFile(root: string): Promise<ManifestFile> {
  const latest = await findLatestVersion({ disk, root });
  const file = latest && (await new ManifestCache(2 ** 20, completeManifest).read(disk, latest.path));
  if (file === null) throw new Error(`no table at ${root}`);
  return file;
}

export function joinChunks(chunks: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(chunks));
}
