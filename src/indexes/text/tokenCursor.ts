/** Goes through the documents of a token, for a search that scores those of a partition (scoreDocuments.ts). */

import { lowerBound } from "../../bytes/search.js";
import type { PostingArrays } from "./postingBlocks.js";
import {
  type BlockView,
  type DocumentLengths,
  documentAt,
  hasDocument,
  type PostingList,
} from "./postingList.js";
import { type Corpus, K1, lengthTerms, lowImpact, wordWeight } from "./score.js";

/** A token that counts for a word of a query. */
export interface ScoredTerm {
  /** The number of the word. */
  readonly word: number;
  readonly list: PostingList;
  /** The weight of the token among all documents that are searched. */
  readonly weight: number;
}

export interface DocumentQuery {
  /** In the order of their words. */
  readonly terms: readonly ScoredTerm[];
  /** Words of which each document must have a token; 0 where any token is enough. */
  readonly neededWords: number;
  /** What is known of all documents that are searched. */
  readonly corpus: Corpus;
  /** What is known of those of the partition, as its block scores were made with. */
  readonly own: Corpus;
  /** Tokens of each document. */
  readonly lengths: Uint32Array;
}

/** Scores in files are single floats, and bounds are sums: what they may lose is added to them. */
const SLACK = 1 + 2 ** -18;
/** Documents of which so many times as many are in blocks are looked up by themselves. */
const FEW = 16;

/** What the documents of a window have, by their places in it. */
export interface WindowScores {
  readonly start: number;
  readonly end: number;
  readonly scores: Float64Array;
  readonly hits: Uint32Array;
  readonly touched: Uint16Array;
  touchedCount: number;
}

/** Goes through the documents of a token. */
export class TokenCursor {
  readonly word: number;
  /** No document of the window has a higher score for the token; 0 where none has it. */
  bound = 0;
  readonly #list: PostingList;
  readonly #terms: DocumentLengths;
  readonly #lengths: Uint32Array;
  readonly #own: PostingArrays;
  readonly #factor: number;
  readonly #base: number;
  readonly #perToken: number;
  readonly #boundFactor: number;
  readonly #highest: number;
  #block = 0;
  #view: BlockView | null = null;
  #unpacked = -1;
  /** Where {@link seek} is: in the arrays of the view, or among all documents of the list where there are bits. */
  #index = 0;
  /** What {@link bits} found last: then {@link seek} looks no block up. */
  #bits: Uint32Array | null = null;

  constructor({ word, list, weight }: ScoredTerm, { corpus, own, lengths }: DocumentQuery) {
    this.word = word;
    this.#list = list;
    this.#lengths = lengths;
    this.#own = list.ownArrays();
    this.#factor = weight * (K1 + 1);
    const { base, perToken } = lengthTerms(corpus);
    this.#base = base;
    this.#perToken = perToken;
    this.#terms = { base, perToken, lengths };
    this.#highest = this.#factor * SLACK;
    // Scores of the file are among the documents of the partition. Where texts are longer on average in all that is
    // searched, those of the partition count as shorter than they did when the scores were made: by this factor at most.
    const shorter = Math.max(1, perToken === 0 ? 1 : lengthTerms(own).perToken / perToken);
    const ownWeight = wordWeight(own.documents, list.count);
    this.#boundFactor = ownWeight > 0 ? (weight / ownWeight) * shorter * SLACK : Number.POSITIVE_INFINITY;
  }

  get list(): PostingList {
    return this.#list;
  }

