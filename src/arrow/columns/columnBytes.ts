/** Counts the bytes that the rows of a column take. */

import type { Column, ListColumn, VariableColumn } from "./column.js";
import { sliceColumn } from "./sliceColumn.js";

/** Returns the bytes of a column's values and offsets, without its dictionary. */
export function columnBytes(column: Column): number {
  const validity = column.validity === null ? 0 : column.length >>> 3;
  switch (column.kind) {
    case "fixed":
      return validity + column.length * column.byteWidth;
    case "bits":
      return validity + (column.length >>> 3);
    case "variable":
      return validity + column.length * column.offsets.BYTES_PER_ELEMENT + spanOf(column, 0, column.length);
    case "fixedSizeList":
    case "sizedList":
      return validity + columnBytes(column.items);
    case "dictionary":
      return validity + columnBytes(column.indices);
    case "list":
      return validity + column.length * column.offsets.BYTES_PER_ELEMENT + columnBytes(itemsWithin(column));
    case "struct":
    case "packedStruct":
      return validity + valueBytes(column.children);
    case "null":
      return 0;
  }
}

/** Returns the bytes of the values from `start` to `end`. */
export const spanOf = (column: VariableColumn, start: number, end: number): number =>
  Number(column.offsets[end]) - Number(column.offsets[start]);

/** Returns the items of the lists from `start` to `end`. */
export function itemsWithin({ offsets, items, length }: ListColumn, start = 0, end = length): Column {
  const first = Number(offsets[start]);
  return sliceColumn(items, first, Number(offsets[end]) - first);
}

/** Returns the {@link columnBytes} of several columns. */
export const valueBytes = (columns: readonly Column[]): number =>
  columns.reduce((sum, column) => sum + columnBytes(column), 0);
