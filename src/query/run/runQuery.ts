/** Runs a query: reads its rows, and makes batches of the columns that it returns. */

import type { RecordBatch } from "apache-arrow";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { makeBatch } from "../../arrow/exchange/batch.js";
import { lazyModule } from "../../async/lazy.js";
import { rowsOfBatch } from "../../rows/batchSize.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { computationEffort, type Projection, returnedColumns } from "../columns/projection.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import { expressionRows } from "../filter/filter.js";
import { filteredRows } from "../filter/filteredRows.js";
import type { OrderedRequest } from "../order/orderedRows.js";
import { observedScan } from "../scan/observer.js";
import type { BatchRows, ScanRequest } from "../scan/scan.js";
import type { TextSearchPlan } from "../text/textSearch.js";
import type { SearchRequest } from "../vector/nearestRows.js";
import type { QueryOptions, QueryPlan } from "./queryPlan.js";

/** Vector search, full-text search and sorting are each loaded at their first use. */
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
): AsyncGenerator<RecordBatch, void, undefined> {
  const { projection, search, textSearch, filter, order } = plan;
  if (textSearch !== null) return rankedRows(source, plan, textSearch, numbers, options);
  const effort = computationEffort(projection);
  // Expressions run on few rows at a time, so that the event loop is not blocked.
  const batchRows =
    effort.size === 0 ? options.batchRows : Math.min(options.batchRows, expressionRows(effort));
  const request = { ...plan, ...options, batchRows };
  const rows =
    search !== null
      ? nearRows(source, { ...request, search, filter, numbers })
      : order !== null
        ? sortedRows(source, { ...request, filter, order, numbers })
        : filter !== null
          ? filteredRows(source, { ...request, filter, numbers })
          : null;
  if (rows === null) {
    const scanned = observedScan(source, options.observer, scanOf(plan, options, batchRows));
    return scannedBatches(scanned, projection, numbers, options.signal);
  }
  return foundBatches(rows, request, numbers);
}

async function* nearRows(
  source: FragmentSource,
  request: SearchRequest,
): AsyncGenerator<BatchRows, void, undefined> {
  const { searchedRows } = await byVector.get();
  yield* searchedRows(source, request);
}

async function* sortedRows(
  source: FragmentSource,
  request: OrderedRequest,
): AsyncGenerator<BatchRows, void, undefined> {
  const { orderedRows } = await ordering.get();
  yield* orderedRows(source, request);
}

async function* rankedRows(
  source: FragmentSource,
  plan: QueryPlan,
  textSearch: TextSearchPlan,
  numbers: RowNumbers,
  options: QueryOptions,
): AsyncGenerator<RecordBatch, void, undefined> {
  const { rankedBatches } = await byText.get();
  yield* rankedBatches(source, plan, textSearch, numbers, options);
}

async function batchOf(
  { columns, rowCount }: BatchRows,
  projection: Projection,
  numbers: RowNumbers,
  signal: AbortSignal | undefined,
): Promise<RecordBatch> {
  return makeBatch(
    projection.schema,
    await returnedColumns(projection, numbers, columns, rowCount, signal),
    rowCount,
  );
}

/** A separate function, so that the compiled loop survives from one query to the next. */
async function* scannedBatches(
  scanned: AsyncIterable<BatchRows>,
  projection: Projection,
  numbers: RowNumbers,
  signal: AbortSignal | undefined,
): AsyncGenerator<RecordBatch, void, undefined> {
  for await (const rows of scanned) yield await batchOf(rows, projection, numbers, signal);
}

async function* foundBatches(
  batches: AsyncIterable<BatchRows>,
  request: QueryOptions & QueryPlan,
  numbers: RowNumbers,
): AsyncGenerator<RecordBatch, void, undefined> {
  const { projection, memory, signal } = request;
  try {
    for await (const rows of batches) {
      const bytes = rows.columns.reduce((sum, column) => sum + columnBytes(column), 0);
      memory?.note(SELECTED, bytes);
      for (const part of partsOf(rows, rowsAtOnce(request, bytes / rows.rowCount))) {
        signal?.throwIfAborted();
        yield await batchOf(part, projection, numbers, signal);
      }
    }
  } finally {
    memory?.note(SELECTED, 0);
  }
}

/**
 * Lists every member. An object made by spreading gets a new hidden class each time, and V8 would discard the
 * code that it compiled for the previous query.
 */
const scanOf = (
  { fragments, projection, offset, limit }: QueryPlan,
  { batchBytes, readAhead, memory, signal }: QueryOptions,
  batchRows: number,
): ScanRequest => ({
  fragments,
  projection,
  offset,
  limit,
  batchRows,
  batchBytes,
  readAhead,
  memory,
  signal,
});

/** Maximum rows of a returned batch. */
function rowsAtOnce(
  { batchRows, batchBytes, projection }: QueryOptions & QueryPlan,
  rowBytes: number,
): number {
  if (batchBytes === undefined) return batchRows;
  return Math.min(batchRows, rowsOfBatch(batchBytes, projection.returned.length, rowBytes));
}

function* partsOf({ columns, rowCount }: BatchRows, partRows: number): Generator<BatchRows> {
  for (let start = 0; start < rowCount; start += partRows) {
    const count = Math.min(partRows, rowCount - start);
    yield { columns: columns.map((column) => sliceColumn(column, start, count)), rowCount: count };
  }
}
