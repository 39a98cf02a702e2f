/**
 * Numbers keys of one or two 32-bit words in the order in which they first come. An open hash table whose
 * slots lie in one array, so that most lookups touch one line of the processor's cache:
 *
 *     one word     [key][number + 1]
 *     two words    [low][high][number + 1][unused]
 *
 * A slot with 0 in place of the number is free. A table that grows moves its slots in steps.
 */

import type { Steps } from "../../async/eventLoop.js";

/** Number of keys that a table does not have. */
export const MISSING = 0xffff_ffff;

const FIRST_SLOTS = 2 ** 10;
/** Keys that are looked up in one step, and slots that are moved in one. */
const STEP = 2 ** 13;
/** Random odd factors: nobody can choose keys that share a slot. */
const randomFactor = (): number => Math.floor(Math.random() * 2 ** 32) | 1;

/** Keys by row. `high` is null for keys of one word. */
export interface KeyWords {
  readonly low: Int32Array;
  readonly high: Int32Array | null;
}

/** Settings of a lookup, and its result. */
export interface KeyLookup {
  /** Receives the number of each row's key. A row that is not looked up keeps the number it has here. */
  readonly numbers: Uint32Array;
  /** True: keys that the table does not have are MISSING. False: they are added. */
  readonly isFrozen: boolean;
  /** 1 for rows that are not looked up; null for none. */
  readonly skipped: Uint8Array | null;
}

export class WordTable {
  /** Number of keys. */
  count = 0;
  readonly #lowFactor = randomFactor();
  readonly #highFactor = randomFactor();
  readonly #isWide: boolean;
  #slots: Int32Array;
  #slotCount = FIRST_SLOTS;

  constructor(isWide: boolean) {
    this.#isWide = isWide;
    this.#slots = new Int32Array(FIRST_SLOTS * this.#stride);
  }

