import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bothOf, Limit, mapAhead, mapParallel, runParallel } from "../../src/async/parallel.js";

const later = <T>(value: T, turns: number): Promise<T> =>
  turns === 0
    ? Promise.resolve(value)
    : new Promise((resolve) => setImmediate(resolve)).then(() => later(value, turns - 1));

class Watch {
  underWay = 0;
  most = 0;
  started = 0;

  async do<T>(work: () => Promise<T>): Promise<T> {
    this.started++;
    this.most = Math.max(this.most, ++this.underWay);
    try {
      return await work();
    } finally {
      this.underWay--;
    }
  }
}

describe("mapParallel", () => {
  it("returns results in the order of the list, with at most the allowed number at a time", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(4), { maxLength: 30 }),
        fc.integer({ min: 1, max: 10 }),
        async (delays, most) => {
          const watch = new Watch();
          const results = await mapParallel(delays, most, (delay, index) =>
            watch.do(() => later(index, delay)),
          );
          expect(results).toEqual(delays.map((_, index) => index));
          expect(watch.most).toBe(Math.min(most, delays.length));
        },
      ),
      { numRuns: 50 },
    );
  });

  it("starts nothing after the first error, and throws it after all started work has ended", async () => {
    const watch = new Watch();
    const run = runParallel(100, 4, (index) =>
      watch.do(async () => {
        await later(index, index === 5 ? 1 : 10);
        if (index === 5) throw new Error("fifth");
      }),
    );
    await expect(run).rejects.toThrow("fifth");
    expect(watch.underWay).toBe(0);
    expect(watch.started).toBeLessThan(10);
  });

  it("throws the first of two errors", async () => {
    const run = runParallel(2, 2, async (index) => {
      await later(index, 2 - index);
      throw new Error(`number ${index}`);
    });
    await expect(run).rejects.toThrow("number 1");
  });

  it("starts nothing after an abort, and throws its reason after all started work has ended", async () => {
    const controller = new AbortController();
    const watch = new Watch();
    const run = runParallel(
      100,
      4,
      (index) =>
        watch.do(async () => {
          await later(index, 3);
          if (index === 5) controller.abort(new Error("enough"));
        }),
      controller.signal,
    );
    await expect(run).rejects.toThrow("enough");
    expect(watch.underWay).toBe(0);
    expect(watch.started).toBeLessThan(10);
  });

  it("does nothing for an empty list", async () => {
    expect(await mapParallel([], 4, () => Promise.reject(new Error("called")))).toEqual([]);
  });
});

describe("Limit", () => {
  it("bounds the concurrent tasks of separate callers, and keeps their order after failures", async () => {
    const limit = new Limit(3);
    const watch = new Watch();
    const begun: number[] = [];
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        limit.run(() =>
          watch.do(async () => {
            begun.push(index);
            await later(index, index % 4);
            if (index % 5 === 0) throw new Error("fifth");
            return index;
          }),
        ),
      ),
    );
    expect(watch.most).toBe(3);
    expect(begun).toEqual(Array.from({ length: 20 }, (_, index) => index));
    expect(outcomes.map(({ status }) => status)).toEqual(
      begun.map((index) => (index % 5 === 0 ? "rejected" : "fulfilled")),
    );
  });
});

describe("mapAhead", () => {
  it("keeps the order of the source when the work ends in another order", async () => {
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

  it("bounds the weight of started items, but always allows one", async () => {
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

  it("throws an error in the turn of its result, after the results before it", async () => {
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

  it("starts nothing after an error, and throws it after all started work has ended", async () => {
    const watch = new Watch();
    const work = (item: number) =>
      watch.do(async () => {
        await later(item, item === 3 ? 1 : 10);
        if (item === 3) throw new Error("third");
        return item;
      });
    const run = async () => {
      const items = Array.from({ length: 100 }, (_, index) => index);
      for await (const _ of mapAhead(items, work, { weigh: () => 1, maxWeight: 6 }));
    };
    await expect(run()).rejects.toThrow("third");
    expect(watch.underWay).toBe(0);
    expect(watch.started).toBeLessThan(10);
  });

  it("ends all started work when the consumer stops early", async () => {
    const watch = new Watch();
    const items = Array.from({ length: 100 }, (_, index) => index);
    const work = (item: number) => watch.do(() => later(item, item === 0 ? 0 : 10));
    for await (const _ of mapAhead(items, work, { weigh: () => 1, maxWeight: 6 })) break;
    expect(watch.underWay).toBe(0);
    expect(watch.started).toBeLessThan(10);
  });

  it("throws the reason of an abort in place of starting the next item", async () => {
    const controller = new AbortController();
    const watch = new Watch();
    const items = Array.from({ length: 100 }, (_, index) => index);
    const seen: number[] = [];
    const work = (item: number) => watch.do(() => later(item, 3));
    const limit = { weigh: () => 1, maxWeight: 4, signal: controller.signal };
    const run = async () => {
      for await (const item of mapAhead(items, work, limit)) {
        seen.push(item);
        if (item === 5) controller.abort(new Error("enough"));
      }
    };
    await expect(run()).rejects.toThrow("enough");
    expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
    expect(watch.underWay).toBe(0);
  });

  it("stops at its bound while the consumer takes nothing, and reports the weight that it holds", async () => {
    const watch = new Watch();
    const held: number[] = [];
    const items = Array.from({ length: 100 }, (_, index) => index);
    const work = (item: number) => watch.do(() => later(item, 0));
    const limit = { weigh: () => 2, maxWeight: 8, hold: (weight: number) => void held.push(weight) };
    const results = mapAhead(items, work, limit);
    await results.next();
    await later(null, 20);
    expect(watch.started).toBe(4);
    expect(held.at(-1)).toBe(8);
    await results.next();
    await later(null, 20);
    expect(watch.started).toBe(5);
    await results.return();
    expect(held.at(-1)).toBe(0);
    expect(Math.max(...held)).toBe(8);
  });
});

describe("bothOf", () => {
  const later = async (text: string) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    throw new Error(text);
  };
  const atOnce = async (text: string) => {
    throw new Error(text);
  };

  it("returns both results", async () => {
    expect(await bothOf(Promise.resolve(1), Promise.resolve("b"))).toEqual([1, "b"]);
  });

  it("throws the failure of the first one, whichever fails earlier", async () => {
    await expect(bothOf(later("first"), atOnce("second"))).rejects.toThrow("first");
    await expect(bothOf(atOnce("first"), later("second"))).rejects.toThrow("first");
  });

  it("throws the failure of the second one, if the first succeeds", async () => {
    await expect(bothOf(Promise.resolve(1), atOnce("second"))).rejects.toThrow("second");
  });

  it("throws when the other one has ended", async () => {
    const watch = new Watch();
    await expect(
      bothOf(
        atOnce("first"),
        watch.do(() => later("second")),
      ),
    ).rejects.toThrow("first");
    expect(watch.underWay).toBe(0);
  });
});
