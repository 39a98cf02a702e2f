/** A version's fragments as a source of rows: finds the files that its manifest names. */

import { isReadableVersion, unsupportedFileVersion } from "../file/container/container.js";
import type { Disk } from "../io/disk/disk.js";
import { readDeletions } from "../table/fragments/deletions.js";
import { resolveDataFile } from "../table/fragments/fileLookup.js";
import type { ManifestFile } from "../table/versions/manifest.js";
import type { FragmentSource } from "./fragmentColumns.js";

/** The means to read files of any table. */
export interface FileReaders
  extends Pick<FragmentSource, "handles" | "chunkMaps" | "scratch" | "openDataFile"> {
  readonly disk: Disk;
  /** The same as `openDataFile`, for files that are read once and not kept in memory. */
  readonly openDataFileOnce: FragmentSource["openDataFile"];
}

/**
 * @param tableRoot directory of the table or branch
 * @param isReadOnce whether the fragments are about to be removed: their files are then not kept in memory
 * @throws UnsupportedError for a table of a data format version that is not read
 */
export function versionSource(
  readers: FileReaders,
  tableRoot: string,
  file: ManifestFile,
  isReadOnce = false,
): FragmentSource {
  const version = file.manifest.dataFormat?.version;
  if (version !== undefined && !isReadableVersion(version)) throw unsupportedFileVersion(version, file.path);
  return {
    handles: readers.handles,
    chunkMaps: readers.chunkMaps,
    scratch: readers.scratch,
    openDataFile: isReadOnce ? readers.openDataFileOnce : readers.openDataFile,
    resolve: (dataFile) => resolveDataFile(readers.disk, tableRoot, file.manifest, dataFile),
    readDeletions: (fragment) => readDeletions(readers.disk, tableRoot, file.manifest, fragment),
  };
}
