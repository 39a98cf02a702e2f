import fc from "fast-check";
import { expect, test } from "vitest";
import { LruCache } from "../../../src/io/memory/cache.js";

const weighed = (value: string, weight: number) => async () => ({ value, weight });

test("a cache drops the entries that nobody used for longest, by weight", async () => {
  const cache = new LruCache<string>(10);
  await cache.get("a", weighed("A", 4));
  await cache.get("b", weighed("B", 4));
  expect(cache.peek("a")).toBe("A");
  await cache.get("c", weighed("C", 4));
  expect([cache.peek("a"), cache.peek("b"), cache.peek("c")]).toEqual(["A", undefined, "C"]);
  expect(cache.weight).toBe(8);
});

test("a cache does not keep a value heavier than its bound", async () => {
  const cache = new LruCache<string>(10);
  await cache.get("a", weighed("A", 4));
  expect(await cache.get("big", weighed("BIG", 11))).toBe("BIG");
  expect([cache.size, cache.peek("a"), cache.peek("big")]).toEqual([1, "A", undefined]);
});

test("a cache keeps its minimum of entries, whatever their weight", async () => {
  const cache = new LruCache<string>(10, 1);
  await cache.get("a", weighed("A", 4));
  await cache.get("big", weighed("BIG", 11));
  expect([cache.peek("a"), cache.peek("big")]).toEqual([undefined, "BIG"]);
  await cache.get("bigger", weighed("BIGGER", 20));
  expect([cache.size, cache.peek("bigger"), cache.weight]).toEqual([1, "BIGGER", 20]);
});

test("only a bounded number of used entries stays on in one call", () => {
  const cache = new LruCache<number>(10_000);
  for (let key = 0; key < 10_000; key++) cache.set(`${key}`, key, 1);
  for (let key = 0; key < 10_000; key++) cache.peek(`${key}`);
  cache.set("new", -1, 1);
  expect(cache.size).toBe(10_000);
  // The first ones have had their chance, and the next one had to go in their stead.
  const gone = Array.from({ length: 10_000 }, (_, key) => key).filter(
    (key) => cache.peek(`${key}`) === undefined,
  );
  expect(gone).toEqual([256]);
  expect(cache.peek("new")).toBe(-1);
});

test("callers at the same time share one load", async () => {
  const cache = new LruCache<string>(10);
  let loads = 0;
  const load = async () => {
    loads++;
    await new Promise((resolve) => setImmediate(resolve));
    return { value: `v${loads}`, weight: 1 };
  };
  expect(await Promise.all([cache.get("k", load), cache.get("k", load), cache.get("k", load)])).toEqual([
    "v1",
    "v1",
    "v1",
  ]);
  expect(await cache.get("k", load)).toBe("v1");
});

test("failures reach every caller and are not remembered", async () => {
  const cache = new LruCache<string>(10);
  const fail = async () => {
    throw new Error("no");
  };
  const outcomes = await Promise.allSettled([cache.get("k", fail), cache.get("k", fail)]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await cache.get("k", weighed("ok", 1))).toBe("ok");
});

test.each(["delete", "clear"] as const)("a load under way at %s is not kept", async (verb) => {
  const cache = new LruCache<string>(10);
  let finish = (_: { value: string; weight: number }) => {};
  const loading = cache.get("k1", () => new Promise((resolve) => (finish = resolve)));
  if (verb === "clear") cache.clear();
  else cache.delete("k1");
  const fresh = cache.get("k1", weighed("fresh", 1));
  finish({ value: "stale", weight: 1 });
  expect(await loading).toBe("stale");
  expect(await fresh).toBe("fresh");
  expect(cache.peek("k1")).toBe("fresh");
});

test("the weight of a cache is that of its entries, and within its bound", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(9), fc.nat(12), fc.boolean())), (steps) => {
      const cache = new LruCache<number>(20);
      const weights = new Map<string, number>();
      for (const [key, weight, remove] of steps) {
        if (remove) cache.delete(`${key}`);
        else cache.set(`${key}`, weight, weight);
        weights.set(`${key}`, weight);
        let total = 0;
        for (const each of weights.keys()) total += cache.peek(each) ?? 0;
        expect(cache.weight).toBe(total);
        expect(cache.weight).toBeLessThanOrEqual(20);
      }
    }),
  );
});

test("a cache counts its lookups, and the weight of its entries", async () => {
  const cache = new LruCache<string>(10);
  expect(cache.peek("a")).toBeUndefined();
  await cache.get("a", weighed("A", 4));
  await cache.get("a", weighed("other", 4));
  expect(cache.peek("a")).toBe("A");
  expect(cache.counts).toEqual({ entries: 1, bytes: 4, maxBytes: 10, hits: 2, misses: 2 });
  cache.clear();
  expect(cache.counts).toEqual({ entries: 0, bytes: 0, maxBytes: 10, hits: 2, misses: 2 });
});
