/**
 * Pages of files of version 0.1. Nothing is compressed, and only texts and binaries can be null:
 *
 *     fixed, bits      the values; bits with the lowest first
 *     fixed-size list  the items of all lists
 *     variable         the bytes of the values, then one more i64 than there are values: positions in the
 *                      file where they begin and end. An empty value is null
 *     dictionary       the indices; the values lie elsewhere, in a page of their own
 *     list             one more i32 (large lists: i64) than there are lists: where they begin and end
 *     struct           nothing
 *
 * The pages of a leaf and of the lists around it in one batch become one page of whole rows.
 */

import type {
  Column,
  DictionaryColumn,
  FixedLayout,
  FixedSizeListColumn,
  Layout,
  LeafLayout,
  ListColumn,
  VariableColumn,
  VariableLayout,
} from "../../arrow/columns/column.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { validityFrom } from "../../arrow/columns/validity.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import type { LegacyFile } from "../container/legacyFile.js";
import {
  corruptPage,
  type LegacyPages,
  type LegacyPlace,
  type PageOrigin,
  unsupportedPage,
} from "../container/page.js";
import type { DataFileMetadata, DataPage } from "../container/reader.js";

/** Leaf to read, as the ids of its field and of the lists around it. */
export interface LegacyLeaf {
  readonly fieldId: number;
  /** Outermost first. */
  readonly listFieldIds: readonly number[];
  /** A spine down to the leaf. */
  readonly layout: Layout;
}

const OFFSET_BYTES = 8;

/**
 * Returns the pages of whole rows of a leaf.
 * @throws CorruptFileError for pages that are missing or outside the file
 */
export function legacyPages(file: DataFileMetadata, legacy: LegacyFile, leaf: LegacyLeaf): DataPage[] {
  const pages: DataPage[] = [];
  const { batchStarts } = legacy;
  for (let batch = 0; batch + 1 < batchStarts.length; batch++) {
    const rowStart = batchStarts[batch];
    const rowCount = batchStarts[batch + 1] - rowStart;
    if (rowCount === 0) continue;
    const { bufferRanges, layout } = pageOf(file, legacy, leaf, batch, rowCount);
    pages.push({ rowStart, rowCount, bufferRanges, layout: { legacy: layout }, bufferIndex: 0 });
  }
  return pages;
}

function pageOf(
  { path }: DataFileMetadata,
  legacy: LegacyFile,
  { fieldId, listFieldIds, layout }: LegacyLeaf,
  batch: number,
  rowCount: number,
): { readonly bufferRanges: ByteRange[]; readonly layout: LegacyPages } {
  const bufferRanges: ByteRange[] = [];
  const counts: number[] = [];
  const listBits = listBitsOf(layout);
  for (const [depth, id] of listFieldIds.entries()) {
    // The page table counts the offsets.
    const { position, count } = placeOf(path, legacy, id, batch);
    counts.push(Math.max(0, count - 1));
    bufferRanges.push({ byteOffset: position, length: (count * listBits[depth]) / 8 });
  }
  const leaf = leafOfSpine(layout);
  const page = leaf.kind === "null" ? null : placeOf(path, legacy, fieldId, batch);
  const count = page?.count ?? (listFieldIds.length === 0 ? rowCount : 0);
  counts.push(count);
  const values = page === null ? { byteOffset: 0, length: 0 } : rangeOf(leaf, page);
  bufferRanges.push(values);
  const dictionary = leaf.kind === "dictionary" ? legacy.dictionaryOf(fieldId) : null;
  let dictionaryPage: LegacyPages["dictionary"] = null;
  if (leaf.kind === "dictionary") {
    if (dictionary === null) throw new CorruptFileError(path, 0, `field ${fieldId} has no dictionary`);
    const range = rangeOf(leaf.value, dictionary);
    bufferRanges.push(range);
    dictionaryPage = { position: range.byteOffset, count: dictionary.count };
  }
  if (counts[0] !== rowCount) {
    throw new CorruptFileError(
      path,
      values.byteOffset,
      `a page of ${counts[0]} rows in a batch of ${rowCount}`,
    );
  }
  return { bufferRanges, layout: { counts, valuesPosition: values.byteOffset, dictionary: dictionaryPage } };
}

