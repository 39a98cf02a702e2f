/**
 * Completes the manifests of old tables. Lance before 0.8 omitted the row counts of fragments and of their
 * deleted rows, or miscounted them. Lance before 0.16 did not name the version of the data files, and 0.16
 * sometimes named 0.1 for files of 2.0. This module reads the missing facts from the files.
 */

import { mapParallel } from "../../async/parallel.js";
import { CorruptFileError } from "../../errors.js";
import { isLegacyVersion } from "../../file/container/legacyFile.js";
import { readRowCount } from "../../file/container/rowCount.js";
import {
  DATA_FILE_FORMAT,
  type DataFile,
  DataFormat,
  type DataFragment,
  type Manifest,
} from "../../format/table.js";
import type { Disk } from "../../io/disk/disk.js";
import { hasV2Flag } from "../versions/flags.js";
import type { VersionsAt } from "../versions/versions.js";
import { readDeletions } from "./deletions.js";
import { resolveDataFile } from "./fileLookup.js";

/** Maximum number of fragments whose files are read concurrently. */
const PARALLELISM = 16;
const LEGACY_VERSION = "0.1";

/**
 * Returns a manifest with row counts, counts of deleted rows, and the version of the data files.
 * @param root directory of the table or branch
 * @throws CorruptFileError for a missing or damaged file, UnsupportedError for a data file of an unknown
 *   version
 */
export async function completeManifest(disk: Disk, root: string, manifest: Manifest): Promise<Manifest> {
  const version = { disk, root, manifest };
  const fragments = await mapParallel(manifest.fragments, PARALLELISM, (fragment) =>
    completeFragment(version, fragment),
  );
  return { ...manifest, fragments, dataFormat: dataFormatOf(manifest) };
}

interface OldVersion extends VersionsAt {
  readonly manifest: Manifest;
}

async function completeFragment(version: OldVersion, stored: DataFragment): Promise<DataFragment> {
  const { manifest } = version;
  // Releases that did not name themselves sometimes miscounted rows.
  const isTrusted = manifest.writerVersion !== undefined;
  const isCounted = isTrusted && stored.physicalRows > 0;
  const { deletionFile } = stored;
  if (isCounted && (deletionFile === undefined || deletionFile.numDeletedRows > 0)) return stored;
  const fragment = isCounted ? stored : { ...stored, physicalRows: await rowsOf(version, stored) };
  if (deletionFile === undefined) return fragment;
  const uncounted = { ...deletionFile, numDeletedRows: isTrusted ? deletionFile.numDeletedRows : 0 };
  const deleted = await readDeletions(version, manifest, { ...fragment, deletionFile: uncounted });
  return { ...fragment, deletionFile: { ...deletionFile, numDeletedRows: deleted?.length ?? 0 } };
}

/** Counts the rows of a fragment, deleted ones included; all its files must agree. */
async function rowsOf(version: OldVersion, { files }: DataFragment): Promise<number> {
  if (files.length === 0) return 0;
  const path = await resolveDataFile(version, version.manifest, files[0]);
  const handle = await version.disk.open(path);
  if (handle === null) throw new CorruptFileError(path, 0, "the data file is missing");
  try {
    return await readRowCount(handle, path);
  } finally {
    await handle.close();
  }
}

/** Returns the data format that a manifest names; else the oldest one of its files. */
function dataFormatOf(manifest: Manifest): DataFormat {
  const { dataFormat, fragments } = manifest;
  if (dataFormat !== undefined && dataFormat.version !== LEGACY_VERSION) return dataFormat;
  const versions = fragments.flatMap(({ files }) => files.map(versionOf));
  const oldest = versions.reduce((one, candidate) => (candidate < one ? candidate : one), versions[0]);
  const version = oldest ?? (dataFormat === undefined && hasV2Flag(manifest) ? "2.0" : LEGACY_VERSION);
  return DataFormat.create({ fileFormat: DATA_FILE_FORMAT, version });
}

function versionOf({ fileMajorVersion: major, fileMinorVersion: minor }: DataFile): string {
  if (isLegacyVersion(major, minor)) return LEGACY_VERSION;
  return major === 0 ? "2.0" : `${major}.${minor}`;
}
