import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { IndexMetadata } from "../../src/format/table.js";
import { Transaction } from "../../src/format/table.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { newTransaction } from "../../src/table/commit/transaction.js";
import { findLatestVersion } from "../../src/table/versions/latestVersion.js";
import { ManifestCache } from "../../src/table/versions/manifestCache.js";
import { encodeManifestFile } from "../../src/table/versions/manifestEncoder.js";
import { manifestName, versionsDirectory } from "../../src/table/versions/paths.js";
import { encodeIndexSection, indicesOf } from "../../src/table/versions/versionContent.js";

/** Commits a version with the latest rows and a changed list of indexes, which no engine writes. */
export async function changeIndexes(
  tableRoot: string,
  change: (indices: readonly IndexMetadata[]) => readonly IndexMetadata[] | Promise<readonly IndexMetadata[]>,
): Promise<void> {
  const disk = new NodeDisk({ durability: "none" });
  const latest = await findLatestVersion({ disk, root: tableRoot });
  const file = latest && (await new ManifestCache(2 ** 20).read(disk, latest.path));
  if (latest === null || file === null) throw new Error(`no table at ${tableRoot}`);
  const version = latest.version + 1;
  const indices = await change(indicesOf(file));
  const transaction = newTransaction(latest.version, "createIndex", {
    newIndices: [...indices],
    removedIndices: [],
  });
  const { chunks } = encodeManifestFile({
    manifest: { ...file.manifest, version },
    indexSectionBytes: encodeIndexSection(indices),
    transactionBytes: Transaction.encode(transaction),
  });
  await writeFile(join(versionsDirectory(tableRoot), manifestName(version, "V2")), Buffer.concat(chunks));
}
