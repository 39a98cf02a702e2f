/** The best of many rows by their scores; rows of equal scores in the order of their addresses. */

import type { FixedColumn } from "../../arrow/columns/column.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { goThrough } from "../../async/eventLoop.js";
import { valueTypeOfField } from "../../expression/values/types.js";
import { FLOAT32_TYPE, UINT64_TYPE } from "../../indexes/indexFile.js";
import { orderOfRows } from "../order/orderOfRows.js";
import { sortKeys } from "../order/sortKeys.js";

const WORD = 2 ** 32;
const FIRST_ROWS = 1024;

/** Rows in the order of their scores, the best first. */
export interface RankedRows {
  /** The fragment's id times 2^32, and the physical row. */
  readonly addresses: FixedColumn;
  readonly scores: FixedColumn;
  readonly rowCount: number;
}

const orderOf = (type: typeof FLOAT32_TYPE, ascending: boolean) => ({
  type: valueTypeOfField({ name: "", type, children: [] }),
  ascending,
  nullsFirst: false,
});

/** Keeps the best rows: a heap with the worst of them on top, once there are as many as wanted. */
export class TopScores {
  readonly #most: number;
  #addresses = new Float64Array(FIRST_ROWS);
  #scores = new Float32Array(FIRST_ROWS);
  #count = 0;

  /** @param most rows that are kept; may be Infinity */
  constructor(most: number) {
    this.#most = most;
  }

  /** Rows with a lower score are not kept. */
  get threshold(): number {
    return this.#count < this.#most ? Number.NEGATIVE_INFINITY : this.#scores[0];
  }

  get count(): number {
    return this.#count;
  }

  add(address: number, given: number): void {
    const score = Math.fround(given);
    if (this.#count < this.#most) {
      this.#append(address, score);
      if (this.#count === this.#most) {
        for (let at = (this.#count >>> 1) - 1; at >= 0; at--) this.#sink(at);
      }
      return;
    }
    if (this.#most === 0 || !this.#isBefore(score, address, 0)) return;
    this.#scores[0] = score;
    this.#addresses[0] = address;
    this.#sink(0);
  }

  #append(address: number, score: number): void {
    if (this.#count === this.#scores.length) {
      const addresses = new Float64Array(2 * this.#count);
      const scores = new Float32Array(2 * this.#count);
      addresses.set(this.#addresses);
      scores.set(this.#scores);
      this.#addresses = addresses;
      this.#scores = scores;
    }
    this.#addresses[this.#count] = address;
    this.#scores[this.#count++] = score;
  }

  /** Whether a row comes before one that is kept. */
  #isBefore(score: number, address: number, place: number): boolean {
    const other = this.#scores[place];
    return score > other || (score === other && address < this.#addresses[place]);
  }

  #sink(from: number): void {
    const address = this.#addresses[from];
    const score = this.#scores[from];
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#count) break;
      const next = child + 1;
      if (next < this.#count && this.#isBefore(this.#scores[child], this.#addresses[child], next))
        child = next;
      if (!this.#isBefore(score, address, child)) break;
      this.#scores[at] = this.#scores[child];
      this.#addresses[at] = this.#addresses[child];
      at = child;
    }
    this.#scores[at] = score;
    this.#addresses[at] = address;
  }

  /** The rows that are kept, sorted. */
  async ranked(): Promise<RankedRows> {
    const count = this.#count;
    const words = new Uint32Array(2 * count);
    for (let row = 0; row < count; row++) {
      words[2 * row] = this.#addresses[row] % WORD;
      words[2 * row + 1] = Math.floor(this.#addresses[row] / WORD);
    }
    const scores = fixedColumn(this.#scores.subarray(0, count));
    const addresses = fixedColumn(words, 8);
    if (count === 0) return { addresses, scores, rowCount: 0 };
    const orders = [orderOf(FLOAT32_TYPE, false), orderOf(UINT64_TYPE, true)];
    const order = await goThrough(orderOfRows(sortKeys(orders, [scores, addresses], count)));
    return {
      addresses: takeColumn(addresses, order) as FixedColumn,
      scores: takeColumn(scores, order) as FixedColumn,
      rowCount: count,
    };
  }
}

function fixedColumn(values: Float32Array | Uint32Array, byteWidth = 4): FixedColumn {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return { kind: "fixed", length: bytes.length / byteWidth, validity: null, byteWidth, values: bytes };
}

/** Some of the rows. */
export const slicedRows = ({ addresses, scores }: RankedRows, start: number, count: number): RankedRows => ({
  addresses: sliceColumn(addresses, start, count) as FixedColumn,
  scores: sliceColumn(scores, start, count) as FixedColumn,
  rowCount: count,
});

/** Some of the rows. @param rows their places, ascending */
export const takenRows = ({ addresses, scores }: RankedRows, rows: Uint32Array): RankedRows => ({
  addresses: takeColumn(addresses, rows) as FixedColumn,
  scores: takeColumn(scores, rows) as FixedColumn,
  rowCount: rows.length,
});
