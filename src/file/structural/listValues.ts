/**
 * Writes fixed-size lists of fixed-width items. Wide lists, and lists that have neither levels nor null
 * items, go to full-zip pages. Other lists, and lists of bits, go to mini-block pages.
 */

import type { BitsColumn, FixedColumn, FixedSizeListColumn } from "../../arrow/columns/column.js";
import { shiftBits } from "../../arrow/columns/validity.js";
import { copyBits } from "../../bytes/bits.js";
import { UnsupportedError } from "../../errors.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import type { EncodedPage, StructuralVersion } from "../container/page.js";
import type { PageLevels } from "../events/levels.js";
import { flat, valuesPerChunk, WIDE_VALUE_BYTES } from "./fixedValues.js";
import { encodeFullZipFixed, encodeFullZipFlat, mayZip, type ZippedPart } from "./fullZipEncoder.js";
import { MiniBlockEncoder } from "./miniBlockEncoder.js";
import { forwardFill, sliceBits, slotLevels } from "./slots.js";

/** Maximum bytes of lists in a chunk of 2.1. */
const MAXIMUM_LIST_CHUNK_BYTES = 24 * 1024;

interface ListShape {
  /** Dimension of each list, outermost first. */
  readonly dimensions: readonly number[];
  /** Items of the innermost lists in one value. */
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

/** @param validities true for each list whose items have a bitmap */
function listEncoding(shape: ListShape, validities: readonly boolean[]): CompressiveEncoding {
  return shape.dimensions.reduceRight<CompressiveEncoding>(
    (items, itemsPerValue, index) => ({
      fixedSizeList: { itemsPerValue, values: items, hasValidity: validities[index] ?? false },
    }),
    flat(shape.itemBits),
  );
}

/** Encodes lists of whole bytes without nulls as a page of items alone; returns null for other lists. */
export function encodePlainLists(
  columns: readonly FixedSizeListColumn[],
  levels: PageLevels,
): EncodedPage | null {
  const pieces: Uint8Array[] = [];
  for (const column of columns) {
    let node: FixedSizeListColumn["items"] = column.items;
    while (node.kind === "fixedSizeList" && node.validity === null) node = node.items;
    if (node.kind !== "fixed" || node.validity !== null) return null;
    pieces.push(node.values.subarray(0, node.length * node.byteWidth));
  }
  const shape = describeList(columns[0]);
  return encodeFullZipFlat(pieces, shape.itemBits * shape.itemsPerValue, levels, listEncoding(shape, []));
}

interface ListParts {
  readonly shape: ListShape;
  readonly encoding: CompressiveEncoding;
  /** Item validity of each list that has one, outermost first. */
  readonly bitmaps: readonly { readonly bits: Uint8Array; readonly itemsPerValue: number }[];
  /** Items of the innermost lists. */
  readonly items: FixedColumn | BitsColumn;
}

function partsOf(column: FixedSizeListColumn): ListParts {
  const shape = describeList(column);
  const bitmaps: { bits: Uint8Array; itemsPerValue: number }[] = [];
  const validities: boolean[] = [];
  let node: FixedSizeListColumn["items"] = column;
  for (let itemsPerValue = 1; node.kind === "fixedSizeList"; ) {
    itemsPerValue *= node.dimension;
    node = node.items;
    validities.push(node.validity !== null);
    if (node.validity !== null) {
      const { bytes, bitOffset } = node.validity;
      bitmaps.push({ bits: shiftBits(bytes, bitOffset, 0, node.length), itemsPerValue });
    }
  }
  return { shape, encoding: listEncoding(shape, validities), bitmaps, items: node };
}

/** Returns the parts of full-zip values (bitmaps and items) and the encoding that describes them. */
export function zipList(column: FixedSizeListColumn): { parts: ZippedPart[]; encoding: CompressiveEncoding } {
  const { shape, encoding, bitmaps, items } = partsOf(column);
  const parts: ZippedPart[] = bitmaps.map(({ bits, itemsPerValue }) => ({
    bytes: spreadBits(bits, itemsPerValue, column.length),
    byteWidth: Math.ceil(itemsPerValue / 8),
  }));
  const byteWidth = Math.ceil((shape.itemBits * shape.itemsPerValue) / 8);
  const bytes =
    items.kind === "fixed" ? items.values : spreadBits(bitsOf(items), shape.itemsPerValue, column.length);
  parts.push({ bytes, byteWidth });
  return { parts, encoding };
}

const bitsOf = ({ bits, bitOffset, length }: BitsColumn): Uint8Array => sliceBits(bits, bitOffset, length);

/** @param exceeds true if the events between the lists are too many for any chunk */
export function encodeList(
  column: FixedSizeListColumn,
  levels: PageLevels,
  version: StructuralVersion,
  exceeds = false,
): EncodedPage {
  const { shape, encoding, bitmaps, items: node } = partsOf(column);
  const definition = slotLevels(column);
  const count = column.length;
  const itemBytes = (shape.itemBits * shape.itemsPerValue) / 8;

  const mustZip = exceeds || (version === "2.1" && 2 * itemBytes > MAXIMUM_LIST_CHUNK_BYTES);
  if (node.kind === "fixed" && (mustZip || (itemBytes >= WIDE_VALUE_BYTES && mayZip(levels)))) {
    return encodeFullZipFixed(zipList(column).parts, count, levels, encoding);
  }

  const bits = node.kind === "bits" ? validBits(node, shape.itemsPerValue, definition) : null;
  const items = node.kind === "fixed" ? forwardFill(node.values, itemBytes, definition, count) : null;
  const valueBits = itemBytes * 8 + bitmaps.reduce((sum, bitmap) => sum + bitmap.itemsPerValue, 0);
  const perChunk = valuesPerChunk(valueBits / 8, version);
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
    encoder.addChunk(chunkCount, buffers);
    start += chunkCount;
  }
  return encoder.finish({ encoding, bufferCount: bitmaps.length + 1 });
}

/** Copies the items of lists of bits from bit 0 on, with zeros for null lists. */
function validBits(items: BitsColumn, itemsPerValue: number, definition: Uint16Array | null): Uint8Array {
  const bits = bitsOf(items);
  if (definition === null) return bits;
  for (let row = 0; row < definition.length; row++) {
    if (definition[row] === 0) continue;
    for (let bit = row * itemsPerValue; bit < (row + 1) * itemsPerValue; bit++) {
      bits[bit >>> 3] &= ~(1 << (bit & 7));
    }
  }
  return bits;
}

/** Copies the `bitsPerValue` bits of every value, padded to whole bytes. */
function spreadBits(bits: Uint8Array, bitsPerValue: number, count: number): Uint8Array {
  const byteWidth = Math.ceil(bitsPerValue / 8);
  const spread = new Uint8Array(count * byteWidth);
  for (let value = 0; value < count; value++) {
    copyBits(bits, value * bitsPerValue, spread, value * byteWidth * 8, bitsPerValue);
  }
  return spread;
}
