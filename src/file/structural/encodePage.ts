/**
 * Encodes the rows of one column as a page, in the layout and under the compression that suit the values:
 *
 *     nothing but nulls                    constant
 *     one value in all valid rows          constant (2.2)
 *     fixed width                          mini-block, where packing, runs or a page dictionary save (fixedValues.ts);
 *                                          full-zip where they don't and no row is null, because such a page is the
 *                                          values' memory as it is
 *     bits                                 mini-block
 *     fixed-size lists                     full-zip; mini-block for bits, and for small ones with nulls
 *     strings, binaries                    mini-block; full-zip where a value is long (variableValues.ts)
 *     dictionary-typed                     mini-block over a page dictionary, always
 *
 * Slots of null rows are written as the value before or as empty values, so that equal rows make equal pages. What
 * a column's metadata asks for goes before what a sample says (compressionOptions.ts). Compression is decided on a
 * sample: values that don't compress cost next to nothing.
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
import { concatColumns, decodeDictionary, sliceColumn } from "../../arrow/rearrange.js";
import { leafOf } from "../../arrow/spine.js";
import { copyBits } from "../../bytes/bits.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { type CompressiveEncoding, RepDefLayer } from "../../format/encodings.js";
import { alignedBytes } from "../compression/aligned.js";
import { type CompressionOptions, compressionOptions } from "../compression/compressionOptions.js";
import { describeVariable, encodeVariableBlock, variableChunkBytes } from "../compression/variable.js";
import { isListLayer, leafLevels, levelsOfValidity, type PageLevels } from "../levels.js";
import { type ShreddedColumn, shredColumn } from "../nesting.js";
import type { EncodedPage, StructuralVersion } from "../page.js";
import { encodeAllNull, encodeConstant } from "./constant.js";
import {
  chooseFixedEncodings,
  chunkValues,
  compressDictionary,
  encodeFixedValues,
  type FixedEncoding,
  flat,
} from "./fixedValues.js";
import { encodeFullZipFixed, encodeFullZipFlat, encodeFullZipVariable, type ZippedPart } from "./fullZip.js";
import { MiniBlockEncoder, type MiniBlockValues, maximumChunkEvents } from "./miniBlock.js";
import {
  commonValue,
  compressEach,
  encodeVariableChunks,
  encodeVariableDictionary,
  gatherVariable,
  longest,
  storeValues,
} from "./variableValues.js";

export interface EncodePageOptions {
  readonly version: StructuralVersion;
  readonly nullable: boolean;
  /** The column, for messages. */
  readonly path: string;
  /** Arrow field metadata of the column. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** What a page is encoded for. */
interface PageTarget {
  readonly version: StructuralVersion;
  readonly compression: CompressionOptions;
}

/** Bytes of a chunk's lists in 2.1. */
const MAXIMUM_LIST_CHUNK_BYTES = 24 * 1024;
/** The reference takes wider values for full-zip only. */
const MAXIMUM_MINI_BLOCK_VALUE_BYTES = 256;
/** Fixed-width values with nulls go to full-zip pages from this width on. */
const WIDE_VALUE_BYTES = 128;
/** Longest value that is put into chunks because the column's metadata asks for them. */
const MAXIMUM_FORCED_VALUE_BYTES = 8 * 1024;

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
  const target: PageTarget = { version, compression: compressionOptions(options.metadata, options.path) };
  if (layout.kind === "list" || layout.kind === "struct") {
    const leaf = leafOf(layout);
    const shredded = shredColumn(layout, concatColumns(columns), options);
    return cutPages(shredded, version).map((part) => encodeLeaf(leaf, part, target));
  }
  return [encodeRows(layout, columns, rowCount, target)];
}

/** A page of a column that is in no list and no struct. */
function encodeRows(
  layout: LeafLayout,
  columns: readonly Column[],
  rowCount: number,
  target: PageTarget,
): EncodedPage {
  let nullCount = 0;
  for (const { validity } of columns) nullCount += validity?.nullCount ?? 0;
  const plain = leafLevels(null, rowCount);
  if (layout.kind === "null" || nullCount === rowCount) return encodeAllNull(plain, target.version);
  if (layout.kind === "fixed" && nullCount === 0) {
    return encodeFixedPieces(layout, columns as readonly FixedColumn[], plain, target);
  }
  if (layout.kind === "fixedSizeList" && nullCount === 0) {
    const pieces = plainListPieces(columns as readonly FixedSizeListColumn[]);
    if (pieces !== null) {
      const shape = describeList(columns[0] as FixedSizeListColumn);
      return encodeFullZipFlat(pieces, shape.itemBits * shape.itemsPerValue, plain, listEncoding(shape, []));
    }
  }
  const values = concatColumns(columns) as LeafColumn;
  return encodeLeaf(layout, { values, levels: leafLevels(slotLevels(values), rowCount) }, target);
}

