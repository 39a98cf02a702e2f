/** Reads and checks the indices of dictionary columns, and decodes them to plain columns. */

import { alignedBytes } from "../../bytes/aligned.js";
import { InvalidInputError } from "../../errors.js";
import type { Column, DictionaryColumn, FixedColumn, Layout, Validity, VariableColumn } from "./column.js";
import { nullColumn } from "./nullColumn.js";
import { areNarrow } from "./offsets.js";
import { takeFixed, takeVariable } from "./takeColumn.js";
import { bothValid, isSet, takeValidity } from "./validity.js";

/** Values of at most this many bytes in total are not worth an exact count. */
const FEW_BYTES = 2 ** 20;

/** Returns a typed array over an index column: whole indices, or words for indices of 8 bytes. */
export function indexView(bytes: Uint8Array, byteWidth: number): Uint8Array | Uint16Array | Uint32Array {
  switch (byteWidth) {
    case 1:
      return bytes;
    case 2:
      return new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 1);
    default:
      return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2);
  }
}

/**
 * Returns the indices of a dictionary column, with 0 in the slots of nulls.
 * @throws InvalidInputError for an index outside the dictionary
 */
export function readIndices(column: DictionaryColumn): Uint32Array {
  const { length, validity, dictionary } = column;
  const { byteWidth } = column.indices;
  const source = indexView(alignedBytes(column.indices.values, Math.min(byteWidth, 4)), byteWidth);
  const wide = byteWidth === 8;
  const size = dictionary.length;
  const indices = new Uint32Array(length);
  for (let row = 0; row < length; row++) {
    const index = wide ? source[row * 2] : source[row];
    if (index < size && (!wide || source[row * 2 + 1] === 0)) {
      indices[row] = index;
      continue;
    }
    if (validity !== null && !isSet(validity, row)) continue;
    throw new InvalidInputError(`index ${index} is outside a dictionary of ${size} values`);
  }
  return indices;
}

/** Returns the column with plain values in place of a dictionary. */
export const plainColumn = (column: Column): Column =>
  column.kind === "dictionary" ? decodeDictionary(column) : column;

/**
 * Decodes a dictionary column to a plain column. A value is null if its slot or its dictionary entry is null.
 * @throws InvalidInputError on an index outside the dictionary
 */
export function decodeDictionary(column: DictionaryColumn): VariableColumn | FixedColumn {
  const { length, dictionary } = column;
  if (dictionary.length === 0) {
    if (length > (column.validity?.nullCount ?? 0)) {
      throw new InvalidInputError("an index points into a dictionary without values");
    }
    const layout: Layout =
      dictionary.kind === "fixed"
        ? { kind: "fixed", byteWidth: dictionary.byteWidth }
        : { kind: "variable", offsetBits: areNarrow(dictionary.offsets) ? 32 : 64, text: false };
    return nullColumn(layout, length) as VariableColumn | FixedColumn;
  }
  const indices = readIndices(column);
  const validity = bothValid(column.validity, takeValidity(dictionary.validity, indices), length);
  if (dictionary.kind === "fixed") {
    const { byteWidth } = dictionary;
    const values = takeFixed(dictionary.values, byteWidth, indices);
    return { kind: "fixed", length, validity, byteWidth, values };
  }
  return { kind: "variable", length, validity, ...takeVariable(dictionary, indices, validity) };
}

/**
 * Returns the validity of a dictionary column's rows, from its slots and entries, without building values.
 * @throws InvalidInputError for an index outside the dictionary
 */
export function dictionaryValidity(column: DictionaryColumn): Validity | null {
  const { length, validity, dictionary } = column;
  if (dictionary.validity === null || dictionary.length === 0) return validity;
  return bothValid(validity, takeValidity(dictionary.validity, readIndices(column)), length);
}

/**
 * Returns the bytes of the values that {@link decodeDictionary} builds; if they are few, an upper bound.
 * @throws InvalidInputError for an index outside the dictionary
 */
export function decodedBytes(column: DictionaryColumn): number {
  const { length, validity, dictionary } = column;
  if (dictionary.kind === "fixed") return length * dictionary.byteWidth;
  if (dictionary.length === 0) return 0;
  const { offsets } = dictionary;
  const bytesOf = (entry: number) => Number(offsets[entry + 1]) - Number(offsets[entry]);
  if (dictionary.length <= length) {
    let longest = 0;
    for (let entry = 0; entry < dictionary.length; entry++) longest = Math.max(longest, bytesOf(entry));
    if (longest * length <= FEW_BYTES) return longest * length;
  }
  const indices = readIndices(column);
  let bytes = 0;
  for (let row = 0; row < length; row++) {
    if (validity === null || isSet(validity, row)) bytes += bytesOf(indices[row]);
  }
  return bytes;
}

/** True if any row is null, in the column or in its dictionary entry. */
export function hasNulls(column: Column): boolean {
  if (column.validity !== null || (column.kind === "null" && column.length > 0)) return true;
  return column.kind === "dictionary" && dictionaryValidity(column) !== null;
}
