/** Number of rows in the next call of a function; few for a slow one, so that a crash loses little. */

/** Milliseconds of the longest call to aim for. */
const SLOW_MS = 10_000;
const QUICK_MS = SLOW_MS / 4;
/**
 * Rows of the first batch of a function that computes row by row. Results are saved after whole batches, so
 * a slow function would report and save nothing for a long time.
 */
const FIRST_ROWS = 32;

export interface BatchSizeBounds {
  readonly least: number;
  /** Maximum rows; also of the first batch, unless the function computes row by row. */
  readonly most: number;
}

export class BatchSize {
  readonly #bounds: BatchSizeBounds;
  #rows: number;

  constructor(bounds: BatchSizeBounds, isByRow: boolean) {
    this.#bounds = bounds;
    this.#rows = isByRow ? Math.min(bounds.most, Math.max(bounds.least, FIRST_ROWS)) : bounds.most;
  }

  /** Rows of the next batch. */
  get rows(): number {
    return this.#rows;
  }

  /** Maximum rows of a batch, however fast the function is. */
  get most(): number {
    return this.#bounds.most;
  }

  /** Adjusts the rows to the duration of a batch. */
  note(rowCount: number, ms: number): void {
    const { least, most } = this.#bounds;
    if (ms > SLOW_MS) this.#rows = Math.max(least, Math.min(this.#rows, Math.ceil(rowCount / 2)));
    else if (ms < QUICK_MS && rowCount >= this.#rows) this.#rows = Math.min(most, this.#rows * 2);
  }
}