/** A page of the values of all visible events. */
function encodeLeaf(
  layout: LeafLayout,
  { values: column, levels }: ShreddedColumn,
  target: PageTarget,
): EncodedPage {
  if (column.kind === "null" || (column.validity?.nullCount ?? 0) === column.length) {
    return encodeAllNull(levels, target.version);
  }
  switch (column.kind) {
    case "fixed":
      return encodeFixed(layout, column, levels, target);
    case "bits":
      return encodeBits(layout, column, levels, target.version);
    case "variable":
      return encodeVariable(layout as VariableLayout, column, levels, target);
    case "fixedSizeList":
      return encodeList(column, levels, target.version);
    case "dictionary":
      return encodeDictionary(layout as DictionaryLayout, column, levels, target);
  }
}

/**
 * Pages of whole rows: one where events without values nowhere lie together in such numbers that a chunk may not
 * hold them, else pages so small that they do find room.
 */
function cutPages(shredded: ShreddedColumn, version: StructuralVersion): ShreddedColumn[] {
  const { levels, values } = shredded;
  const { repetition, definition, eventCount, listDepth, maximumVisible } = levels;
  const limit = maximumChunkEvents(version, levels);
  if (repetition === null || definition === null || values.length === 0) return [shredded];
  // A chunk has two values at least, so that three runs of events without values may come together.
  const mostRun = Math.floor(limit / 4);
  if (eventCount - values.length <= mostRun || longestInvisible(definition, maximumVisible) <= mostRun) {
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
        visibleCount: endValue - firstValue,
        repetition: repetition.slice(firstEvent, endEvent),
        definition: definition.slice(firstEvent, endEvent),
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
    if (definition[event] <= maximumVisible) value++;
  }
  cut(eventCount, value, rows);
  return pages;
}

