/**
 * Scores the documents of a partition for some tokens, a window of documents after the other. What the blocks of
 * postings say of their highest scores tells which windows hold no document that is good enough: their blocks are not
 * unpacked. In the other windows, tokens that can't lift a document far enough by themselves are looked at last, and
 * only for documents that others have found. Of most documents of a frequent token, the byte of their share (score.ts)
 * tells that they are not good enough.
 */

import { Pace, yieldToEventLoop } from "../../async/eventLoop.js";
import { hasDocument } from "./postingList.js";
import { type DocumentQuery, TokenCursor, type WindowScores } from "./tokenCursor.js";

export interface DocumentSink {
  /** Documents with a lower score are of no use. */
  readonly threshold: number;
  /** @param places where the list of each term has the document, in memory that is used again; left out where not known */
  add(document: number, score: number, places?: Uint32Array): void;
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

/** Calls the sink with documents whose score is not below its threshold, in no order. */
export async function scoreDocuments(
  query: DocumentQuery,
  sink: DocumentSink,
  signal?: AbortSignal,
): Promise<void> {
  const { neededWords, terms } = query;
  const isOneEach = terms.length === neededWords && terms.every(({ word }, position) => word === position);
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
      if (terms.length > STEP_TOKENS) await yieldToEventLoop();
      window.begin(sink.threshold);
      while (!window.score(STEP_TOKENS)) await yieldToEventLoop();
      done += window.handOn(sink);
    }
    done += perWindow;
    if (done < SCORED_DOCUMENTS) continue;
    done = 0;
    signal?.throwIfAborted();
    await yieldToEventLoop();
  }
}

async function cursorsOf(query: DocumentQuery): Promise<TokenCursor[]> {
  const pace = new Pace(STEP_TOKENS);
  const cursors: TokenCursor[] = [];
  for (const term of query.terms) {
    cursors.push(new TokenCursor(term, query));
    if (pace.isStep()) await yieldToEventLoop();
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
    await yieldToEventLoop();
  }
}

/**
 * The documents that have every token: those of the rarest are looked up in the others, the next rarest first. Blocks of
 * it are passed over whose documents are not good enough.
 */
class CommonDocuments {
  readonly #cursors: readonly TokenCursor[];
  readonly #rarest: TokenCursor;
  readonly #others: readonly TokenCursor[];
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
  constructor(query: DocumentQuery, cursors: readonly TokenCursor[]) {
    const byCount = [...cursors].sort((a, b) => a.list.count - b.list.count);
    const numbers = new Map(cursors.map((cursor, number) => [cursor, number]));
    const placeOf = (cursor: TokenCursor): number => numbers.get(cursor) as number;
    [this.#rarest, ...this.#others] = byCount as [TokenCursor, ...TokenCursor[]];
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
    let low = this.#rarest.lowImpact(threshold - rest[0]);
    const { documents, frequencies, start, end } = this.#rarest.view(block);
    const impacts = this.#rarest.impacts(block, low);
    // All of the others know their bits then; those of the first, which is the next rarest, sift.
    let bits: Uint32Array | null = null;
    for (let other = others.length - 1; other >= 0; other--) bits = others[other].bits(next);
    const kept = this.#rarest.lengths(block);
    for (let index = start; index < end; index++) {
      if (impacts !== null && impacts[index] <= low) continue;
      const document = documents[index];
      if (bits !== null && !hasDocument(bits, document)) continue;
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
      low = this.#rarest.lowImpact(threshold - rest[0]);
    }
    return true;
  }
}

class Window implements WindowScores {
  readonly #cursors: readonly TokenCursor[];
  /** The same, in the order of their bounds in the window before. */
  readonly #byBound: TokenCursor[];
  /** Those that are looked at in the window, in this order, and how many were. */
  #order: readonly TokenCursor[];
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
  constructor(query: DocumentQuery, cursors: readonly TokenCursor[], size: number) {
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
    for (let position = 0; position < this.#order.length; position++)
      this.#rest += this.#order[position].bound;
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
  #scoreAny(cursor: TokenCursor): boolean {
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
  #sorted(byBound: boolean): readonly TokenCursor[] {
    if (this.#cursors.length > STEP_TOKENS) {
      const present = this.#cursors.filter(({ bound }) => bound > 0);
      return byBound ? present.sort((a, b) => b.bound - a.bound) : present;
    }
    if (!byBound) return this.#cursors;
    const sorted = this.#byBound;
    for (let position = 1; position < sorted.length; position++) {
      const cursor = sorted[position];
      let index = position;
      for (; index > 0 && sorted[index - 1].bound < cursor.bound; index--) sorted[index] = sorted[index - 1];
      sorted[index] = cursor;
    }
    return sorted;
  }

  /** Finds the documents that have a score at least. @returns whether there are some */
  #findPromising(score: number): boolean {
    let count = 0;
    for (let index = 0; index < this.touchedCount; index++) {
      const slot = this.touched[index];
      if (this.scores[slot] >= score) this.#promising[count++] = slot;
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
      const slot = touched[index];
      const score = scores[slot];
      scores[slot] = 0;
      const isFound = needed === 0 || hits[slot] === needed;
      if (needed > 0) hits[slot] = 0;
      if (score < threshold || !isFound) continue;
      sink.add(start + slot, score);
      ({ threshold } = sink);
    }
    this.touchedCount = 0;
    return touchedCount;
  }
}
