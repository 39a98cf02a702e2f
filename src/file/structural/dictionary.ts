/**
 * Page dictionaries: a mini-block page may store unsigned indices instead of values, and the values once, in a
 * block of their own. A dictionary-typed column keeps that form; any other gets its values back.
 */

import type {
  Column,
  DictionaryLayout,
  FixedColumn,
  LeafLayout,
  VariableColumn,
} from "../../arrow/column.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { alignedBytes } from "../compression/aligned.js";
import { DEFAULT_COMPRESSION } from "../compression/compressionOptions.js";
import { fixedDecoder } from "../compression/fixed.js";
import {
  decodeVariableBlock,
  MAXIMUM_POSITION,
  resolveVariable,
  widenOffsets,
} from "../compression/variable.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../page.js";

type DictionaryValues = VariableColumn | FixedColumn;

/** Decodes the `count` values of a dictionary for a column of `layout`. */
export function decodeDictionary(
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
  const byteWidth = valueLayout.byteWidth;
  if (decoder.bitsPerValue !== byteWidth * 8) {
    throw corruptPage(
      origin,
      `dictionary of ${decoder.bitsPerValue}-bit values for ${byteWidth * 8}-bit ones`,
    );
  }
  // A value takes no less than a thousandth of its width under any encoding; beyond that the count is wrong.
  if (count * byteWidth > (buffer.length + 64) * 1024) {
    throw corruptPage(origin, `dictionary of ${count} values in ${buffer.length} bytes`);
  }
  const values = new Uint8Array(count * byteWidth);
  decoder.decode([buffer], 0, count, values, 0);
  return { kind: "fixed", byteWidth, length: count, validity: null, values };
}

/** The column that indices and dictionary make; `definition` tells whose indices mean nothing. */
export function resolveDictionary(
  layout: LeafLayout,
  indices: FixedColumn,
  dictionary: DictionaryValues,
  definition: Uint16Array | null,
  origin: PageOrigin,
): Column {
  const numbers = indexNumbers(indices);
  const misplaced = firstBeyond(numbers, dictionary.length, definition);
  if (misplaced >= 0) {
    throw corruptPage(origin, `index ${numbers[misplaced]} into a dictionary of ${dictionary.length} values`);
  }
  if (layout.kind === "dictionary") return dictionaryColumn(layout, indices, dictionary, origin);
  if (dictionary.kind === "fixed") return gatherFixed(numbers, dictionary);
  return gatherVariable(numbers, dictionary, origin);
}

function dictionaryColumn(
  layout: DictionaryLayout,
  indices: FixedColumn,
  dictionary: DictionaryValues,
  origin: PageOrigin,
): Column {
  if (indices.byteWidth !== layout.index.byteWidth) {
    throw corruptPage(
      origin,
      `${indices.byteWidth}-byte indices in a column of ${layout.index.byteWidth}-byte ones`,
    );
  }
  return { kind: "dictionary", length: indices.length, validity: null, indices, dictionary };
}

type IndexNumbers = Uint8Array | Uint16Array | Uint32Array;

/** Indices as numbers; those beyond 32 bits come out as the largest one, which no dictionary reaches. */
function indexNumbers({ values, byteWidth, length }: FixedColumn): IndexNumbers {
  if (byteWidth === 1) return values;
  if (byteWidth === 2) return new Uint16Array(values.buffer, values.byteOffset, length);
  if (byteWidth === 4) return new Uint32Array(values.buffer, values.byteOffset, length);
  const halves = new Uint32Array(values.buffer, values.byteOffset, 2 * length);
  const numbers = new Uint32Array(length);
  for (let index = 0; index < length; index++) {
    numbers[index] = halves[2 * index + 1] === 0 ? halves[2 * index] : 0xffffffff;
  }
  return numbers;
}

