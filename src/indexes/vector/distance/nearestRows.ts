/**
 * The rows with the smallest distances, of all that are offered; rows of equal distance by their addresses. A row that is
 * offered twice with the same distance counts once: Lance 10 keeps two codes of an updated row in an index. Rows farther
 * away than the last of those found so far are passed over; the others are kept until there are twice as many as wanted,
 * and are sorted then.
 */

import { enlarged } from "../../../bytes/growing.js";
import { Beam } from "./nearestFirst.js";

/** Minimum rows that are kept before they are sorted: of few, the farthest is known soon, and others are passed over. */
const MIN_KEPT_ROWS = 64;
/** Rows that there is room for at first. */
const FIRST_ROWS = 2048;
/** A place among the kept rows beside the bits of a distance, in one number. */
const PLACES = 2 ** 20;
/** Numbers that are put in order as they come, at most. */
const MOST_INSERTED = 128;
/** Rows that can be wanted: twice as many have a place. */
export const MAX_NEAREST = PLACES / 2;

/** Rows in order. */
export interface FoundRows {
  readonly distances: Float32Array;
  /** Pairs of words: the physical row, and the id of the fragment. */
  readonly addresses: Uint32Array;
}

/** The places of numbers, the smallest first; of equal ones, the first. None is NaN. */
function ascending(numbers: Float32Array): Uint32Array {
  const places = new Uint32Array(numbers.length);
  if (numbers.length > PLACES) {
    for (let position = 0; position < places.length; position++) places[position] = position;
    return places.sort((a, b) => numbers[a] - numbers[b] || a - b);
  }
  // Numbers that combine the order of the distance with its place sort many times faster than a comparison function.
  const bits = new Int32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  const keys = new Float64Array(bits.length);
  for (let slot = 0; slot < bits.length; slot++) {
    const order = bits[slot] < 0 ? ~bits[slot] >>> 0 : (bits[slot] | 0x8000_0000) >>> 0;
    keys[slot] = order * PLACES + slot;
  }
  keys.sort();
  for (let index = 0; index < keys.length; index++) places[index] = keys[index] % PLACES;
  return places;
}

/** The places of the smallest numbers, so many of them, in that order. */
export function firstAscending(numbers: Float32Array, most: number): Uint32Array {
  if (most > MOST_INSERTED || 4 * most > numbers.length) return ascending(numbers).subarray(0, most);
  const first = new Beam(most);
  for (let position = 0; position < numbers.length; position++) {
    if (numbers[position] < first.bound) first.add(numbers[position], position);
  }
  // Infinities are below no bound.
  return first.length < most ? ascending(numbers).subarray(0, most) : first.rows;
}

export class NearestRows {
  readonly #count: number;
  readonly #mostKept: number;
  #distances: Float32Array;
  #addresses: Uint32Array;
  #keptRows = 0;
  #farthest = Number.POSITIVE_INFINITY;

  /** @param count number of rows that are wanted, from 1 to {@link MAX_NEAREST} */
  constructor(count: number) {
    this.#count = count;
    this.#mostKept = Math.max(MIN_KEPT_ROWS, 2 * count);
    const first = Math.min(this.#mostKept, FIRST_ROWS);
    this.#distances = new Float32Array(first);
    this.#addresses = new Uint32Array(2 * first);
  }

  /** A row that is farther away is not among those wanted. */
  get farthest(): number {
    return this.#farthest;
  }

  /** Offers a row; its distance is a number. */
  add(distance: number, low: number, high: number): void {
    if (distance > this.#farthest) return;
    if (this.#keptRows === this.#distances.length) {
      this.#distances = enlarged(this.#distances, 0, this.#mostKept);
      this.#addresses = enlarged(this.#addresses, 0, 2 * this.#mostKept);
    }
    const position = this.#keptRows++;
    this.#distances[position] = distance;
    this.#addresses[2 * position] = low;
    this.#addresses[2 * position + 1] = high;
    if (this.#keptRows === this.#mostKept) this.#cut();
  }

  /** Makes what was offered so far tell which rows are too far away. */
  settle(): void {
    if (this.#keptRows > this.#count) this.#cut();
  }

  /** Sorts what is kept, and keeps the first rows. */
  #cut(): void {
    const { distances, addresses } = this.#sorted();
    const count = Math.min(this.#count, distances.length);
    this.#distances.set(distances.subarray(0, count));
    this.#addresses.set(addresses.subarray(0, 2 * count));
    this.#keptRows = count;
    if (count === this.#count) this.#farthest = distances[count - 1];
  }

  #sorted(): FoundRows {
    const count = this.#keptRows;
    const bits = new Int32Array(this.#distances.buffer, 0, count);
    const sorted = ascending(this.#distances.subarray(0, count));
    let rowCount = 0;
    for (let start = 0; start < count; ) {
      let end = start + 1;
      while (end < count && bits[sorted[end]] === bits[sorted[start]]) end++;
      if (end - start > 1) sorted.subarray(start, end).sort((a, b) => this.#compareAddresses(a, b));
      for (let index = start; index < end; index++) {
        const isRepeated = index > start && this.#compareAddresses(sorted[rowCount - 1], sorted[index]) === 0;
        if (!isRepeated) sorted[rowCount++] = sorted[index];
      }
      start = end;
    }
    const places = sorted.subarray(0, rowCount);
    const distances = new Float32Array(rowCount);
    const addresses = new Uint32Array(2 * rowCount);
    for (const [row, position] of places.entries()) {
      distances[row] = this.#distances[position];
      addresses[2 * row] = this.#addresses[2 * position];
      addresses[2 * row + 1] = this.#addresses[2 * position + 1];
    }
    return { distances, addresses };
  }

  #compareAddresses(a: number, b: number): number {
    const addresses = this.#addresses;
    return addresses[2 * a + 1] - addresses[2 * b + 1] || addresses[2 * a] - addresses[2 * b];
  }

  /** The rows that are wanted, in order. */
  finish(): FoundRows {
    this.#cut();
    const count = this.#keptRows;
    return {
      distances: this.#distances.slice(0, count),
      addresses: this.#addresses.slice(0, 2 * count),
    };
  }
}
