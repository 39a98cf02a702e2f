/**
 * Arrays of fixed-width values of a 2.0 page. Little-endian, bits least significant first:
 *
 *     flat                  the values side by side, ⌈n·bits/8⌉ bytes; the buffer may be compressed as a
 *                           whole
 *     bitpackedForNonNeg    units of 1024 words in FastLanes order (../compression/bitpack.ts), one width
 *                           for all, the last unit filled up with zeros
 *     bitpacked             words of W bits side by side, sign-extended if `signed`; old releases
 *     fixedSizeBinary       an array of n·width bytes
 *     constant              one value, which all rows have; no buffer
 */

import { CompressionScheme } from "../../format/encodings.js";
import {
  type ArrayEncoding,
  type Bitpacked,
  type BitpackedForNonNeg,
  BufferKind,
  type BufferReference,
  type Flat,
  type PackedStruct,
} from "../../format/encodings20.js";
import { PACK_UNIT, packedUnitBytes, unpackBits } from "../compression/bitpack.js";
import type { WordBits } from "../compression/bitpackKernel.js";
import { decompress, decompressorOf } from "../compression/general.js";
import { corruptPage, unsupportedPage } from "../container/page.js";
import { bufferAt, type PageBufferList, type PageBuffers } from "./pageBuffers.js";

/**
 * Returns the values of an array in ⌈n·bits/8⌉ bytes; a view if they are stored in that form.
 * @param count sizes the result
 */
export function decodeFixedWidth(
  encoding: ArrayEncoding | undefined,
  bitsPerValue: number,
  count: number,
  page: PageBuffers,
): Uint8Array {
  const { origin } = page;
  const values = nonNullArray(encoding, page);
  if (values.fixedSizeBinary !== undefined) {
    const { bytes, byteWidth } = values.fixedSizeBinary;
    expectBits(byteWidth * 8, bitsPerValue, page);
    const inner = nonNullArray(bytes, page);
    if (inner.fixedSizeBinary !== undefined) throw unsupportedPage(origin, "nested fixed-size binaries");
    return decodeFixedWidth(inner, 8, count * byteWidth, page);
  }
  if (values.flat !== undefined) {
    expectBits(values.flat.bitsPerValue, bitsPerValue, page);
    const bytes = flatBytes(values.flat, page);
    const byteLength = Math.ceil((count * bitsPerValue) / 8);
    if (bytes.length < byteLength) {
      throw corruptPage(origin, `${count} values of ${bitsPerValue} bits in ${bytes.length} bytes`);
    }
    return bytes.subarray(0, byteLength);
  }
  if (values.bitpackedForNonNeg !== undefined) {
    return decodeFastLanes(values.bitpackedForNonNeg, bitsPerValue, count, page);
  }
  if (values.bitpacked !== undefined) return decodeBitpacked(values.bitpacked, bitsPerValue, count, page);
  if (values.constant !== undefined) {
    return repeatValue(values.constant.value, bitsPerValue, count, page);
  }
  throw unsupportedPage(origin, `${arrayName(values)} for values of ${bitsPerValue} bits`);
}

/** Returns the array inside a nullable one that has no nulls, or the array itself. */
export function nonNullArray(encoding: ArrayEncoding | undefined, page: PageBuffers): ArrayEncoding {
  const inner = encoding?.nullable === undefined ? encoding : encoding.nullable.noNulls?.values;
  if (inner === undefined)
    throw corruptPage(page.origin, "a missing array, or nulls in values that cannot be null");
  if (inner.nullable !== undefined) throw unsupportedPage(page.origin, "a nullable array in another");
  return inner;
}

/** Returns all bytes of an array of bytes. The array does not state their number, so the caller checks it. */
export function decodeBytes(encoding: ArrayEncoding | undefined, page: PageBuffers): Uint8Array {
  if (encoding?.nullable?.allNulls !== undefined) return new Uint8Array(0);
  const { flat, ...rest } = nonNullArray(encoding, page);
  if (flat === undefined) throw unsupportedPage(page.origin, `${arrayName(rest)} for bytes`);
  expectBits(flat.bitsPerValue, 8, page);
  return flatBytes(flat, page);
}

function expectBits(actual: number, expected: number, page: PageBuffers): void {
  if (actual !== expected) {
    throw corruptPage(page.origin, `values of ${actual} bits in a column of ${expected}-bit ones`);
  }
}

/** Compressions by their names in 2.0. */
const SCHEMES: Readonly<Partial<Record<string, number>>> = {
  zstd: CompressionScheme.ZSTD,
  lz4: CompressionScheme.LZ4,
};

function flatBytes({ buffer, compression }: Flat, page: PageBuffers): Uint8Array {
  const bytes = bufferAt(page, buffer);
  if (compression === undefined || compression.scheme === "none") return bytes;
  const scheme = SCHEMES[compression.scheme];
  if (scheme === undefined) throw unsupportedPage(page.origin, `compression ${compression.scheme}`);
  return decompress(decompressorOf({ scheme, level: undefined }, page.origin), bytes);
}

function decodeFastLanes(
  { compressedBitsPerValue: packedBits, uncompressedBitsPerValue, buffer }: BitpackedForNonNeg,
  bitsPerValue: number,
  count: number,
  page: PageBuffers,
): Uint8Array {
  expectBits(uncompressedBitsPerValue, bitsPerValue, page);
  const wordBits = packedWordBits(bitsPerValue, page);
  if (packedBits > wordBits) throw corruptPage(page.origin, `${wordBits}-bit words packed to ${packedBits}`);
  const bytes = bufferAt(page, buffer);
  const units = Math.ceil(count / PACK_UNIT);
  const unitBytes = packedUnitBytes(packedBits);
  if (bytes.length < units * unitBytes) {
    throw corruptPage(page.origin, `${count} values packed to ${packedBits} bits in ${bytes.length} bytes`);
  }
  const wordBytes = wordBits / 8;
  const values = new Uint8Array(units * PACK_UNIT * wordBytes);
  for (let unit = 0; unit < units; unit++) {
    unpackBits(wordBits, packedBits, bytes, unit * unitBytes, values, unit * PACK_UNIT * wordBytes);
  }
  return values.subarray(0, count * wordBytes);
}

