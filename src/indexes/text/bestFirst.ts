/**
 * Checks documents in descending order of their scores, for checks that cost more than a score. Good
 * documents raise the threshold and spare the check of the rest. The first batch is small, so that a
 * threshold soon exists.
 */

import type { DocumentSink } from "./scoreDocuments.js";

/** Size of the first batch. */
const FIRST_BATCH = 64;

/** @param listIndices index of the document in each list, from `from` on; null if unknown */
type Check = (document: number, score: number, listIndices: Uint32Array | null, from: number) => void;

export class BestFirst implements DocumentSink {
  readonly #documents: Uint32Array;
  readonly #scores: Float64Array;
  readonly #listIndices: Uint32Array;
  #hasListIndices = false;
  /** Sort keys, which need no comparison function: score as float32 above the batch position. */
  readonly #keys: Float64Array;
  readonly #numbers: Uint32Array;
  readonly #floats: Float32Array;
  #count = 0;
  #room: number;

  /**
   * @param sink whose threshold rises with the documents that `check` adds
   * @param listCount number of posting lists
   * @param most maximum batch size
   */
  constructor(
    private readonly sink: { readonly threshold: number },
    private readonly listCount: number,
    private readonly most: number,
    private readonly check: Check,
  ) {
    this.#documents = new Uint32Array(most);
    this.#scores = new Float64Array(most);
    this.#listIndices = new Uint32Array(most * listCount);
    this.#keys = new Float64Array(most);
    this.#numbers = new Uint32Array(this.#keys.buffer);
    this.#floats = new Float32Array(this.#keys.buffer);
    this.#room = Math.min(most, FIRST_BATCH);
  }

  get threshold(): number {
    return this.sink.threshold;
  }

  add(document: number, score: number, listIndices?: Uint32Array): void {
    const count = this.#count;
    this.#documents[count] = document;
    this.#scores[count] = score;
    this.#hasListIndices = listIndices !== undefined;
    if (listIndices !== undefined) {
      for (let list = 0; list < this.listCount; list++) {
        this.#listIndices[count * this.listCount + list] = listIndices[list];
      }
    }
    this.#numbers[2 * count] = count;
    this.#floats[2 * count + 1] = score;
    this.#count++;
    if (this.#count < this.#room) return;
    this.finish();
    this.#room = Math.min(2 * this.#room, this.most);
  }

  /** Checks the current batch. */
  finish(): void {
    const count = this.#count;
    const listIndices = this.#hasListIndices ? this.#listIndices : null;
    if (count > 1) this.#keys.subarray(0, count).sort();
    for (let position = count - 1; position >= 0; position--) {
      const slot = this.#numbers[2 * position];
      const score = this.#scores[slot];
      // The rest has no greater float32, but may have a greater score.
      if (score < this.threshold) {
        if (this.#floats[2 * position + 1] < Math.fround(this.threshold)) break;
        continue;
      }
      this.check(this.#documents[slot], score, listIndices, slot * this.listCount);
    }
    this.#count = 0;
  }
}
