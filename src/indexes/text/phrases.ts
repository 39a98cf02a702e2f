/** Finds words that follow each other. */

import { lowerBound } from "../../bytes/search.js";
import type { PostingArrays } from "./postingBlocks.js";
import { type BlockPositions, documentAt, type PostingList } from "./postingList.js";

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
      const slot = position - words[word].position;
      while (from < places.length && places[from] < slot - slop) from++;
      if (from < places.length && places[from] <= slot) next.push(slot);
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
  return places.map((all, word) => all.map((position) => position + words[word].position));
}

/** Those of some numbers that have a neighbour at a distance between two bounds. Both lists ascend. */
function withNeighbour(
  all: readonly number[],
  neighbours: readonly number[],
  least: number,
  most: number,
): number[] {
  let from = 0;
  return all.filter((position) => {
    while (from < neighbours.length && neighbours[from] < position + least) from++;
    return from < neighbours.length && neighbours[from] <= position + most;
  });
}

/** Whether the words of a phrase follow each other in a document. */
export type PhraseTest = (document: number, places: Uint32Array | null, from: number) => boolean;

/**
 * A test for documents that have all words. It is handed the places of the document in the lists of all words, from `from` on,
 * or null where they are not known.
 * @param lists of each word
 */
export function phraseTest(
  words: readonly QueryWord[],
  lists: readonly PostingList[],
  slop: number,
): PhraseTest {
  const ofLists = new Map(lists.map((list) => [list, new PositionReader(list)]));
  const ofWords = lists.map((list) => ofLists.get(list) as PositionReader);
  const shifts = words.map(({ position }) => position - words[0].position);
  const reached = new Uint32Array(words.length);
  return (document, places, from) => {
    for (let word = 0; word < ofWords.length; word++) {
      if (places === null) ofWords[word].seek(document);
      else ofWords[word].go(places[from + word]);
    }
    if (slop === 0) return isExactPhrase(ofWords, shifts, reached);
    return isPhrase(
      words,
      ofWords.map(({ positions, start, end }) => positions.subarray(start, end)),
      slop,
    );
  };
}

/** @param shifts how far each word is from the first @param places memory, a number for each word */
function isExactPhrase(
  words: readonly PositionReader[],
  shifts: readonly number[],
  places: Uint32Array,
): boolean {
  for (let word = 0; word < words.length; word++) places[word] = words[word].start;
  const first = words[0];
  for (let index = first.start; index < first.end; index++) {
    let word = 1;
    for (; word < words.length; word++) {
      const { positions, end } = words[word];
      const wanted = first.positions[index] + shifts[word];
      let position = places[word];
      while (position < end && positions[position] < wanted) position++;
      places[word] = position;
      if (position === end) return false;
      if (positions[position] !== wanted) break;
    }
    if (word === words.length) return true;
  }
  return false;
}

/** Reads the positions of a token in single documents. */
class PositionReader {
  readonly #list: PostingList;
  readonly #own: PostingArrays;
  #block = -1;
  #found: BlockPositions | null = null;
  /** Those of the document are from `start` to before `end`. */
  positions: Uint32Array = new Uint32Array(0);
  start = 0;
  end = 0;

  constructor(list: PostingList) {
    this.#list = list;
    this.#own = list.ownArrays();
  }

  /** @param document that has the token */
  seek(document: number): void {
    const { firsts, blockSize } = this.#list;
    const block = lowerBound(firsts, document + 1) - 1;
    const { documents, start, end } = this.#list.view(block, this.#own);
    this.go(block * blockSize + documentAt(documents, start, end, document) - start);
  }

  /** @param position of the document among all that have the token */
  go(position: number): void {
    const { blockSize } = this.#list;
    const block = Math.floor(position / blockSize);
    if (block !== this.#block || this.#found === null) {
      this.#found = this.#list.positionsOf(block, this.#own);
      this.#block = block;
    }
    const { positions, starts, first } = this.#found;
    const index = first + position - block * blockSize;
    this.positions = positions;
    this.start = starts[index];
    this.end = starts[index + 1];
  }
}