function decodeBitpacked(
  { compressedBitsPerValue: packedBits, uncompressedBitsPerValue, buffer, signed }: Bitpacked,
  bitsPerValue: number,
  count: number,
  page: PageBuffers,
): Uint8Array {
  expectBits(uncompressedBitsPerValue, bitsPerValue, page);
  const wordBytes = packedWordBits(bitsPerValue, page) / 8;
  if (packedBits === 0 || packedBits > bitsPerValue) {
    throw corruptPage(page.origin, `${bitsPerValue}-bit words packed to ${packedBits}`);
  }
  const bytes = bufferAt(page, buffer);
  if (bytes.length < Math.ceil((count * packedBits) / 8)) {
    throw corruptPage(page.origin, `${count} values packed to ${packedBits} bits in ${bytes.length} bytes`);
  }
  const values = new Uint8Array(count * wordBytes);
  for (let value = 0; value < count; value++) {
    const start = value * packedBits;
    const last = start + packedBits - 1;
    const negative = signed && ((bytes[Math.floor(last / 8)] >>> (last % 8)) & 1) === 1;
    for (let byte = 0, left = packedBits; byte < wordBytes; byte++, left -= 8) {
      const mask = left >= 8 ? 0xff : left > 0 ? (1 << left) - 1 : 0;
      let bits = negative ? 0xff & ~mask : 0;
      if (mask !== 0) {
        const slot = start + byte * 8;
        const index = Math.floor(slot / 8);
        // A read after the buffer's end gives undefined, which shifts as 0 and is masked away.
        bits |= ((bytes[index] | (bytes[index + 1] << 8)) >>> (slot % 8)) & mask;
      }
      values[value * wordBytes + byte] = bits;
    }
  }
  return values;
}

function packedWordBits(bits: number, page: PageBuffers): WordBits {
  if (bits === 8 || bits === 16 || bits === 32 || bits === 64) return bits;
  throw unsupportedPage(page.origin, `bit-packed values of ${bits} bits`);
}

function repeatValue(value: Uint8Array, bitsPerValue: number, count: number, page: PageBuffers): Uint8Array {
  if (value.length !== Math.ceil(bitsPerValue / 8)) {
    throw corruptPage(page.origin, `constant of ${value.length} bytes for values of ${bitsPerValue} bits`);
  }
  if (bitsPerValue === 1) return new Uint8Array(Math.ceil(count / 8)).fill(value[0] === 0 ? 0 : 0xff);
  if (bitsPerValue % 8 !== 0) throw unsupportedPage(page.origin, `constants of ${bitsPerValue} bits`);
  const values = new Uint8Array(count * value.length);
  if (count > 0) values.set(value);
  for (let filled = value.length; filled < values.length; filled *= 2) {
    values.copyWithin(filled, 0, Math.min(filled, values.length - filled));
  }
  return values;
}

/** Bytes per row of a page whose only buffer holds nothing but plain rows without nulls; else null. */
export function plainRowBytes({ nullable, packedStruct }: ArrayEncoding): number | null {
  if (packedStruct !== undefined) {
    const widths = packedStruct.inner.map(plainRowBytes);
    if (widths.length === 0 || widths.includes(null) || !isFirstBuffer(packedStruct.buffer)) return null;
    return widths.reduce((sum: number, width) => sum + (width ?? 0), 0);
  }
  const values = nullable?.noNulls?.values;
  if (values?.fixedSizeList !== undefined) {
    const { dimension, items } = values.fixedSizeList;
    const itemBytes = items === undefined ? null : plainRowBytes(items);
    return itemBytes === null ? null : dimension * itemBytes;
  }
  if (values?.flat === undefined || values.flat.compression !== undefined) return null;
  const { bitsPerValue, buffer } = values.flat;
  return isFirstBuffer(buffer) && bitsPerValue > 0 && bitsPerValue % 8 === 0 ? bitsPerValue / 8 : null;
}

const isFirstBuffer = (buffer: BufferReference | undefined): boolean =>
  buffer === undefined || (buffer.bufferIndex === 0 && buffer.bufferType === BufferKind.PAGE);

/** Bytes per row of a packed struct that is a pair of 64-bit numbers; null for any other packed struct. */
export function descriptorBytes({ inner, buffer }: PackedStruct): number | null {
  const isPair = inner.length === 2 && inner.every((array) => wordBits(array) === 64);
  return isPair && isFirstBuffer(buffer) ? 16 : null;
}

const wordBits = (array: ArrayEncoding): number | undefined =>
  (array.nullable?.noNulls?.values ?? array).flat?.bitsPerValue;

export const encodeFlatArray = (
  bitsPerValue: number,
  pieces: readonly Uint8Array[],
  page: PageBufferList,
): ArrayEncoding => ({ flat: { bitsPerValue, buffer: page.add(...pieces), compression: undefined } });

/** Marks an array as free of nulls, as the format requires. */
export const noNulls = (values: ArrayEncoding): ArrayEncoding => ({ nullable: { noNulls: { values } } });

/** Names an array's encoding, for messages. */
export function arrayName(encoding: ArrayEncoding): string {
  const name = Object.entries(encoding).find(([, member]) => member !== undefined)?.[0];
  return name === undefined || name === "unknown" ? "an unknown encoding" : `the encoding ${name}`;
}
