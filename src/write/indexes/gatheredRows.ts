/**
 * Rows of an index that wait to be sorted: their values back to back in lent memory, and their ids as runs of
 * consecutive ids.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { ColumnGatherer, type GatherMemory } from "../../arrow/columns/columnGatherer.js";
import type { IndexRows } from "../../indexes/kind.js";

/** Rows per piece of the order, for which the run of its first row is stored. */
const PIECE_BITS = 10;

/** Gathers batches whose ids are consecutive. */
export class GatheredRows {
  readonly #memory: GatherMemory;
  readonly #expectedRows: number;
  #values: ColumnGatherer | null = null;
  readonly #runs: IdRun[] = [];
  rowCount = 0;
  /** Approximate bytes of the values. */
  byteCount = 0;

  /** @param expectedRows probable number of rows; too low a number costs a copy */
  constructor(memory: GatherMemory, expectedRows: number) {
    this.#memory = memory;
    this.#expectedRows = expectedRows;
  }

  /** Copies the values. @param firstId id of the first row */
  append({ values, rowCount }: IndexRows, firstId: NonNullable<IndexRows["firstId"]>): void {
    this.#values ??= new ColumnGatherer(values, this.#expectedRows, this.#memory);
    this.#values.append(values);
    const low = (firstId.low - this.rowCount) >>> 0;
    const last = this.#runs.at(-1);
    if (last?.low !== low || last.high !== firstId.high) {
      this.#runs.push({ start: this.rowCount, low, high: firstId.high });
    }
    this.rowCount += rowCount;
    this.byteCount += columnBytes(values);
  }

  /** Returns all rows; null if there are none. Nobody may append rows afterwards. */
  finish(): { readonly values: Column; readonly ids: RowIdRuns } | null {
    if (this.#values === null) return null;
    return { values: this.#values.finish(), ids: new RowIdRuns(this.#runs, this.rowCount) };
  }
}

interface IdRun {
  /** Number of the first row. */
  readonly start: number;
  /** Offset from the number of a row to the low word of its id, modulo 2^32. */
  readonly low: number;
  readonly high: number;
}

/** Ids of rows by number. Methods return pairs of words: low, high. */
export class RowIdRuns {
  /** By run: number of its first row; after the last run, the number of all rows. */
  readonly #starts: Uint32Array;
  readonly #lows: Uint32Array;
  readonly #highs: Uint32Array;
  /** By piece: run of its first row. */
  readonly #runOfPiece: Uint32Array;

  constructor(runs: readonly IdRun[], rowCount: number) {
    this.#starts = Uint32Array.from([...runs.map(({ start }) => start), rowCount]);
    this.#lows = Uint32Array.from(runs, ({ low }) => low);
    this.#highs = Uint32Array.from(runs, ({ high }) => high);
    this.#runOfPiece = new Uint32Array((rowCount >>> PIECE_BITS) + 1);
    for (let piece = 0, run = 0; piece < this.#runOfPiece.length; piece++) {
      while (run + 1 < runs.length && this.#starts[run + 1] <= piece << PIECE_BITS) run++;
      this.#runOfPiece[piece] = run;
    }
  }

  /**
   * @param words with the number of a row in every `stride`-th one, from `first` on
   * @param memory for the ids. Default: new memory
   */
  idsOf(words: Uint32Array, stride: number, first: number, memory?: Uint32Array): Uint32Array {
    const starts = this.#starts;
    const lows = this.#lows;
    const highs = this.#highs;
    const runOfPiece = this.#runOfPiece;
    const ids = idWords(words.length / stride, memory);
    for (let slot = first, target = 0; slot < words.length; slot += stride, target += 2) {
      const row = words[slot];
      let run = runOfPiece[row >>> PIECE_BITS];
      while (row >= starts[run + 1]) run++;
      ids[target] = row + lows[run];
      ids[target + 1] = highs[run];
    }
    return ids;
  }

  /** Returns the ids of rows `start` to `end - 1`. @param memory for the ids. Default: new memory */
  idsBetween(start: number, end: number, memory?: Uint32Array): Uint32Array {
    const ids = idWords(end - start, memory);
    let target = 0;
    for (let row = start, run = this.#runOfPiece[start >>> PIECE_BITS]; row < end; run++) {
      const low = this.#lows[run];
      const high = this.#highs[run];
      const runEnd = Math.min(end, this.#starts[run + 1]);
      for (; row < runEnd; row++, target += 2) {
        ids[target] = row + low;
        ids[target + 1] = high;
      }
    }
    return ids;
  }
}

const idWords = (count: number, memory: Uint32Array | undefined): Uint32Array =>
  memory?.subarray(0, 2 * count) ?? new Uint32Array(2 * count);
