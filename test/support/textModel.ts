/** A model of text searches that looks at every text. It shares only the scoring formula with the engine. */

import type { StructuredTextQuery } from "tiltyard";
import { lengthNorm, wordScore, wordWeight } from "../../src/indexes/text/score.js";

export interface ModelRow {
  readonly id: number;
  readonly words: readonly string[];
  /** True if the index covers the row; deleted rows stay covered. */
  readonly isIndexed: boolean;
  readonly isAlive: boolean;
}

export interface Match {
  readonly terms: string;
  readonly column: string;
  readonly operator?: "And" | "Or";
  readonly boost?: number;
  readonly fuzziness?: number;
  readonly prefixLength?: number;
  readonly maxExpansions?: number;
}

/** Queries of the model: a part of the engine's. */
export type ModelQuery =
  | { readonly match: Match }
  | { readonly phrase: { readonly terms: string; readonly column: string; readonly slop: number } }
  | {
      readonly boost: {
        readonly positive: ModelQuery;
        readonly negative: ModelQuery;
        readonly negativeBoost: number;
      };
    }
  | { readonly multiMatch: { readonly matchQueries: Match[] } }
  | {
      readonly boolean: {
        readonly must: ModelQuery[];
        readonly should: ModelQuery[];
        readonly mustNot: ModelQuery[];
      };
    };

/** Proves by type that the engine accepts the query. */
export const asked = (query: ModelQuery): StructuredTextQuery => query;

type Scores = Map<number, number>;

export class TextModel {
  readonly #indexed: readonly ModelRow[];
  /** Uncovered rows; their number affects scores. */
  readonly #others: readonly ModelRow[];
  readonly #selected: readonly ModelRow[];

  /** @param isSelected rows that may be found */
  constructor(rows: readonly ModelRow[], isSelected: (row: ModelRow) => boolean, isFast: boolean) {
    const withWords = rows.filter(({ words }) => words.length > 0);
    this.#indexed = withWords.filter(({ isIndexed }) => isIndexed);
    this.#others = withWords.filter((row) => !isFast && !row.isIndexed && row.isAlive && isSelected(row));
    this.#selected = [...this.#indexed.filter((row) => row.isAlive && isSelected(row)), ...this.#others];
  }

  search(query: ModelQuery): Scores {
    if ("match" in query) return this.#match(query.match);
    if ("phrase" in query) return this.#phrase(query.phrase);
    if ("multiMatch" in query) {
      const parts = query.multiMatch.matchQueries.map((each) => this.#match(each));
      return combined(parts, (partScores) => Math.max(...partScores));
    }
    if ("boost" in query) {
      const { positive, negative, negativeBoost } = query.boost;
      const taken = this.search(negative);
      const matches = this.search(positive);
      return new Map([...matches].map(([id, score]) => [id, score - negativeBoost * (taken.get(id) ?? 0)]));
    }
    return this.#boolean(query.boolean);
  }

  #boolean({ must, should, mustNot }: Extract<ModelQuery, { boolean: unknown }>["boolean"]): Scores {
    const required = must.map((each) => this.search(each));
    const optional = should.map((each) => this.search(each));
    const forbidden = mustNot.map((each) => this.search(each));
    const all = combined([...required, ...optional], (scores) =>
      scores.reduce((sum, score) => sum + score, 0),
    );
    for (const id of [...all.keys()]) {
      const isWanted = required.every((scores) => scores.has(id));
      if (!isWanted || forbidden.some((scores) => scores.has(id))) all.delete(id);
    }
    return all;
  }

  #match({ terms, operator, boost = 1, fuzziness = 0, prefixLength = 0, maxExpansions = 50 }: Match): Scores {
    const words = terms.split(" ");
    const scores: Scores = new Map();
    const tokensOf = fuzziness > 0 ? this.#alike(words, fuzziness, prefixLength, maxExpansions) : null;
    for (const row of this.#selected) {
      const rowTokens = row.isIndexed && tokensOf !== null ? tokensOf : words.map((word) => [word]);
      const has = rowTokens.map((tokens) => tokens.some((token) => row.words.includes(token)));
      if (operator === "And" ? !has.every(Boolean) : !has.some(Boolean)) continue;
      scores.set(row.id, boost * this.#score(row, rowTokens.flat()));
    }
    return scores;
  }

  /** Returns similar tokens of the index per word, in text order, for the first words first. */
  #alike(words: readonly string[], fuzziness: number, prefixLength: number, most: number): string[][] {
    const tokens = [...new Set(this.#indexed.flatMap((row) => row.words))].sort();
    let left = most;
    return words.map((word) => {
      const prefix = word.slice(0, prefixLength);
      const alike = tokens.filter((token) => token.startsWith(prefix) && distance(word, token) <= fuzziness);
      const taken = alike.slice(0, left);
      left -= taken.length;
      return taken;
    });
  }

  #phrase({ terms, slop }: { readonly terms: string; readonly slop: number }): Scores {
    const words = terms.split(" ");
    const rows = this.#selected.filter((row) => hasPhrase(row.words, words, slop));
    return new Map(rows.map((row) => [row.id, this.#score(row, words)]));
  }

  #score({ words, isIndexed }: ModelRow, tokens: readonly string[]): number {
    const counted = isIndexed ? this.#indexed : [...this.#indexed, ...this.#others];
    const corpus = {
      documents: counted.length,
      tokens: counted.reduce((sum, row) => sum + row.words.length, 0),
    };
    const norm = lengthNorm(corpus, words.length);
    return tokens.reduce((sum, token) => {
      const frequency = words.filter((each) => each === token).length;
      if (frequency === 0) return sum;
      const weight = wordWeight(corpus.documents, counted.filter((row) => row.words.includes(token)).length);
      return sum + wordScore(weight, frequency, norm);
    }, 0);
  }
}

/** Unites parts and joins their scores. */
function combined(parts: readonly Scores[], join: (scores: number[]) => number): Scores {
  const ids = new Set(parts.flatMap((part) => [...part.keys()]));
  const scoresOf = (id: number) => parts.flatMap((part) => part.get(id) ?? []);
  return new Map([...ids].map((id) => [id, join(scoresOf(id))]));
}

/** True if the words follow each other with at most `slop` words in between. */
function hasPhrase(words: readonly string[], phrase: readonly string[], slop: number): boolean {
  const goesOn = (index: number, word: number): boolean =>
    word === phrase.length ||
    words
      .slice(index, index + slop + 1)
      .some((each, skipped) => each === phrase[word] && goesOn(index + skipped + 1, word + 1));
  return words.some((each, index) => each === phrase[0] && goesOn(index + 1, 1));
}

/** Edit distance: letters added, left out or replaced. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let from = 0; from < a.length; from++) {
    const next = [from + 1];
    for (let index = 0; index < b.length; index++) {
      next.push(Math.min(row[index] + (a[from] === b[index] ? 0 : 1), row[index + 1] + 1, next[index] + 1));
    }
    row = next;
  }
  return row[b.length];
}
