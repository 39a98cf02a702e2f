/** Opens versions: reads their manifests. */

import { CorruptFileError } from "../../errors.js";
import type { ManifestFile } from "./manifest.js";
import type { OpenVersion, TableAt, TableEnvironment } from "./tableAt.js";
import type { FoundVersion, VersionEntry } from "./versions.js";

type ManifestReaders = Pick<TableEnvironment, "disk" | "manifests">;

/**
 * Opens a version that was just found; null if it was cleaned up meanwhile.
 * @throws CorruptFileError if the file holds another version than its name says
 */
export async function openVersion<Environment extends TableEnvironment, Entry extends VersionEntry>(
  table: TableAt<Environment>,
  entry: Entry,
): Promise<(Entry & OpenVersion<Environment>) | null> {
  const file = await readManifestAt(table.environment, entry);
  // The stat is from the search, and is stale when the version is used.
  return file && { ...entry, manifestStat: undefined, table, file };
}

/**
 * Reads the manifest of a version that was just found; null if it was cleaned up meanwhile.
 * @throws CorruptFileError if the file holds another version than its name says
 */
export const readManifestAt = async (
  { disk, manifests }: ManifestReaders,
  entry: FoundVersion,
): Promise<ManifestFile | null> =>
  checkedVersion(await manifests.read(disk, entry.path, entry.manifestStat), entry);

/** Like {@link readManifestAt}, but always from the disk, for the version that a commit is based on. */
export const readManifestAnew = async (
  { disk, manifests }: ManifestReaders,
  entry: VersionEntry,
): Promise<ManifestFile | null> => checkedVersion(await manifests.readAnew(disk, entry.path), entry);

/** Like {@link readManifestAt}, for one look at the transaction and the fields of a version. */
export const readManifestOnce = async (
  { disk, manifests }: ManifestReaders,
  entry: VersionEntry,
): Promise<ManifestFile | null> => checkedVersion(await manifests.readOnce(disk, entry.path), entry);

function checkedVersion(file: ManifestFile | null, entry: VersionEntry): ManifestFile | null {
  if (file !== null && file.head.version !== entry.version) {
    const storedVersion = file.head.version;
    throw new CorruptFileError(entry.path, 0, `it holds version ${storedVersion}, not ${entry.version}`);
  }
  return file;
}
