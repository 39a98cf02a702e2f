import { describe, expect, it } from "vitest";
import { decodeHalfFloat, encodeHalfFloat } from "../../src/bytes/halfFloat.js";

describe("16-bit floats", () => {
  it("are all encoded to the bits that they were decoded from", () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = decodeHalfFloat(bits);
      if (Number.isNaN(value)) expect(Number.isNaN(decodeHalfFloat(encodeHalfFloat(value)))).toBe(true);
      else expect(encodeHalfFloat(value), String(value)).toBe(bits);
    }
  });
  it.each([
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [-1e300, 0xfc00],
    [2 ** -24, 0x0001],
    [2 ** -25, 0x0000],
    [2 ** -25 * 1.0001, 0x0001],
    [3 * 2 ** -25, 0x0002],
    [2 ** -14 - 2 ** -26, 0x0400],
    [-0, 0x8000],
    [0.1, 0x2e66],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
  ])("%d is rounded to the nearest, ties to even", (value, bits) => {
    expect(encodeHalfFloat(value)).toBe(bits);
  });
  it("are the nearest ones to any number", () => {
    for (let bits = 0; bits < 0x7bff; bits++) {
      const [low, high] = [decodeHalfFloat(bits), decodeHalfFloat(bits + 1)];
      expect(encodeHalfFloat(low + (high - low) * 0.49)).toBe(bits);
      expect(encodeHalfFloat(low + (high - low) * 0.51)).toBe(bits + 1);
      expect(encodeHalfFloat((low + high) / 2)).toBe(bits % 2 === 0 ? bits : bits + 1);
    }
  });
});
