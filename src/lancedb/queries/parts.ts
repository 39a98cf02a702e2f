/** Parts of a query that its methods collect, and the request that the engine gets. */

import { runAsync } from "../../async/eventLoop.js";
import { sqlWithQuotedTexts } from "../../expression/build.js";
import { parseInSteps } from "../../expression/parse/parse.js";
import type { DistanceType } from "../../namespace/indexes.js";
import type {
  ColumnSelection,
  OrderByColumn,
  QueryTableRequest,
  RowCondition,
  VectorSearchOptions,
} from "../../namespace/queries.js";
import type { FullTextQuery as EngineTextQuery } from "../../namespace/textQueries.js";
import { conditionOf } from "../conditions.js";
import { failure } from "../failures.js";
import type { Reranker } from "../rerankers/index.js";
import { isPromise, type VectorNumbers } from "./numbers.js";
import type { FullTextQuery } from "./textQueries.js";

/** Rows of a search without a limit. */
export const FOUND_ROWS = 10;
/** Partitions of an index that a search reads by default. */
const DEFAULT_PROBES = 20;

/** Parts of every query. Builders change them in place. */
export interface RowParts {
  columns: ColumnSelection | null;
  withRowId: boolean;
  useLsm: boolean | null;
}

/** Parts of queries that select rows. */
export interface SearchParts extends RowParts {
  readonly conditions: string[];
  limit: number | null;
  offset: number | null;
  orderBy: readonly OrderByColumn[];
  isFast: boolean;
  text: TextParts | null;
  vector: VectorParts | null;
}

/** Parts of queries that search vectors. */
export interface VectorSearchParts extends SearchParts {
  readonly vector: VectorParts;
}

/** Words to search. */
export interface TextParts {
  readonly query: string | FullTextQuery;
  /** Paths of columns; empty for all indexed ones. */
  readonly columns: readonly string[];
}

/** Parts of a vector search. */
export interface VectorParts {
  readonly vectors: (VectorNumbers | PromiseLike<VectorNumbers>)[];
  readonly options: { -readonly [Name in keyof VectorSearchOptions]: VectorSearchOptions[Name] };
  probes: Probes;
  reranker: Reranker | null;
}

/** Bounds of the partitions that a search reads; a maximum of 0 stands for all. */
export interface Probes {
  readonly minimum: number;
  readonly maximum: number;
}

/** Members of a request that come from a query. */
export type SearchRequest = Omit<QueryTableRequest, "id" | "branch" | "version">;

export const newRowParts = (): RowParts => ({ columns: null, withRowId: false, useLsm: null });

export const newSearchParts = (): SearchParts => ({
  ...newRowParts(),
  conditions: [],
  limit: null,
  offset: null,
  orderBy: [],
  isFast: false,
  text: null,
  vector: null,
});

export const newVectorParts = (vector: VectorNumbers | PromiseLike<VectorNumbers>): VectorParts => ({
  vectors: [vector],
  options: {},
  probes: { minimum: DEFAULT_PROBES, maximum: DEFAULT_PROBES },
  reranker: null,
});

/** Copies the parts, so that a query and the vector query made of it change independently. */
export const withVector = (parts: SearchParts, vector: VectorParts): VectorSearchParts => ({
  ...copyOf(parts),
  vector,
});

/** Copies the parts of a query that begins to run: later calls change only later runs. */
export function copyOf<Parts extends SearchParts>(parts: Parts): Parts {
  const { conditions, vector } = parts;
  return {
    ...parts,
    conditions: [...conditions],
    vector: vector && { ...vector, vectors: [...vector.vectors], options: { ...vector.options } },
  };
}

const DISTANCE_TYPES: readonly string[] = ["l2", "cosine", "dot", "hamming"];

/** @throws Error for another name */
export function distanceTypeOf(value: string): DistanceType {
  const name = value.toLowerCase();
  if (DISTANCE_TYPES.includes(name)) return name as DistanceType;
  throw failure(`Invalid distance type '${value}'.  Must be one of l2, cosine, dot, or hamming`);
}

