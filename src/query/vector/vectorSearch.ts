/** Plans vector searches: column, metric, index and query vectors. */

import { typeInText } from "../../arrow/types/type.js";
import { InvalidInputError } from "../../errors.js";
import { formatFieldPath, parseFieldPath } from "../../ident.js";
import { type QueryVector, queryVector } from "../../indexes/vector/distance/distance.js";
import {
  defaultMetric,
  isMetricOf,
  METRIC_NAMES,
  type Metric,
  type VectorItem,
} from "../../indexes/vector/distance/metric.js";
import { type VectorType, vectorTypeOf } from "../../indexes/vector/distance/vectorType.js";
import type { IvfIndex } from "../../indexes/vector/ivf/ivfIndex.js";
import type { TableField } from "../../schema/schema.js";
import { ColumnReads, type RowsPlan } from "../columns/columnReads.js";
import { DISTANCE, type FoundColumn, QUERY_INDEX } from "../columns/foundColumns.js";
import { spelledPath } from "../columns/systemColumns.js";
import type { Filter } from "../filter/filter.js";

/** A search as requested. */
export interface RequestedSearch {
  /** At least one vector of finite numbers. */
  readonly vectors: readonly Float64Array[];
  /** Column path; undefined for the only vector column. */
  readonly column: string | undefined;
  readonly distanceType: string | undefined;
  readonly lowerBound: number | undefined;
  readonly upperBound: number | undefined;
  readonly leastProbes: number | undefined;
  /** 0 for all. */
  readonly mostProbes: number | undefined;
  readonly refineFactor: number | undefined;
  readonly beam: number | undefined;
  readonly usesIndex: boolean;
  readonly isIndexedOnly: boolean;
}

/** A vector column. */
export interface VectorColumn extends VectorType {
  readonly path: readonly string[];
  readonly field: TableField;
}

/** A planned search. */
export interface VectorSearch {
  readonly column: VectorColumn;
  readonly metric: Metric;
  /** Query vectors. Each has results of its own, but in a multivector column all share one result. */
  readonly queries: readonly QueryVector[];
  /** Reads vectors and row addresses. */
  readonly read: RowsPlan;
  /** Columns that the search adds. */
  readonly resultColumns: readonly FoundColumn[];
  /** Inclusive. */
  readonly lowerBound: number;
  /** Exclusive; NaN for none, which also admits infinity. */
  readonly upperBound: number;
  /** Filter of the rows found; null for none. */
  readonly postfilter: Filter | null;
  /** Request of the plan. */
  readonly requested: RequestedSearch;
  /** Index to search; null to compare all rows. */
  readonly index: VectorIndex | null;
  /** Ids of the fragments to search; null for all. */
  readonly searchedIds: ReadonlySet<number> | null;
}

/** Indexes of a column for a search. */
export interface ColumnIndexes {
  /** First usable index; null to compare all rows. */
  readonly index: VectorIndex | null;
  /** Without a usable index, the first recorded metric; null if none. */
  readonly metric: Metric | null;
  /**
   * Fragments that the index covers or, without a usable index, that any index covers; null if none or
   * unknown.
   */
  covered(): ReadonlySet<number> | null;
}

/** A vector index, as searches use it. */
export interface VectorIndex {
  readonly name: string;
  readonly metric: Metric;
  /** Path of the manifest, for errors. */
  readonly path: string;
  readonly segments: readonly {
    /** Ids of the covered fragments. */
    readonly covered: ReadonlySet<number>;
    readonly open: IvfIndex;
  }[];
}

/**
 * Plans a search.
 * @param indexesOn finds the indexes of a column for a metric; null for the index's own
 * @throws InvalidInputError for no vectors, a wrong dimension or metric; TableColumnNotFoundError
 */
