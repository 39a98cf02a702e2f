/**
 * Inline bit-packing: up to 1024 words of T bits (T = 8, 16, 32, 64) packed to W bits each.
 *
 *     T/8 bytes    W as a T-bit word, 0 ≤ W ≤ T
 *     128·W bytes  1024 values in FastLanes order (bitpack.ts), those beyond the last one zero
 *
 * Values are bit patterns, without sign or offset.
 */

import type { InlineBitpacking } from "../../format/encodings.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import { PACK_UNIT, packedUnitBytes, unpackBits } from "./bitpack.js";
import type { WordBits } from "./bitpackKernel.js";
import type { FixedDecoder } from "./fixedDecoder.js";

const scratch = new Uint8Array(8 * PACK_UNIT);

export function inlineBitpackingDecoder(encoding: InlineBitpacking, origin: PageOrigin): FixedDecoder {
  if (encoding.values !== undefined) {
    throw unsupportedPage(origin, "bit-packed values with compressed data");
  }
  const wordBits = checkWordBits(encoding.uncompressedBitsPerValue, origin);
  const wordBytes = wordBits / 8;
  const packedBits = (bytes: Uint8Array, start: number, end: number, count: number): number => {
    const length = end - start;
    if (count > PACK_UNIT) throw corruptPage(origin, `${count} values in one bit-packed unit`);
    if (length < wordBytes) throw corruptPage(origin, "bit-packed unit without width");
    const bits = bytes[start];
    for (let byte = 1; byte < wordBytes; byte++) {
      if (bytes[start + byte] !== 0) throw corruptPage(origin, "bit-packed width beyond its word");
    }
    if (bits > wordBits) throw corruptPage(origin, `${bits} bits of a ${wordBits}-bit word`);
    if (length !== wordBytes + packedUnitBytes(bits)) {
      throw corruptPage(origin, `bit-packed unit of ${length} bytes at ${bits} bits a value`);
    }
    return bits;
  };
  return {
    bitsPerValue: wordBits,
    bufferCount: 1,
    inPlace: { offset: wordBytes, packedBits },
    decode(buffers, first, count, output, outputIndex) {
      const input = buffers[first];
      const bits = packedBits(input, 0, input.length, count);
      unpackUnit(wordBits, bits, input, wordBytes, count, output, outputIndex * wordBytes);
    },
  };
}

/** Unpacks the first `count` values of a unit; straight into `output` if it has room for all 1024. */
export function unpackUnit(
  wordBits: WordBits,
  packedBits: number,
  input: Uint8Array,
  inputOffset: number,
  count: number,
  output: Uint8Array,
  outputOffset: number,
): void {
  if (outputOffset + PACK_UNIT * (wordBits / 8) <= output.length) {
    unpackBits(wordBits, packedBits, input, inputOffset, output, outputOffset);
    return;
  }
  unpackBits(wordBits, packedBits, input, inputOffset, scratch, 0);
  output.set(scratch.subarray(0, count * (wordBits / 8)), outputOffset);
}

/** @throws CorruptFileError for a width of words that are never packed */
export function checkWordBits(bits: number, origin: PageOrigin): WordBits {
  if (bits === 8 || bits === 16 || bits === 32 || bits === 64) return bits;
  throw corruptPage(origin, `words of ${bits} bits`);
}
