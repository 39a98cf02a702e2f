/**
 * Scores the documents of a partition for some tokens, a window of documents after the other. What the blocks of
 * postings say of their highest scores tells which windows hold no document that is good enough: their blocks are not
 * unpacked. In the other windows, tokens that can't lift a document far enough by themselves are looked at last, and
 * only for documents that others have found.
 */

import { breathe } from "../../async/eventLoop.js";
import { lowerBound } from "../../rows/rowPositions.js";
import type { PostingList } from "./postingList.js";
import { type Corpus, K1, lengthTerms, wordWeight } from "./score.js";

/** A token that counts for a word of a query. */
export interface ScoredTerm {
  /** The number of the word. */
  readonly word: number;
  readonly list: PostingList;
  /** The weight of the token among all documents that are searched. */
  readonly weight: number;
}

export interface DocumentSink {
  /** Documents with a lower score are of no use. */
  readonly threshold: number;
  add(document: number, score: number): void;
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

/** Documents of a window. */
const WINDOW = 2048;
/** Windows that are passed over between two looks at the clock. */
const PASSED_WINDOWS = 64;
/** Scores in files are single floats, and bounds are sums: what they may lose is added to them. */
const SLACK = 1 + 2 ** -18;

/** Calls the sink with documents whose score is not below its threshold, in no order. */
export async function scoreDocuments(
  query: DocumentQuery,
  sink: DocumentSink,
  signal?: AbortSignal,
): Promise<void> {
  const window = new Window(query);
  const count = query.lengths.length;
  for (let start = 0; start < count; start += WINDOW) {
    const isScored = window.enter(start, Math.min(start + WINDOW, count), sink.threshold);
    if (isScored) {
      if (query.neededWords > 0) window.scoreAll();
      else window.scoreAny(sink.threshold);
      window.handOn(sink);
    } else if (start % (WINDOW * PASSED_WINDOWS) !== 0) continue;
    signal?.throwIfAborted();
    await breathe();
  }
}

class Window {
  readonly #cursors: readonly Cursor[];
  readonly #neededWords: number;
  readonly #scores = new Float64Array(WINDOW);
  /** Where all words are needed: how many of the first ones were found. Else whether any was. */
  readonly #hits = new Uint32Array(WINDOW);
  readonly #touched = new Uint16Array(WINDOW);
  #touchedCount = 0;
  #start = 0;
  #end = 0;

  constructor(query: DocumentQuery) {
    this.#cursors = query.terms.map((term) => new Cursor(term, query));
    this.#neededWords = query.neededWords;
  }

  /** @returns whether some document of the window may be good enough */
  enter(start: number, end: number, threshold: number): boolean {
    this.#start = start;
    this.#end = end;
    let best = 0;
    let word = 0;
    for (const cursor of this.#cursors) {
      const bound = cursor.enter(start, end);
      best += bound;
      if (bound > 0 && cursor.word === word) word++;
      else if (bound > 0 && cursor.word > word) word = Number.NEGATIVE_INFINITY;
    }
    if (best === 0 || best < threshold) return false;
    return this.#neededWords === 0 || word === this.#neededWords;
  }

  /** Scores documents that have all words. */
  scoreAll(): void {
    const scores = this.#scores;
    const hits = this.#hits;
    for (const cursor of this.#cursors) {
      if (cursor.bound === 0) continue;
      const { word } = cursor;
      cursor.visit(this.#start, this.#end, (at, score) => {
        if (hits[at] !== word && hits[at] !== word + 1) return;
        if (hits[at] === 0) this.#touched[this.#touchedCount++] = at;
        hits[at] = word + 1;
        scores[at] += score;
      });
    }
  }

