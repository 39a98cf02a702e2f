import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import { takeColumn } from "../../../src/arrow/columns/takeColumn.js";
import { bytesOfRanges, type RowRanges, takeRanges } from "../../../src/arrow/columns/takeRanges.js";
import { columnFromData } from "../../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { UnsupportedError } from "../../../src/errors.js";
import { TYPE_NAMES } from "../../support/generators.js";
import { makeNestedTable, nestedTableSpecs } from "../../support/nestedGenerators.js";
import { columnArbitrary, columnOf, slicedData } from "../columns.js";

const share = fc.double({ min: 0, max: 1, noNaN: true });
const pairsArbitrary = fc.array(fc.tuple(share, share), { maxLength: 12 });

/** Ranges of a column, from pairs of start and length as fractions. */
function rangesOf(pairs: readonly (readonly [number, number])[], length: number): RowRanges {
  const starts = pairs.map(([start]) => Math.floor(start * length));
  const ends = pairs.map(([, size], index) => starts[index] + Math.floor(size * (length - starts[index])));
  const rowCount = ends.reduce((sum, end, index) => sum + end - starts[index], 0);
  return { starts: Float64Array.from(starts), ends: Float64Array.from(ends), rowCount };
}

function expectRanges(column: Column, pairs: readonly (readonly [number, number])[]): void {
  const ranges = rangesOf(pairs, column.length);
  const rows = Array.from(ranges.starts, (start, range) =>
    Array.from({ length: ranges.ends[range] - start }, (_, row) => start + row),
  ).flat();
  expect(runSync(takeRanges(column, ranges))).toEqual(takeColumn(column, Uint32Array.from(rows)));
}

describe("takeRanges", () => {
  it("picks the rows that takeColumn picks by their indices, for every type", () => {
    const choices = fc.property(columnArbitrary, pairsArbitrary, (choice, pairs) =>
      expectRanges(columnOf(slicedData(choice)), pairs),
    );
    fc.assert(choices, { numRuns: 300 });
  });

  it("picks the rows that takeColumn picks by their indices, for nested types", () => {
    const specs = nestedTableSpecs({ emptyStructs: "anywhere", types: [...TYPE_NAMES, "null"], maxRows: 60 });
    const choices = fc.property(specs, pairsArbitrary, (spec, pairs) => {
      const table = makeNestedTable(spec);
      for (const [index, { type }] of table.schema.fields.entries()) {
        for (const batch of table.batches) {
          expectRanges(columnFromData(batch.data.children[index], layoutOf(type, "c")), pairs);
        }
      }
    });
    fc.assert(choices, { numRuns: 100 });
  });

  it("refuses more text than offsets of 32 bits reach", () => {
    const column = {
      kind: "variable",
      length: 1,
      validity: null,
      offsets: Int32Array.of(0, 2 ** 30),
      bytes: new Uint8Array(0),
    } as const;
    const ranges = { starts: Float64Array.of(0, 0, 0), ends: Float64Array.of(1, 1, 1), rowCount: 3 };
    expect(() => runSync(takeRanges(column, ranges))).toThrow(UnsupportedError);
    expect(runSync(bytesOfRanges(column, ranges))).toBe(3 * 2 ** 30 + 4 * 4);
  });

  it("copies one long range in many steps", () => {
    const length = 2 ** 23;
    const column = {
      kind: "fixed",
      length,
      validity: null,
      byteWidth: 1,
      values: new Uint8Array(length),
    } as const;
    const ranges = { starts: Float64Array.of(0), ends: Float64Array.of(length), rowCount: length };
    const steps = takeRanges(column, ranges);
    let count = 0;
    while (steps.next().done !== true) count++;
    expect(count).toBeGreaterThanOrEqual(8);
  });
});
