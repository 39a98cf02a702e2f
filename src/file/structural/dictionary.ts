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
} from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { alignedBytes } from "../../bytes/aligned.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { DEFAULT_COMPRESSION } from "../compression/compressionOptions.js";
import { fixedDecoder } from "../compression/fixed.js";
import {
  decodeVariableBlock,
  MAXIMUM_POSITION,
  resolveVariable,
  widenOffsets,
} from "../compression/variable.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";

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
/** Most values are no longer than a step, so that how many it takes is not a guess for the processor. */
const STEP_BYTES = 16;

export function gatherVariable(
  numbers: IndexNumbers,
  dictionary: VariableColumn,
  origin: PageOrigin,
): VariableColumn {
  const size = dictionary.length;
  const starts = areNarrow(dictionary.offsets)
    ? dictionary.offsets
    : Int32Array.from(dictionary.offsets, Number);
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
  // steps write and read too much.
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
  const sampleCount = Math.min(rowCount, SAMPLE_ROWS);
  const sampleRows = new Int32Array(sampleCount);
  for (let index = 0; index < sampleCount; index++) {
    sampleRows[index] = Math.floor((index * rowCount) / sampleCount);
  }
  const sample = new ValueSet(offsets, bytes, Math.floor(sampleCount * SAMPLE_DISTINCT));
  if (!sample.number(sampleRows, definition, new Uint32Array(sampleCount))) return null;
  const set = new ValueSet(
    offsets,
    bytes,
    Math.min(MAXIMUM_DICTIONARY_VALUES, Math.floor(rowCount * SAMPLE_DISTINCT)),
  );
  const indices = new Uint32Array(rowCount);
  if (!set.number(null, definition, indices)) return null;
  const values = set.collect();
  const { itemCount } = set;
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

/** Bytes of a value that a set keeps as words. */
const KEY_BYTES = 16;
/** By the length of a value, up to 16: the masks of its bytes in four words. */
const KEY_MASKS = Int32Array.from({ length: 4 * (KEY_BYTES + 1) }, (_, index) => {
  const bytes = (index >> 2) - 4 * (index & 3);
  return bytes >= 4 ? -1 : bytes <= 0 ? 0 : (1 << (8 * bytes)) - 1;
});
const LEAST_SLOTS = 1 << 10;

/**
 * Distinct values, each known by the first row that holds it; an open hash table, half full at most. Of every value
 * the first 16 bytes are at hand as words, which is all there is to compare of most.
 */
class ValueSet {
  itemCount = 0;
  /** By value: four words of its beginning, its length, its first row and its hash. */
  private keys = new Int32Array(2 * LEAST_SLOTS);
  private lengths = new Int32Array(LEAST_SLOTS / 2);
  private rows = new Int32Array(LEAST_SLOTS / 2);
  private hashes = new Int32Array(LEAST_SLOTS / 2);
  /** Number of a value, plus 1, or 0. */
  private slots = new Int32Array(LEAST_SLOTS);
  private readonly view: DataView;

  constructor(
    private readonly offsets: Int32Array,
    private readonly bytes: Uint8Array,
    private readonly limit: number,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /**
   * Numbers the values of some rows, or of all; nulls get the number of the value before. False as soon as there is
   * one value too many.
   */
  number(rows: Int32Array | null, definition: Uint16Array | null, numbers: Uint32Array): boolean {
    const offsets = this.offsets;
    const view = this.view;
    const limit = this.limit;
    const byteLength = view.byteLength;
    let { keys, lengths, slots } = this;
    let shift = 32 - Math.log2(slots.length);
    let mask = slots.length - 1;
    let number = 0;
    for (let index = 0; index < numbers.length; index++) {
      const row = rows === null ? index : rows[index];
      if (definition !== null && definition[row] !== 0) {
        numbers[index] = number;
        continue;
      }
      const start = offsets[row];
      const length = offsets[row + 1] - start;
      let word0: number;
      let word1: number;
      let word2: number;
      let word3: number;
      if (start + KEY_BYTES <= byteLength) {
        const masks = 4 * Math.min(length, KEY_BYTES);
        word0 = view.getInt32(start, true) & KEY_MASKS[masks];
        word1 = view.getInt32(start + 4, true) & KEY_MASKS[masks + 1];
        word2 = view.getInt32(start + 8, true) & KEY_MASKS[masks + 2];
        word3 = view.getInt32(start + 12, true) & KEY_MASKS[masks + 3];
      } else {
        word0 = this.wordAt(start, start + length);
        word1 = this.wordAt(start + 4, start + length);
        word2 = this.wordAt(start + 8, start + length);
        word3 = this.wordAt(start + 12, start + length);
      }
      let hash =
        Math.imul(word0, 0x9e3779b1) ^
        Math.imul(word1, 0x85ebca6b) ^
        Math.imul(word2, 0xc2b2ae35) ^
        Math.imul(word3, 0x27d4eb2f) ^
        length;
      if (length > KEY_BYTES) hash = this.hashRest(hash, start + KEY_BYTES, start + length);
      hash ^= hash >>> 15;
      hash = Math.imul(hash, 0x2c1b3c6d);
      for (let slot = hash >>> shift; ; slot = (slot + 1) & mask) {
        number = slots[slot] - 1;
        if (number < 0) {
          number = this.itemCount;
          if (number === limit) return false;
          slots[slot] = number + 1;
          keys[4 * number] = word0;
          keys[4 * number + 1] = word1;
          keys[4 * number + 2] = word2;
          keys[4 * number + 3] = word3;
          lengths[number] = length;
          this.rows[number] = row;
          this.hashes[number] = hash;
          this.itemCount++;
          if (this.itemCount * 2 === slots.length) {
            this.grow();
            ({ keys, lengths, slots } = this);
            shift = 32 - Math.log2(slots.length);
            mask = slots.length - 1;
          }
          break;
        }
        const key = 4 * number;
        const different =
          (word0 ^ keys[key]) |
          (word1 ^ keys[key + 1]) |
          (word2 ^ keys[key + 2]) |
          (word3 ^ keys[key + 3]) |
          (length ^ lengths[number]);
        if (different === 0 && (length <= KEY_BYTES || this.sameRest(number, start, length))) break;
      }
      numbers[index] = number;
    }
    return true;
  }

  /** The next four bytes in front of `end`, zeros behind it. */
  private wordAt(at: number, end: number): number {
    let word = 0;
    for (let byte = 0; byte < 4 && at + byte < end; byte++) word |= this.bytes[at + byte] << (8 * byte);
    return word;
  }

  private hashRest(seed: number, start: number, end: number): number {
    const view = this.view;
    const bytes = this.bytes;
    let hash = seed;
    let at = start;
    for (; at + 4 <= end; at += 4) {
      hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    for (; at < end; at++) hash = Math.imul(hash ^ bytes[at], 0x01000193);
    return hash;
  }

  /** Whether a value is that of `length` bytes at `start` behind the bytes that were compared already. */
  private sameRest(number: number, start: number, length: number): boolean {
    const view = this.view;
    const bytes = this.bytes;
    let other = this.offsets[this.rows[number]] + KEY_BYTES;
    let at = start + KEY_BYTES;
    const end = start + length;
    for (; at + 4 <= end; at += 4, other += 4) {
      if (view.getInt32(at, true) !== view.getInt32(other, true)) return false;
    }
    for (; at < end; at++, other++) if (bytes[at] !== bytes[other]) return false;
    return true;
  }

  /** Room for four times as many values. */
  private grow(): void {
    const slotCount = 4 * this.slots.length;
    const enlarged = (words: Int32Array, length: number): Int32Array<ArrayBuffer> => {
      const larger = new Int32Array(length);
      larger.set(words);
      return larger;
    };
    this.keys = enlarged(this.keys, 2 * slotCount);
    this.lengths = enlarged(this.lengths, slotCount / 2);
    this.rows = enlarged(this.rows, slotCount / 2);
    this.hashes = enlarged(this.hashes, slotCount / 2);
    const slots = new Int32Array(slotCount);
    const shift = 32 - Math.log2(slotCount);
    for (let number = 0; number < this.itemCount; number++) {
      let slot = this.hashes[number] >>> shift;
      while (slots[slot] !== 0) slot = (slot + 1) & (slotCount - 1);
      slots[slot] = number + 1;
    }
    this.slots = slots;
  }

  collect(): { offsets: Int32Array; bytes: Uint8Array } {
    const { itemCount, rows } = this;
    const collected = new Int32Array(itemCount + 1);
    for (let number = 0; number < itemCount; number++) {
      collected[number + 1] = collected[number] + this.lengths[number];
    }
    const bytes = new Uint8Array(collected[itemCount]);
    for (let number = 0; number < itemCount; number++) {
      const start = this.offsets[rows[number]];
      bytes.set(this.bytes.subarray(start, start + this.lengths[number]), collected[number]);
    }
    return { offsets: collected, bytes };
  }
}
