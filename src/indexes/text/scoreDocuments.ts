/**
 * Scores the documents of a partition, window by window. Maximum scores of blocks exclude whole windows,
 * whose blocks stay packed. In other windows, tokens whose bound is too low to reach the threshold come last,
 * and only for documents with other tokens. Impact bytes (score.ts) exclude most documents of a frequent
 * token.
 */

import { Pace, yieldToEventLoop } from "../../async/eventLoop.js";
import { hasDocument } from "./postingList.js";
import { type DocumentQuery, TokenCursor, type WindowScores } from "./tokenCursor.js";

export interface DocumentSink {
  /** Minimum score of useful documents. */
  readonly threshold: number;
  /**
   * Adds a document. @param listIndices its index in each term's list, in reused memory; absent if unknown
   */
  add(document: number, score: number, listIndices?: Uint32Array): void;
}

/** Bounds of the window size. */
const SMALL_WINDOW = 2048;
const LARGE_WINDOW = 8192;
/** Target number of postings per window of the most frequent token, so that block scores span few blocks. */
const WINDOW_POSTINGS = 512;
/** Scored documents between yields. */
const SCORED_DOCUMENTS = 4096;
/** Skipped windows between yields. */
const PASSED_WINDOWS = 64;
/** Scored blocks between yields. */
const SCORED_BLOCKS = 16;
/** Skipped blocks between yields. */
const PASSED_BLOCKS = 64;
/** Tokens of a typical query. */
const FEW_TOKENS = 8;
/** Tokens of a window, or a query, between yields. */
const STEP_TOKENS = 256;

