/**
 * Encodes the rows of one column as a page, in the layout and with the compression that suit the values:
 *
 *     nothing but nulls          constant
 *     one value in all valid     constant (2.2)
 *       rows
 *     fixed width                mini-block, if packing, runs or a dictionary save bytes (fixedValues.ts);
 *                                full-zip if not and no row is null: such a page is the values' memory
 *     bits                       mini-block
 *     fixed-size lists           full-zip; mini-block for bits, and for small lists with nulls
 *     strings, binaries          mini-block; full-zip if a value is long (variableValues.ts)
 *     dictionary-typed           mini-block over a page dictionary, always
 *     packed structs             mini-block; full-zip if members are text or lists (2.2)
 *     structs without members    constant (emptyStruct.ts)
 *
 * The slot of a null row holds the value before it or an empty value, so equal rows make equal pages. A
 * column's metadata takes precedence over the choice by a sample (compressionOptions.ts). A sample decides
 * about compression: values that do not compress cost next to nothing.
 */

import {
  type BitsColumn,
  type Column,
  type DictionaryLayout,
  type FixedColumn,
  type FixedSizeListColumn,
  isEmptyStruct,
  type Layout,
  type LeafColumn,
  type LeafLayout,
  type PackedStructLayout,
  type VariableLayout,
} from "../../arrow/columns/column.js";
import { concatColumns, concatInSteps } from "../../arrow/columns/concatColumns.js";
import { isNested, leafOf } from "../../arrow/columns/spine.js";
import type { Steps } from "../../async/eventLoop.js";
import { compressionOptions } from "../compression/compressionOptions.js";
import { valuesOfColumns } from "../compression/fixed.js";
import type { EncodedPage, StructuralVersion } from "../container/page.js";
import { leafLevels, type PageLevels } from "../events/levels.js";
import { type ShreddedColumn, shredColumn } from "../events/shredColumn.js";
import { encodeAllNull, encodeConstant } from "../structural/constantEncoder.js";
import { encodeEmptyStructs } from "../structural/emptyStruct.js";
import {
  chooseFixedEncodings,
  encodeFixedValues,
  encodePackedPieces,
  type FixedEncoding,
  flat,
  valuesPerChunk,
  WIDE_VALUE_BYTES,
  wordBitsOf,
} from "../structural/fixedValues.js";
import { encodeFullZipFixed, encodeFullZipFlat, mayZip } from "../structural/fullZipEncoder.js";
import { encodeList, encodePlainLists } from "../structural/listValues.js";
import { MiniBlockEncoder } from "../structural/miniBlockEncoder.js";
import { forwardFill, sliceBits, slotLevels } from "../structural/slots.js";
import { cutPages, exceedsChunks } from "./cutPages.js";
import { variableEncoder } from "./encoders.js";
import { MAXIMUM_FORCED_VALUE_BYTES, type PageTarget } from "./pageTarget.js";

