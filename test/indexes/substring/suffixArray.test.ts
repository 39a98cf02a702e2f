/** Suffix arrays equal a plain sort of all suffixes. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { runSync } from "../../../src/async/eventLoop.js";
import { suffixArray } from "../../../src/indexes/substring/suffixArray.js";
import { Random } from "../../support/generators.js";

const sorted = (text: Uint8Array): number[] =>
  Array.from(text, (_, start) => start).sort((a, b) => Buffer.compare(text.subarray(a), text.subarray(b)));

const expectSorted = (bytes: readonly number[]): void => {
  const text = Uint8Array.of(...bytes, 0);
  expect([...runSync(suffixArray(text, 256))]).toEqual(sorted(text));
};

it.each([2, 3, 5, 255])("suffixes of strings of %i different bytes are sorted", (alphabet) => {
  const byte = fc.integer({ min: 1, max: alphabet });
  fc.assert(fc.property(fc.array(byte, { maxLength: 200 }), expectSorted));
});

it("suffixes of a string of repeated parts are sorted", () => {
  const part = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 6 });
  const runs = fc.array(fc.tuple(part, fc.integer({ min: 1, max: 20 })), { maxLength: 6 });
  fc.assert(
    fc.property(runs, (parts) =>
      expectSorted(parts.flatMap(([of, times]) => new Array(times).fill(of).flat())),
    ),
  );
});

it("a long string is sorted in steps", () => {
  const random = new Random(3);
  const text = Uint8Array.from({ length: 200_000 }, (_, index) =>
    index === 199_999 ? 0 : 1 + random.below(4),
  );
  const steps = suffixArray(text, 5);
  let stepCount = 0;
  let next = steps.next();
  for (; next.done !== true; next = steps.next()) stepCount++;
  expect(stepCount).toBeGreaterThan(20);
  const order = next.value;
  expect(new Set(order).size).toBe(text.length);
  for (let row = 1; row < order.length; row += 97)
    expect(Buffer.compare(text.subarray(order[row - 1]), text.subarray(order[row]))).toBe(-1);
});
