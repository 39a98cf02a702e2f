import fc from "fast-check";
import { expect, it } from "vitest";
import { enlarged, NumberList } from "../../src/bytes/growing.js";
import { firstIndex, lowerBound, upperBound } from "../../src/bytes/search.js";

it("searches find the bounds that a scan finds, in any range", () => {
  const numbers = fc.array(fc.nat(20), { maxLength: 40 });
  fc.assert(
    fc.property(numbers, fc.integer({ min: -1, max: 21 }), fc.nat(40), fc.nat(40), (values, value, a, b) => {
      for (const Type of [Uint32Array, Float64Array, Int32Array, Uint16Array]) {
        const sorted = Type.from(values).sort();
        const start = Math.min(a, sorted.length);
        const end = Math.max(start, Math.min(b, sorted.length));
        const scan = (isMet: (index: number) => boolean): number => {
          for (let index = start; index < end; index++) if (isMet(index)) return index;
          return end;
        };
        expect(lowerBound(sorted, value, start, end)).toBe(scan((index) => sorted[index] >= value));
        expect(upperBound(sorted, value, start, end)).toBe(scan((index) => sorted[index] > value));
        const isMet = (index: number): boolean => sorted[index] > 10;
        expect(firstIndex(start, end, isMet)).toBe(scan(isMet));
      }
    }),
  );
});

it("enlarged keeps the values and their type, and heeds both bounds", () => {
  expect(enlarged(Uint16Array.of(1, 2))).toEqual(Uint16Array.of(1, 2, 0, 0));
  expect(enlarged(Float32Array.of(1), 3)).toEqual(Float32Array.of(1, 0, 0));
  expect(enlarged(Uint8Array.of(1, 2), 0, 3)).toEqual(Uint8Array.of(1, 2, 0));
  expect(enlarged(new Uint32Array(0), 1)).toEqual(Uint32Array.of(0));
});

it("a list of numbers keeps them in order", () => {
  const list = new NumberList();
  for (let number = 0; number < 100; number++) list.push(2 ** 32 - 1 - number);
  expect([...list.numbers]).toEqual(Array.from({ length: 100 }, (_, number) => 2 ** 32 - 1 - number));
  expect(list.length).toBe(100);
});
