/** Casts of columns, and the rows that their errors name. */

import type { Column } from "../arrow/columns/column.js";

/** Returns the row, counted from 0, that a value of a column belongs to. */
export type RowOf = (index: number) => number;

/** @throws TableSchemaValidationError naming row and value, for a value that the new type cannot hold */
export type Cast = (column: Column, rowOf: RowOf) => Column;

/** Returns the rows of a list's items. */
export function rowsOfItems(offsets: Int32Array | BigInt64Array, rowOf: RowOf): RowOf {
  const first = Number(offsets[0]);
  return (index) => {
    let list = 0;
    while (Number(offsets[list + 1]) - first <= index) list++;
    return rowOf(list);
  };
}
