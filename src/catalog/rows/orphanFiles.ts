/**
 * Removes data files to which no version of the catalog refers. A writer that died before publishing its rows
 * left them, or a power cut brought them back.
 *
 * Such a file may also belong to a writer that is about to publish it. That writer has read the version that
 * was the latest when it began, and publishes under the next number or not at all. So a file that is older
 * than the current latest version is never published, because its number exists.
 */

import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { LockLease } from "../../io/disk/locks.js";
import { join } from "../../platform/native.js";
import { ReferencedFiles } from "../../table/cleanup/referencedFiles.js";
import { readManifestFile } from "../../table/versions/manifest.js";
import { dataDirectory } from "../../table/versions/paths.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { versionEntry } from "../../table/versions/versions.js";

/** Maximum difference in nanoseconds between the clocks of machines whose file systems date files. */
const MARGIN_NS = 3_600_000_000_000n;
/** Complete data files, and those that the reference has not finished. */
const DATA_FILE = /\.lance$|^\.tmp/;

/**
 * Removes data files that belong to nobody. Costs little if there are none.
 * @param latest version that was just committed
 * @param firstWhole oldest version that has its files
 */
export async function removeOrphans(
  latest: OpenVersion,
  firstWhole: number,
  lease: LockLease,
): Promise<void> {
  const { disk, root } = latest.table;
  const directory = dataDirectory(root);
  const entries = (await disk.list(directory)) ?? [];
  const names = entries.filter(({ name, kind }) => kind === "file" && DATA_FILE.test(name));
  // Few versions have more than one data file, so fewer files than versions means no orphans.
  if (names.length <= latest.version - firstWhole + 1) return;
  const published = await disk.stat(latest.path);
  if (published === null) return;
  const old: string[] = [];
  for (const { name } of names) {
    const stat = await disk.stat(join(directory, name));
    if (stat !== null && stat.modifiedNs + MARGIN_NS < published.modifiedNs) old.push(name);
  }
  if (old.length === 0) return;
  const needed = await referencedSince(latest, firstWhole);
  for (const name of old) {
    if (needed === null || needed.data.has(name)) continue;
    await lease.confirm();
    await disk.remove(join(directory, name));
  }
}

/** Returns the files that versions from `first` on refer to; null if one of them does not tell. */
async function referencedSince(latest: OpenVersion, first: number): Promise<ReferencedFiles | null> {
  const { disk, root } = latest.table;
  const needed = new ReferencedFiles();
  needed.add(latest.file);
  for (let version = first; version < latest.version; version++) {
    try {
      const file = await readManifestFile(disk, versionEntry(root, version, latest.scheme).path);
      if (file === null) return null;
      needed.add(file);
    } catch (error) {
      if (error instanceof CorruptFileError || error instanceof UnsupportedError) return null;
      throw error;
    }
  }
  return needed;
}
