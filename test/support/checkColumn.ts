import type { Column, Layout } from "../../src/arrow/columns/column.js";

/** Fails unless every buffer that a reader of the column may touch is there, at all levels. */
export function checkColumn(column: Column, layout: Layout, length: number): void {
  if (column.kind !== layout.kind) throw new Error(`a ${column.kind} for a ${layout.kind}`);
  if (column.length !== length) throw new Error(`${column.length} values where ${length} are to be`);
  checkValidity(column);
  switch (column.kind) {
    case "null":
      return;
    case "fixed":
      if (column.values.length !== length * column.byteWidth) {
        throw new Error(`${column.values.length} bytes for ${length} values of ${column.byteWidth}`);
      }
      return;
    case "bits":
      if (column.bits.length * 8 < column.bitOffset + length) throw new Error(`${length} bits are not there`);
      return;
    case "variable":
      checkOffsets(column.offsets, length, column.bytes.length);
      return;
    case "list":
      checkOffsets(column.offsets, length, column.items.length);
      if (layout.kind === "list") checkColumn(column.items, layout.item, column.items.length);
      return;
    case "sizedList":
      if (layout.kind !== "sizedList" || layout.dimension !== column.dimension) {
        throw new Error(`lists of ${column.dimension} structs`);
      }
      checkColumn(column.items, layout.item, length * layout.dimension);
      return;
    case "struct":
    case "packedStruct":
      if (layout.kind !== column.kind || layout.children.length !== column.children.length) {
        throw new Error(`a struct of ${column.children.length} members`);
      }
      for (const [index, child] of column.children.entries())
        checkColumn(child, layout.children[index].layout, length);
      return;
    case "fixedSizeList":
      if (layout.kind !== "fixedSizeList" || layout.dimension !== column.dimension) {
        throw new Error(`lists of ${column.dimension} items`);
      }
      checkColumn(column.items, layout.item, length * layout.dimension);
      return;
    case "dictionary": {
      if (layout.kind !== "dictionary") return;
      checkColumn(column.dictionary, layout.value, column.dictionary.length);
      const { values, byteWidth } = column.indices;
      for (let row = 0; row < length; row++) {
        if (!isValid(column, row)) continue;
        let index = 0;
        for (let byte = byteWidth - 1; byte >= 0; byte--)
          index = index * 256 + values[row * byteWidth + byte];
        if (index >= column.dictionary.length) throw new Error(`index ${index} in row ${row}`);
      }
    }
  }
}

function checkValidity(column: Column): void {
  const { validity, length } = column;
  if (validity === null) return;
  if (validity.bytes.length * 8 < validity.bitOffset + length) throw new Error("a validity cut short");
  let nulls = 0;
  for (let index = 0; index < length; index++) nulls += isValid(column, index) ? 0 : 1;
  if (nulls !== validity.nullCount) throw new Error(`${nulls} nulls counted as ${validity.nullCount}`);
}

function checkOffsets(offsets: Int32Array | BigInt64Array, length: number, limit: number): void {
  if (offsets.length !== length + 1) throw new Error(`${offsets.length} offsets of ${length} values`);
  let previous = 0;
  for (let index = 0; index <= length; index++) {
    const offset = Number(offsets[index]);
    if (offset < previous || offset > limit) throw new Error(`offset ${index} is ${offset}`);
    previous = offset;
  }
}

function isValid({ validity }: Column, index: number): boolean {
  if (validity === null) return true;
  const bit = validity.bitOffset + index;
  return ((validity.bytes[bit >>> 3] >>> (bit & 7)) & 1) === 1;
}
