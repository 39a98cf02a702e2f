import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeRoaring, decodeRoaringSet, encodeRoaring, encodeRoaringSet } from "../../src/bytes/roaring.js";
import { RoaringBuilder, RoaringSet } from "../../src/bytes/roaringSet.js";

const ORIGIN = { path: "test", byteOffset: 0 };

/** Values of a set: single ones, dense stretches, and whole ranges. */
const part = fc.oneof(
  fc.record({
    kind: fc.constant("some" as const),
    values: fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 50 }),
  }),
  fc.record({
    kind: fc.constant("dense" as const),
    start: fc.integer({ min: 0, max: 150_000 }),
    step: fc.integer({ min: 1, max: 9 }),
    count: fc.integer({ min: 0, max: 9000 }),
  }),
  fc.record({
    kind: fc.constant("range" as const),
    start: fc.integer({ min: 0, max: 150_000 }),
    length: fc.integer({ min: 0, max: 140_000 }),
  }),
);
type Part = typeof part extends fc.Arbitrary<infer T> ? T : never;

function valuesOf(parts: readonly Part[]): { set: RoaringSet; values: Set<number> } {
  let set = new RoaringBuilder().finish();
  const values = new Set<number>();
  for (const one of parts) {
    if (one.kind === "range") {
      set = set.union(RoaringSet.ofRange(one.start, one.start + one.length));
      for (let value = one.start; value < one.start + one.length; value++) values.add(value);
      continue;
    }
    const list =
      one.kind === "some"
        ? one.values
        : Array.from({ length: one.count }, (_, index) => one.start + index * one.step);
    const builder = new RoaringBuilder();
    for (const value of list) {
      builder.add(value);
      values.add(value);
    }
    set = set.union(builder.finish());
  }
  return { set, values };
}

/** Expects equal numbers; vitest compares long arrays value by value, which takes seconds. */
function expectEqual(actual: Uint8Array | Uint32Array, expected: Uint8Array | Uint32Array): void {
  const bytesOf = ({ buffer, byteOffset, byteLength }: Uint8Array | Uint32Array) =>
    Buffer.from(buffer, byteOffset, byteLength);
  if (!bytesOf(actual).equals(bytesOf(expected))) expect(actual).toEqual(expected);
}

const sorted = (values: Iterable<number>): Uint32Array => Uint32Array.from(values).sort();

describe("sets of numbers", () => {
  it("are united, intersected and subtracted, counted, and written", () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 3 }), fc.array(part, { maxLength: 3 }), (first, second) => {
        const a = valuesOf(first);
        const b = valuesOf(second);
        const expected: [RoaringSet, Iterable<number>][] = [
          [a.set, a.values],
          [a.set.union(b.set), [...a.values, ...[...b.values].filter((value) => !a.values.has(value))]],
          [a.set.intersect(b.set), [...a.values].filter((value) => b.values.has(value))],
          [a.set.minus(b.set), [...a.values].filter((value) => !b.values.has(value))],
        ];
        for (const [set, values] of expected) {
          const list = sorted(values);
          expect(set.size).toBe(list.length);
          expectEqual(set.valuesBelow(2 ** 32), list);
          expectEqual(
            set.valuesBelow(70_000),
            list.filter((value) => value < 70_000),
          );
          for (const value of [0, 1, 65_535, 65_536, 100_000, ...list.slice(0, 5)]) {
            expect(set.has(value)).toBe(list.includes(value));
          }
          const bytes = encodeRoaringSet(set);
          expectEqual(bytes, encodeRoaring(list));
          expectEqual(decodeRoaring(bytes, list.length, ORIGIN), list);
          expectEqual(decodeRoaringSet(bytes, ORIGIN).valuesBelow(2 ** 32), list);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("hold all numbers in one set", () => {
    const { full } = RoaringSet;
    expect(full.isFull && full.has(0xffff_ffff)).toBe(true);
    const some = RoaringSet.ofRange(5, 70_000);
    expect(full.intersect(some)).toBe(some);
    expect(full.minus(some).valuesBelow(70_003)).toEqual(
      Uint32Array.of(0, 1, 2, 3, 4, 70_000, 70_001, 70_002),
    );
    expect(full.union(some).size).toBe(2 ** 32);
    expect(some.minus(full).size).toBe(0);
  });
});
