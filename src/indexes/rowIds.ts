/**
 * Sets of 64-bit row ids, as answers of indexes and as bitmaps in their files. Ids with one high word form
 * one set of low words. In an address, the high word is the fragment id and the low word the row offset.
 *
 * A set on disk, little-endian:
 *
 *     u32 entryCount
 *     entryCount times, high words ascending
 *       u32 highWord
 *       u32 byteLength of the bitmap; 0 for all low words
 *       bitmap of the low words (bytes/roaring)
 *
 * and in NGRAM indexes:
 *
 *     u64 entryCount
 *     entryCount times { u32 highWord, bitmap of the low words }
 */

import { concatBytes } from "../bytes/concat.js";
import {
  type BitmapOrigin,
  decodeRoaringPrefix,
  decodeRoaringSet,
  encodeRoaringSet,
} from "../bytes/roaring.js";
import { RoaringBuilder, RoaringSet } from "../bytes/roaringSet.js";
import { CorruptFileError } from "../errors.js";
import type { RowMoves } from "./moves.js";

const HEADER_BYTES = 4;
const ENTRY_BYTES = 8;
const TREEMAP_HEADER_BYTES = 8;
const TREEMAP_ENTRY_BYTES = 4;

export class RowIds {
  static readonly none = new RowIds([]);

  /** Non-empty sets by ascending high word. */
  readonly #sets: ReadonlyMap<number, RoaringSet>;

  /** @param sets with ascending high words */
  private constructor(sets: Iterable<readonly [number, RoaringSet]>) {
    this.#sets = new Map(sets);
  }

  /** Builds a set. @param ids pairs of words: low, high */
  static of(ids: Uint32Array): RowIds {
    const ascending = ascendingIds(ids);
    if (ascending !== null) return RowIds.#ofAscending(ascending);
    const builder = new RowIdsBuilder();
    builder.add(ids, 0, ids.length / 2);
    return builder.finish();
  }

