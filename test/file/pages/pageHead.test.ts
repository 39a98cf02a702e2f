import fc from "fast-check";
import { expect, it } from "vitest";
import type { Layout, VariableColumn } from "../../../src/arrow/columns/column.js";
import { sliceColumn } from "../../../src/arrow/columns/sliceColumn.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { CorruptFileError } from "../../../src/errors.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { encodePages } from "../../../src/file/pages/encodePage.js";
import { headOf } from "../../../src/file/pages/pageHead.js";
import type { EncodedRows } from "../../../src/file/pages/pageRows.js";
import { strings, textsOf } from "../textColumns.js";

const UTF8: Layout = { kind: "variable", offsetBits: 32, text: true };
const ORIGIN = { path: "/f", byteOffset: 0 };

function pageOf(column: VariableColumn): EncodedRows {
  const options = { version: "2.2", nullable: true, path: "c", metadata: new Map() } as const;
  const [page] = runSync(encodePages(UTF8, [column], column.length, options));
  const buffers = page!.buffers.map((pieces) => new Uint8Array(Buffer.concat(pieces)));
  const rows = { starts: Uint32Array.of(0), counts: Uint32Array.of(column.length) };
  return { rows, rowCount: column.length, layout: page!.encoding, buffers, origin: ORIGIN };
}

const decoded = ({ layout, rowCount, buffers, origin }: EncodedRows): VariableColumn =>
  decodePage(UTF8, layout, rowCount, buffers, origin, {}) as VariableColumn;

const long = fc.string({ unit: "grapheme", minLength: 300, maxLength: 500 });

it("are the first rows of a page of large values", () => {
  const texts = fc.array(fc.option(long, { freq: 6 }), { minLength: 8, maxLength: 60 });
  fc.assert(
    fc.property(texts, fc.double({ min: 0.01, max: 1, noNaN: true }), (all, share) => {
      const column = strings([...all, "x".repeat(500)]);
      const page = pageOf(column);
      if (page.layout.fullZip === undefined) return;
      const rowCount = Math.max(1, Math.floor(column.length * share));
      const head = headOf(page, rowCount);
      expect(head?.rowCount).toBe(rowCount);
      expect(textsOf(decoded(head!))).toEqual(textsOf(sliceColumn(column, 0, rowCount) as VariableColumn));
    }),
  );
});

it("are of no other page, nor of one whose index lies", () => {
  const long = strings(Array.from({ length: 50 }, (_, row) => `${row}`.padStart(400, "abc")));
  const page = pageOf(long);
  expect(page.layout.fullZip).toBeDefined();
  const [events, index] = page.buffers;
  expect(headOf(pageOf(strings(["a", "b", "c"])), 2)).toBeNull();
  expect(headOf({ ...page, buffers: [events!] }, 2)).toBeNull();
  expect(() => headOf({ ...page, buffers: [events!, new Uint8Array(index!.length).fill(0xff)] }, 2)).toThrow(
    CorruptFileError,
  );
  const shifted = index!.slice();
  shifted[shifted.length / 51]! -= 1;
  const cut = headOf({ ...page, buffers: [events!, shifted] }, 1);
  expect(() => decoded(cut!)).toThrow(CorruptFileError);
});
