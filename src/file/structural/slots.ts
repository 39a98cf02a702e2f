/** Slots of a page's values: their nulls, and the values written for nulls. */

import type { Column } from "../../arrow/columns/column.js";
import { shiftBits } from "../../arrow/columns/validity.js";
import { copyBits } from "../../bytes/bits.js";
import { levelsOfValidity } from "../events/levels.js";

/** For each slot of a column 1 if it is null, else 0; null if no slot is. */
export const slotLevels = ({ validity, length }: Column): Uint16Array | null =>
  validity === null
    ? null
    : levelsOfValidity(shiftBits(validity.bytes, validity.bitOffset, 0, length), length);

/**
 * Returns the first `count` values, with the value before in each slot of a null, so that nulls neither widen
 * packed values nor interrupt runs. A view if no slot is null, else a copy.
 */
export function forwardFill(
  bytes: Uint8Array,
  byteWidth: number,
  definition: Uint16Array | null,
  count: number,
): Uint8Array {
  const exact = bytes.subarray(0, count * byteWidth);
  if (definition === null) return exact;
  const copy = exact.slice();
  const firstValid = definition.indexOf(0);
  if (firstValid < 0) return copy.fill(0);
  for (let row = 0; row < count; row++) {
    if (definition[row] === 0) continue;
    const source = (row < firstValid ? firstValid : row - 1) * byteWidth;
    for (let byte = 0, offset = row * byteWidth; byte < byteWidth; byte++)
      copy[offset + byte] = copy[source + byte];
  }
  return copy;
}

/** Copies bits to a bitmap of their own, from bit 0 on. */
export function sliceBits(bits: Uint8Array, start: number, count: number): Uint8Array {
  const slice = new Uint8Array(Math.ceil(count / 8));
  copyBits(bits, start, slice, 0, count);
  return slice;
}
