/** Queries that a program builds step by step. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import { InvalidInputError } from "../errors.js";
import { setInspection, shownQuery } from "../inspection.js";
import type * as queries from "../namespace/queries.js";
import type { FullTextQuery, StructuredTextQuery } from "../namespace/textQueries.js";
import { isObject, shortly } from "../optionMembers.js";
import { checkedOptions, VECTOR_OPTIONS, type VectorOptions } from "./handleOptions.js";
import type {
  AnyRow,
  ColumnPath,
  Distance,
  Relevance,
  Score,
  Searched,
  Selectable,
  SelectedRow,
  SortColumns,
  WithSearch,
} from "./rowTypes.js";
import { type Scan, type ScanOptions, scanOf } from "./scan.js";

/** Options of {@link TableQuery.explain} and {@link TableQuery.analyze}. */
export interface PlanOptions extends Pick<queries.ExplainTableQueryPlanRequest, "format" | "signal"> {
  /** True: shows long lists and conditions completely. Default: false. */
  readonly verbose?: boolean | undefined;
}

/** Options of searches. */
type SearchOptions = queries.VectorSearchOptions &
  Pick<queries.QueryTableRequest, "vector" | "fullTextQuery" | "highlight" | "rerank">;

/** Options of a query, including those of a search. */
export type TableQueryOptions = ScanOptions & SearchOptions;

/** Functions that run the queries of a table. */
export interface QueryRunner {
  query(options: TableQueryOptions): Promise<queries.QueryResult>;
  explain(query: TableQueryOptions, options: PlanOptions): Promise<string>;
  analyze(query: TableQueryOptions, options: Omit<PlanOptions, "verbose">): Promise<string>;
}

/** Options of {@link TableQuery.matching}. */
export interface MatchingOptions<Path extends string = string> {
  /** Paths of the columns to search for words. Default: all indexed columns. */
  readonly columns?: readonly Path[] | undefined;
  /** True: conditions apply before the search. False: to the rows that it found. Default: true. */
  readonly prefilter?: boolean | undefined;
  /** True: skips rows that no index covers. Default: false. */
  readonly fastSearch?: boolean | undefined;
  /** True: adds the column `_highlights` with the matching ranges. Default: false. */
  readonly highlight?: boolean | undefined;
}

/** Column that {@link TableQuery.withRowId} adds. */
export interface RowId {
  /** Id of the row. */
  _rowid: bigint;
}

/**
 * A query of one table; `table.query()` returns one. Each step returns a new query and leaves the old one
 * unchanged. The query runs when its rows are read, and again for each read:
 *
 *     const cheap = table.query().where("price < $most", { most: 10 }).select(["id", "price"]);
 *     const rows = await cheap.orderBy("price").limit(3).toArray();
 *
 * `Row` is the type of the table's rows, and `Selected` that of the query's rows. `Found` has the columns
 * that searches add to any selection.
 */
export class TableQuery<
  Row extends object = AnyRow,
  Selected extends object = Row,
  Found extends object = object,
