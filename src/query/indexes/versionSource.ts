/** A version's fragments as a source of rows: finds the files that its manifest names. */

import type { WorkerPool } from "../../async/workerPool.js";
import { isReadableVersion, unsupportedFileVersion } from "../../file/container/container.js";
import type { DataFileMetadata } from "../../file/container/reader.js";
import type { AllocateTail } from "../../io/disk/disk.js";
import type { LruCache } from "../../io/memory/cache.js";
import { type KeptDeletions, readDeletions, readKeptDeletions } from "../../table/fragments/deletions.js";
import { resolveDataFile } from "../../table/fragments/fileLookup.js";
import type { SeenFiles } from "../../table/versions/manifest.js";
import type { OpenVersion, TableEnvironment } from "../../table/versions/tableAt.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import type { IndexEnvironment } from "./tableIndexes.js";

/** The dependencies of what reads rows of tables. */
export interface ReaderEnvironment
  extends TableEnvironment,
    Pick<IndexEnvironment, "openIndexes" | "indexParts" | "noteUnread">,
    Pick<FragmentSource, "handles" | "chunkMaps" | "pageChecks" | "scratch" | "sketches"> {
  /**
   * The metadata of a data file; cached.
   * @param isScanned whether most of the file will be read
   * @param version that names the file, which is looked at once for each version where few rows are read
   */
  openDataFile(path: string, isScanned?: boolean, version?: SeenFiles): Promise<DataFileMetadata>;
  /**
   * The same as `openDataFile`, for files that are read once and not kept in memory.
   * @param allocate makes memory for the content of one that is small, which may be used or not
   */
  openDataFileOnce(path: string, isScanned?: boolean, allocate?: AllocateTail): Promise<DataFileMetadata>;
  /** Deleted rows of fragments, by the paths of their files; absent where they are read anew each time. */
  readonly deletions?: LruCache<KeptDeletions>;
  /** Threads for long work; absent where it is done in line. */
  readonly workers?: WorkerPool;
}

/** Of fragments that are about to be removed, files are not kept in memory. */
type ReadOnce =
  /** Read in any way. */
  | "once"
  /** Read by transient scans alone: the content of small files lies in memory that is lent until it is taken back. */
  | "transiently";

/**
 * @param readOnce set where the fragments are read once; see {@link ReadOnce}
 * @throws UnsupportedError for a table of a data format version that is not read
 */
export function versionSource(
  { table, file }: Pick<OpenVersion<ReaderEnvironment>, "table" | "file">,
  readOnce?: ReadOnce,
): FragmentSource {
  const { dataFormat, fragments } = file.manifest;
  const version = dataFormat?.version;
  if (version !== undefined && fragments.length > 0 && !isReadableVersion(version)) {
    throw unsupportedFileVersion(version, file.path);
  }
  const readers = table.environment;
  return {
    handles: readers.handles,
    chunkMaps: readers.chunkMaps,
    pageChecks: readers.pageChecks,
    scratch: readers.scratch,
    ...(readers.workers !== undefined && { workers: readers.workers }),
    ...(readers.sketches !== undefined && { sketches: readers.sketches }),
    ...(readOnce === "transiently"
      ? lentFiles(readers)
      : {
          openDataFile: (path, isScanned) =>
            readOnce === undefined
              ? readers.openDataFile(path, isScanned, file)
              : readers.openDataFileOnce(path, isScanned),
        }),
    resolve: (dataFile) => resolveDataFile(table, file.manifest, dataFile),
    readDeletions: (fragment) =>
      readers.deletions === undefined || readOnce !== undefined
        ? readDeletions(table, file.manifest, fragment)
        : readKeptDeletions(table, file.manifest, fragment, readers.deletions),
  };
}

/** Files of which the content of small ones lies in lent memory. */
function lentFiles({
  openDataFileOnce,
  scratch,
}: ReaderEnvironment): Pick<FragmentSource, "openDataFile" | "release"> {
  const lent = new WeakMap<ArrayBufferLike, Uint8Array<ArrayBuffer>>();
  const lend = (byteLength: number): Uint8Array<ArrayBuffer> => {
    const memory = scratch.lend(byteLength);
    lent.set(memory.buffer, memory);
    return memory;
  };
  return {
    openDataFile: (path, isScanned) =>
      openDataFileOnce(path, isScanned, isScanned === true ? lend : undefined),
    release({ content }) {
      const memory = content === null ? undefined : lent.get(content.buffer);
      if (memory === undefined) return;
      lent.delete(memory.buffer);
      scratch.giveBack(memory);
    },
  };
}