  static #ofAscending(ids: Uint32Array): RowIds {
    const sets: [number, RoaringSet][] = [];
    const count = ids.length / 2;
    for (let first = 0; first < count; ) {
      const high = ids[2 * first + 1];
      let last = first + 1;
      while (last < count && ids[2 * last + 1] === high) last++;
      sets.push([high, RoaringSet.ofAscending(ids, 2, first, last)]);
      first = last;
    }
    return new RowIds(sets);
  }

  /** Builds a set from sets by high word, in any order; empty ones are left out. */
  static ofSets(sets: Iterable<readonly [number, RoaringSet]>): RowIds {
    return new RowIds([...sets].filter(([, set]) => set.size > 0).sort(([a], [b]) => a - b));
  }

  /** Returns the union of all sets. */
  static unionOf(sets: readonly RowIds[]): RowIds {
    return unionInPairs(sets) ?? RowIds.none;
  }

  /** Number of ids. */
  get size(): number {
    let size = 0;
    for (const set of this.#sets.values()) size += set.size;
    return size;
  }

  /** Returns the high words, ascending. */
  highWords(): number[] {
    return [...this.#sets.keys()];
  }

  /** Returns the low words of the ids, ascending. @param below exclusive bound: a set may claim all words */
  lows(high: number, below: number): Uint32Array {
    return this.#sets.get(high)?.valuesBelow(below) ?? new Uint32Array(0);
  }

  has(high: number, low: number): boolean {
    return this.#sets.get(high)?.has(low) ?? false;
  }

  union(ids: RowIds): RowIds {
    if (ids.#sets.size === 0) return this;
    if (this.#sets.size === 0) return ids;
    const united = new Map(this.#sets);
    for (const [high, set] of ids.#sets) united.set(high, united.get(high)?.union(set) ?? set);
    return RowIds.ofSets(united);
  }

  intersect(ids: RowIds): RowIds {
    const common: [number, RoaringSet][] = [];
    for (const [high, set] of this.#sets) {
      const there = ids.#sets.get(high);
      if (there !== undefined) common.push([high, set.intersect(there)]);
    }
    return RowIds.ofSets(common);
  }

  /** Returns the ids with one of these high words. */
  within(highWords: ReadonlySet<number>): RowIds {
    const kept = [...this.#sets].filter(([high]) => highWords.has(high));
    return kept.length === this.#sets.size ? this : new RowIds(kept);
  }

  /** Returns the ids that the other set lacks. */
  minus(ids: RowIds): RowIds {
    const left: [number, RoaringSet][] = [];
    for (const [high, set] of this.#sets) {
      const gone = ids.#sets.get(high);
      left.push([high, gone === undefined ? set : set.minus(gone)]);
    }
    return RowIds.ofSets(left);
  }

  /** Approximate bytes of memory. */
  get memoryWeight(): number {
    let bytes = 128;
    for (const set of this.#sets.values()) bytes += 64 + set.memoryWeight;
    return bytes;
  }

  /** Returns the set with the new ids of its rows. */
  moved(moves: RowMoves): RowIds {
    const stayed: [number, RoaringSet][] = [];
    const moved = new RowIdsBuilder();
    for (const [high, set] of this.#sets) {
      if (moves.keepsIds(high)) {
        stayed.push([high, set]);
        continue;
      }
      const lows = set.valuesBelow(moves.lowsBelow(high));
      const words = new Uint32Array(2 * lows.length);
      for (let row = 0; row < lows.length; row++) {
        words[2 * row] = lows[row];
        words[2 * row + 1] = high;
      }
      const { ids, kept } = moves.move(words);
      if (kept === null) moved.add(ids, 0, lows.length);
      else for (const row of kept) moved.add(ids, row, row + 1);
    }
    return new RowIds(stayed).union(moved.finish());
  }

  encode(): Uint8Array {
    const parts = [wordBytes(this.#sets.size)];
    for (const [high, set] of this.#sets) {
      const bitmap = set.isFull ? new Uint8Array(0) : encodeRoaringSet(set);
      parts.push(wordBytes(high, bitmap.length), bitmap);
    }
    return concatBytes(parts);
  }

  /** @throws CorruptFileError */
  static decode(bytes: Uint8Array, origin: BitmapOrigin): RowIds {
    const reader = new EntryReader(bytes, origin);
    const count = reader.need(HEADER_BYTES).getUint32(0, true);
    const sets: [number, RoaringSet][] = [];
    for (let index = 0; index < count; index++) {
      const entry = reader.need(ENTRY_BYTES);
      const high = reader.ascending(entry.getUint32(0, true));
      const byteLength = entry.getUint32(4, true);
      const set = byteLength === 0 ? RoaringSet.full : decodeRoaringSet(...reader.bytesOf(byteLength));
      if (set.size > 0) sets.push([high, set]);
    }
    reader.end();
    return new RowIds(sets);
  }

  encodeTreemap(): Uint8Array {
    const sets = [...this.#sets].flatMap(([high, set]) => [wordBytes(high), encodeRoaringSet(set)]);
    return concatBytes([wordBytes(this.#sets.size, 0), ...sets]);
  }

  /** @throws CorruptFileError */
  static decodeTreemap(bytes: Uint8Array, origin: BitmapOrigin): RowIds {
    const reader = new EntryReader(bytes, origin);
    const header = reader.need(TREEMAP_HEADER_BYTES);
    const count = header.getUint32(0, true) + header.getUint32(4, true) * 2 ** 32;
    const sets: [number, RoaringSet][] = [];
    for (let index = 0; index < count; index++) {
      const high = reader.ascending(reader.need(TREEMAP_ENTRY_BYTES).getUint32(0, true));
      const { set, byteLength } = decodeRoaringPrefix(...reader.rest());
      reader.skip(byteLength);
      if (set.size > 0) sets.push([high, set]);
    }
    reader.end();
    return new RowIds(sets);
  }
}

/** Returns words as bytes, little-endian. */
function wordBytes(...words: number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * words.length));
  for (const [index, word] of words.entries()) view.setUint32(4 * index, word, true);
  return new Uint8Array(view.buffer);
}

/** Unites sets pair by pair, which copies each element log2(sets) times. */
export function unionInPairs<Ids extends { union(ids: Ids): Ids }>(sets: readonly Ids[]): Ids | undefined {
  let united = sets;
  while (united.length > 1) {
    const pairs: Ids[] = [];
    for (let index = 0; index < united.length; index += 2) {
      const next = united[index + 1];
      pairs.push(next === undefined ? united[index] : united[index].union(next));
    }
    united = pairs;
  }
  return united[0];
}

/** Returns the distinct ids if they ascend, as ids of rows mostly do; else null. */
function ascendingIds(ids: Uint32Array): Uint32Array | null {
  let repeated = 0;
  for (let index = 2; index < ids.length; index += 2) {
    const high = ids[index + 1];
    const before = ids[index - 1];
    if (high < before || (high === before && ids[index] < ids[index - 2])) return null;
    if (high === before && ids[index] === ids[index - 2]) repeated++;
  }
  if (repeated === 0) return ids;
  const distinct = new Uint32Array(ids.length - 2 * repeated);
  let count = 0;
  for (let slot = 0; slot < ids.length; slot += 2) {
    if (slot > 0 && ids[slot] === ids[slot - 2] && ids[slot + 1] === ids[slot - 1]) continue;
    distinct[count++] = ids[slot];
    distinct[count++] = ids[slot + 1];
  }
  return distinct;
}

/** Collects ids in any order, with repeats. */
export class RowIdsBuilder {
  readonly #builders = new Map<number, RoaringBuilder>();
  #high = -1;
  #builder: RoaringBuilder | null = null;

  /** Adds the ids of rows `[start, end)`. @param ids pairs of words: low, high */
  add(ids: Uint32Array, start: number, end: number): void {
    for (let row = start; row < end; row++) {
      const high = ids[2 * row + 1];
      if (high !== this.#high || this.#builder === null) this.#enter(high);
      (this.#builder as RoaringBuilder).add(ids[2 * row]);
    }
  }

  #enter(high: number): void {
    this.#high = high;
    this.#builder = this.#builders.get(high) ?? new RoaringBuilder();
    this.#builders.set(high, this.#builder);
  }

  /** Returns the set of the ids added. */
  finish(): RowIds {
    return RowIds.ofSets(Array.from(this.#builders, ([high, builder]) => [high, builder.finish()] as const));
  }
}

/** Reads the entries of a set in turn. */
class EntryReader {
  #position = 0;
  #previous = -1;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly origin: BitmapOrigin,
  ) {}

  /** Returns a view of the next bytes and skips them. */
  need(length: number): DataView {
    const [bytes] = this.bytesOf(length);
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  bytesOf(length: number): [Uint8Array, BitmapOrigin] {
    if (length > this.bytes.length - this.#position) this.#fail("the bytes end too early");
    const [rest, origin] = this.rest();
    this.#position += length;
    return [rest.subarray(0, length), origin];
  }

  /** Returns all unread bytes and their origin. */
  rest(): [Uint8Array, BitmapOrigin] {
    const { path, byteOffset } = this.origin;
    return [this.bytes.subarray(this.#position), { path, byteOffset: byteOffset + this.#position }];
  }

  skip(length: number): void {
    this.#position += length;
  }

  ascending(high: number): number {
    if (high <= this.#previous) this.#fail("the entries do not ascend");
    this.#previous = high;
    return high;
  }

  end(): void {
    if (this.#position !== this.bytes.length) this.#fail("bytes follow the last entry");
  }

  #fail(reason: string): never {
    const { path, byteOffset } = this.origin;
    throw new CorruptFileError(path, byteOffset + this.#position, `set of row ids: ${reason}`);
  }
}
