/** Merging by size keeps parts few and rewrites each row a few times. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { mergedParts } from "../../src/indexes/sizeTiers.js";

const sizeOf = (size: number): number => size;

/** Adds rows to parts. @returns the parts, and the number of rows that were written */
function add(parts: readonly number[], rowCount: number): { parts: number[]; written: number } {
  const merged = mergedParts(parts, sizeOf, rowCount);
  const written = merged.reduce((sum, size) => sum + size, rowCount);
  const left = [...parts];
  for (const size of merged) left.splice(left.indexOf(size), 1);
  return { parts: [...left, written], written };
}

it("400 rows do not merge with 40,000", () => {
  expect(mergedParts([40_000], sizeOf, 400)).toEqual([]);
  expect(mergedParts([40_000, 400], sizeOf, 400)).toEqual([400]);
});

it("rows merge with a part that is at most four times as large", () => {
  expect(mergedParts([40_000, 8000], sizeOf, 2000)).toEqual([8000, 40_000]);
  expect(mergedParts([40_001, 8000], sizeOf, 2000)).toEqual([8000]);
});

it("parts stay few and work stays in proportion, whatever is added", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 300 }), (counts) => {
      let parts: number[] = [];
      let written = 0;
      for (const count of counts) {
        const next = add(parts, count);
        parts = next.parts;
        written += next.written;
      }
      const total = counts.reduce((sum, count) => sum + count, 0);
      expect(parts.reduce((sum, size) => sum + size, 0)).toBe(total);
      expect(parts.length).toBeLessThanOrEqual(2 + Math.log(total) / Math.log(4));
      expect(written).toBeLessThanOrEqual(12 * total * (1 + Math.log2(1 + total / 1024)));
    }),
  );
});

it("without new rows, parts that break the rule merge, and then none does", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100_000), { maxLength: 20 }), (sizes) => {
      const merged = mergedParts(sizes, sizeOf, 0);
      expect(merged.length).not.toBe(1);
      if (merged.length === 0) return;
      expect(mergedParts(add(sizes, 0).parts, sizeOf, 0)).toEqual([]);
    }),
  );
});
