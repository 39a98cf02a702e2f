/** A version's fragments as a source of rows. It resolves the files that the manifest names. */

import { lazyModule } from "../../async/lazy.js";
import type { WorkerPool } from "../../async/workerPool.js";
import { isReadableVersion, unsupportedFileVersion } from "../../file/container/container.js";
import type { DataFileMetadata } from "../../file/container/reader.js";
import type { Arena } from "../../io/memory/arena.js";
import type { LruCache } from "../../io/memory/cache.js";
import type { KeptDeletions } from "../../table/fragments/deletions.js";
import { resolveDataFile } from "../../table/fragments/fileLookup.js";
import type { SeenFiles } from "../../table/versions/manifest.js";
import type { OpenVersion, TableEnvironment } from "../../table/versions/tableAt.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import type { IndexEnvironment } from "./tableIndexes.js";

/** The first fragment with deleted rows loads this module. */
const deletions = lazyModule(() => import("../../table/fragments/deletions.js"));

/** Dependencies of table readers. */
export interface ReaderEnvironment
  extends TableEnvironment,
    Pick<IndexEnvironment, "openIndexes" | "indexParts" | "noteUnread">,
    Pick<FragmentSource, "handles" | "chunkMaps" | "pageChecks" | "rowBlocks" | "scratch" | "sketches"> {
  /**
   * Returns the metadata of a data file through the cache.
   * @param isScanned true if most of the file will be read
   * @param version that names the file; a read of few rows checks the file once per version
   */
  openDataFile(
    path: string,
    isScanned?: boolean,
    version?: SeenFiles,
  ): DataFileMetadata | Promise<DataFileMetadata>;
  /**
   * Reads metadata like `openDataFile`, for files that are read once and not cached.
   * @param arena may hold the content of a small scanned file
   */
  openDataFileOnce(path: string, isScanned?: boolean, arena?: Arena): Promise<DataFileMetadata>;
  /** Deleted rows by file path; absent to read them each time. */
  readonly deletions?: LruCache<KeptDeletions>;
  /** Threads for long work; absent to work inline. */
  readonly workers?: WorkerPool;
}

/**
 * Opens a version as a source.
 * @param isReadOnce true if the fragments are about to be removed: caches then keep none of their files
 * @throws UnsupportedError for a data format version that this release cannot read
 */
export function versionSource(
  { table, file }: Pick<OpenVersion<ReaderEnvironment>, "table" | "file">,
  isReadOnce = false,
): FragmentSource {
  const { dataFormat, fragments } = file.manifest;
  const version = dataFormat?.version;
  if (version !== undefined && fragments.length > 0 && !isReadableVersion(version)) {
    throw unsupportedFileVersion(version, file.path);
  }
  const readers = table.environment;
  const { handles, chunkMaps, pageChecks, rowBlocks, scratch, workers, sketches } = readers;
  return {
    handles,
    chunkMaps,
    pageChecks,
    scratch,
    ...(workers !== undefined && { workers }),
    ...(rowBlocks !== undefined && !isReadOnce && { rowBlocks }),
    ...(sketches !== undefined && { sketches }),
    openDataFile: (path, isScanned, arena) =>
      isReadOnce
        ? readers.openDataFileOnce(path, isScanned, arena)
        : readers.openDataFile(path, isScanned, file),
    resolve: (dataFile) => resolveDataFile(table, file.manifest, dataFile),
    async readDeletions(fragment) {
      if (fragment.deletionFile === undefined) return null;
      const { readDeletions, readKeptDeletions } = deletions.current ?? (await deletions.get());
      return readers.deletions === undefined || isReadOnce
        ? readDeletions(table, file.manifest, fragment)
        : readKeptDeletions(table, file.manifest, fragment, readers.deletions);
    },
  };
}