/** Passes documents that reach the sink's threshold to it, in any order. */
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
  // A window costs time per token, so it counts as documents.
  const perWindow = Math.max(SCORED_DOCUMENTS / PASSED_WINDOWS, terms.length);
  let done = SCORED_DOCUMENTS;
  for (let start = 0; start < count; start += size) {
    const isScored = window.enter(start, Math.min(start + size, count), sink.threshold);
    if (isScored) {
      if (terms.length > STEP_TOKENS) await yieldToEventLoop();
      window.begin(sink.threshold);
      while (!window.score(STEP_TOKENS)) await yieldToEventLoop();
      done += window.flush(sink);
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

/** Returns the window size: larger for rare tokens. */
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

/** Passes the documents that contain every token. */
async function scoreCommon(
  query: DocumentQuery,
  sink: DocumentSink,
  signal: AbortSignal | undefined,
): Promise<void> {
  const common = new CommonDocuments(query, await cursorsOf(query));
  // Blocks cost time per token too.
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
 * Documents that contain every token. Those of the rarest token are looked up in the others, next rarest
 * first. Blocks below the threshold are skipped.
 */
class CommonDocuments {
  readonly #cursors: readonly TokenCursor[];
  readonly #rarest: TokenCursor;
  readonly #others: readonly TokenCursor[];
  /** Number of tokens of each document. */
  readonly #lengths: Uint32Array;
  /** Score of each token in word order, and the indices of the rarest and the other tokens in it. */
  readonly #scores: Float64Array;
  readonly #rarestIndex: number;
  readonly #otherIndices: readonly number[];
  /** Sum of the bounds of the remaining tokens. */
  readonly #rest: Float64Array;
  /** List index of the current document for each token. */
  readonly #listIndices: Uint32Array;

  /** @param cursors of the tokens, in order */
  constructor(query: DocumentQuery, cursors: readonly TokenCursor[]) {
    const byCount = [...cursors].sort((a, b) => a.list.count - b.list.count);
    const numbers = new Map(cursors.map((cursor, number) => [cursor, number]));
    const indexOf = (cursor: TokenCursor): number => numbers.get(cursor) as number;
    [this.#rarest, ...this.#others] = byCount as [TokenCursor, ...TokenCursor[]];
    this.#cursors = cursors;
    this.#lengths = query.lengths;
    this.#scores = new Float64Array(cursors.length);
    this.#rarestIndex = indexOf(this.#rarest);
    this.#otherIndices = this.#others.map(indexOf);
    this.#rest = new Float64Array(cursors.length);
    this.#listIndices = new Uint32Array(cursors.length);
  }

  get blockCount(): number {
    return this.#rarest.list.blockCount;
  }

  /** @returns false if the block is skipped */
  score(block: number, sink: DocumentSink): boolean {
    const { firsts, blockCount, blockSize } = this.#rarest.list;
    const next = block + 1 < blockCount ? firsts[block + 1] : this.#lengths.length;
    let bound = 0;
    for (const cursor of this.#cursors) {
      const cursorBound = cursor.enter(firsts[block], next);
      bound = cursorBound === 0 ? Number.NEGATIVE_INFINITY : bound + cursorBound;
    }
    let { threshold } = sink;
    if (!(bound > 0 && bound >= threshold)) return false;
    const [others, rest, scores, otherIndices] = [this.#others, this.#rest, this.#scores, this.#otherIndices];
    for (let left = others.length - 1; left >= 0; left--) rest[left] = rest[left + 1] + others[left].bound;
    let low = this.#rarest.lowImpact(threshold - rest[0]);
    const { documents, frequencies, start, end } = this.#rarest.view(block);
    const impacts = this.#rarest.impacts(block, low);
    // All other tokens load their bits; the bits of the next rarest token filter the documents.
    let bits: Uint32Array | null = null;
    for (let index = others.length - 1; index >= 0; index--) bits = others[index].bits(next);
    const kept = this.#rarest.lengths(block);
    for (let index = start; index < end; index++) {
      if (impacts !== null && impacts[index] <= low) continue;
      const document = documents[index];
      if (bits !== null && !hasDocument(bits, document)) continue;
      const length = kept === null ? this.#lengths[document] : kept[index];
      let partialScore = this.#rarest.score(frequencies[index], length);
      scores[this.#rarestIndex] = partialScore;
      let matched = 0;
      while (matched < others.length && partialScore + rest[matched] >= threshold) {
        const score = others[matched].seek(document, length);
        if (score === 0) break;
        partialScore += score;
        scores[otherIndices[matched++]] = score;
      }
      if (matched < others.length) continue;
      // Summed in word order, so that the result does not depend on the rarest word.
      let sum = 0;
      for (let word = 0; word < scores.length; word++) sum += scores[word];
      if (sum < threshold) continue;
      const listIndices = this.#listIndices;
      listIndices[this.#rarestIndex] = block * blockSize + index - start;
      for (let slot = 0; slot < others.length; slot++)
        listIndices[otherIndices[slot]] = others[slot].listIndex;
      sink.add(document, sum, listIndices);
      if (sink.threshold === threshold) continue;
      ({ threshold } = sink);
      low = this.#rarest.lowImpact(threshold - rest[0]);
    }
    return true;
  }
}

class Window implements WindowScores {
  readonly #cursors: readonly TokenCursor[];
  /** Cursors in the order of their bounds in the last window. */
  readonly #byBound: TokenCursor[];
  /** Cursors to visit in this window, and the number visited. */
  #order: readonly TokenCursor[];
  #next = 0;
  /** Sum of the bounds of the remaining cursors, and the score to reach. */
  #rest = 0;
  #threshold = 0;
  readonly #neededWords: number;
  readonly scores: Float64Array;
  /** Number of leading words found, if all words are required. */
  readonly hits: Uint32Array;
  readonly touched: Uint16Array;
  touchedCount = 0;
  readonly #promising: Uint16Array;
  #promisingCount = 0;
  start = 0;
  end = 0;

  /** @param size maximum number of documents */
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

  /** @returns true if a document of the window may reach the threshold */
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

  /** Starts scoring the window. @param threshold score to reach */
  begin(threshold: number): void {
    this.#order = this.#neededWords > 0 ? this.#cursors : this.#sorted(threshold > 0);
    this.#next = 0;
    this.#threshold = threshold;
    this.#rest = 0;
    for (let position = 0; position < this.#order.length; position++)
      this.#rest += this.#order[position].bound;
  }

  /** Adds the scores of further tokens. @returns true when done */
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

  /** Scores documents with any token. @returns false if the remaining tokens cannot matter */
  #scoreAny(cursor: TokenCursor): boolean {
    const threshold = this.#threshold;
    const rest = this.#rest;
    const others = rest - cursor.bound;
    this.#rest = others;
    if (rest >= threshold) cursor.addAll(this, threshold - others);
    else {
      // Documents with only this token and later ones stay below the threshold.
      if (!this.#findPromising(threshold - rest)) return false;
      cursor.addToTouched(this, this.#promising.subarray(0, this.#promisingCount));
    }
    return true;
  }

  /** Returns the cursors in visiting order. @param byBound true to order by descending bound */
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

  /** Collects the documents with at least this score. @returns true if there are any */
  #findPromising(score: number): boolean {
    let count = 0;
    for (let index = 0; index < this.touchedCount; index++) {
      const slot = this.touched[index];
      if (this.scores[slot] >= score) this.#promising[count++] = slot;
    }
    this.#promisingCount = count;
    return count > 0;
  }

  /** Passes on the documents above the threshold. @returns the number of documents touched */
  flush(sink: DocumentSink): number {
    const { scores, hits, touched, touchedCount, start } = this;
    const needed = this.#neededWords;
    let { threshold } = sink;
    for (let index = 0; index < touchedCount; index++) {
      const slot = touched[index];
      const score = scores[slot];
      scores[slot] = 0;
      const isMatch = needed === 0 || hits[slot] === needed;
      if (needed > 0) hits[slot] = 0;
      if (score < threshold || !isMatch) continue;
      sink.add(start + slot, score);
      ({ threshold } = sink);
    }
    this.touchedCount = 0;
    return touchedCount;
  }
}
