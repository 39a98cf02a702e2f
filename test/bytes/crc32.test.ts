import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32, crc32Portable } from "../../src/bytes/crc32.js";

const ascii = (text: string) => new TextEncoder().encode(text);

describe("crc32", () => {
  for (const [name, checksum] of [
    ["crc32", crc32],
    ["crc32Portable", crc32Portable],
  ] as const) {
    it(`${name} gives the published check value`, () => {
      expect(checksum(ascii("123456789"))).toBe(0xcbf43926);
      expect(checksum(new Uint8Array(0))).toBe(0);
    });

    it(`${name} continues over pieces`, () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(100), (bytes, index) => {
          const cut = Math.min(index, bytes.length);
          expect(checksum(bytes.subarray(cut), checksum(bytes.subarray(0, cut)))).toBe(checksum(bytes));
        }),
      );
    });
  }

  it("native and portable agree at every length and alignment", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(8), fc.nat(0xffffffff), (bytes, skip, seed) => {
        const view = bytes.subarray(Math.min(skip, bytes.length));
        expect(crc32Portable(view, seed)).toBe(crc32(view, seed));
      }),
    );
  });
});
