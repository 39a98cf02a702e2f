/** Base64 is that of Node's Buffer, and nothing else is taken for it. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeBase64, encodeBase64 } from "../../src/bytes/base64.js";

it("bytes have the text that Buffer gives them, and the text has those bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
      const text = encodeBase64(bytes);
      expect(text).toBe(Buffer.from(bytes).toString("base64"));
      expect(decodeBase64(text)).toEqual(bytes);
      expect(decodeBase64(text.replace(/=+$/, ""))).toEqual(bytes);
    }),
  );
  const large = new Uint8Array(200_001).map((_, index) => index * 7);
  expect(decodeBase64(encodeBase64(large))).toEqual(large);
});

it.each([
  "A",
  "AB=",
  "AA=A",
  "A===",
  "=",
  "AAAA=",
  "AA A",
  "AA-_",
  "ĀAAA",
  "AB==",
  "AAB=",
  "AAAA\n",
  7,
  null,
])("%j is not base64", (text) => {
  expect(decodeBase64(text)).toBeNull();
});
