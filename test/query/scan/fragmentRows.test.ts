import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { selectSpan } from "../../../src/query/scan/fragmentRows.js";
import { unskipped } from "../../../src/rows/rowPositions.js";

describe("selectSpan", () => {
  it("selects what a walk over the live rows selects", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 60 }).chain((rows) =>
          fc.record({
            rows: fc.constant(rows),
            deleted: fc.uniqueArray(fc.nat(Math.max(0, rows - 1)), { maxLength: rows }),
            skip: fc.nat(70),
            take: fc.nat(70),
          }),
        ),
        ({ rows, deleted, skip, take }) => {
          const sorted = Uint32Array.from(deleted).sort();
          const gone = new Set(deleted);
          const live = Array.from({ length: rows }, (_, row) => row).filter((row) => !gone.has(row));
          const expected = live.slice(skip, skip + take);
          const span = selectSpan(rows, sorted, skip, take);
          if (expected.length === 0) {
            expect(span).toBeNull();
            return;
          }
          expect(span).not.toBeNull();
          const { start, end, liveRows } = span!;
          expect(liveRows).toBe(expected.length);
          expect(Array.from(unskipped(start, end, sorted), (index) => index + start)).toEqual(expected);
        },
      ),
    );
  });

  it("works without deletions", () => {
    expect(selectSpan(10, null, 3, 100)).toEqual({ start: 3, end: 10, liveRows: 7 });
    expect(selectSpan(10, null, 10, 1)).toBeNull();
  });
});
