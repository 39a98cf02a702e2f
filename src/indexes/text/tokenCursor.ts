/** Iterates over the documents of a token for the scoring of a partition (scoreDocuments.ts). */

import { lowerBound } from "../../bytes/search.js";
import type { BlockView, Postings } from "./postingBlocks.js";
import { documentAt, hasDocument, type PostingList } from "./postingList.js";
import { type Corpus, type DocumentLengths, K1, lengthTerms, lowImpact, wordWeight } from "./score.js";

/** A token of a query word. */
export interface ScoredTerm {
  /** Index of the query word. */
  readonly word: number;
  readonly list: PostingList;
  /** IDF of the token over all searched documents. */
  readonly weight: number;
}

export interface DocumentQuery {
  /** In word order. */
  readonly terms: readonly ScoredTerm[];
  /** Number of words that each document must match; 0 if any token suffices. */
  readonly neededWords: number;
  /** Statistics of all searched documents. */
  readonly corpus: Corpus;
  /** Statistics of the partition, from which its block scores were computed. */
  readonly partition: Corpus;
  /** Number of tokens of each document. */
  readonly lengths: Uint32Array;
}

/** Tolerance for rounding: stored scores are float32, bounds are sums. */
const SLACK = 1 + 2 ** -18;
/** Documents are looked up one by one if the blocks hold this many times as many documents. */
const FEW = 16;

/** State of a window, by offset of the document in it. */
export interface WindowScores {
  readonly start: number;
  readonly end: number;
  readonly scores: Float64Array;
  readonly hits: Uint32Array;
  readonly touched: Uint16Array;
  touchedCount: number;
}

export class TokenCursor {
  readonly word: number;
  /** Upper bound of the token's score in the window; 0 if no document has it. */
  bound = 0;
  readonly #list: PostingList;
  readonly #terms: DocumentLengths;
  readonly #lengths: Uint32Array;
  readonly #scratch: Postings;
  readonly #factor: number;
  readonly #base: number;
  readonly #perToken: number;
  readonly #boundFactor: number;
  readonly #highest: number;
  #block = 0;
  #view: BlockView | null = null;
  #unpacked = -1;
  /** Position of {@link seek}: in the arrays of the view, or in the list if there are bits. */
  #index = 0;
  /** Last result of {@link bits}; lets {@link seek} skip block look-ups. */
  #bits: Uint32Array | null = null;

  constructor({ word, list, weight }: ScoredTerm, { corpus, partition, lengths }: DocumentQuery) {
    this.word = word;
    this.#list = list;
    this.#lengths = lengths;
    this.#scratch = list.scratchArrays();
    this.#factor = weight * (K1 + 1);
    const { base, perToken } = lengthTerms(corpus);
    this.#base = base;
    this.#perToken = perToken;
    this.#terms = { base, perToken, lengths };
    this.#highest = this.#factor * SLACK;
    // Block scores depend on the partition's average length. If searched texts are longer on average,
    // documents of the partition count as shorter than at build time, by at most this factor.
    const shorter = Math.max(1, perToken === 0 ? 1 : lengthTerms(partition).perToken / perToken);
    const partitionWeight = wordWeight(partition.documents, list.count);
    this.#boundFactor =
      partitionWeight > 0 ? (weight / partitionWeight) * shorter * SLACK : Number.POSITIVE_INFINITY;
  }

  get list(): PostingList {
    return this.#list;
  }

  /** Sets the bound for a range of documents after the last range. */
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

  /** Returns the upper bound of the token's score in a block. */
  #boundOf(block: number): number {
    const score = this.#list.scores[block];
    return score > 0 ? Math.min(score * this.#boundFactor, this.#highest) : this.#highest;
  }

  /** Returns the documents of a block. */
  view(block: number): BlockView {
    if (block !== this.#unpacked || this.#view === null) {
      this.#view = this.#list.view(block, this.#scratch);
      this.#unpacked = block;
      this.#index = this.#view.start;
    }
    return this.#view;
  }

  /** Returns the end of the blocks that begin before document `end`. */
  #blocks(end: number): number {
    const { firsts, blockCount } = this.#list;
    let block = this.#block;
    while (block < blockCount && firsts[block] < end) block++;
    return block;
  }

  /** Returns the greatest impact byte whose score is below `score`; less than 0 if none is. */
  lowImpact(score: number): number {
    return lowImpact(score, this.#factor);
  }

  /** Returns the impacts of a block; null if they are not kept, or if no impact can be below `low`. */
  impacts(block: number, low: number): Uint8Array | null {
    return low < 0 ? null : this.#list.impacts(block, this.#terms);
  }

  /** Returns the lengths of a block's documents, at the indices of its view; null if not kept. */
  lengths(block: number): Uint32Array | null {
    return this.#list.lengths(block, this.#lengths);
  }

  /** Returns bits of the documents with the token, below document `end`; null if not kept. */
  bits(end: number): Uint32Array | null {
    this.#bits = this.#list.bits(this.#block, this.#blocks(end));
    return this.#bits;
  }

  /**
   * Adds scores to documents of the window. @param least minimum score of documents that have no other token
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
      const viewEnd = isWhole ? view.end : documentAt(documents, from, view.end, end);
      for (let index = from; index < viewEnd; index++) {
        const isLow = impacts !== null && impacts[index] <= low;
        if (isLow && isFirst) continue;
        const document = documents[index];
        const slot = document - start;
        const before = scores[slot];
        if (isLow && before === 0) continue;
        const frequency = frequencies[index];
        const length = lengths[kept === null ? document : index];
        // Scores are greater than 0.
        if (before === 0) touched[count++] = slot;
        scores[slot] = before + (factor * frequency) / (frequency + base + perToken * length);
      }
    }
    window.touchedCount = count;
  }

  /** Adds the token's scores to documents with other tokens. @param slots offsets in the window */
  addToTouched(window: WindowScores, slots: Uint16Array): void {
    const { start, end, scores } = window;
    const last = this.#blocks(end);
    const bits = this.bits(end);
    if (bits !== null || slots.length * FEW < (last - this.#block) * this.#list.blockSize) {
      for (let index = 0; index < slots.length; index++) {
        const slot = slots[index];
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

  /** Returns the score of a document; 0 if it lacks the token. @param last end of the candidate blocks */
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

  /** Adds the token's scores to documents that match all words before, and counts the match. */
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

  /** @param length number of tokens of the document */
  score(frequency: number, length: number): number {
    return (this.#factor * frequency) / (frequency + this.#base + this.#perToken * length);
  }

  /** List index of the document that {@link seek} found. */
  get listIndex(): number {
    if (this.#bits !== null) return this.#index;
    return this.#unpacked * this.#list.blockSize + this.#index - (this.#view?.start ?? 0);
  }

  /** Returns the score of a later document; 0 if it lacks the token. @param length tokens of the document */
  seek(document: number, length: number): number {
    const bits = this.#bits;
    if (bits !== null) {
      if (!hasDocument(bits, document)) return 0;
      this.#index = this.#list.listIndexOf(document);
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

/** Returns the index of the first document of a block that is at least `from`. */
function firstFrom(
  documents: Uint32Array,
  { start, end }: { start: number; end: number },
  from: number,
): number {
  return documents[start] >= from ? start : lowerBound(documents, from, start, end);
}
