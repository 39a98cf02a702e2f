/** Full-text queries as objects. Each holds the structured query that the engine takes. */

import type { MatchTextQuery, StructuredTextQuery } from "../../namespace/textQueries.js";
import { shortly } from "../../optionMembers.js";
import { failure } from "../failures.js";
import { textOf } from "./numbers.js";

/** Kinds of full-text queries. */
export enum FullTextQueryType {
  /** Words. */
  Match = "match",
  /** Consecutive words. */
  MatchPhrase = "match_phrase",
  /** One query, with a lower score for rows that match another one. */
  Boost = "boost",
  /** Words in several columns. */
  MultiMatch = "multi_match",
  /** Several queries. */
  Boolean = "boolean",
}

/** Relation between the words of a query. */
export enum Operator {
  /** All words must occur. */
  And = "AND",
  /** At least one word must occur. */
  Or = "OR",
}

/** Part of a query in a {@link BooleanQuery}. */
export enum Occur {
  /** The query may match, and then adds to the score. */
  Should = "SHOULD",
  /** The query must match. */
  Must = "MUST",
  /** The query must not match. */
  MustNot = "MUST_NOT",
}

/** A full-text query. */
export interface FullTextQuery {
  /**
   * The query as the engine takes it.
   * @ignore
   */
  inner: StructuredTextQuery;
  /** Returns the kind of the query. */
  queryType(): FullTextQueryType;
}

/** Returns true for full-text queries, including those of another copy of this module. */
// biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
export function instanceOfFullTextQuery(obj: any): obj is FullTextQuery {
  return (
    typeof obj === "object" &&
    obj !== null &&
    typeof obj.queryType === "function" &&
    typeof obj.inner === "object" &&
    obj.inner !== null
  );
}

/** A query for words in one column. */
export class MatchQuery implements FullTextQuery {
  /** @ignore */
  readonly inner: StructuredTextQuery;

  /**
   * Makes a query for words.
   * @param query words, separated by spaces
   * @param column path of the column
   * @param options settings, by default 0 or as stated:
   *
   * - `boost`: factor of the score; 1
   * - `fuzziness`: letters of a word that may differ
   * - `maxExpansions`: words that a fuzzy word expands to; 50
   * - `operator`: relation between the words; `OR`
   * - `prefixLength`: leading letters of a fuzzy word that must be equal
   */
  constructor(
    query: string,
    column: string,
    options?: {
      boost?: number;
      fuzziness?: number;
      maxExpansions?: number;
      operator?: Operator;
      prefixLength?: number;
    },
  ) {
    const { boost, fuzziness, maxExpansions, operator, prefixLength } = options ?? {};
    this.inner = {
      match: {
        terms: textOf(query, "query"),
        column: textOf(column, "column"),
        boost: optionalNumber(boost, "boost"),
        fuzziness: optionalNumber(fuzziness, "fuzziness"),
        maxExpansions: optionalNumber(maxExpansions, "maxExpansions"),
        operator: optionalOperator(operator),
        prefixLength: optionalNumber(prefixLength, "prefixLength"),
      },
    };
  }

  /** Returns `match`. */
  queryType(): FullTextQueryType {
    return FullTextQueryType.Match;
  }
}

/** A query for consecutive words. The index of the column must have positions. */
export class PhraseQuery implements FullTextQuery {
  /** @ignore */
  readonly inner: StructuredTextQuery;

  /**
   * Makes a query for a phrase.
   * @param query words of the phrase, in order
   * @param column path of the column
   * @param options `slop`: words that may stand between those of the phrase, 0 by default
   */
  constructor(query: string, column: string, options?: { slop?: number }) {
    this.inner = {
      phrase: {
        terms: textOf(query, "query"),
        column: textOf(column, "column"),
        slop: optionalNumber(options?.slop, "slop"),
      },
    };
  }

