/**
 * Finds the bytes of a page that hold given rows: a few rows of a large page then do not cost the whole page.
 * Pure: plans the reads, and assembles the bytes read into a page that the page codecs decode like any other.
 *
 *     mini-block             the chunks that hold the rows, and the whole dictionary; the chunk words tell
 *                            where the chunks are, and for lists the repetition index
 *     full-zip, fixed        the rows themselves, which all have one size
 *     full-zip, variable     the rows themselves; the repetition index tells where they are
 *     full-zip with lists    likewise
 *     constant               nothing, or the page's one value
 *     blob                   as the mini-block page in it
 *     arrays of 2.0          the rows themselves, if they have one size and none is null
 *
 * A page is sliced if each row is one event, if all rows have equally many events, or if it is a mini-block
 * or full-zip page of lists. Chunks may begin and end within a row. With equally many events per row, a slice
 * has enough chunks for whole rows. Lists may be long: unwanted rows at the ends of a slice may lack their
 * beginning or end. Other pages with lists, and constant pages with levels, are read whole. Files of other
 * writers have no checksums: this file checks the structures that tell where rows are, the codecs check the
 * rest.
 */

import { concatBytes } from "../../bytes/concat.js";
import { readUint32 } from "../../bytes/littleEndian.js";
import { lowerBound, upperBound } from "../../bytes/search.js";
import {
  type ConstantLayout,
  type FullZipLayout,
  type MiniBlockLayout,
  RepDefLayer,
} from "../../format/encodings.js";
import type { ByteRange, RangeList } from "../../io/disk/ranges.js";
import { corruptPage, type KeptDictionary, type PageEncoding, type PageOrigin } from "../container/page.js";
import { bytesPerWord, ChunkWords } from "../structural/chunkWords.js";
import { countZippedEvents } from "../structural/zippedEvents.js";
import { arrayDecoder } from "./decoders.js";
import { type RowEnds, readRowEnds } from "./repetitionIndex.js";

/** Index of the buffer of a mini-block page with the chunks. */
export const CHUNK_BUFFER = 1;

/** Runs of rows, counted from the first row of a page: ascending, none empty, none overlapping. */
export interface RowRuns {
  readonly starts: Uint32Array;
  readonly counts: Uint32Array;
}

/** The page that a slice is cut from. */
export interface SlicedPage {
  readonly layout: PageEncoding;
  readonly rowCount: number;
  /** Number of values that the page holds for each row, default 1; more in fixed-size lists of structs. */
  readonly valuesPerRow?: number;
  readonly bufferRanges: readonly ByteRange[];
}

/** Some rows of a page, as a page of their own. */
export interface PageSlice {
  /** Wanted rows and others that come with them. Lists of the others may be incomplete, or in two runs. */
  readonly rows: RowRuns;
  readonly rowCount: number;
  readonly layout: PageEncoding;
  /** Ranges to read. */
  readonly ranges: RangeList;
  /** Makes the page's buffers from the bytes of all `ranges`, back to back. */
  assemble(bytes: Uint8Array): Uint8Array[];
  /** Returns the layout of the assembled page, if only its bytes tell how many events it has. */
  layoutOf?(bytes: Uint8Array): PageEncoding;
}

/** Locations of the chunks of a mini-block page, and its dictionary. */
export interface ChunkMap {
  readonly words: Uint8Array;
  /** Byte offset of each chunk in the chunk data, and the end of the last one. */
  readonly offsets: Float64Array;
  /** First value of each chunk, and the number of values as the last entry. */
  readonly valueStarts: Uint32Array;
  /** Row ends of a page of lists; null for any other page. */
  readonly rowEnds: RowEnds | null;
  readonly dictionary: Uint8Array | null;
  /** The dictionary once it is decoded; null if the page has none. */
  readonly keptDictionary: KeptDictionary | null;
  /** Approximate bytes of memory with the decoded dictionary, for caches. */
  readonly memoryWeight: number;
}

/** Way to slice a page; null if it must be read whole. */
export type Sliceable =
  | { readonly kind: "miniBlock"; readonly layout: MiniBlockLayout; readonly buffers: readonly number[] }
  | { readonly kind: "fixedRows"; readonly layout: FullZipLayout; readonly rowBytes: number }
  | { readonly kind: "variableRows"; readonly layout: FullZipLayout; readonly entryBytes: 1 | 2 | 4 | 8 }
  | { readonly kind: "constant"; readonly layout: ConstantLayout }
  | { readonly kind: "arrayRows"; readonly rowBytes: number };

/**
 * Returns the way to slice a page. For a mini-block page, `buffers` are those that its {@link ChunkMap} is
 * made from.
 */
