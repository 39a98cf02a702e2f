/** Validates columns of callers. apache-arrow checks no offsets and indices; wrong ones spoil a file. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { InvalidInputError } from "../../errors.js";
import { isAscii, isUtf8 } from "../../platform/native.js";
import type { Column, DictionaryColumn, Layout, ListColumn, VariableColumn } from "../columns/column.js";
import { indexView } from "../columns/dictionaries.js";
import { areNarrow, wordsOf } from "../columns/offsets.js";
import { isValid } from "../columns/validity.js";

/** Dictionaries that have been checked. Batches share them. */
export type CheckedDictionaries = WeakSet<object>;

/** Rows checked per step. */
const STEP_ROWS = 2 ** 16;
/** Bytes of text checked per step. */
const STEP_BYTES = 2 ** 21;
/** Length of a text in bytes whose check takes as long as a call. */
const BYTES_OF_A_CALL = 256;

/**
 * Checks that offsets ascend within the bytes, that text is UTF-8, and that indices lie within their
 * dictionary. Text and indices in slots of nulls are not checked.
 * @param path the column, for messages
 * @throws InvalidInputError
 */
export function* validateColumn(
  column: Column,
  layout: Layout,
  path: string,
  checked: CheckedDictionaries = new WeakSet(),
): Steps<void> {
  switch (column.kind) {
    case "null":
    case "bits":
    case "fixed":
      return;
    case "variable":
      yield* checkOffsets(column, path);
      if (layout.kind === "variable" && layout.text) yield* checkText(column, path);
      return;
    case "dictionary":
      if (layout.kind === "dictionary" && !checked.has(column.dictionary)) {
        yield* validateColumn(column.dictionary, layout.value, path);
        checked.add(column.dictionary);
      }
      yield* checkIndices(column, layout.kind === "dictionary" && layout.indexSigned, path);
      return;
    case "list":
    case "fixedSizeList":
    case "sizedList": {
      if (column.kind === "list") yield* checkOffsets(column, path);
      const itemPath = column.kind === "fixedSizeList" ? path : `${path} items`;
      if ("item" in layout) yield* validateColumn(column.items, layout.item, itemPath, checked);
      return;
    }
    case "struct":
    case "packedStruct":
      for (const [index, child] of column.children.entries()) {
        if (layout.kind !== "struct" && layout.kind !== "packedStruct") return;
        const { name, layout: childLayout } = layout.children[index];
        yield* validateColumn(child, childLayout, `${path}.${name}`, checked);
      }
  }
}

/** Checks that all offsets ascend within their bytes and items, at any depth. @throws InvalidInputError */
export function* checkAllOffsets(column: Column, path: string): Steps<void> {
  if (column.kind === "variable" || column.kind === "list") yield* checkOffsets(column, path);
  if ("items" in column) yield* checkAllOffsets(column.items, path);
  if ("children" in column) for (const child of column.children) yield* checkAllOffsets(child, path);
}

function* checkOffsets(column: VariableColumn | ListColumn, path: string): Steps<void> {
  const { offsets, length } = column;
  for (let start = 0; start < length; start += STEP_ROWS) {
    if (start > 0) yield;
    const end = Math.min(start + STEP_ROWS, length);
    const areAscending = areNarrow(offsets)
      ? ascend32(offsets, start, end)
      : ascend64(wordsOf(offsets), start, end);
    if (!areAscending) throw invalid(path, "offsets that do not ascend");
  }
  const end = Number(offsets[length]);
  const available = column.kind === "list" ? column.items.length : column.bytes.length;
  if (end < 0 || end > available) {
    const unit = column.kind === "list" ? "item" : "byte";
    throw invalid(path, `values that end at ${unit} ${end} of ${available}`);
  }
}

/** True if the offsets from `start` to `end` (both included) ascend and none is negative. */
function ascend32(offsets: Int32Array, start: number, end: number): boolean {
  // A negative offset or a step back sets the sign bit of one of the two.
  let last = offsets[start];
  let sign = last;
  for (let value = start + 1; value <= end; value++) {
    const next = offsets[value];
    sign |= next | (next - last);
    last = next;
  }
  return sign >= 0;
}

/**
 * {@link ascend32} for pairs of words, low word first. Read as unsigned, a negative offset exceeds any
 * length.
 */
