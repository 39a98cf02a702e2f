/**
 * Values of variable width: offsets and bytes.
 *
 *     chunk   (n + 1) offsets of 32 or 64 bits, counted from the start of the buffer, so the first one is
 *             (n + 1)·width; then the bytes; padded to a multiple of the width
 *     block   the offset width in bits, then the position of the bytes, both as words of that width; (n + 1)
 *             offsets that start at 0; the bytes
 *             by LanceDB 0.22.0: the offset width in bits as one byte; n and the position of the bytes, both
 *             as words of that width; offsets and bytes as above
 *
 * The bytes may be FSST codes (fsst.ts), and a buffer may be compressed as a whole (general.ts). Full-zip
 * pages store values with length prefixes instead (fullZip.ts), under the same encodings.
 */

import type { VariableColumn, VariableLayout } from "../../arrow/columns/column.js";
import { lazyTextColumn } from "../../arrow/columns/lazyColumn.js";
import type { CodeSymbols, DecodeCodes } from "../../arrow/columns/lazyValues.js";
import { alignedBytes } from "../../bytes/aligned.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import { encodingName } from "./fixed.js";
import { type AllocateTexts, decodeFsst, decodeFsstSymbols } from "./fsst.js";
import { type Decompressor, decompress, decompressorOf } from "./general.js";

/** Largest position in the bytes of one page; offsets are gathered as 32-bit integers. */
export const MAXIMUM_POSITION = 0x7fffffff;

/** Resolved chain of encodings over variable-width values. */
export interface VariableEncoding {
  readonly offsetBits: 32 | 64;
  /** Undoes general compression; null if there is none. */
  readonly decompressor: Decompressor | null;
  /** Symbols of FSST codes; null if the bytes are plain. */
  readonly symbols: CodeSymbols | null;
}

/** @throws UnsupportedError for an encoding that is not of variable width or not supported */
export function resolveVariable(
  encoding: CompressiveEncoding | undefined,
  origin: PageOrigin,
): VariableEncoding {
  let decompressor: Decompressor | null = null;
  let symbols: CodeSymbols | null = null;
  for (let node = encoding; node !== undefined; ) {
    if (node.variable !== undefined) {
      if (node.variable.values !== undefined) {
        throw unsupportedPage(origin, "variable-width values with compressed data");
      }
      const offsetBits = node.variable.offsets?.flat?.bitsPerValue;
      if (offsetBits !== 32 && offsetBits !== 64) {
        throw unsupportedPage(origin, `offsets of ${offsetBits ?? "unknown"} bits`);
      }
      return { offsetBits, decompressor, symbols };
    }
    if (node.general !== undefined && decompressor === null) {
      decompressor = decompressorOf(node.general.compression, origin);
      node = node.general.values;
    } else if (node.fsst !== undefined && symbols === null) {
      symbols = decodeFsstSymbols(node.fsst.symbolTable, origin);
      node = node.fsst.values;
    } else {
      throw unsupportedPage(origin, `${encodingName(node)} for values of variable width`);
    }
  }
  throw corruptPage(origin, "missing encoding");
}

/** Values that stay codes until they are first read. */
export function codesOf(
  layout: VariableLayout,
  symbols: CodeSymbols,
  offsets: Int32Array,
  codes: Uint8Array,
  origin: PageOrigin,
): VariableColumn {
  const decode: DecodeCodes = (codeOffsets, codes) => {
    // The column of these values has a validity of its own.
    const { offsets, bytes } = finishVariable(layout, symbols, codeOffsets, codes, origin);
    return { offsets, bytes };
  };
  return lazyTextColumn({ kind: "codes", symbols, offsets, codes, decode }, null);
}

/**
 * Rebases `count + 1` offsets so that the first one becomes `position`, and stores them after
 * `offsets[value]`. Returns the last offset as it is in `words`, or -1 if the offsets do not ascend.
 */
