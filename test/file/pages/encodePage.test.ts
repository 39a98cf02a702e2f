/** Pages of rows that come in pieces. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Column, FixedColumn } from "../../../src/arrow/columns/column.js";
import { concatColumns } from "../../../src/arrow/columns/concatColumns.js";
import { sliceColumn } from "../../../src/arrow/columns/sliceColumn.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { bytesOf } from "../../../src/bytes/view.js";
import type { EncodedPage, StructuralVersion } from "../../../src/file/container/page.js";
import { encodePages } from "../../../src/file/pages/encodePage.js";

const width = fc.constantFrom(1, 2, 4, 8);

/** Values of which half of the bits are 0, so that packing them saves bytes, and no two are alike for long. */
function narrowColumn(byteWidth: number, count: number): FixedColumn {
  const values = new Uint8Array(byteWidth * count);
  const words = bytesOf(Uint32Array.from({ length: count }, (_, row) => Math.imul(row + 1, 2_654_435_761)));
  const used = Math.max(1, byteWidth / 2);
  for (let row = 0; row < count; row++) values.set(words.subarray(4 * row, 4 * row + used), byteWidth * row);
  if (byteWidth === 1) for (let row = 0; row < count; row++) values[row] &= 15;
  return { kind: "fixed", length: count, validity: null, byteWidth, values };
}

function encode(columns: readonly Column[], byteWidth: number, version: StructuralVersion): EncodedPage {
  const rowCount = columns.reduce((sum, { length }) => sum + length, 0);
  const layout = { kind: "fixed", byteWidth } as const;
  const options = { version, nullable: false, path: "values", metadata: new Map() };
  return runSync(encodePages(layout, columns, rowCount, options))[0];
}

const joined = ({ buffers }: EncodedPage): number[][] =>
  buffers.map((pieces) => pieces.flatMap((piece) => [...piece]));

describe("packed pages of rows in pieces", () => {
  it("equal the page of the joined rows", () => {
    fc.assert(
      fc.property(
        width,
        fc.constantFrom<StructuralVersion>("2.1", "2.2"),
        fc.integer({ min: 6000, max: 9000 }),
        fc.array(fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constant(1024), fc.nat(3000)), { maxLength: 6 }),
        (byteWidth, version, count, cuts) => {
          const whole = narrowColumn(byteWidth, count);
          const pieces: Column[] = [];
          let start = 0;
          for (const length of cuts) {
            if (start + length >= count) break;
            pieces.push(sliceColumn(whole, start, length));
            start += length;
          }
          pieces.push(sliceColumn(whole, start, count - start));
          const page = encode(pieces, byteWidth, version);
          const expected = encode([concatColumns([whole])], byteWidth, version);
          expect(page.encoding).toEqual(expected.encoding);
          expect(page.encoding.miniBlock?.valueCompression?.inlineBitpacking).toBeDefined();
          expect(joined(page)).toEqual(joined(expected));
          // Chunks take hardly more memory than they have bytes.
          expect(page.buffers[1][0].buffer.byteLength).toBeLessThan(page.buffers[1][0].length + 4000);
        },
      ),
      { numRuns: 60 },
    );
  });
});
