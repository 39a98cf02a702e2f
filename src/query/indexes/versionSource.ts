/** A version's fragments as a source of rows: finds the files that its manifest names. */

import type { WorkerPool } from "../../async/workerPool.js";
import { isReadableVersion, unsupportedFileVersion } from "../../file/container/container.js";
import { readDeletions } from "../../table/fragments/deletions.js";
import { resolveDataFile } from "../../table/fragments/fileLookup.js";
import type { OpenVersion, TableEnvironment } from "../../table/versions/tableAt.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import type { IndexEnvironment } from "./tableIndexes.js";

/** The dependencies of what reads rows of tables. */
export interface ReaderEnvironment
  extends TableEnvironment,
    Pick<IndexEnvironment, "openIndexes" | "indexParts">,
    Pick<FragmentSource, "handles" | "chunkMaps" | "scratch" | "openDataFile" | "sketches"> {
  /** The same as `openDataFile`, for files that are read once and not kept in memory. */
  readonly openDataFileOnce: FragmentSource["openDataFile"];
  /** Threads for long work; absent where it is done in line. */
  readonly workers?: WorkerPool;
}

/**
 * @param isReadOnce whether the fragments are about to be removed: their files are then not kept in memory
 * @throws UnsupportedError for a table of a data format version that is not read
 */
export function versionSource(
  { at, file }: Pick<OpenVersion<ReaderEnvironment>, "at" | "file">,
  isReadOnce = false,
): FragmentSource {
  const version = file.manifest.dataFormat?.version;
  if (version !== undefined && !isReadableVersion(version)) throw unsupportedFileVersion(version, file.path);
  const readers = at.environment;
  return {
    handles: readers.handles,
    chunkMaps: readers.chunkMaps,
    scratch: readers.scratch,
    ...(readers.workers !== undefined && { workers: readers.workers }),
    ...(readers.sketches !== undefined && { sketches: readers.sketches }),
    openDataFile: isReadOnce ? readers.openDataFileOnce : readers.openDataFile,
    resolve: (dataFile) => resolveDataFile(at, file.manifest, dataFile),
    readDeletions: (fragment) => readDeletions(at, file.manifest, fragment),
  };
}
