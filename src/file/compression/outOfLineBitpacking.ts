/**
 * Out-of-line bit-packing of a block: words of T bits packed to W bits, W being part of the encoding.
 *
 *     n div 1024 units of 128·W bytes, FastLanes order (bitpack.ts)
 *     the n mod 1024 values left, either as plain T-bit words or as one more unit filled up with zeros;
 *     the length of the buffer tells which
 *
 * If W is 0, all values are 0 and full units take no bytes.
 */

import type { OutOfLineBitpacking } from "../../format/encodings.js";
import { corruptPage, type PageOrigin } from "../container/page.js";
import { PACK_UNIT, packedUnitBytes, unpackBits } from "./bitpack.js";
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
