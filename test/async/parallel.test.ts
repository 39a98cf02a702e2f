import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mapAhead } from "../../src/async/parallel.js";

const later = <T>(value: T, turns: number): Promise<T> =>
  turns === 0
    ? Promise.resolve(value)
    : new Promise((resolve) => setImmediate(resolve)).then(() => later(value, turns - 1));

describe("mapAhead", () => {
  it("keeps the order of the source whatever order the work ends in", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(4), { maxLength: 30 }),
        fc.integer({ min: 1, max: 10 }),
        async (delays, maxWeight) => {
          const seen: number[] = [];
          const items = delays.map((delay, index) => ({ delay, index }));
          for await (const index of mapAhead(items, (item) => later(item.index, item.delay), {
            weigh: () => 1,
            maxWeight,
          })) {
            seen.push(index);
          }
          expect(seen).toEqual(delays.map((_, index) => index));
        },
      ),
      { numRuns: 50 },
    );
  });

  it("never has more weight under way than allowed, but always one item", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 30 }),
        fc.integer({ min: 1, max: 25 }),
        async (weights, maxWeight) => {
          let underWay: number[] = [];
          const work = async (weight: number) => {
            const before = underWay.reduce((sum, each) => sum + each, 0);
            expect(before < maxWeight || underWay.length === 0).toBe(true);
            underWay.push(weight);
            return later(weight, 1);
          };
          for await (const weight of mapAhead(weights, work, { weigh: (each) => each, maxWeight })) {
            underWay = underWay.slice(1);
            expect(weight).toBeGreaterThan(0);
          }
          expect(underWay).toEqual([]);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("raises an error where its result is due, after the results before it", async () => {
    const seen: number[] = [];
    const run = async () => {
      const work = async (item: number) => {
        if (item === 3) throw new Error("third");
        return item;
      };
      for await (const item of mapAhead([1, 2, 3, 4], work, { weigh: () => 1, maxWeight: 10 }))
        seen.push(item);
    };
    await expect(run()).rejects.toThrow("third");
    expect(seen).toEqual([1, 2]);
  });

  it("closes its source when the consumer stops early", async () => {
    let closed = false;
    async function* source() {
      try {
        for (let item = 0; ; item++) yield item;
      } finally {
        closed = true;
      }
    }
    for await (const item of mapAhead(source(), async (each) => each, { weigh: () => 1, maxWeight: 3 })) {
      if (item === 5) break;
    }
    expect(closed).toBe(true);
  });
});
