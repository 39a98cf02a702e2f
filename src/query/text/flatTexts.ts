/** Counts query words in texts without index coverage. Scores are known after the last text. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import type { Analyzer } from "../../indexes/text/analyzer.js";
import { isPhrase } from "../../indexes/text/phrases.js";
import { documentTokens } from "../../indexes/text/rowTexts.js";
import { type Corpus, lengthNorm, wordScore, wordWeight } from "../../indexes/text/score.js";
import { type Leaf, needsAll } from "./textQuery.js";

/** Numbers of words between yields. */
const STEP_NUMBERS = 4096;

/** A text with words of the query. */
interface MatchingText {
  readonly address: number;
  readonly length: number;
  /** Frequency of each distinct word. */
  readonly frequencies: Uint32Array;
}

export class FlatTexts {
  readonly #leaf: Leaf;
  readonly #analyzer: Analyzer;
  /** Numbers of the distinct words. */
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #matches: MatchingText[] = [];
  readonly #having: Uint32Array;
  readonly #frequencies: Uint32Array;
  #documents = 0;
  #tokens = 0;

  constructor(leaf: Leaf, analyzer: Analyzer) {
    this.#leaf = leaf;
    this.#analyzer = analyzer;
    const tokens = [...new Set(leaf.words.map(({ token }) => token))];
    this.#numbers = new Map(tokens.map((token, number) => [token, number]));
    this.#having = new Uint32Array(tokens.length);
    this.#frequencies = new Uint32Array(tokens.length);
  }

  *add(address: number, texts: readonly string[]): Steps<void> {
    const frequencies = this.#frequencies.fill(0);
    const isPhraseQuery = this.#leaf.query.kind === "phrase";
    const positions: number[][] = isPhraseQuery ? Array.from(frequencies, () => []) : [];
    let length = 0;
    yield* documentTokens(this.#analyzer, texts, (token, position) => {
      length++;
      const number = this.#numbers.get(token);
      if (number === undefined) return;
      frequencies[number]++;
      if (isPhraseQuery) positions[number].push(position);
    });
    if (length === 0) return;
    this.#documents++;
    this.#tokens += length;
    let present = 0;
    for (const [number, frequency] of frequencies.entries()) {
      if (frequency === 0) continue;
      this.#having[number]++;
      present++;
    }
    if (present === 0 || (needsAll(this.#leaf) && !this.#hasAll(frequencies))) return;
    if (isPhraseQuery && !this.#isPhrase(positions)) return;
    this.#matches.push({ address, length, frequencies: frequencies.slice() });
  }

  /** True if each query position has a word in the text. */
  #hasAll(frequencies: Uint32Array): boolean {
    const { words, wordPositions } = this.#leaf;
    const present = new Set<number>();
    for (const { token, position } of words) {
      if (frequencies[this.#numbers.get(token) as number] > 0) present.add(position);
    }
    return present.size === wordPositions.length;
  }

  #isPhrase(positions: readonly (readonly number[])[]): boolean {
    const { query, words } = this.#leaf;
    const ofWords = words.map(({ token }) => Uint32Array.from(positions[this.#numbers.get(token) as number]));
    return query.kind === "phrase" && isPhrase(words, ofWords, query.slop);
  }

  /** Passes the address and score of each text to `use`, with the statistics of indexed documents. */
  *finish(
    indexed: Corpus,
    indexedHaving: ReadonlyMap<string, number>,
    use: (address: number, score: number) => void,
  ): Steps<void> {
    const pace = new Pace(STEP_NUMBERS);
    const corpus = {
      documents: indexed.documents + this.#documents,
      tokens: indexed.tokens + this.#tokens,
    };
    const weights = new Float64Array(this.#having.length);
    for (const { token } of this.#leaf.words) {
      const number = this.#numbers.get(token) as number;
      // A repeated query word counts twice.
      weights[number] += wordWeight(corpus.documents, this.#having[number] + (indexedHaving.get(token) ?? 0));
    }
    for (const { address, length, frequencies } of this.#matches) {
      const norm = lengthNorm(corpus, length);
      let score = 0;
      for (const [number, frequency] of frequencies.entries()) {
        if (frequency > 0) score += wordScore(weights[number], frequency, norm);
        if (pace.isStep()) yield;
      }
      use(address, score);
    }
  }
}
