/** What is searched for in texts. */

import type { QueryWord } from "../../indexes/text/phrases.js";

/** Words of one column. */
export interface MatchQuery {
  readonly kind: "match";
  /** Path of the column. */
  readonly column: string;
  readonly terms: string;
  readonly boost: number;
  /** Letters by which a word may differ. */
  readonly fuzziness: number;
  /** Most words that such a query is extended to. */
  readonly maxExpansions: number;
  /** Whether all words have to be there. */
  readonly isAll: boolean;
  /** Letters at the start of a word that may not differ. */
  readonly prefixLength: number;
}

/** Words that follow each other. */
export interface PhraseQuery {
  readonly kind: "phrase";
  readonly column: string;
  readonly terms: string;
  /** Words that may lie between two of them. */
  readonly slop: number;
}

export type TextQuery =
  | MatchQuery
  | PhraseQuery
  /** The best score of any. */
  | { readonly kind: "multi"; readonly queries: readonly TextQuery[] }
  /** Rows of the first; their score of the other, times a factor, is taken away. */
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

/** A query of one column, with its words as they are looked up. */
export interface Leaf {
  readonly query: MatchQuery | PhraseQuery;
  readonly words: readonly QueryWord[];
  /** Positions of words; words at the same one stand for each other where all are needed. */
  readonly places: readonly number[];
}

export const textLeaf = (query: Leaf["query"], words: readonly QueryWord[]): Leaf => ({
  query,
  words,
  places: [...new Set(words.map(({ position }) => position))],
});

export const needsAll = ({ query }: Leaf): boolean => query.kind === "phrase" || query.isAll;

/** Paths of the columns that a query searches, one for each of its parts. */
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