/** Position of the first valid index that is `size` or more, or -1. */
function firstBeyond(numbers: IndexNumbers, size: number, definition: Uint16Array | null): number {
  for (let index = 0; index < numbers.length; index++) {
    if (numbers[index] >= size && (definition === null || definition[index] === 0)) return index;
  }
  return -1;
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
        const at = 2 * numbers[index];
        to[2 * index] = from[at];
        to[2 * index + 1] = from[at + 1];
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

export function gatherVariable(
  numbers: IndexNumbers,
  dictionary: VariableColumn,
  origin: PageOrigin,
): VariableColumn {
  const size = dictionary.length;
  const wide = dictionary.offsets instanceof BigInt64Array;
  const starts = wide ? Int32Array.from(dictionary.offsets, Number) : (dictionary.offsets as Int32Array);
  const length = numbers.length;
  const offsets = new Int32Array(length + 1);
  let total = 0;
  for (let index = 0; index < length; index++) {
    const number = numbers[index];
    if (number < size) total += starts[number + 1] - starts[number];
    offsets[index + 1] = total;
  }
  if (total > MAXIMUM_POSITION) throw unsupportedPage(origin, "more than 2 GiB of values");
  // The dictionary's bytes lie behind the result's, so that a value moves within one array; the gaps take what
  // steps of eight bytes write and read too much.
  const from = starts[0];
  const dictionaryStart = total + 8;
  const bytes = new Uint8Array(dictionaryStart + starts[size] - from + 8);
  bytes.set(dictionary.bytes.subarray(from, starts[size]), dictionaryStart);
  const view = new DataView(bytes.buffer);
  const shift = dictionaryStart - from;
  for (let index = 0; index < length; index++) {
    let write = offsets[index];
    const end = offsets[index + 1];
    if (end === write) continue;
    let read = starts[numbers[index]] + shift;
    if (end - write <= SHORT_VALUE) {
      for (; write < end; write += 8, read += 8) {
        view.setInt32(write, view.getInt32(read, true), true);
        view.setInt32(write + 4, view.getInt32(read + 4, true), true);
      }
    } else {
      bytes.copyWithin(write, read, read + end - write);
    }
  }
  return {
    kind: "variable",
    length,
    validity: null,
    offsets: wide ? widenOffsets(offsets) : offsets,
    bytes: bytes.subarray(0, total),
  };
}

/** Values by their first occurrence, and the number of each row's value. */
export interface FoundDictionary {
  readonly indices: Uint32Array;
  /** Of the dictionary's values, starting at 0. */
  readonly offsets: Int32Array;
  readonly bytes: Uint8Array;
}

/** Pages with fewer rows are not worth a dictionary. */
const LEAST_DICTIONARY_ROWS = 100;
/** Rows looked at before all of them are. */
const SAMPLE_ROWS = 4096;
/** Share of the sample's rows that may hold a value of their own. */
const SAMPLE_DISTINCT = 0.65;
const MAXIMUM_DICTIONARY_VALUES = 1 << 15;

/**
 * The dictionary of variable-width values where it and its indices are smaller than they are, else null. Nulls have
 * the index of the value before.
 * @param offsets positions in `bytes`, starting at 0
 * @param ratio share of the values' size that the dictionary may take, indices included
 */
export function findDictionary(
  offsets: Int32Array,
  bytes: Uint8Array,
  definition: Uint16Array | null,
  ratio = DEFAULT_COMPRESSION.dictionaryRatio,
): FoundDictionary | null {
  const rowCount = offsets.length - 1;
  if (rowCount < LEAST_DICTIONARY_ROWS) return null;
  const sampleRows = Math.min(rowCount, SAMPLE_ROWS);
  const sampleLimit = Math.floor(sampleRows * SAMPLE_DISTINCT);
  const sample = new ValueSet(offsets, bytes, sampleLimit);
  for (let index = 0; index < sampleRows; index++) {
    const row = Math.floor((index * rowCount) / sampleRows);
    if ((definition === null || definition[row] === 0) && sample.add(row) < 0) return null;
  }
  const limit = Math.min(MAXIMUM_DICTIONARY_VALUES, Math.floor(rowCount * SAMPLE_DISTINCT));
  const set = new ValueSet(offsets, bytes, limit);
  const indices = new Uint32Array(rowCount);
  let previous = 0;
  for (let row = 0; row < rowCount; row++) {
    if (definition === null || definition[row] === 0) {
      previous = set.add(row);
      if (previous < 0) return null;
    }
    indices[row] = previous;
  }
  const values = set.collect();
  const itemCount = set.rows.length;
  const indexBytes = (rowCount * Math.ceil(Math.log2(Math.max(2, itemCount)))) / 8;
  const plainBytes = bytes.length + 4 * rowCount;
  if (values.bytes.length + 4 * itemCount + indexBytes > ratio * plainBytes) return null;
  return { indices, ...values };
}

/** Values of a fixed width by their first occurrence, and the number of each row's value. */
export interface FoundFixedDictionary {
  readonly indices: Uint32Array;
  readonly values: Uint8Array;
  readonly itemCount: number;
}

/** The dictionary of values of a multiple of four bytes; null where it has more than `limit` values. */
export function findFixedDictionary(
  byteWidth: number,
  bytes: Uint8Array,
  count: number,
  limit: number,
): FoundFixedDictionary | null {
  const set = new WordSet(byteWidth, bytes, count, limit);
  const indices = new Uint32Array(count);
  for (let row = 0; row < count; row++) {
    const index = set.add(row);
    if (index < 0) return null;
    indices[row] = index;
  }
  const itemCount = set.itemCount;
  const values = new Uint8Array(itemCount * byteWidth);
  for (let item = 0; item < itemCount; item++) {
    const start = set.rows[item] * byteWidth;
    values.set(bytes.subarray(start, start + byteWidth), item * byteWidth);
  }
  return { indices, values, itemCount };
}

/** Different values among `sampleCount` of `count` values; one more than `limit` as soon as there are more. */
export function countDistinct(
  byteWidth: number,
  bytes: Uint8Array,
  count: number,
  sampleCount: number,
  limit: number,
): number {
  const set = new WordSet(byteWidth, bytes, count, limit);
  for (let index = 0; index < sampleCount; index++) {
    if (set.add(Math.floor((index * count) / sampleCount)) < 0) return limit + 1;
  }
  return set.itemCount;
}

/** Distinct values of a multiple of four bytes, each known by the first row that holds it; an open hash table. */
class WordSet {
  itemCount = 0;
  /** First row of each value. */
  readonly rows: Int32Array;
  private readonly stride: number;
  private readonly words: Int32Array;
  /** Number of a value, plus 1, or 0. */
  private readonly slots: Int32Array;
  private readonly shift: number;
  private readonly mask: number;

  constructor(
    byteWidth: number,
    bytes: Uint8Array,
    count: number,
    private readonly limit: number,
  ) {
    const aligned = alignedBytes(bytes, 4);
    this.stride = byteWidth / 4;
    this.words = new Int32Array(aligned.buffer, aligned.byteOffset, count * this.stride);
    const bits = Math.ceil(Math.log2(2 * limit + 2));
    this.shift = 32 - bits;
    this.mask = 2 ** bits - 1;
    this.slots = new Int32Array(2 ** bits);
    this.rows = new Int32Array(limit);
  }

  /** The number of a row's value, or -1 where it would be one value too many. */
  add(row: number): number {
    const words = this.words;
    const stride = this.stride;
    const slots = this.slots;
    const mask = this.mask;
    const rows = this.rows;
    const start = row * stride;
    let hash = 0;
    for (let word = start; word < start + stride; word++) {
      hash = Math.imul(hash ^ words[word], 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    for (let slot = Math.imul(hash, 0x85ebca6b) >>> this.shift; ; slot = (slot + 1) & mask) {
      const entry = slots[slot];
      if (entry === 0) {
        if (this.itemCount === this.limit) return -1;
        rows[this.itemCount] = row;
        slots[slot] = ++this.itemCount;
        return this.itemCount - 1;
      }
      const other = rows[entry - 1] * stride;
      let different = 0;
      for (let word = 0; word < stride; word++) different |= words[start + word] ^ words[other + word];
      if (different === 0) return entry - 1;
    }
  }
}

/** Distinct values, each known by the first row that holds it; an open hash table. */
class ValueSet {
  /** First row of each value. */
  readonly rows: number[] = [];
  /** Number of a value, plus 1, or 0. */
  private readonly slots: Int32Array;
  private readonly mask: number;
  private readonly view: DataView;

  constructor(
    private readonly offsets: Int32Array,
    private readonly bytes: Uint8Array,
    private readonly limit: number,
  ) {
    const size = 2 ** Math.ceil(Math.log2(limit * 2 + 2));
    this.slots = new Int32Array(size);
    this.mask = size - 1;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** The number of a row's value, or -1 where it would be one value too many. */
  add(row: number): number {
    const slots = this.slots;
    const mask = this.mask;
    const start = this.offsets[row];
    const end = this.offsets[row + 1];
    const hash = this.hash(start, end);
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot];
      if (entry === 0) {
        if (this.rows.length === this.limit) return -1;
        slots[slot] = this.rows.push(row);
        return this.rows.length - 1;
      }
      if (this.holds(this.rows[entry - 1], start, end)) return entry - 1;
    }
  }

  private hash(start: number, end: number): number {
    const view = this.view;
    let hash = end - start;
    let at = start;
    for (; at + 4 <= end; at += 4) {
      hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    for (; at < end; at++) hash = Math.imul(hash ^ this.bytes[at], 0x01000193);
    return hash;
  }

  private holds(row: number, start: number, end: number): boolean {
    const view = this.view;
    const bytes = this.bytes;
    let other = this.offsets[row];
    if (this.offsets[row + 1] - other !== end - start) return false;
    let at = start;
    for (; at + 4 <= end; at += 4, other += 4) {
      if (view.getInt32(at, true) !== view.getInt32(other, true)) return false;
    }
    for (; at < end; at++, other++) if (bytes[at] !== bytes[other]) return false;
    return true;
  }

  collect(): { offsets: Int32Array; bytes: Uint8Array } {
    const collected = new Int32Array(this.rows.length + 1);
    let total = 0;
    for (const [index, row] of this.rows.entries()) {
      total += this.offsets[row + 1] - this.offsets[row];
      collected[index + 1] = total;
    }
    const bytes = new Uint8Array(total);
    for (const [index, row] of this.rows.entries()) {
      bytes.set(this.bytes.subarray(this.offsets[row], this.offsets[row + 1]), collected[index]);
    }
    return { offsets: collected, bytes };
  }
}
