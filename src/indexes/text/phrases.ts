/** Finds words that follow each other. */

import { lowerBound } from "../../rows/rowPositions.js";
import type { PostingArrays } from "./postingBlocks.js";
import { type BlockView, documentAt, type PostingList } from "./postingList.js";

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

/**
 * Tells of documents, one after the other, whether the words of a phrase follow each other.
 * @param lists of each word
 */
export function phraseTest(
  words: readonly QueryWord[],
  lists: readonly PostingList[],
  slop: number,
): (document: number) => boolean {
  const ofLists = new Map(lists.map((list) => [list, new PositionReader(list)]));
  const ofWords = lists.map((list) => ofLists.get(list) as PositionReader);
  const readers = [...ofLists.values()];
  const shifts = words.map(({ position }) => position - words[0].position);
  const places = new Uint32Array(words.length);
  return (document) => {
    for (let at = 0; at < readers.length; at++) readers[at].seek(document);
    if (slop === 0) return isExactPhrase(ofWords, shifts, places);
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
  for (let at = first.start; at < first.end; at++) {
    let word = 1;
    for (; word < words.length; word++) {
      const { positions, end } = words[word];
      const wanted = first.positions[at] + shifts[word];
      let place = places[word];
      while (place < end && positions[place] < wanted) place++;
      places[word] = place;
      if (place === end) return false;
      if (positions[place] !== wanted) break;
    }
    if (word === words.length) return true;
  }
  return false;
}

/** Reads the positions of a token in single documents, which come in ascending order mostly. */
class PositionReader {
  readonly #list: PostingList;
  readonly #own: PostingArrays;
  /** Where the positions of each document of the block begin. */
  #starts: Uint32Array = new Uint32Array(0);
  #view: BlockView | null = null;
  #block = -1;
  #index = 0;
  /** Those of the document are from `start` to before `end`. */
  positions: Uint32Array = new Uint32Array(0);
  start = 0;
  end = 0;

  constructor(list: PostingList) {
    this.#list = list;
    this.#own = {
      documents: new Uint32Array(list.blockSize),
      frequencies: new Uint32Array(list.blockSize),
    };
  }

  /** @param document that has the token */
  seek(document: number): void {
    const view = this.#viewOf(document);
    const { documents, start, end } = view;
    const from = this.#index < end && documents[this.#index] <= document ? this.#index : start;
    const index = documentAt(documents, from, end, document);
    this.#index = index;
    this.start = this.#starts[index - start];
    this.end = this.#starts[index - start + 1];
  }

  #viewOf(document: number): BlockView {
    const { firsts, blockCount } = this.#list;
    const at = this.#block;
    const isSame = at >= 0 && firsts[at] <= document && (at + 1 === blockCount || firsts[at + 1] > document);
    if (isSame && this.#view !== null) return this.#view;
    const block = lowerBound(firsts, document + 1) - 1;
    const view = this.#list.view(block, this.#own);
    const { positions, starts } = this.#list.positionsOf(block, view);
    this.positions = positions;
    this.#starts = starts;
    this.#view = view;
    this.#block = block;
    this.#index = view.start;
    return view;
  }
}
