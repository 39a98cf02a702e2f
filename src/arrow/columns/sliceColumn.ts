/** Slices a range of a column's rows, as a view. */

import type { Column } from "./column.js";
import { codesIn, lazyTextColumn, sliceCoded } from "./lazyColumn.js";
import { validityFrom } from "./validity.js";

/** Returns `length` values from `start` on, in the same memory. Both must lie inside the column. */
export function sliceColumn<C extends Column>(column: C, start: number, length: number): C;
export function sliceColumn(column: Column, start: number, length: number): Column {
  if (start < 0 || length < 0 || start + length > column.length) {
    throw new RangeError(`a column of ${column.length} values has no values ${start} to ${start + length}`);
  }
  if (length === column.length) return column;
  const validity =
    column.validity && validityFrom(column.validity.bytes, column.validity.bitOffset + start, length);
  switch (column.kind) {
    case "null":
      return { kind: "null", length, validity: null };
    case "fixed": {
      const { byteWidth } = column;
      const values = column.values.subarray(start * byteWidth, (start + length) * byteWidth);
      return { kind: "fixed", length, validity, byteWidth, values };
    }
    case "bits":
      return { kind: "bits", length, validity, bits: column.bits, bitOffset: column.bitOffset + start };
    case "variable": {
      const codes = codesIn(column);
      if (codes !== null) return lazyTextColumn(sliceCoded(codes, start, length), validity);
      const offsets = column.offsets.subarray(start, start + length + 1);
      return { kind: "variable", length, validity, offsets, bytes: column.bytes };
    }
    case "dictionary": {
      const indices = sliceColumn(column.indices, start, length);
      return { kind: "dictionary", length, validity, indices, dictionary: column.dictionary };
    }
    case "list": {
      const offsets = column.offsets.subarray(start, start + length + 1);
      return { kind: "list", length, validity, offsets, items: column.items };
    }
    case "fixedSizeList":
    case "sizedList": {
      const { kind, dimension } = column;
      const items = sliceColumn<Column>(column.items, start * dimension, length * dimension);
      return { kind, length, validity, dimension, items } as Column;
    }
    case "struct":
    case "packedStruct": {
      const children = column.children.map((child) => sliceColumn<Column>(child, start, length));
      return { kind: column.kind, length, validity, children } as Column;
    }
  }
}
