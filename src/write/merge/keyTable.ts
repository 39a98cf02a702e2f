/**
 * Table of source rows by key, for lookups by target rows: an open hash table, at most half full. Rows with
 * equal keys form a chain. It takes the memory of the keys and at most 26 bytes a row, without an object per
 * row.
 */

import { isSet } from "../../arrow/columns/validity.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { HashBits } from "../../expression/kernels/integerSet.js";
import { type KeyColumn, rowsWithKey } from "../../query/compare/keyColumns.js";
import { type SameKey, sameKey } from "./keyHashes.js";

/** Marks the end of a chain, or a missing row. */
export const NO_ROW = -1;

/** Rows added before the thread yields. */
const STEP_ROWS = 16_384;

/** Slots use the lowest bits of a hash, passes over the keys the highest. */
const tagOf = (hash: number): number => ((hash >>> 21) & 0x7f) + 1;

export class KeyTable {
  readonly #columns: readonly KeyColumn[];
  readonly #hashes: Int32Array;
  /** By slot: the first row of a chain plus 1, or 0 for none. */
  readonly #slots: Int32Array;
  /** By slot: some bits of its hash, or 0. They settle most lookups, and stay in the processor's cache. */
  readonly #tags: Uint8Array;
  /** Filter of the hashes; few of its bits are set, so a processor predicts that it rejects a row. */
  readonly #hashFilter: HashBits;
  /** By row: the next row of its chain. Null if all keys are distinct. */
  #next: Int32Array | null = null;

  private constructor(columns: readonly KeyColumn[], hashes: Int32Array) {
    this.#columns = columns;
    this.#hashes = hashes;
    this.#slots = new Int32Array(2 ** Math.max(4, Math.ceil(Math.log2(2 * hashes.length + 1))));
    this.#tags = new Uint8Array(this.#slots.length);
    this.#hashFilter = new HashBits(hashes.length);
  }

  /**
   * @param columns of the rows; none of their keys has a null
   * @param hashes of the rows (`hashKeys`)
   */
  static async of(columns: readonly KeyColumn[], hashes: Int32Array): Promise<KeyTable> {
    await yieldToEventLoop();
    const table = new KeyTable(columns, hashes);
    await yieldToEventLoop();
    const same = sameKey(columns, columns);
    for (let row = 0; row < hashes.length; row += STEP_ROWS) {
      table.#add(row, Math.min(hashes.length, row + STEP_ROWS), same);
      await yieldToEventLoop();
    }
    return table;
  }

  #add(firstRow: number, endRow: number, same: SameKey): void {
    const slots = this.#slots;
    const hashes = this.#hashes;
    const mask = slots.length - 1;
    for (let row = firstRow; row < endRow; row++) {
      const hash = hashes[row];
      let slot = hash & mask;
      for (;;) {
        const first = slots[slot] - 1;
        if (first === NO_ROW) {
          slots[slot] = row + 1;
          this.#tags[slot] = tagOf(hash);
          this.#hashFilter.add(hash);
          break;
        }
        if (hashes[first] === hash && same(first, row)) {
          this.#next ??= new Int32Array(hashes.length).fill(NO_ROW);
          this.#next[row] = this.#next[first];
          this.#next[first] = row;
          break;
        }
        slot = (slot + 1) & mask;
      }
    }
  }

  /**
   * Returns, for each row, the first row of the chain with its key; {@link NO_ROW} if there is none.
   * @param hashes of the rows, with the seed of the table's hashes
   */
  find(columns: readonly KeyColumn[], hashes: Int32Array): Int32Array {
    const slots = this.#slots;
    const tags = this.#tags;
    const ownHashes = this.#hashes;
    const mask = slots.length - 1;
    const same = sameKey(this.#columns, columns);
    const valid = rowsWithKey(columns, hashes.length);
    const firstRows = new Int32Array(hashes.length).fill(NO_ROW);
    const { words, shift } = this.#hashFilter;
    for (let row = 0; row < hashes.length; row++) {
      const hash = hashes[row];
      const bit = hash >>> shift;
      if (((words[bit >>> 5] >>> (bit & 31)) & 1) === 0 || (valid !== null && !isSet(valid, row))) continue;
      const keyTag = tagOf(hash);
      let slot = hash & mask;
      for (let tag = tags[slot]; tag !== 0; slot = (slot + 1) & mask, tag = tags[slot]) {
        if (tag !== keyTag) continue;
        const first = slots[slot] - 1;
        if (ownHashes[first] !== hash || !same(first, row)) continue;
        firstRows[row] = first;
        break;
      }
    }
    return firstRows;
  }

  /** Returns the next row with the same key, or {@link NO_ROW}. */
  next(row: number): number {
    return this.#next === null ? NO_ROW : this.#next[row];
  }
}
