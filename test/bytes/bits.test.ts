import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { copyBits, countOnes } from "../../src/bytes/bits.js";

const bitAt = (bytes: Uint8Array, bit: number) => (bytes[bit >>> 3] >>> (bit & 7)) & 1;

const ranges = fc
  .record({
    source: fc.uint8Array({ minLength: 1, maxLength: 40 }),
    sourceBit: fc.nat(),
    targetBit: fc.nat(30),
    count: fc.nat(),
  })
  .map(({ source, sourceBit, targetBit, count }) => {
    const start = sourceBit % (source.length * 8);
    return { source, sourceBit: start, targetBit, count: count % (source.length * 8 - start + 1) };
  });

describe("bits", () => {
  it("copies any range to any place and touches nothing else", () => {
    fc.assert(
      fc.property(ranges, ({ source, sourceBit, targetBit, count }) => {
        const target = new Uint8Array(50);
        for (let bit = 0; bit < targetBit; bit++) target[bit >>> 3] |= 1 << (bit & 7);
        copyBits(source, sourceBit, target, targetBit, count);
        for (let bit = 0; bit < target.length * 8; bit++) {
          const copied = bit >= targetBit && bit < targetBit + count;
          const expected = copied ? bitAt(source, sourceBit + bit - targetBit) : bit < targetBit ? 1 : 0;
          if (bitAt(target, bit) !== expected) throw new Error(`bit ${bit}`);
        }
      }),
    );
  });

  it("counts ones of any range", () => {
    fc.assert(
      fc.property(ranges, ({ source, sourceBit, count }) => {
        let ones = 0;
        for (let bit = sourceBit; bit < sourceBit + count; bit++) ones += bitAt(source, bit);
        expect(countOnes(source, sourceBit, count)).toBe(ones);
      }),
    );
  });
});
