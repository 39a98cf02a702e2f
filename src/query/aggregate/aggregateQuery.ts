/** Runs an aggregation of a table: reads rows, groups them, and makes the returned columns in their order. */

import type { RecordBatch } from "apache-arrow";
import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { makeBatch } from "../../arrow/exchange/batch.js";
import { runAsync } from "../../async/eventLoop.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import type { BoundExpression } from "../../expression/expression.js";
import { typeName } from "../../expression/values/types.js";
import { withoutDictionaries } from "../../expression/values/valueField.js";
import type { DataFragment } from "../../format/table.js";
import { nearestHint } from "../../nearestName.js";
import { rowsOfBatch } from "../../rows/batchSize.js";
import type { ReadAhead } from "../../rows/readAhead.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import { expressionRows } from "../columns/computedColumns.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import { countFiltered, type Filter } from "../filter/filter.js";
import { type PickedRows, pickedRows } from "../filter/pickedRows.js";
import { SORT_BYTES, sortRows } from "../order/externalSort.js";
import { isSortable, type KeyOrder } from "../order/sortKeys.js";
import { TopRows } from "../order/topRows.js";
import { type BatchRows, scanColumns } from "../scan/scan.js";
import { type AggregationOptions, aggregatedRows } from "./aggregatedRows.js";
import type { AggregatePlan } from "./aggregatePlan.js";

/** Maximum number of first rows that stay in memory while the others pass. */
const TOP_ROWS = 65_536;
/** Maximum rows of a batch of plain columns. */
const SCANNED_ROWS = 65_536;

/** A column of the result to sort by. */
export interface ResultOrder extends KeyOrder {
  /** Index of the column in the result. */
  readonly index: number;
}

export interface AggregateQuery {
  readonly fragments: readonly DataFragment[];
  readonly plan: AggregatePlan;
  readonly filter: Filter | null;
  readonly order: readonly ResultOrder[];
  readonly offset: number;
  readonly limit: number;
}

export interface AggregateQueryOptions extends AggregationOptions {
  readonly readAhead: ReadAhead;
  /** Maximum rows of a returned batch. */
  readonly batchRows: number;
  /** Approximate bytes of a returned batch. Default: no bound. */
  readonly batchBytes?: number | undefined;
}

/**
 * Finds a column of the result to sort by.
 * @throws InvalidInputError for a name that the result does not have, UnsupportedError for lists and structs
 */
export function resultOrder(
  { schema, returned }: AggregatePlan,
  name: string,
  label: string,
  direction: Pick<KeyOrder, "ascending" | "nullsFirst">,
): ResultOrder {
  const names = schema.fields.map((field) => field.name);
  const index = names.indexOf(name);
  if (index < 0) {
    throw new InvalidInputError(
      `${label}: the result has no column ${name}${nearestHint(name, names, (near) => near)}`,
    );
  }
  const { type } = returned[index];
  if (isSortable(type)) return { index, type, ...direction };
  throw new UnsupportedError(`${label}: rows can't be sorted by ${name}, a column of type ${typeName(type)}`);
}

export async function* aggregateBatches(
  source: FragmentSource,
  query: AggregateQuery,
  numbers: RowNumbers,
  options: AggregateQueryOptions,
): AsyncGenerator<RecordBatch> {
  const groups = groupsOf(source, query, numbers, options);
  const rows = inOrder(returnedRows(groups, query.plan, options.signal), query, options);
  let skip = query.offset;
  let left = query.limit;
  for await (const { columns, rowCount } of rows) {
    const skipped = Math.min(skip, rowCount);
    skip -= skipped;
    const end = Math.min(rowCount, skipped + left);
    const batchRows = rowsAtOnce(columns, rowCount, options);
    for (let start = skipped; start < end; start += batchRows) {
      const count = Math.min(batchRows, end - start);
      left -= count;
      const some = columns.map((column) => sliceColumn(column, start, count));
      yield makeBatch(query.plan.schema, some, count);
    }
    if (left <= 0) return;
  }
}

