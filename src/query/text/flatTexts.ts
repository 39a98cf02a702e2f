/** Counts the words of a query in texts that no index covers. Scores are known once all texts were seen. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import type { Analyzer } from "../../indexes/text/analyzer.js";
import { isPhrase } from "../../indexes/text/phrases.js";
import { documentTokens } from "../../indexes/text/rowTexts.js";
import { type Corpus, lengthNorm, wordScore, wordWeight } from "../../indexes/text/score.js";
import { type Leaf, needsAll } from "./textQuery.js";

/** Numbers of words between two looks at the clock. */
const STEP_NUMBERS = 4096;

/** A text that has words of the query. */
interface FoundText {
  readonly address: number;
  readonly length: number;
  /** Of each different word. */
  readonly frequencies: Uint32Array;
}

export class FlatTexts {
  readonly #leaf: Leaf;
  readonly #analyzer: Analyzer;
  /** Numbers of the different words. */
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #found: FoundText[] = [];
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
    this.#found.push({ address, length, frequencies: frequencies.slice() });
  }

  /** Whether there is a word of each place. */
  #hasAll(frequencies: Uint32Array): boolean {
    const { words, places } = this.#leaf;
    const found = new Set<number>();
    for (const { token, position } of words) {
      if (frequencies[this.#numbers.get(token) as number] > 0) found.add(position);
    }
    return found.size === places.length;
  }

  #isPhrase(positions: readonly (readonly number[])[]): boolean {
    const { query, words } = this.#leaf;
    const ofWords = words.map(({ token }) => Uint32Array.from(positions[this.#numbers.get(token) as number]));
    return query.kind === "phrase" && isPhrase(words, ofWords, query.slop);
  }

  /**
   * Calls `use` with the address and the score of each text.
   * @param indexed what indexes hold besides
   */
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
      // A word that is given twice counts twice.
      weights[number] += wordWeight(corpus.documents, this.#having[number] + (indexedHaving.get(token) ?? 0));
    }
    for (const { address, length, frequencies } of this.#found) {
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
