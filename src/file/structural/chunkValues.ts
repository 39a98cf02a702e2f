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
} from "../../arrow/columns/column.js";
import { copyBits, countOnes } from "../../bytes/bits.js";
import type { CompressiveEncoding, FixedSizeList } from "../../format/encodings.js";
import { encodingName, fixedDecoder } from "../compression/fixed.js";
import type { FixedDecoder } from "../compression/fixedDecoder.js";
import type { AllocateTexts } from "../compression/fsst.js";
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

/** The page that holds the values. */
interface ValuePage {
  readonly count: number;
  /** Size of the page's buffers; a result out of all proportion to it is refused before it is read. */
  readonly pageBytes: number;
  readonly origin: PageOrigin;
  /**
   * Makes the memory of values. Default: fresh memory; else coded values are decoded when first read.
   */
  readonly allocate?: AllocateValues;
  /** Makes the memory of texts that are decoded from codes at once. Default: fresh memory. */
  readonly allocateTexts?: AllocateTexts;
}

export function chunkValues(
  layout: LeafLayout,
  encoding: CompressiveEncoding | undefined,
  page: ValuePage,
): ChunkValues {
  const { origin } = page;
  switch (layout.kind) {
    case "fixed":
      return new FixedChunks(fixedDecoder(encoding, "chunk", origin), layout.byteWidth * 8, page);
    case "bits":
      return new FixedChunks(fixedDecoder(encoding, "chunk", origin), 1, { ...page, allocate: undefined });
    case "fixedSizeList":
      return listChunks(layout, encoding, page);
    case "variable": {
      const chunks = new VariableChunks(resolveVariable(encoding, origin), origin);
      return {
        bufferCount: 1,
        append: (buffers, count) => chunks.append(buffers[0], count),
        finish: () => chunks.finish(layout, page.allocate, page.allocateTexts),
      };
    }
    case "packedStruct":
      return packedChunks(layout, encoding, page);
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

/** Values of a whole number of bytes, or of one bit. */
class FixedChunks implements ChunkValues<FixedColumn | BitsColumn> {
  readonly bufferCount: number;
  readonly values: Uint8Array;
  private appended = 0;

  constructor(
    private readonly decoder: FixedDecoder,
    private readonly bitsPerValue: number,
    private readonly page: ValuePage,
  ) {
    const { count, pageBytes, origin, allocate } = page;
    if (decoder.bitsPerValue !== bitsPerValue) {
      const reason = `${decoder.bitsPerValue}-bit values in a column of ${bitsPerValue}-bit values`;
      throw corruptPage(origin, reason);
    }
    this.bufferCount = decoder.bufferCount;
    this.values = allocateValues(count, bitsPerValue, pageBytes, origin, allocate);
  }

  append(buffers: readonly Uint8Array[], count: number): void {
    this.decoder.decode(buffers, 0, count, this.values, this.appended);
    this.appended += count;
  }

  finish(): FixedColumn | BitsColumn {
    const { count: length } = this.page;
    const { values, bitsPerValue } = this;
    if (bitsPerValue === 1) return { kind: "bits", length, validity: null, bits: values, bitOffset: 0 };
    return { kind: "fixed", byteWidth: bitsPerValue / 8, length, validity: null, values };
  }
}

/** The values are rows of members side by side. */
function packedChunks(
  layout: PackedStructLayout,
  encoding: CompressiveEncoding | undefined,
  page: ValuePage,
): ChunkValues<PackedStructColumn> {
  const { count, origin } = page;
  if (encoding === undefined) throw corruptPage(origin, "missing encoding");
  const packed = encoding.packedStruct;
  if (packed === undefined) throw unsupportedPage(origin, `${encodingName(encoding)} for packed structs`);
  const widths = layout.children.map((member) => memberBytes(member.layout));
  const described = packed.bitsPerValue;
  if (widths.length !== described.length || widths.some((width, index) => width !== described[index] / 8)) {
    throw corruptPage(origin, `packed structs of ${described.join("+")} bits for other members`);
  }
  const rowBits = described.reduce((sum, bits) => sum + bits, 0);
  const decoder = fixedDecoder(packed.values, "chunk", origin);
  const rows = new FixedChunks(decoder, rowBits, { ...page, allocate: undefined });
  return {
    bufferCount: rows.bufferCount,
    append: (buffers, chunkCount) => rows.append(buffers, chunkCount),
    finish: () => splitRows(layout, rows.values, count),
  };
}

function listChunks(
  layout: FixedSizeListLayout,
  encoding: CompressiveEncoding | undefined,
  { count, pageBytes, origin }: ValuePage,
): ChunkValues<FixedSizeListColumn> {
  const list = outermostList(encoding, origin);
  const dimension = layout.dimension;
  if (list.itemsPerValue !== dimension) {
    throw corruptPage(origin, `lists of ${list.itemsPerValue} items in a column of ${dimension}`);
  }
  const itemCount = count * dimension;
  if (!Number.isSafeInteger(itemCount)) throw corruptPage(origin, "more list items than can be counted");
  const itemPage = { count: itemCount, pageBytes, origin };
  const items = chunkValues(layout.item, list.values, itemPage) as ChunkValues<ItemColumn>;
  const validity = list.hasValidity ? allocateValues(itemCount, 1, pageBytes, origin) : null;
  let appended = 0;
  return {
    bufferCount: items.bufferCount + (validity === null ? 0 : 1),
    append(buffers, chunkCount) {
      const chunkItems = chunkCount * dimension;
      if (validity === null) return items.append(buffers, chunkItems);
      const [bitmap, ...itemBuffers] = buffers;
      if (bitmap.length < Math.ceil(chunkItems / 8)) {
        throw corruptPage(origin, `item validity of ${bitmap.length} bytes for ${chunkItems} items`);
      }
      copyBits(bitmap, 0, validity, appended, chunkItems);
      appended += chunkItems;
      items.append(itemBuffers, chunkItems);
    },
    finish() {
      const column = items.finish();
      return {
        kind: "fixedSizeList",
        dimension,
        length: count,
        validity: null,
        items: validity === null ? column : withItemValidity(column, validity),
      };
    },
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
