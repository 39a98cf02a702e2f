/** Converts the values of an expression to the layout of the column that stores them. Pure. */

import type {
  Column,
  FixedColumn,
  FixedSizeListColumn,
  Layout,
  ListColumn,
  VariableColumn,
} from "../../arrow/columns/column.js";
import { decodeDictionary } from "../../arrow/columns/dictionaries.js";
import { encodeDictionary } from "../../arrow/columns/dictionaryEncoder.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import { InternalError, InvalidInputError } from "../../errors.js";

/**
 * @throws InvalidInputError for lists of another size than the column's, and for more distinct values than a
 *   dictionary takes
 */
export function storedColumn(column: Column, layout: Layout, path: string): Column {
  if (column.kind === "null") return layout.kind === "null" ? column : nullColumn(layout, column.length);
  if (column.kind === "dictionary" && layout.kind !== "dictionary") {
    return storedColumn(decodeDictionary(column), layout, path);
  }
  switch (layout.kind) {
    case "null":
      return { kind: "null", length: column.length, validity: null };
    case "variable":
      return column.kind === "variable" ? withOffsets(column, layout.offsetBits) : mismatch(column, layout);
    case "dictionary":
      return dictionaryColumn(column, layout, path);
    case "list": {
      if (column.kind !== "list") return mismatch(column, layout);
      const items = storedColumn(column.items, layout.item, path);
      return withOffsets({ ...column, items }, layout.offsetBits);
    }
    case "fixedSizeList": {
      if (column.kind === "fixedSizeList" && column.dimension === layout.dimension) return column;
      if (column.kind !== "list") return mismatch(column, layout);
      const { dimension, item } = layout;
      const { length, validity } = column;
      const items = storedColumn(sizedItems(column, dimension, path), item, path);
      return {
        kind: "fixedSizeList",
        length,
        validity,
        dimension,
        items: items as FixedSizeListColumn["items"],
      };
    }
    case "struct":
    case "packedStruct": {
      if (column.kind !== "struct" && column.kind !== "packedStruct") return mismatch(column, layout);
      const children = layout.children.map((child, index) =>
        storedColumn(column.children[index], child.layout, path),
      );
      return { ...column, children } as Column;
    }
    default:
      return column.kind === layout.kind ? column : mismatch(column, layout);
  }
}

function mismatch(column: Column, layout: Layout): never {
  throw new InternalError(`a column of layout ${layout.kind} got values of kind ${column.kind}`);
}

/** Converts offsets to another width. */
function withOffsets<C extends VariableColumn | ListColumn>(column: C, offsetBits: 32 | 64): C {
  const { offsets } = column;
  if (areNarrow(offsets) === (offsetBits === 32)) return column;
  const converted = areNarrow(offsets)
    ? BigInt64Array.from(offsets, BigInt)
    : Int32Array.from(offsets, Number);
  return { ...column, offsets: converted };
}

function dictionaryColumn(
  column: Column,
  layout: Extract<Layout, { kind: "dictionary" }>,
  path: string,
): Column {
  const { byteWidth } = layout.index;
  if (column.kind === "dictionary" && column.indices.byteWidth === byteWidth) return column;
  const plain = column.kind === "dictionary" ? decodeDictionary(column) : column;
  const values = storedColumn(plain, layout.value, path) as VariableColumn | FixedColumn;
  const encoded = encodeDictionary(values, byteWidth);
  if (encoded !== null) return encoded;
  throw new InvalidInputError(
    `column ${path}: its dictionary takes ${2 ** (byteWidth * 8 - 1)} values, and the update has more in one batch`,
  );
}

/** Returns the items of lists that all have `size` items; items of null lists are arbitrary. */
function sizedItems({ offsets, items, length, validity }: ListColumn, size: number, path: string): Column {
  const indices = new Uint32Array(length * size);
  for (let row = 0; row < length; row++) {
    if (!isValid(validity, row)) continue;
    const first = Number(offsets[row]);
    const count = Number(offsets[row + 1]) - first;
    if (count !== size) {
      throw new InvalidInputError(
        `column ${path}: it holds lists of ${size} items, and the update has one of ${count}`,
      );
    }
    for (let item = 0; item < size; item++) indices[row * size + item] = first + item;
  }
  // Without any items all lists are null, so there are no items to copy.
  if (items.length === 0) return { kind: "null", length: indices.length, validity: null };
  return takeColumn(items, indices);
}
