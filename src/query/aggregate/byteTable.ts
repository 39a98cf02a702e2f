/**
 * Numbers texts and other bytes in the order in which they first come. A slot of the hash table has the hash
 * of a value and its number plus 1; 0 in place of the number means a free slot. The values lie one after
 * another.
 */

import type { Column } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import { HASH_PRIME } from "../../bytes/hash.js";
import type { ByteLane } from "../../expression/values/operands.js";
import { byteWidthOf, type ValueType } from "../../expression/values/types.js";
import { roomFor } from "./accumulator.js";
import { type KeyLookup, MISSING } from "./wordTable.js";

const FIRST_SLOTS = 2 ** 10;
/** Rows and bytes that one step hashes, and slots that one step moves. */
const STEP_ROWS = 2 ** 14;
const STEP_BYTES = 2 ** 21;
const SEED = Math.floor(Math.random() * 2 ** 32) | 0;

/** Returns a signed hash of 32 bits. */
export function hashOfBytes(seed: number, bytes: Uint8Array, start: number, end: number): number {
  let hash = seed ^ (end - start);
  let offset = start;
  for (; offset + 4 <= end; offset += 4) {
    const word =
      bytes[offset] | (bytes[offset + 1] << 8) | (bytes[offset + 2] << 16) | (bytes[offset + 3] << 24);
    hash = Math.imul(hash ^ word, HASH_PRIME);
    hash ^= hash >>> 15;
  }
  for (; offset < end; offset++) hash = Math.imul(hash ^ bytes[offset], HASH_PRIME);
  hash ^= hash >>> 15;
  return Math.imul(hash, HASH_PRIME);
}

export class ByteTable {
  /** Number of values. */
  count = 0;
  #slots = new Int32Array(2 * FIRST_SLOTS);
  #bytes = new Uint8Array(2 ** 12);
  /** Start of each value in the bytes, then the end of the last one. */
  #starts = new Float64Array(2 ** 8);

  get byteLength(): number {
    return this.#slots.byteLength + this.#bytes.byteLength + this.#starts.byteLength;
  }

  /** Finds the number of each value, as {@link WordTable.find} does. */
  *find(lane: ByteLane, rowCount: number, lookup: KeyLookup): Steps<void> {
    for (let row = 0; row < rowCount; ) {
      const end = Math.min(row + STEP_ROWS, rowCount);
      row = this.#find(lane, row, end, lookup);
      if (2 * this.count >= this.#slots.length / 2) yield* this.#grow();
      // The next value may be too long for the room that is left.
      if (row < rowCount && !lookup.isFrozen)
        yield* this.#makeRoom(lane.offsets[row + 1] - lane.offsets[row]);
      yield;
    }
  }

  /** Returns the row at which it stopped, because a step has enough bytes or the table is full; or `end`. */
  #find(
    { bytes, offsets }: ByteLane,
    first: number,
    last: number,
    { numbers, isFrozen, skipped }: KeyLookup,
  ): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let left = STEP_BYTES;
    for (let row = first; row < last; row++) {
      if (left < 0) return row;
      if (skipped !== null && skipped[row] !== 0) continue;
      const start = offsets[row];
      const end = offsets[row + 1];
      left -= end - start;
      const hash = hashOfBytes(SEED, bytes, start, end);
      let slot = (hash << 1) & mask;
      while (slots[slot + 1] !== 0) {
        if (slots[slot] === hash && this.#isEqual(slots[slot + 1] - 1, bytes, start, end)) break;
        slot = (slot + 2) & mask;
      }
      if (slots[slot + 1] === 0) {
        if (isFrozen) {
          numbers[row] = MISSING;
          continue;
        }
        if (2 * this.count >= slots.length / 2 || !this.#hasRoom(end - start)) return row;
        this.#append(bytes, start, end);
        slots[slot] = hash;
        slots[slot + 1] = this.count;
      }
      numbers[row] = slots[slot + 1] - 1;
    }
    return last;
  }

  #isEqual(number: number, bytes: Uint8Array, start: number, end: number): boolean {
    let offset = this.#starts[number];
    if (this.#starts[number + 1] - offset !== end - start) return false;
    const kept = this.#bytes;
    for (let index = start; index < end; index++) if (kept[offset++] !== bytes[index]) return false;
    return true;
  }

  #append(bytes: Uint8Array, start: number, end: number): void {
    const from = this.#starts[this.count];
    if (end - start < 32) {
      for (let index = start, offset = from; index < end; index++) this.#bytes[offset++] = bytes[index];
    } else this.#bytes.set(bytes.subarray(start, end), from);
    this.#starts[++this.count] = from + end - start;
  }

  #hasRoom(length: number): boolean {
    const used = this.#starts[this.count];
    return used + length <= this.#bytes.length && this.count + 1 < this.#starts.length;
  }

  *#makeRoom(length: number): Steps<void> {
    if (this.#hasRoom(length)) return;
    this.#bytes = yield* roomFor(this.#bytes, this.#starts[this.count] + length);
    this.#starts = yield* roomFor(this.#starts, this.count + 2);
  }

  *#grow(): Steps<void> {
    const earlier = this.#slots;
    const slots = new Int32Array(2 * earlier.length);
    const mask = slots.length - 1;
    for (let start = 0; start < earlier.length; start += 2 * STEP_ROWS) {
      const end = Math.min(start + 2 * STEP_ROWS, earlier.length);
      for (let index = start; index < end; index += 2) {
        if (earlier[index + 1] === 0) continue;
        let slot = (earlier[index] << 1) & mask;
        while (slots[slot + 1] !== 0) slot = (slot + 2) & mask;
        slots[slot] = earlier[index];
        slots[slot + 1] = earlier[index + 1];
      }
      yield;
    }
    this.#slots = slots;
  }

  /** Returns values of a type by their numbers. A number that is MISSING gives an empty value. */
  column(numbers: Uint32Array, type: ValueType): Column {
    const { length } = numbers;
    const byteWidth = byteWidthOf(type);
    const offsets = new Float64Array(length + 1);
    for (let index = 0; index < length; index++) {
      offsets[index + 1] = offsets[index] + (byteWidth > 0 ? byteWidth : this.#lengthOf(numbers[index]));
    }
    const bytes = new Uint8Array(offsets[length]);
    for (let index = 0; index < length; index++) {
      const number = numbers[index];
      if (number === MISSING) continue;
      const start = this.#starts[number];
      const end = this.#starts[number + 1];
      let to = offsets[index];
      if (end - start < 32) for (let from = start; from < end; from++) bytes[to++] = this.#bytes[from];
      else bytes.set(this.#bytes.subarray(start, end), to);
    }
    if (byteWidth > 0) return { kind: "fixed", length, validity: null, byteWidth, values: bytes };
    return { kind: "variable", length, validity: null, offsets: offsetsOf(offsets, type), bytes };
  }

  #lengthOf(number: number): number {
    return number === MISSING ? 0 : this.#starts[number + 1] - this.#starts[number];
  }
}

/** Returns offsets in the form that a type of texts or bytes has. */
export const offsetsOf = (offsets: Float64Array, type: ValueType): Int32Array | BigInt64Array =>
  "large" in type && type.large ? BigInt64Array.from(offsets, BigInt) : Int32Array.from(offsets);