function placeOf(path: string, legacy: LegacyFile, fieldId: number, batch: number): LegacyPlace {
  const page = legacy.pageOf(fieldId, batch);
  if (page !== null) return page;
  throw new CorruptFileError(path, 0, `field ${fieldId} has no page in batch ${batch}`);
}

/** Returns the bits of an offset of each list of a spine, outermost first. */
function listBitsOf(layout: Layout): number[] {
  if (layout.kind === "struct") return listBitsOf(layout.children[0].layout);
  return layout.kind === "list" ? [layout.offsetBits, ...listBitsOf(layout.item)] : [];
}

/** @throws UnsupportedError for a node that files of 0.1 do not have */
function leafOfSpine(layout: Layout): LeafLayout {
  if (layout.kind === "struct") return leafOfSpine(layout.children[0].layout);
  if (layout.kind === "list") return leafOfSpine(layout.item);
  if (layout.kind !== "sizedList" && layout.kind !== "packedStruct") return layout;
  throw new UnsupportedError(`files of version 0.1 have no columns of layout ${layout.kind}`);
}

/** Returns the bytes of a page. */
function rangeOf(leaf: LeafLayout, { position, count, start }: LegacyPlace): ByteRange {
  if (leaf.kind !== "variable") return { byteOffset: position, length: bytesOf(leaf, count) };
  return { byteOffset: start, length: position - start + (count + 1) * OFFSET_BYTES };
}

function bytesOf(leaf: Exclude<LeafLayout, VariableLayout>, count: number): number {
  switch (leaf.kind) {
    case "fixed":
      return count * leaf.byteWidth;
    case "bits":
      return Math.ceil(count / 8);
    case "fixedSizeList":
      return bytesOf(leaf.item, count * leaf.dimension);
    case "dictionary":
      return count * leaf.index.byteWidth;
    case "null":
    case "packedStruct":
      return 0;
  }
}

/** Decodes a page of whole rows. The column may be a view of the buffers. @throws CorruptFileError */
export function decodeLegacyPages(
  layout: Layout,
  pages: LegacyPages,
  buffers: readonly Uint8Array[],
  origin: PageOrigin,
): Column {
  return new LegacyDecoder(pages, buffers, origin).decode(layout, 0);
}

class LegacyDecoder {
  constructor(
    private readonly pages: LegacyPages,
    private readonly buffers: readonly Uint8Array[],
    private readonly origin: PageOrigin,
  ) {}

  /** @param depth number of lists around the node */
  decode(layout: Layout, depth: number): Column {
    const count = this.pages.counts[depth];
    if (layout.kind === "struct") {
      const child = this.decode(layout.children[0].layout, depth);
      return { kind: "struct", length: child.length, validity: null, children: [child] };
    }
    if (layout.kind === "list") {
      const items = this.decode(layout.item, depth + 1);
      return this.#lists(this.buffers[depth], layout.offsetBits, count, items);
    }
    if (layout.kind === "sizedList") throw unsupportedPage(this.origin, "fixed-size lists of structs");
    return this.#values(layout, this.buffers[depth], count, this.pages.valuesPosition);
  }

  #lists(buffer: Uint8Array, offsetBits: 32 | 64, count: number, items: Column): ListColumn {
    const bytes = alignedBytes(this.#enough(buffer, ((count + 1) * offsetBits) / 8), 8);
    const stored =
      offsetBits === 32
        ? new Int32Array(bytes.buffer, bytes.byteOffset, count + 1)
        : new BigInt64Array(bytes.buffer, bytes.byteOffset, count + 1);
    const first = Number(stored[0]);
    const offsets = new Int32Array(count + 1);
    for (let index = 1; index <= count; index++) {
      offsets[index] = Number(stored[index]) - first;
      if (!(offsets[index] >= offsets[index - 1]))
        throw corruptPage(this.origin, "ends of lists do not ascend");
    }
    if (offsets[count] !== items.length)
      throw corruptPage(this.origin, `lists of ${offsets[count]} items with ${items.length} values`);
    const wide = offsetBits === 64 ? BigInt64Array.from(offsets, BigInt) : offsets;
    return { kind: "list", length: count, validity: null, offsets: wide, items };
  }

