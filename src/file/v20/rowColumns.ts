/**
 * Arranges the columns of a 2.0 file by rows. A leaf in lists has its values in one column and the ends of
 * its lists in others. Here they become one column whose pages hold whole rows, as in later versions. Such a
 * page is a page of the outermost lists and the pages of the columns inside that hold parts of it. Pure:
 * reads only metadata.
 */

import { firstIndex } from "../../bytes/search.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import { MAXIMUM_POSITION } from "../compression/variable.js";
import type { BufferChecksums } from "../container/checksums.js";
import type { ArrayPage, NestedArrays } from "../container/page.js";
import type { DataFileMetadata, DataPage } from "../container/reader.js";
import { listOf } from "./nestedArrays.js";

export interface LeafColumns {
  readonly columnIndex: number;
  /** Columns of the lists around it, outermost first. */
  readonly listColumnIndexes: readonly number[];
}

/** A buffer, as its column and its number in that column. */
interface BufferHome {
  readonly columnIndex: number;
  readonly bufferIndex: number;
}

/** A leaf or one of the lists around it, and the start of the items of each page. */
interface NestedColumn {
  readonly columnIndex: number;
  readonly pages: readonly DataPage[];
  /** For lists: items before each page, then items of all pages; null for a leaf. */
  readonly itemStarts: Float64Array | null;
  readonly valueCount: number;
}

/**
 * Maximum values in a page that may take no bytes in the file; the reference cuts pages far below this
 * number. Structs without members have no limit, as they take no memory either.
 */
const MAXIMUM_BYTELESS_VALUES = 2 ** 26;
/** Maximum values of a byte, in any encoding. */
const VALUES_PER_BYTE = 1024;

/**
 * Returns the file with a column for each of the `leaves`, in their order, in place of its own columns.
 * @throws CorruptFileError if the columns of a leaf contradict each other
 */
export function columnsByRows(file: DataFileMetadata, leaves: readonly LeafColumns[]): DataFileMetadata {
  const homes: BufferHome[][] = [];
  const columns = leaves.map((leaf) => {
    const ofColumn: BufferHome[] = [];
    homes.push(ofColumn);
    return { pages: pagesByRows(file, leaf, ofColumn) };
  });
  const { checksums } = file;
  return { ...file, columns, checksums: checksums === null ? null : movedChecksums(checksums, homes) };
}

const movedChecksums = (
  checksums: BufferChecksums,
  homes: readonly (readonly BufferHome[])[],
): BufferChecksums => ({
  verify(columnIndex, bufferIndex, bytes, path, byteOffset) {
    const home = homes[columnIndex][bufferIndex];
    checksums.verify(home.columnIndex, home.bufferIndex, bytes, path, byteOffset);
  },
  blocksOf(columnIndex, bufferIndex, buffer, path) {
    const home = homes[columnIndex][bufferIndex];
    return checksums.blocksOf(home.columnIndex, home.bufferIndex, buffer, path);
  },
});

function pagesByRows(file: DataFileMetadata, leaf: LeafColumns, homes: BufferHome[]): readonly DataPage[] {
  const path = [...leaf.listColumnIndexes, leaf.columnIndex];
  if (hasBytesApart(file, leaf.columnIndex)) path.push(leaf.columnIndex + 1);
  const identity = path.length === 1;
  const columns = path.map((columnIndex, depth) => nestedColumn(file, columnIndex, depth < path.length - 1));
  const [outer] = columns;
  if (outer.valueCount !== file.rowCount) {
    throw corrupt(file, `pages of a column hold ${outer.valueCount} rows in a file of ${file.rowCount}`);
  }
  if (identity) {
    for (const page of outer.pages) {
      for (const index of page.bufferRanges.keys()) {
        homes.push({ columnIndex: leaf.columnIndex, bufferIndex: page.bufferIndex + index });
      }
    }
    return outer.pages;
  }
  return outer.pages.map((page, pageIndex) => {
    const bufferRanges: ByteRange[] = [];
    const bufferIndex = homes.length;
    const take = (columnIndex: number, part: DataPage) => {
      for (const [index, range] of part.bufferRanges.entries()) {
        bufferRanges.push(range);
        homes.push({ columnIndex, bufferIndex: part.bufferIndex + index });
      }
    };
    const span = { first: pageIndex, end: pageIndex + 1, skip: 0, count: page.rowCount };
    const nested = arraysOf(file, columns, 0, span, take);
    const { rowStart, rowCount } = page;
    return { rowStart, rowCount, bufferRanges, layout: { nested }, bufferIndex };
  });
}