export function gatherOffsets(
  words: Uint32Array,
  stride: number,
  count: number,
  offsets: Int32Array,
  value: number,
  position: number,
): number {
  let previous = words[0];
  const shift = position - previous;
  let descents = 0;
  if (stride === 1) {
    for (let index = 1, write = value + 1; index <= count; index++, write++) {
      const offset = words[index];
      if (offset < previous) descents++;
      offsets[write] = offset + shift;
      previous = offset;
    }
  } else {
    descents = words[1];
    for (let index = 1, write = value + 1; index <= count; index++, write++) {
      const offset = words[2 * index];
      if (offset < previous || words[2 * index + 1] !== 0) descents++;
      offsets[write] = offset + shift;
      previous = offset;
    }
  }
  return descents === 0 ? previous : -1;
}

/** Decodes `count` values of a self-contained buffer. */
export function decodeVariableBlock(
  layout: VariableLayout,
  encoding: VariableEncoding,
  block: Uint8Array,
  count: number,
  origin: PageOrigin,
): VariableColumn {
  const stride = encoding.offsetBits / 32;
  const width = 4 * stride;
  const { decompressor } = encoding;
  const stored = decompressor === null ? block : decompress(decompressor, block);
  const plain = alignedBytes(withCurrentHeader(stored, encoding.offsetBits, count), 4);
  if (plain.length < (count + 3) * width) {
    throw corruptPage(origin, `block of ${count} values in ${plain.length} bytes`);
  }
  const words = new Uint32Array(plain.buffer, plain.byteOffset, plain.length >>> 2);
  if (words[0] !== encoding.offsetBits) throw corruptPage(origin, `block with offsets of ${words[0]} bits`);
  const bytesStart = words[stride];
  if (bytesStart < (count + 3) * width || bytesStart > plain.length) {
    throw corruptPage(origin, `block with its bytes at ${bytesStart}`);
  }
  const offsets = new Int32Array(count + 1);
  const first = words[2 * stride];
  const end = gatherOffsets(words.subarray(2 * stride), stride, count, offsets, 0, 0);
  if (end < 0 || end > plain.length - bytesStart) {
    throw corruptPage(origin, "offsets of a block do not ascend inside it");
  }
  const bytes = plain.subarray(bytesStart + first, bytesStart + end);
  return finishVariable(layout, encoding.symbols, offsets, bytes, origin);
}

/** Rewrites the block header of LanceDB 0.22.0 to the present one; returns any other block unchanged. */
function withCurrentHeader(block: Uint8Array, offsetBits: number, count: number): Uint8Array {
  const width = offsetBits / 8;
  const oldHeaderBytes = 1 + 2 * width;
  const bytesStart = oldHeaderBytes + (count + 1) * width;
  if (block[0] !== offsetBits || block.length < bytesStart) return block;
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  if (view.getUint32(1, true) !== count || view.getUint32(1 + width, true) !== bytesStart) return block;
  const current = new Uint8Array(block.length - 1);
  current.set(block.subarray(oldHeaderBytes), 2 * width);
  const header = new DataView(current.buffer);
  header.setUint32(0, offsetBits, true);
  header.setUint32(width, bytesStart - 1, true);
  return current;
}

/** Decodes FSST codes, if `symbols` are given, and widens the offsets as the layout requires. */
export function finishVariable(
  layout: VariableLayout,
  symbols: CodeSymbols | null,
  offsets: Int32Array,
  bytes: Uint8Array,
  origin: PageOrigin,
  allocateTexts?: AllocateTexts,
): VariableColumn {
  const plain = symbols === null ? bytes : decodeFsst(symbols, offsets, bytes, origin, allocateTexts);
  return {
    kind: "variable",
    length: offsets.length - 1,
    validity: null,
    offsets: layout.offsetBits === 32 ? offsets : widenOffsets(offsets),
    bytes: plain,
  };
}

/**
 * Returns the column of values that were stored one by one.
 * @param offsets positions of the stored values, from 0; must not be used afterwards
 */
