/** Scores of a query part's rows: a map per fragment, since one map holds at most 2^24 entries. */

import { Pace, yieldToEventLoop } from "../../async/eventLoop.js";
import { addressOf } from "../columns/rowAddresses.js";
import type { RowSink } from "./textLeaf.js";

const WORD = 2 ** 32;
/** Rows between yields. */
const STEP_ROWS = 4096;

type FragmentScores = Map<number, number>;

export class RowScores implements RowSink {
  readonly wanted = Number.POSITIVE_INFINITY;
  readonly threshold = Number.NEGATIVE_INFINITY;
  readonly #fragments = new Map<number, FragmentScores>();
  /** Fragment of the last row, which mostly is the next row's too. */
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

  /** Passes each row to `use`. */
  async each(use: (address: number, score: number) => void): Promise<void> {
    const pace = new Pace(STEP_ROWS);
    for (const [id, rows] of this.#fragments) {
      for (const [row, score] of rows) {
        use(addressOf(id, row), score);
        if (pace.isStep()) await yieldToEventLoop();
      }
    }
  }

  /** Combines the scores of rows in both sets. @param keepsOthers true to keep rows that only this set has */
  async meet(
    scores: RowScores,
    keepsOthers: boolean,
    combine: (a: number, b: number) => number,
  ): Promise<void> {
    const pace = new Pace(STEP_ROWS);
    for (const [id, rows] of this.#fragments) {
      const others = scores.#fragments.get(id);
      for (const [row, score] of rows) {
        const otherScore = others?.get(row);
        if (otherScore !== undefined) rows.set(row, combine(score, otherScore));
        else if (!keepsOthers) rows.delete(row);
        if (pace.isStep()) await yieldToEventLoop();
      }
    }
  }

  /** Adds the rows of another set, and combines the scores of rows in both. */
  async join(scores: RowScores, combine: (a: number, b: number) => number): Promise<void> {
    await scores.each((address, score) => {
      const fragmentId = Math.floor(address / WORD);
      const rows = this.#fragment(fragmentId);
      const current = rows.get(address - fragmentId * WORD);
      rows.set(address - fragmentId * WORD, current === undefined ? score : combine(current, score));
    });
  }

  /** Removes the rows of another set. */
  async exclude(scores: RowScores): Promise<void> {
    await scores.each((address) => {
      const fragmentId = Math.floor(address / WORD);
      this.#fragments.get(fragmentId)?.delete(address - fragmentId * WORD);
    });
  }
}