  #values(leaf: LeafLayout, buffer: Uint8Array, count: number, position: number): Column {
    switch (leaf.kind) {
      case "null":
        return nullColumn(leaf, count);
      case "variable":
        return this.#texts(leaf, buffer, count, position);
      case "dictionary":
        return this.#dictionary(leaf, buffer, count);
      case "packedStruct":
        throw unsupportedPage(this.origin, "packed structs");
      case "fixed":
      case "bits":
      case "fixedSizeList":
        return this.#plain(leaf, this.#enough(buffer, bytesOf(leaf, count)), count);
    }
  }

  #plain(
    leaf: Extract<LeafLayout, { kind: "fixed" | "bits" | "fixedSizeList" }>,
    values: Uint8Array,
    count: number,
  ): Column {
    if (leaf.kind === "fixed")
      return { kind: "fixed", byteWidth: leaf.byteWidth, length: count, validity: null, values };
    if (leaf.kind === "bits")
      return { kind: "bits", length: count, validity: null, bits: values, bitOffset: 0 };
    const { dimension, item } = leaf;
    const items = this.#plain(item, values, count * dimension) as FixedSizeListColumn["items"];
    return { kind: "fixedSizeList", length: count, validity: null, dimension, items };
  }

  /** @param position of the buffer in the file */
  #texts(
    { offsetBits }: VariableLayout,
    buffer: Uint8Array,
    count: number,
    position: number,
  ): VariableColumn {
    const offsetsStart = buffer.length - (count + 1) * OFFSET_BYTES;
    if (offsetsStart < 0) throw corruptPage(this.origin, `${count} values in ${buffer.length} bytes`);
    const view = new DataView(buffer.buffer, buffer.byteOffset + offsetsStart);
    const positionAt = (index: number): number => {
      const high = view.getInt32(index * OFFSET_BYTES + 4, true);
      return high * 2 ** 32 + view.getUint32(index * OFFSET_BYTES, true) - position;
    };
    const first = positionAt(0);
    const offsets = new Int32Array(count + 1);
    const valid = new Uint8Array(Math.ceil(count / 8));
    if (first < 0) throw corruptPage(this.origin, "values begin before their page");
    for (let index = 0; index < count; index++) {
      const end = positionAt(index + 1) - first;
      if (!(end >= offsets[index]) || first + end > offsetsStart)
        throw corruptPage(this.origin, "ends of values do not ascend");
      offsets[index + 1] = end;
      if (end > offsets[index]) valid[index >>> 3] |= 1 << (index & 7);
    }
    const bytes = buffer.subarray(first, first + offsets[count]);
    const wide = offsetBits === 64 ? BigInt64Array.from(offsets, BigInt) : offsets;
    return { kind: "variable", length: count, validity: validityFrom(valid, 0, count), offsets: wide, bytes };
  }

  #dictionary(
    { index, indexSigned, value }: Extract<LeafLayout, { kind: "dictionary" }>,
    buffer: Uint8Array,
    count: number,
  ): DictionaryColumn {
    const { dictionary } = this.pages;
    if (dictionary === null) throw corruptPage(this.origin, "a dictionary is missing");
    const bytes = this.#enough(buffer, bytesOf(index, count));
    const values = this.buffers[this.buffers.length - 1];
    const entries = this.#values(value, values, dictionary.count, dictionary.position);
    this.#checkIndices(index, indexSigned, bytes, dictionary.count);
    const indices = {
      kind: "fixed",
      byteWidth: index.byteWidth,
      length: count,
      validity: null,
      values: bytes,
    } as const;
    return {
      kind: "dictionary",
      length: count,
      validity: null,
      indices,
      dictionary: entries as DictionaryColumn["dictionary"],
    };
  }

  #checkIndices({ byteWidth }: FixedLayout, isSigned: boolean, bytes: Uint8Array, count: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let offset = 0; offset < bytes.length; offset += byteWidth) {
      let index = 0;
      for (let byte = byteWidth - 1; byte >= 0; byte--) index = index * 256 + view.getUint8(offset + byte);
      // A negative index is a large number too.
      if (index >= count || (isSigned && index >= 2 ** (8 * byteWidth - 1)))
        throw corruptPage(this.origin, `index ${index} of ${count} values of a dictionary`);
    }
  }

  #enough(buffer: Uint8Array, length: number): Uint8Array {
    if (buffer.length >= length) return buffer.subarray(0, length);
    throw corruptPage(this.origin, `${buffer.length} bytes in place of ${length}`);
  }
}
