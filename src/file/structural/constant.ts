/**
 * The constant layout: a page without values, or (2.2) with one value that all its valid slots share.
 *
 *     buffers                          value
 *     none, or repetition, definition  `inlineValue`, its little-endian bytes (a boolean is one byte);
 *                                      without it, there is no value and every slot is null
 *     scalar, or scalar, rep., def.    in the scalar: u32 k, k × u32 sizes, then the k buffers of an Arrow
 *                                      array of one element, without validity
 *
 * Levels are plain u16 words unless the page names a compression for them. An empty buffer means that the
 * page has no such levels.
 */

import type {
  Column,
  FixedColumn,
  FixedSizeListColumn,
  LeafLayout,
  PackedMember,
  PackedMemberColumn,
} from "../../arrow/columns/column.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { alignedBytes } from "../../bytes/aligned.js";
import type { CompressiveEncoding, ConstantLayout } from "../../format/encodings.js";
import { MAXIMUM_POSITION, widenOffsets } from "../compression/variable.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import { type Layers, type Levels, levelDecoder, type StructuralPage } from "../events/levels.js";
import type { PageEvents } from "./miniBlock.js";

/** `allNull` is true for a page without a value: all its slots are null. */
type ConstantEvents = PageEvents & { readonly allNull: boolean };

/** Bytes that a column in lists may always take: the true number of values is unknown. */
const UNQUESTIONED_BYTES = 2 ** 28;

/**
 * Decodes a page of `rowCount` rows, a number that the caller has checked.
 * @param keepsOne stores single values once, in a dictionary
 */
export function decodeConstant(
  layout: LeafLayout,
  { page, layers, buffers, origin }: StructuralPage<ConstantLayout>,
  rowCount: number,
  keepsOne = false,
): ConstantEvents {
  if (buffers.length > 3) throw corruptPage(origin, `constant page with ${buffers.length} buffers`);
  const hasScalar = buffers.length % 2 === 1;
  const streams = hasScalar ? buffers.slice(1) : buffers;
  const levels: Levels =
    streams.length === 0
      ? { repetition: null, definition: null }
      : {
          repetition: decodeStream(streams[0], page.repCompression, page.repValueCount, origin),
          definition: decodeStream(streams[1], page.defCompression, page.defValueCount, origin),
        };
  const slotCount = countSlots(levels, layers, rowCount);
  if (layers.listDepth > 0) {
    const limit = Math.max(UNQUESTIONED_BYTES, rowCount * 1024);
    if (slotCount * leastBytes(layout) > limit) {
      throw corruptPage(origin, `${slotCount} equal values in the lists of ${rowCount} rows`);
    }
  }
  const isOnce = keepsOne && (layout.kind === "fixed" || layout.kind === "variable");
  const repeatValue = (value: Uint8Array): Column =>
    isOnce
      ? repeatedOnce(repeat(layout, value, 1, origin), slotCount)
      : repeat(layout, value, slotCount, origin);
  if (hasScalar) {
    if (page.inlineValue !== undefined) throw corruptPage(origin, "constant page with two values");
    const value = decodeScalar(layout, buffers[0], origin);
    return { values: repeatValue(value), levels, allNull: false };
  }
  if (page.inlineValue !== undefined) {
    return { values: repeatValue(page.inlineValue), levels, allNull: false };
  }
  return { values: blankColumn(layout, slotCount, origin), levels, allNull: true };
}

/** Returns a column of one value as a dictionary, whose indices are all the same. */
function repeatedOnce(value: Column, length: number): Column {
  if (value.kind !== "fixed" && value.kind !== "variable") return value;
  const values = new Uint8Array(length);
  const indices: FixedColumn = { kind: "fixed", length, validity: null, byteWidth: 1, values };
  return { kind: "dictionary", length, validity: null, indices, dictionary: value };
}

/** Number of values of a page: one for each visible event. */
function countSlots({ repetition, definition }: Levels, layers: Layers, rowCount: number): number {
  if (layers.listDepth === 0) return rowCount;
  if (definition === null) return repetition?.length ?? rowCount;
  let count = 0;
  for (let event = 0; event < definition.length; event++) {
    if (definition[event] <= layers.maximumVisible) count++;
  }
  return count;
}

/** Minimum bytes of a value in memory. */
function leastBytes(layout: LeafLayout): number {
  switch (layout.kind) {
    case "fixed":
      return layout.byteWidth;
    case "variable":
      return layout.offsetBits / 8;
    case "fixedSizeList":
      return layout.dimension * leastBytes(layout.item);
    case "dictionary":
      return layout.index.byteWidth;
    case "packedStruct":
      return layout.children.reduce((sum, child) => sum + leastBytes(child.layout), 0);
    case "bits":
    case "null":
      return 1 / 8;
  }
}

function decodeStream(
  bytes: Uint8Array,
  compression: CompressiveEncoding | undefined,
  count: number,
  origin: PageOrigin,
): Uint16Array | null {
  if (bytes.length === 0) return null;
  if (compression === undefined) {
    if (bytes.length % 2 !== 0) throw corruptPage(origin, `${bytes.length} bytes of levels`);
    const aligned = alignedBytes(bytes, 2);
    return new Uint16Array(aligned.buffer, aligned.byteOffset, aligned.length / 2);
  }
  const decoder = levelDecoder(compression, origin);
  // The densest encoding of levels stores a unit of 1024 in no bytes, but never a whole page.
  if (count > 2 ** 24 && count > bytes.length * 2 ** 16) {
    throw corruptPage(origin, `${count} levels in ${bytes.length} bytes`);
  }
  const levels = new Uint16Array(count);
  decoder.decode([bytes], 0, count, new Uint8Array(levels.buffer), 0);
  return levels;
}

