/** Rows that are picked from pages with a dictionary, several times, beside the written values. */

import {
  type Table as ArrowTable,
  type Data,
  Dictionary,
  Int32,
  Table,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { sharedNamespace } from "../../support/fixtures.js";

const ROWS = 60_000;

/** Texts of two lengths that repeat, and nulls. */
const textOf = (row: number): string | null => {
  if (row % 11 === 0) return null;
  const value = Math.imul(row, 2_654_435_761) >>> 19;
  return `value ${value} ${value % 3 === 0 ? "of some more letters than the others have" : ""}`;
};

/** Overwrites all memory of a result. */
function spoil(table: ArrowTable): void {
  for (const { data } of table.batches) {
    const visit = (each: Data): void => {
      if (each.valueOffsets !== undefined) each.valueOffsets.fill(0);
      if (ArrayBuffer.isView(each.values)) (each.values as unknown as Uint8Array).fill(0);
      for (const child of each.children) visit(child);
      for (const chunk of each.dictionary?.data ?? []) visit(chunk);
    };
    visit(data);
  }
}

describe("rows picked from pages with a dictionary", () => {
  const ns = sharedNamespace();

  beforeAll(async () => {
    const texts = Array.from({ length: ROWS }, (_, row) => textOf(row));
    const rows = new Table({
      plain: vectorFromArray(texts, new Utf8()),
      coded: vectorFromArray(texts, new Dictionary(new Utf8(), new Int32())),
    });
    await ns.createTable({ id: ["t"] }, rows);
  });

  it("are the written values, whatever callers did with earlier results", async () => {
    const offsets = fc.uniqueArray(fc.nat(ROWS - 1), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        offsets,
        fc.constantFrom(["coded"], ["plain"], ["plain", "coded"]),
        async (rows, columns) => {
          const taken = await ns.table("t").take(rows, columns);
          for (const column of columns) {
            const values = taken.getChild(column);
            expect(rows.map((_, index) => values?.get(index))).toEqual(rows.map(textOf));
          }
          spoil(taken);
        },
      ),
      { numRuns: 60 },
    );
  });
});
