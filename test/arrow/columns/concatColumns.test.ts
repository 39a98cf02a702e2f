import fc from "fast-check";
import { expect, it } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import { concatColumns, concatInSteps } from "../../../src/arrow/columns/concatColumns.js";
import { sliceColumn } from "../../../src/arrow/columns/sliceColumn.js";
import { takeColumn } from "../../../src/arrow/columns/takeColumn.js";
import { runSync } from "../../../src/async/eventLoop.js";

const TEXTS = ["", "a", "é", "some words", "x".repeat(300)].map((text) => new TextEncoder().encode(text));

/** Values of a kind with nulls, cut out of a longer column. */
function columnOf(kind: "fixed" | "narrow" | "wide" | "bits", rows: readonly (number | null)[]): Column {
  const all = [1, null, ...rows, 2];
  const length = all.length;
  const bytes = new Uint8Array(Math.ceil(length / 8));
  for (const [row, value] of all.entries()) if (value !== null) bytes[row >>> 3] |= 1 << (row & 7);
  const nullCount = all.filter((value) => value === null).length;
  const validity = { bytes, bitOffset: 0, nullCount };
  const cut = (column: Column) => sliceColumn(column, 2, rows.length);
  if (kind === "bits") return cut({ kind, length, validity, bits: bytes, bitOffset: 0 });
  if (kind === "fixed") {
    const values = new Uint8Array(Int32Array.from(all, (value) => value ?? 0).buffer);
    return cut({ kind, length, validity, byteWidth: 4, values });
  }
  const texts = all.map((value) => TEXTS[(value ?? 0) % TEXTS.length]);
  const ends = [0];
  for (const text of texts) ends.push(ends[ends.length - 1] + text.length);
  const offsets = kind === "narrow" ? Int32Array.from(ends) : BigInt64Array.from(ends, BigInt);
  const joined = new Uint8Array(ends[length]);
  for (const [row, text] of texts.entries()) joined.set(text, ends[row]);
  return cut({ kind: "variable", length, validity, offsets, bytes: joined });
}

it("concatInSteps returns the columns of concatColumns", () => {
  const rows = fc.array(fc.option(fc.nat(20), { freq: 4 }), { maxLength: 20 });
  fc.assert(
    fc.property(
      fc.constantFrom("fixed" as const, "narrow" as const, "wide" as const, "bits" as const),
      fc.array(rows, { minLength: 1, maxLength: 5 }),
      (kind, parts) => {
        const columns = parts.map((part) => columnOf(kind, part));
        const whole = concatColumns(columns);
        expect(runSync(concatInSteps(columns))).toEqual(whole);
        const every = Uint32Array.from({ length: whole.length }, (_, row) => row);
        expect(takeColumn(whole, every)).toEqual(takeColumn(columnOf(kind, parts.flat()), every));
      },
    ),
  );
});
