/** Queries that are built step by step. Each step changes the query and returns it. */

import { failure } from "./failures.js";
import { embeddedText } from "./queries/embeddedText.js";
import { countOf, isPromise, textOf, type VectorNumbers, vectorNumbers } from "./queries/numbers.js";
import {
  copyOf,
  distanceTypeOf,
  newRowParts,
  newSearchParts,
  newVectorParts,
  settledVectors,
  type TextParts,
  type VectorSearchParts,
  withVector,
} from "./queries/parts.js";
import { QueryBase, StandardQueryBase } from "./queries/queryBase.js";
import type { RunnableQuery } from "./queries/running.js";
import { type NamedRows, runnableSearch, runnableTake } from "./queries/searching.js";
import type { FullTextQuery } from "./queries/textQueries.js";
import type { Reranker } from "./rerankers/index.js";
import type { TableReader } from "./tableReader.js";
import type { IntoVector } from "./vectors.js";

export * from "./queries/queryBase.js";
export * from "./queries/textQueries.js";

/**
 * A search for the nearest vectors.
 * @hideconstructor
 */
export class VectorQuery extends StandardQueryBase<VectorSearchParts> {
  /** @hidden */
  protected override async runnable(): Promise<RunnableQuery> {
    const runnable = super.runnable();
    // A vector that can't be made fails with the error of its maker.
    await settledVectors(this.parts.vector);
    return runnable;
  }

  /** Sets the number of partitions of an index that are searched. Default: 20. */
  nprobes(nprobes: number): VectorQuery {
    const count = countOf(nprobes, "nprobes");
    this.parts.vector.probes = { minimum: count, maximum: count };
    return this;
  }

  /** Sets the minimum number of partitions that are searched. */
  minimumNprobes(minimumNprobes: number): VectorQuery {
    const minimum = countOf(minimumNprobes, "minimumNprobes");
    const { maximum } = this.parts.vector.probes;
    if (minimum < 1) throw failure("Invalid input, minimum_nprobes must be greater than 0");
    if (maximum !== 0 && minimum > maximum) {
      throw failure("Invalid input, minimum_nprobes must be less than or equal to maximum_nprobes");
    }
    this.parts.vector.probes = { minimum, maximum };
    return this;
  }

  /** Sets the number of partitions that are searched if the minimum yields too few rows; 0 means all. */
  maximumNprobes(maximumNprobes: number): VectorQuery {
    const maximum = countOf(maximumNprobes, "maximumNprobes");
    const { minimum } = this.parts.vector.probes;
    if (maximum !== 0 && maximum < minimum) {
      throw failure("Invalid input, maximum_nprobes must be greater than or equal to minimum_nprobes");
    }
    this.parts.vector.probes = { minimum, maximum };
    return this;
  }

  /** Sets the minimum distance, inclusive, and the maximum distance, exclusive. */
  distanceRange(lowerBound?: number, upperBound?: number): VectorQuery {
    this.parts.vector.options.lowerBound = lowerBound ?? undefined;
    this.parts.vector.options.upperBound = upperBound ?? undefined;
    return this;
  }

  /** Sets the number of candidates that a search of an HNSW graph keeps. */
  ef(ef: number): VectorQuery {
    this.parts.vector.options.ef = countOf(ef, "ef") || undefined;
    return this;
  }

  /** Sets the vector column. Default: the only one, or the only one of the vector's dimension. */
  column(column: string): VectorQuery {
    this.parts.vector.options.vectorColumn = textOf(column, "column");
    return this;
  }

  /** Sets the distance. Default: that of the index; without an index `l2`. */
  distanceType(distanceType: "l2" | "cosine" | "dot"): VectorQuery {
    this.parts.vector.options.distanceType = distanceTypeOf(textOf(distanceType, "distanceType"));
    return this;
  }

  /** Computes exact distances of this many times the limit of candidates, and keeps the nearest. */
  refineFactor(refineFactor: number): VectorQuery {
    this.parts.vector.options.refineFactor = countOf(refineFactor, "refineFactor");
    return this;
  }

