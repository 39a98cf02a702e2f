/**
 * Looks at documents in the order of their scores, where a look at one costs more than its score: once enough good ones
 * were found, those with lower scores need none. Documents are gathered, few at first, so that there is a threshold soon.
 */

import type { DocumentSink } from "./scoreDocuments.js";

/** Documents that are gathered before the best of them are looked at, at first and at most. */
const FIRST_GATHERED = 64;
const MOST_GATHERED = 1024;

export class BestFirst implements DocumentSink {
  readonly #sink: { readonly threshold: number };
  readonly #look: (document: number, score: number) => void;
  readonly #documents = new Uint32Array(MOST_GATHERED);
  readonly #scores = new Float64Array(MOST_GATHERED);
  #count = 0;
  #room = FIRST_GATHERED;

  /** @param sink whose threshold rises with the documents that it is given by `look` */
  constructor(sink: { readonly threshold: number }, look: (document: number, score: number) => void) {
    this.#sink = sink;
    this.#look = look;
  }

  get threshold(): number {
    return this.#sink.threshold;
  }

  add(document: number, score: number): void {
    this.#documents[this.#count] = document;
    this.#scores[this.#count++] = score;
    if (this.#count < this.#room) return;
    this.finish();
    this.#room = Math.min(2 * this.#room, MOST_GATHERED);
  }

  /** Looks at those that were gathered. */
  finish(): void {
    const scores = this.#scores;
    const documents = this.#documents;
    for (let place = (this.#count >>> 1) - 1; place >= 0; place--) this.#siftDown(place);
    while (this.#count > 0 && !(scores[0] < this.threshold)) {
      const document = documents[0];
      const score = scores[0];
      this.#count--;
      documents[0] = documents[this.#count];
      scores[0] = scores[this.#count];
      this.#siftDown(0);
      this.#look(document, score);
    }
    this.#count = 0;
  }

  /** Restores the heap, whose first document is the best, below a place. */
  #siftDown(start: number): void {
    const scores = this.#scores;
    const documents = this.#documents;
    const score = scores[start];
    const document = documents[start];
    let place = start;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= this.#count) break;
      if (below + 1 < this.#count && scores[below + 1] > scores[below]) below++;
      if (scores[below] <= score) break;
      scores[place] = scores[below];
      documents[place] = documents[below];
      place = below;
    }
    scores[place] = score;
    documents[place] = document;
  }
}
