/** Collects the rows with the best scores; equal scores are ordered by address. */

import type { FixedColumn } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { runAsync } from "../../async/eventLoop.js";
import { enlarged } from "../../bytes/growing.js";
import { valueTypeOfField } from "../../expression/values/types.js";
import { FLOAT32_TYPE, UINT64_TYPE } from "../../indexes/indexColumns.js";
import { addressAt, addressColumn, addressWords } from "../columns/rowAddresses.js";
import { orderOfRows } from "../order/orderOfRows.js";
import { sortKeys } from "../order/sortKeys.js";

const FIRST_ROWS = 64;
/** Minimum spare capacity. */
const LEAST_MORE = 8;
/** Maximum number of rows of an in-memory sort. */
const FEW_ROWS = 2 ** 14;

/** Rows by descending score. */
export interface RankedRows {
  readonly addresses: FixedColumn;
  readonly scores: FixedColumn;
  readonly rowCount: number;
}

const orderOf = (type: typeof FLOAT32_TYPE, ascending: boolean) => ({
  type: valueTypeOfField({ name: "", type, children: [] }),
  ascending,
  nullsFirst: false,
});

/** Keeps the best rows: at twice the wanted number, drops the worse half. Constant cost per row. */
export class TopScores {
  readonly #most: number;
  readonly #room: number;
  #addresses = new Float64Array(FIRST_ROWS);
  #scores = new Float32Array(FIRST_ROWS);
  #count = 0;
  /** Score and address of the last kept row, once enough rows are kept. */
  #lowest = Number.NEGATIVE_INFINITY;
  #lastAddress = Number.POSITIVE_INFINITY;
  #threshold = Number.NEGATIVE_INFINITY;

  /** @param most maximum number of rows; may be Infinity */
  constructor(most: number) {
    this.#most = most;
    this.#room = most + Math.max(most, LEAST_MORE);
    if (most === 0) this.#threshold = Number.POSITIVE_INFINITY;
  }

  get wanted(): number {
    return this.#most;
  }

  /** Minimum score of rows to keep; a row that rounds up to the lowest kept score may be kept too. */
  get threshold(): number {
    return this.#threshold;
  }

  /** True if the row would be among the best so far. */
  takes(address: number, score: number): boolean {
    return this.#isKept(address, Math.fround(score));
  }

  #isKept(address: number, score: number): boolean {
    if (score < this.#lowest || this.#most === 0) return false;
    return score !== this.#lowest || address < this.#lastAddress;
  }