/** Returns the request of a query. In a hybrid search it is that of both searches together. */
export async function requestOf(parts: SearchParts): Promise<SearchRequest> {
  refuseLsm(parts);
  const { text, vector, orderBy, offset, isFast } = parts;
  const vectors = vector === null ? [] : await settledVectors(vector);
  return {
    ...selectionOf(parts),
    ...(await filterOf(parts.conditions)),
    ...limitOf(parts),
    ...(offset !== null && { offset }),
    ...(orderBy.length > 0 && { orderBy }),
    ...(isFast && { fastSearch: true }),
    ...(text !== null && { fullTextQuery: textQueryOf(text) }),
    ...(vector !== null && vectorOf(vector, vectors)),
  };
}

/** @throws Error if the query insists on rows that were written to a log */
export function refuseLsm({ useLsm }: RowParts): void {
  if (useLsm !== true) return;
  throw failure(
    "use_lsm(true) was set but the table has no MemWAL write spec; install one with set_lsm_write_spec or leave use_lsm unset",
  );
}

/** Returns the columns, with `_rowid` last if it was asked for by {@link RowParts.withRowId}. */
export function selectionOf({ columns, withRowId }: RowParts): SearchRequest {
  if (columns === null) return withRowId ? { withRowId } : {};
  if (!withRowId) return { columns };
  const named = Array.isArray(columns) ? columns.filter((name) => name !== "_rowid") : columns;
  return { columns: named, withRowId };
}

/**
 * Joins conditions. Each is parsed on its own first: a parenthesis in one must not end another one.
 * @throws InvalidInputError
 */
async function filterOf(conditions: readonly string[]): Promise<{ readonly filter?: RowCondition }> {
  if (conditions.length === 0) return {};
  const [first, ...others] = conditions.map(conditionOf);
  if (others.length === 0) return { filter: first };
  if (typeof first === "string" && others.every((condition) => typeof condition === "string")) {
    for (const condition of conditions) await runAsync(parseInSteps(condition, "filter"));
    return { filter: conditions.map((condition) => `(${condition}\n)`).join(" AND ") };
  }
  const [start, ...rest] = conditions.map((condition) => sqlWithQuotedTexts(condition, "filter"));
  return { filter: start.and(...rest) };
}

function limitOf({ limit, text, vector }: SearchParts): SearchRequest {
  if (limit === null) return text !== null && vector === null ? { limit: FOUND_ROWS } : {};
  if (limit > 0) return { limit };
  if (vector !== null) throw failure("Invalid input, k must be positive");
  return { k: 0 };
}

/** Returns the engine's form of a text query. A text in quotes is a phrase. */
function textQueryOf({ query, columns }: TextParts): EngineTextQuery {
  if (typeof query !== "string") return { structuredQuery: { query: query.inner } };
  if (!isPhrase(query)) return { stringQuery: { query, ...(columns.length > 0 && { columns }) } };
  const phrase = { terms: query.slice(1, -1), ...(columns.length > 0 && { column: columns[0] }) };
  return { structuredQuery: { query: { phrase } } };
}

/** True for a text in double quotes. */
export const isPhrase = (query: string): boolean =>
  query.length >= 2 && query.startsWith('"') && query.endsWith('"');

/** Returns the vectors once none is pending. A failure is that of the caller's promise. */
export async function settledVectors({ vectors }: VectorParts): Promise<readonly VectorNumbers[]> {
  const numbers: VectorNumbers[] = [];
  for (const vector of vectors) numbers.push(isPromise(vector) ? await vector : vector);
  return numbers;
}

function vectorOf({ options, probes }: VectorParts, vectors: readonly VectorNumbers[]): SearchRequest {
  if (options.refineFactor === 0) throw failure("Invalid input, Refine factor cannot be zero");
  const isDefault = probes.minimum === DEFAULT_PROBES && probes.maximum === DEFAULT_PROBES;
  const minimumNprobes = Math.max(1, probes.minimum);
  return {
    ...options,
    ...(!isDefault && { minimumNprobes, maximumNprobes: probes.maximum }),
    ...(vectors.some(hasNaN)
      ? {
          vector: vectors.map((numbers) => new Float32Array(numbers.length)),
          filter: "false",
          prefilter: true,
        }
      : { vector: vectors.length === 1 ? { singleVector: vectors[0] } : { multiVector: vectors } }),
  };
}

/** True for a vector whose distances are all NaN, so that no row is near. */
const hasNaN = (numbers: VectorNumbers): boolean => numbers.some((value) => Number.isNaN(value));
