/**
 * Numbers distinct values in order of first occurrence: an open hash table over the bytes of values, at most
 * half full. It copies each value, so that callers can drop the columns.
 */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { isSet } from "../../arrow/columns/validity.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { enlarged } from "../../bytes/growing.js";
import { HASH_PRIME } from "../../bytes/hash.js";
import { InternalError } from "../../errors.js";
import { bitAt, byteOffsets } from "../valueOrder.js";

const LEAST_SLOTS = 1024;
const LEAST_BYTES = 16_384;

/** Bytes of values. */
interface ValueBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Byte offsets by row; null for values of one width. */
  readonly offsets: Int32Array | Float64Array | null;
  readonly byteWidth: number;
  /** Row whose value begins at byte 0. */
  readonly firstRow: number;
}

export class ValueNumbers {
  #count = 0;
  /** Number of the value plus 1, 0 if the slot is free. */
  #slots = new Int32Array(LEAST_SLOTS);
  /** Hash by number. */
  #hashes = new Int32Array(LEAST_SLOTS / 2);
  /** End offset of each value's bytes; the first value begins at 0. */
  #ends = new Uint32Array(LEAST_SLOTS / 2);
  #bytes = new Uint8Array(LEAST_BYTES);

  /** Number of distinct values. */
  get count(): number {
    return this.#count;
  }

  /** Returns the numbers of the values in rows `[start, end)`; that of a null has no meaning. */
  of(column: Column, start: number, end: number): Uint32Array {
    if (column.kind === "fixed" && column.byteWidth === 4) return this.#ofWords(column, start, end);
    const values = valueBytes(column, start, end);
    const { offsets, byteWidth, firstRow } = values;
    const { validity } = column;
    const numbers = new Uint32Array(end - start);
    for (let row = start; row < end; row++) {
      if (validity !== null && !isSet(validity, row)) continue;
      const first = offsets === null ? (row - firstRow) * byteWidth : offsets[row];
      const last = offsets === null ? first + byteWidth : offsets[row + 1];
      numbers[row - start] = this.#number(values, first, last);
    }
    return numbers;
  }

  /** Numbers values of 4 bytes, whose hashes are distinct and so stand for the values. */
  #ofWords({ values, validity }: FixedColumn, start: number, end: number): Uint32Array {
    const { buffer, byteOffset } = alignedBytes(values, 4);
    const words = new Int32Array(buffer, byteOffset, values.length >>> 2);
    const numbers = new Uint32Array(end - start);
    for (let row = start; row < end; row++) {
      if (validity !== null && !isSet(validity, row)) continue;
      const hash = withWord(4, words[row]);
      const mask = this.#slots.length - 1;
      let slot = hash & mask;
      let number = this.#slots[slot] - 1;
      while (number >= 0 && this.#hashes[number] !== hash) {
        slot = (slot + 1) & mask;
        number = this.#slots[slot] - 1;
      }
      numbers[row - start] = number >= 0 ? number : this.#add(values, 4 * row, 4 * row + 4, hash, slot);
    }
    return numbers;
  }

  #number(values: ValueBytes, start: number, end: number): number {
    const hash = hashOf(values, start, end);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot] - 1;
      if (number < 0) return this.#add(values.bytes, start, end, hash, slot);
      if (this.#hashes[number] === hash && this.#isSame(number, values.bytes, start, end)) return number;
    }
  }

  #isSame(number: number, bytes: Uint8Array, start: number, end: number): boolean {
    const first = number === 0 ? 0 : this.#ends[number - 1];
    const length = end - start;
    if (this.#ends[number] - first !== length) return false;
    for (let offset = 0; offset < length; offset++)
      if (this.#bytes[first + offset] !== bytes[start + offset]) return false;
    return true;
  }

  #add(bytes: Uint8Array, start: number, end: number, hash: number, slot: number): number {
    const number = this.#count++;
    const first = number === 0 ? 0 : this.#ends[number - 1];
    const last = first + end - start;
    if (last > this.#bytes.length) this.#bytes = enlarged(this.#bytes, last);
    this.#bytes.set(bytes.subarray(start, end), first);
    this.#ends[number] = last;
    this.#hashes[number] = hash;
    this.#slots[slot] = number + 1;
    if (2 * this.#count === this.#slots.length) this.#grow();
    return number;
  }

  #grow(): void {
    const slots = new Int32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    for (let number = 0; number < this.#count; number++) {
      let slot = this.#hashes[number] & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
    this.#hashes = enlarged(this.#hashes, slots.length / 2);
    this.#ends = enlarged(this.#ends, slots.length / 2);
  }
}

function withWord(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, HASH_PRIME);
  return mixed ^ (mixed >>> 15);
}

function hashOf({ bytes, view }: ValueBytes, start: number, end: number): number {
  let hash = end - start;
  let offset = start;
  for (; offset + 4 <= end; offset += 4) hash = withWord(hash, view.getInt32(offset, true));
  for (; offset < end; offset++) hash = withWord(hash, bytes[offset]);
  return hash;
}

const bytesWith = (bytes: Uint8Array, rest: Omit<ValueBytes, "bytes" | "view">): ValueBytes => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  ...rest,
});

function valueBytes(column: Column, start: number, end: number): ValueBytes {
  switch (column.kind) {
    case "fixed":
      return bytesWith(column.values, { offsets: null, byteWidth: column.byteWidth, firstRow: 0 });
    case "variable":
      return bytesWith(column.bytes, { offsets: byteOffsets(column.offsets), byteWidth: 0, firstRow: 0 });
    case "bits": {
      const { bits, bitOffset } = column;
      const first = bitOffset + start;
      const bytes = Uint8Array.from({ length: end - start }, (_, index) => bitAt(bits, first + index));
      return bytesWith(bytes, { offsets: null, byteWidth: 1, firstRow: start });
    }
    default:
      throw new InternalError(`values of a column of kind ${column.kind} have no numbers`);
  }
}
