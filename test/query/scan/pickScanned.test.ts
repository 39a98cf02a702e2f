/** Rows picked from batches by physical offsets: all rows of a batch, none, and anything between. */

import fc from "fast-check";
import { expect, it } from "vitest";
import type { FixedColumn } from "../../../src/arrow/columns/column.js";
import { pickScanned } from "../../../src/query/scan/chosenRows.js";
import type { ScannedRows } from "../../../src/query/scan/scan.js";

/** A batch whose column holds the physical offset of each row. */
function batchOf(offsets: readonly number[], hasGaps: boolean): ScannedRows {
  const start = offsets[0] ?? 0;
  const picked = hasGaps ? Uint32Array.from(offsets, (offset) => offset - start) : null;
  const values = new Uint8Array(Uint32Array.from(offsets).buffer);
  const column: FixedColumn = { kind: "fixed", length: offsets.length, validity: null, byteWidth: 4, values };
  return { columns: [column], rowCount: offsets.length, places: { fragmentId: 0, start, picked } };
}

async function* batchesOf(rows: readonly number[], batchRows: number, hasGaps: boolean) {
  for (let start = 0; start < rows.length; start += batchRows) {
    yield batchOf([], hasGaps);
    yield batchOf(rows.slice(start, start + batchRows), hasGaps);
  }
}

const ROWS = 24;

it("pickScanned returns the wanted rows of any batches", async () => {
  const bits = fc.array(fc.boolean(), { minLength: ROWS, maxLength: ROWS });
  const rowsIn = (set: readonly boolean[]) => Array.from(set.keys()).filter((row) => set[row]);
  const all = fc.constant(new Array<boolean>(ROWS).fill(true));
  const plan = fc.record({
    there: fc.oneof(bits, all),
    wanted: fc.oneof(bits, all),
    batchRows: fc.integer({ min: 1, max: ROWS }),
  });
  await fc.assert(
    fc.asyncProperty(plan, async ({ there, wanted, batchRows }) => {
      const rows = rowsIn(there);
      const chosen = rows.filter((row) => wanted[row]);
      const picked: number[] = [];
      const batches = batchesOf(rows, batchRows, rows.length < ROWS);
      for await (const { columns, rowCount } of pickScanned(batches, Uint32Array.from(chosen))) {
        const { values, length } = columns[0] as FixedColumn;
        expect(length).toBe(rowCount);
        expect(rowCount).toBeGreaterThan(0);
        picked.push(...new Uint32Array(values.slice().buffer, 0, rowCount));
      }
      expect(picked).toEqual(chosen);
    }),
  );
});
