/** Finds where data files store the leaves of a plan. */

import { CorruptFileError, UnsupportedError } from "../errors.js";
import { countedByRows, type DataFileMetadata, type DataPage } from "../file/container/reader.js";
import { columnsByRows, type LeafColumns } from "../file/v20/rowColumns.js";
import type { Arena } from "../io/memory/arena.js";
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
  /**
   * Holds the content of small files; the reader releases it after the rows. Absent if files outlive the
   * reading.
   */
  readonly arena?: Arena | undefined;
}

/**
 * Opens the files that hold the leaves. Several files may hold different columns of the same rows.
 * @throws UnsupportedError for blobs of a type that is not supported, and for fixed-size lists of structs in
 *   files of 2.0; CorruptFileError
 */
export async function openColumns(
  files: readonly FieldPlaces[],
  leaves: readonly ReadLeaf[],
): Promise<OpenColumns> {
  const wanted = placesOf(files, leaves);
  const open =
    wanted.length === 1
      ? [await files[wanted[0].fileIndex].open()]
      : await Promise.all(wanted.map(({ fileIndex }) => files[fileIndex].open()));
  const opened: (StoredColumn | null)[] = leaves.map(() => null);
  for (const [index, { leaves: own, places }] of wanted.entries()) {
    const file = open[index];
    for (const [position, { columnIndex }] of places.entries()) {
      if (file.columns[columnIndex] !== undefined) continue;
      const reason = `has no column ${columnIndex} for ${leaves[own[position]].path}`;
      throw new CorruptFileError(file.path, 0, reason);
    }
    const columns = columnsOf(file, places);
    for (const [position, leaf] of own.entries()) opened[leaf] = columns[position];
  }
  return opened;
}

/** As which of the columns of its file a leaf is stored. */
interface LeafPlace extends LeafColumns {
  /** Values that its pages count per row. */
  readonly valuesPerRow: number;
}

/** The leaves that one of the files has. */
interface FileLeaves {
  readonly fileIndex: number;
  /** Indexes of the leaves. */
  readonly leaves: number[];
  /** Where each of them is. */
  readonly places: LeafPlace[];
}

/** What was found last for some leaves: most fragments of a table have files with the same fields. */
const lastPlaces = new WeakMap<
  readonly ReadLeaf[],
  {
    readonly files: readonly Pick<FieldPlaces, "fieldIds" | "columnIndexes">[];
    readonly places: readonly FileLeaves[];
  }
>();

/** The files that have some of the leaves. */
function placesOf(files: readonly FieldPlaces[], leaves: readonly ReadLeaf[]): readonly FileLeaves[] {
  const last = lastPlaces.get(leaves);
  const isSame =
    last?.files.length === files.length &&
    files.every(
      ({ fieldIds, columnIndexes }, index) =>
        isEqual(fieldIds, last.files[index].fieldIds) &&
        isEqual(columnIndexes, last.files[index].columnIndexes),
    );
  if (last !== undefined && isSame) return last.places;
  const places = findPlaces(files, leaves);
  const kept = files.map(({ fieldIds, columnIndexes }) => ({ fieldIds, columnIndexes }));
  lastPlaces.set(leaves, { files: kept, places });
  return places;
}

function isEqual(one: readonly number[], other: readonly number[]): boolean {
  if (one === other) return true;
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false;
  return true;
}

function findPlaces(files: readonly FieldPlaces[], leaves: readonly ReadLeaf[]): FileLeaves[] {
  const places = new Map<number, { fileIndex: number; columnIndex: number }>();
  for (const [fileIndex, file] of files.entries()) {
    for (const [index, fieldId] of file.fieldIds.entries()) {
      places.set(fieldId, { fileIndex, columnIndex: file.columnIndexes[index] ?? -1 });
    }
  }
  const wanted = new Map<number, FileLeaves>();
  for (const [index, leaf] of leaves.entries()) {
    if (leaf.specialStorage !== null) {
      throw new UnsupportedError(
        `column ${leaf.path}: ${leaf.specialStorage} are not supported by this release`,
      );
    }
    const place = places.get(leaf.fieldId);
    if (place === undefined) {
      if (leaf.valuesPerRow > 1 && leaf.listFieldIds.some((id) => places.has(id))) {
        throw new UnsupportedError(
          `column ${leaf.path}: fixed-size lists of structs in files of version 2.0 are not supported`,
        );
      }
      continue;
    }
    const { fileIndex, columnIndex } = place;
    const listColumnIndexes = leaf.listFieldIds.map((id) => {
      const list = places.get(id);
      return list?.fileIndex === fileIndex ? list.columnIndex : -1;
    });
    const own = wanted.get(fileIndex) ?? { fileIndex, leaves: [], places: [] };
    own.leaves.push(index);
    own.places.push({ columnIndex, listColumnIndexes, valuesPerRow: leaf.valuesPerRow });
    wanted.set(fileIndex, own);
  }
  return [...wanted.values()];
}

/**
 * The columns of a file that belongs to no table, such as one of an index: those of the schema in the file
 * itself.
 * @throws CorruptFileError where the file has not the columns of its schema
 */
export function columnsOfFile(file: DataFileMetadata): {
  readonly fields: readonly TableField[];
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

/** A file's columns for some leaves, in the order of the leaves, as pages of whole rows. */
function columnsOf(file: DataFileMetadata, leaves: readonly LeafPlace[]): StoredColumn[] {
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