/** Returns the rows of a returned batch. */
function rowsAtOnce(
  columns: readonly Column[],
  rowCount: number,
  { batchRows, batchBytes }: AggregateQueryOptions,
): number {
  if (batchBytes === undefined) return batchRows;
  const bytes = columns.reduce((sum, column) => sum + columnBytes(column), 0);
  return Math.min(batchRows, rowsOfBatch(batchBytes, columns.length, bytes / rowCount));
}

/** Yields one row per group. */
async function* groupsOf(
  source: FragmentSource,
  query: AggregateQuery,
  numbers: RowNumbers,
  options: AggregateQueryOptions,
): AsyncGenerator<BatchRows> {
  const { fragments, plan, filter } = query;
  if (areCounts(plan)) {
    const { readAhead, memory, signal } = options;
    const request = { fragments, numbers, readAhead, memory, signal };
    const count =
      filter === null
        ? fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0)
        : await countFiltered(source, { ...request, filter });
    const column: Column = numbersColumn(BigInt64Array.of(BigInt(count)));
    yield { columns: plan.calls.map(() => column), rowCount: 1 };
    return;
  }
  yield* aggregatedRows(inputRows(source, query, numbers, options), plan, numbers, options);
}

/** True if the counts of rows are all that is asked for: the manifest or an index may know them. */
const areCounts = ({ keys, calls }: AggregatePlan): boolean =>
  keys.length === 0 && calls.every(({ operand, filter }) => operand === null && filter === null);

/** Reads the columns that the groups need. */
function inputRows(
  source: FragmentSource,
  { fragments, plan: { projection, effort }, filter }: AggregateQuery,
  numbers: RowNumbers,
  { readAhead, memory, signal }: AggregateQueryOptions,
): AsyncIterable<BatchRows & Partial<PickedRows>> {
  const request = {
    fragments,
    projection,
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: effort.size === 0 ? SCANNED_ROWS : Math.min(SCANNED_ROWS, expressionRows(effort)),
    readAhead,
    memory,
    signal,
    isTransient: true,
    keeps: "dictionaries" as const,
  };
  return filter === null ? scanColumns(source, request) : pickedRows(source, { ...request, filter, numbers });
}

/** Leaves out groups by the condition, and computes the returned columns of the others. */
async function* returnedRows(
  groups: AsyncIterable<BatchRows>,
  { having, returned }: AggregatePlan,
  signal: AbortSignal | undefined,
): AsyncGenerator<BatchRows> {
  for await (const batch of groups) {
    let { columns, rowCount } = batch;
    if (having !== null) {
      const rows = await runAsync(having.select(inputsOf(having, columns), rowCount), signal);
      if (rows !== null) {
        columns = columns.map((column) => takeColumn(column, rows));
        rowCount = rows.length;
      }
    }
    if (rowCount === 0) continue;
    const made: Column[] = [];
    for (const expression of returned) {
      const values = await runAsync(expression.evaluate(inputsOf(expression, columns), rowCount), signal);
      made.push(withoutDictionaries(values));
    }
    yield { columns: made, rowCount };
  }
}

/** Returns the columns of groups that an expression needs. The plan names them by their numbers. */
const inputsOf = ({ paths }: BoundExpression, columns: readonly Column[]): Column[] =>
  paths.map(([name]) => columns[Number(name)]);

/** Sorts rows, if they have an order. */
async function* inOrder(
  rows: AsyncIterable<BatchRows>,
  { order, offset, limit }: AggregateQuery,
  { makeFile, memory, signal }: AggregateQueryOptions,
): AsyncGenerator<BatchRows> {
  if (order.length === 0) {
    yield* rows;
    return;
  }
  const count = offset + limit;
  if (count > TOP_ROWS) {
    const keyPlaces = order.map(({ index }) => index);
    const note = (byteLength: number) => memory?.note("sorted groups", byteLength);
    yield* sortRows(rows, {
      orders: order,
      keyPlaces,
      limit: count,
      sortBytes: SORT_BYTES,
      makeFile,
      note,
      signal,
    });
    return;
  }
  const top = new TopRows(order, count);
  for await (const { columns, rowCount } of rows) {
    signal?.throwIfAborted();
    await top.add([...order.map(({ index }) => columns[index]), ...columns], rowCount);
  }
  for (const { columns, rowCount } of await top.finish())
    yield { columns: columns.slice(order.length), rowCount };
}
