/** Finds words that follow each other. */

import { lowerBound } from "../../rows/rowPositions.js";
import type { PostingList } from "./postingList.js";

/** A word of a query, and where it stands there. */
export interface QueryWord {
  readonly token: string;
  readonly position: number;
}

/**
 * Whether the words of a phrase follow each other in a document.
 * @param positions of each word, ascending
 * @param slop words that may lie between two of them
 */
export function isPhrase(
  words: readonly QueryWord[],
  positions: readonly Uint32Array[],
  slop: number,
): boolean {
  // Places that a word can have, as if the phrase began there; each is kept where the words before fit.
  let places = Array.from(positions[0], (position) => position - words[0].position);
  for (let word = 1; word < words.length && places.length > 0; word++) {
    const next: number[] = [];
    let from = 0;
    for (const position of positions[word]) {
      const place = position - words[word].position;
      while (from < places.length && places[from] < place - slop) from++;
      if (from < places.length && places[from] <= place) next.push(place);
    }
    places = next;
  }
  return places.length > 0;
}

/** Reads the positions of a token in single documents. */
export class PositionReader {
  readonly #list: PostingList;
  readonly #documents: Uint32Array;
  readonly #frequencies: Uint32Array;
  readonly #starts: Uint32Array;
  #positions: Uint32Array = new Uint32Array(0);
  #block = -1;
  #size = 0;

  constructor(list: PostingList) {
    this.#list = list;
    this.#documents = new Uint32Array(list.blockSize);
    this.#frequencies = new Uint32Array(list.blockSize);
    this.#starts = new Uint32Array(list.blockSize + 1);
  }

  /** @param document that has the token */
  of(document: number): Uint32Array {
    this.#unpack(lowerBound(this.#list.firsts, document + 1) - 1);
    const index = lowerBound(this.#documents.subarray(0, this.#size), document);
    return this.#positions.subarray(this.#starts[index], this.#starts[index + 1]);
  }

  #unpack(block: number): void {
    if (block === this.#block) return;
    const into = { documents: this.#documents, frequencies: this.#frequencies };
    this.#size = this.#list.read(block, into);
    const frequencies = this.#frequencies.subarray(0, this.#size);
    this.#positions = this.#list.positionsOf(block, frequencies);
    for (const [index, frequency] of frequencies.entries()) {
      this.#starts[index + 1] = this.#starts[index] + frequency;
    }
    this.#block = block;
  }
}
