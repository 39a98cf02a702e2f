import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rleDecoder } from "../../../src/file/compression/rle.js";
import { countRuns, describeRle, RleRuns } from "../../../src/file/compression/rleEncoder.js";

const origin = { path: "/t.lance", byteOffset: 0 };

/** Makes runs of random words, some of them longer than one byte can count. */
const runs = (byteWidth: number) =>
  fc
    .array(
      fc.tuple(
        fc.uint8Array({ minLength: byteWidth, maxLength: byteWidth }),
        fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constantFrom(254, 255, 256, 600)),
      ),
      { minLength: 1, maxLength: 20 },
    )
    .map((entries) =>
      Uint8Array.from(entries.flatMap(([word, length]) => new Array(length).fill([...word]).flat())),
    );

describe.each([8, 16, 32, 64] as const)("run-length encoding of %i-bit words", (wordBits) => {
  const byteWidth = wordBits / 8;

  it("keeps the words, in runs of 255 at most", () => {
    fc.assert(
      fc.property(runs(byteWidth), fc.constantFrom(0, 1, 3, 8), (words, shift) => {
        const count = words.length / byteWidth;
        // Any address, whatever its alignment.
        const moved = new Uint8Array(words.length + shift);
        moved.set(words, shift);
        const encoder = new RleRuns(wordBits, count);
        encoder.encode(moved, shift, count);
        const { runCount } = encoder;
        const whole = countRuns(byteWidth, moved, shift, count);
        expect(runCount).toBeGreaterThanOrEqual(whole);
        expect(runCount).toBeLessThanOrEqual(whole + Math.floor(count / 255));
        const description = describeRle(wordBits).rle;
        if (description === undefined) throw new Error("no run-length encoding");
        const output = new Uint8Array(words.length);
        rleDecoder(description, "chunk", origin).decode(
          [encoder.values.subarray(0, runCount * byteWidth), encoder.lengths.subarray(0, runCount)],
          0,
          count,
          output,
          0,
        );
        expect(Buffer.compare(output, words)).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});