export function sliceable(page: SlicedPage): Sliceable | null {
  const { miniBlock, fullZip, constant, array, blob } = page.layout;
  const { bufferRanges, rowCount, valuesPerRow = 1 } = page;
  const valueCount = rowCount * valuesPerRow;
  if (blob?.innerLayout !== undefined) {
    const inner = blob.innerLayout.miniBlock;
    if (inner === undefined || inner.repCompression !== undefined) return null;
    return sliceable({ ...page, layout: blob.innerLayout });
  }
  if (array !== undefined) {
    const rowBytes = arrayDecoder.made.ARRAY_PAGES.plainRowBytes(array);
    const fits =
      rowBytes !== null &&
      valuesPerRow === 1 &&
      bufferRanges.length === 1 &&
      rowBytes * rowCount === bufferRanges[0].length;
    return fits ? { kind: "arrayRows", rowBytes } : null;
  }
  if (miniBlock !== undefined) {
    const hasLists = miniBlock.repCompression !== undefined;
    if (miniBlock.repetitionIndexDepth !== (hasLists ? 1 : 0)) return null;
    const buffers = miniBlock.dictionary === undefined ? [0] : [0, 2];
    if (hasLists) buffers.push(buffers.length + 1);
    if (bufferRanges.length < buffers.length + 1) return null;
    const mayCut = hasLists
      ? valuesPerRow === 1
      : miniBlock.itemCount === valueCount && itemsOnly(miniBlock.layers);
    return mayCut ? { kind: "miniBlock", layout: miniBlock, buffers } : null;
  }
  if (fullZip !== undefined) {
    if (fullZip.repBits > 0) return valuesPerRow === 1 ? zippedLists(fullZip, page) : null;
    const rows = fullZip.itemCount === valueCount && fullZip.visibleItemCount === valueCount;
    if (!rows || !itemsOnly(fullZip.layers)) return null;
    if (fullZip.bitsPerOffset === undefined) return fixedRows(fullZip, page);
    return valuesPerRow === 1 ? variableRows(fullZip, page) : null;
  }
  if (constant !== undefined && bufferRanges.length <= 1 && itemsOnly(constant.layers)) {
    return { kind: "constant", layout: constant };
  }
  return null;
}

const itemsOnly = (layers: readonly number[]): boolean =>
  layers.every((layer) => layer === RepDefLayer.ALL_VALID_ITEM || layer === RepDefLayer.NULLABLE_ITEM);

function fixedRows(
  layout: FullZipLayout,
  { bufferRanges, rowCount, valuesPerRow = 1 }: SlicedPage,
): Sliceable | null {
  const controlBytes = layout.defBits === 0 ? 0 : layout.defBits <= 8 ? 1 : layout.defBits <= 16 ? 2 : 4;
  const rowBytes = (controlBytes + (layout.bitsPerValue ?? 0) / 8) * valuesPerRow;
  if (bufferRanges.length !== 1 || !Number.isInteger(rowBytes) || rowBytes === 0) return null;
  return rowBytes * rowCount === bufferRanges[0].length ? { kind: "fixedRows", layout, rowBytes } : null;
}

function variableRows(layout: FullZipLayout, { bufferRanges, rowCount }: SlicedPage): Sliceable | null {
  if (bufferRanges.length !== 2) return null;
  const entryBytes = bufferRanges[1].length / (rowCount + 1);
  if (entryBytes !== 1 && entryBytes !== 2 && entryBytes !== 4 && entryBytes !== 8) return null;
  return { kind: "variableRows", layout, entryBytes };
}

/** Returns the way to slice a page of lists. Only rows of variable size have an index. */
function zippedLists(layout: FullZipLayout, page: SlicedPage): Sliceable | null {
  const { repBits, defBits, bitsPerOffset, bitsPerValue = 0 } = layout;
  const hasKnownSizes =
    bitsPerOffset === undefined ? bitsPerValue % 8 === 0 : bitsPerOffset === 32 || bitsPerOffset === 64;
  const isReadable = hasKnownSizes && repBits <= 16 && defBits <= 16;
  return isReadable ? variableRows(layout, page) : null;
}

/** Returns the layout of a slice, within that of a blob if the page has blobs. */
export const layoutOfSlice = (
  { layout: { blob } }: Pick<SlicedPage, "layout">,
  { layout }: Pick<PageSlice, "layout">,
): PageEncoding => (blob === undefined ? layout : { blob: { ...blob, innerLayout: layout } });

