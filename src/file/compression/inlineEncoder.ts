/** Encodes inline bit-packing, as inlineBitpacking.ts describes it. */

import type { CompressiveEncoding } from "../../format/encodings.js";
import { PACK_UNIT, packedUnitBytes } from "./bitpack.js";
import { packBits } from "./bitpackEncoder.js";
import type { WordBits } from "./bitpackKernel.js";

const scratch = new Uint8Array(8 * PACK_UNIT);

export const describeInlineBitpacking = (wordBits: WordBits): CompressiveEncoding => ({
  inlineBitpacking: { uncompressedBitsPerValue: wordBits, values: undefined },
});

/** Bytes of a packed unit, its width word included. */
export const inlineBitpackedBytes = (wordBits: WordBits, packedBits: number): number =>
  wordBits / 8 + packedUnitBytes(packedBits);

/** Packs up to 1024 words into `output`, which is zero there. No word needs more than `packedBits`. */
export function encodeInlineBitpacking(
  wordBits: WordBits,
  packedBits: number,
  words: Uint8Array,
  byteOffset: number,
  count: number,
  output: Uint8Array,
  outputOffset: number,
): void {
  const wordBytes = wordBits / 8;
  output[outputOffset] = packedBits;
  if (count === PACK_UNIT) {
    packBits(wordBits, packedBits, words, byteOffset, output, outputOffset + wordBytes);
    return;
  }
  scratch.fill(0);
  scratch.set(words.subarray(byteOffset, byteOffset + count * wordBytes));
  packBits(wordBits, packedBits, scratch, 0, output, outputOffset + wordBytes);
}