> implements Scan<Selected>
{
  readonly #runner: QueryRunner;
  readonly #options: TableQueryOptions;

  static {
    // biome-ignore lint/complexity/noThisInStatic: the bundler has not set the name of the class here yet
    setInspection(this.prototype as TableQuery<object>, (query) => [
      "TableQuery",
      shownQuery(query.#options),
    ]);
  }

  /** @internal */
  constructor(runner: QueryRunner, options: TableQueryOptions) {
    this.#runner = runner;
    this.#options = Object.freeze({ ...options });
  }

  /** A getter, because most queries are only steps towards others. */
  get #rows(): Scan<Selected> {
    return scanOf(() => this.#runner.query(this.#options));
  }

  /**
   * Keeps the rows for which a condition holds. Several conditions must all hold.
   * @param filter SQL text, or an expression made with `col`, `lit` or `sql`
   * @param params values of its parameters, written `$name`
   * @throws InvalidInputError if an earlier condition has another value for a parameter
   */
  where(
    filter: string | queries.FilterExpression,
    params?: queries.FilterParameters,
  ): TableQuery<Row, Selected, Found> {
    checkCondition(filter, "where");
    const { filter: earlier } = this.#options;
    return this.#with({
      filter: earlier === undefined || earlier === null ? filter : `(${earlier}\n) AND (${filter}\n)`,
      params: mergedParameters(this.#options.params, params),
    });
  }

  /** Selects the columns. A later selection replaces an earlier one. */
  select<const Columns extends NonNullable<Selectable<Row>>>(
    columns: Columns,
  ): TableQuery<Row, SelectedRow<Row, Columns> & Found, Found> {
    return this.#with({ columns: columns as queries.ColumnSelection });
  }

  /**
   * Sorts the rows by the first column, then by the following ones. Columns of earlier calls have priority.
   *
   *     table.query().orderBy("city", "-price")
   *     table.query().orderBy({ city: "asc", price: "desc" })
   */
  orderBy(...columns: SortColumns<ColumnPath<Row>>[]): TableQuery<Row, Selected, Found> {
    const sortColumns = columns.flat().map((column, index): queries.SortColumn => {
      if (typeof column !== "string") return column as queries.SortColumn;
      const [, path, direction] = /^(\S+)\s+(asc|desc)$/i.exec(column) ?? [];
      if (direction !== undefined) {
        const ascending = /^asc/i.test(direction);
        throw new InvalidInputError(
          `orderBy: write the direction as a member, as in { columnName: ${shortly(path)}, ascending: ${ascending} }`,
        );
      }
      if (index > 0 && /^(asc|desc)(ending)?$/i.test(column)) {
        const ascending = /^asc/i.test(column);
        throw new InvalidInputError(
          `orderBy: write the direction with its column, as in { columnName: ${shortly(columns[index - 1])}, ascending: ${ascending} }`,
        );
      }
      return column;
    });
    const { orderBy: earlier = [] } = this.#options;
    return this.#with({ orderBy: [...asList(earlier), ...sortColumns] });
  }

  /**
   * Searches texts for words and adds the column `_score`. The best rows come first, and all matching rows
   * are returned unless `limit` is set. A later text search replaces an earlier one. Together with {@link
   * nearestTo} it forms a hybrid search, which returns 10 rows unless `limit` is set.
   *
   *     table.query().matching("puppy training", { columns: ["body"] }).limit(10)
   *     table.query().matching({ phrase: { terms: "house training", column: "body" } })
   *
   * @param text words, at least one of which must occur; or a structured query
   */
  matching(
    text: string | StructuredTextQuery,
    options?: MatchingOptions<ColumnPath<Row>>,
  ): TableQuery<
    Row,
    WithSearch<Selected, Searched<Found, "_distance", Score>>,
    WithSearch<Found, Searched<Found, "_distance", Score>>
  > {
    const names = ["columns", "prefilter", "fastSearch", "highlight"];
    const { columns, ...search } = checkedOptions<MatchingOptions>("matching", options, names);
    if (typeof text !== "string" && !isObject(text)) {
      throw new InvalidInputError(`matching: must be a text or a structured query, not ${shortly(text)}`);
    }
    if (typeof text !== "string" && columns !== undefined && columns !== null) {
      throw new InvalidInputError("columns: a structured query names the column in each of its parts");
    }
    const fullTextQuery: FullTextQuery =
      typeof text === "string"
        ? { stringQuery: { query: text, columns } }
        : { structuredQuery: { query: text } };
    return this.#with({ ...search, fullTextQuery });
  }

  /**
   * Ranks the rows of a hybrid search, which has both {@link nearestTo} and {@link matching}. Rows have
   * `_relevance_score`; `_distance` and `_score` are null if that search did not find the row. Each search
   * finds as many rows as `limit`, so a greater limit gives more candidates.
   *
   *     table.query().nearestTo(vector).matching("puppy").rerank(({ score }) => score ?? 0)
   *
   * @param by returns the relevance of a row; greater is better. Default: reciprocal rank fusion
   */
  rerank(by: queries.Rerank): TableQuery<Row, Selected & Relevance, Found & Relevance> {
    return this.#with({ rerank: by });
  }

  /**
   * Limits the number of rows.
   * @param count maximum, ≥ 1
   */
  limit(count: number): TableQuery<Row, Selected, Found> {
    return this.#with({ limit: count });
  }

  /**
   * Skips rows.
   * @param count number of rows to skip, ≥ 0
   */
  offset(count: number): TableQuery<Row, Selected, Found> {
    return this.#with({ offset: count });
  }

  /**
   * Finds the rows nearest to a vector and adds the column `_distance`. The nearest row comes first. Returns
   * 10 rows unless `limit` or `k` is set.
   *
   *     await table.query().nearestTo([0.1, 0.2]).where("price < 10").limit(3).toArray()
   *
   * @param vector query vector, or several
   */
  nearestTo(
    vector: queries.SearchVector,
    options: VectorOptions<ColumnPath<Row>> = {},
  ): TableQuery<
    Row,
    WithSearch<Selected, Searched<Found, "_score", Distance>>,
    WithSearch<Found, Searched<Found, "_score", Distance>>
  > {
    if (vector === undefined || vector === null) {
      throw new InvalidInputError(`nearestTo: must be given a vector, not ${shortly(vector)}`);
    }
    return this.#with({ ...checkedOptions("nearestTo", options, VECTOR_OPTIONS), vector });
  }

  /** Adds the column `_rowid`. */
  withRowId(): TableQuery<Row, Selected & RowId, Found & RowId> {
    return this.#with({ withRowId: true });
  }

  /** Returns the plan of the query, as text or JSON. */
  explain(options: PlanOptions = {}): Promise<string> {
    return this.#runner.explain(this.#options, options);
  }

  /** Runs the query and returns its plan with measurements of each step. */
  analyze(options: Omit<PlanOptions, "verbose"> = {}): Promise<string> {
    return this.#runner.analyze(this.#options, options);
  }

  /** Returns the Arrow schema of the rows. */
  schema(): Promise<Schema> {
    return this.#rows.schema();
  }

  /** Yields the rows batch by batch. */
  [Symbol.asyncIterator](): AsyncIterator<RecordBatch> {
    return this.#rows[Symbol.asyncIterator]();
  }

  /** Returns all rows as one Arrow table. */
  toArrow(): Promise<Table> {
    return this.#rows.toArrow();
  }

  /** Returns all rows as plain objects. */
  toArray(options?: queries.ObjectOptions): Promise<Selected[]> {
    return this.#rows.toArray(options);
  }

  /** Yields the rows one by one as plain objects. */
  rows(options?: queries.ObjectOptions): AsyncIterable<Selected> {
    return this.#rows.rows(options);
  }

  /** Writes the first rows to the console as a table, and returns its text. */
  print(options?: queries.PrintOptions): Promise<string> {
    return this.#rows.print(options);
  }

  /** Returns all rows as the bytes of an Arrow IPC stream. */
  toIPC(): Promise<Uint8Array> {
    return this.#rows.toIPC();
  }

  /** Streams the bytes of {@link toIPC} at the pace of the reader. */
  toIPCStream(): ReadableStream<Uint8Array> {
    return this.#rows.toIPCStream();
  }

  #with<NewSelected extends object, NewFound extends object>(
    options: SearchOptions & ScanOptions<Selectable>,
  ): TableQuery<Row, NewSelected, NewFound> {
    return new TableQuery<Row, NewSelected, NewFound>(this.#runner, { ...this.#options, ...options });
  }
}

const asList = (columns: NonNullable<queries.QueryTableRequest["orderBy"]>): readonly queries.SortColumn[] =>
  Array.isArray(columns) ? columns : [columns as queries.SortColumn];

function checkCondition(filter: unknown, label: string): void {
  if (typeof filter === "string" || (isObject(filter) && "syntax" in filter)) return;
  throw new InvalidInputError(`${label}: must be a text or an expression, not ${shortly(filter)}`);
}

function mergedParameters(
  earlier: queries.FilterParameters | undefined,
  added: queries.FilterParameters | undefined,
): queries.FilterParameters | undefined {
  if (earlier === undefined || earlier === null || added === undefined || added === null) {
    return added ?? earlier;
  }
  for (const [name, value] of Object.entries(added)) {
    if (Object.hasOwn(earlier, name) && earlier[name] !== value) {
      throw new InvalidInputError(
        `params.${name}: an earlier condition has another value for this parameter`,
      );
    }
  }
  return { ...earlier, ...added };
}