/** Returns a page with `rows` of a constant page. */
export function sliceConstant(page: SlicedPage, rows: RowRuns): PageSlice {
  const { layout, bufferRanges } = page;
  return {
    rows,
    rowCount: countRows(rows),
    layout,
    ranges: {
      byteOffsets: Float64Array.from(bufferRanges, ({ byteOffset }) => byteOffset),
      lengths: Float64Array.from(bufferRanges, ({ length }) => length),
    },
    assemble: (bytes) => (bufferRanges.length === 0 ? [] : [bytes]),
  };
}

/** Returns a page with `rows` of a full-zip page whose rows all have `rowBytes`. */
export function sliceFixedRows(
  { bufferRanges: [events], valuesPerRow }: SlicedPage,
  layout: FullZipLayout,
  rowBytes: number,
  rows: RowRuns,
): PageSlice {
  return zippedSlice(layout, rows, rowRanges(events, rowBytes, rows), valuesPerRow);
}

/** Returns a page with `rows` of a page of 2.0 whose rows all have `rowBytes`. */
export function sliceArrayRows(
  { bufferRanges: [values], layout }: SlicedPage,
  rowBytes: number,
  rows: RowRuns,
): PageSlice {
  return {
    rows,
    rowCount: countRows(rows),
    layout,
    ranges: rowRanges(values, rowBytes, rows),
    assemble: (bytes) => [bytes],
  };
}

/** Returns the ranges of runs of rows of one size. */
function rowRanges({ byteOffset }: ByteRange, rowBytes: number, { starts, counts }: RowRuns): RangeList {
  const byteOffsets = new Float64Array(starts.length);
  const lengths = new Float64Array(starts.length);
  for (let run = 0; run < starts.length; run++) {
    byteOffsets[run] = byteOffset + starts[run] * rowBytes;
    lengths[run] = counts[run] * rowBytes;
  }
  return { byteOffsets, lengths };
}

/** Returns the ranges of the repetition index that tell where each run of `rows` starts and ends. */
export function indexEntryRanges(
  { bufferRanges: [, index] }: SlicedPage,
  entryBytes: number,
  rows: RowRuns,
): RangeList {
  const ranges = rowRanges(index, entryBytes, rows);
  for (let run = 0; run < ranges.lengths.length; run++) ranges.lengths[run] += entryBytes;
  return ranges;
}

/**
 * Returns a page with `rows` of a full-zip page of variable width.
 * @param entries the bytes of all {@link indexEntryRanges}, back to back
 * @throws CorruptFileError if the index points outside the page
 */
export function sliceVariableRows(
  { bufferRanges: [events] }: SlicedPage,
  layout: FullZipLayout,
  entryBytes: 1 | 2 | 4 | 8,
  rows: RowRuns,
  entries: Uint8Array,
  origin: PageOrigin,
): PageSlice {
  const byteOffsets = new Float64Array(rows.starts.length);
  const lengths = new Float64Array(rows.starts.length);
  let entry = 0;
  for (let run = 0; run < rows.starts.length; run++) {
    const start = readEntry(entries, entry, entryBytes);
    entry += rows.counts[run] + 1;
    const end = readEntry(entries, entry - 1, entryBytes);
    if (start > end || end > events.length) {
      throw corruptPage(origin, `repetition index with a row at ${start} to ${end} of ${events.length}`);
    }
    byteOffsets[run] = events.byteOffset + start;
    lengths[run] = end - start;
  }
  const slice = zippedSlice(layout, rows, { byteOffsets, lengths });
  if (layout.repBits === 0) return slice;
  const layoutOf = (bytes: Uint8Array): PageEncoding => ({
    fullZip: { ...layout, ...countZippedEvents(bytes, layout, origin) },
  });
  return { ...slice, layoutOf };
}

function readEntry(bytes: Uint8Array, index: number, entryBytes: number): number {
  let value = 0;
  for (let byte = entryBytes - 1; byte >= 0; byte--) value = value * 256 + bytes[index * entryBytes + byte];
  return value;
}

function zippedSlice(layout: FullZipLayout, rows: RowRuns, ranges: RangeList, valuesPerRow = 1): PageSlice {
  const rowCount = countRows(rows);
  const valueCount = rowCount * valuesPerRow;
  return {
    rows,
    rowCount,
    layout: { fullZip: { ...layout, itemCount: valueCount, visibleItemCount: valueCount } },
    ranges,
    assemble: (bytes) => [bytes],
  };
}

/**
 * Reads the chunk words of a mini-block page, and the repetition index if it has lists.
 * @param located the page's buffers that {@link sliceable} names; the map keeps views of them
 * @throws CorruptFileError if chunks lie outside the page's data, or do not hold exactly its rows
 */
