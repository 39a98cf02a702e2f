/**
 * Looks at documents in the order of their scores, where a look at one costs more than its score: once enough good ones
 * were found, those with lower scores need none. Documents are gathered, few at first, so that there is a threshold soon.
 */

import type { DocumentSink } from "./scoreDocuments.js";

/** Documents that are gathered at first before the best of them are looked at. */
const FIRST_GATHERED = 64;

/** @param places of the document in lists, from `from` on; null where they are not known */
type Look = (document: number, score: number, places: Uint32Array | null, from: number) => void;

export class BestFirst implements DocumentSink {
  readonly #sink: { readonly threshold: number };
  readonly #look: Look;
  readonly #listCount: number;
  readonly #most: number;
  readonly #documents: Uint32Array;
  readonly #scores: Float64Array;
  readonly #places: Uint32Array;
  #hasPlaces = false;
  /** Of documents by the numbers that they were gathered with, a heap whose first has the highest score. */
  readonly #heap: Uint32Array;
  #count = 0;
  #room: number;

  /**
   * @param sink whose threshold rises with the documents that it is given by `look`
   * @param listCount lists in which documents have places
   * @param most documents that are gathered
   */
  constructor(sink: { readonly threshold: number }, listCount: number, most: number, look: Look) {
    this.#sink = sink;
    this.#look = look;
    this.#listCount = listCount;
    this.#most = most;
    this.#documents = new Uint32Array(most);
    this.#scores = new Float64Array(most);
    this.#places = new Uint32Array(most * listCount);
    this.#heap = new Uint32Array(most);
    this.#room = Math.min(most, FIRST_GATHERED);
  }

  get threshold(): number {
    return this.#sink.threshold;
  }

  add(document: number, score: number, places?: Uint32Array): void {
    const count = this.#count;
    this.#documents[count] = document;
    this.#scores[count] = score;
    this.#hasPlaces = places !== undefined;
    if (places !== undefined) {
      for (let list = 0; list < this.#listCount; list++) {
        this.#places[count * this.#listCount + list] = places[list];
      }
    }
    this.#heap[count] = count;
    this.#count++;
    if (this.#count < this.#room) return;
    this.finish();
    this.#room = Math.min(2 * this.#room, this.#most);
  }

  /** Looks at those that were gathered. */
  finish(): void {
    const heap = this.#heap;
    const places = this.#hasPlaces ? this.#places : null;
    for (let place = (this.#count >>> 1) - 1; place >= 0; place--) this.#siftDown(place);
    while (this.#count > 0) {
      const gathered = heap[0];
      const score = this.#scores[gathered];
      if (score < this.threshold) break;
      heap[0] = heap[--this.#count];
      this.#siftDown(0);
      this.#look(this.#documents[gathered], score, places, gathered * this.#listCount);
    }
    this.#count = 0;
  }

  /** Restores the heap below a place. */
  #siftDown(start: number): void {
    const scores = this.#scores;
    const heap = this.#heap;
    const count = this.#count;
    const gathered = heap[start];
    const score = scores[gathered];
    let place = start;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= count) break;
      if (below + 1 < count && scores[heap[below + 1]] > scores[heap[below]]) below++;
      if (scores[heap[below]] <= score) break;
      heap[place] = heap[below];
      place = below;
    }
    heap[place] = gathered;
  }
}
