/** Values of variable width as pages store them: back to back, without bytes for nulls. */

import type { VariableColumn } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { UnsupportedError } from "../../errors.js";
import { MAXIMUM_POSITION } from "./variable.js";

/** Values without gaps. */
export interface PlainValues {
  /** Positions in `bytes`, starting at 0. */
  readonly offsets: Int32Array;
  readonly bytes: Uint8Array;
}

/**
 * Returns the values of a column, with empty values for nulls. The bytes are a view of the column's if no
 * null has any.
 * @param marks for each slot, 0 if it is not null; null if no slot is
 * @throws UnsupportedError for more than 2 GiB
 */
export function plainValues(column: VariableColumn, marks: Uint16Array | null): PlainValues {
  const { length } = column;
  const first = Number(column.offsets[0]);
  const last = Number(column.offsets[length]);
  if (last - first > MAXIMUM_POSITION)
    throw new UnsupportedError("one page cannot hold more than 2 GiB of values");
  const bytes = column.bytes.subarray(first, last);
  const offsets = new Int32Array(length + 1);
  if (areNarrow(column.offsets)) {
    const source = column.offsets;
    for (let index = 0; index <= length; index++) offsets[index] = source[index] - first;
  } else {
    // Differences fit 31 bits, so the low words alone give them.
    const words = new Int32Array(column.offsets.buffer, column.offsets.byteOffset, 2 * (length + 1));
    for (let index = 0; index <= length; index++) offsets[index] = words[2 * index] - words[0];
  }
  if (marks === null) return { offsets, bytes };
  for (let slot = 0; slot < length; slot++) {
    if (marks[slot] !== 0 && offsets[slot + 1] !== offsets[slot]) return emptyNulls(offsets, bytes, marks);
  }
  return { offsets, bytes };
}

function emptyNulls(offsets: Int32Array, bytes: Uint8Array, marks: Uint16Array): PlainValues {
  const kept = new Int32Array(offsets.length);
  const out = new Uint8Array(bytes.length);
  let position = 0;
  for (let slot = 0; slot < marks.length; ) {
    const first = slot;
    const shift = position - offsets[first];
    for (; slot < marks.length && marks[slot] === 0; slot++) kept[slot + 1] = offsets[slot + 1] + shift;
    if (slot > first) {
      out.set(bytes.subarray(offsets[first], offsets[slot]), position);
      position += offsets[slot] - offsets[first];
    }
    for (; slot < marks.length && marks[slot] !== 0; slot++) kept[slot + 1] = position;
  }
  return { offsets: kept, bytes: out.subarray(0, position) };
}
