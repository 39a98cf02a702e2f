/** Plans searches by vector: which column is searched, by which metric and index, for what. */

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
  vectorItemOf,
} from "../../indexes/vector/distance/metric.js";
import type { IvfIndex } from "../../indexes/vector/ivf/ivfIndex.js";
import type { TableField } from "../../schema/schema.js";
import { ColumnReads, type RowsPlan } from "../columns/columnReads.js";
import { DISTANCE, type FoundColumn, QUERY_INDEX } from "../columns/foundColumns.js";
import { spelledPath } from "../columns/systemColumns.js";
import type { Filter } from "../filter/filter.js";

/** What a request searches for. */
export interface AskedSearch {
  /** Each with finite numbers, at least one. */
  readonly vectors: readonly Float64Array[];
  /** Path of the column; undefined for the only one. */
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

/** The vectors of a column. */
export interface VectorColumn {
  readonly path: readonly string[];
  readonly field: TableField;
  readonly item: VectorItem;
  readonly dimension: number;
  /** Whether a row has any number of vectors, rather than one. */
  readonly isMulti: boolean;
}

/** A search that is planned. */
export interface VectorSearch {
  readonly column: VectorColumn;
  readonly metric: Metric;
  /** Each finds rows of its own; in a column of several vectors a row, all find the same rows. */
  readonly queries: readonly QueryVector[];
  /** Reads the vectors, with the addresses of rows. */
  readonly read: RowsPlan;
  /** The columns that the search adds. */
  readonly found: readonly FoundColumn[];
  /** Least distance, inclusive. */
  readonly lowerBound: number;
  /** Distances are below it; NaN for no bound: an infinite distance is below none. */
  readonly upperBound: number;
  /** Applied to the rows that were found; null for none. */
  readonly postfilter: Filter | null;
  /** What was asked for. */
  readonly asked: AskedSearch;
  /** What finds the rows; null where all are compared. */
  readonly index: VectorIndex | null;
  /** Ids of the fragments whose rows are searched; null for all. */
  readonly searchedIds: ReadonlySet<number> | null;
}

/** What the indexes on a column tell of a search. */
export interface ColumnIndexes {
  /** The first that can be asked; null where all rows are compared. */
  readonly index: VectorIndex | null;
  /** Where none can be asked, the metric of the first that tells one; null for none. */
  readonly metric: Metric | null;
  /**
   * Tells the ids of the fragments that the index covers; where none can be asked, that any covers. Null where there is no
   * index, or it does not tell.
   */
  covered(): ReadonlySet<number> | null;
}

/** An index on vectors, as searches ask it. */
export interface VectorIndex {
  readonly name: string;
  readonly metric: Metric;
  /** Of the manifest, for errors. */
  readonly path: string;
  readonly segments: readonly {
    /** Ids of the fragments that it covers. */
    readonly covered: ReadonlySet<number>;
    readonly open: IvfIndex;
  }[];
}

/**
 * @param indexesOn what the indexes on a column tell, by a metric; null for whatever they have
 * @throws InvalidInputError for a column without vectors, vectors of another dimension, and metrics that don't fit;
 *   TableColumnNotFoundError
 */
export async function planVectorSearch(
  fields: readonly TableField[],
  asked: AskedSearch,
  indexesOn: (column: VectorColumn, metric: Metric | null) => Promise<ColumnIndexes>,
): Promise<Omit<VectorSearch, "postfilter">> {
  const column = asked.column === undefined ? onlyColumn(fields, asked) : columnAt(fields, asked.column);
  const name = formatFieldPath(column.path);
  const { item, dimension, isMulti } = column;
  const wanted = metricOf(asked.distanceType, item, name);
  const indexes = asked.usesIndex ? await indexesOn(column, wanted) : NO_INDEXES;
  const { index } = indexes;
  const metric = wanted ?? index?.metric ?? indexes.metric ?? defaultMetric(item);
  if (isMulti && metric === "hamming") {
    throw new InvalidInputError(
      `distanceType: hamming does not go with ${name}, whose rows have several vectors`,
    );
  }
  const queries = asked.vectors.flatMap((vector, index) => {
    const label = asked.vectors.length === 1 ? "vector" : `vector[${index}]`;
    // Several vectors of a row's may follow each other in one.
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
    found: queries.length > 1 && !isMulti ? [QUERY_INDEX, DISTANCE] : [DISTANCE],
    lowerBound: asked.lowerBound ?? Number.NEGATIVE_INFINITY,
    upperBound: asked.upperBound ?? Number.NaN,
    asked,
    index,
    searchedIds: asked.isIndexedOnly ? indexes.covered() : null,
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

/** Null where none is named. */
function metricOf(asked: string | undefined, item: VectorItem, column: string): Metric | null {
  if (asked === undefined) return null;
  const metric = METRIC_NAMES.find((name) => name === asked.toLowerCase());
  if (metric === undefined) {
    throw new InvalidInputError(
      `distanceType: must be one of ${METRIC_NAMES.join(", ")}, not ${JSON.stringify(asked)}`,
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

/** The only column of vectors; of several, the only one of the dimension. */
function onlyColumn(fields: readonly TableField[], { vectors }: AskedSearch): VectorColumn {
  const columns = vectorColumns(fields, []);
  if (columns.length === 1) return columns[0];
  if (columns.length === 0) throw new InvalidInputError("vector: the table has no column of vectors");
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

/** Null for a column without vectors. */
function vectorColumn(path: readonly string[], field: TableField): VectorColumn | null {
  const { type } = field;
  const own = type.kind === "fixedSizeList" ? type : field.children[0]?.type;
  const isMulti = type.kind === "list";
  if ((type.kind !== "fixedSizeList" && !isMulti) || own?.kind !== "fixedSizeList" || own.size < 1)
    return null;
  const item = vectorItemOf(own.of);
  return item === null ? null : { path, field, item, dimension: own.size, isMulti };
}
