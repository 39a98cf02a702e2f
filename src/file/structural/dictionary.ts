/**
 * Reads page dictionaries: a mini-block page may store unsigned indices instead of values, and the values
 * once, in a block of their own. A dictionary-typed column keeps that form; any other gets its values back.
 */

import type {
  Column,
  DictionaryColumn,
  FixedColumn,
  LeafLayout,
  VariableColumn,
} from "../../arrow/columns/column.js";
import { lazyFixedColumn } from "../../arrow/columns/lazyColumn.js";
import type { ChunkedValues } from "../../arrow/columns/lazyValues.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { type IndexNumbers, indexNumbers } from "../compression/dictionaryIndices.js";
import { fixedDecoder } from "../compression/fixed.js";
import {
  decodeVariableBlock,
  MAXIMUM_POSITION,
  resolveVariable,
  widenOffsets,
} from "../compression/variable.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";

export type DictionaryValues = VariableColumn | FixedColumn;

/** Decodes the `count` values of a dictionary for a column of `layout`. */
export function decodeDictionaryValues(
  layout: LeafLayout,
  encoding: CompressiveEncoding,
  buffer: Uint8Array,
  count: number,
  origin: PageOrigin,
): DictionaryValues {
  const valueLayout = layout.kind === "dictionary" ? layout.value : layout;
  if (valueLayout.kind === "variable") {
    return decodeVariableBlock(valueLayout, resolveVariable(encoding, origin), buffer, count, origin);
  }
  if (valueLayout.kind !== "fixed") {
    throw unsupportedPage(origin, `a dictionary for a column of layout ${valueLayout.kind}`);
  }
  const decoder = fixedDecoder(encoding, "block", origin);
  const { byteWidth } = valueLayout;
  const { bitsPerValue } = decoder;
  if (bitsPerValue !== byteWidth * 8) {
    throw corruptPage(origin, `dictionary of ${bitsPerValue}-bit values for ${byteWidth * 8}-bit ones`);
  }
  // No encoding packs a value into less than a thousandth of its width, so a larger count is wrong.
  if (count * byteWidth > (buffer.length + 64) * 1024) {
    throw corruptPage(origin, `dictionary of ${count} values in ${buffer.length} bytes`);
  }
  const values = new Uint8Array(count * byteWidth);
  decoder.decode([buffer], 0, count, values, 0);
  return { kind: "fixed", byteWidth, length: count, validity: null, values };
}

/**
 * Joins indices and dictionary into a column. If `definition` is not 0, the index means nothing.
 * @param isKept true if a column of any layout keeps the dictionary, not only a dictionary-typed one
 */
export function resolveDictionary(
  layout: LeafLayout,
  indices: FixedColumn,
  dictionary: DictionaryValues,
  definition: Uint16Array | null,
  isKept: boolean,
  origin: PageOrigin,
): Column {
  if (isKept && layout.kind !== "dictionary" && indices.lazy?.kind === "chunks") {
    return dictionaryInPlace(indices, indices.lazy, dictionary, definition, origin);
  }
  const numbers = indexNumbers(indices.values, indices.byteWidth, indices.length);
  checkIndices(numbers, dictionary.length, definition, origin);
  if (layout.kind === "dictionary" && indices.byteWidth !== layout.index.byteWidth) {
    const expected = layout.index.byteWidth;
    throw corruptPage(origin, `${indices.byteWidth}-byte indices in a column of ${expected}-byte ones`);
  }
  if (isKept || layout.kind === "dictionary") {
    return { kind: "dictionary", length: indices.length, validity: null, indices, dictionary };
  }
  if (dictionary.kind === "fixed") return gatherFixed(numbers, dictionary);
  return gatherVariable(numbers, dictionary, origin);
}

/**
 * Returns a column with a dictionary of only the values that it uses, each once.
 * @param definition levels of the rows; an index whose level is not 0 means nothing. Null if all are 0
 */
export function compactDictionary(
  column: DictionaryColumn,
  definition: Uint16Array | null,
): DictionaryColumn {
  const { indices, dictionary, length } = column;
  const numbers = indexNumbers(indices.values, indices.byteWidth, length);
  const entryOf = new Map<number, number>();
  const compact = new Uint8Array(length * indices.byteWidth);
  // Indices of 8 bytes begin with their low word.
  const wordBytes = Math.min(indices.byteWidth, 4);
  const compactNumbers = indexNumbers(compact, wordBytes, compact.length / wordBytes);
  const stride = indices.byteWidth / wordBytes;
  for (let row = 0; row < length; row++) {
    if (definition !== null && definition[row] !== 0) continue;
    const number = numbers[row];
    let entry = entryOf.get(number);
    if (entry === undefined) entryOf.set(number, (entry = entryOf.size));
    compactNumbers[stride * row] = entry;
  }
  // Rows without a value have index 0.
  if (entryOf.size === 0 && dictionary.length > 0) entryOf.set(0, 0);
  const values = takeColumn(dictionary, Uint32Array.from(entryOf.keys())) as DictionaryValues;
  return { ...column, indices: { ...indices, values: compact }, dictionary: values };
}

/** Indices that stay in the chunks of a page are checked when they are first read. */
function dictionaryInPlace(
  { byteWidth, length }: FixedColumn,
  chunks: ChunkedValues,
  dictionary: DictionaryValues,
  definition: Uint16Array | null,
  origin: PageOrigin,
): Column {
  const decode = (): Uint8Array => {
    const values = chunks.decode();
    checkIndices(indexNumbers(values, byteWidth, length), dictionary.length, definition, origin);
    return values;
  };
  const pick = (rows: Uint32Array): Uint8Array | null => {
    const values = chunks.pick(rows);
    if (values === null) return null;
    const levels = definition && Uint16Array.from(rows, (row) => definition[row]);
    checkIndices(indexNumbers(values, byteWidth, rows.length), dictionary.length, levels, origin);
    return values;
  };
  const indices = lazyFixedColumn({ ...chunks, decode, pick }, byteWidth, length, null);
  return { kind: "dictionary", length, validity: null, indices, dictionary };
}