export async function planVectorSearch(
  fields: readonly TableField[],
  requested: RequestedSearch,
  indexesOn: (column: VectorColumn, metric: Metric | null) => Promise<ColumnIndexes>,
): Promise<Omit<VectorSearch, "postfilter">> {
  const column =
    requested.column === undefined ? onlyColumn(fields, requested) : columnAt(fields, requested.column);
  const name = formatFieldPath(column.path);
  const { item, dimension, isMulti } = column;
  const wanted = metricOf(requested.distanceType, item, name);
  const { usesIndex, isIndexedOnly } = requested;
  const indexes = usesIndex ? await indexesOn(column, wanted) : NO_INDEXES;
  const { index } = indexes;
  // A search of covered rows only may compare them without their index.
  const { covered } = usesIndex || !isIndexedOnly ? indexes : await indexesOn(column, wanted);
  const metric = wanted ?? index?.metric ?? indexes.metric ?? defaultMetric(item);
  if (isMulti && metric === "hamming") {
    throw new InvalidInputError(
      `distanceType: hamming does not apply to ${name}, whose rows have several vectors`,
    );
  }
  const queries = requested.vectors.flatMap((vector, index) => {
    const label = requested.vectors.length === 1 ? "vector" : `vector[${index}]`;
    // A multivector query may concatenate its vectors.
    const fits = isMulti ? vector.length % dimension === 0 : vector.length === dimension;
    if (!fits) {
      throw new InvalidInputError(
        `${label}: has ${vector.length} dimensions, and the vectors of column ${name} have ${dimension}`,
      );
    }
    const parts: QueryVector[] = [];
    for (let start = 0; start < vector.length; start += dimension) {
      parts.push(checkedQuery(item, vector.subarray(start, start + dimension), label, name));
    }
    return parts;
  });
  const reads = new ColumnReads(fields);
  reads.source(column.path);
  return {
    column,
    metric,
    queries,
    read: { ...reads.plan(), withAddresses: true },
    resultColumns: queries.length > 1 && !isMulti ? [QUERY_INDEX, DISTANCE] : [DISTANCE],
    lowerBound: requested.lowerBound ?? Number.NEGATIVE_INFINITY,
    upperBound: requested.upperBound ?? Number.NaN,
    requested,
    index,
    searchedIds: isIndexedOnly ? covered() : null,
  };
}

const NO_INDEXES: ColumnIndexes = { index: null, metric: null, covered: () => null };

function checkedQuery(item: VectorItem, vector: Float64Array, label: string, column: string): QueryVector {
  if (item === "uint8" && !vector.every((value) => Number.isInteger(value) && value >= 0 && value <= 255)) {
    throw new InvalidInputError(`${label}: must hold integers from 0 to 255, as column ${column} does`);
  }
  const query = queryVector(item, vector);
  for (const value of query.numbers) {
    if (Number.isFinite(value)) continue;
    throw new InvalidInputError(
      `${label}: holds numbers too large for column ${column}, which is of ${item}`,
    );
  }
  return query;
}

/** Returns null if the request names no metric. */
function metricOf(requested: string | undefined, item: VectorItem, column: string): Metric | null {
  if (requested === undefined) return null;
  const metric = METRIC_NAMES.find((name) => name === requested.toLowerCase());
  if (metric === undefined) {
    throw new InvalidInputError(
      `distanceType: must be one of ${METRIC_NAMES.join(", ")}, not ${JSON.stringify(requested)}`,
    );
  }
  if (isMetricOf(metric, item)) return metric;
  const which = METRIC_NAMES.filter((name) => isMetricOf(name, item)).join(", ");
  throw new InvalidInputError(
    `distanceType: must be ${which} for column ${column}, whose vectors are of ${item}, not ${metric}`,
  );
}

function columnAt(fields: readonly TableField[], text: string): VectorColumn {
  const path = spelledPath(parseFieldPath(text), fields, "vectorColumn");
  const chain = new ColumnReads(fields).chain(path);
  const field = chain[chain.length - 1];
  const column = vectorColumn(path, field);
  if (column !== null) return column;
  throw new InvalidInputError(
    `vectorColumn: ${formatFieldPath(path)} is a column of ${typeInText(field.type)}, not of vectors: fixed-size lists ` +
      "of floats or uint8, or lists of these",
  );
}

/** Returns the only vector column; among several, the only one of the query's dimension. */
function onlyColumn(fields: readonly TableField[], { vectors }: RequestedSearch): VectorColumn {
  const columns = vectorColumns(fields, []);
  if (columns.length === 1) return columns[0];
  if (columns.length === 0) {
    throw new InvalidInputError(
      "vector: the table has no column of vectors; arrays of numbers are vectors under the names vector, embedding, *_vector and *_embedding, and where a schema says so",
    );
  }
  const fitting = columns.filter(({ dimension }) => vectors[0].length === dimension);
  if (fitting.length === 1) return fitting[0];
  const names = columns.map(({ path, dimension }) => `${formatFieldPath(path)} (${dimension} dimensions)`);
  throw new InvalidInputError(`vectorColumn: must be given, because vectors are in ${names.join(", ")}`);
}

function vectorColumns(fields: readonly TableField[], parents: readonly string[]): VectorColumn[] {
  return fields.flatMap((field) => {
    const path = [...parents, field.name];
    if (field.type.kind === "struct") return vectorColumns(field.children, path);
    return vectorColumn(path, field) ?? [];
  });
}

/** Returns null for a column without vectors. */
function vectorColumn(path: readonly string[], field: TableField): VectorColumn | null {
  const vectors = vectorTypeOf(field);
  return vectors && { path, field, ...vectors };
}
