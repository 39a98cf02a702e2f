/** Types of text queries. */

/**
 * A text query: a string of words, or a structured query.
 *
 *     { stringQuery: { query: "puppy training", columns: ["title", "body"] } }
 *     { structuredQuery: { query: { match: { column: "body", terms: "puppy training", operator: "And" } } } }
 *
 * Rows get the column `_score` (float32). The best rows come first; equal scores keep the order on disk. The
 * score is BM25 over the rows that the index covers; rows that it does not cover are scored together with
 * them. A named column without an index is scanned, and its words are compared without stemming.
 */
export interface FullTextQuery {
  /** Words, at least one of which must occur. Quotes and operators have no meaning. */
  readonly stringQuery?:
    | {
        /** Words to search, separated by spaces. */
        readonly query: string;
        /** Paths of columns. Default: all indexed columns. */
        readonly columns?: readonly string[] | undefined;
      }
    | undefined;
  /** Query as a tree. Not allowed with `stringQuery`. */
  readonly structuredQuery?:
    | {
        /** Root of the tree. */
        readonly query: StructuredTextQuery;
      }
    | undefined;
}

/** One kind of query. Members may also be in snake_case, as on the wire. */
export type StructuredTextQuery =
  | {
      /** Matches words. */
      readonly match: MatchTextQuery;
    }
  | {
      /** Matches consecutive words. */
      readonly phrase: PhraseTextQuery;
    }
  | {
      /** Matches one query and lowers the score of rows that match another one. */
      readonly boost: BoostTextQuery;
    }
  | {
      /** Matches words in several columns; the best score counts. */
      readonly multiMatch: MultiMatchTextQuery;
    }
  | {
      /** Combines several queries. */
      readonly boolean: BooleanTextQuery;
    };

/** A query for words in one column. */
export interface MatchTextQuery {
  /** Words to search. */
  readonly terms: string;
  /** Path of the column. Default: all indexed columns; the best score counts. */
  readonly column?: string | undefined;
  /** `And` requires all words, `Or` (default) any of them; in any case. */
  readonly operator?: "Or" | "And" | "OR" | "AND" | "or" | "and" | undefined;
  /** Factor of the score. Default: 1. */
  readonly boost?: number | undefined;
  /**
   * Maximum number of letters that may be inserted, deleted or replaced in a word, ≥ 0. Above 0, words are
   * not stemmed. Rows without an index are searched for the exact words. Default: 0.
   */
  readonly fuzziness?: number | undefined;
  /** Number of leading letters that must be equal. Default: 0. */
  readonly prefixLength?: number | undefined;
  /** Maximum number of words that a fuzzy word expands to. Default: 50. */
  readonly maxExpansions?: number | undefined;
}

/** A query for consecutive words. An index on the column must have positions (`withPosition`). */
export interface PhraseTextQuery {
  /** Words of the phrase in order. */
  readonly terms: string;
  /** Path of the column. Default: all indexed columns, which must have positions; the best score counts. */
  readonly column?: string | undefined;
  /** Maximum number of words between two words of the phrase. Default: 0. */
  readonly slop?: number | undefined;
}

/** A query whose rows get a lower score if they also match a second query. */
export interface BoostTextQuery {
  /** Query that selects the rows. */
  readonly positive: StructuredTextQuery;
  /** Query whose score, times `negativeBoost`, is subtracted. */
  readonly negative: StructuredTextQuery;
  /** Factor of the negative score. Default: 0.5. */
  readonly negativeBoost?: number | undefined;
}

/** A query for words in several columns; the best score counts. */
export interface MultiMatchTextQuery {
  /** Queries of the columns. */
  readonly matchQueries: readonly MatchTextQuery[];
}

/** A combination of queries. The scores of `must` and `should` are added. */
export interface BooleanTextQuery {
  /** Queries that must all match. */
  readonly must?: readonly StructuredTextQuery[] | undefined;
  /** Queries, at least one of which must match if there is no `must`. */
  readonly should?: readonly StructuredTextQuery[] | undefined;
  /** Queries that must not match. */
  readonly mustNot?: readonly StructuredTextQuery[] | undefined;
}
