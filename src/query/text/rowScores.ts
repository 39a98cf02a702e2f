/**
 * The scores of all rows that a part of a query finds, by fragment and row: a map for each fragment, since one of all rows
 * would take no more than 2^24.
 */

import { Pace, yieldToEventLoop } from "../../async/eventLoop.js";
import { addressOf } from "../columns/rowAddresses.js";
import type { RowSink } from "./textLeaf.js";

const WORD = 2 ** 32;
/** Rows between two looks at the clock. */
const STEP_ROWS = 4096;

type FragmentScores = Map<number, number>;

export class RowScores implements RowSink {
  readonly wanted = Number.POSITIVE_INFINITY;
  readonly threshold = Number.NEGATIVE_INFINITY;
  readonly #fragments = new Map<number, FragmentScores>();
  /** The fragment of the row that was added last: most rows are of the same as the one before. */
  #lastId = -1;
  #last: FragmentScores = new Map();

  takes(): boolean {
    return true;
  }

  add(address: number, score: number): void {
    const fragmentId = Math.floor(address / WORD);
    this.#fragment(fragmentId).set(address - fragmentId * WORD, score);
  }

  #fragment(id: number): FragmentScores {
    if (id !== this.#lastId) {
      this.#last = this.#fragments.get(id) ?? new Map();
      this.#fragments.set(id, this.#last);
      this.#lastId = id;
    }
    return this.#last;
  }

  /** Calls `use` with each row. */
  async each(use: (address: number, score: number) => void): Promise<void> {
    const pace = new Pace(STEP_ROWS);
    for (const [id, rows] of this.#fragments) {
      for (const [row, score] of rows) {
        use(addressOf(id, row), score);
        if (pace.isStep()) await yieldToEventLoop();
      }
    }
  }

  /** Gives rows that both have a new score. @param isEnough whether rows that the other lacks stay as they are; else they go */
  async meet(
    other: RowScores,
    isEnough: boolean,
    scoreOf: (own: number, other: number) => number,
  ): Promise<void> {
    const pace = new Pace(STEP_ROWS);
    for (const [id, rows] of this.#fragments) {
      const others = other.#fragments.get(id);
      for (const [row, own] of rows) {
        const found = others?.get(row);
        if (found !== undefined) rows.set(row, scoreOf(own, found));
        else if (!isEnough) rows.delete(row);
        if (pace.isStep()) await yieldToEventLoop();
      }
    }
  }

  /** Adds the rows of another; those that both have get a new score. */
  async join(other: RowScores, scoreOf: (own: number, other: number) => number): Promise<void> {
    await other.each((address, score) => {
      const fragmentId = Math.floor(address / WORD);
      const rows = this.#fragment(fragmentId);
      const own = rows.get(address - fragmentId * WORD);
      rows.set(address - fragmentId * WORD, own === undefined ? score : scoreOf(own, score));
    });
  }

  /** Takes away the rows of another. */
  async leaveOut(other: RowScores): Promise<void> {
    await other.each((address) => {
      const fragmentId = Math.floor(address / WORD);
      this.#fragments.get(fragmentId)?.delete(address - fragmentId * WORD);
    });
  }
}
