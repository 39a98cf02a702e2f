/** Rows in two batches, the first or second of which is slow. */

import { type RecordBatch, type Schema, tableFromIPC } from "apache-arrow";
import { bytesOf } from "./changes.js";

export class SlowRows implements AsyncIterable<RecordBatch> {
  /** Schema, for a client that sends it before the rows. */
  readonly schema: Schema;
  readonly #batches: readonly RecordBatch[];
  readonly #slowIndex: number;
  #letGo = () => {};
  readonly #gone: Promise<void>;
  #onAsked = () => {};
  /** Resolves when a reader waits for the slow batch. */
  readonly asked: Promise<void>;

  /**
   * @param values at least two
   * @param slowIndex batch that waits for `release`: 0 or 1
   */
  constructor(values: readonly number[], slowIndex: number) {
    const half = values.length >>> 1;
    this.#batches = [values.slice(0, half), values.slice(half)].flatMap(
      (part) => tableFromIPC(bytesOf(part)).batches,
    );
    this.schema = this.#batches[0].schema;
    this.#slowIndex = slowIndex;
    this.#gone = new Promise((resolve) => {
      this.#letGo = resolve;
    });
    this.asked = new Promise((resolve) => {
      this.#onAsked = resolve;
    });
  }

  release(): void {
    this.#letGo();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RecordBatch> {
    for (const [index, batch] of this.#batches.entries()) {
      if (index === this.#slowIndex) {
        this.#onAsked();
        await this.#gone;
      }
      yield batch;
    }
  }
}
