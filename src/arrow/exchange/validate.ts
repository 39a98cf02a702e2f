/**
 * Validates columns whose memory came from outside. apache-arrow accepts offsets and indices unchecked; a file written
 * from wrong ones could not be read again.
 */

import { InvalidInputError } from "../../errors.js";
import { isAscii, isUtf8 } from "../../platform/native.js";
import type { Column, DictionaryColumn, Layout, ListColumn, VariableColumn } from "../columns/column.js";
import { areNarrow } from "../columns/offsets.js";

/** Dictionaries that have already been checked; batches share them. */
export type CheckedDictionaries = WeakSet<object>;

/**
 * Checks that offsets ascend within the bytes, that text is UTF-8, and that indices lie within their dictionary. Text
 * and indices in slots of nulls are not checked.
 * @param path the column, for messages
 * @throws InvalidInputError
 */
export function validateColumn(
  column: Column,
  layout: Layout,
  path: string,
  checked: CheckedDictionaries = new WeakSet(),
): void {
  switch (column.kind) {
    case "null":
    case "bits":
    case "fixed":
      return;
    case "variable":
      checkOffsets(column, column.bytes.length, path);
      if (layout.kind === "variable" && layout.text) checkText(column, path);
      return;
    case "fixedSizeList":
      if (layout.kind === "fixedSizeList") validateColumn(column.items, layout.item, path, checked);
      return;
    case "dictionary":
      if (layout.kind === "dictionary" && !checked.has(column.dictionary)) {
        validateColumn(column.dictionary, layout.value, path);
        checked.add(column.dictionary);
      }
      checkIndices(column, layout.kind === "dictionary" && layout.indexSigned, path);
      return;
    case "list":
      checkOffsets(column, column.items.length, path);
      if (layout.kind === "list") validateColumn(column.items, layout.item, `${path} items`, checked);
      return;
    case "sizedList":
      if (layout.kind === "sizedList") validateColumn(column.items, layout.item, `${path} items`, checked);
      return;
    case "struct":
    case "packedStruct":
      for (const [index, child] of column.children.entries()) {
        if (layout.kind !== "struct" && layout.kind !== "packedStruct") return;
        const { name, layout: childLayout } = layout.children[index];
        validateColumn(child, childLayout, `${path}.${name}`, checked);
      }
  }
}

/** @param available number of bytes, or items, that the offsets point into */
function checkOffsets(column: VariableColumn | ListColumn, available: number, path: string): void {
  const { offsets, length } = column;
  if (areNarrow(offsets)) {
    // A negative offset or a step back sets the sign bit of one of the two.
    let last = offsets[0];
    let sign = last;
    for (let value = 1; value <= length; value++) {
      const next = offsets[value];
      sign |= next | (next - last);
      last = next;
    }
    if (sign < 0) throw invalid(path, "offsets that do not ascend");
  } else {
    const words = new Uint32Array(offsets.buffer, offsets.byteOffset, offsets.length * 2);
    let last = 0;
    for (let word = 0; word < words.length; word += 2) {
      const offset = words[word] + words[word + 1] * 0x1_0000_0000;
      // A negative offset is larger than any length and fails below.
      if (offset < last) throw invalid(path, "offsets that do not ascend");
      last = offset;
    }
  }
  const end = Number(offsets[length]);
  if (end < 0 || end > available) {
    const unit = column.kind === "list" ? "item" : "byte";
    throw invalid(path, `values that end at ${unit} ${end} of ${available}`);
  }
}

function checkText(column: VariableColumn, path: string): void {
  const { offsets, bytes, length } = column;
  const begin = Number(offsets[0]);
  const end = Number(offsets[length]);
  if (begin === end) return;
  const text = bytes.subarray(begin, end);
  if (isAscii(text) || (isUtf8(text) && !splitsCharacters(column))) return;
  // Only slots of nulls may hold bytes that are no text.
  const { validity } = column;
  for (let value = 0; value < length; value++) {
    if (validity !== null) {
      const bit = validity.bitOffset + value;
      if (((validity.bytes[Math.floor(bit / 8)] >>> (bit & 7)) & 1) === 0) continue;
    }
    if (!isUtf8(bytes.subarray(Number(offsets[value]), Number(offsets[value + 1])))) {
      throw invalid(path, `text that is not UTF-8 in row ${value}`);
    }
  }
}

/** Whether a value begins inside a character of the text that all values together form. */
function splitsCharacters({ offsets, bytes, length }: VariableColumn): boolean {
  let split = 0;
  if (areNarrow(offsets)) {
    // The byte after the text reads as undefined, which counts as 0.
    for (let value = 0; value < length; value++) split |= +((bytes[offsets[value]] & 0xc0) === 0x80);
  } else {
    const words = new Uint32Array(offsets.buffer, offsets.byteOffset, offsets.length * 2);
    for (let word = 0; word < length * 2; word += 2) {
      split |= +((bytes[words[word] + words[word + 1] * 0x1_0000_0000] & 0xc0) === 0x80);
    }
  }
  return split !== 0;
}

function checkIndices(column: DictionaryColumn, signed: boolean, path: string): void {
  const { length, validity, dictionary } = column;
  const { byteWidth, values } = column.indices;
  // A negative index reads as a number of the upper half, which no dictionary with signed indices reaches.
  const size = signed ? Math.min(dictionary.length, 2 ** (byteWidth * 8 - 1)) : dictionary.length;
  if (largestWord(values, byteWidth, length) < size) return;
  const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
  for (let row = 0; row < length; row++) {
    if (indexAt(view, byteWidth, row) < size) continue;
    if (validity !== null) {
      const bit = validity.bitOffset + row;
      if (((validity.bytes[Math.floor(bit / 8)] >>> (bit & 7)) & 1) === 0) continue;
    }
    throw invalid(path, `an index outside its dictionary of ${dictionary.length} values in row ${row}`);
  }
}

/** The largest index if all are narrow and aligned; infinity if they have to be checked one by one. */
function largestWord(values: Uint8Array, byteWidth: number, length: number): number {
  if (byteWidth === 8 || values.byteOffset % byteWidth !== 0)
    return length === 0 ? -1 : Number.POSITIVE_INFINITY;
  const words =
    byteWidth === 1
      ? values
      : byteWidth === 2
        ? new Uint16Array(values.buffer, values.byteOffset, length)
        : new Uint32Array(values.buffer, values.byteOffset, length);
  let largest = -1;
  for (let row = 0; row < length; row++) if (words[row] > largest) largest = words[row];
  return largest;
}

function indexAt(view: DataView, byteWidth: number, row: number): number {
  switch (byteWidth) {
    case 1:
      return view.getUint8(row);
    case 2:
      return view.getUint16(row * 2, true);
    case 4:
      return view.getUint32(row * 4, true);
    default:
      return view.getUint32(row * 8, true) + view.getUint32(row * 8 + 4, true) * 0x1_0000_0000;
  }
}

function invalid(path: string, what: string): InvalidInputError {
  return new InvalidInputError(`column ${path}: ${what}`);
}
