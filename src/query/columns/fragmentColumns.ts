/** Opens the files in which a fragment stores the columns of a query. */

import type { Lazy } from "../../async/lazy.js";
import { whenReady } from "../../async/pending.js";
import { CorruptFileError } from "../../errors.js";
import type { DataFileMetadata } from "../../file/container/reader.js";
import type { DataFragment } from "../../format/table.js";
import type { SketchStore } from "../../indexes/vector/sketches/sketchStore.js";
import type { Arena } from "../../io/memory/arena.js";
import type { ReadLeaf } from "../../rows/leafPlan.js";
import { type OpenColumns, openColumns } from "../../rows/openColumns.js";
import type { TakeSource } from "../../rows/takeColumns.js";

/** Gives access to the files of a version's fragments. */
export interface FragmentSource extends TakeSource {
  /**
   * Returns the metadata of a data file of a fragment.
   * @param isScanned true if most of the file will be read
   * @param arena may hold the content of a small file; once its owner releases it, the metadata must not be
   *   used
   */
  openDataFile(
    path: string,
    isScanned?: boolean,
    arena?: Arena,
  ): DataFileMetadata | Promise<DataFileMetadata>;
  /** Absolute path of a file that a manifest names. */
  resolve(file: DataFragment["files"][number]): string | Promise<string>;
  /** Sorted physical offsets of the rows deleted from a fragment, or null if there are none. */
  readDeletions(fragment: DataFragment): Promise<Uint32Array | null>;
  /** Sketches of vectors; absent if there are none. */
  readonly sketches?: Lazy<SketchStore>;
}

/**
 * Returns the location of each leaf in the fragment; null for a leaf that the fragment lacks, whose values
 * are all null.
 * @param isScanned true if most of the fragment will be read
 * @param arena may hold the content of small files, until the caller releases it
 * @throws UnsupportedError for blobs of other types, and for fixed-size lists of structs in files of 2.0
 */
export function openFragment(
  source: FragmentSource,
  { files, physicalRows }: DataFragment,
  leaves: readonly ReadLeaf[],
  isScanned = false,
  arena?: Arena,
): Promise<OpenColumns> {
  const checked = (file: DataFileMetadata): DataFileMetadata => {
    if (file.rowCount === physicalRows) return file;
    const reason = `holds ${file.rowCount} rows, its manifest says ${physicalRows}`;
    throw new CorruptFileError(file.path, 0, reason);
  };
  const openAt = (path: string) => whenReady(source.openDataFile(path, isScanned, arena), checked);
  // A file in memory opens without a promise: promises take much of a short query's time.
  const open = (stored: DataFragment["files"][number]) => whenReady(source.resolve(stored), openAt);
  const columnFiles = files.map((stored) => ({
    fieldIds: stored.fields,
    columnIndexes: stored.columnIndices,
    open: () => open(stored),
  }));
  return openColumns(columnFiles, leaves);
}