  /** Scores documents that have any token. */
  scoreAny(threshold: number): void {
    const scores = this.#scores;
    const hits = this.#hits;
    const cursors = this.#cursors.filter(({ bound }) => bound > 0);
    if (threshold > 0) cursors.sort((a, b) => b.bound - a.bound);
    let rest = cursors.reduce((sum, { bound }) => sum + bound, 0);
    for (const cursor of cursors) {
      if (rest >= threshold) {
        cursor.visit(this.#start, this.#end, (at, score) => {
          if (hits[at] === 0) {
            hits[at] = 1;
            this.#touched[this.#touchedCount++] = at;
          }
          scores[at] += score;
        });
      } else {
        // A document that has only this token and the next ones is not good enough.
        if (!this.#reaches(threshold - rest)) return;
        cursor.visit(this.#start, this.#end, (at, score) => {
          if (hits[at] > 0) scores[at] += score;
        });
      }
      rest -= cursor.bound;
    }
  }

  #reaches(score: number): boolean {
    for (let index = 0; index < this.#touchedCount; index++) {
      if (this.#scores[this.#touched[index]] >= score) return true;
    }
    return false;
  }

  /** Hands on the documents that are good enough, and forgets all. */
  handOn(sink: DocumentSink): void {
    const needed = Math.max(1, this.#neededWords);
    for (let index = 0; index < this.#touchedCount; index++) {
      const at = this.#touched[index];
      const score = this.#scores[at];
      if (this.#hits[at] === needed && score >= sink.threshold) sink.add(this.#start + at, score);
      this.#scores[at] = 0;
      this.#hits[at] = 0;
    }
    this.#touchedCount = 0;
  }
}

/** Goes through the documents of a token. */
class Cursor {
  readonly word: number;
  /** No document of the window has a higher score for the token; 0 where none has it. */
  bound = 0;
  readonly #list: PostingList;
  readonly #lengths: Uint32Array;
  readonly #documents: Uint32Array;
  readonly #frequencies: Uint32Array;
  readonly #factor: number;
  readonly #base: number;
  readonly #perToken: number;
  readonly #boundFactor: number;
  readonly #highest: number;
  #block = 0;
  #unpacked = -1;
  #size = 0;

  constructor({ word, list, weight }: ScoredTerm, { corpus, own, lengths }: DocumentQuery) {
    this.word = word;
    this.#list = list;
    this.#lengths = lengths;
    this.#documents = new Uint32Array(list.blockSize);
    this.#frequencies = new Uint32Array(list.blockSize);
    this.#factor = weight * (K1 + 1);
    const { base, perToken } = lengthTerms(corpus);
    this.#base = base;
    this.#perToken = perToken;
    this.#highest = this.#factor * SLACK;
    // Scores of the file are among the documents of the partition. Where texts are longer on average in all that is
    // searched, those of the partition count as shorter than they did when the scores were made: by this factor at most.
    const shorter = Math.max(1, perToken === 0 ? 1 : lengthTerms(own).perToken / perToken);
    const ownWeight = wordWeight(own.documents, list.count);
    this.#boundFactor = ownWeight > 0 ? (weight / ownWeight) * shorter * SLACK : Number.POSITIVE_INFINITY;
  }

  /** Sets the bound for a window that comes after the one before. */
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

  /** Calls `use` with the place in the window, and the score, of each document that has the token. */
  visit(start: number, end: number, use: (at: number, score: number) => void): void {
    const { firsts, blockCount } = this.#list;
    const documents = this.#documents;
    const frequencies = this.#frequencies;
    for (let block = this.#block; block < blockCount && firsts[block] < end; block++) {
      if (block !== this.#unpacked) {
        this.#size = this.#list.read(block, this);
        this.#unpacked = block;
      }
      const size = this.#size;
      for (
        let index = documents[0] >= start ? 0 : lowerBound(documents.subarray(0, size), start);
        index < size && documents[index] < end;
        index++
      ) {
        const document = documents[index];
        const frequency = frequencies[index];
        const norm = this.#base + this.#perToken * this.#lengths[document];
        use(document - start, (this.#factor * frequency) / (frequency + norm));
      }
    }
  }

  get documents(): Uint32Array {
    return this.#documents;
  }

  get frequencies(): Uint32Array {
    return this.#frequencies;
  }
}
