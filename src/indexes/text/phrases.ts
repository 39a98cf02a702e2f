/** Matches phrases by token positions. */

import { lowerBound } from "../../bytes/search.js";
import type { Postings } from "./postingBlocks.js";
import { type BlockPositions, documentAt, type PostingList } from "./postingList.js";

/** A query word and its position in the query. */
export interface QueryWord {
  readonly token: string;
  readonly position: number;
}

/**
 * True if the words follow each other in a document.
 * @param positions ascending positions of each word
 * @param slop maximum number of other words between two neighbours
 */
export function isPhrase(
  words: readonly QueryWord[],
  positions: readonly Uint32Array[],
  slop: number,
): boolean {
  // Candidate starts of the phrase, as implied by one word; each must be near a start from the word before.
  let starts = Array.from(positions[0], (position) => position - words[0].position);
  for (let word = 1; word < words.length && starts.length > 0; word++) {
    const next: number[] = [];
    let from = 0;
    for (const position of positions[word]) {
      const slot = position - words[word].position;
      while (from < starts.length && starts[from] < slot - slop) from++;
      if (from < starts.length && starts[from] <= slot) next.push(slot);
    }
    starts = next;
  }
  return starts.length > 0;
}

/** Returns the positions of each word inside matches of the phrase. @param positions ascending, per word */
export function phrasePositions(
  words: readonly QueryWord[],
  positions: readonly (readonly number[])[],
  slop: number,
): number[][] {
  const starts = positions.map((all, word) => all.map((position) => position - words[word].position));
  for (let word = 1; word < starts.length; word++) {
    starts[word] = withNeighbour(starts[word], starts[word - 1], -slop, 0);
  }
  for (let word = starts.length - 2; word >= 0; word--) {
    starts[word] = withNeighbour(starts[word], starts[word + 1], 0, slop);
  }
  return starts.map((all, word) => all.map((position) => position + words[word].position));
}

/** Keeps the numbers with a neighbour at a distance in `[least, most]`. Both lists ascend. */
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

/** True if the document contains the phrase. */
export type PhraseTest = (document: number, listIndices: Uint32Array | null, from: number) => boolean;

/**
 * Returns a test for documents that have all words. It takes the document's index in each word's list, from
 * `from` on, or null if unknown.
 * @param lists posting list of each word
 */
export function phraseTest(
  words: readonly QueryWord[],
  lists: readonly PostingList[],
  slop: number,
): PhraseTest {
  const ofLists = new Map(lists.map((list) => [list, new PositionReader(list)]));
  const ofWords = lists.map((list) => ofLists.get(list) as PositionReader);
  const shifts = words.map(({ position }) => position - words[0].position);
  const cursors = new Uint32Array(words.length);
  return (document, listIndices, from) => {
    for (let word = 0; word < ofWords.length; word++) {
      if (listIndices === null) ofWords[word].seek(document);
      else ofWords[word].go(listIndices[from + word]);
    }
    if (slop === 0) return isExactPhrase(ofWords, shifts, cursors);
    return isPhrase(
      words,
      ofWords.map(({ positions, start, end }) => positions.subarray(start, end)),
      slop,
    );
  };
}

/** @param shifts offset of each word from the first @param cursors scratch memory, one number per word */
function isExactPhrase(
  words: readonly PositionReader[],
  shifts: readonly number[],
  cursors: Uint32Array,
): boolean {
  for (let word = 0; word < words.length; word++) cursors[word] = words[word].start;
  const first = words[0];
  for (let index = first.start; index < first.end; index++) {
    let word = 1;
    for (; word < words.length; word++) {
      const { positions, end } = words[word];
      const wanted = first.positions[index] + shifts[word];
      let position = cursors[word];
      while (position < end && positions[position] < wanted) position++;
      cursors[word] = position;
      if (position === end) return false;
      if (positions[position] !== wanted) break;
    }
    if (word === words.length) return true;
  }
  return false;
}

/** Reads the positions of a token in single documents. */
class PositionReader {
  readonly #scratch: Postings;
  #block = -1;
  #blockPositions: BlockPositions | null = null;
  /** Positions of the document are in `[start, end)`. */
  positions: Uint32Array = new Uint32Array(0);
  start = 0;
  end = 0;

  constructor(private readonly list: PostingList) {
    this.#scratch = list.scratchArrays();
  }

  /** @param document that contains the token */
  seek(document: number): void {
    const { firsts, blockSize } = this.list;
    const block = lowerBound(firsts, document + 1) - 1;
    const { documents, start, end } = this.list.view(block, this.#scratch);
    this.go(block * blockSize + documentAt(documents, start, end, document) - start);
  }

  /** @param position index of the document in the list */
  go(position: number): void {
    const { blockSize } = this.list;
    const block = Math.floor(position / blockSize);
    if (block !== this.#block || this.#blockPositions === null) {
      this.#blockPositions = this.list.positionsOf(block, this.#scratch);
      this.#block = block;
    }
    const { positions, starts, first } = this.#blockPositions;
    const index = first + position - block * blockSize;
    this.positions = positions;
    this.start = starts[index];
    this.end = starts[index + 1];
  }
}