/** Returns the bytes of the one element of an Arrow array. */
function decodeScalar(layout: LeafLayout, scalar: Uint8Array, origin: PageOrigin): Uint8Array {
  const view = new DataView(scalar.buffer, scalar.byteOffset, scalar.byteLength);
  const partCount = scalar.length >= 4 ? view.getUint32(0, true) : 0;
  if (partCount !== 1 && partCount !== 2) throw corruptPage(origin, `scalar of ${partCount} buffers`);
  const headerBytes = 4 + 4 * partCount;
  if (scalar.length < headerBytes) throw corruptPage(origin, "scalar without sizes");
  const firstSize = view.getUint32(4, true);
  const lastSize = partCount === 2 ? view.getUint32(8, true) : 0;
  if (headerBytes + firstSize + lastSize !== scalar.length) {
    throw corruptPage(origin, `scalar of ${scalar.length} bytes with parts of ${firstSize} and ${lastSize}`);
  }
  if (layout.kind !== "variable") {
    if (partCount !== 1) throw corruptPage(origin, "scalar of fixed width in two buffers");
    return scalar.subarray(headerBytes);
  }
  const offsetBytes = layout.offsetBits / 8;
  if (partCount !== 2 || firstSize !== 2 * offsetBytes) {
    throw corruptPage(origin, `scalar of variable width with ${firstSize} bytes of offsets`);
  }
  const start = view.getUint32(headerBytes, true);
  const end = view.getUint32(headerBytes + offsetBytes, true);
  const highWords =
    offsetBytes === 8 ? view.getUint32(headerBytes + 4, true) | view.getUint32(headerBytes + 12, true) : 0;
  if (highWords !== 0 || start > end || end > lastSize) {
    throw corruptPage(origin, "offsets of a scalar leave its bytes");
  }
  return scalar.subarray(headerBytes + firstSize + start, headerBytes + firstSize + end);
}

function repeat(layout: LeafLayout, value: Uint8Array, count: number, origin: PageOrigin): Column {
  switch (layout.kind) {
    case "fixed": {
      const { byteWidth } = layout;
      if (value.length !== byteWidth) {
        throw corruptPage(
          origin,
          `constant of ${value.length} bytes in a column of ${byteWidth}-byte values`,
        );
      }
      const values = repeatBytes(value, count, origin);
      return { kind: "fixed", byteWidth, length: count, validity: null, values };
    }
    case "bits": {
      if (value.length !== 1 || value[0] > 1) throw corruptPage(origin, "a constant that is not a boolean");
      const bits = allocate(Math.ceil(count / 8), origin).fill(value[0] === 1 ? 0xff : 0);
      return { kind: "bits", length: count, validity: null, bits, bitOffset: 0 };
    }
    case "variable": {
      const bytes = repeatBytes(value, count, origin);
      const ends = new Int32Array(count + 1);
      for (let index = 1; index <= count; index++) ends[index] = index * value.length;
      const offsets = layout.offsetBits === 32 ? ends : widenOffsets(ends);
      return { kind: "variable", length: count, validity: null, offsets, bytes };
    }
    case "fixedSizeList":
      throw unsupportedPage(origin, "a constant page for a column of fixed-size lists");
    case "dictionary":
      throw unsupportedPage(origin, "a constant page for a dictionary-typed column");
    case "packedStruct":
      throw unsupportedPage(origin, "a constant page for a column of packed structs");
    case "null":
      throw corruptPage(origin, "a value in a column of type null");
  }
}

function repeatBytes(value: Uint8Array, count: number, origin: PageOrigin): Uint8Array {
  const bytes = allocate(value.length * count, origin);
  if (bytes.length > 0) bytes.set(value);
  for (let filled = value.length; filled < bytes.length; filled *= 2) bytes.copyWithin(filled, 0, filled);
  return bytes;
}

function allocate(byteLength: number, origin: PageOrigin): Uint8Array {
  if (byteLength > MAXIMUM_POSITION) throw unsupportedPage(origin, "more than 2 GiB of values");
  return new Uint8Array(byteLength);
}

/** Returns a column of `length` slots that are never read: all of them are null. */
function blankColumn(layout: LeafLayout, length: number, origin: PageOrigin): Column {
  if (layout.kind === "packedStruct") {
    const blank = ({ layout }: PackedMember) => blankColumn(layout, length, origin) as PackedMemberColumn;
    return { kind: "packedStruct", length, validity: null, children: layout.children.map(blank) };
  }
  if (layout.kind === "fixedSizeList") {
    const { dimension, item } = layout;
    const items = blankColumn(item, length * dimension, origin) as FixedSizeListColumn["items"];
    return { kind: "fixedSizeList", dimension, length, validity: null, items };
  }
  if (length * leastBytes(layout) > MAXIMUM_POSITION) {
    throw unsupportedPage(origin, "more than 2 GiB of values");
  }
  return { ...nullColumn(layout, length), validity: null };
}