export function finishEach(
  layout: VariableLayout,
  { decompressor, symbols }: VariableEncoding,
  offsets: Int32Array,
  stored: Uint8Array,
  origin: PageOrigin,
  allocateTexts?: AllocateTexts,
): VariableColumn {
  const plain = decompressor === null ? stored : decompressEach(stored, offsets, decompressor, origin);
  return finishVariable(layout, symbols, offsets, plain, origin, allocateTexts);
}

/**
 * Decompresses every value by itself and overwrites `offsets`. Empty values are stored as empty values. All
 * lengths are known before the first value is decoded, so each value is written once, to its final place.
 */
function decompressEach(
  stored: Uint8Array,
  offsets: Int32Array,
  decompressor: Decompressor,
  origin: PageOrigin,
): Uint8Array {
  const ends = offsets.slice();
  for (let index = 1; index < ends.length; index++) {
    const [start, end] = [ends[index - 1], ends[index]];
    const size = end > start ? decompressor.contentBytes(stored.subarray(start, end)) : 0;
    if (offsets[index - 1] + size > MAXIMUM_POSITION)
      throw unsupportedPage(origin, "more than 2 GiB of values");
    offsets[index] = offsets[index - 1] + size;
  }
  const output = new Uint8Array(offsets[offsets.length - 1]);
  for (let index = 1; index < ends.length; index++) {
    const [start, end] = [ends[index - 1], ends[index]];
    if (end > start)
      decompressor.decode(stored.subarray(start, end), output.subarray(offsets[index - 1], offsets[index]));
  }
  return output;
}

export function widenOffsets(offsets: Int32Array): BigInt64Array {
  const wide = new BigInt64Array(offsets.length);
  const halves = new Int32Array(wide.buffer);
  for (let index = 0; index < offsets.length; index++) halves[2 * index] = offsets[index];
  return wide;
}

export const describeVariable = (offsetBits: 32 | 64): CompressiveEncoding => ({
  variable: { offsets: { flat: { bitsPerValue: offsetBits, data: undefined } }, values: undefined },
});

/** Size of a chunk's buffer of `count` values with `byteCount` bytes in all. */
export function variableChunkBytes(offsetBits: 32 | 64, count: number, byteCount: number): number {
  const width = offsetBits / 8;
  return Math.ceil(((count + 1) * width + byteCount) / width) * width;
}

/**
 * Writes values `start` to `start + count − 1` as a chunk's buffer at `outputOffset` of `output`, which is
 * zero there. That offset and the address of `output` are multiples of 8.
 */
export function encodeVariableChunk(
  offsetBits: 32 | 64,
  offsets: Int32Array,
  bytes: Uint8Array,
  start: number,
  count: number,
  output: Uint8Array,
  outputOffset: number,
): void {
  const stride = offsetBits / 32;
  const bytesStart = (count + 1) * stride * 4;
  const words = new Int32Array(output.buffer, output.byteOffset + outputOffset, (count + 1) * stride);
  const shift = bytesStart - offsets[start];
  for (let index = 0; index <= count; index++) words[index * stride] = offsets[start + index] + shift;
  output.set(bytes.subarray(offsets[start], offsets[start + count]), outputOffset + bytesStart);
}

/** Encodes all values, whose offsets start at 0, as a block. */
export function encodeVariableBlock(offsetBits: 32 | 64, offsets: Int32Array, bytes: Uint8Array): Uint8Array {
  const stride = offsetBits / 32;
  const bytesStart = (offsets.length + 2) * stride * 4;
  const output = new Uint8Array(bytesStart + bytes.length);
  const words = new Int32Array(output.buffer, 0, (offsets.length + 2) * stride);
  words[0] = offsetBits;
  words[stride] = bytesStart;
  for (let index = 0; index < offsets.length; index++) words[(index + 2) * stride] = offsets[index];
  output.set(bytes, bytesStart);
  return output;
}
