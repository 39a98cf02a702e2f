/** Steps that all queries have, and the ways to run them. */

import { type Table as ArrowTable, type RecordBatch, type Schema, tableFromIPC } from "apache-arrow";
import { isMapObject, isUint8Array } from "../../bytes/anyRealm.js";
import { isObject, shortly } from "../../optionMembers.js";
import { failure, inCall } from "../failures.js";
import type { TableReader } from "../tableReader.js";
import { countOf, textOf } from "./numbers.js";
import { copyOf, isPhrase, type RowParts, type SearchParts } from "./parts.js";
import { type RunnableQuery, TimeLimit } from "./running.js";
import { runnableSearch } from "./searching.js";
import { type FullTextQuery, instanceOfFullTextQuery } from "./textQueries.js";

/** Batches of a query that runs. */
interface NativeBatchIterator {
  /** Returns the next batch, or its bytes as an IPC stream; null after the last one. */
  next(): Promise<RecordBatch | Uint8Array | null>;
}

/**
 * Yields the batches of a query that runs.
 * @param promisedInner iterator, which may be pending
 */
export async function* RecordBatchIterator(
  promisedInner: Promise<NativeBatchIterator>,
): AsyncGenerator<RecordBatch, void, unknown> {
  const inner = await promisedInner;
  for (let next = await inner.next(); next !== null; next = await inner.next()) {
    if (isUint8Array(next)) yield* tableFromIPC(next).batches;
    else yield next;
  }
}

/** Options of running a query. */
export interface QueryExecutionOptions {
  /** Maximum number of rows of a batch. Default: batches as they are stored. */
  maxBatchLength?: number;
  /** Milliseconds after which the query fails. Default: none. */
  timeoutMs?: number;
}

/** Form in which measurements of several servers are shown. */
export type AnalyzePlanDistributedMetrics = "aggregate" | "per_worker" | "full";

const DISTRIBUTED_METRICS: readonly string[] = ["aggregate", "per_worker", "full"];

/** A column to sort by, with its order. */
export interface ColumnOrdering {
  /** Path of the column. */
  columnName: string;
  /** True (default) to sort in ascending order. */
  ascending?: boolean;
  /** True to have nulls first, in either direction. */
  nullsFirst?: boolean;
}

/** Options of a full-text search. */
export interface FullTextSearchOptions {
  /** Paths of the columns to search. Default: all columns with a full-text index. */
  columns?: string | string[];
}

/** Any query that runs. */
// biome-ignore lint/suspicious/noEmptyInterface: as LanceDB declares it
export interface ExecutableQuery {}

/**
 * A query of one table.
 * @hideconstructor
 */
export abstract class QueryBase<Parts extends RowParts = RowParts> implements AsyncIterable<RecordBatch> {
  /** @hidden */
  protected readonly reader: TableReader;
  /** @hidden */
  protected readonly parts: Parts;

  /** @hidden */
  protected constructor(reader: TableReader, parts: Parts) {
    this.reader = reader;
    this.parts = parts;
  }

  /**
   * Returns the query in a form that runs.
   * @hidden
   */
  protected abstract runnable(): Promise<RunnableQuery>;

  /**
   * Selects the columns. A list has paths of columns; a map or an object has SQL expressions by the names of
   * the resulting columns. A later selection replaces an earlier one.
   */
  select(columns: string[] | Map<string, string> | Record<string, string> | string): this {
    this.parts.columns = selectionOf(columns);
    return this;
  }

  /** Adds the column `_rowid` after the others. */
  withRowId(): this {
    this.parts.withRowId = true;
    return this;
  }

  /**
   * Starts the query.
   * @hidden
   */
  protected async nativeExecute(options?: Partial<QueryExecutionOptions>): Promise<NativeBatchIterator> {
    const batches = this.execute(options);
    return { next: async () => (await batches.next()).value ?? null };
  }

  /**
   * Runs the query and yields its batches.
   * @hidden
   */
  protected async *execute(
    options?: Partial<QueryExecutionOptions>,
  ): AsyncGenerator<RecordBatch, void, unknown> {
    const limit = new TimeLimit(options?.timeoutMs);
    let step = EXECUTE;
    const { reader, open } = await this.runnable();
    try {
      const rows = await open({ signal: limit.signal, ...batchSizeOf(options) });
      step = NEXT;
      for await (const batch of rows) if (batch.numRows > 0) yield batch;
    } catch (error) {
      throw limit.failed(step, reader.translate(error));
    } finally {
      limit.stop();
    }
  }

  /** Runs the query and yields its batches. */
  [Symbol.asyncIterator](): AsyncIterator<RecordBatch> {
    return this.execute();
  }

  /** Runs the query and returns its rows as an Arrow table. */
  async toArrow(options?: Partial<QueryExecutionOptions>): Promise<ArrowTable> {
    const limit = new TimeLimit(options?.timeoutMs);
    const { reader, open } = await this.runnable();
    try {
      const rows = await open({ signal: limit.signal, ...batchSizeOf(options) });
      return await rows.toArrow();
    } catch (error) {
      throw limit.failed(EXECUTE, reader.translate(error));
    } finally {
      limit.stop();
    }
  }

  /** Runs the query and returns its rows as Arrow rows, which have a getter for each column. */
  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  async toArray(options?: Partial<QueryExecutionOptions>): Promise<any[]> {
    return (await this.toArrow(options)).toArray();
  }

