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
  /**
   * For each document, the number that it was gathered with, and above that the bits of its score as a single float: numbers
   * of 64 bits, which the platform sorts without being asked for each two of them.
   */
  readonly #keys: Float64Array;
  readonly #numbers: Uint32Array;
  readonly #floats: Float32Array;
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
    this.#keys = new Float64Array(most);
    this.#numbers = new Uint32Array(this.#keys.buffer);
    this.#floats = new Float32Array(this.#keys.buffer);
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
    this.#numbers[2 * count] = count;
    this.#floats[2 * count + 1] = score;
    this.#count++;
    if (this.#count < this.#room) return;
    this.finish();
    this.#room = Math.min(2 * this.#room, this.#most);
  }

  /** Looks at those that were gathered. */
  finish(): void {
    const count = this.#count;
    const places = this.#hasPlaces ? this.#places : null;
    if (count > 1) this.#keys.subarray(0, count).sort();
    for (let position = count - 1; position >= 0; position--) {
      const gathered = this.#numbers[2 * position];
      const score = this.#scores[gathered];
      // Those that are left have no higher single floats, but may have a higher score than this one.
      if (score < this.threshold) {
        if (this.#floats[2 * position + 1] < Math.fround(this.threshold)) break;
        continue;
      }
      this.#look(this.#documents[gathered], score, places, gathered * this.#listCount);
    }
    this.#count = 0;
  }
}
