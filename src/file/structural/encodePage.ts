/**
 * Encodes the rows of one column as a page, in the layout and under the compression that suit the values:
 *
 *     nothing but nulls                    constant
 *     one value in all valid rows          constant (2.2)
 *     fixed width                          mini-block, bit-packed where that saves; full-zip where it doesn't and
 *                                          no row is null, because such a page is the values' memory as it is
 *     bits                                 mini-block
 *     fixed-size lists                     full-zip; mini-block for bits, and for small ones with nulls
 *     strings, binaries                    mini-block, over a page dictionary where few values recur; full-zip
 *                                          where a value is long
 *     dictionary-typed                     mini-block over a page dictionary, always
 *
 * Slots of null rows are written as zeros or empty values, so that equal rows make equal pages. Compression is
 * decided on a sample: values that don't compress cost next to nothing.
 */

import type {
  BitsColumn,
  Column,
  DictionaryColumn,
  DictionaryLayout,
  FixedColumn,
  FixedSizeListColumn,
  Layout,
  LeafColumn,
  LeafLayout,
  Validity,
  VariableColumn,
  VariableLayout,
} from "../../arrow/column.js";
import { concatColumns, decodeDictionary, sliceColumn } from "../../arrow/data.js";
import { leafOf } from "../../arrow/spine.js";
import { copyBits } from "../../bytes/bits.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { type CompressiveEncoding, RepDefLayer } from "../../format/encodings.js";
import { alignedBytes } from "../compression/aligned.js";
import { PACK_UNIT, requiredBits, type WordBits } from "../compression/bitpack.js";
import {
  describeInlineBitpacking,
  encodeInlineBitpacking,
  inlineBitpackedBytes,
} from "../compression/inlineBitpacking.js";
import {
  describeVariable,
  encodeVariableBlock,
  encodeVariableChunk,
  MAXIMUM_POSITION,
  variableChunkBytes,
} from "../compression/variable.js";
import { isListLayer, leafLevels, levelsOfValidity, type PageLevels } from "../levels.js";
import { type ShreddedColumn, shredColumn } from "../nesting.js";
import type { EncodedPage, StructuralVersion } from "../page.js";
import { encodeAllNull, encodeConstant, MAXIMUM_INLINE_BYTES } from "./constant.js";
import { findDictionary } from "./dictionary.js";
import { encodeFullZipFixed, encodeFullZipFlat, encodeFullZipVariable, type ZippedPart } from "./fullZip.js";
import {
  MAXIMUM_CHUNK_VALUES,
  MiniBlockEncoder,
  type MiniBlockValues,
  maximumChunkEvents,
} from "./miniBlock.js";

