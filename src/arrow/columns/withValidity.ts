/** Gives a column another validity. */

import { chunkedColumn } from "./chunkedColumn.js";
import { chunkedTextColumn } from "./chunkedTextColumn.js";
import { codedColumn } from "./codedColumn.js";
import type { Column, Validity } from "./column.js";

/** The values of a column with another validity. Values that are made when they are first looked at stay so. */
export function withValidity<C extends Exclude<Column, { kind: "null" }>>(
  column: C,
  validity: Validity | null,
): C;
export function withValidity(column: Exclude<Column, { kind: "null" }>, validity: Validity | null): Column {
  if (column.kind === "variable" && column.texts !== undefined) {
    return chunkedTextColumn(column.texts, column.length, validity);
  }
  if (column.kind === "variable" && column.coded !== undefined) return codedColumn(column.coded, validity);
  if (column.kind === "fixed" && column.chunks !== undefined) {
    return chunkedColumn(column.chunks, column.byteWidth, column.length, validity);
  }
  return { ...column, validity };
}