/** @throws CorruptFileError if a valid index is `size` or more */
function checkIndices(
  numbers: IndexNumbers,
  size: number,
  definition: Uint16Array | null,
  origin: PageOrigin,
): void {
  for (let index = 0; index < numbers.length; index++) {
    if (numbers[index] < size || (definition !== null && definition[index] !== 0)) continue;
    throw corruptPage(origin, `index ${numbers[index]} into a dictionary of ${size} values`);
  }
}

function gatherFixed(numbers: IndexNumbers, dictionary: FixedColumn): FixedColumn {
  const { byteWidth, length: size } = dictionary;
  const length = numbers.length;
  const values = new Uint8Array(length * byteWidth);
  if (byteWidth % 4 === 0) {
    const stride = byteWidth / 4;
    const from = new Int32Array(dictionary.values.buffer, dictionary.values.byteOffset, size * stride);
    const to = new Int32Array(values.buffer);
    if (stride === 1) {
      for (let index = 0; index < length; index++) to[index] = from[numbers[index]];
    } else if (stride === 2) {
      for (let index = 0; index < length; index++) {
        const slot = 2 * numbers[index];
        to[2 * index] = from[slot];
        to[2 * index + 1] = from[slot + 1];
      }
    } else {
      for (let index = 0, write = 0; index < length; index++) {
        for (let read = numbers[index] * stride, end = read + stride; read < end; )
          to[write++] = from[read++];
      }
    }
  } else {
    const from = dictionary.values;
    for (let index = 0, write = 0; index < length; index++) {
      for (let read = numbers[index] * byteWidth, end = read + byteWidth; read < end; ) {
        values[write++] = from[read++];
      }
    }
  }
  return { kind: "fixed", byteWidth, length, validity: null, values };
}

/** Values up to this length are copied in steps, longer ones by a call. */
const SHORT_VALUE = 64;
/** Bytes of a step. Most values fit into one, so the processor predicts the number of steps well. */
const STEP_BYTES = 16;

/** Values of a dictionary per row above which the values are gathered one by one. */
const SPARSE = 64;

/** {@link gatherVariable} for rows that need a small part of the dictionary. */
function gatherFew(numbers: IndexNumbers, dictionary: VariableColumn, origin: PageOrigin): VariableColumn {
  const { length } = numbers;
  const { offsets: starts, length: size } = dictionary;
  const offsets = new Int32Array(length + 1);
  let total = 0;
  for (let index = 0; index < length; index++) {
    const number = numbers[index];
    if (number < size) total += Number(starts[number + 1]) - Number(starts[number]);
    if (total > MAXIMUM_POSITION) throw unsupportedPage(origin, "more than 2 GiB of values");
    offsets[index + 1] = total;
  }
  const bytes = new Uint8Array(total);
  for (let index = 0; index < length; index++) {
    if (offsets[index + 1] === offsets[index]) continue;
    const number = numbers[index];
    const value = dictionary.bytes.subarray(Number(starts[number]), Number(starts[number + 1]));
    bytes.set(value, offsets[index]);
  }
  const isNarrow = areNarrow(starts);
  return {
    kind: "variable",
    length,
    validity: null,
    offsets: isNarrow ? offsets : widenOffsets(offsets),
    bytes,
  };
}

export function gatherVariable(
  numbers: IndexNumbers,
  dictionary: VariableColumn,
  origin: PageOrigin,
): VariableColumn {
  const size = dictionary.length;
  const length = numbers.length;
  if (length < size / SPARSE) return gatherFew(numbers, dictionary, origin);
  const starts = areNarrow(dictionary.offsets)
    ? dictionary.offsets
    : Int32Array.from(dictionary.offsets, Number);
  const offsets = new Int32Array(length + 1);
  let total = 0;
  for (let index = 0; index < length; index++) {
    const number = numbers[index];
    if (number < size) total += starts[number + 1] - starts[number];
    offsets[index + 1] = total;
  }
  if (total > MAXIMUM_POSITION) throw unsupportedPage(origin, "more than 2 GiB of values");
  // The dictionary's bytes lie after the result's, so a value moves within one array. The gaps absorb reads
  // and writes beyond a value.
  const from = starts[0];
  const dictionaryStart = total + STEP_BYTES;
  const bytes = new Uint8Array(dictionaryStart + starts[size] - from + STEP_BYTES);
  bytes.set(dictionary.bytes.subarray(from, starts[size]), dictionaryStart);
  const view = new DataView(bytes.buffer);
  const shift = dictionaryStart - from;
  for (let index = 0; index < length; index++) {
    let write = offsets[index];
    const end = offsets[index + 1];
    if (end === write) continue;
    let read = starts[numbers[index]] + shift;
    if (end - write <= SHORT_VALUE) {
      for (; write < end; write += STEP_BYTES, read += STEP_BYTES) {
        view.setInt32(write, view.getInt32(read, true), true);
        view.setInt32(write + 4, view.getInt32(read + 4, true), true);
        view.setInt32(write + 8, view.getInt32(read + 8, true), true);
        view.setInt32(write + 12, view.getInt32(read + 12, true), true);
      }
    } else {
      bytes.copyWithin(write, read, read + end - write);
    }
  }
  return {
    kind: "variable",
    length,
    validity: null,
    offsets: areNarrow(dictionary.offsets) ? offsets : widenOffsets(offsets),
    bytes: bytes.subarray(0, total),
  };
}