/** Most events without values one behind the other. */
function longestInvisible(definition: Uint16Array, maximumVisible: number): number {
  let most = 0;
  let run = 0;
  for (let event = 0; event < definition.length; event++) {
    run = definition[event] > maximumVisible ? run + 1 : 0;
    if (run > most) most = run;
  }
  return most;
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

const values = (encoding: CompressiveEncoding): MiniBlockValues => ({ encoding, bufferCount: 1 });

// ------------------------------------------------------------------------------------------- fixed width

/** Fixed-width values without nulls; they are joined only if they get encoded. */
function encodeFixedPieces(
  layout: LeafLayout,
  columns: readonly FixedColumn[],
  levels: PageLevels,
  target: PageTarget,
): EncodedPage {
  const { byteWidth } = columns[0];
  const largest = columns.reduce((a, b) => (b.length > a.length ? b : a));
  const choices = chooseFixedEncodings(byteWidth, largest.values, largest.length, target.compression);
  if (choices[0] === "flat" && target.compression.structure !== "miniblock" && !oneValue(largest, null)) {
    return encodeFullZipFlat(piecesOf(columns), byteWidth * 8, levels, flat(byteWidth * 8));
  }
  return encodeFixed(layout, concatColumns(columns) as FixedColumn, levels, target, choices);
}

const piecesOf = (columns: readonly FixedColumn[]): Uint8Array[] =>
  columns.map((column) => column.values.subarray(0, column.length * column.byteWidth));

/** @param known what was found to suit the values, where somebody looked */
function encodeFixed(
  layout: LeafLayout,
  column: FixedColumn,
  levels: PageLevels,
  { version, compression }: PageTarget,
  known?: readonly FixedEncoding[],
): EncodedPage {
  const { byteWidth, length } = column;
  const definition = slotLevels(column);
  if (version !== "2.1" && levels.listDepth === 0 && oneValue(column, definition)) {
    const row = definition === null ? 0 : definition.indexOf(0);
    const value = column.values.slice(row * byteWidth, (row + 1) * byteWidth);
    return encodeConstant(value, layout, levels);
  }
  const plain = withoutNulls(column.values, byteWidth, definition, length);
  const choices = known ?? chooseFixedEncodings(byteWidth, plain, length, compression);
  if (choices[0] === "flat" && compression.structure !== "miniblock") {
    if (levels.definition === null && levels.repetition === null) {
      return encodeFullZipFlat([plain], byteWidth * 8, levels, flat(byteWidth * 8));
    }
    if ((byteWidth >= WIDE_VALUE_BYTES || compression.structure === "fullzip") && mayZip(levels)) {
      return encodeFullZipFixed([{ bytes: plain, byteWidth }], length, levels, flat(byteWidth * 8));
    }
  }
  const expectedBytes = Math.ceil(length * (byteWidth + 0.2)) + 4096;
  const encoder = new MiniBlockEncoder(version, levels, expectedBytes);
  return encoder.finish(encodeFixedValues(choices, encoder, byteWidth, plain, length, version, compression));
}

/**
 * The values, with that of the value before in the slots of nulls, so that they neither widen nor interrupt anything;
 * copied where that is any change; whole values only.
 */
function withoutNulls(
  bytes: Uint8Array,
  byteWidth: number,
  definition: Uint16Array | null,
  count: number,
): Uint8Array {
  const exact = bytes.subarray(0, count * byteWidth);
  if (definition === null) return exact;
  const copy = exact.slice();
  const firstValid = definition.indexOf(0);
  if (firstValid < 0) return copy.fill(0);
  for (let row = 0; row < count; row++) {
    if (definition[row] === 0) continue;
    const source = (row < firstValid ? firstValid : row - 1) * byteWidth;
    for (let byte = 0, at = row * byteWidth; byte < byteWidth; byte++) copy[at + byte] = copy[source + byte];
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
  { version, compression }: PageTarget,
): EncodedPage {
  const definition = slotLevels(column);
  const values = gatherVariable(column, definition);
  const { offsets, bytes } = values;
  const { offsetBits, text } = layout;
  const mayBeConstant = version !== "2.1" && levels.listDepth === 0;
  const value = mayBeConstant ? commonValue(offsets, bytes, definition) : null;
  if (value !== null) return encodeConstant(value, layout, levels);

  const newEncoder = () => new MiniBlockEncoder(version, levels, column.length * 2 + 4096);
  const indexed = encodeVariableDictionary(newEncoder, values, definition, offsetBits, version, compression);
  if (indexed !== null) return indexed.encoder.finish(indexed.values);

  const stored = storeValues(values, offsetBits, text, compression);
  const zips =
    compression.structure === null
      ? longest(offsets) >= MAXIMUM_MINI_BLOCK_VALUE_BYTES
      : compression.structure === "fullzip" || longest(offsets) > MAXIMUM_FORCED_VALUE_BYTES;
  // In 2.1 the chunks that would do instead hold no values of this length.
  const mustZip = version === "2.1" && longest(stored.offsets) > MAXIMUM_FORCED_VALUE_BYTES;
  if (zips && (mayZip(levels) || mustZip)) {
    const zipped = stored.compressor === null ? stored : compressEach(stored, stored.compressor);
    return encodeFullZipVariable(offsetBits, zipped.offsets, zipped.bytes, levels, stored.encoding);
  }
  const size = variableChunkBytes(offsetBits, column.length, stored.bytes.length);
  const encoder = new MiniBlockEncoder(version, levels, Math.ceil(size * 1.01) + column.length / 4 + 4096);
  return encoder.finish(encodeVariableChunks(encoder, stored, offsetBits, version));
}

// --------------------------------------------------------------------------------------- dictionary-typed

function encodeDictionary(
  layout: DictionaryLayout,
  column: DictionaryColumn,
  pageLevels: PageLevels,
  { version, compression }: PageTarget,
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
  const choices = chooseFixedEncodings(byteWidth, indices, length, compression).filter(
    (choice) => choice !== "dictionary",
  );
  const { encoding, block } = encodeDictionaryValues(layout, dictionary);
  return encoder.finish({
    ...encodeFixedValues(choices, encoder, byteWidth, indices, length, version, compression),
    dictionary: { ...compressDictionary(encoding, block, version), itemCount: dictionary.length },
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
  if (version === "2.1" && (perChunk * valueBits) / 8 > MAXIMUM_LIST_CHUNK_BYTES) {
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
