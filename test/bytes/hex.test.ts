import fc from "fast-check";
import { expect, it } from "vitest";
import { fromHex, toHex } from "../../src/bytes/hex.js";

it("bytes become digits and come back", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = toHex(bytes);
      expect(text).toBe(Buffer.from(bytes).toString("hex"));
      expect(fromHex(text)).toEqual(bytes);
      expect(fromHex(text.toUpperCase())).toEqual(bytes);
    }),
  );
});

it.each(["0", "0g", "-1", " 1", "1 ", "\u0661\u0661"])("%j is not hexadecimal", (text) => {
  expect(fromHex(text)).toBeNull();
});
