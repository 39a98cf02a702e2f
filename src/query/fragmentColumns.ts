/** Finds where a fragment stores the columns of a query, and opens the files they are read from. */

import { CorruptFileError, UnsupportedError } from "../errors.js";
import { countedByRows, type DataFile, type DataPage } from "../file/container/reader.js";
import type { PageSource } from "../file/pages/pageRows.js";
import { columnsByRows, type LeafColumns } from "../file/v20/rowColumns.js";
import type { DataFragment } from "../format/table.js";
import type { ProjectedColumn } from "./projection.js";

/** Gives access to the files of a version's fragments. */
export interface FragmentSource extends PageSource {
  /**
   * The metadata of a data file of a fragment; cached.
   * @param isScanned whether most of the file will be read
   */
  openDataFile(path: string, isScanned?: boolean): Promise<DataFile>;
  /** Absolute path of a file that a manifest names. */
  resolve(file: DataFragment["files"][number]): string | Promise<string>;
  /** Sorted physical offsets of the rows deleted from a fragment, or null if there are none. */
  readDeletions(fragment: DataFragment): Promise<Uint32Array | null>;
}

/** A physical column of an open file. */
export interface StoredColumn {
  readonly file: DataFile;
  readonly columnIndex: number;
  readonly pages: readonly DataPage[];
}

/**
 * The place of each column in the fragment, or null if the fragment lacks the column: all its values are then null.
 * @param isScanned whether most of the fragment will be read
 * @throws UnsupportedError for blobs of a type that is not supported, and for fixed-size lists of structs in files of
 *   2.0
 */
export async function openColumns(
  source: FragmentSource,
  fragment: DataFragment,
  columns: readonly ProjectedColumn[],
  isScanned = false,
): Promise<(StoredColumn | null)[]> {
  const places = new Map<number, { file: DataFragment["files"][number]; columnIndex: number }>();
  for (const file of fragment.files) {
    for (const [index, fieldId] of file.fields.entries()) {
      places.set(fieldId, { file, columnIndex: file.columnIndices[index] ?? -1 });
    }
  }
  const opening = new Map<DataFragment["files"][number], Promise<DataFile>>();
  const openFile = async (file: DataFragment["files"][number]): Promise<DataFile> =>
    source.openDataFile(await source.resolve(file), isScanned);
  const open = (file: DataFragment["files"][number]): Promise<DataFile> => {
    let opened = opening.get(file);
    if (opened === undefined) {
      opened = openFile(file);
      opening.set(file, opened);
    }
    return opened;
  };
  const stored = await Promise.all(
    columns.map(async (column) => {
      if (column.specialStorage !== null) {
        throw new UnsupportedError(
          `column ${column.path}: ${column.specialStorage} are not supported by this release`,
        );
      }
      const place = places.get(column.fieldId);
      if (place === undefined) {
        if (column.valuesPerRow > 1 && column.listFieldIds.some((id) => places.has(id))) {
          throw new UnsupportedError(
            `column ${column.path}: fixed-size lists of structs in files of version 2.0 are not supported`,
          );
        }
        return null;
      }
      const file = await open(place.file);
      if (file.rowCount !== fragment.physicalRows) {
        throw new CorruptFileError(
          file.path,
          0,
          `holds ${file.rowCount} rows, its manifest says ${fragment.physicalRows}`,
        );
      }
      if (file.columns[place.columnIndex] === undefined) {
        throw new CorruptFileError(file.path, 0, `has no column ${place.columnIndex} for ${column.path}`);
      }
      const listColumnIndexes = column.listFieldIds.map((id) => {
        const list = places.get(id);
        return list?.file === place.file ? list.columnIndex : -1;
      });
      const { valuesPerRow } = column;
      return { file, columnIndex: place.columnIndex, listColumnIndexes, valuesPerRow };
    }),
  );
  const opened: (StoredColumn | null)[] = stored.map(() => null);
  for (const file of new Set(stored.flatMap((leaf) => leaf?.file ?? []))) {
    const indexes = [...stored.keys()].filter((index) => stored[index]?.file === file);
    const columnsOfFile = columnsOf(
      file,
      indexes.flatMap((index) => stored[index] ?? []),
    );
    for (const [position, index] of indexes.entries()) opened[index] = columnsOfFile[position];
  }
  return opened;
}

/** Where a file stores a leaf, and what its pages count. */
interface StoredLeaf extends LeafColumns {
  readonly valuesPerRow: number;
}

/** A file's columns for some leaves, in the order of the leaves, as pages of whole rows. */
function columnsOf(file: DataFile, leaves: readonly StoredLeaf[]): StoredColumn[] {
  if (file.version !== "2.0") {
    const rows = countedByRows(file, leaves);
    return leaves.map(({ columnIndex }) => ({
      file: rows,
      columnIndex,
      pages: rows.columns[columnIndex].pages,
    }));
  }
  const rows = columnsByRows(file, leaves);
  return rows.columns.map(({ pages }, columnIndex) => ({ file: rows, columnIndex, pages }));
}
