/** Set of distinct values of any length. It has, for each value, the first row that holds it. */

import { enlarged } from "./growing.js";

/** Bytes of a value that a set keeps as words. */
const KEY_BYTES = 16;
/** Masks of the bytes in four words, by the length of a value, up to 16. */
const KEY_MASKS = Int32Array.from({ length: 4 * (KEY_BYTES + 1) }, (_, index) => {
  const bytes = (index >> 2) - 4 * (index & 3);
  return bytes >= 4 ? -1 : bytes <= 0 ? 0 : (1 << (8 * bytes)) - 1;
});
const LEAST_SLOTS = 1 << 10;

/**
 * Distinct values by the first row that holds each: an open hash table, at most half full. It keeps the first
 * 16 bytes of every value as words; most values need no other comparison.
 */
export class ValueSet {
  itemCount = 0;
  /** Four words of the beginning of each value, its length, its first row and its hash. */
  private keys = new Int32Array(2 * LEAST_SLOTS);
  private lengths = new Int32Array(LEAST_SLOTS / 2);
  private rows = new Int32Array(LEAST_SLOTS / 2);
  private hashes = new Int32Array(LEAST_SLOTS / 2);
  /** Number of a value plus 1, by slot; 0 for none. */
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
   * Numbers the values of `rows`, or of all rows if that is null. A null value gets the number of the value
   * before it. Returns false as soon as there is one distinct value too many.
   * @param start number of rows that earlier calls numbered; `end` of those after this call
   */
  number(
    rows: Int32Array | null,
    definition: Uint16Array | null,
    numbers: Uint32Array,
    start = 0,
    end = numbers.length,
  ): boolean {
    const offsets = this.offsets;
    const view = this.view;
    const limit = this.limit;
    const byteLength = view.byteLength;
    let { keys, lengths, slots } = this;
    let shift = 32 - Math.log2(slots.length);
    let mask = slots.length - 1;
    let number = start === 0 ? 0 : numbers[start - 1];
    for (let index = start; index < end; index++) {
      const row = rows === null ? index : rows[index];
      if (definition !== null && definition[row] !== 0) {
        numbers[index] = number;
        continue;
      }
      const begin = offsets[row];
      const length = offsets[row + 1] - begin;
      let word0: number;
      let word1: number;
      let word2: number;
      let word3: number;
      if (begin + KEY_BYTES <= byteLength) {
        const masks = 4 * Math.min(length, KEY_BYTES);
        word0 = view.getInt32(begin, true) & KEY_MASKS[masks];
        word1 = view.getInt32(begin + 4, true) & KEY_MASKS[masks + 1];
        word2 = view.getInt32(begin + 8, true) & KEY_MASKS[masks + 2];
        word3 = view.getInt32(begin + 12, true) & KEY_MASKS[masks + 3];
      } else {
        word0 = this.wordAt(begin, begin + length);
        word1 = this.wordAt(begin + 4, begin + length);
        word2 = this.wordAt(begin + 8, begin + length);
        word3 = this.wordAt(begin + 12, begin + length);
      }
      let hash =
        Math.imul(word0, 0x9e3779b1) ^
        Math.imul(word1, 0x85ebca6b) ^
        Math.imul(word2, 0xc2b2ae35) ^
        Math.imul(word3, 0x27d4eb2f) ^
        length;
      if (length > KEY_BYTES) hash = this.hashRest(hash, begin + KEY_BYTES, begin + length);
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
        if (different === 0 && (length <= KEY_BYTES || this.sameRest(number, begin, length))) break;
      }
      numbers[index] = number;
    }
    return true;
  }

  /** Reads four bytes at `offset`, with zeros from `end` on. */
  private wordAt(offset: number, end: number): number {
    let word = 0;
    for (let byte = 0; byte < 4 && offset + byte < end; byte++)
      word |= this.bytes[offset + byte] << (8 * byte);
    return word;
  }

  private hashRest(seed: number, start: number, end: number): number {
    const view = this.view;
    const bytes = this.bytes;
    let hash = seed;
    let offset = start;
    for (; offset + 4 <= end; offset += 4) {
      hash = Math.imul(hash ^ view.getInt32(offset, true), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    for (; offset < end; offset++) hash = Math.imul(hash ^ bytes[offset], 0x01000193);
    return hash;
  }

  /** True if value `number` equals the `length` bytes at `start`, beyond those already compared. */
  private sameRest(number: number, start: number, length: number): boolean {
    const view = this.view;
    const bytes = this.bytes;
    let otherOffset = this.offsets[this.rows[number]] + KEY_BYTES;
    let offset = start + KEY_BYTES;
    const end = start + length;
    for (; offset + 4 <= end; offset += 4, otherOffset += 4) {
      if (view.getInt32(offset, true) !== view.getInt32(otherOffset, true)) return false;
    }
    for (; offset < end; offset++, otherOffset++) if (bytes[offset] !== bytes[otherOffset]) return false;
    return true;
  }

  /** Makes room for four times as many values. */
  private grow(): void {
    const slotCount = 4 * this.slots.length;
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
