/**
 * Collects the rows with the smallest distances; equal distances are ordered by address. A row offered twice
 * with one distance counts once, since Lance 10 keeps two codes of an updated row in an index. Rows beyond
 * the farthest wanted row are dropped. The others accumulate to twice the wanted number, then are sorted and
 * cut.
 */

import { enlarged } from "../../../bytes/growing.js";
import { Beam } from "./nearestFirst.js";

/** Minimum number of rows before a cut, so that small searches soon know their farthest row. */
const MIN_KEPT_ROWS = 64;
/** Initial capacity. */
const FIRST_ROWS = 2048;
/** Bound of positions, which sort keys combine with distance bits. */
const MAX_POSITIONS = 2 ** 20;
/** Maximum count for an insertion sort. */
const MOST_INSERTED = 128;
/** Maximum number of wanted rows, so that twice as many have positions. */
export const MAX_NEAREST = MAX_POSITIONS / 2;

/** Rows in order. */
export interface NearestRowList {
  readonly distances: Float32Array;
  /** Pairs of words: row offset, fragment id. */
  readonly addresses: Uint32Array;
}

/** Returns the positions of the numbers in ascending order, stable. None may be NaN. */
function ascending(numbers: Float32Array): Uint32Array {
  const positions = new Uint32Array(numbers.length);
  if (numbers.length > MAX_POSITIONS) {
    for (let position = 0; position < positions.length; position++) positions[position] = position;
    return positions.sort((a, b) => numbers[a] - numbers[b] || a - b);
  }
  // Keys of distance bits and position sort many times faster than a comparison function.
  const bits = new Int32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  const keys = new Float64Array(bits.length);
  for (let slot = 0; slot < bits.length; slot++) {
    const order = bits[slot] < 0 ? ~bits[slot] >>> 0 : (bits[slot] | 0x8000_0000) >>> 0;
    keys[slot] = order * MAX_POSITIONS + slot;
  }
  keys.sort();
  for (let index = 0; index < keys.length; index++) positions[index] = keys[index] % MAX_POSITIONS;
  return positions;
}

/** Returns the positions of the smallest `most` numbers in ascending order. */
export function firstAscending(numbers: Float32Array, most: number): Uint32Array {
  if (most > MOST_INSERTED || 4 * most > numbers.length) return ascending(numbers).subarray(0, most);
  const first = new Beam(most);
  for (let position = 0; position < numbers.length; position++) {
    if (numbers[position] < first.bound) first.add(numbers[position], position);
  }
  // The bound excludes infinities.
  return first.length < most ? ascending(numbers).subarray(0, most) : first.rows;
}

export class NearestRows {
  readonly #mostKept: number;
  #distances: Float32Array;
  #addresses: Uint32Array;
  #keptRows = 0;
  #farthest = Number.POSITIVE_INFINITY;

  /** @param count number of wanted rows, from 1 to {@link MAX_NEAREST} */
  constructor(private readonly count: number) {
    this.#mostKept = Math.max(MIN_KEPT_ROWS, 2 * count);
    const first = Math.min(this.#mostKept, FIRST_ROWS);
    this.#distances = new Float32Array(first);
    this.#addresses = new Uint32Array(2 * first);
  }

  /** Rows beyond this distance are not wanted. */
  get farthest(): number {
    return this.#farthest;
  }

  /** Offers a row. @param distance not NaN */
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

  /** Updates {@link farthest} from all rows offered so far. */
  updateFarthest(): void {
    if (this.#keptRows > this.count) this.#cut();
  }

  /** Sorts the rows and keeps the first. */
  #cut(): void {
    if (!this.#isAscending()) {
      const { distances, addresses } = this.#sorted();
      this.#distances.set(distances);
      this.#addresses.set(addresses);
      this.#keptRows = distances.length;
    }
    this.#keptRows = Math.min(this.count, this.#keptRows);
    if (this.#keptRows === this.count) this.#farthest = this.#distances[this.count - 1];
  }

  /** True if each row is farther than the one before, as rows of a graph search are. */
  #isAscending(): boolean {
    for (let row = 1; row < this.#keptRows; row++)
      if (!(this.#distances[row - 1] < this.#distances[row])) return false;
    return true;
  }

  #sorted(): NearestRowList {
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
    const positions = sorted.subarray(0, rowCount);
    const distances = new Float32Array(rowCount);
    const addresses = new Uint32Array(2 * rowCount);
    for (const [row, position] of positions.entries()) {
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

  /** Returns the wanted rows in order. */
  finish(): NearestRowList {
    this.#cut();
    const count = this.#keptRows;
    return {
      distances: this.#distances.slice(0, count),
      addresses: this.#addresses.slice(0, 2 * count),
    };
  }
}
