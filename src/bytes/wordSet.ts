/** Distinct values, each a multiple of 4 bytes wide, by the first row that holds it: an open hash table. */

import { alignedBytes } from "./aligned.js";

export class WordSet {
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
