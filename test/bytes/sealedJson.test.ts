import { describe, expect, it } from "vitest";
import { decodeSealedJson, encodeSealedJson, isSealBroken } from "../../src/bytes/sealedJson.js";
import { flipsOf } from "../support/flips.js";

describe("sealed JSON", () => {
  it.each([0, 2])("is JSON for other readers, with an indentation of %i", (indent) => {
    const value = { name: "é", list: [1, 2], nested: { a: null } };
    const file = encodeSealedJson(value, indent);
    const text = new TextDecoder().decode(file);
    expect(JSON.parse(text)).toEqual(value);
    expect(text.trimEnd()).toBe(JSON.stringify(value, null, indent));
    expect(isSealBroken(file)).toBe(false);
    expect(decodeSealedJson(file)).toEqual(value);
  });

  it("is refused with any flipped bit", () => {
    for (const { flipped, bit } of flipsOf(encodeSealedJson({ version: 3, branch: null }))) {
      expect(decodeSealedJson(flipped), `bit ${bit}`).toBeUndefined();
    }
  });

  it("is not broken after another program has written it again", () => {
    for (const text of ["{}", '{"version":1}', '{"version":1}\n', '{"version":1}'.padEnd(64)]) {
      expect(isSealBroken(new TextEncoder().encode(text))).toBe(false);
      expect(decodeSealedJson(new TextEncoder().encode(text))).toEqual(JSON.parse(text));
    }
  });

  it("has no value for bytes that are not JSON, or nest too deep", () => {
    for (const text of ["", "{", `${"[".repeat(65)}${"]".repeat(65)}`]) {
      expect(decodeSealedJson(new TextEncoder().encode(text))).toBeUndefined();
    }
    expect(decodeSealedJson(Uint8Array.of(0x22, 0xff, 0x22))).toBeUndefined();
  });
});
