/** Cuts the first rows of a page that was read whole, as a page: they are decoded before all others. */

import type { EncodedRows } from "./pageRows.js";
import { sliceable, sliceVariableRows } from "./pageSlice.js";

/**
 * Returns the head of a page of long values of variable width whose rows were all read; null for any other
 * page.
 * @param rowCount of the head, at most that of the page
 * @throws CorruptFileError if the page says that the rows lie outside it
 */
export function headOf(page: EncodedRows, rowCount: number): EncodedRows | null {
  const { buffers, layout, origin } = page;
  if (page.rows.starts[0] !== 0 || page.rows.counts[0] !== page.rowCount) return null;
  // The slice is planned for the buffers, not for the file.
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