  /** Returns `match_phrase`. */
  queryType(): FullTextQueryType {
    return FullTextQueryType.MatchPhrase;
  }
}

/** A query whose rows get a lower score if they also match a second query. */
export class BoostQuery implements FullTextQuery {
  /** @ignore */
  readonly inner: StructuredTextQuery;

  /**
   * Makes a query of two.
   * @param positive query that selects the rows
   * @param negative query whose score is subtracted
   * @param options `negativeBoost`: factor of the subtracted score, 0.5 by default
   */
  constructor(positive: FullTextQuery, negative: FullTextQuery, options?: { negativeBoost?: number }) {
    this.inner = {
      boost: {
        positive: structured(positive),
        negative: structured(negative),
        negativeBoost: optionalNumber(options?.negativeBoost, "negativeBoost"),
      },
    };
  }

  /** Returns `boost`. */
  queryType(): FullTextQueryType {
    return FullTextQueryType.Boost;
  }
}

/** A query for words in several columns; the best score counts. */
export class MultiMatchQuery implements FullTextQuery {
  /** @ignore */
  readonly inner: StructuredTextQuery;

  /**
   * Makes a query for words in several columns.
   * @param query words, separated by spaces
   * @param columns paths of the columns
   * @param options `boosts`: factor of the score of each column, 1 by default. `operator`: `OR` by default
   */
  constructor(query: string, columns: string[], options?: { boosts?: number[]; operator?: Operator }) {
    const terms = textOf(query, "query");
    if (columns.length === 0) {
      throw failure("Failed to create multi match query: Cannot create MultiMatchQuery with no columns");
    }
    const boosts = options?.boosts;
    if (boosts !== undefined && boosts !== null && boosts.length !== columns.length) {
      throw failure(
        "Failed to create multi match query: The number of boosts must match the number of queries",
      );
    }
    const operator = optionalOperator(options?.operator);
    this.inner = {
      multiMatch: {
        matchQueries: columns.map((column, index): MatchTextQuery => {
          const boost = optionalNumber(boosts?.[index], "boosts");
          return { terms, column: textOf(column, "columns"), boost, operator };
        }),
      },
    };
  }

  /** Returns `multi_match`. */
  queryType(): FullTextQueryType {
    return FullTextQueryType.MultiMatch;
  }
}

/** A combination of queries. */
export class BooleanQuery implements FullTextQuery {
  /** @ignore */
  readonly inner: StructuredTextQuery;

  /**
   * Combines queries.
   * @param queries pairs of a query's part and the query
   */
  constructor(queries: [Occur, FullTextQuery][]) {
    const must: StructuredTextQuery[] = [];
    const should: StructuredTextQuery[] = [];
    const mustNot: StructuredTextQuery[] = [];
    const parts: Record<string, StructuredTextQuery[]> = { MUST: must, SHOULD: should, MUST_NOT: mustNot };
    for (const [occur, query] of queries) {
      const part = typeof occur === "string" ? occur.toUpperCase() : "";
      if (!Object.hasOwn(parts, part)) throw failure(`Invalid occur value: ${occur}`);
      parts[part].push(structured(query));
    }
    this.inner = { boolean: { must, should, mustNot } };
  }

  /** Returns `boolean`. */
  queryType(): FullTextQueryType {
    return FullTextQueryType.Boolean;
  }
}

/** Returns the form that the engine takes. */
function structured(query: FullTextQuery): StructuredTextQuery {
  if (!instanceOfFullTextQuery(query)) throw failure("Invalid full text search query object");
  return query.inner;
}

function optionalNumber(value: unknown, name: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") return value;
  throw failure(`${name}: must be a number, not ${shortly(value)}`);
}

function optionalOperator(value: unknown): Operator | undefined {
  if (value === undefined || value === null) return undefined;
  const operator = String(value).toUpperCase();
  if (operator === Operator.And || operator === Operator.Or) return operator;
  throw failure(`Invalid operator: ${value}`);
}