  get #stride(): number {
    return this.#isWide ? 4 : 2;
  }

  get byteLength(): number {
    return this.#slots.byteLength;
  }

  /** Finds the number of each key. */
  *find(keys: KeyWords, rowCount: number, lookup: KeyLookup): Steps<void> {
    for (let row = 0; row < rowCount; ) {
      const end = Math.min(row + STEP, rowCount);
      row = this.#isWide
        ? this.#findWide(keys, row, end, lookup)
        : this.#findNarrow(keys.low, row, end, lookup);
      // A table that is three fifths full grows before it takes more keys.
      if (row < end) yield* this.#grow();
      else if (row < rowCount) yield;
    }
  }

  get #capacity(): number {
    return Math.floor(this.#slotCount * 0.6);
  }

  /** Returns the row at which it stopped, because the table is full; or `end`. */
  #findNarrow(
    keys: Int32Array,
    start: number,
    end: number,
    { numbers, isFrozen, skipped }: KeyLookup,
  ): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const shift = Math.clz32(this.#slotCount) + 1;
    const factor = this.#lowFactor;
    const capacity = this.#capacity;
    for (let row = start; row < end; row++) {
      if (skipped !== null && skipped[row] !== 0) continue;
      const key = keys[row];
      let slot = (Math.imul(key, factor) >>> shift) << 1;
      let number = slots[slot + 1];
      while (number !== 0 && slots[slot] !== key) {
        slot = (slot + 2) & mask;
        number = slots[slot + 1];
      }
      if (number === 0) {
        if (isFrozen) {
          numbers[row] = MISSING;
          continue;
        }
        if (this.count === capacity) return row;
        number = ++this.count;
        slots[slot] = key;
        slots[slot + 1] = number;
      }
      numbers[row] = number - 1;
    }
    return end;
  }

  #findWide(
    { low, high }: KeyWords,
    start: number,
    end: number,
    { numbers, isFrozen, skipped }: KeyLookup,
  ): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const shift = Math.clz32(this.#slotCount) + 1;
    const lowFactor = this.#lowFactor;
    const highFactor = this.#highFactor;
    const capacity = this.#capacity;
    const highWords = high as Int32Array;
    for (let row = start; row < end; row++) {
      if (skipped !== null && skipped[row] !== 0) continue;
      const lowWord = low[row];
      const highWord = highWords[row];
      const mixed = Math.imul(lowWord, lowFactor) ^ Math.imul(highWord, highFactor);
      let slot = (Math.imul(mixed ^ (mixed >>> 15), lowFactor) >>> shift) << 2;
      let number = slots[slot + 2];
      while (number !== 0 && (slots[slot] !== lowWord || slots[slot + 1] !== highWord)) {
        slot = (slot + 4) & mask;
        number = slots[slot + 2];
      }
      if (number === 0) {
        if (isFrozen) {
          numbers[row] = MISSING;
          continue;
        }
        if (this.count === capacity) return row;
        number = ++this.count;
        slots[slot] = lowWord;
        slots[slot + 1] = highWord;
        slots[slot + 2] = number;
      }
      numbers[row] = number - 1;
    }
    return end;
  }

  *#grow(): Steps<void> {
    const earlier = this.#slots;
    this.#slotCount *= 2;
    const slots = new Int32Array(this.#slotCount * this.#stride);
    this.#slots = slots;
    for (let start = 0; start < earlier.length; start += STEP) {
      const end = Math.min(start + STEP, earlier.length);
      if (this.#isWide) this.#moveWide(earlier, start, end);
      else this.#moveNarrow(earlier, start, end);
      yield;
    }
  }

  #moveNarrow(earlier: Int32Array, start: number, end: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const shift = Math.clz32(this.#slotCount) + 1;
    const factor = this.#lowFactor;
    for (let index = start; index < end; index += 2) {
      if (earlier[index + 1] === 0) continue;
      let slot = (Math.imul(earlier[index], factor) >>> shift) << 1;
      while (slots[slot + 1] !== 0) slot = (slot + 2) & mask;
      slots[slot] = earlier[index];
      slots[slot + 1] = earlier[index + 1];
    }
  }

  #moveWide(earlier: Int32Array, start: number, end: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const shift = Math.clz32(this.#slotCount) + 1;
    const lowFactor = this.#lowFactor;
    const highFactor = this.#highFactor;
    for (let index = start; index < end; index += 4) {
      if (earlier[index + 2] === 0) continue;
      const mixed = Math.imul(earlier[index], lowFactor) ^ Math.imul(earlier[index + 1], highFactor);
      let slot = (Math.imul(mixed ^ (mixed >>> 15), lowFactor) >>> shift) << 2;
      while (slots[slot + 2] !== 0) slot = (slot + 4) & mask;
      slots[slot] = earlier[index];
      slots[slot + 1] = earlier[index + 1];
      slots[slot + 2] = earlier[index + 2];
    }
  }

  /** Returns the keys by their numbers. */
  *keys(): Steps<KeyWords> {
    const low = new Int32Array(this.count);
    const high = this.#isWide ? new Int32Array(this.count) : null;
    for (let start = 0; start < this.#slots.length; start += STEP) {
      const end = Math.min(start + STEP, this.#slots.length);
      if (high === null) readNarrow(this.#slots, start, end, low);
      else readWide(this.#slots, start, end, low, high);
      yield;
    }
    return { low, high };
  }
}

function readNarrow(slots: Int32Array, start: number, end: number, low: Int32Array): void {
  for (let index = start; index < end; index += 2) {
    if (slots[index + 1] !== 0) low[slots[index + 1] - 1] = slots[index];
  }
}

function readWide(slots: Int32Array, start: number, end: number, low: Int32Array, high: Int32Array): void {
  for (let index = start; index < end; index += 4) {
    const number = slots[index + 2];
    if (number === 0) continue;
    low[number - 1] = slots[index];
    high[number - 1] = slots[index + 1];
  }
}