  /** Sets the bound for a range of documents that comes after the one before. */
  enter(start: number, end: number): number {
    const { firsts, scores, blockCount } = this.#list;
    while (this.#block + 1 < blockCount && firsts[this.#block + 1] <= start) this.#block++;
    let best = 0;
    for (let block = this.#block; block < blockCount && firsts[block] < end; block++) {
      const score = scores[block];
      if (!(score > 0)) best = Number.POSITIVE_INFINITY;
      else if (score > best) best = score;
    }
    this.bound = best === 0 ? 0 : Math.min(best * this.#boundFactor, this.#highest);
    return this.bound;
  }

  /** No document of a block has a higher score for the token. */
  #boundOf(block: number): number {
    const score = this.#list.scores[block];
    return score > 0 ? Math.min(score * this.#boundFactor, this.#highest) : this.#highest;
  }

  /** The documents of a block. */
  view(block: number): BlockView {
    if (block !== this.#unpacked || this.#view === null) {
      this.#view = this.#list.view(block, this.#own);
      this.#unpacked = block;
      this.#index = this.#view.start;
    }
    return this.#view;
  }

  /** The blocks that have documents of the range: the first, and behind the last. */
  #blocks(end: number): number {
    const { firsts, blockCount } = this.#list;
    let block = this.#block;
    while (block < blockCount && firsts[block] < end) block++;
    return block;
  }

  /** The greatest byte of a share with which a document's score is lower than some other; below 0 where there is none. */
  lowImpact(score: number): number {
    return lowImpact(score, this.#factor);
  }

  /** The shares of the documents of a block; null where they are not kept, or `low` says that all are high enough. */
  impacts(block: number, low: number): Uint8Array | null {
    return low < 0 ? null : this.#list.impacts(block, this.#terms);
  }

  /** Tokens of the documents of a block, at their places in its view; null where they are not kept. */
  lengths(block: number): Uint32Array | null {
    return this.#list.lengths(block, this.#lengths);
  }

  /** A bit for each document: whether it has the token, up to some document. Null where that is not kept. */
  bits(end: number): Uint32Array | null {
    this.#bits = this.#list.bits(this.#block, this.#blocks(end));
    return this.#bits;
  }

  /**
   * Adds scores to the documents of the window that have the token.
   * @param least documents that have a lower score, and none of other tokens, need none
   */
  addAll(window: WindowScores, least: number): void {
    const { start, end, scores, touched } = window;
    const low = this.lowImpact(least);
    const isFirst = window.touchedCount === 0;
    const factor = this.#factor;
    const base = this.#base;
    const perToken = this.#perToken;
    let count = window.touchedCount;
    const last = this.#blocks(end);
    for (let block = this.#block; block < last; block++) {
      if (isFirst && this.#boundOf(block) < least) continue;
      const view = this.view(block);
      const { documents, frequencies } = view;
      const impacts = this.impacts(block, low);
      const kept = this.lengths(block);
      const lengths = kept ?? this.#lengths;
      const from = firstFrom(documents, view, start);
      const isWhole = documents[view.end - 1] < end;
      const behind = isWhole ? view.end : documentAt(documents, from, view.end, end);
      for (let index = from; index < behind; index++) {
        const isLow = impacts !== null && impacts[index] <= low;
        if (isLow && isFirst) continue;
        const document = documents[index];
        const slot = document - start;
        const before = scores[slot];
        if (isLow && before === 0) continue;
        const frequency = frequencies[index];
        const length = lengths[kept === null ? document : index];
        // Scores are above 0.
        if (before === 0) touched[count++] = slot;
        scores[slot] = before + (factor * frequency) / (frequency + base + perToken * length);
      }
    }
    window.touchedCount = count;
  }

  /** Adds scores to some documents of the window that other tokens have found. @param wanted their places */
  addToFound(window: WindowScores, wanted: Uint16Array): void {
    const { start, end, scores } = window;
    const last = this.#blocks(end);
    const bits = this.bits(end);
    if (bits !== null || wanted.length * FEW < (last - this.#block) * this.#list.blockSize) {
      for (let index = 0; index < wanted.length; index++) {
        const slot = wanted[index];
        const document = start + slot;
        scores[slot] +=
          bits !== null ? this.seek(document, this.#lengths[document]) : this.#scoreOf(document, last);
      }
      return;
    }
    for (let block = this.#block; block < last; block++) {
      const view = this.view(block);
      const { documents, frequencies } = view;
      for (let index = firstFrom(documents, view, start); index < view.end; index++) {
        const document = documents[index];
        if (document >= end) break;
        const position = document - start;
        if (scores[position] > 0) scores[position] += this.score(frequencies[index], this.#lengths[document]);
      }
    }
  }

  /** The score of a document; 0 where it does not have the token. @param last behind the last block that may have it */
  #scoreOf(document: number, last: number): number {
    const { firsts } = this.#list;
    let block = this.#block;
    while (block + 1 < last && firsts[block + 1] <= document) block++;
    const view = this.view(block);
    const { documents, frequencies } = view;
    const index = firstFrom(documents, view, document);
    if (index === view.end || documents[index] !== document) return 0;
    return this.score(frequencies[index], this.#lengths[document]);
  }

  /** Adds scores to those documents of the window that have all words before this one, and takes down that they have it. */
  addNext(window: WindowScores): void {
    const { start, end, scores, hits, touched } = window;
    const { word } = this;
    const last = this.#blocks(end);
    for (let block = this.#block; block < last; block++) {
      const view = this.view(block);
      const { documents, frequencies } = view;
      for (let index = firstFrom(documents, view, start); index < view.end; index++) {
        const document = documents[index];
        if (document >= end) break;
        const slot = document - start;
        if (hits[slot] !== word && hits[slot] !== word + 1) continue;
        if (hits[slot] === 0) touched[window.touchedCount++] = slot;
        hits[slot] = word + 1;
        scores[slot] += this.score(frequencies[index], this.#lengths[document]);
      }
    }
  }

  /** @param length tokens of the document */
  score(frequency: number, length: number): number {
    return (this.#factor * frequency) / (frequency + this.#base + this.#perToken * length);
  }

  /** Where the list has the document that {@link seek} found. */
  get place(): number {
    if (this.#bits !== null) return this.#index;
    return this.#unpacked * this.#list.blockSize + this.#index - (this.#view?.start ?? 0);
  }

  /**
   * The score of a document, which comes after those asked for before; 0 where it does not have the token.
   * @param length tokens of the document
   */
  seek(document: number, length: number): number {
    const bits = this.#bits;
    if (bits !== null) {
      if (!hasDocument(bits, document)) return 0;
      this.#index = this.#list.placeOf(document);
      return this.score(this.#list.frequencyAt(this.#index), length);
    }
    const { firsts, blockCount } = this.#list;
    let block = Math.max(this.#unpacked, this.#block);
    while (block + 1 < blockCount && firsts[block + 1] <= document) block++;
    if (firsts[block] > document) return 0;
    const { documents, frequencies, end } = this.view(block);
    const index = documentAt(documents, this.#index, end, document);
    this.#index = index;
    return index < end && documents[index] === document ? this.score(frequencies[index], length) : 0;
  }
}

/** The index of the first document in a block that is not before another. */
function firstFrom(
  documents: Uint32Array,
  { start, end }: { start: number; end: number },
  from: number,
): number {
  return documents[start] >= from ? start : lowerBound(documents, from, start, end);
}
