/**
 * Scores the documents of a partition for some tokens, a window of documents after the other. What the blocks of
 * postings say of their highest scores tells which windows hold no document that is good enough: their blocks are not
 * unpacked. In the other windows, tokens that can't lift a document far enough by themselves are looked at last, and
 * only for documents that others have found. Of most documents of a frequent token, the byte of their share (score.ts)
 * tells that they are not good enough.
 */

import { breathe, Pace } from "../../async/eventLoop.js";
import type { PostingArrays } from "./postingBlocks.js";
import { type BlockView, type DocumentLengths, documentAt, type PostingList } from "./postingList.js";
import { type Corpus, K1, lengthTerms, lowShare, wordWeight } from "./score.js";

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
  /** @param places where the list of each term has the document, in memory that is used again; left out where not known */
  add(document: number, score: number, places?: Uint32Array): void;
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

/** Documents of a window, at the least and at the most. */
const SMALL_WINDOW = 2048;
const LARGE_WINDOW = 8192;
/** Documents of a window that have the most frequent token, about: what is known of blocks is to tell of few of them. */
const WINDOW_POSTINGS = 512;
/** Documents that are scored between two looks at the clock. */
const SCORED_DOCUMENTS = 4096;
/** Windows that are passed over between two looks at the clock. */
const PASSED_WINDOWS = 64;
/** Blocks whose documents are looked up between two looks at the clock. */
const SCORED_BLOCKS = 16;
/** Blocks that are passed over, likewise. */
const PASSED_BLOCKS = 64;
/** Tokens of most queries, at most. */
const FEW_TOKENS = 8;
/** Tokens of a window, or of a query, between two looks at the clock. */
const STEP_TOKENS = 256;
/** Scores in files are single floats, and bounds are sums: what they may lose is added to them. */
const SLACK = 1 + 2 ** -18;

/** Calls the sink with documents whose score is not below its threshold, in no order. */
export async function scoreDocuments(
  query: DocumentQuery,
  sink: DocumentSink,
  signal?: AbortSignal,
): Promise<void> {
  const { neededWords, terms } = query;
  const isOneEach = terms.length === neededWords && terms.every(({ word }, place) => word === place);
  const isOne = terms.length === 1 && neededWords === 0;
  if (isOne || (neededWords > 0 && isOneEach)) return scoreCommon(query, sink, signal);
  const size = windowSize(query);
  const window = new Window(query, await cursorsOf(query), size);
  const count = query.lengths.length;
  // A window takes time for each token, too: it counts as so many documents.
  const perWindow = Math.max(SCORED_DOCUMENTS / PASSED_WINDOWS, terms.length);
  let done = SCORED_DOCUMENTS;
  for (let start = 0; start < count; start += size) {
    const isScored = window.enter(start, Math.min(start + size, count), sink.threshold);
    if (isScored) {
      if (terms.length > STEP_TOKENS) await breathe();
      window.begin(sink.threshold);
      while (!window.score(STEP_TOKENS)) await breathe();
      done += window.handOn(sink);
    }
    done += perWindow;
    if (done < SCORED_DOCUMENTS) continue;
    done = 0;
    signal?.throwIfAborted();
    await breathe();
  }
}

async function cursorsOf(query: DocumentQuery): Promise<Cursor[]> {
  const pace = new Pace(STEP_TOKENS);
  const cursors: Cursor[] = [];
  for (const term of query.terms) {
    cursors.push(new Cursor(term, query));
    if (pace.isStep()) await breathe();
  }
  return cursors;
}

/** Documents of a window: many where tokens are rare. */
function windowSize({ terms, lengths }: DocumentQuery): number {
  let most = 0;
  for (const { list } of terms) most = Math.max(most, list.count);
  const documents = (WINDOW_POSTINGS * lengths.length) / Math.max(1, most);
  return documents >= LARGE_WINDOW
    ? LARGE_WINDOW
    : documents >= 2 * SMALL_WINDOW
      ? 2 * SMALL_WINDOW
      : SMALL_WINDOW;
}

