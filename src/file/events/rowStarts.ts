/**
 * Starts of rows among the events of a page of lists of single values, none of which is null or empty. Each
 * event is an item, and its repetition level is 1 if it begins a row, else 0. Levels are taken chunk by
 * chunk, so those of a page never lie in memory all at once.
 */

import { corruptPage, type PageOrigin } from "../container/page.js";

export class RowStarts {
  readonly #starts: Int32Array;
  #rows = 0;
  #events = 0;
  /** All bits of all levels. */
  #seen = 0;
  #isOpen = true;

  /**
   * @param rowCount sizes the result, so it must have been checked
   * @param allocate makes the memory of the result; default: fresh memory
   */
  constructor(
    private readonly rowCount: number,
    allocate?: (byteLength: number) => Uint8Array,
  ) {
    const memory = allocate?.(4 * (rowCount + 1));
    this.#starts = memory
      ? new Int32Array(memory.buffer, memory.byteOffset, rowCount + 1)
      : new Int32Array(rowCount + 1);
  }

  add(levels: Uint16Array, count: number): void {
    const starts = this.#starts;
    const first = this.#events;
    if (first === 0 && count > 0) this.#isOpen = levels[0] === 1;
    let row = this.#rows;
    let seen = this.#seen;
    // A processor cannot predict the levels: events that begin no row are overwritten by the next one.
    for (let event = 0; event < count; event++) {
      const level = levels[event];
      starts[row] = first + event;
      row += level;
      seen |= level;
    }
    this.#rows = row;
    this.#seen = seen;
    this.#events += count;
  }

  /**
   * Returns the first event of each row, and the number of all events.
   * @throws CorruptFileError if the levels are of another number of rows
   */
  finish(origin: PageOrigin): Int32Array {
    if (this.#seen > 1) throw corruptPage(origin, "a repetition level above 1");
    if (!this.#isOpen) throw corruptPage(origin, "the first event continues a list that is not open");
    if (this.#rows !== this.rowCount) {
      throw corruptPage(origin, `${this.#rows} lists where there are ${this.rowCount}`);
    }
    this.#starts[this.rowCount] = this.#events;
    return this.#starts;
  }
}
