/** Encodes out-of-line bit-packing, as outOfLineBitpacking.ts describes it. */

import { bytesOf } from "../../bytes/view.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { PACK_UNIT, packedUnitBytes } from "./bitpack.js";
import { packBits } from "./bitpackEncoder.js";
import type { WordBits } from "./bitpackKernel.js";

/** Describes words of `wordBits` packed to `packedBits`. */
export const describeOutOfLineBitpacking = (wordBits: WordBits, packedBits: number): CompressiveEncoding => ({
  outOfLineBitpacking: {
    uncompressedBitsPerValue: wordBits,
    values: { flat: { bitsPerValue: packedBits, data: undefined } },
  },
});

/** True if the values after the last full unit become one more unit, which is the shorter form. */
const packsTail = (wordBits: number, packedBits: number, tail: number): boolean =>
  packedBits * (PACK_UNIT - tail) < (wordBits - packedBits) * tail;

/** Bytes of `count` 16-bit words packed to `packedBits`. */
export function outOfLinePackedBytes(packedBits: number, count: number): number {
  const unitBytes = packedUnitBytes(packedBits);
  const tail = count % PACK_UNIT;
  const units = Math.floor(count / PACK_UNIT);
  return units * unitBytes + (packsTail(16, packedBits, tail) ? unitBytes : 2 * tail);
}

const tailScratch = new Uint16Array(PACK_UNIT);

/** Packs 16-bit words `start` to `end − 1`, none of more than `packedBits`, at `outputOffset`. */
export function encodeOutOfLineBitpacking(
  packedBits: number,
  words: Uint16Array,
  start: number,
  end: number,
  output: Uint8Array,
  outputOffset: number,
): void {
  const unitBytes = packedUnitBytes(packedBits);
  const input = bytesOf(words);
  let read = start;
  let write = outputOffset;
  for (; end - read >= PACK_UNIT; read += PACK_UNIT, write += unitBytes) {
    packBits(16, packedBits, input, 2 * read, output, write);
  }
  if (packsTail(16, packedBits, end - read)) {
    tailScratch.set(words.subarray(read, end));
    tailScratch.fill(0, end - read);
    packBits(16, packedBits, new Uint8Array(tailScratch.buffer), 0, output, write);
  } else {
    output.set(input.subarray(2 * read, 2 * end), write);
  }
}
