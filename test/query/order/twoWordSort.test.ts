/** Keys of two words, sorted by buckets, beside a stable sort by comparison. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runSync } from "../../../src/async/eventLoop.js";
import {
  ENTRY_WORDS,
  rowsOfEntries,
  sortTwoWords,
  twoWordKeys,
} from "../../../src/query/order/twoWordSort.js";

const word = fc.integer({ min: 0, max: 0xffff_ffff });
const key = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

/** Keys of several shapes: any, few, clustered beside outliers, of exponential sizes, in or near order. */
const keys: fc.Arbitrary<bigint[]> = fc.oneof(
  fc.array(key, { maxLength: 3000 }),
  fc.array(fc.constantFrom(5n, 6n, 2n ** 40n), { minLength: 40, maxLength: 900 }),
  fc
    .record({
      base: key,
      bits: fc.integer({ min: 0, max: 63 }),
      seed: word,
      outliers: fc.array(key, { maxLength: 9 }),
    })
    .map(({ base, bits, seed, outliers }) => [
      ...Array.from({ length: 3000 }, (_, row) => {
        const hash = BigInt(row + seed) * 0x9e37_79b9_7f4a_7c15n;
        return BigInt.asUintN(64, base + BigInt.asUintN(bits, hash));
      }),
      ...outliers,
    ]),
  fc
    .array(fc.tuple(fc.integer({ min: 0, max: 63 }), word), { maxLength: 3000 })
    .map((pairs) =>
      pairs.map(([bits, low]) => (1n << BigInt(bits)) | (BigInt(low) & ((1n << BigInt(bits)) - 1n))),
    ),
  fc.tuple(fc.array(key, { maxLength: 1000 }), fc.nat(3)).map(([values, swaps]) => {
    const ascending = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    for (let swap = 0; swap < swaps && swap + 1 < ascending.length; swap++) {
      [ascending[swap], ascending[ascending.length - 1 - swap]] = [
        ascending[ascending.length - 1 - swap],
        ascending[swap],
      ];
    }
    return ascending;
  }),
);

const wordsOf = (values: readonly bigint[]): Uint32Array =>
  Uint32Array.from(values.flatMap((value) => [Number(value >> 32n), Number(value & 0xffff_ffffn)]));

/** Cuts words into pieces that share their memory, each with `rows` keys at most. */
const inPieces = (words: Uint32Array, rows: number) => ({
  rowCount: words.length / 2,
  *pieces() {
    const piece = new Uint32Array(2 * rows);
    for (let start = 0; start < words.length; start += 2 * rows) {
      const some = words.subarray(start, start + 2 * rows);
      piece.set(some);
      yield piece.subarray(0, some.length);
    }
  },
});

describe("sortTwoWords", () => {
  it("orders entries as a stable sort by comparison", () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 1000 }), (values, pieceRows) => {
        const wanted = [...values.keys()].sort((a, b) =>
          values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : a - b,
        );
        const words = wordsOf(values);
        const entries = runSync(sortTwoWords(inPieces(words, pieceRows)));
        expect(entries === null).toBe(wanted.every((row, index) => row === index));
        expect([...runSync(rowsOfEntries(entries, values.length))]).toEqual(wanted);
        if (entries === null) return;
        const sorted = wanted.flatMap((row) => [words[2 * row], words[2 * row + 1], row]);
        expect([...entries]).toEqual(sorted);
      }),
      { numRuns: 150 },
    );
  });

  it("sorts one large bucket within a large range, and yields meanwhile", () => {
    const rowCount = 100_000;
    const words = new Uint32Array(2 * rowCount);
    for (let row = 0; row < rowCount; row++) words[2 * row + 1] = Math.imul(row, 2_654_435_761);
    words[0] = 0xffff_ffff;
    let steps = 0;
    const sorting = sortTwoWords(twoWordKeys(words));
    let step = sorting.next();
    for (; step.done !== true; step = sorting.next()) steps++;
    const entries = step.value as Uint32Array;
    expect(steps).toBeGreaterThan(30);
    expect(entries[ENTRY_WORDS * (rowCount - 1) + 2]).toBe(0);
    for (let slot = ENTRY_WORDS; slot < entries.length - ENTRY_WORDS; slot += ENTRY_WORDS) {
      if (entries[slot + 1] < entries[slot + 1 - ENTRY_WORDS]) expect.fail(`entry ${slot / ENTRY_WORDS}`);
    }
  });
});