function ascend64(words: Uint32Array, start: number, end: number): boolean {
  let last = 0;
  let areAscending = true;
  for (let word = start * 2; word <= end * 2; word += 2) {
    const offset = words[word] + words[word + 1] * 0x1_0000_0000;
    areAscending &&= offset >= last;
    last = offset;
  }
  return areAscending;
}

function* checkText(column: VariableColumn, path: string): Steps<void> {
  const { offsets, bytes, length } = column;
  const begin = Number(offsets[0]);
  const end = Number(offsets[length]);
  if (begin === end) return;
  const content = yield* contentOf(bytes, begin, end);
  if (content === "ascii") return;
  if (content === "utf8") {
    let isSplit = false;
    for (let start = 0; start < length && !isSplit; start += STEP_ROWS) {
      if (start > 0) yield;
      isSplit = splitsCharacters(column, start, Math.min(start + STEP_ROWS, length));
    }
    if (!isSplit) return;
  }
  // Only slots of nulls may hold bytes that are not text.
  const { validity } = column;
  const pace = new Pace(STEP_BYTES);
  for (let value = 0; value < length; value++) {
    const start = Number(offsets[value]);
    const valueEnd = Number(offsets[value + 1]);
    if (pace.isStep(valueEnd - start + BYTES_OF_A_CALL)) yield;
    if (isValid(validity, value) && !isUtf8(bytes.subarray(start, valueEnd))) {
      throw invalid(path, `text that is not UTF-8 in row ${value}`);
    }
  }
}

/** Returns the kind of text of some bytes, without regard to the values in them. */
function* contentOf(bytes: Uint8Array, begin: number, end: number): Steps<"ascii" | "utf8" | "other"> {
  let content: "ascii" | "utf8" = "ascii";
  for (let start = begin; start < end; ) {
    if (start > begin) yield;
    let pieceEnd = Math.min(start + STEP_BYTES, end);
    // A piece must end between characters. A character has at most three bytes after its first.
    for (let back = 0; back < 3 && pieceEnd < end && (bytes[pieceEnd] & 0xc0) === 0x80; back++) pieceEnd--;
    const piece = bytes.subarray(start, pieceEnd);
    if (!isAscii(piece)) {
      if (!isUtf8(piece)) return "other";
      content = "utf8";
    }
    start = pieceEnd;
  }
  return content;
}

/** True if a value starts inside a character of the concatenated text. */
function splitsCharacters({ offsets, bytes }: VariableColumn, start: number, end: number): boolean {
  let split = 0;
  if (areNarrow(offsets)) {
    // The byte after the text reads as undefined, which counts as 0.
    for (let value = start; value < end; value++) split |= +((bytes[offsets[value]] & 0xc0) === 0x80);
  } else {
    const words = wordsOf(offsets);
    for (let word = start * 2; word < end * 2; word += 2) {
      split |= +((bytes[words[word] + words[word + 1] * 0x1_0000_0000] & 0xc0) === 0x80);
    }
  }
  return split !== 0;
}

function* checkIndices(column: DictionaryColumn, signed: boolean, path: string): Steps<void> {
  const { length, dictionary } = column;
  const { byteWidth, values } = column.indices;
  // Read as unsigned, a negative index exceeds the size of any dictionary with signed indices.
  const size = signed ? Math.min(dictionary.length, 2 ** (byteWidth * 8 - 1)) : dictionary.length;
  const words = indexView(alignedBytes(values, Math.min(byteWidth, 4)), byteWidth);
  for (let start = 0; start < length; start += STEP_ROWS) {
    if (start > 0) yield;
    const end = Math.min(start + STEP_ROWS, length);
    const row = firstOutside(column, words, size, start, end);
    if (row < end)
      throw invalid(path, `an index outside its dictionary of ${dictionary.length} values in row ${row}`);
  }
}

/** Returns the first row that is not null and whose index is not below `size`; `end` if there is none. */
function firstOutside(
  { validity, indices: { byteWidth } }: DictionaryColumn,
  words: ReturnType<typeof indexView>,
  size: number,
  start: number,
  end: number,
): number {
  const isWide = byteWidth === 8;
  for (let row = start; row < end; row++) {
    const index = isWide ? words[2 * row] + words[2 * row + 1] * 0x1_0000_0000 : words[row];
    if (!(index < size) && isValid(validity, row)) return row;
  }
  return end;
}

function invalid(path: string, what: string): InvalidInputError {
  return new InvalidInputError(`column ${path}: ${what}`);
}
