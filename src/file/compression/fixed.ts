/**
 * Decodes values of a fixed width under any chain of compressions. A chain is resolved once per page into a
 * {@link FixedDecoder}, whose `decode` then runs once per chunk or block.
 *
 * Widths: 1 bit (bitmaps, least significant bit first) or a whole number of bytes, little-endian.
 */

import type { FixedColumn } from "../../arrow/columns/column.js";
import { PLAIN_CHUNK } from "../../arrow/columns/lazyValues.js";
import { copyBits } from "../../bytes/bits.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import { byteStreamSplitDecoder } from "./byteStreamSplit.js";
import type { EncodingContext, FixedDecoder } from "./fixedDecoder.js";
import { decompress, decompressorOf } from "./general.js";
import { inlineBitpackingDecoder } from "./inlineBitpacking.js";
import { outOfLineBitpackingDecoder } from "./outOfLineBitpacking.js";
import { rleDecoder } from "./rle.js";

/** @throws UnsupportedError for an encoding that is not of fixed width or not supported */
export function fixedDecoder(
  encoding: CompressiveEncoding | undefined,
  context: EncodingContext,
  origin: PageOrigin,
): FixedDecoder {
  if (encoding === undefined) throw corruptPage(origin, "missing encoding");
  if (encoding.flat !== undefined) {
    if (encoding.flat.data !== undefined) throw unsupportedPage(origin, "flat values with compressed data");
    return flatDecoder(encoding.flat.bitsPerValue, origin);
  }
  if (encoding.inlineBitpacking !== undefined) {
    return inlineBitpackingDecoder(encoding.inlineBitpacking, origin);
  }
  if (encoding.outOfLineBitpacking !== undefined) {
    if (context === "chunk") throw unsupportedPage(origin, "out-of-line bit-packing of values");
    return outOfLineBitpackingDecoder(encoding.outOfLineBitpacking, origin);
  }
  if (encoding.rle !== undefined) return rleDecoder(encoding.rle, context, origin);
  if (encoding.byteStreamSplit !== undefined) return byteStreamSplitDecoder(encoding.byteStreamSplit, origin);
  if (encoding.general !== undefined) {
    const decompressor = decompressorOf(encoding.general.compression, origin);
    const inner = fixedDecoder(encoding.general.values, context, origin);
    return {
      bitsPerValue: inner.bitsPerValue,
      bufferCount: inner.bufferCount,
      decode(buffers, first, count, output, outputIndex) {
        const plain = buffers.slice(first, first + inner.bufferCount);
        plain[0] = decompress(decompressor, plain[0]);
        inner.decode(plain, 0, count, output, outputIndex);
      },
    };
  }
  throw unsupportedPage(origin, `${encodingName(encoding)} for values of a fixed width`);
}

/** Decodes values that lie back to back. */
function flatDecoder(bitsPerValue: number, origin: PageOrigin): FixedDecoder {
  if (bitsPerValue !== 1 && (bitsPerValue === 0 || bitsPerValue % 8 !== 0)) {
    throw corruptPage(origin, `flat values of ${bitsPerValue} bits`);
  }
  const byteWidth = bitsPerValue / 8;
  const check = (count: number, available: number): number => {
    const byteLength = Math.ceil((count * bitsPerValue) / 8);
    if (available < byteLength) {
      throw corruptPage(origin, `${count} flat values in a buffer of ${available} bytes`);
    }
    return byteLength;
  };
  return {
    bitsPerValue,
    bufferCount: 1,
    inPlace: {
      offset: 0,
      packedBits(_bytes, start, end, count) {
        check(count, end - start);
        return PLAIN_CHUNK;
      },
    },
    decode(buffers, first, count, output, outputIndex) {
      const values = buffers[first];
      const byteLength = check(count, values.length);
      if (bitsPerValue === 1) copyBits(values, 0, output, outputIndex, count);
      else output.set(values.subarray(0, byteLength), outputIndex * byteWidth);
    },
  };
}

/** Name of the member that is set. */
export function encodingName(encoding: CompressiveEncoding): string {
  for (const [name, value] of Object.entries(encoding)) {
    if (value !== undefined && name !== "unknown") return name;
  }
  return "an unknown encoding";
}

/** Values of each column, as bytes. */
export const valuesOfColumns = (columns: readonly FixedColumn[]): Uint8Array[] =>
  columns.map((column) => column.values.subarray(0, column.length * column.byteWidth));
