import { describe, expect, it } from "vitest";
import { CHECK_BLOCK_BYTES, lookAtCheckBlock, makeCheckBlock } from "../../src/bytes/checkBlock.js";
import { concatBytes } from "../../src/bytes/concat.js";
import { flipsOf } from "../support/flips.js";

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
