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

/**
 * The positions of each word at which it is part of the phrase; none where the words do not follow each other.
 * @param positions of each word, ascending
 */
export function phrasePositions(
  words: readonly QueryWord[],
  positions: readonly (readonly number[])[],
  slop: number,
): number[][] {
  const places = positions.map((all, word) => all.map((position) => position - words[word].position));
  for (let word = 1; word < places.length; word++) {
    places[word] = withNeighbour(places[word], places[word - 1], -slop, 0);
  }
  for (let word = places.length - 2; word >= 0; word--) {
    places[word] = withNeighbour(places[word], places[word + 1], 0, slop);
  }
  return places.map((all, word) => all.map((place) => place + words[word].position));
}

/** Those of some numbers that have a neighbour at a distance between two bounds. Both lists ascend. */
function withNeighbour(
  all: readonly number[],
  neighbours: readonly number[],
  least: number,
  most: number,
): number[] {
  let from = 0;
  return all.filter((place) => {
    while (from < neighbours.length && neighbours[from] < place + least) from++;
    return from < neighbours.length && neighbours[from] <= place + most;
  });
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
