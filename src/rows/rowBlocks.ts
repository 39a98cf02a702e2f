/**
 * Keeps blocks of decoded rows, so that reading single rows again and again needs neither the disk nor a
 * decoder. A block is up to 1,024 consecutive rows of one page. The first row that is read of a block is
 * only counted; the second one loads the block. In a full cache, it takes eight. Reads of rows all over a
 * large file thus seldom decode more than the rows.
 *
 * Rows leave a block as copies. Only columns of plain values have blocks: numbers, bits and texts.
 */

import type { Column, Layout } from "../arrow/columns/column.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import type { DataPage } from "../file/container/reader.js";
import type { LruCache } from "../io/memory/cache.js";
import { HeldBlocks } from "./batchSize.js";

/** Maximum number of wanted rows of a page that are looked up in blocks. */
const MOST_ROWS = 8;
/** Maximum number of rows of a block; a power of two. */
const MAX_BLOCK_ROWS = 1024;
/** Minimum number of rows of a block: rows of more bytes have none. */
const LEAST_BLOCK_ROWS = 16;
/** Approximate maximum bytes that a block takes in its file. */
const BLOCK_BYTES = 16 * 1024;
/** Maximum bytes of a decoded block. */
const MAX_DECODED_BYTES = 256 * 1024;
/** Number of reads after which a block is loaded, if the cache has room or is nearly full. */
const LEAST_READS = 2;
const LEAST_READS_FULL = 8;
/** Part of the bytes from which on the cache counts as full. */
const FULL_PART = 7 / 8;
/** Bytes of an entry besides its values. */
const ENTRY_BYTES = 256;

/** A block that was looked for, by its page and number. */
export interface RowBlock {
  readonly layout: Layout;
  /** Values of the block; null if it is not loaded. */
  readonly values: Column | null;
  /** Number of reads before it is loaded; -Infinity for a block that is too large to be kept. */
  reads: number;
}

/** A block to load, as rows of its page. */
export interface BlockRows {
  readonly start: number;
  readonly count: number;
}

/** Place of a page's blocks in the cache. */
interface PageBlocks {
  /** Prefix of the keys of the blocks. */
  readonly prefix: string;
  /** Binary logarithm of the rows of a block; null for a page without blocks. */
  readonly shift: number | null;
}

/** Places of the blocks of pages that were looked for. */
const placesOfPages = new WeakMap<DataPage, PageBlocks>();
let pageCount = 0;

/**
 * Looks up a few rows of a page.
 * @param wanted rows relative to the page's first: ascending, each once
 * @returns the rows, in pieces; or a block that holds all of them and is to be loaded; or null if the rows
 *   are to be read without a block
 */
export function findRows(
  blocks: LruCache<RowBlock>,
  layout: Layout,
  page: DataPage,
  wanted: Uint32Array,
): readonly Column[] | BlockRows | null {
  if (wanted.length > MOST_ROWS || !isPlain(layout) || !isStructural(page)) return null;
  const { prefix, shift } = blocksOf(page);
  if (shift === null) return null;
  const pieces: Column[] = [];
  for (let next = 0; next < wanted.length; ) {
    const block = wanted[next] >>> shift;
    let end = next + 1;
    while (end < wanted.length && wanted[end] >>> shift === block) end++;
    const key = prefix + block;
    const entry = blocks.peek(key);
    const start = block * 2 ** shift;
    if (entry === undefined || !isSameLayout(entry.layout, layout)) {
      blocks.set(key, { layout, values: null, reads: 1 }, ENTRY_BYTES);
      return null;
    }
    if (entry.values === null) {
      const isFull = blocks.weight > FULL_PART * blocks.maxWeight;
      // Rows of several blocks are read together, which costs less than loading all of these.
      const isOnly = end - next === wanted.length;
      const loads = ++entry.reads >= (isFull ? LEAST_READS_FULL : LEAST_READS) && isOnly;
      return loads ? { start, count: Math.min(2 ** shift, page.rowCount - start) } : null;
    }
    pieces.push(takeColumn(entry.values, offsetsFrom(start, wanted.subarray(next, end))));
    next = end;
  }
  return pieces;
}

/** Keeps a block, unless it is too large. */
export function keepBlock(
  blocks: LruCache<RowBlock>,
  layout: Layout,
  page: DataPage,
  { start }: BlockRows,
  values: Column,
): void {
  const { prefix, shift } = blocksOf(page);
  if (shift === null) return;
  const { bytes } = new HeldBlocks([values]);
  const isLarge = bytes > MAX_DECODED_BYTES;
  const entry: RowBlock = isLarge
    ? { layout, values: null, reads: Number.NEGATIVE_INFINITY }
    : { layout, values, reads: 0 };
  blocks.set(prefix + start / 2 ** shift, entry, ENTRY_BYTES + (isLarge ? 0 : bytes));
}

function blocksOf(page: DataPage): PageBlocks {
  let places = placesOfPages.get(page);
  if (places === undefined) {
    places = { prefix: `${pageCount++} `, shift: shiftOf(page) };
    placesOfPages.set(page, places);
  }
  return places;
}

const isPlain = ({ kind }: Layout): boolean => kind === "fixed" || kind === "bits" || kind === "variable";

/** False for pages of the versions before 2.1, which are made anew for each read. */
const isStructural = ({ layout: { array, nested, legacy } }: DataPage): boolean =>
  array === undefined && nested === undefined && legacy === undefined;

/** True if values of two plain layouts lie in memory in the same way. */
function isSameLayout(a: Layout, b: Layout): boolean {
  if (a === b) return true;
  if (a.kind === "fixed") return b.kind === "fixed" && a.byteWidth === b.byteWidth;
  if (a.kind !== "variable") return a.kind === b.kind;
  return b.kind === "variable" && a.offsetBits === b.offsetBits && a.text === b.text;
}

/** Returns the binary logarithm of the rows of a page's blocks; null if its rows take too many bytes. */
function shiftOf({ rowCount, bufferRanges }: DataPage): number | null {
  let pageBytes = 0;
  for (const { length } of bufferRanges) pageBytes += length;
  const fittingRows = Math.min(MAX_BLOCK_ROWS, (BLOCK_BYTES * rowCount) / Math.max(1, pageBytes));
  return fittingRows < LEAST_BLOCK_ROWS ? null : Math.floor(Math.log2(fittingRows));
}

/** Returns rows of a page as rows of a block. @param start first row of the block */
export function offsetsFrom(start: number, rows: Uint32Array): Uint32Array {
  const offsets = new Uint32Array(rows.length);
  for (let index = 0; index < rows.length; index++) offsets[index] = rows[index] - start;
  return offsets;
}
