/**
 * Strings and binaries of a 2.0 page:
 *
 *     binary             ends of the values, an array of u64 (endOffsets.ts); their bytes, an array of u8
 *     fsst               the same over FSST codes (../compression/fsst.ts)
 *     fixedSizeBinary    an array of bytes of values that are all equally long
 */

import type { VariableColumn, VariableLayout } from "../../arrow/columns/column.js";
import type { CodeSymbols } from "../../arrow/columns/lazyValues.js";
import type { ArrayEncoding, Binary, FixedSizeBinary } from "../../format/encodings20.js";
import type { Compressor } from "../compression/compressors.js";
import { decodeFsstSymbols } from "../compression/fsst.js";
import { finishVariable, MAXIMUM_POSITION } from "../compression/variable.js";
import { corruptPage, unsupportedPage } from "../container/page.js";
import { decodeEnds, encodeEnds } from "./endOffsets.js";
import {
  arrayName,
  decodeBytes,
  decodeFixedWidth,
  encodeFlatArray,
  noNulls,
  nonNullArray,
} from "./fixedWidth.js";
import type { PageBufferList, PageBuffers } from "./pageBuffers.js";

/** Decodes an array of values of variable width that is not a dictionary. */
export function decodeVariable(
  layout: VariableLayout,
  encoding: ArrayEncoding,
  count: number,
  page: PageBuffers,
): VariableColumn {
  if (encoding.binary !== undefined) return decodeBinary(layout, encoding.binary, null, count, page);
  if (encoding.fsst !== undefined) {
    const { binary, symbolTable } = encoding.fsst;
    const inner = nonNullArray(binary, page);
    if (inner.binary === undefined) throw unsupportedPage(page.origin, `FSST over ${arrayName(inner)}`);
    const symbols = decodeFsstSymbols(symbolTable, page.origin);
    return decodeBinary(layout, inner.binary, symbols, count, page);
  }
  if (encoding.fixedSizeBinary !== undefined) {
    return decodeEqualLengths(layout, encoding.fixedSizeBinary, count, page);
  }
  throw unsupportedPage(page.origin, `${arrayName(encoding)} for values of variable width`);
}

function decodeBinary(
  layout: VariableLayout,
  { indices, bytes: bytesEncoding, nullAdjustment }: Binary,
  symbols: CodeSymbols | null,
  count: number,
  page: PageBuffers,
): VariableColumn {
  const ends = decodeFixedWidth(indices, 64, count, page);
  const bytes = decodeBytes(bytesEncoding, page);
  if (bytes.length > MAXIMUM_POSITION) throw unsupportedPage(page.origin, "more than 2 GiB of values");
  const { offsets, validity } = decodeEnds(ends, count, nullAdjustment, bytes.length, page.origin);
  return { ...finishVariable(layout, symbols, offsets, bytes, page.origin), validity };
}

function decodeEqualLengths(
  layout: VariableLayout,
  { bytes: bytesEncoding, byteWidth }: FixedSizeBinary,
  count: number,
  page: PageBuffers,
): VariableColumn {
  const bytes = decodeBytes(bytesEncoding, page);
  if (bytes.length < count * byteWidth) {
    throw corruptPage(page.origin, `${count} values of ${byteWidth} bytes in ${bytes.length} bytes`);
  }
  if (count * byteWidth > MAXIMUM_POSITION) throw unsupportedPage(page.origin, "more than 2 GiB of values");
  const offsets = new Int32Array(count + 1);
  for (let index = 1; index <= count; index++) offsets[index] = index * byteWidth;
  return finishVariable(layout, null, offsets, bytes, page.origin);
}

/**
 * Encodes values as a `binary` array.
 * @param offsets one more than there are values; the first may be any number
 * @param isNull for each value, 1 or 0; null if none is null. Null values must be empty
 * @param compressor compresses the bytes, if that makes them fewer
 */
export function encodeBinary(
  offsets: Int32Array | BigInt64Array,
  bytes: Uint8Array,
  isNull: Uint16Array | null,
  page: PageBufferList,
  compressor: Compressor | null = null,
): ArrayEncoding {
  const count = offsets.length - 1;
  const first = Number(offsets[0]);
  const last = Number(offsets[count]);
  const nullAdjustment = last - first + 1;
  const ends = encodeEnds(offsets, count, isNull, nullAdjustment);
  return {
    binary: {
      indices: noNulls(encodeFlatArray(64, [ends], page)),
      bytes: encodeBytes(bytes.subarray(first, last), compressor, page),
      nullAdjustment,
    },
  };
}

function encodeBytes(bytes: Uint8Array, compressor: Compressor | null, page: PageBufferList): ArrayEncoding {
  const compressed = compressor?.compress(bytes) ?? bytes;
  if (compressor === null || compressed.length >= bytes.length) return encodeFlatArray(8, [bytes], page);
  const compression = { scheme: compressor.scheme, level: 0 };
  return { flat: { bitsPerValue: 8, buffer: page.add(compressed), compression } };
}
