/** Full-text queries. */

import type { QueryWord } from "../../indexes/text/phrases.js";

/** Words in one column. */
export interface MatchQuery {
  readonly kind: "match";
  /** Column path. */
  readonly column: string;
  readonly terms: string;
  readonly boost: number;
  /** Maximum edit distance of a matching word. */
  readonly fuzziness: number;
  /** Maximum number of words that a fuzzy query expands to. */
  readonly maxExpansions: number;
  /** True if all words must match. */
  readonly isAll: boolean;
  /** Number of leading letters that must match exactly. */
  readonly prefixLength: number;
}

/** Consecutive words. */
export interface PhraseQuery {
  readonly kind: "phrase";
  readonly column: string;
  readonly terms: string;
  /** Maximum number of other words between two neighbours. */
  readonly slop: number;
}

export type TextQuery =
  | MatchQuery
  | PhraseQuery
  /** Best score of any part. */
  | { readonly kind: "multi"; readonly queries: readonly TextQuery[] }
  /** Rows of the first part. Their scores in the second part, times a factor, are subtracted. */
  | {
      readonly kind: "boost";
      readonly positive: TextQuery;
      readonly negative: TextQuery;
      readonly negativeBoost: number;
    }
  | {
      readonly kind: "boolean";
      readonly must: readonly TextQuery[];
      readonly should: readonly TextQuery[];
      readonly mustNot: readonly TextQuery[];
    };

/** A query on one column, with its words. */
export interface Leaf {
  readonly query: MatchQuery | PhraseQuery;
  readonly words: readonly QueryWord[];
  /** Query positions. Words at one position are alternatives if all are required. */
  readonly wordPositions: readonly number[];
}

export const textLeaf = (query: Leaf["query"], words: readonly QueryWord[]): Leaf => ({
  query,
  words,
  wordPositions: [...new Set(words.map(({ position }) => position))],
});

export const needsAll = ({ query }: Leaf): boolean => query.kind === "phrase" || query.isAll;

/** Returns the column path of each part of a query. */
export function columnsOf(query: TextQuery): string[] {
  switch (query.kind) {
    case "match":
    case "phrase":
      return [query.column];
    case "multi":
      return query.queries.flatMap(columnsOf);
    case "boost":
      return [query.positive, query.negative].flatMap(columnsOf);
    case "boolean":
      return [...query.must, ...query.should, ...query.mustNot].flatMap(columnsOf);
  }
}
