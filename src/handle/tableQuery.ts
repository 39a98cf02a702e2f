/** A query that is put together step by step. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import { InvalidInputError } from "../errors.js";
import type * as queries from "../namespace/queries.js";
import type { FullTextQuery, StructuredTextQuery } from "../namespace/textQueries.js";
import { isObject, shortly } from "../optionMembers.js";
import { checkedOptions, VECTOR_OPTIONS } from "./handleOptions.js";
import type { AnyRow, Selectable, SelectedRow } from "./rowTypes.js";
import { type Scan, type ScanOptions, scanOf } from "./scan.js";

/** How a plan is shown. */
export interface PlanOptions extends Pick<queries.ExplainTableQueryPlanRequest, "format" | "signal"> {
  /** Whether long lists and conditions are shown whole. Default false. */
  readonly verbose?: boolean | undefined;
}

/** The options of searches. */
type SearchOptions = queries.VectorSearchOptions &
  Pick<queries.QueryTableRequest, "vector" | "fullTextQuery" | "highlight" | "rerank">;

/** Options of a query, with those of a search. */
export type TableQueryOptions = ScanOptions & SearchOptions;

/** What runs the queries of a table. */
export interface QueryRunner {
  query(options: TableQueryOptions): Promise<queries.QueryResult>;
  explain(query: TableQueryOptions, options: PlanOptions): Promise<string>;
  analyze(query: TableQueryOptions, options: Omit<PlanOptions, "verbose">): Promise<string>;
}

/** How a search by text goes. */
export interface MatchingOptions {
  /** Paths of the columns that a text of words is searched in. Default: all that are indexed. */
  readonly columns?: readonly string[] | undefined;
  /** Whether conditions come before the search, rather than taking rows away of those that were found. Default true. */
  readonly prefilter?: boolean | undefined;
  /** Whether only rows are searched that an index covers. Default false. */
  readonly fastSearch?: boolean | undefined;
  /** Whether rows have `_highlights`: where their texts have what was searched for. Default false. */
  readonly highlight?: boolean | undefined;
}

/** The columns that {@link TableQuery.matching} adds. */
export interface Score {
  /** How well the row matches; the best rows come first. */
  _score: number;
  /** With `highlight: true`, where its texts have what was searched for. */
  _highlights?: readonly queries.Highlight[];
}

/** A column to sort by: its path, or with a direction. */
export type SortColumn = string | queries.OrderByColumn;

/** The column that {@link TableQuery.nearestTo} adds. */
export interface Distance {
  /** How far the row is from the vector. */
  _distance: number;
}

/** The column of rows that a search by vector and one by text found together. */
export interface Relevance {
  /** How relevant the row is; the most relevant rows come first. */
  _relevance_score: number;
}

/** The columns of rows that a search by vector, one by text, or both found. */
export interface Hybrid extends Relevance, Pick<Score, "_highlights"> {
  /** How far the row is from the vector; null where only its text was found. */
  _distance: number | null;
  /** How well the row matches; null where only its vector was found. */
  _score: number | null;
}

/** The columns of a search, beside those of an earlier one that goes with it. */
type Searched<Earlier, Added extends keyof Hybrid, Alone> = Earlier extends { [Each in Added]: unknown }
  ? Hybrid
  : Alone;

/** Rows with the columns of a search, which may take the place of those that they had. */
type WithSearch<Row, Columns> = Columns extends Hybrid ? Omit<Row, keyof Hybrid> & Columns : Row & Columns;

/** The column that {@link TableQuery.withRowId} adds. */
export interface RowId {
  /** Id of the row. */
  _rowid: bigint;
}

/**
 * A query of one table, made by `table.query()`. Each step gives a new query, and leaves the one that it was asked of as
 * it is. Like a scan, it runs when it is read, and anew each time:
 *
 *     const cheap = table.query().where("price < $most", { most: 10 }).select(["id", "price"]);
 *     const rows = await cheap.orderBy("price").limit(3).toArray();
 *
 * Of its types, `Row` is a row of the table, `Selected` a row of the query, and `Found` what searches add to it, whichever
 * columns are selected.
 */
export class TableQuery<
  Row extends object = AnyRow,
  Selected extends object = Row,
  Found extends object = object,