export function mapChunks(
  { bufferRanges: [, data], rowCount, valuesPerRow = 1 }: SlicedPage,
  layout: MiniBlockLayout,
  located: readonly Uint8Array[],
  origin: PageOrigin,
): ChunkMap {
  const [words] = located;
  const dictionary = layout.dictionary === undefined ? null : located[1];
  const hasLists = layout.repCompression !== undefined;
  const valueCount = hasLists ? layout.itemCount : rowCount * valuesPerRow;
  const chunks = new ChunkWords(words, layout.hasLargeChunk, valueCount, data.length, origin);
  const { chunkCount } = chunks;
  const offsets = new Float64Array(chunkCount + 1);
  const valueStarts = new Uint32Array(chunkCount + 1);
  while (chunks.next()) {
    offsets[chunks.index + 1] = chunks.end;
    valueStarts[chunks.index + 1] = chunks.endValue;
  }
  const rowEnds = hasLists ? readRowEnds(located[located.length - 1], chunkCount, rowCount, origin) : null;
  const memoryWeight =
    256 +
    words.length +
    chunkCount * (rowEnds === null ? 12 : 17) +
    (dictionary === null ? 0 : dictionary.length + decodedBytes(layout, dictionary));
  const keptDictionary = dictionary === null ? null : { values: null };
  return { words, offsets, valueStarts, rowEnds, dictionary, keptDictionary, memoryWeight };
}

/** Bytes of a decoded value besides those of its text. */
const OFFSET_BYTES = 4;
/** Maximum bytes that a byte of a compressed dictionary stands for. */
const MAX_INFLATION = 255;

/** Returns about as many bytes as a dictionary takes once it is decoded. */
function decodedBytes({ dictionary, dictionaryItemCount }: MiniBlockLayout, bytes: Uint8Array): number {
  // Compressed buffers begin with their size.
  const isCompressed = dictionary?.general !== undefined && bytes.length >= 4;
  const plainBytes = isCompressed
    ? Math.min(readUint32(bytes, 0), MAX_INFLATION * bytes.length)
    : bytes.length;
  return plainBytes + OFFSET_BYTES * dictionaryItemCount;
}

/** Maximum bytes of unwanted chunks that are read along with the chunks before and after them. */
const CHUNK_GAP_BYTES = 16 * 1024;

/**
 * Returns the approximate part of the chunk data that a slice will have, before the chunks are located: as if
 * all rows had one size.
 */
export function expectedShare({ bufferRanges: [, data], rowCount }: SlicedPage, rows: RowRuns): number {
  const gapRows = (CHUNK_GAP_BYTES * rowCount) / data.length;
  let covered = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (let run = 0; run < rows.starts.length; run++) {
    const start = rows.starts[run];
    const gap = start - end;
    end = start + rows.counts[run];
    covered += end - start + (gap > gapRows ? 0 : gap);
  }
  return covered / rowCount;
}

/** Returns a page with the chunks of a mini-block page that hold `rows`. */
export function sliceChunks(
  { bufferRanges: [, data], valuesPerRow = 1 }: SlicedPage,
  layout: MiniBlockLayout,
  map: ChunkMap,
  rows: RowRuns,
): PageSlice {
  const wordBytes = bytesPerWord(layout.hasLargeChunk);
  const { valueStarts, offsets, rowEnds } = map;
  const bounds = rowEnds === null ? boundsOfRows(map, valuesPerRow, rows) : boundsOfLists(map, rowEnds, rows);
  const runs = bounds.length / 2;
  const byteOffsets = new Float64Array(runs);
  const lengths = new Float64Array(runs);
  const starts = new Uint32Array(runs);
  const counts = new Uint32Array(runs);
  const words: Uint8Array[] = [];
  const withinRow: number[] = [];
  let chunks = 0;
  let itemCount = 0;
  for (let run = 0; run < runs; run++) {
    const first = bounds[2 * run];
    const end = bounds[2 * run + 1];
    words.push(map.words.subarray(first * wordBytes, end * wordBytes));
    byteOffsets[run] = data.byteOffset + offsets[first];
    lengths[run] = offsets[end] - offsets[first];
    const values = valueStarts[end] - valueStarts[first];
    if (rowEnds === null) {
      starts[run] = valueStarts[first] / valuesPerRow;
      counts[run] = values / valuesPerRow;
    } else {
      const { before, isWithin } = rowEnds;
      starts[run] = before[first];
      counts[run] = before[end] - before[first] + isWithin[end];
      if (isWithin[first] === 1) withinRow.push(chunks);
    }
    chunks += end - first;
    itemCount += values;
  }
  const slicedRows = { starts, counts };
  return {
    rows: slicedRows,
    rowCount: countRows(slicedRows),
    layout: {
      miniBlock: { ...layout, itemCount, repetitionIndexDepth: 0 },
      ...(withinRow.length > 0 && { withinRow }),
      ...(map.keptDictionary !== null && { keptDictionary: map.keptDictionary }),
    },
    ranges: { byteOffsets, lengths },
    assemble(bytes) {
      const buffers = [words.length === 1 ? words[0] : concatBytes(words), bytes];
      if (map.dictionary !== null) buffers.push(map.dictionary);
      return buffers;
    },
  };
}

