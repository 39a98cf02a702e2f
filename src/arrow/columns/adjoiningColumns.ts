/** Joins columns whose values are adjacent in memory, such as those cut from one block. */

import type { Column, FixedColumn } from "./column.js";

/**
 * Returns the rows of two columns as one column, without a copy; null if they are not adjacent or have nulls.
 */
export function adjoined(first: Column, second: Column): Column | null {
  if (first.validity !== null || second.validity !== null) return null;
  const length = first.length + second.length;
  if (first.kind === "fixed" && second.kind === "fixed") {
    const values = first.byteWidth === second.byteWidth ? adjoinedBytes(first.values, second.values) : null;
    return values && { ...first, length, values };
  }
  if (first.kind !== "fixedSizeList" || second.kind !== "fixedSizeList") return null;
  const items = first.dimension === second.dimension ? adjoined(first.items, second.items) : null;
  return items && { ...first, length, items: items as FixedColumn };
}

function adjoinedBytes(first: Uint8Array, second: Uint8Array): Uint8Array | null {
  const end = first.byteOffset + first.byteLength;
  if (first.buffer !== second.buffer || end !== second.byteOffset) return null;
  return new Uint8Array(first.buffer, first.byteOffset, first.byteLength + second.byteLength);
}
