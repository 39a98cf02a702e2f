/** Columns whose values lie one behind the other in memory, such as those cut from one block. */

import type { Column, FixedColumn } from "./column.js";

/** The rows of two columns as one, without a copy; null where they don't adjoin, or have nulls. */
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
