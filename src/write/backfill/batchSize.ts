/**
 * How many rows a function is handed at a time: fewer where it is slow, so that little is lost in a crash.
 */

/** Milliseconds that a call should not take longer than. */
const SLOW_MS = 10_000;
const QUICK_MS = SLOW_MS / 4;

export interface BatchSizeBounds {
  readonly least: number;
  /** Also of the first batch. */
  readonly most: number;
}

export class BatchSize {
  readonly #bounds: BatchSizeBounds;
  #rows: number;

  constructor(bounds: BatchSizeBounds) {
    this.#bounds = bounds;
    this.#rows = bounds.most;
  }

  /** Rows of the next batch. */
  get rows(): number {
    return this.#rows;
  }

  /** Rows of a batch at most, however quick they are. */
  get most(): number {
    return this.#bounds.most;
  }

  /** Tells how long a batch took. */
  note(rowCount: number, ms: number): void {
    const { least, most } = this.#bounds;
    if (ms > SLOW_MS) this.#rows = Math.max(least, Math.min(this.#rows, Math.ceil(rowCount / 2)));
    else if (ms < QUICK_MS && rowCount >= this.#rows) this.#rows = Math.min(most, this.#rows * 2);
  }
}