  /**
   * Returns the plan of the query as text, without running it.
   * @param verbose true to show long lists completely
   */
  async explainPlan(verbose = false): Promise<string> {
    const { reader, explain } = await this.runnable();
    try {
      return await explain(verbose);
    } catch (error) {
      throw inCall(EXPLAIN, reader.translate(error));
    }
  }

  /**
   * Runs the query, and returns its plan with measurements of each step.
   * @param distributedMetrics how measurements of several servers are shown; here there is one
   */
  async analyzePlan(distributedMetrics?: AnalyzePlanDistributedMetrics): Promise<string> {
    if (!DISTRIBUTED_METRICS.includes(distributedMetrics ?? "aggregate")) {
      throw failure(
        `Invalid distributedMetrics value '${distributedMetrics}'. Expected one of: 'aggregate', 'per_worker', 'full'`,
      );
    }
    const { reader, analyze } = await this.runnable();
    try {
      return await analyze();
    } catch (error) {
      throw inCall(ANALYZE, reader.translate(error));
    }
  }

  /** Returns the schema of the rows, without reading them. */
  async outputSchema(): Promise<Schema> {
    const { open } = await this.runnable();
    return (await open({})).schema;
  }
}

/** Steps of a query that fail, as sentences begin. */
const EXECUTE = "Failed to execute query stream";
const NEXT = "Failed to get next batch from stream";
const EXPLAIN = "Failed to retrieve the query plan";
const ANALYZE = "Failed to execute analyze plan";

function batchSizeOf(options: Partial<QueryExecutionOptions> | undefined): { batchSize?: number } {
  const { maxBatchLength } = options ?? {};
  if (maxBatchLength === undefined || maxBatchLength === null) return {};
  const batchSize = countOf(maxBatchLength, "maxBatchLength");
  return batchSize === 0 ? {} : { batchSize };
}

function selectionOf(columns: unknown): RowParts["columns"] {
  if (typeof columns === "string") return [columns];
  if (Array.isArray(columns)) return columns.map((column) => textOf(column, "select"));
  if (columns === null || columns === undefined || !isObject(columns)) {
    throw new TypeError(`select: must be names of columns, or expressions by name, not ${shortly(columns)}`);
  }
  const entries = isMapObject(columns) ? [...columns] : Object.entries(columns);
  return {
    columnAliases: Object.fromEntries(
      entries.map(([name, expression]) => [textOf(name, "select"), textOf(expression, "select")]),
    ),
  };
}

/**
 * A query that selects rows.
 * @hideconstructor
 */
export class StandardQueryBase<Parts extends SearchParts = SearchParts>
  extends QueryBase<Parts>
  implements ExecutableQuery
{
  /** @hidden */
  // biome-ignore lint/complexity/noUselessConstructor: the inherited one is protected
  constructor(reader: TableReader, parts: Parts) {
    super(reader, parts);
  }

  /** @hidden */
  protected async runnable(): Promise<RunnableQuery> {
    return runnableSearch(this.reader, copyOf(this.parts));
  }

  /**
   * Keeps the rows for which a condition holds. Several conditions must all hold.
   * @param predicate condition in SQL
   */
  where(predicate: string): this {
    this.parts.conditions.push(textOf(predicate, "where"));
    return this;
  }

  /**
   * Keeps the rows for which a condition holds.
   * @deprecated Use {@link where}.
   */
  filter(predicate: string): this {
    return this.where(predicate);
  }

  /**
   * Searches texts by words. Without a limit, the ten best rows are found. After `nearestTo`, both searches
   * run.
   * @param query words, a phrase in double quotes, or a query that is an object
   * @param options columns to search
   */
  fullTextSearch(query: string | FullTextQuery, options?: Partial<FullTextSearchOptions>): this {
    const columns = options?.columns ?? [];
    const list = (Array.isArray(columns) ? columns : [columns]).map((column) => textOf(column, "columns"));
    if (typeof query !== "string" && !instanceOfFullTextQuery(query)) {
      throw failure("Invalid full text search query object");
    }
    if (typeof query === "string" && isPhrase(query) && list.length > 1) {
      throw failure("Phrase queries cannot be used with multiple columns.");
    }
    this.parts.text = { query, columns: list };
    return this;
  }

  /** Sets the maximum number of rows. Default: no limit; ten rows for searches. */
  limit(limit: number): this {
    this.parts.limit = countOf(limit, "limit");
    return this;
  }

  /** Skips rows at the start of the result. */
  offset(offset: number): this {
    this.parts.offset = countOf(offset, "offset");
    return this;
  }

  /** Sorts the rows; the rows of a search are sorted after they were found. */
  orderBy(ordering: ColumnOrdering | ColumnOrdering[]): this {
    const columns: readonly ColumnOrdering[] = Array.isArray(ordering) ? ordering : [ordering];
    this.parts.orderBy = columns.map(({ columnName, ascending, nullsFirst }) => {
      if (columnName === undefined || columnName === null) throw failure("Missing field `columnName`");
      return {
        columnName: textOf(columnName, "orderBy"),
        ascending: ascending ?? true,
        nullsFirst: nullsFirst ?? false,
      };
    });
    return this;
  }

  /** Skips rows that no index covers. */
  fastSearch(): this {
    this.parts.isFast = true;
    return this;
  }

  /** Says whether rows that were written to a log are read. No table has such rows, so `true` is refused. */
  useLsm(enable: boolean): this {
    this.parts.useLsm = enable;
    return this;
  }
}