> implements Scan<Selected>
{
  readonly #runner: QueryRunner;
  readonly #options: TableQueryOptions;

  /** @internal */
  constructor(runner: QueryRunner, options: TableQueryOptions) {
    this.#runner = runner;
    this.#options = Object.freeze({ ...options });
  }

  /** Made when it is asked for: most queries are only steps on the way to others. */
  get #rows(): Scan<Selected> {
    return scanOf(() => this.#runner.query(this.#options));
  }

  /**
   * Keeps the rows for which a condition holds; of several, all must hold.
   * @param filter SQL text, or an expression made with `col`, `lit` or `sql`
   * @param params values of its parameters: `$name` in its text
   * @throws InvalidInputError for a parameter that an earlier condition has with another value
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

  /** Chooses the columns; a later choice takes the place of an earlier one. */
  select<const Columns extends queries.ColumnSelection>(
    columns: Columns,
  ): TableQuery<Row, SelectedRow<Row, Columns> & Found, Found> {
    if (typeof columns === "string") {
      throw new InvalidInputError(`select: must be a list of columns, as in select([${shortly(columns)}])`);
    }
    return this.#with({ columns });
  }

  /**
   * Sorts the rows, by the first column, then by those that follow. Of several calls, the first one sorts first.
   *
   *     table.query().orderBy("city", { columnName: "price", ascending: false })
   */
  orderBy(...columns: (SortColumn | readonly SortColumn[])[]): TableQuery<Row, Selected, Found> {
    const named = columns.flat().map((column, index): queries.OrderByColumn => {
      if (typeof column !== "string") return column;
      const [, path, direction] = /^(\S+)\s+(asc|desc)$/i.exec(column) ?? [];
      if (direction !== undefined) {
        const ascending = /^asc/i.test(direction);
        throw new InvalidInputError(
          `orderBy: a direction is a member of its own, as in { columnName: ${shortly(path)}, ascending: ${ascending} }`,
        );
      }
      if (index > 0 && /^(asc|desc)(ending)?$/i.test(column)) {
        const ascending = /^asc/i.test(column);
        throw new InvalidInputError(
          `orderBy: a direction goes with its column, as in { columnName: ${shortly(columns[index - 1])}, ascending: ${ascending} }`,
        );
      }
      return { columnName: column };
    });
    return this.#with({ orderBy: [...(this.#options.orderBy ?? []), ...named] });
  }

  /**
   * Searches texts for words: rows then have `_score`, and the best come first, all that match unless `limit` says
   * otherwise. A later search by text takes the place of an earlier one; one with a vector ({@link nearestTo}) goes with it:
   * what either finds comes in one order, 10 rows unless `limit` says otherwise.
   *
   *     table.query().matching("puppy training", { columns: ["body"] }).limit(10)
   *     table.query().matching({ phrase: { terms: "house training", column: "body" } })
   *
   * @param text words, of which a row has to have any; or a structured query
   */
  matching(
    text: string | StructuredTextQuery,
    options?: MatchingOptions,
  ): TableQuery<
    Row,
    WithSearch<Selected, Searched<Found, "_distance", Score>>,
    WithSearch<Found, Searched<Found, "_distance", Score>>
  > {
    const known = ["columns", "prefilter", "fastSearch", "highlight"];
    const { columns, ...search } = checkedOptions<MatchingOptions>("matching", options, known);
    if (typeof text !== "string" && !isObject(text)) {
      throw new InvalidInputError(`matching: must be a text or a structured query, not ${shortly(text)}`);
    }
    if (typeof text !== "string" && columns !== undefined && columns !== null) {
      throw new InvalidInputError("columns: of a structured query, each part names its column");
    }
    const fullTextQuery: FullTextQuery =
      typeof text === "string"
        ? { stringQuery: { query: text, columns } }
        : { structuredQuery: { query: text } };
    return this.#with({ ...search, fullTextQuery });
  }

  /**
   * Puts the rows of a query with both {@link nearestTo} and {@link matching} in an order of your own, instead of that of
   * reciprocal rank fusion. Rows have `_relevance_score`, null `_distance` where only their text was found, and null
   * `_score` where only their vector was. Each search finds as many rows as are wanted: a greater `limit` gives it more to
   * choose from.
   *
   *     table.query().nearestTo(vector).matching("puppy").rerank(({ score }) => score ?? 0)
   *
   * @param by gives how relevant a row is; the most relevant rows come first
   */
  rerank(by: queries.Rerank): TableQuery<Row, Selected & Relevance, Found & Relevance> {
    return this.#with({ rerank: by });
  }

  /** At most so many rows, ≥ 1. */
  limit(count: number): TableQuery<Row, Selected, Found> {
    return this.#with({ limit: count });
  }

  /** Skips so many rows, ≥ 0. */
  offset(count: number): TableQuery<Row, Selected, Found> {
    return this.#with({ offset: count });
  }

  /**
   * Finds the rows nearest to a vector, the nearest first, with the column `_distance`: 10 of them unless `limit` or `k`
   * says otherwise.
   *
   *     await table.query().nearestTo([0.1, 0.2]).where("price < 10").limit(3).toArray()
   *
   * @param vector its numbers, or several vectors
   */
  nearestTo(
    vector: queries.SearchVector,
    options: queries.VectorSearchOptions = {},
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

  /** How the query would run, as text or JSON. */
  explain(options: PlanOptions = {}): Promise<string> {
    return this.#runner.explain(this.#options, options);
  }

  /** Runs the query, and tells what each step of it did. */
  analyze(options: Omit<PlanOptions, "verbose"> = {}): Promise<string> {
    return this.#runner.analyze(this.#options, options);
  }

  /** The Arrow schema of the rows. */
  schema(): Promise<Schema> {
    return this.#rows.schema();
  }

  /** The rows, batch by batch. */
  [Symbol.asyncIterator](): AsyncIterator<RecordBatch> {
    return this.#rows[Symbol.asyncIterator]();
  }

  /** All rows as one Arrow table. */
  toArrow(): Promise<Table> {
    return this.#rows.toArrow();
  }

  /** All rows as plain objects. */
  toArray(): Promise<Selected[]> {
    return this.#rows.toArray();
  }

  /** The rows one by one, as plain objects. */
  rows(): AsyncIterable<Selected> {
    return this.#rows.rows();
  }

  /** All rows as the bytes of an Arrow IPC stream. */
  toIPC(): Promise<Uint8Array> {
    return this.#rows.toIPC();
  }

  /** The same as {@link toIPC}, at the pace of its reader. */
  toIPCStream(): ReadableStream<Uint8Array> {
    return this.#rows.toIPCStream();
  }

  #with<Other extends object, OtherFound extends object>(
    options: SearchOptions & ScanOptions<Selectable>,
  ): TableQuery<Row, Other, OtherFound> {
    return new TableQuery<Row, Other, OtherFound>(this.#runner, { ...this.#options, ...options });
  }
}

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
      throw new InvalidInputError(`params.${name}: an earlier condition has another value of this name`);
    }
  }
  return { ...earlier, ...added };
}
