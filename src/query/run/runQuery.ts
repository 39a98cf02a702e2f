/** Runs a query: reads its rows, and makes batches of the columns that it returns. */

import type { RecordBatch } from "apache-arrow";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { makeBatch } from "../../arrow/exchange/batch.js";
import { lazyModule } from "../../async/lazy.js";
import { rowsOfBatch } from "../../rows/batchSize.js";
import { expressionRows } from "../columns/computedColumns.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { computationEffort, type Projection, returnedColumns } from "../columns/projection.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import type { Filter } from "../filter/filter.js";
import type { Order } from "../order/order.js";
import { observedScan } from "../scan/observer.js";
import type { BatchRows, ScanRequest } from "../scan/scan.js";
import type { VectorSearch } from "../vector/vectorSearch.js";
import type { QueryOptions, QueryPlan } from "./queryPlan.js";

/** Filters, searches by vector, searches by text and sorting are each loaded with their first query. */
const filtering = lazyModule(() => import("../filter/filteredRows.js"));
const byVector = lazyModule(() => import("./searchedRows.js"));
const byText = lazyModule(() => import("./rankedRows.js"));
const ordering = lazyModule(() => import("../order/orderedRows.js"));

/** Name of the memory use of rows that a filter selected or a sort ordered. */
const SELECTED = "selected rows";

/** Runs a query. It reads nothing before the caller asks for the first batch. */
export function runQuery(
  source: FragmentSource,
  plan: QueryPlan,
  numbers: RowNumbers,
  options: QueryOptions,
): AsyncGenerator<RecordBatch> {
  const { projection, search, textSearch, filter, order } = plan;
  if (textSearch !== null) return rankedBatches(source, plan, textSearch, numbers, options);
  const batchRows = batchRowsOf(projection, options.batchRows);
  if (search === null && order === null && filter === null) {
    const scanned = observedScan(source, options.observer, scanOf(plan, options, batchRows));
    return scannedBatches(scanned, projection, numbers, options.signal);
  }
  const request = requestOf(plan, numbers, options, batchRows);
  return returnedBatches(() => openRows(source, request), request, numbers);
}

/** Begins to read the rows of a query that searches, sorts or filters. */
async function openRows(source: FragmentSource, request: RowsRequest): Promise<RowsToReturn> {
  // The checks narrow the members of the request.
  if (request.search !== null) {
    return (await byVector.get()).searchedRows(source, request as Requests["search"]);
  }
  if (request.order !== null) {
    return (await ordering.get()).orderedRows(source, request as Requests["order"]);
  }
  const { openFiltered } = filtering.current ?? (await filtering.get());
  return openFiltered(source, request as Requests["filter"]);
}

/** Returns the maximum rows of a batch. Expressions run on few rows at a time: the event loop must go on. */
export function batchRowsOf(projection: Projection, requestedRows: number): number {
  const effort = computationEffort(projection);
  return effort.size === 0 ? requestedRows : Math.min(requestedRows, expressionRows(effort));
}

async function* rankedBatches(
  ...search: Parameters<Awaited<ReturnType<typeof byText.get>>["rankedBatches"]>
): AsyncGenerator<RecordBatch> {
  yield* (await byText.get()).rankedBatches(...search);
}

function batchOf(
  { columns, rowCount }: BatchRows,
  projection: Projection,
  numbers: RowNumbers,
  signal: AbortSignal | undefined,
): RecordBatch | Promise<RecordBatch> {
  const { schema } = projection;
  const returned = returnedColumns(projection, numbers, columns, rowCount, signal);
  return Array.isArray(returned)
    ? makeBatch(schema, returned, rowCount)
    : returned.then((made) => makeBatch(schema, made, rowCount));
}

/** A separate function, so that the compiled loop survives from one query to the next. */
async function* scannedBatches(
  scanned: AsyncIterable<BatchRows>,
  projection: Projection,
  numbers: RowNumbers,
  signal: AbortSignal | undefined,
): AsyncGenerator<RecordBatch> {
  for await (const rows of scanned) yield batchOf(rows, projection, numbers, signal);
}

/** Options of the batches that a query returns. */
type ReturnOptions = Pick<QueryPlan, "projection"> &
  Pick<QueryOptions, "batchRows" | "batchBytes" | "memory" | "signal">;

/** Batches of rows as a stream, or as a list of promises that are awaited one after the other. */
export type RowsToReturn = AsyncIterable<BatchRows> | Iterable<Promise<BatchRows>>;

/**
 * Makes record batches of rows.
 * @param open begins to read the rows
 */
export async function* returnedBatches(
  open: () => Promise<RowsToReturn>,
  request: ReturnOptions,
  numbers: RowNumbers,
): AsyncGenerator<RecordBatch> {
  try {
    const opened = await open();
    if (Symbol.iterator in opened) {
      // The stream that `for await` would make of them has promises of its own.
      for (const reading of opened)
        for (const batch of batchesOf(await reading, request, numbers)) yield batch;
    } else {
      for await (const rows of opened) for (const batch of batchesOf(rows, request, numbers)) yield batch;
    }
  } finally {
    request.memory?.note(SELECTED, 0);
  }
}

/** Makes the batches of some rows, one after the other. */
function* batchesOf(rows: BatchRows, request: ReturnOptions, numbers: RowNumbers) {
  const { projection, memory, signal } = request;
  const bytes = rows.columns.reduce((sum, column) => sum + columnBytes(column), 0);
  memory?.note(SELECTED, bytes);
  for (const part of partsOf(rows, rowsAtOnce(request, bytes / rows.rowCount))) {
    signal?.throwIfAborted();
    yield batchOf(part, projection, numbers, signal);
  }
}

interface Requests {
  readonly search: RowsRequest & { readonly search: VectorSearch };
  readonly order: RowsRequest & { readonly order: Order };
  readonly filter: RowsRequest & { readonly filter: Filter };
}

type RowsRequest = ReturnType<typeof requestOf>;

/** Lists every member, for the reason of {@link scanOf}. */
function requestOf(plan: QueryPlan, numbers: RowNumbers, options: QueryOptions, batchRows: number) {
  const { fragments, projection, search, filter, order, offset, limit } = plan;
  const { batchBytes, readAhead, memory, signal, observer, makeFile, sortBytes } = options;
  // biome-ignore format: one line for each kind of member
  return {
    fragments, projection, search, filter, order, numbers, offset, limit,
    batchRows, batchBytes, readAhead, memory, signal, observer, makeFile, sortBytes,
  };
}

/** Lists every member: spread objects get new hidden classes, for which V8 discards compiled code. */
function scanOf(plan: QueryPlan, options: QueryOptions, batchRows: number): ScanRequest {
  const { fragments, projection, offset, limit } = plan;
  const { batchBytes, readAhead, memory, signal } = options;
  return { fragments, projection, offset, limit, batchRows, batchBytes, readAhead, memory, signal };
}

/** Maximum rows of a returned batch. */
function rowsAtOnce(request: ReturnOptions, rowBytes: number): number {
  const { batchRows, batchBytes, projection } = request;
  if (batchBytes === undefined) return batchRows;
  return Math.min(batchRows, rowsOfBatch(batchBytes, projection.returned.length, rowBytes));
}

function* partsOf({ columns, rowCount }: BatchRows, partRows: number): Generator<BatchRows> {
  for (let start = 0; start < rowCount; start += partRows) {
    const count = Math.min(partRows, rowCount - start);
    yield { columns: columns.map((column) => sliceColumn(column, start, count)), rowCount: count };
  }
}
