import { describe, expect, it } from "vitest";
import { CHECK_BLOCK_BYTES, lookAtCheckBlock, makeCheckBlock } from "../../src/bytes/checkBlock.js";
import { concatBytes } from "../../src/bytes/concat.js";
import { decodeSealedJson, encodeSealedJson, isSealBroken } from "../../src/bytes/sealedJson.js";

/** Yields the bytes with each single bit flipped, and the index of that bit. */
function* flipsOf(bytes: Uint8Array): Generator<{ flipped: Uint8Array; bit: number }> {
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    yield { flipped, bit };
  }
}

describe("a check block", () => {
  const before = Uint8Array.of(1, 2, 3);
  const after = Uint8Array.of(4, 5);
  const name = new TextEncoder().encode("name");
  const file = concatBytes([before, makeCheckBlock(before, after, name), after]);

  it("matches its file under its name only", () => {
    expect(lookAtCheckBlock(file, 3, name)).toBe("intact");
    expect(lookAtCheckBlock(file, 3)).toBe("damaged");
    expect(lookAtCheckBlock(file, 2, name)).toBe("absent");
    expect(lookAtCheckBlock(before, before.length - CHECK_BLOCK_BYTES)).toBe("absent");
  });

  it("never accepts changed content", () => {
    for (const { flipped, bit } of flipsOf(file)) {
      expect(lookAtCheckBlock(flipped, 3, name), `bit ${bit}`).toBe("damaged");
    }
  });

  it("with half of its magic is damaged, and other bytes in its place are no block", () => {
    const halved = file.slice();
    halved.fill(0xff, 3, 7);
    expect(lookAtCheckBlock(halved, 3, name)).toBe("damaged");
    halved[7] = 0xff;
    expect(lookAtCheckBlock(halved, 3, name)).toBe("absent");
    const text = new TextEncoder().encode("TYCHECK2 is text");
    expect(lookAtCheckBlock(concatBytes([before, text, after]), 3, name)).toBe("absent");
  });
});

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

  it("with a flipped bit is broken, not JSON, or the written value", () => {
    const value = { version: 3, branch: null };
    for (const { flipped, bit } of flipsOf(encodeSealedJson(value))) {
      expect([undefined, value], `bit ${bit}`).toContainEqual(decodeSealedJson(flipped));
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
