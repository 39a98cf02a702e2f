/**
 * Gathers the values of a mini-block page, chunk by chunk, into one column without validity. Each physical
 * layout has its own form of {@link ChunkValues}; encodings are resolved once per page.
 *
 * The value buffers of a chunk come in this order: for each fixed-size list layer with null items its bitmap,
 * outermost first; then the buffers of the values.
 */

import type {
  BitsColumn,
  Column,
  FixedColumn,
  FixedSizeListColumn,
  FixedSizeListLayout,
  LeafLayout,
  PackedStructColumn,
  PackedStructLayout,
  VariableLayout,
} from "../../arrow/columns/column.js";
import { copyBits, countOnes } from "../../bytes/bits.js";
import type { CompressiveEncoding, FixedSizeList } from "../../format/encodings.js";
import { encodingName, fixedDecoder } from "../compression/fixed.js";
import type { FixedDecoder } from "../compression/fixedDecoder.js";
import { memberBytes, splitRows } from "../compression/packedStruct.js";
import { resolveVariable } from "../compression/variable.js";
import { VariableChunks } from "../compression/variableChunks.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";

export interface ChunkValues<C extends Column = Column> {
  /** Value buffers of a chunk. */
  readonly bufferCount: number;
  append(buffers: readonly Uint8Array[], count: number): void;
  /** Returns the column of all appended values. Call it after all announced values. */
  finish(): C;
}

/** Bytes that a page may decode to at any size of its buffers. */
const UNQUESTIONED_BYTES = 2 ** 28;
/**
 * Beyond {@link UNQUESTIONED_BYTES}, maximum bytes of a result per byte of its page. No encoding in use packs
 * more densely.
 */
const LARGEST_EXPANSION = 1024;

/**
 * Makes the {@link ChunkValues} for `count` values of `layout` under `encoding`.
 * @param pageBytes size of the page's buffers; a result out of all proportion to it is refused before it is
 *   read
 * @param allocate makes the memory of values; default: fresh memory. If given, coded values are decoded when
 *   they are first read
 */
export function chunkValues(
  layout: LeafLayout,
  encoding: CompressiveEncoding | undefined,
  count: number,
  pageBytes: number,
  origin: PageOrigin,
  allocate?: AllocateValues,
): ChunkValues {
  switch (layout.kind) {
    case "fixed":
      return new FixedChunks(
        fixedDecoder(encoding, "chunk", origin),
        layout.byteWidth,
        count,
        pageBytes,
        origin,
        allocate,
      );
    case "bits":
      return new BitsChunks(fixedDecoder(encoding, "chunk", origin), count, pageBytes, origin);
    case "fixedSizeList":
      return listChunks(layout, encoding, count, pageBytes, origin);
    case "variable":
      return variableChunks(layout, encoding, allocate, origin);
    case "packedStruct":
      return packedChunks(layout, encoding, count, pageBytes, origin);
    case "dictionary":
      throw corruptPage(origin, "a page of a dictionary-typed column without dictionary");
    case "null":
      throw corruptPage(origin, "a page with values in a column of type null");
  }
}

/** Makes zeroed memory. */
export type AllocateValues = (byteLength: number) => Uint8Array;

/** Bytes of `count` values. Throws if the page is far too small to hold them. */
export function bytesOfValues(
  count: number,
  bitsPerValue: number,
  pageBytes: number,
  origin: PageOrigin,
): number {
  const byteLength = Math.ceil((count * bitsPerValue) / 8);
  if (byteLength > UNQUESTIONED_BYTES && byteLength > pageBytes * LARGEST_EXPANSION) {
    throw corruptPage(origin, `${count} values of ${bitsPerValue} bits in a page of ${pageBytes} bytes`);
  }
  return byteLength;
}

/** Zeros for `count` values. Throws if the page is far too small to hold them. */
export function allocateValues(
  count: number,
  bitsPerValue: number,
  pageBytes: number,
  origin: PageOrigin,
  allocate: AllocateValues = (byteLength) => new Uint8Array(byteLength),
): Uint8Array {
  return allocate(bytesOfValues(count, bitsPerValue, pageBytes, origin));
}

export class FixedChunks implements ChunkValues<FixedColumn> {
  readonly bufferCount: number;
  private readonly values: Uint8Array;
  private appended = 0;

  constructor(
    private readonly decoder: FixedDecoder,
    private readonly byteWidth: number,
    private readonly count: number,
    pageBytes: number,
    origin: PageOrigin,
    allocate?: AllocateValues,
  ) {
    expectWidth(decoder, byteWidth * 8, origin);
    this.bufferCount = decoder.bufferCount;
    this.values = allocateValues(count, byteWidth * 8, pageBytes, origin, allocate);
  }

  append(buffers: readonly Uint8Array[], count: number): void {
    this.decoder.decode(buffers, 0, count, this.values, this.appended);
    this.appended += count;
  }

  finish(): FixedColumn {
    return {
      kind: "fixed",
      byteWidth: this.byteWidth,
      length: this.count,
      validity: null,
      values: this.values,
    };
  }
}

class BitsChunks implements ChunkValues<BitsColumn> {
  readonly bufferCount: number;
  private readonly bits: Uint8Array;
  private appended = 0;

  constructor(
    private readonly decoder: FixedDecoder,
    private readonly count: number,
    pageBytes: number,
    origin: PageOrigin,
  ) {
    expectWidth(decoder, 1, origin);
    this.bufferCount = decoder.bufferCount;
    this.bits = allocateValues(count, 1, pageBytes, origin);
  }