  add(address: number, exactScore: number): void {
    const score = Math.fround(exactScore);
    if (!this.#isKept(address, score)) return;
    this.#append(address, score);
    if (this.#count === this.#most || this.#count === this.#room) this.#dropWorst();
  }

  /** Drops all but the best rows, once enough are kept. */
  #dropWorst(): void {
    if (this.#count < this.#most || this.#most === 0) return;
    this.#select(this.#most - 1);
    this.#count = this.#most;
    this.#lastAddress = this.#addresses[this.#most - 1];
    const lowest = this.#scores[this.#most - 1];
    if (lowest === this.#lowest) return;
    this.#lowest = lowest;
    this.#threshold = leastRoundedTo(lowest);
  }

  #append(address: number, score: number): void {
    if (this.#count === this.#scores.length) {
      this.#addresses = enlarged(this.#addresses);
      this.#scores = enlarged(this.#scores);
    }
    this.#addresses[this.#count] = address;
    this.#scores[this.#count++] = score;
  }

  /** True if the first row ranks before the second. */
  #isBefore(score: number, address: number, otherScore: number, otherAddress: number): boolean {
    return score > otherScore || (score === otherScore && address < otherAddress);
  }

  /** Quickselect: moves the row of rank `position` there, better rows before it, and the others after it. */
  #select(position: number): void {
    let low = 0;
    let high = this.#count - 1;
    while (low < high) {
      // A random pivot avoids quadratic orders.
      this.#swap(low, low + Math.floor(Math.random() * (high - low + 1)));
      const score = this.#scores[low];
      const address = this.#addresses[low];
      let left = low;
      let right = high + 1;
      for (;;) {
        do left++;
        while (left < high && this.#isBefore(this.#scores[left], this.#addresses[left], score, address));
        do right--;
        while (this.#isBefore(score, address, this.#scores[right], this.#addresses[right]));
        if (left >= right) break;
        this.#swap(left, right);
      }
      this.#swap(low, right);
      if (right === position) return;
      if (right < position) low = right + 1;
      else high = right - 1;
    }
  }

  #swap(a: number, b: number): void {
    const score = this.#scores[a];
    const address = this.#addresses[a];
    this.#scores[a] = this.#scores[b];
    this.#addresses[a] = this.#addresses[b];
    this.#scores[b] = score;
    this.#addresses[b] = address;
  }

  /** Sorts float64 keys, which need no comparison function. */
  #sortFew(): void {
    const count = this.#count;
    const scores = this.#scores.slice(0, count);
    const addresses = this.#addresses.slice(0, count);
    // A key combines the bits of the score with the row below them, so that keys order like scores.
    const keys = new Float64Array(count);
    const words = new Uint32Array(keys.buffer);
    const bits = new Uint32Array(scores.buffer);
    for (let row = 0; row < count; row++) {
      words[2 * row] = row;
      words[2 * row + 1] = bits[row];
    }
    keys.sort();
    for (let position = 0; position < count; position++) {
      const row = words[2 * (count - 1 - position)];
      this.#scores[position] = scores[row];
      this.#addresses[position] = addresses[row];
    }
    for (let start = 0, end = 0; start < count; start = end) {
      while (end < count && this.#scores[end] === this.#scores[start]) end++;
      if (end === start) end++;
      else this.#addresses.subarray(start, end).sort();
    }
  }

  /** True if all added rows are kept. */
  get areAll(): boolean {
    return this.#count < this.#most;
  }

  /** Adds ranked rows. @param rows their indices, ascending */
  addFrom({ addresses, scores }: RankedRows, rows: Iterable<number>): void {
    const words = addressWords(addresses);
    const { buffer, byteOffset } = scores.values;
    const values = new Float32Array(buffer, byteOffset, scores.length);
    for (const row of rows) this.add(addressAt(words, row), values[row]);
  }

  /** Returns the kept rows in any order. */
  unranked(): RankedRows {
    this.#dropWorst();
    const count = this.#count;
    const scores = numbersColumn(this.#scores.subarray(0, count));
    return { addresses: addressColumn(this.#addresses, count), scores, rowCount: count };
  }

  /** Returns the kept rows, sorted. */
  async ranked(): Promise<RankedRows> {
    this.#dropWorst();
    const count = this.#count;
    if (count <= FEW_ROWS) this.#sortFew();
    const { addresses, scores } = this.unranked();
    if (count <= FEW_ROWS) return { addresses, scores, rowCount: count };
    const orders = [orderOf(FLOAT32_TYPE, false), orderOf(UINT64_TYPE, true)];
    const order = await runAsync(orderOfRows(sortKeys(orders, [scores, addresses], count)));
    return {
      addresses: takeColumn(addresses, order) as FixedColumn,
      scores: takeColumn(scores, order) as FixedColumn,
      rowCount: count,
    };
  }
}

const FLOAT = new Float32Array(1);
const FLOAT_BITS = new Int32Array(FLOAT.buffer);
/** Stands for infinity as the float32 after the greatest finite one. */
const BEYOND = 2 ** 128;

/** Returns the least number that rounds to this float32: the midpoint to the float32 before it. */
function leastRoundedTo(score: number): number {
  if (score === Number.NEGATIVE_INFINITY || Number.isNaN(score)) return score;
  if (score === 0) return -(2 ** -150);
  FLOAT[0] = score;
  FLOAT_BITS[0] += score > 0 ? -1 : 1;
  return (Math.max(FLOAT[0], -BEYOND) + Math.min(score, BEYOND)) / 2;
}

/** Returns a range of the rows. */
export const slicedRows = ({ addresses, scores }: RankedRows, start: number, count: number): RankedRows => ({
  addresses: sliceColumn(addresses, start, count) as FixedColumn,
  scores: sliceColumn(scores, start, count) as FixedColumn,
  rowCount: count,
});

/** Returns some of the rows. @param rows indices, ascending */
export const takenRows = ({ addresses, scores }: RankedRows, rows: Uint32Array): RankedRows => ({
  addresses: takeColumn(addresses, rows) as FixedColumn,
  scores: takeColumn(scores, rows) as FixedColumn,
  rowCount: rows.length,
});
