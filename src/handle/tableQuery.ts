/** A query that is put together step by step. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import { InvalidInputError } from "../errors.js";
import type * as queries from "../namespace/queries.js";
import { isObject, shortly } from "../optionMembers.js";
import { checkedOptions, VECTOR_OPTIONS } from "./handleOptions.js";
import type { AnyRow, SelectedRow } from "./rowTypes.js";
import { type Scan, type ScanOptions, scanOf } from "./scan.js";

/** How a plan is shown. */
export interface PlanOptions extends Pick<queries.ExplainTableQueryPlanRequest, "format" | "signal"> {
  /** Whether long lists and conditions are shown whole. Default false. */
  readonly verbose?: boolean | undefined;
}

/** What a query is put together of. */
interface QueryOptions extends ScanOptions, queries.VectorSearchOptions {
  readonly vector?: queries.SearchVector | undefined;
}

/** What runs the queries of a table. */
export interface QueryRunner {
  query(options: QueryOptions): Promise<queries.QueryResult>;
  explain(query: QueryOptions, options: PlanOptions): Promise<string>;
  analyze(query: QueryOptions, options: Omit<PlanOptions, "verbose">): Promise<string>;
}

/** A column to sort by: its path, or with a direction. */
export type SortColumn = string | queries.OrderByColumn;

/** The column that {@link TableQuery.nearestTo} adds. */
export interface Distance {
  /** How far the row is from the vector. */
  _distance: number;
}

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
 */
export class TableQuery<Row extends object = AnyRow, Selected extends object = Row>
  implements Scan<Selected>
{
  readonly #runner: QueryRunner;
  readonly #options: QueryOptions;
  readonly #rows: Scan<Selected>;

  /** @internal */
  constructor(runner: QueryRunner, options: QueryOptions) {
    this.#runner = runner;
    this.#options = Object.freeze({ ...options });
    this.#rows = scanOf(() => runner.query(this.#options));
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
  ): TableQuery<Row, Selected> {
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
  ): TableQuery<Row, SelectedRow<Row, Columns> & object> {
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
  orderBy(...columns: (SortColumn | readonly SortColumn[])[]): TableQuery<Row, Selected> {
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

  /** At most so many rows, ≥ 1. */
  limit(count: number): TableQuery<Row, Selected> {
    return this.#with({ limit: count });
  }

  /** Skips so many rows, ≥ 0. */
  offset(count: number): TableQuery<Row, Selected> {
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
  ): TableQuery<Row, Selected & Distance> {
    if (vector === undefined || vector === null) {
      throw new InvalidInputError(`nearestTo: must be given a vector, not ${shortly(vector)}`);
    }
    return this.#with({ ...checkedOptions("nearestTo", options, VECTOR_OPTIONS), vector });
  }

  /** Adds the column `_rowid`. */
  withRowId(): TableQuery<Row, Selected & RowId> {
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

  #with<Other extends object>(options: QueryOptions): TableQuery<Row, Other> {
    return new TableQuery<Row, Other>(this.#runner, { ...this.#options, ...options });
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
