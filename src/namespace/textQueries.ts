/** What is searched for in texts. */

/**
 * A search for words: a text of words, or a structured query.
 *
 *     { stringQuery: { query: "puppy training", columns: ["title", "body"] } }
 *     { structuredQuery: { query: { match: { column: "body", terms: "puppy training", operator: "And" } } } }
 *
 * Rows come with the column `_score` (float32), the best first; rows of equal scores in the order in which they lie on
 * disk. The score is BM25, among the rows that the index covers; rows that it does not cover are scored among these and
 * themselves. A column that is named and has no index is read whole, and its words are compared as they are.
 */
export interface FullTextQuery {
  /** Words, of which a row has to have any, and the columns to search. Quotes and operators mean nothing in it. */
  readonly stringQuery?:
    | {
        /** The words. */
        readonly query: string;
        /** Paths of columns. Default: all that are indexed. */
        readonly columns?: readonly string[] | undefined;
      }
    | undefined;
  /** A query as a tree. Excludes `stringQuery`. */
  readonly structuredQuery?:
    | {
        /** The query. */
        readonly query: StructuredTextQuery;
      }
    | undefined;
}

/** One of several kinds of queries; members may also be spelled with underscores, as on the wire. */
export type StructuredTextQuery =
  | {
      /** Words. */
      readonly match: MatchTextQuery;
    }
  | {
      /** Words that follow each other. */
      readonly phrase: PhraseTextQuery;
    }
  | {
      /** Rows of one query, some of them lower. */
      readonly boost: BoostTextQuery;
    }
  | {
      /** The best of several columns. */
      readonly multiMatch: MultiMatchTextQuery;
    }
  | {
      /** Several queries. */
      readonly boolean: BooleanTextQuery;
    };

/** Words of one column. */
export interface MatchTextQuery {
  /** The words. */
  readonly terms: string;
  /** Path of the column. Default: all that are indexed; the best of them counts. */
  readonly column?: string | undefined;
  /** Whether a row has to have all words, or any; in any case. Default `Or`. */
  readonly operator?: "Or" | "And" | "OR" | "AND" | "or" | "and" | undefined;
  /** What scores are multiplied by. Default 1. */
  readonly boost?: number | undefined;
  /**
   * Letters that may be added, left out or replaced in a word, ≥ 0. Where it is above 0, words are not stemmed. Rows that
   * no index covers are searched for the words as they are. Default 0.
   */
  readonly fuzziness?: number | undefined;
  /** Letters at the start of a word that have to be the same. Default 0. */
  readonly prefixLength?: number | undefined;
  /** Most words that a word stands for where `fuzziness` is above 0. Default 50. */
  readonly maxExpansions?: number | undefined;
}

/** Words that follow each other. An index on the column needs positions (`withPosition`). */
export interface PhraseTextQuery {
  /** The words. */
  readonly terms: string;
  /** Path of the column. Default: all that are indexed, which all need positions then; the best of them counts. */
  readonly column?: string | undefined;
  /** Words that may lie between two of them. Default 0. */
  readonly slop?: number | undefined;
}

/** Rows that match one query; those that match another one too come later. */
export interface BoostTextQuery {
  /** Rows are found by this. */
  readonly positive: StructuredTextQuery;
  /** What its score is multiplied by, and taken away. */
  readonly negative: StructuredTextQuery;
  /** The factor of that. Default 0.5. */
  readonly negativeBoost?: number | undefined;
}

/** Words in several columns, most often the same; the best score counts. */
export interface MultiMatchTextQuery {
  /** One for each column, as they stand under `match`. */
  readonly matchQueries: readonly MatchTextQuery[];
}

/** Scores of what has to be, and of what may be, are added up. */
export interface BooleanTextQuery {
  /** All of these have to match. */
  readonly must?: readonly StructuredTextQuery[] | undefined;
  /** Where there is no `must`, any of these has to match. */
  readonly should?: readonly StructuredTextQuery[] | undefined;
  /** None of these may match. */
  readonly mustNot?: readonly StructuredTextQuery[] | undefined;
}
