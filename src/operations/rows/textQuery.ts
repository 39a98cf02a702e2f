/** Reads text queries of requests. Members of structured queries may be spelled as on the wire. */

import { InvalidInputError } from "../../errors.js";
import { shortly, unknownMember } from "../../optionMembers.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import type { MatchQuery, TextQuery } from "../../query/text/textQuery.js";
import { wordIndexedColumns } from "../../query/text/wordIndexes.js";
import { resolveField } from "../../schema/fieldPaths.js";
import type { TableField } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { optionalCount } from "../request.js";
import { requireString } from "../requestValues.js";

const LABEL = "fullTextQuery";
/** Maximum nesting of queries. */
const MAX_DEPTH = 32;

type Members = Readonly<Record<string, unknown>>;

const MATCH_OPTIONS = ["operator", "fuzziness", "prefixLength", "maxExpansions"];
/** Members of each kind of structured query. Others are refused: a misspelt one would mean its default. */
const STRUCTURED = {
  match: ["terms", "column", "boost", ...MATCH_OPTIONS],
  phrase: ["terms", "column", "slop"],
  boost: ["positive", "negative", "negativeBoost"],
  // The second form is that of the reference's clients.
  multiMatch: ["matchQueries", "query", "columns", "boost", "boosts", ...MATCH_OPTIONS],
  boolean: ["must", "should", "mustNot"],
} as const;
/** Members of all kinds, including the forms of a query. */
const MEMBERS = { ...STRUCTURED, stringQuery: ["query", "columns"], structuredQuery: ["query"] } as const;
type Kind = keyof typeof MEMBERS;

/**
 * Reads the text query of a request.
 * @throws InvalidInputError; TableColumnNotFoundError
 */
export function readTextQuery(
  version: OpenVersion<ReaderEnvironment>,
  fields: readonly TableField[],
  request: unknown,
): TextQuery {
  const members = membersOf(request, LABEL, " with stringQuery or structuredQuery");
  const string = members.stringQuery ?? members.string_query;
  const structured = members.structuredQuery ?? members.structured_query;
  // Clients of the reference send both forms without a name.
  const bare = string === undefined && structured === undefined ? members : null;
  if (bare !== null && bare.query === undefined) {
    throw new InvalidInputError(
      `${LABEL}: needs stringQuery or structuredQuery, as in { structuredQuery: { query: { match: … } } }`,
    );
  }
  checkNames(bare === null ? ["stringQuery", "structuredQuery"] : MEMBERS.stringQuery, members, LABEL);
  if (string !== undefined && structured !== undefined) {
    throw new InvalidInputError(`${LABEL}: stringQuery and structuredQuery: give one of them`);
  }
  const reader = new Reader(version, fields);
  const inner = bare?.query ?? (structured === undefined ? null : membersOf(structured, LABEL).query);
  if (string !== undefined) checkMembers("stringQuery", membersOf(string, LABEL));
  else if (structured !== undefined) checkMembers("structuredQuery", membersOf(structured, LABEL));
  if (typeof inner === "object" && inner !== null) return reader.query(inner, 0);
  const { query, columns } = membersOf(bare ?? string ?? structured, LABEL);
  if (typeof query !== "string") {
    const expected = string === undefined ? "a text or a structured query" : "a text";
    throw new InvalidInputError(`${LABEL}: query must be ${expected}, not ${shortly(query)}`);
  }
  return reader.words(query, columnList(columns), {});
}

function columnList(columns: unknown): string[] | null {
  if (columns === undefined || columns === null || (Array.isArray(columns) && columns.length === 0))
    return null;
  if (Array.isArray(columns) && columns.every((column) => typeof column === "string")) return columns;
  throw new InvalidInputError(`${LABEL}: columns must be a list of paths, not ${shortly(columns)}`);
}

/**
 * Returns the members of an object.
 * @param hint addition to the error message
 */
function membersOf(object: unknown, label: string, hint = ""): Members {
  if (typeof object === "object" && object !== null && !Array.isArray(object)) return object as Members;
  throw new InvalidInputError(`${label}: must be an object${hint}, not ${shortly(object)}`);
}