interface EncodePageOptions {
  readonly version: StructuralVersion;
  readonly nullable: boolean;
  /** The column, for messages. */
  readonly path: string;
  /** Arrow field metadata of the column. */
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * Encodes `rowCount` rows as one page, or as several if lists are null or empty so often that one page cannot
 * hold them. A page of many megabytes is encoded in several steps.
 * @param layout a spine: one leaf and the lists and structs around it
 * @param columns the rows, in one or more columns of the same layout
 * @throws UnsupportedError for values that no page can hold, TableSchemaValidationError for nulls if the
 *   layout allows none
 */
export function* encodePages(
  layout: Layout,
  columns: readonly Column[],
  rowCount: number,
  options: EncodePageOptions,
): Steps<EncodedPage[]> {
  const { version, path } = options;
  const target: PageTarget = { path, version, compression: compressionOptions(options.metadata, path) };
  if (isEmptyStruct(leafOf(layout))) return [encodeEmptyStructs(layout, columns, rowCount, options)];
  if (isNested(layout)) {
    const leaf = leafOf(layout);
    const shredded = shredColumn(layout, concatColumns(columns), options);
    const pages: EncodedPage[] = [];
    for (const part of cutPages(shredded, version)) {
      yield;
      pages.push(yield* encodeLeaf(leaf, part, { ...target, exceeds: exceedsChunks(part.levels, version) }));
    }
    return pages;
  }
  return [yield* encodeRows(layout, columns, rowCount, target)];
}

/** Encodes a column that is in no list and no struct. */
function* encodeRows(
  layout: LeafLayout,
  columns: readonly Column[],
  rowCount: number,
  target: PageTarget,
): Steps<EncodedPage> {
  let nullCount = 0;
  for (const { validity } of columns) nullCount += validity?.nullCount ?? 0;
  const plain = leafLevels(null, rowCount);
  if (layout.kind === "null" || nullCount === rowCount) return encodeAllNull(plain, target.version);
  if (layout.kind === "fixed" && nullCount === 0) {
    return encodeFixedPieces(layout, columns as readonly FixedColumn[], plain, target);
  }
  if (layout.kind === "fixedSizeList" && nullCount === 0) {
    const page = encodePlainLists(columns as readonly FixedSizeListColumn[], plain);
    if (page !== null) return page;
  }
  const values = (yield* concatInSteps(columns)) as LeafColumn;
  return yield* encodeLeaf(layout, { values, levels: leafLevels(slotLevels(values), rowCount) }, target);
}

/** Encodes the values of all visible events. */
function* encodeLeaf(
  layout: LeafLayout,
  { values: column, levels }: ShreddedColumn,
  target: PageTarget,
): Steps<EncodedPage> {
  if (column.kind === "null" || (column.validity?.nullCount ?? 0) === column.length) {
    return encodeAllNull(levels, target.version);
  }
  switch (column.kind) {
    case "fixed":
      return encodeFixed(layout, column, levels, target);
    case "bits":
      return encodeBits(layout, column, levels, target);
    case "variable":
      return yield* variableEncoder.made.encodeVariable(layout as VariableLayout, column, levels, target);
    case "fixedSizeList":
      return encodeList(column, levels, target.version, target.exceeds);
    case "packedStruct":
      return variableEncoder.made.encodePacked(layout as PackedStructLayout, column, levels, target);
    case "dictionary":
      return variableEncoder.made.encodeDictionaryColumn(layout as DictionaryLayout, column, levels, target);
  }
}

// ------------------------------------------------------------------------------------------- fixed width

/** Encodes fixed-width values without nulls. Joins them only for encodings that need all of them together. */
function encodeFixedPieces(
  layout: LeafLayout,
  columns: readonly FixedColumn[],
  levels: PageLevels,
  target: PageTarget,
): EncodedPage {
  const { byteWidth } = columns[0];
  const largest = columns.reduce((a, b) => (b.length > a.length ? b : a));
  const choices = chooseFixedEncodings(byteWidth, largest.values, largest.length, target.compression);
  const [choice] = choices;
  if ((choice === "flat" || choice === "packed") && !oneValue(largest, null)) {
    const pieces = valuesOfColumns(columns);
    const wordBits = wordBitsOf(byteWidth);
    if (choice === "packed" && wordBits !== null) {
      const encoder = new MiniBlockEncoder(target.version, levels, 0);
      return encoder.finish(encodePackedPieces(encoder, wordBits, pieces));
    }
    if (choice === "flat" && target.compression.structure !== "miniblock") {
      return encodeFullZipFlat(pieces, byteWidth * 8, levels, flat(byteWidth * 8));
    }
  }
  return encodeFixed(layout, concatColumns(columns) as FixedColumn, levels, target, choices);
}

/** @param preferred encodings that suit the values, if they are chosen already */
function encodeFixed(
  layout: LeafLayout,
  column: FixedColumn,
  levels: PageLevels,
  { version, compression, exceeds }: PageTarget,
  preferred?: readonly FixedEncoding[],
): EncodedPage {
  const { byteWidth, length } = column;
  const definition = slotLevels(column);
  if (version !== "2.1" && levels.listDepth === 0 && oneValue(column, definition)) {
    const row = definition === null ? 0 : definition.indexOf(0);
    const value = column.values.slice(row * byteWidth, (row + 1) * byteWidth);
    return encodeConstant(value, layout, levels);
  }
  const plain = forwardFill(column.values, byteWidth, definition, length);
  const choices = preferred ?? chooseFixedEncodings(byteWidth, plain, length, compression);
  const mayChoose = choices[0] === "flat" && compression.structure !== "miniblock";
  if (mayChoose && levels.definition === null && levels.repetition === null) {
    return encodeFullZipFlat([plain], byteWidth * 8, levels, flat(byteWidth * 8));
  }
  // In 2.1, chunks cannot hold values of this width instead.
  const mustZip = exceeds === true || (version === "2.1" && byteWidth > MAXIMUM_FORCED_VALUE_BYTES);
  const zips = byteWidth >= WIDE_VALUE_BYTES || compression.structure === "fullzip";
  if (mustZip || (mayChoose && zips && mayZip(levels))) {
    return encodeFullZipFixed([{ bytes: plain, byteWidth }], length, levels, flat(byteWidth * 8));
  }
  const encoder = new MiniBlockEncoder(version, levels, 0);
  const input = { encoder, byteWidth, bytes: plain, count: length, options: compression };
  return encoder.finish(encodeFixedValues(choices, input));
}

/** True if all valid rows hold the same bytes. There is at least one valid row. */
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
  { version, exceeds }: PageTarget,
): EncodedPage {
  const { length } = column;
  const definition = slotLevels(column);
  const bits = sliceBits(column.bits, column.bitOffset, length);
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
  if (exceeds === true) {
    // One byte per bit: full-zip values cannot be bits.
    const bytes = Uint8Array.from({ length }, (_, row) => (bits[row >>> 3] >>> (row & 7)) & 1);
    return encodeFullZipFixed([{ bytes, byteWidth: 1 }], length, levels, flat(8));
  }
  const encoder = new MiniBlockEncoder(version, levels, bits.length * 2 + 4096);
  const perChunk = valuesPerChunk(1 / 8, version);
  for (let start = 0; start < length; ) {
    const chunkCount = encoder.fittingValues(Math.min(perChunk, length - start));
    encoder.addChunk(chunkCount, [sliceBits(bits, start, chunkCount)]);
    start += chunkCount;
  }
  return encoder.finish({ encoding: flat(1), bufferCount: 1 });
}
