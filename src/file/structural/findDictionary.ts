/**
 * Looks for a page dictionary: values that are stored once because they occur often, and an index per row.
 */

import type { Steps } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { ValueSet } from "../../bytes/valueSet.js";
import { DEFAULT_COMPRESSION } from "../compression/compressionOptions.js";

/** Distinct values in the order of their first occurrence, and for each row the index of its value. */
interface FoundDictionary {
  readonly indices: Uint32Array;
  /** Positions of the dictionary's values in `bytes`, starting at 0. */
  readonly offsets: Int32Array;
  readonly bytes: Uint8Array;
}

/** Pages with fewer rows are not worth a dictionary. */
const LEAST_DICTIONARY_ROWS = 100;
/** Rows of the sample that is checked before all rows are. */
const SAMPLE_ROWS = 4096;
const STEP_ROWS = 2 ** 16;
/** Maximum distinct values, as a share of the rows, in the sample and in all rows. */
const SAMPLE_DISTINCT = 0.65;
const MAXIMUM_DICTIONARY_VALUES = 1 << 15;

/**
 * Finds the dictionary of variable-width values; null if dictionary and indices would not save enough. A null
 * has the index of the value before it.
 * @param offsets positions in `bytes`, starting at 0
 * @param ratio share of the values' size that dictionary and indices may take
 */
export function* findDictionary(
  offsets: Int32Array,
  bytes: Uint8Array,
  definition: Uint16Array | null,
  ratio = DEFAULT_COMPRESSION.dictionaryRatio,
): Steps<FoundDictionary | null> {
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
  for (let start = 0; start < rowCount; start += STEP_ROWS) {
    if (start > 0) yield;
    if (!set.number(null, definition, indices, start, Math.min(start + STEP_ROWS, rowCount))) return null;
  }
  const values = set.collect();
  const { itemCount } = set;
  const indexBytes = (rowCount * Math.ceil(Math.log2(Math.max(2, itemCount)))) / 8;
  const plainBytes = bytes.length + 4 * rowCount;
  if (values.bytes.length + 4 * itemCount + indexBytes > ratio * plainBytes) return null;
  return { indices, ...values };
}

/** Distinct values of a fixed width in the order of first occurrence, and the index of each row's value. */
interface FoundFixedDictionary {
  readonly indices: Uint32Array;
  readonly values: Uint8Array;
  readonly itemCount: number;
}

/** Finds the dictionary of values with widths of 4 · n bytes; null if more than `limit` are distinct. */
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

/** Counts the distinct values among `sampleCount` of `count` values, up to `limit` + 1. */
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

/** Distinct values, each a multiple of 4 bytes wide, by the first row that holds it: an open hash table. */
class WordSet {
  itemCount = 0;
  /** First row of each value. */
  readonly rows: Int32Array;
  private readonly stride: number;
  private readonly words: Int32Array;
  /** Number of a value plus 1, by slot; 0 for none. */
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

  /** Adds a row's value and returns its number; returns -1 instead of adding one value too many. */
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
      const otherStart = rows[entry - 1] * stride;
      let different = 0;
      for (let word = 0; word < stride; word++) different |= words[start + word] ^ words[otherStart + word];
      if (different === 0) return entry - 1;
    }
  }
}