/** Calls the sink with the documents that have every token. */
async function scoreCommon(
  query: DocumentQuery,
  sink: DocumentSink,
  signal: AbortSignal | undefined,
): Promise<void> {
  const common = new CommonDocuments(query, await cursorsOf(query));
  // Tokens take time, too: with many of them, there are fewer blocks.
  const perBlock = Math.max(1, query.terms.length / FEW_TOKENS);
  let left = 0;
  for (let block = 0; block < common.blockCount; block++) {
    const isScored = common.score(block, sink);
    left -= isScored ? (perBlock * PASSED_BLOCKS) / SCORED_BLOCKS : perBlock;
    if (left > 0) continue;
    left = PASSED_BLOCKS;
    signal?.throwIfAborted();
    await breathe();
  }
}

/**
 * The documents that have every token: those of the rarest are looked up in the others, the next rarest first. Blocks of
 * it are passed over whose documents are not good enough.
 */
class CommonDocuments {
  readonly #cursors: readonly Cursor[];
  readonly #rarest: Cursor;
  readonly #others: readonly Cursor[];
  /** Tokens of each document. */
  readonly #lengths: Uint32Array;
  /** The score of each token, in the order of the words, and where the rarest and the others have theirs. */
  readonly #scores: Float64Array;
  readonly #place: number;
  readonly #places: readonly number[];
  /** What the others that are left can add to a score. */
  readonly #rest: Float64Array;
  /** Where the list of each token has the document that is looked at. */
  readonly #inLists: Uint32Array;