const wireNames = new Map<string, string>();

/**
 * Returns the name of a member on the wire.
 * @param name member of a query; there are few of them
 */
function onWire(name: string): string {
  let wireName = wireNames.get(name);
  if (wireName === undefined) {
    wireName = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    wireNames.set(name, wireName);
  }
  return wireName;
}

const member = (members: Members, name: string): unknown =>
  members[name] ?? members[onWire(name)] ?? undefined;

/**
 * Checks that a query has no unknown members.
 * @param label name of the query for the error
 * @throws InvalidInputError
 */
const checkMembers = (kind: Kind, members: Members, label: string = kind): void =>
  checkNames(MEMBERS[kind], members, `${LABEL}: ${label}`);

function checkNames(allowed: readonly string[], members: Members, label: string): void {
  for (const name of Object.keys(members)) {
    if (allowed.some((each) => each === name || onWire(each) === name)) continue;
    throw unknownMember(`${label}.${name}`, name, allowed, "member");
  }
}

const isKind = (name: string): name is keyof typeof STRUCTURED => Object.hasOwn(STRUCTURED, name);

class Reader {
  readonly #version: OpenVersion<ReaderEnvironment>;
  readonly #fields: readonly TableField[];
  /** Paths of columns by their input text, because a query may name a column many times. */
  readonly #paths = new Map<string, string>();
  #indexed: readonly string[] | null = null;

  constructor(version: OpenVersion<ReaderEnvironment>, fields: readonly TableField[]) {
    this.#version = version;
    this.#fields = fields;
  }

  query(input: unknown, depth: number): TextQuery {
    if (depth > MAX_DEPTH) throw new InvalidInputError(`${LABEL}: queries are nested too deeply`);
    const members = membersOf(input, LABEL);
    const names = Object.keys(members).filter(
      (name) => members[name] !== undefined && members[name] !== null,
    );
    const [name] = names;
    if (names.length !== 1) {
      throw new InvalidInputError(
        `${LABEL}: a query is one of match, phrase, boost, multiMatch and boolean, not ${names.length} of them`,
      );
    }
    const kindMembers = membersOf(members[name], `${LABEL}: ${name}`);
    const kind = name === "multi_match" ? "multiMatch" : name;
    if (!isKind(kind)) {
      throw new InvalidInputError(
        `${LABEL}: must be match, phrase, boost, multiMatch or boolean, not ${name.slice(0, 40)}`,
      );
    }
    checkMembers(kind, kindMembers);
    switch (kind) {
      case "match":
        return this.words(termsOf(kindMembers, name), columnOf(kindMembers), kindMembers);
      case "phrase":
        return this.#phrase(kindMembers);
      case "boost":
        return {
          kind: "boost",
          positive: this.query(member(kindMembers, "positive"), depth + 1),
          negative: this.query(member(kindMembers, "negative"), depth + 1),
          negativeBoost: numberOf(kindMembers, "negativeBoost", 0.5),
        };
      case "multiMatch":
        return this.#multi(kindMembers);
      case "boolean":
        return this.#boolean(kindMembers, depth);
    }
  }

  /** Reads a query for words in some columns, or in all indexed columns. */
  words(terms: string, columns: readonly string[] | null, options: Members): TextQuery {
    const queries = this.#columns(columns).map((column) => matchOf(terms, column, options));
    return queries.length === 1 ? queries[0] : { kind: "multi", queries };
  }

