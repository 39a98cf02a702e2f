/**
 * The first rows of a page that was read whole, as a page of their own: they are there before all others are
 * decoded.
 */

import type { EncodedRows } from "./pageRows.js";
import { sliceable, sliceVariableRows } from "./pageSlice.js";

/**
 * Null for pages that are not cut: only those of large values of variable width are, where all rows were
 * read.
 * @param rowCount of the head, at most as many as the page has
 * @throws CorruptFileError where the page says that the rows lie outside of it
 */
export function headOf(page: EncodedRows, rowCount: number): EncodedRows | null {
  const { buffers, layout, origin } = page;
  if (page.rows.starts[0] !== 0 || page.rows.counts[0] !== page.rowCount) return null;
  // Positions are those in the buffers.
  const bufferRanges = buffers.map(({ length }) => ({ byteOffset: 0, length }));
  const whole = { layout, bufferRanges, rowCount: page.rowCount };
  const way = sliceable(whole);
  if (way?.kind !== "variableRows") return null;
  const rows = { starts: Uint32Array.of(0), counts: Uint32Array.of(rowCount) };
  const [events, index] = buffers;
  const slice = sliceVariableRows(whole, way.layout, way.entryBytes, rows, index, origin);
  const [start] = slice.ranges.byteOffsets;
  const head = slice.assemble(events.subarray(start, start + slice.ranges.lengths[0]));
  return { rows, rowCount, layout: slice.layout, buffers: head, origin };
}
