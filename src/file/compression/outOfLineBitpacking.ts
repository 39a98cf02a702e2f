/**
 * Out-of-line bit-packing of a block: words of T bits packed to W bits, W being part of the encoding.
 *
 *     n div 1024 units of 128·W bytes, FastLanes order (bitpack.ts)
 *     the n mod 1024 values left, either as plain T-bit words or as one more unit filled up with zeros;
 *     the length of the buffer tells which
 *
 * If W is 0, all values are 0 and full units take no bytes.
 */

import { bytesOf } from "../../bytes/view.js";
import type { CompressiveEncoding, OutOfLineBitpacking } from "../../format/encodings.js";
import { corruptPage, type PageOrigin } from "../container/page.js";
import { PACK_UNIT, packBits, packedUnitBytes, unpackBits } from "./bitpack.js";
import type { WordBits } from "./bitpackKernel.js";
import type { FixedDecoder } from "./fixedDecoder.js";
import { checkWordBits, unpackUnit } from "./inlineBitpacking.js";

export function outOfLineBitpackingDecoder(encoding: OutOfLineBitpacking, origin: PageOrigin): FixedDecoder {
  const wordBits = checkWordBits(encoding.uncompressedBitsPerValue, origin);
  const wordBytes = wordBits / 8;
  const packedBits = encoding.values?.flat?.bitsPerValue;
  if (packedBits === undefined || packedBits > wordBits) {
    throw corruptPage(origin, `packed width ${packedBits ?? "missing"} of a ${wordBits}-bit word`);
  }
  const unitBytes = packedUnitBytes(packedBits);
  return {
    bitsPerValue: wordBits,
    bufferCount: 1,
    decode(buffers, first, count, output, outputIndex) {
      const input = buffers[first];
      const units = Math.floor(count / PACK_UNIT);
      const tail = count % PACK_UNIT;
      const tailStart = units * unitBytes;
      const rawTail = tail > 0 && input.length === tailStart + tail * wordBytes;
      if (!rawTail && input.length !== tailStart + (tail > 0 ? unitBytes : 0)) {
        throw corruptPage(origin, `${count} values at ${packedBits} bits in ${input.length} bytes`);
      }
      let outputOffset = outputIndex * wordBytes;
      for (let unit = 0; unit < units; unit++, outputOffset += PACK_UNIT * wordBytes) {
        unpackBits(wordBits, packedBits, input, unit * unitBytes, output, outputOffset);
      }
      if (rawTail) output.set(input.subarray(tailStart), outputOffset);
      else if (tail > 0) unpackUnit(wordBits, packedBits, input, tailStart, tail, output, outputOffset);
    },
  };
}

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