  #columns(named: readonly string[] | null): readonly string[] {
    if (named !== null) return named.map((path) => this.#column(path));
    this.#indexed ??= wordIndexedColumns(this.#version, this.#fields);
    if (this.#indexed.length > 0) return this.#indexed;
    throw new InvalidInputError(
      `${LABEL}: no column has an index of type FTS; build one, or name the columns to search`,
    );
  }

  #column(path: string): string {
    const cached = this.#paths.get(path);
    if (cached !== undefined) return cached;
    const { field, path: canonical } = resolveField(this.#fields, path);
    const { type, children } = field;
    if (type.kind === "string" || (type.kind === "list" && children[0]?.type.kind === "string")) {
      this.#paths.set(path, canonical);
      return canonical;
    }
    throw new InvalidInputError(`${LABEL}: column ${canonical} holds no text`);
  }

  #phrase(phrase: Members): TextQuery {
    const terms = termsOf(phrase, "phrase");
    const slop = optionalCount(member(phrase, "slop"), `${LABEL}: slop`) ?? 0;
    const queries = this.#columns(columnOf(phrase)).map((column) => ({
      kind: "phrase" as const,
      column,
      terms,
      slop,
    }));
    return queries.length === 1 ? queries[0] : { kind: "multi", queries };
  }

  #multi(multiMatch: Members): TextQuery {
    const matchQueries = member(multiMatch, "matchQueries");
    if (Array.isArray(matchQueries)) {
      const queries = matchQueries.map((each) => {
        const match = membersOf(each, `${LABEL}: each of matchQueries`);
        checkMembers("match", match, "matchQueries");
        return this.words(termsOf(match, "match"), columnOf(match), match);
      });
      if (queries.length > 0) return { kind: "multi", queries };
      throw new InvalidInputError(`${LABEL}: multiMatch needs a query under matchQueries`);
    }
    const columns = this.#columns(columnList(member(multiMatch, "columns")));
    const boosts = member(multiMatch, "boost") ?? member(multiMatch, "boosts") ?? columns.map(() => 1);
    if (!Array.isArray(boosts) || boosts.length !== columns.length) {
      throw new InvalidInputError(`${LABEL}: boosts must have one number for each column`);
    }
    const terms = requireString(member(multiMatch, "query"), `${LABEL}: query`);
    const queries = columns.map((column, position) =>
      matchOf(terms, column, { ...multiMatch, boost: boosts[position] }),
    );
    return { kind: "multi", queries };
  }

  #boolean(boolean: Members, depth: number): TextQuery {
    const listOf = (name: string): TextQuery[] => {
      const queries = member(boolean, name) ?? [];
      if (!Array.isArray(queries)) throw new InvalidInputError(`${LABEL}: ${name} must be a list of queries`);
      return queries.map((each) => this.query(each, depth + 1));
    };
    const must = listOf("must");
    const should = listOf("should");
    if (must.length + should.length === 0) {
      throw new InvalidInputError(`${LABEL}: boolean needs a query under must or should`);
    }
    return { kind: "boolean", must, should, mustNot: listOf("mustNot") };
  }
}

function columnOf(of: Members): string[] | null {
  const column = member(of, "column");
  if (column === undefined) return null;
  return [requireString(column, `${LABEL}: column`)];
}

function termsOf(query: Members, name: string): string {
  const terms = member(query, "terms");
  if (typeof terms === "string") return terms;
  throw new InvalidInputError(`${LABEL}: terms of ${name} must be a text, not ${shortly(terms)}`);
}

function numberOf(query: Members, name: string, fallback: number): number {
  const value = member(query, name) ?? fallback;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new InvalidInputError(`${LABEL}: ${name} must be a number, not ${shortly(value)}`);
}

function matchOf(terms: string, column: string, query: Members): MatchQuery {
  const operator = member(query, "operator") ?? "OR";
  const folded = typeof operator === "string" ? operator.toUpperCase() : "";
  if (folded !== "OR" && folded !== "AND")
    throw new InvalidInputError(`${LABEL}: operator must be And or Or, not ${shortly(operator)}`);
  const count = (name: string, fallback: number): number =>
    optionalCount(member(query, name), `${LABEL}: ${name}`) ?? fallback;
  return {
    kind: "match",
    column,
    terms,
    boost: numberOf(query, "boost", 1),
    fuzziness: Math.min(count("fuzziness", 0), 16),
    maxExpansions: count("maxExpansions", 50),
    isAll: folded === "AND",
    prefixLength: count("prefixLength", 0),
  };
}
