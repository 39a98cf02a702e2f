import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RowIds, RowIdsBuilder } from "../../src/indexes/rowIds.js";

const run = fc.record({
  high: fc.nat(2),
  start: fc.oneof(fc.nat(200_000), fc.constant(2 ** 32 - 70_000)),
  step: fc.integer({ min: 1, max: 9 }),
  count: fc.nat(7000),
  repeats: fc.integer({ min: 1, max: 2 }),
});

describe("a set of row ids", () => {
  it("is equal for ascending, repeated and unsorted ids", () => {
    fc.assert(
      fc.property(fc.array(run, { maxLength: 4 }), fc.boolean(), (runs, isSorted) => {
        const ids: [number, number][] = [];
        for (const { high, start, step, count, repeats } of runs) {
          for (let index = 0; index < count; index++) {
            for (let time = 0; time < repeats; time++) ids.push([high, (start + index * step) >>> 0]);
          }
        }
        if (isSorted) ids.sort(([a, b], [c, d]) => a - c || b - d);
        const words = new Uint32Array(ids.flatMap(([high, low]) => [low, high]));
        const builder = new RowIdsBuilder();
        for (let row = ids.length - 1; row >= 0; row--) builder.add(words, row, row + 1);
        const set = RowIds.of(words);
        expect(Buffer.from(set.encode()).equals(builder.finish().encode())).toBe(true);
        expect(set.size).toBe(new Set(ids.map(([high, low]) => high * 2 ** 32 + low)).size);
      }),
      { numRuns: 60 },
    );
  });

  it("keeps only ids with the given high words", () => {
    const set = RowIds.of(Uint32Array.of(7, 0, 1, 2, 9, 2, 5, 4));
    const within = (...highs: number[]) => set.within(new Set(highs));
    expect(within(2, 3).highWords()).toEqual([2]);
    expect([...within(2, 3).lows(2, 10)]).toEqual([1, 9]);
    expect(within(3).size).toBe(0);
    expect(within(0, 2, 4)).toBe(set);
  });
});