export interface EncodePageOptions {
  readonly version: StructuralVersion;
  readonly nullable: boolean;
  /** The column, for messages. */
  readonly path: string;
  /** Arrow field metadata of the column. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** Bytes of values in a chunk; all of a chunk has to stay within 32 KiB in 2.1. */
const CHUNK_BYTES = { "2.1": 16 * 1024, "2.2": 32 * 1024 } as const;
/** Bytes of offsets and values of a chunk of variable-width values. */
const VARIABLE_CHUNK_BYTES = { "2.1": 24 * 1024, "2.2": 64 * 1024 } as const;
const MAXIMUM_VARIABLE_CHUNK_VALUES = 4096;
/** The reference takes wider values for full-zip only. */
const MAXIMUM_MINI_BLOCK_VALUE_BYTES = 256;
/** Fixed-width values with nulls go to full-zip pages from this width on. */
const WIDE_VALUE_BYTES = 128;
/** Share of a page that bit-packing must save. */
const WORTHWHILE_SAVING = 0.15;
/** Units looked at to tell what bit-packing would save. */
const SAMPLE_UNITS = 16;

/**
 * Encodes `rowCount` rows, which come in one or more columns of the given layout, as one page; as several where
 * lists are null or empty so often that one would not hold them.
 * @param layout a spine: one leaf and what is around it
 * @throws UnsupportedError for values that no page can hold, TableSchemaValidationError for nulls where the layout
 *   allows none
 */
export function encodePages(
  layout: Layout,
  columns: readonly Column[],
  rowCount: number,
  options: EncodePageOptions,
): EncodedPage[] {
  const { version } = options;
  if (layout.kind === "list" || layout.kind === "struct") {
    const leaf = leafOf(layout);
    const shredded = shredColumn(layout, concatColumns(columns), options);
    return cutPages(shredded, version).map((part) => encodeLeaf(leaf, part, version));
  }
  return [encodeRows(layout, columns, rowCount, version)];
}

/** A page of a column that is in no list and no struct. */
function encodeRows(
  layout: LeafLayout,
  columns: readonly Column[],
  rowCount: number,
  version: StructuralVersion,
): EncodedPage {
  let nullCount = 0;
  for (const { validity } of columns) nullCount += validity?.nullCount ?? 0;
  const plain = leafLevels(null, rowCount);
  if (layout.kind === "null" || nullCount === rowCount) return encodeAllNull(plain, version);
  if (layout.kind === "fixed" && nullCount === 0) {
    return encodeFixedPieces(layout, columns as readonly FixedColumn[], plain, version);
  }
  if (layout.kind === "fixedSizeList" && nullCount === 0) {
    const pieces = plainListPieces(columns as readonly FixedSizeListColumn[]);
    if (pieces !== null) {
      const shape = describeList(columns[0] as FixedSizeListColumn);
      return encodeFullZipFlat(pieces, shape.itemBits * shape.itemsPerValue, plain, listEncoding(shape, []));
    }
  }
  const values = concatColumns(columns) as LeafColumn;
  return encodeLeaf(layout, { values, levels: leafLevels(slotLevels(values), rowCount) }, version);
}

/** A page of the values of all visible events. */
function encodeLeaf(
  layout: LeafLayout,
  { values: column, levels }: ShreddedColumn,
  version: StructuralVersion,
): EncodedPage {
  if (column.kind === "null" || (column.validity?.nullCount ?? 0) === column.length) {
    return encodeAllNull(levels, version);
  }
  switch (column.kind) {
    case "fixed":
      return encodeFixed(layout, column, levels, version);
    case "bits":
      return encodeBits(layout, column, levels, version);
    case "variable":
      return encodeVariable(layout as VariableLayout, column, levels, version);
    case "fixedSizeList":
      return encodeList(column, levels, version);
    case "dictionary":
      return encodeDictionary(layout as DictionaryLayout, column, levels, version);
  }
}

/** Pages of whole rows, so small that the events without values that lie together find room in a chunk. */
function cutPages(shredded: ShreddedColumn, version: StructuralVersion): ShreddedColumn[] {
  const { levels, values } = shredded;
  const { repetition, definition, eventCount, listDepth, maximumVisible } = levels;
  const limit = maximumChunkEvents(version, levels);
  if (repetition === null || eventCount <= limit || values.length === eventCount || values.length === 0) {
    return [shredded];
  }
  const pages: ShreddedColumn[] = [];
  let firstEvent = 0;
  let firstValue = 0;
  let rowStart = 0;
  let rowStartValue = 0;
  let rows = 0;
  let value = 0;
  const cut = (endEvent: number, endValue: number, rowCount: number) => {
    pages.push({
      values: sliceColumn(values, firstValue, endValue - firstValue),
      levels: {
        ...levels,
        rowCount,
        eventCount: endEvent - firstEvent,
        repetition: repetition.slice(firstEvent, endEvent),
        definition: definition === null ? null : definition.slice(firstEvent, endEvent),
      },
    });
    firstEvent = endEvent;
    firstValue = endValue;
  };
  for (let event = 0; event < eventCount; event++) {
    if (repetition[event] === listDepth) {
      rowStart = event;
      rowStartValue = value;
      rows++;
    }
    if (event - firstEvent >= limit && rowStart > firstEvent) {
      cut(rowStart, rowStartValue, rows - 1);
      rows = 1;
    }
    if (definition === null || definition[event] <= maximumVisible) value++;
  }
  cut(eventCount, value, rows);
  return pages;
}

/** Whether full-zip pages may be used: the reference takes nulls around a list, in such a page, for values. */
function mayZip({ layers }: PageLevels): boolean {
  const firstList = layers.findIndex(isListLayer);
  return firstList < 0 || !layers.includes(RepDefLayer.NULLABLE_ITEM, firstList);
}

/** For each slot of a column whether it is null, 1 or 0; null where none is. */
const slotLevels = ({ validity, length }: Column): Uint16Array | null =>
  validity === null ? null : levelsOfValidity(bitsFromZero(validity, length), length);

function bitsFromZero({ bytes, bitOffset }: Validity, length: number): Uint8Array {
  if (bitOffset === 0) return bytes;
  const bits = new Uint8Array(Math.ceil(length / 8));
  copyBits(bytes, bitOffset, bits, 0, length);
  return bits;
}

const flat = (bitsPerValue: number): CompressiveEncoding => ({ flat: { bitsPerValue, data: undefined } });

const values = (encoding: CompressiveEncoding): MiniBlockValues => ({ encoding, bufferCount: 1 });

// ------------------------------------------------------------------------------------------- fixed width

/** Fixed-width values without nulls; they are joined only if they get packed. */
function encodeFixedPieces(
  layout: LeafLayout,
  columns: readonly FixedColumn[],
  levels: PageLevels,
  version: StructuralVersion,
): EncodedPage {
  const { byteWidth } = columns[0];
  const largest = columns.reduce((a, b) => (b.length > a.length ? b : a));
  const wordBits = wordBitsOf(byteWidth);
  if (
    wordBits !== null &&
    !worthPacking(wordBits, largest.values, largest.length) &&
    !oneValue(largest, null)
  ) {
    return encodeFullZipFlat(piecesOf(columns), byteWidth * 8, levels, flat(byteWidth * 8));
  }
  return encodeFixed(layout, concatColumns(columns), levels, version);
}

const piecesOf = (columns: readonly FixedColumn[]): Uint8Array[] =>
  columns.map((column) => column.values.subarray(0, column.length * column.byteWidth));

function encodeFixed(
  layout: LeafLayout,
  column: FixedColumn,
  levels: PageLevels,
  version: StructuralVersion,
): EncodedPage {
  const { byteWidth, length } = column;
  const definition = slotLevels(column);
  const mayBeConstant = version !== "2.1" && levels.listDepth === 0;
  if (mayBeConstant && byteWidth <= MAXIMUM_INLINE_BYTES && oneValue(column, definition)) {
    const row = definition === null ? 0 : definition.indexOf(0);
    const value = column.values.slice(row * byteWidth, (row + 1) * byteWidth);
    return encodeConstant(value, layout, levels);
  }
  const wordBits = wordBitsOf(byteWidth);
  const plain = withoutNulls(column.values, byteWidth, definition, length);
  if (wordBits !== null && worthPacking(wordBits, plain, length)) {
    const encoder = new MiniBlockEncoder(version, levels, length * byteWidth);
    encodePacked(encoder, wordBits, plain, length);
    return encoder.finish(values(describeInlineBitpacking(wordBits)));
  }
  if (levels.definition === null && levels.repetition === null) {
    return encodeFullZipFlat([plain], byteWidth * 8, levels, flat(byteWidth * 8));
  }
  if (byteWidth >= WIDE_VALUE_BYTES && mayZip(levels)) {
    return encodeFullZipFixed([{ bytes: plain, byteWidth }], length, levels, flat(byteWidth * 8));
  }
  const encoder = new MiniBlockEncoder(version, levels, Math.ceil(length * (byteWidth + 0.2)) + 4096);
  encodeFlat(encoder, byteWidth, plain, length, version);
  return encoder.finish(values(flat(byteWidth * 8)));
}

const wordBitsOf = (byteWidth: number): WordBits | null =>
  byteWidth === 1 || byteWidth === 2 || byteWidth === 4 || byteWidth === 8
    ? ((byteWidth * 8) as WordBits)
    : null;

/** The values with zeros in the slots of nulls, copied where that is any change; whole values only. */
function withoutNulls(
  bytes: Uint8Array,
  byteWidth: number,
  definition: Uint16Array | null,
  count: number,
): Uint8Array {
  const exact = bytes.subarray(0, count * byteWidth);
  if (definition === null) return exact;
  const copy = exact.slice();
  for (let row = 0; row < count; row++) {
    if (definition[row] === 0) continue;
    for (let at = row * byteWidth, end = at + byteWidth; at < end; at++) copy[at] = 0;
  }
  return copy;
}

/** Whether all valid rows, of which there is at least one, hold the same bytes. */
function oneValue(
  { values: bytes, byteWidth, length }: FixedColumn,
  definition: Uint16Array | null,
): boolean {
  const first = definition === null ? 0 : definition.indexOf(0);
  for (let row = first + 1; row < length; row++) {
    if (definition !== null && definition[row] !== 0) continue;
    for (let byte = 0, a = first * byteWidth, b = row * byteWidth; byte < byteWidth; byte++) {
      if (bytes[a + byte] !== bytes[b + byte]) return false;
    }
  }
  return true;
}

/** Whether bit-packing would save enough, by the units of a sample spread over the page. */
function worthPacking(wordBits: WordBits, bytes: Uint8Array, count: number): boolean {
  const wordBytes = wordBits / 8;
  const units = Math.ceil(count / PACK_UNIT);
  const step = Math.max(1, Math.floor(units / SAMPLE_UNITS));
  let plainBytes = 0;
  let packedBytes = 0;
  for (let unit = 0; unit < units; unit += step) {
    const start = unit * PACK_UNIT;
    const unitCount = Math.min(PACK_UNIT, count - start);
    const packedBits = requiredBits(wordBits, bytes, start * wordBytes, unitCount);
    plainBytes += unitCount * wordBytes;
    packedBytes += inlineBitpackedBytes(wordBits, packedBits);
  }
  return packedBytes < plainBytes * (1 - WORTHWHILE_SAVING);
}

function encodePacked(encoder: MiniBlockEncoder, wordBits: WordBits, bytes: Uint8Array, count: number): void {
  const wordBytes = wordBits / 8;
  for (let start = 0; start < count; ) {
    const chunkCount = encoder.fittingValues(Math.min(PACK_UNIT, count - start));
    const packedBits = requiredBits(wordBits, bytes, start * wordBytes, chunkCount);
    const at = encoder.beginChunk(chunkCount, [inlineBitpackedBytes(wordBits, packedBits)]);
    encodeInlineBitpacking(wordBits, packedBits, bytes, start * wordBytes, chunkCount, encoder.data, at);
    start += chunkCount;
  }
}

function encodeFlat(
  encoder: MiniBlockEncoder,
  byteWidth: number,
  bytes: Uint8Array,
  count: number,
  version: StructuralVersion,
): void {
  const perChunk = chunkValues(byteWidth, version);
  for (let start = 0; start < count; ) {
    const chunkCount = encoder.fittingValues(Math.min(perChunk, count - start));
    const chunk = bytes.subarray(start * byteWidth, (start + chunkCount) * byteWidth);
    const at = encoder.beginChunk(chunkCount, [chunk.length]);
    encoder.data.set(chunk, at);
    start += chunkCount;
  }
}

/** Values of this many bytes (or fractions) that make a chunk: a power of two, at least 2. */
function chunkValues(valueBytes: number, version: StructuralVersion): number {
  const fitting = Math.min(MAXIMUM_CHUNK_VALUES, CHUNK_BYTES[version] / valueBytes);
  return 2 ** Math.max(1, Math.floor(Math.log2(fitting)));
}

function encodeBits(
  layout: LeafLayout,
  column: BitsColumn,
  levels: PageLevels,
  version: StructuralVersion,
): EncodedPage {
  const { length } = column;
  const definition = slotLevels(column);
  const bits = new Uint8Array(Math.ceil(length / 8));
  copyBits(column.bits, column.bitOffset, bits, 0, length);
  let ones = 0;
  let zeros = 0;
  for (let row = 0; row < length; row++) {
    const bit = (bits[row >>> 3] >>> (row & 7)) & 1;
    if (definition === null || definition[row] === 0) {
      ones |= bit;
      zeros |= bit ^ 1;
    } else if (bit === 1) {
      bits[row >>> 3] ^= 1 << (row & 7);
    }
  }
  if (version !== "2.1" && levels.listDepth === 0 && ones !== zeros) {
    return encodeConstant(Uint8Array.of(ones), layout, levels);
  }
  const encoder = new MiniBlockEncoder(version, levels, bits.length * 2 + 4096);
  const perChunk = chunkValues(1 / 8, version);
  for (let start = 0; start < length; ) {
    const chunkCount = encoder.fittingValues(Math.min(perChunk, length - start));
    const chunk = sliceBits(bits, start, chunkCount);
    const at = encoder.beginChunk(chunkCount, [chunk.length]);
    encoder.data.set(chunk, at);
    start += chunkCount;
  }
  return encoder.finish(values(flat(1)));
}

// ------------------------------------------------------------------------------------ strings, binaries

function encodeVariable(
  layout: VariableLayout,
  column: VariableColumn,
  levels: PageLevels,
  version: StructuralVersion,
): EncodedPage {
  const definition = slotLevels(column);
  const { offsets, bytes } = gatherVariable(column, definition);
  const { offsetBits } = layout;
  const mayBeConstant = version !== "2.1" && levels.listDepth === 0;
  const value = mayBeConstant ? commonValue(offsets, bytes, definition) : null;
  if (value !== null) return encodeConstant(value, layout, levels);

  const dictionary = findDictionary(offsets, bytes, definition);
  if (dictionary !== null) {
    const encoder = new MiniBlockEncoder(version, levels, column.length * 2 + 4096);
    encodePacked(encoder, 32, new Uint8Array(dictionary.indices.buffer), column.length);
    return encoder.finish({
      ...values(describeInlineBitpacking(32)),
      dictionary: {
        encoding: describeVariable(offsetBits),
        block: encodeVariableBlock(offsetBits, dictionary.offsets, dictionary.bytes),
        itemCount: dictionary.offsets.length - 1,
      },
    });
  }
  if (longest(offsets) >= MAXIMUM_MINI_BLOCK_VALUE_BYTES && mayZip(levels)) {
    return encodeFullZipVariable(offsetBits, offsets, bytes, levels);
  }
  const size = variableChunkBytes(offsetBits, column.length, bytes.length);
  const encoder = new MiniBlockEncoder(version, levels, Math.ceil(size * 1.01) + column.length / 4 + 4096);
  encodeVariableChunks(encoder, offsetBits, offsets, bytes, version);
  return encoder.finish(values(describeVariable(offsetBits)));
}

/** Offsets that start at 0, with empty values in the slots of nulls, and the bytes they refer to. */
function gatherVariable(
  column: VariableColumn,
  definition: Uint16Array | null,
): { offsets: Int32Array; bytes: Uint8Array } {
  const { length } = column;
  const first = Number(column.offsets[0]);
  const last = Number(column.offsets[length]);
  if (last - first > MAXIMUM_POSITION) throw new UnsupportedError("more than 2 GiB of values in one page");
  const bytes = column.bytes.subarray(first, last);
  const offsets = new Int32Array(length + 1);
  if (column.offsets instanceof Int32Array) {
    const source = column.offsets;
    for (let index = 0; index <= length; index++) offsets[index] = source[index] - first;
  } else {
    // Differences fit 31 bits, so the low words alone give them.
    const words = new Int32Array(column.offsets.buffer, column.offsets.byteOffset, 2 * (length + 1));
    for (let index = 0; index <= length; index++) offsets[index] = words[2 * index] - words[0];
  }
  if (definition === null) return { offsets, bytes };
  for (let row = 0; row < length; row++) {
    if (definition[row] !== 0 && offsets[row + 1] !== offsets[row])
      return emptyNulls(offsets, bytes, definition);
  }
  return { offsets, bytes };
}

function emptyNulls(
  offsets: Int32Array,
  bytes: Uint8Array,
  definition: Uint16Array,
): { offsets: Int32Array; bytes: Uint8Array } {
  const kept = new Int32Array(offsets.length);
  const out = new Uint8Array(bytes.length);
  let position = 0;
  for (let row = 0; row < definition.length; ) {
    const first = row;
    const shift = position - offsets[first];
    for (; row < definition.length && definition[row] === 0; row++) kept[row + 1] = offsets[row + 1] + shift;
    if (row > first) {
      out.set(bytes.subarray(offsets[first], offsets[row]), position);
      position += offsets[row] - offsets[first];
    }
    for (; row < definition.length && definition[row] !== 0; row++) kept[row + 1] = position;
  }
  return { offsets: kept, bytes: out.subarray(0, position) };
}

/** The value all valid rows share, or null. */
function commonValue(
  offsets: Int32Array,
  bytes: Uint8Array,
  definition: Uint16Array | null,
): Uint8Array | null {
  const count = offsets.length - 1;
  const first = definition === null ? 0 : definition.indexOf(0);
  const start = offsets[first];
  const length = offsets[first + 1] - start;
  for (let row = first + 1; row < count; row++) {
    if (definition !== null && definition[row] !== 0) continue;
    const at = offsets[row];
    if (offsets[row + 1] - at !== length) return null;
    for (let byte = 0; byte < length; byte++) if (bytes[at + byte] !== bytes[start + byte]) return null;
  }
  return bytes.subarray(start, start + length);
}

function longest(offsets: Int32Array): number {
  let length = 0;
  for (let index = 1; index < offsets.length; index++) {
    length = Math.max(length, offsets[index] - offsets[index - 1]);
  }
  return length;
}

function encodeVariableChunks(
  encoder: MiniBlockEncoder,
  offsetBits: 32 | 64,
  offsets: Int32Array,
  bytes: Uint8Array,
  version: StructuralVersion,
): void {
  const valueCount = offsets.length - 1;
  const sizeOf = (start: number, count: number) =>
    variableChunkBytes(offsetBits, count, offsets[start + count] - offsets[start]);
  const fits = (start: number, count: number) =>
    count <= MAXIMUM_VARIABLE_CHUNK_VALUES && sizeOf(start, count) <= VARIABLE_CHUNK_BYTES[version];
  for (let start = 0; start < valueCount; ) {
    let count = valueCount - start;
    if (!fits(start, count)) {
      count = 2 ** Math.floor(Math.log2(Math.min(count - 1, MAXIMUM_VARIABLE_CHUNK_VALUES)));
      while (count > 2 && !fits(start, count)) count /= 2;
    }
    count = encoder.fittingValues(count);
    const at = encoder.beginChunk(count, [sizeOf(start, count)]);
    encodeVariableChunk(offsetBits, offsets, bytes, start, count, encoder.data, at);
    start += count;
  }
}

// --------------------------------------------------------------------------------------- dictionary-typed

function encodeDictionary(
  layout: DictionaryLayout,
  column: DictionaryColumn,
  pageLevels: PageLevels,
  version: StructuralVersion,
): EncodedPage {
  const { length, dictionary } = column;
  const { byteWidth } = layout.index;
  // A row is null where its slot is, and where the dictionary's entry is.
  const definition = dictionary.validity === null ? slotLevels(column) : slotLevels(decodeDictionary(column));
  // Of a leaf by itself the levels are those of its slots; in lists and structs the dictionary's nulls are in them.
  const levels = pageLevels.layers.length === 1 ? leafLevels(definition, length) : pageLevels;
  if (definition !== null && definition.indexOf(0) < 0) return encodeAllNull(levels, version);
  const indices = withoutNulls(column.indices.values, byteWidth, definition, length);
  const largest = largestIndex(indices, byteWidth);
  if (largest >= dictionary.length) {
    throw new InvalidInputError(`index ${largest} is outside a dictionary of ${dictionary.length} values`);
  }
  const encoder = new MiniBlockEncoder(version, levels, Math.ceil(length * (byteWidth + 0.2)) + 4096);
  const wordBits = (byteWidth * 8) as WordBits;
  const packed = worthPacking(wordBits, indices, length);
  if (packed) encodePacked(encoder, wordBits, indices, length);
  else encodeFlat(encoder, byteWidth, indices, length, version);
  return encoder.finish({
    ...values(packed ? describeInlineBitpacking(wordBits) : flat(byteWidth * 8)),
    dictionary: { ...encodeDictionaryValues(layout, dictionary), itemCount: dictionary.length },
  });
}

/** The largest of unsigned indices; a negative one is larger than any dictionary. */
function largestIndex(indices: Uint8Array, byteWidth: number): number {
  let largest = 0;
  if (byteWidth === 1) {
    for (let row = 0; row < indices.length; row++) if (indices[row] > largest) largest = indices[row];
    return largest;
  }
  const aligned = alignedBytes(indices, 4);
  if (byteWidth === 2) {
    const words = new Uint16Array(aligned.buffer, aligned.byteOffset, aligned.length / 2);
    for (let row = 0; row < words.length; row++) if (words[row] > largest) largest = words[row];
    return largest;
  }
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
  const stride = byteWidth / 4;
  for (let row = 0; row < words.length; row += stride) {
    const index = stride === 1 ? words[row] : words[row] + words[row + 1] * 2 ** 32;
    if (index > largest) largest = index;
  }
  return largest;
}

function encodeDictionaryValues(
  layout: DictionaryLayout,
  dictionary: VariableColumn | FixedColumn,
): { encoding: CompressiveEncoding; block: Uint8Array } {
  const definition = slotLevels(dictionary);
  if (dictionary.kind === "fixed") {
    const { byteWidth, length } = dictionary;
    return {
      encoding: flat(byteWidth * 8),
      block: withoutNulls(dictionary.values, byteWidth, definition, length),
    };
  }
  const { offsetBits } = layout.value as VariableLayout;
  const { offsets, bytes } = gatherVariable(dictionary, definition);
  return { encoding: describeVariable(offsetBits), block: encodeVariableBlock(offsetBits, offsets, bytes) };
}

// --------------------------------------------------------------------------------------- fixed-size lists

/** Nested fixed-size lists, taken apart. */
interface ListShape {
  /** Of each list, outer-most first. */
  readonly dimensions: readonly number[];
  /** Items of the inner-most lists in one value. */
  readonly itemsPerValue: number;
  /** Bits of such an item. */
  readonly itemBits: number;
}

function describeList(column: FixedSizeListColumn): ListShape {
  const dimensions: number[] = [];
  let node: FixedSizeListColumn["items"] = column;
  while (node.kind === "fixedSizeList") {
    dimensions.push(node.dimension);
    node = node.items;
  }
  return {
    dimensions,
    itemsPerValue: dimensions.reduce((product, dimension) => product * dimension, 1),
    itemBits: node.kind === "bits" ? 1 : node.byteWidth * 8,
  };
}

/** @param validities for each list, whether its items have a bitmap */
function listEncoding(shape: ListShape, validities: readonly boolean[]): CompressiveEncoding {
  return shape.dimensions.reduceRight<CompressiveEncoding>(
    (items, itemsPerValue, index) => ({
      fixedSizeList: { itemsPerValue, values: items, hasValidity: validities[index] ?? false },
    }),
    flat(shape.itemBits),
  );
}

/** The items of all columns where they are whole bytes and none is null, else null. */
function plainListPieces(columns: readonly FixedSizeListColumn[]): Uint8Array[] | null {
  const pieces: FixedColumn[] = [];
  for (const column of columns) {
    let node: FixedSizeListColumn["items"] = column.items;
    while (node.kind === "fixedSizeList" && node.validity === null) node = node.items;
    if (node.kind !== "fixed" || node.validity !== null) return null;
    pieces.push(node);
  }
  return piecesOf(pieces);
}

function encodeList(
  column: FixedSizeListColumn,
  levels: PageLevels,
  version: StructuralVersion,
): EncodedPage {
  const definition = slotLevels(column);
  const shape = describeList(column);
  const count = column.length;
  /** For each list whose items may be null, outer-most first. */
  const bitmaps: { bits: Uint8Array; itemsPerValue: number }[] = [];
  const validities: boolean[] = [];
  let node: FixedSizeListColumn["items"] = column;
  for (let itemsPerValue = 1; node.kind === "fixedSizeList"; ) {
    itemsPerValue *= node.dimension;
    node = node.items;
    validities.push(node.validity !== null);
    if (node.validity !== null)
      bitmaps.push({ bits: bitsFromZero(node.validity, node.length), itemsPerValue });
  }
  const encoding = listEncoding(shape, validities);
  const itemBytes = (shape.itemBits * shape.itemsPerValue) / 8;

  if (node.kind === "fixed" && itemBytes >= WIDE_VALUE_BYTES && mayZip(levels)) {
    const parts: ZippedPart[] = bitmaps.map(({ bits, itemsPerValue }) => ({
      bytes: spreadBits(bits, itemsPerValue, count),
      byteWidth: Math.ceil(itemsPerValue / 8),
    }));
    parts.push({ bytes: node.values, byteWidth: itemBytes });
    return encodeFullZipFixed(parts, count, levels, encoding);
  }

  const bits = node.kind === "bits" ? validBits(node, shape.itemsPerValue, definition) : null;
  const items = node.kind === "fixed" ? withoutNulls(node.values, itemBytes, definition, count) : null;
  const valueBits = itemBytes * 8 + bitmaps.reduce((sum, bitmap) => sum + bitmap.itemsPerValue, 0);
  const perChunk = chunkValues(valueBits / 8, version);
  if (version === "2.1" && (perChunk * valueBits) / 8 > VARIABLE_CHUNK_BYTES["2.1"]) {
    throw new UnsupportedError(`lists of ${itemBytes} bytes are too wide for a file of version 2.1`);
  }
  const encoder = new MiniBlockEncoder(version, levels, Math.ceil(count * (valueBits / 8 + 0.2)) + 4096);
  for (let start = 0; start < count; ) {
    const chunkCount = encoder.fittingValues(Math.min(perChunk, count - start));
    const buffers = bitmaps.map((bitmap) =>
      sliceBits(bitmap.bits, start * bitmap.itemsPerValue, chunkCount * bitmap.itemsPerValue),
    );
    if (bits !== null) {
      buffers.push(sliceBits(bits, start * shape.itemsPerValue, chunkCount * shape.itemsPerValue));
    } else if (items !== null) {
      buffers.push(items.subarray(start * itemBytes, (start + chunkCount) * itemBytes));
    }
    let at = encoder.beginChunk(
      chunkCount,
      buffers.map((buffer) => buffer.length),
    );
    for (const buffer of buffers) {
      encoder.data.set(buffer, at);
      at += Math.ceil(buffer.length / 8) * 8;
    }
    start += chunkCount;
  }
  return encoder.finish({ encoding, bufferCount: bitmaps.length + 1 });
}

/** The items of lists of bits from bit 0 on, with zeros for null lists. */
function validBits(items: BitsColumn, itemsPerValue: number, definition: Uint16Array | null): Uint8Array {
  const bits = sliceBits(items.bits, items.bitOffset, items.length);
  if (definition === null) return bits;
  for (let row = 0; row < definition.length; row++) {
    if (definition[row] === 0) continue;
    for (let bit = row * itemsPerValue; bit < (row + 1) * itemsPerValue; bit++) {
      bits[bit >>> 3] &= ~(1 << (bit & 7));
    }
  }
  return bits;
}

/** Bits in a bitmap of their own that starts and ends with a byte. */
function sliceBits(bits: Uint8Array, start: number, count: number): Uint8Array {
  const slice = new Uint8Array(Math.ceil(count / 8));
  copyBits(bits, start, slice, 0, count);
  return slice;
}

/** Every value's `bitsPerValue` bits, filled up to whole bytes. */
function spreadBits(bits: Uint8Array, bitsPerValue: number, count: number): Uint8Array {
  const byteWidth = Math.ceil(bitsPerValue / 8);
  const spread = new Uint8Array(count * byteWidth);
  for (let value = 0; value < count; value++) {
    copyBits(bits, value * bitsPerValue, spread, value * byteWidth * 8, bitsPerValue);
  }
  return spread;
}
