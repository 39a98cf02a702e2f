/** Finds where data files store the leaves of a plan. */

import { isPending } from "../async/pending.js";
import { CorruptFileError, UnsupportedError } from "../errors.js";
import { countedByRows, type DataFileMetadata, type DataPage } from "../file/container/reader.js";
import { arrayDecoder, legacyDecoder, loadVersion } from "../file/pages/decoders.js";
import type { LeafColumns } from "../file/v20/rowColumns.js";
import type { Arena } from "../io/memory/arena.js";
import { LatestValues } from "../io/memory/latestValues.js";
import { columnFields, decodeSchema, type TableField } from "../schema/schema.js";
import { loadConversions, type ReadLeaf } from "./leafPlan.js";

/** A data file, and the fields to read from it. Its schema need not be that of a table. */
export interface FieldPlaces {
  /** Ids of the fields. */
  readonly fieldIds: readonly number[];
  /** The column of the file that holds each field. */
  readonly columnIndexes: readonly number[];
  /** Called at most once, and only if a column is read from the file. */
  open(): DataFileMetadata | Promise<DataFileMetadata>;
}

/** A column of an open file, as pages of whole rows. */
export interface StoredColumn {
  readonly file: DataFileMetadata;
  readonly columnIndex: number;
  readonly pages: readonly DataPage[];
}

/** The stored column of each leaf of a plan; null for a leaf that no file has, whose values are all null. */
export type OpenColumns = readonly (StoredColumn | null)[];

/** Rows to read: all from `start` to `end - 1`, except the skipped ones. */
export interface RowSpan {
  readonly stored: OpenColumns;
  readonly start: number;
  readonly end: number;
  /** Sorted positions; null for none. */
  readonly skipped: Uint32Array | null;
  /** Holds the content of small files until the reader is done. Absent if the files outlive it. */
  readonly arena?: Arena | undefined;
}

/**
 * Opens the files that hold the leaves. Several files may hold different columns of the same rows.
 * @throws UnsupportedError for blobs of an unsupported type, and for fixed-size lists of structs in files of
 *   2.0; CorruptFileError
 */
export async function openColumns(
  files: readonly FieldPlaces[],
  leaves: readonly ReadLeaf[],
): Promise<OpenColumns> {
  const wanted = placesOf(files, leaves);
  const openAt = ({ fileIndex }: (typeof wanted)[number]) => files[fileIndex].open();
  const first = wanted.length === 1 ? openAt(wanted[0]) : null;
  // One file in memory needs no promise. Several are awaited together, so that no failure goes unnoticed.
  const open =
    first === null
      ? await Promise.all(wanted.map(async (each) => openAt(each)))
      : [isPending(first) ? await first : first];
  const conversions = loadConversions(leaves);
  if (conversions !== null) await conversions;
  const opened: (StoredColumn | null)[] = leaves.map(() => null);
  for (const [index, { leaves: leafIndexes, places }] of wanted.entries()) {
    const file = open[index];
    for (const [position, { columnIndex }] of places.entries()) {
      if (file.columns[columnIndex] !== undefined) continue;
      const reason = `has no column ${columnIndex} for ${leaves[leafIndexes[position]].path}`;
      throw new CorruptFileError(file.path, 0, reason);
    }
    const loading = loadVersion(file);
    if (loading !== null) await loading;
    const columns = columnsOf(file, places);
    for (const [position, leaf] of leafIndexes.entries()) opened[leaf] = columns[position];
  }
  return opened;
}

/** Columns of a file that store a leaf. */
interface LeafPlace extends LeafColumns {
  /** Number of values per row that its pages count. */
  readonly valuesPerRow: number;
  readonly leaf: ReadLeaf;
}

/** Leaves that one of the files has. */
interface FileLeaves {
  readonly fileIndex: number;
  /** Indexes of the leaves in the plan. */
  readonly leaves: number[];
  /** Columns of each leaf. */
  readonly places: LeafPlace[];
}

