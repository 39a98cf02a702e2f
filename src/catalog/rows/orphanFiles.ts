/**
 * Data files that no version of the catalog refers to. A writer that died between writing its rows and
 * publishing them left them behind, or a power cut brought them back.
 *
 * Such a file may also belong to a writer that is about to publish it. That writer has read the version that
 * was the latest when it began, and publishes under the next number or not at all. So a file that is older
 * than the version that is now the latest will never be published: the number it was written for is taken.
 */

import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { LockLease } from "../../io/lock/lease.js";
import { join } from "../../platform/native.js";
import { ReferencedFiles } from "../../table/cleanup/referencedFiles.js";
import { readManifestFile } from "../../table/versions/manifest.js";
import { dataDirectory } from "../../table/versions/paths.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { versionEntry } from "../../table/versions/versions.js";

/** The clocks by which the file systems of several machines date their files differ by less than this. */
const MARGIN_NS = 3_600_000_000_000n;
/** Files that are written as a whole, and those that the reference has not finished. */
const DATA_FILE = /\.lance$|^\.tmp/;

/**
 * Removes data files that belong to nobody. Costs little where there are none.
 * @param latest the version that was just committed
 * @param firstWhole the oldest version that has its files
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
  // Few versions have more than one data file, and none is stray where there are no more files than versions.
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

/** The files that versions refer to, from `first` on; null where one of them does not tell. */
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
