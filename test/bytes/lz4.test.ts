import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeLz4Block, lz4BlockLength } from "../../src/bytes/lz4.js";
import { encodeLz4Block, encodeSmallLz4Block } from "../../src/bytes/lz4Encoder.js";

const decode = (input: number[], size: number): number[] | null => {
  const output = new Uint8Array(size);
  return decodeLz4Block(Uint8Array.from(input), output) ? [...output] : null;
};

describe("LZ4 blocks", () => {
  it("hold literals", () => {
    expect(decode([0x30, 1, 2, 3], 3)).toEqual([1, 2, 3]);
    expect(decode([0x00], 0)).toEqual([]);
  });

  it("hold matches that overlap their output", () => {
    // Two literals, a match of 4 + 3 bytes at distance 2, then one literal.
    expect(decode([0x23, 7, 8, 2, 0, 0x10, 9], 10)).toEqual([7, 8, 7, 8, 7, 8, 7, 8, 7, 9]);
  });

  it("extend counts of 15 by the following bytes", () => {
    const literals = Array.from({ length: 15 + 255 + 4 }, (_, index) => index & 255);
    expect(decode([0xf0, 255, 4, ...literals], literals.length)).toEqual(literals);
    const run = decode([0x1f, 5, 1, 0, 255, 0, 0x10, 6], 1 + 15 + 255 + 4 + 1);
    expect(run).toEqual([...new Array(1 + 15 + 255 + 4).fill(5), 6]);
  });

  it("are refused when they are malformed", () => {
    expect(decode([], 0)).toBeNull();
    expect(decode([0x30, 1, 2], 3)).toBeNull();
    expect(decode([0x30, 1, 2, 3], 2)).toBeNull();
    expect(decode([0x30, 1, 2, 3], 4)).toBeNull();
    // Distance 0, a distance before the start, a match after the end of the output.
    expect(decode([0x10, 1, 0, 0, 0x10, 2], 6)).toBeNull();
    expect(decode([0x10, 1, 2, 0, 0x10, 2], 6)).toBeNull();
    expect(decode([0x1f, 1, 1, 0, 255, 255, 255, 0, 0x10, 2], 20)).toBeNull();
    expect(decode([0xf0, 255, 255], 600)).toBeNull();
  });

  it("decode in time bounded by their output, for any input", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(500), (input, size) => {
        const output = new Uint8Array(size);
        expect(typeof decodeLz4Block(input, output)).toBe("boolean");
      }),
    );
  });
});

describe.each([
  ["quickly", encodeLz4Block],
  ["small", encodeSmallLz4Block],
])("encoding LZ4 blocks %s", (_, encode) => {
  const roundTrip = (input: Uint8Array): number => {
    const block = encode(input);
    expect(lz4BlockLength(block)).toBe(input.length);
    const output = new Uint8Array(input.length);
    expect(decodeLz4Block(block, output)).toBe(true);
    expect(Buffer.compare(output, input)).toBe(0);
    return block.length;
  };

  it("keeps any bytes, and adds little to those that don't repeat", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.uint8Array({ maxLength: 80 }), fc.integer({ min: 1, max: 40 })), {
          maxLength: 20,
        }),
        (pieces) => {
          const input = Uint8Array.from(
            pieces.flatMap(([piece, times]) => new Array(times).fill([...piece]).flat()),
          );
          expect(roundTrip(input)).toBeLessThanOrEqual(input.length + Math.ceil(input.length / 255) + 16);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("shortens repeated bytes", () => {
    const text = new TextEncoder().encode("a value that is there again and again, ".repeat(200));
    expect(roundTrip(text)).toBeLessThan(text.length / 50);
    expect(roundTrip(new Uint8Array(100_000))).toBeLessThan(500);
  });

  it("finds matches only within the largest distance", () => {
    let state = 1;
    const noise = Uint8Array.from({ length: 70_000 }, () => {
      state = Math.imul(state, 1_664_525) + 1_013_904_223;
      return state >>> 24;
    });
    const input = new Uint8Array(140_000);
    input.set(noise);
    input.set(noise, 70_000);
    roundTrip(input);
  });
});

describe("encoding small LZ4 blocks", () => {
  it("finds longer matches than the quick encoder", () => {
    const words = "the of and to in a is that for it as was with be by on not he his but at are this".split(
      " ",
    );
    let state = 7;
    const text = Array.from({ length: 20_000 }, () => {
      state = Math.imul(state, 1_664_525) + 1_013_904_223;
      return words[(state >>> 16) % words.length];
    }).join(" ");
    const input = new TextEncoder().encode(text);
    expect(encodeSmallLz4Block(input).length).toBeLessThan(0.85 * encodeLz4Block(input).length);
  });
});