/** The files that have the leaves of a plan. */
interface LocatedLeaves {
  readonly files: readonly Pick<FieldPlaces, "fieldIds" | "columnIndexes">[];
  readonly places: readonly FileLeaves[];
}

/** The latest result for the leaves of a plan: most fragments of a table have files with the same fields. */
const lastLocated = new LatestValues<readonly ReadLeaf[], LocatedLeaves>();

/** Returns the files that have some of the leaves. */
function placesOf(files: readonly FieldPlaces[], leaves: readonly ReadLeaf[]): readonly FileLeaves[] {
  const last = lastLocated.get(leaves);
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
  lastLocated.set(leaves, { files: kept, places });
  return places;
}

function isEqual(left: readonly number[], right: readonly number[]): boolean {
  if (left === right) return true;
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false;
  return true;
}

function findPlaces(files: readonly FieldPlaces[], leaves: readonly ReadLeaf[]): FileLeaves[] {
  const places = new Map<number, { fileIndex: number; columnIndex: number }>();
  for (const [fileIndex, file] of files.entries()) {
    for (const [index, fieldId] of file.fieldIds.entries()) {
      // Files of 0.1 number their columns by field ids, and manifests do not repeat them.
      const columnIndex = file.columnIndexes.length === 0 ? fieldId : file.columnIndexes[index];
      places.set(fieldId, { fileIndex, columnIndex: columnIndex ?? -1 });
    }
  }
  const wanted = new Map<number, FileLeaves>();
  for (const [index, leaf] of leaves.entries()) {
    if (leaf.specialStorage !== null) {
      throw new UnsupportedError(
        `column ${leaf.path}: ${leaf.specialStorage} are not supported by this release`,
      );
    }
    const column = places.get(leaf.fieldId);
    if (column === undefined) {
      if (leaf.valuesPerRow > 1 && leaf.listFieldIds.some((id) => places.has(id))) {
        throw new UnsupportedError(
          `column ${leaf.path}: fixed-size lists of structs in files of version 2.0 are not supported`,
        );
      }
      continue;
    }
    const { fileIndex, columnIndex } = column;
    const listColumnIndexes = leaf.listFieldIds.map((id) => {
      const list = places.get(id);
      return list?.fileIndex === fileIndex ? list.columnIndex : -1;
    });
    const fileLeaves = wanted.get(fileIndex) ?? { fileIndex, leaves: [], places: [] };
    fileLeaves.leaves.push(index);
    fileLeaves.places.push({ columnIndex, listColumnIndexes, valuesPerRow: leaf.valuesPerRow, leaf });
    wanted.set(fileIndex, fileLeaves);
  }
  return [...wanted.values()];
}

/**
 * Returns the columns of a file that belongs to no table, such as an index file: those of the schema in the
 * file.
 * @throws CorruptFileError if the file lacks columns of its schema
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
      open: () => file,
    },
  };
}

/** Returns a file's columns for some leaves, in the order of the leaves, as pages of whole rows. */
function columnsOf(file: DataFileMetadata, leaves: readonly LeafPlace[]): StoredColumn[] {
  const { legacy } = file;
  if (legacy !== undefined) {
    const columns = leaves.map(({ leaf }) => ({ pages: legacyDecoder.made.legacyPages(file, legacy, leaf) }));
    const rows = { ...file, columns };
    return columns.map(({ pages }, columnIndex) => ({ file: rows, columnIndex, pages }));
  }
  if (file.version !== "2.0") {
    const rows = countedByRows(file, leaves);
    return leaves.map(({ columnIndex }) => ({
      file: rows,
      columnIndex,
      pages: rows.columns[columnIndex].pages,
    }));
  }
  const rows = arrayDecoder.made.ARRAY_PAGES.columnsByRows(file, leaves);
  return rows.columns.map(({ pages }, columnIndex) => ({ file: rows, columnIndex, pages }));
}