/** True for texts or binaries as lists of bytes, whose bytes are the next column (nestedArrays.ts). */
const hasBytesApart = (file: DataFileMetadata, columnIndex: number): boolean =>
  file.columns[columnIndex]?.pages[0]?.layout.array?.list !== undefined;

function nestedColumn(file: DataFileMetadata, columnIndex: number, isList: boolean): NestedColumn {
  const column = file.columns[columnIndex];
  if (column === undefined) throw corrupt(file, `has no column ${columnIndex}`);
  const { pages } = column;
  const last = pages.at(-1);
  const itemStarts = isList ? new Float64Array(pages.length + 1) : null;
  for (const [index, page] of pages.entries()) {
    if (page.layout.array === undefined) throw corrupt(file, "a page of a version other than 2.0");
    const byteCount = page.bufferRanges.reduce((sum, range) => sum + range.length, 0);
    if (
      page.layout.array.struct === undefined &&
      page.rowCount > Math.max(MAXIMUM_BYTELESS_VALUES, byteCount * VALUES_PER_BYTE)
    ) {
      throw new UnsupportedError(`${file.path}: a page claims ${page.rowCount} values in ${byteCount} bytes`);
    }
    if (itemStarts === null) continue;
    const { itemCount } = listOf(page.layout.array, { path: file.path, byteOffset: 0 });
    itemStarts[index + 1] = itemStarts[index] + itemCount;
  }
  return {
    columnIndex,
    pages,
    itemStarts,
    valueCount: last === undefined ? 0 : last.rowStart + last.rowCount,
  };
}

/** Pages `first` to `end - 1` of a column. */
interface PageSpan {
  readonly first: number;
  readonly end: number;
  /** Values of the first page that don't belong to the rows. */
  readonly skip: number;
  readonly count: number;
}

/**
 * Returns pages of a column, with the pages of the columns inside its lists.
 * @param take called with the pages in the order they are decoded
 */
function arraysOf(
  file: DataFileMetadata,
  columns: readonly NestedColumn[],
  depth: number,
  { first, end, skip, count }: PageSpan,
  take: (columnIndex: number, page: DataPage) => void,
): NestedArrays {
  const column = columns[depth];
  const pages: ArrayPage[] = [];
  for (const page of column.pages.slice(first, end)) {
    take(column.columnIndex, page);
    const { array } = page.layout;
    if (array === undefined) throw corrupt(file, "a page of a version other than 2.0");
    pages.push({ encoding: array, valueCount: page.rowCount, bufferCount: page.bufferRanges.length });
  }
  const { itemStarts } = column;
  if (itemStarts === null) return { pages, skip, count, items: null };
  const inner = columns[depth + 1];
  const itemStart = itemStarts[first];
  const itemEnd = itemStarts[end];
  if (itemEnd > inner.valueCount) {
    throw corrupt(file, `lists of ${itemEnd} items with a column of ${inner.valueCount}`);
  }
  if (itemEnd - itemStart > MAXIMUM_POSITION) {
    throw new UnsupportedError(`${file.path}: a page claims lists of ${itemEnd - itemStart} items`);
  }
  const items = arraysOf(file, columns, depth + 1, spanOf(inner.pages, itemStart, itemEnd), take);
  return { pages, skip, count, items };
}

/** Pages that hold values `start` to `end - 1`. */
function spanOf(pages: readonly DataPage[], start: number, end: number): PageSpan {
  if (start === end) return { first: 0, end: 0, skip: 0, count: 0 };
  const first = pageIndexOf(pages, start);
  let pageEnd = first;
  while (pageEnd < pages.length && pages[pageEnd].rowStart < end) pageEnd++;
  const skip = pageEnd > first ? start - pages[first].rowStart : 0;
  return { first, end: pageEnd, skip, count: end - start };
}

/** Index of the page that holds a value. */
const pageIndexOf = (pages: readonly DataPage[], value: number): number =>
  firstIndex(0, pages.length, (index) => pages[index].rowStart + pages[index].rowCount > value);

const corrupt = (file: DataFileMetadata, reason: string): CorruptFileError =>
  new CorruptFileError(file.path, 0, reason);