/**
 * Returns runs of chunks that hold runs of rows with equally many values: the first chunk of each run and the
 * one after its last, in turn.
 */
function boundsOfRows({ valueStarts, offsets }: ChunkMap, valuesPerRow: number, rows: RowRuns): Uint32Array {
  const isWithinRow = (chunk: number): boolean => valueStarts[chunk] % valuesPerRow !== 0;
  const bounds = new Uint32Array(2 * rows.starts.length);
  let runs = 0;
  let end = 0;
  for (let run = 0; run < rows.starts.length; run++) {
    const start = rows.starts[run] * valuesPerRow;
    const last = start + rows.counts[run] * valuesPerRow - 1;
    if (last < valueStarts[end]) continue;
    let from = start < valueStarts[end] ? end : chunkOf(valueStarts, start, end);
    while (isWithinRow(from)) from--;
    if (runs === 0 || offsets[from] - offsets[end] > CHUNK_GAP_BYTES) bounds[2 * runs++] = from;
    end = last < valueStarts[from + 1] ? from + 1 : chunkOf(valueStarts, last, from) + 1;
    while (isWithinRow(end)) end++;
    bounds[2 * runs - 1] = end;
  }
  return bounds.subarray(0, 2 * runs);
}

/** Returns the runs of chunks that hold rows of lists, in the form of {@link boundsOfRows}. */
function boundsOfLists({ offsets }: ChunkMap, { before, isWithin }: RowEnds, rows: RowRuns): Uint32Array {
  const bounds = new Uint32Array(2 * rows.starts.length);
  let runs = 0;
  let end = 0;
  for (let run = 0; run < rows.starts.length; run++) {
    const row = rows.starts[run];
    const endRow = row + rows.counts[run];
    if (endRow <= before[end]) continue;
    let from = end;
    if (runs === 0 || row > before[end] || (row === before[end] && isWithin[end] === 0)) {
      from = lowerBound(before, row, end);
      // The row begins with the chunk, or in the one before.
      if (before[from] !== row || isWithin[from] === 1) from--;
      if (runs === 0 || offsets[from] - offsets[end] > CHUNK_GAP_BYTES) bounds[2 * runs++] = from;
    }
    end = lowerBound(before, endRow, end);
    bounds[2 * runs - 1] = end;
  }
  return bounds.subarray(0, 2 * runs);
}

/** Index of the chunk, `from` or a later one, that holds a value. */
const chunkOf = (valueStarts: Uint32Array, value: number, from: number): number =>
  upperBound(valueStarts, value, from + 1, valueStarts.length - 1) - 1;

/** Returns the number of rows in all runs. */
export function countRows({ counts }: RowRuns): number {
  let sum = 0;
  for (let run = 0; run < counts.length; run++) sum += counts[run];
  return sum;
}

/** Returns the runs of ascending `rows`; a row may appear more than once. */
export function runsOf(rows: Uint32Array): RowRuns {
  const starts = new Uint32Array(rows.length);
  const counts = new Uint32Array(rows.length);
  let runs = 0;
  let end = -1;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index];
    if (row === end - 1) continue;
    if (row === end) {
      counts[runs - 1]++;
    } else {
      starts[runs] = row;
      counts[runs++] = 1;
    }
    end = row + 1;
  }
  return { starts: starts.subarray(0, runs), counts: counts.subarray(0, runs) };
}

/**
 * Returns the positions of ascending `rows` among the rows of the runs, which hold all of them; maybe `rows`
 * itself.
 */
export function positionsIn(runs: RowRuns, rows: Uint32Array): Uint32Array {
  if (runs.starts.length === 1 && runs.starts[0] === 0) return rows;
  const positions = new Uint32Array(rows.length);
  let run = 0;
  let before = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index];
    while (row >= runs.starts[run] + runs.counts[run]) before += runs.counts[run++];
    positions[index] = before + row - runs.starts[run];
  }
  return positions;
}
