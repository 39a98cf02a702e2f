/**
 * Values that expressions repeat. A short text can ask for very many, `array_repeat(array_repeat(s, 1000), 1000)` for one,
 * so what they would take is reckoned before it is taken.
 */

import type { Column } from "../../arrow/columns/column.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { InvalidInputError } from "../../errors.js";

/** Most bytes, and most characters, that a function makes of one batch of rows. */
export const MAX_MADE = 2 ** 28;

/** @throws InvalidInputError where the values of a batch take too many bytes */
export function takeBounded(column: Column, indices: Uint32Array, maxBytes = MAX_MADE): Column {
  const bytesBefore = bytesBeforeValue(column);
  let byteLength = 0;
  for (const index of indices) byteLength += bytesBefore(index + 1) - bytesBefore(index);
  checkMade(byteLength, maxBytes);
  return takeColumn(column, indices);
}

/** @throws InvalidInputError */
export function checkMade(size: number, most = MAX_MADE): void {
  if (size <= most) return;
  throw new InvalidInputError(
    `the values of an expression take more than ${most} bytes for one batch of rows`,
  );
}

/** How many bytes the values before one take, without validities and offsets. */
function bytesBeforeValue(column: Column): (index: number) => number {
  switch (column.kind) {
    case "fixed":
      return (index) => index * column.byteWidth;
    case "bits":
      return (index) => index / 8;
    case "variable":
      return (index) => Number(column.offsets[index]);
    case "list": {
      const ofItems = bytesBeforeValue(column.items);
      return (index) => ofItems(Number(column.offsets[index]));
    }
    case "fixedSizeList":
    case "sizedList": {
      const ofItems = bytesBeforeValue(column.items);
      return (index) => ofItems(index * column.dimension);
    }
    case "dictionary":
      return bytesBeforeValue(column.indices);
    case "struct":
    case "packedStruct": {
      const ofMembers = (column.children as readonly Column[]).map(bytesBeforeValue);
      return (index) => ofMembers.reduce((sum, ofMember) => sum + ofMember(index), 0);
    }
    case "null":
      return () => 0;
  }
}
