import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { copyBits, countOnes, positionsOfOnes } from "../../src/bytes/bits.js";

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

describe("bit functions", () => {
  it("copy any range to any position and change nothing else", () => {
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

  it("count the ones of any range", () => {
    fc.assert(
      fc.property(ranges, ({ source, sourceBit, count }) => {
        let ones = 0;
        for (let bit = sourceBit; bit < sourceBit + count; bit++) ones += bitAt(source, bit);
        expect(countOnes(source, sourceBit, count)).toBe(ones);
      }),
    );
  });

  it("find the positions of ones at any alignment of the bytes", () => {
    const bytes = fc.array(fc.oneof(fc.constant(0), fc.constant(255), fc.nat(255)), { maxLength: 40 });
    fc.assert(
      fc.property(bytes, fc.nat(7), fc.nat(7), ([...all], skipped, cut) => {
        const memory = new Uint8Array(skipped + all.length);
        memory.set(all, skipped);
        const count = Math.max(0, all.length * 8 - cut);
        const expected = Array.from({ length: count }, (_, bit) => bit).filter((bit) =>
          bitAt(memory, skipped * 8 + bit),
        );
        const positions = positionsOfOnes(memory.subarray(skipped), count);
        expect(positions === null ? "all" : [...positions]).toEqual(
          expected.length === count ? "all" : expected,
        );
        expect(countOnes(memory.subarray(skipped), 0, count)).toBe(expected.length);
      }),
    );
  });
});