  /** @param cursors of the tokens, in their order */
  constructor(query: DocumentQuery, cursors: readonly Cursor[]) {
    const byCount = [...cursors].sort((a, b) => a.list.count - b.list.count);
    const numbers = new Map(cursors.map((cursor, number) => [cursor, number]));
    const placeOf = (cursor: Cursor): number => numbers.get(cursor) as number;
    [this.#rarest, ...this.#others] = byCount as [Cursor, ...Cursor[]];
    this.#cursors = cursors;
    this.#lengths = query.lengths;
    this.#scores = new Float64Array(cursors.length);
    this.#place = placeOf(this.#rarest);
    this.#places = this.#others.map(placeOf);
    this.#rest = new Float64Array(cursors.length);
    this.#inLists = new Uint32Array(cursors.length);
  }

  get blockCount(): number {
    return this.#rarest.list.blockCount;
  }

  /** @returns whether the documents of the block were looked at */
  score(block: number, sink: DocumentSink): boolean {
    const { firsts, blockCount, blockSize } = this.#rarest.list;
    const next = block + 1 < blockCount ? firsts[block + 1] : this.#lengths.length;
    let bound = 0;
    for (const cursor of this.#cursors) {
      const own = cursor.enter(firsts[block], next);
      bound = own === 0 ? Number.NEGATIVE_INFINITY : bound + own;
    }
    let { threshold } = sink;
    if (!(bound > 0 && bound >= threshold)) return false;
    const [others, rest, scores, places] = [this.#others, this.#rest, this.#scores, this.#places];
    for (let left = others.length - 1; left >= 0; left--) rest[left] = rest[left + 1] + others[left].bound;
    let low = this.#rarest.lowShare(threshold - rest[0]);
    const { documents, frequencies, start, end } = this.#rarest.view(block);
    const shares = this.#rarest.shares(block, low);
    let bits: Uint32Array | null = null;
    for (let other = others.length - 1; other >= 0; other--) bits = others[other].bits(next);
    const kept = this.#rarest.lengths(block);
    for (let index = start; index < end; index++) {
      if (shares !== null && shares[index] <= low) continue;
      const document = documents[index];
      if (bits !== null && !hasBit(bits, document)) continue;
      const length = kept === null ? this.#lengths[document] : kept[index];
      let reached = this.#rarest.score(frequencies[index], length);
      scores[this.#place] = reached;
      let found = 0;
      while (found < others.length && reached + rest[found] >= threshold) {
        const score = others[found].seek(document, length);
        if (score === 0) break;
        reached += score;
        scores[places[found++]] = score;
      }
      if (found < others.length) continue;
      // In the order of the words, so that the last bit is the same whichever word is the rarest.
      let sum = 0;
      for (let word = 0; word < scores.length; word++) sum += scores[word];
      if (sum < threshold) continue;
      const inLists = this.#inLists;
      inLists[this.#place] = block * blockSize + index - start;
      for (let other = 0; other < others.length; other++) inLists[places[other]] = others[other].place;
      sink.add(document, sum, inLists);
      if (sink.threshold === threshold) continue;
      ({ threshold } = sink);
      low = this.#rarest.lowShare(threshold - rest[0]);
    }
    return true;
  }
}

class Window implements WindowScores {
  readonly #cursors: readonly Cursor[];
  /** The same, in the order of their bounds in the window before. */
  readonly #byBound: Cursor[];
  /** Those that are looked at in the window, in this order, and how many were. */
  #order: readonly Cursor[];
  #next = 0;
  /** What those that are left can add to a score, and the score that documents have to reach. */
  #rest = 0;
  #threshold = 0;
  readonly #neededWords: number;
  readonly scores: Float64Array;
  /** Where all words are needed: how many of the first ones were found. */
  readonly hits: Uint32Array;
  readonly touched: Uint16Array;
  touchedCount = 0;
  readonly #promising: Uint16Array;
  #promisingCount = 0;
  start = 0;
  end = 0;

  /** @param size documents, at most */
  constructor(query: DocumentQuery, cursors: readonly Cursor[], size: number) {
    this.scores = new Float64Array(size);
    this.hits = new Uint32Array(query.neededWords > 0 ? size : 0);
    this.touched = new Uint16Array(size);
    this.#promising = new Uint16Array(size);
    this.#cursors = cursors;
    this.#byBound = [...cursors];
    this.#order = cursors;
    this.#neededWords = query.neededWords;
  }

  /** @returns whether some document of the window may be good enough */
  enter(start: number, end: number, threshold: number): boolean {
    this.start = start;
    this.end = end;
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

  /** Begins to score the documents of the window. @param threshold that they have to reach */
  begin(threshold: number): void {
    this.#order = this.#neededWords > 0 ? this.#cursors : this.#sorted(threshold > 0);
    this.#next = 0;
    this.#threshold = threshold;
    this.#rest = 0;
    for (let place = 0; place < this.#order.length; place++) this.#rest += this.#order[place].bound;
  }

  /** Adds the scores of some more tokens. @returns whether it is done */
  score(tokens: number): boolean {
    const end = Math.min(this.#order.length, this.#next + tokens);
    for (; this.#next < end; this.#next++) {
      const cursor = this.#order[this.#next];
      if (cursor.bound === 0) continue;
      if (this.#neededWords > 0) cursor.addNext(this);
      else if (!this.#scoreAny(cursor)) return true;
    }
    return end === this.#order.length;
  }

  /** Scores documents that have any token. @returns whether other tokens may add something */
  #scoreAny(cursor: Cursor): boolean {
    const threshold = this.#threshold;
    const rest = this.#rest;
    const others = rest - cursor.bound;
    this.#rest = others;
    if (rest >= threshold) cursor.addAll(this, threshold - others);
    else {
      // A document that has only this token and the next ones is not good enough.
      if (!this.#findPromising(threshold - rest)) return false;
      cursor.addToFound(this, this.#promising.subarray(0, this.#promisingCount));
    }
    return true;
  }

  /** The tokens in the order in which they are looked at. @param byBound whether those with the highest bounds come first */
  #sorted(byBound: boolean): readonly Cursor[] {
    if (this.#cursors.length > STEP_TOKENS) {
      const present = this.#cursors.filter(({ bound }) => bound > 0);
      return byBound ? present.sort((a, b) => b.bound - a.bound) : present;
    }
    if (!byBound) return this.#cursors;
    const sorted = this.#byBound;
    for (let place = 1; place < sorted.length; place++) {
      const cursor = sorted[place];
      let at = place;
      for (; at > 0 && sorted[at - 1].bound < cursor.bound; at--) sorted[at] = sorted[at - 1];
      sorted[at] = cursor;
    }
    return sorted;
  }

  /** Finds the documents that have a score at least. @returns whether there are some */
  #findPromising(score: number): boolean {
    let count = 0;
    for (let index = 0; index < this.touchedCount; index++) {
      const at = this.touched[index];
      if (this.scores[at] >= score) this.#promising[count++] = at;
    }
    this.#promisingCount = count;
    return count > 0;
  }

  /** Hands on the documents that are good enough, and forgets all. @returns how many were found */
  handOn(sink: DocumentSink): number {
    const { scores, hits, touched, touchedCount, start } = this;
    const needed = this.#neededWords;
    let { threshold } = sink;
    for (let index = 0; index < touchedCount; index++) {
      const at = touched[index];
      const score = scores[at];
      scores[at] = 0;
      const isFound = needed === 0 || hits[at] === needed;
      if (needed > 0) hits[at] = 0;
      if (score < threshold || !isFound) continue;
      sink.add(start + at, score);
      ({ threshold } = sink);
    }
    this.touchedCount = 0;
    return touchedCount;
  }
}

/** What the documents of a window have, by their places in it. */
interface WindowScores {
  readonly start: number;
  readonly end: number;
  readonly scores: Float64Array;
  readonly hits: Uint32Array;
  readonly touched: Uint16Array;
  touchedCount: number;
}

/** Goes through the documents of a token. */
class Cursor {
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
  /** Where {@link seek} is in the block. */
  #index = 0;
  /** What {@link bits} found last. */
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
  lowShare(score: number): number {
    return lowShare(score, this.#factor);
  }

  /** The shares of the documents of a block; null where they are not kept, or `low` says that all are high enough. */
  shares(block: number, low: number): Uint8Array | null {
    return low < 0 ? null : this.#list.shares(block, this.#terms);
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
    const low = this.lowShare(least);
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
      const shares = this.shares(block, low);
      const kept = this.lengths(block);
      const lengths = kept ?? this.#lengths;
      const from = firstFrom(documents, view, start);
      const isWhole = documents[view.end - 1] < end;
      const behind = isWhole ? view.end : documentAt(documents, from, view.end, end);
      for (let index = from; index < behind; index++) {
        const isLow = shares !== null && shares[index] <= low;
        if (isLow && isFirst) continue;
        const document = documents[index];
        const at = document - start;
        const before = scores[at];
        if (isLow && before === 0) continue;
        const frequency = frequencies[index];
        const length = lengths[kept === null ? document : index];
        // Scores are above 0.
        if (before === 0) touched[count++] = at;
        scores[at] = before + (factor * frequency) / (frequency + base + perToken * length);
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
        const at = wanted[index];
        const document = start + at;
        scores[at] +=
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
        const at = document - start;
        if (scores[at] > 0) scores[at] += this.score(frequencies[index], this.#lengths[document]);
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
        const at = document - start;
        if (hits[at] !== word && hits[at] !== word + 1) continue;
        if (hits[at] === 0) touched[window.touchedCount++] = at;
        hits[at] = word + 1;
        scores[at] += this.score(frequencies[index], this.#lengths[document]);
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
      if (!hasBit(bits, document)) return 0;
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

const hasBit = (bits: Uint32Array, document: number): boolean =>
  ((bits[document >>> 5] >>> (document & 31)) & 1) !== 0;

/** Documents of which so many times as many are in blocks are looked up by themselves. */
const FEW = 16;

/** The index of the first document in a block that is not before another. */
function firstFrom(
  documents: Uint32Array,
  { start, end }: { start: number; end: number },
  from: number,
): number {
  if (documents[start] >= from) return start;
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (documents[middle] < from) low = middle + 1;
    else high = middle;
  }
  return low;
}