  /** Applies the conditions to the rows that the search found, so that fewer may remain. */
  postfilter(): VectorQuery {
    this.parts.vector.options.prefilter = false;
    return this;
  }

  /** Compares all rows and uses no index. */
  bypassVectorIndex(): VectorQuery {
    this.parts.vector.options.bypassVectorIndex = true;
    return this;
  }

  /** Adds a vector. Rows of each are found; the column `query_index` says whose. */
  addQueryVector(vector: IntoVector): VectorQuery {
    this.parts.vector.vectors.push(numbersOf(vector));
    return this;
  }

  /** Sets what orders the rows of a search by vector and text. Default: reciprocal rank fusion. */
  rerank(reranker: Reranker): VectorQuery {
    if (typeof reranker?.rerankHybrid !== "function") {
      throw failure("rerank: must be a reranker, which has the method rerankHybrid");
    }
    this.parts.vector.reranker = reranker;
    return this;
  }
}

/**
 * A search for a text that is embedded if the table has an embedding function, and otherwise searched by its
 * words. Each run decides by the version of the table that it reads.
 * @hideconstructor
 */
export class AutoQuery extends StandardQueryBase {
  readonly #text: TextParts;

  /** @hidden */
  constructor(reader: TableReader, text: TextParts & { readonly query: string }) {
    super(reader, newSearchParts());
    this.#text = text;
  }

  /** @hidden */
  protected override async runnable(): Promise<RunnableQuery> {
    const parts = copyOf(this.parts);
    const reader = await this.reader.snapshot();
    const embedded = await embeddedText(await reader.schema(), String(this.#text.query));
    if (embedded === null) {
      return runnableSearch(reader, { ...parts, text: parts.text ?? this.#text });
    }
    const vector = newVectorParts(embedded.numbers);
    if (embedded.column !== null) vector.options.vectorColumn = embedded.column;
    return runnableSearch(reader, withVector(parts, vector));
  }
}

/**
 * A query of a table.
 * @hideconstructor
 */
export class Query extends StandardQueryBase {
  /** @hidden */
  constructor(reader: TableReader) {
    super(reader, newSearchParts());
  }

  /**
   * Returns a search for the nearest vectors, with what this query says already. Without a limit, the ten
   * nearest rows are found.
   * @param vector numbers, or a promise of them
   */
  nearestTo(vector: IntoVector): VectorQuery {
    const parts = newVectorParts(numbersOf(vector));
    return new VectorQuery(this.reader, withVector(this.parts, parts));
  }

  /** Searches texts by words, as {@link fullTextSearch} does. */
  nearestToText(query: string | FullTextQuery, columns?: string[]): Query {
    return this.fullTextSearch(query, { columns: columns ?? [] });
  }
}

/** Returns the numbers of a vector; a promise of them if the vector is pending. */
function numbersOf(vector: IntoVector): VectorNumbers | PromiseLike<VectorNumbers> {
  if (!isPromise(vector)) return vectorNumbers(vector);
  const numbers = vector.then(vectorNumbers);
  // The query reports the failure when it runs.
  numbers.then(undefined, () => {});
  return numbers;
}

/**
 * A query of rows that are named by their row ids, or by their offsets in the table. Rows come in the order
 * of the table.
 * @hideconstructor
 */
export class TakeQuery extends QueryBase {
  readonly #rows: NamedRows;

  /** @hidden */
  constructor(reader: TableReader, rows: NamedRows) {
    super(reader, newRowParts());
    this.#rows = rows;
  }

  /** @hidden */
  protected async runnable(): Promise<RunnableQuery> {
    return runnableTake(this.reader, this.parts, this.#rows);
  }

  /** Says whether rows that were written to a log are read. No table has such rows, so `true` is refused. */
  useLsm(enable: boolean): this {
    this.parts.useLsm = enable;
    return this;
  }
}
