/** Finds where data files store the leaves of a plan. */

import { CorruptFileError, UnsupportedError } from "../errors.js";
import { countedByRows, type DataFileMetadata, type DataPage } from "../file/container/reader.js";
import { columnsByRows, type LeafColumns } from "../file/v20/rowColumns.js";
import { columnFields, decodeSchema, type TableField } from "../schema/schema.js";
import type { ReadLeaf } from "./leafPlan.js";

/** A data file, and the fields whose columns are read from it. Its schema need not be that of a table. */
export interface FieldPlaces {
  /** Ids of the fields. */
  readonly fieldIds: readonly number[];
  /** The column of the file that holds each field. */
  readonly columnIndexes: readonly number[];
  /** Called at most once, and only if a column is read from the file. */
  open(): Promise<DataFileMetadata>;
}

/** A column of an open file, as pages of whole rows. */
export interface StoredColumn {
  readonly file: DataFileMetadata;
  readonly columnIndex: number;
  readonly pages: readonly DataPage[];
}

/** Where each leaf of a plan is stored; null for a leaf that no file has, all whose values are then null. */
export type OpenColumns = readonly (StoredColumn | null)[];

/** Rows to read of open columns: all from `start` to `end - 1`, except those skipped. */
export interface RowSpan {
  readonly stored: OpenColumns;
  readonly start: number;
  readonly end: number;
  /** Sorted positions; null for none. */
  readonly skipped: Uint32Array | null;
}

/**
 * Opens the files that hold the leaves. Several files may hold different columns of the same rows.
 * @throws UnsupportedError for blobs of a type that is not supported, and for fixed-size lists of structs in files of
 *   2.0; CorruptFileError
 */
export async function openColumns(
  files: readonly FieldPlaces[],
  leaves: readonly ReadLeaf[],
): Promise<OpenColumns> {
  const places = new Map<number, { file: FieldPlaces; columnIndex: number }>();
  for (const file of files) {
    for (const [index, fieldId] of file.fieldIds.entries()) {
      places.set(fieldId, { file, columnIndex: file.columnIndexes[index] ?? -1 });
    }
  }
  const wanted = new Set<FieldPlaces>();
  for (const leaf of leaves) {
    if (leaf.specialStorage !== null) {
      throw new UnsupportedError(
        `column ${leaf.path}: ${leaf.specialStorage} are not supported by this release`,
      );
    }
    const place = places.get(leaf.fieldId);
    if (place !== undefined) wanted.add(place.file);
    else if (leaf.valuesPerRow > 1 && leaf.listFieldIds.some((id) => places.has(id))) {
      throw new UnsupportedError(
        `column ${leaf.path}: fixed-size lists of structs in files of version 2.0 are not supported`,
      );
    }
  }
  const open = new Map<FieldPlaces, DataFileMetadata>();
  const openOne = async (file: FieldPlaces): Promise<void> => {
    open.set(file, await file.open());
  };
  const [only] = wanted;
  if (wanted.size === 1) await openOne(only);
  else await Promise.all(Array.from(wanted, openOne));
  const stored = leaves.map((leaf): StoredLeaf | null => {
    const place = places.get(leaf.fieldId);
    const file = place && open.get(place.file);
    if (place === undefined || file === undefined) return null;
    if (file.columns[place.columnIndex] === undefined) {
      throw new CorruptFileError(file.path, 0, `has no column ${place.columnIndex} for ${leaf.path}`);
    }
    const listColumnIndexes = leaf.listFieldIds.map((id) => {
      const list = places.get(id);
      return list?.file === place.file ? list.columnIndex : -1;
    });
    const { valuesPerRow } = leaf;
    return { file, columnIndex: place.columnIndex, listColumnIndexes, valuesPerRow };
  });
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

/**
 * The columns of a file that belongs to no table, such as one of an index: those of the schema in the file itself.
 * @throws CorruptFileError where the file has not the columns of its schema
 */
export function columnsOfFile(file: DataFileMetadata): {
  readonly fields: TableField[];
  readonly file: FieldPlaces;
} {
  const fields = decodeSchema(file.descriptor.schema?.fields ?? [], file.path);
  const listed = columnFields(fields, file.version);
  if (listed.length !== file.columns.length) {
    const reason = `${file.columns.length} columns for a schema with ${listed.length}`;
    throw new CorruptFileError(file.path, 0, reason);
  }
  return {
    fields,
    file: {
      fieldIds: listed.map(({ id }) => id),
      columnIndexes: [...listed.keys()],
      open: async () => file,
    },
  };
}

/** A leaf in an open file. */
interface StoredLeaf extends LeafColumns {
  readonly file: DataFileMetadata;
  /** Values that its pages count per row. */
  readonly valuesPerRow: number;
}

/** A file's columns for some leaves, in the order of the leaves, as pages of whole rows. */
function columnsOf(file: DataFileMetadata, leaves: readonly StoredLeaf[]): StoredColumn[] {
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