  append(buffers: readonly Uint8Array[], count: number): void {
    this.decoder.decode(buffers, 0, count, this.bits, this.appended);
    this.appended += count;
  }

  finish(): BitsColumn {
    return { kind: "bits", length: this.count, validity: null, bits: this.bits, bitOffset: 0 };
  }
}

function expectWidth(decoder: FixedDecoder, bitsPerValue: number, origin: PageOrigin): void {
  if (decoder.bitsPerValue !== bitsPerValue) {
    throw corruptPage(origin, `${decoder.bitsPerValue}-bit values in a column of ${bitsPerValue}-bit values`);
  }
}

function variableChunks(
  layout: VariableLayout,
  encoding: CompressiveEncoding | undefined,
  allocate: AllocateValues | undefined,
  origin: PageOrigin,
): ChunkValues {
  const chunks = new VariableChunks(resolveVariable(encoding, origin), origin);
  return {
    bufferCount: 1,
    append: (buffers, count) => chunks.append(buffers[0], count),
    finish: () => chunks.finish(layout, allocate),
  };
}

/** The values are rows of members side by side. */
function packedChunks(
  layout: PackedStructLayout,
  encoding: CompressiveEncoding | undefined,
  count: number,
  pageBytes: number,
  origin: PageOrigin,
): ChunkValues<PackedStructColumn> {
  if (encoding === undefined) throw corruptPage(origin, "missing encoding");
  const packed = encoding.packedStruct;
  if (packed === undefined) throw unsupportedPage(origin, `${encodingName(encoding)} for packed structs`);
  const widths = layout.children.map((member) => memberBytes(member.layout));
  const described = packed.bitsPerValue;
  if (widths.length !== described.length || widths.some((width, index) => width !== described[index] / 8)) {
    throw corruptPage(origin, `packed structs of ${described.join("+")} bits for other members`);
  }
  const rowBytes = described.reduce((sum, bits) => sum + bits / 8, 0);
  const rows = new FixedChunks(
    fixedDecoder(packed.values, "chunk", origin),
    rowBytes,
    count,
    pageBytes,
    origin,
  );
  return {
    bufferCount: rows.bufferCount,
    append: (buffers, chunkCount) => rows.append(buffers, chunkCount),
    finish: () => splitRows(layout, rows.finish().values, count),
  };
}

function listChunks(
  layout: FixedSizeListLayout,
  encoding: CompressiveEncoding | undefined,
  count: number,
  pageBytes: number,
  origin: PageOrigin,
): ChunkValues<FixedSizeListColumn> {
  const list = outermostList(encoding, origin);
  const dimension = layout.dimension;
  if (list.itemsPerValue !== dimension) {
    throw corruptPage(origin, `lists of ${list.itemsPerValue} items in a column of ${dimension}`);
  }
  const itemCount = count * dimension;
  if (!Number.isSafeInteger(itemCount)) throw corruptPage(origin, "more list items than can be counted");
  const items = chunkValues(
    layout.item,
    list.values,
    itemCount,
    pageBytes,
    origin,
  ) as ChunkValues<ItemColumn>;
  if (!list.hasValidity) {
    return {
      bufferCount: items.bufferCount,
      append: (buffers, chunkCount) => items.append(buffers, chunkCount * dimension),
      finish: () => ({
        kind: "fixedSizeList",
        dimension,
        length: count,
        validity: null,
        items: items.finish(),
      }),
    };
  }
  const validity = allocateValues(itemCount, 1, pageBytes, origin);
  let appended = 0;
  return {
    bufferCount: items.bufferCount + 1,
    append(buffers, chunkCount) {
      const chunkItems = chunkCount * dimension;
      const bitmap = buffers[0];
      if (bitmap.length < Math.ceil(chunkItems / 8)) {
        throw corruptPage(origin, `item validity of ${bitmap.length} bytes for ${chunkItems} items`);
      }
      copyBits(bitmap, 0, validity, appended, chunkItems);
      appended += chunkItems;
      items.append(buffers.slice(1), chunkItems);
    },
    finish: () => ({
      kind: "fixedSizeList",
      dimension,
      length: count,
      validity: null,
      items: withItemValidity(items.finish(), validity),
    }),
  };
}

/**
 * Returns the list at the head of an encoding. A compression around lists without null items applies to the
 * same buffer as one around the items, so it is moved inside.
 */
function outermostList(encoding: CompressiveEncoding | undefined, origin: PageOrigin): FixedSizeList {
  if (encoding === undefined) throw corruptPage(origin, "missing encoding");
  if (encoding.fixedSizeList !== undefined) return encoding.fixedSizeList;
  const inner = encoding.general?.values?.fixedSizeList;
  if (inner === undefined || inner.hasValidity) {
    throw unsupportedPage(origin, `${encodingName(encoding)} for fixed-size lists`);
  }
  const values = { general: { compression: encoding.general?.compression, values: inner.values } };
  return { ...inner, values };
}

type ItemColumn = FixedSizeListColumn["items"];

/** Returns `items` with the validity of a bitmap, which the column then owns. */
export function withItemValidity(items: ItemColumn, bitmap: Uint8Array): ItemColumn {
  const nullCount = items.length - countOnes(bitmap, 0, items.length);
  if (nullCount === 0) return items;
  return { ...items, validity: { bytes: bitmap, bitOffset: 0, nullCount } };
}
