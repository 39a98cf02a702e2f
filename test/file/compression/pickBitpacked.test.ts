import { describe, expect, it } from "vitest";
import { PACK_UNIT, packedUnitBytes, unpackBitsPlainly } from "../../../src/file/compression/bitpack.js";
import { packBits } from "../../../src/file/compression/bitpackEncoder.js";
import type { WordBits } from "../../../src/file/compression/bitpackKernel.js";
import { pickBitpacked, wordMemory } from "../../../src/file/compression/pickBitpacked.js";
import { Random } from "../../support/generators.js";

const WIDTHS: readonly WordBits[] = [8, 16, 32, 64];

describe.each(WIDTHS)("single values of %i bits", (wordBits) => {
  const byteWidth = wordBits / 8;
  const random = new Random(wordBits);

  it.each(Array.from({ length: wordBits + 1 }, (_, bits) => bits))("in %i are those of the unit", (bits) => {
    const words = new Uint8Array(PACK_UNIT * byteWidth);
    random.fill(words);
    for (let index = 0; index < PACK_UNIT; index++) {
      for (let byte = 0; byte < byteWidth; byte++) {
        const kept = Math.max(0, Math.min(8, bits - 8 * byte));
        words[index * byteWidth + byte] &= 2 ** kept - 1;
      }
    }
    const start = 24;
    // The bytes after the unit would show in the result if they were read.
    const data = new Uint8Array(start + packedUnitBytes(bits)).fill(0xff);
    data.fill(0, start);
    packBits(wordBits, bits, words, 0, data, start);
    const whole = new Uint8Array(PACK_UNIT * byteWidth);
    unpackBitsPlainly(wordBits, bits, data, start, whole, 0);
    expect(Buffer.compare(whole, words)).toBe(0);

    const memory = wordMemory(data);
    const origin = 5_000;
    const places = Uint32Array.from({ length: PACK_UNIT }, (_, index) => origin + index);
    const all = new Uint8Array(PACK_UNIT * byteWidth);
    pickBitpacked(
      { data: memory, start, bits, places, first: 0, end: PACK_UNIT, origin },
      byteWidth,
      wordMemory(all),
      0,
    );
    expect(Buffer.compare(all, words)).toBe(0);

    const some = Uint32Array.of(1, 2, origin + 3, origin + 511, origin + 512, origin + 1023, 9_999);
    const picked = new Uint8Array(8 * byteWidth);
    pickBitpacked(
      { data: memory, start, bits, places: some, first: 2, end: 6, origin },
      byteWidth,
      wordMemory(picked),
      3,
    );
    const expected = new Uint8Array(8 * byteWidth);
    for (const [index, offset] of [3, 511, 512, 1023].entries()) {
      expected.set(words.subarray(offset * byteWidth, (offset + 1) * byteWidth), (3 + index) * byteWidth);
    }
    expect(Buffer.compare(picked, expected)).toBe(0);
  });
});
