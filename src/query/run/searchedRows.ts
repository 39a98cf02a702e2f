/** Runs a vector search: nearest rows, postfilter, then the columns of the remaining rows by address. */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { runAsync } from "../../async/eventLoop.js";
import { lazyModule } from "../../async/lazy.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { columnsFrom } from "../columns/computedColumns.js";
import { DISTANCE, type FoundColumn } from "../columns/foundColumns.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { wordPairs } from "../columns/rowAddresses.js";
import type { Filter } from "../filter/filter.js";
import type { Order } from "../order/order.js";
import type { BatchRows } from "../scan/scan.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { nearestByIndex } from "../vector/indexedNearest.js";
import { areKept, type NearRows, type SearchRequest } from "../vector/nearestRows.js";
import { searchedFragments } from "../vector/searchedFragments.js";
import { nearestBySketches } from "../vector/sketchedNearest.js";

/** Loaded with the first search whose rows are sorted. */
const ordering = lazyModule(() => import("../order/foundOrder.js"));

/** Rows read at once by address. */
const READ_ROWS = 8192;
/** Rows read at once by address if they have blobs. */
const READ_BLOB_ROWS = 256;

/** Yields outputs, columns of the search, and addresses. Offset and limit apply to each query vector. */
export function searchedRows(source: FragmentSource, request: SearchRequest): AsyncGenerator<BatchRows> {
  const { search, observer, projection, fragments, signal } = request;
  const { order } = request;
  const results =
    order === null ? foundBatches(source, request) : sortedBatches(source, { ...request, order });
  const takeSource = observer?.source("take", source) ?? source;
  const stepSize = Math.min(request.batchRows, projection.hasBlobs ? READ_BLOB_ROWS : READ_ROWS);
  const plan = { fragments, projection: { ...projection, withAddresses: true }, signal };
  const nearestRows = observer?.rows("search", results) ?? results;
  const taking = { plan, stepSize, resultColumns: search.resultColumns };
  const rows = takenRows(takeSource, nearestRows, taking);
  return observer?.rows("take", rows) ?? rows;
}

interface TakeOptions {
  readonly plan: Parameters<typeof readRowsAtAddresses>[1];
  readonly stepSize: number;
  readonly resultColumns: readonly FoundColumn[];
}

/** Reads the columns of rows that a search found. */
async function* takenRows(
  source: FragmentSource,
  batches: AsyncIterable<FoundBatch>,
  { plan, stepSize, resultColumns }: TakeOptions,
): AsyncGenerator<BatchRows> {
  for await (const near of batches) {
    for (const part of partsOf(near, stepSize)) {
      const rows = await readRowsAtAddresses(source, plan, addressesIn(part));
      yield withFound(rows, resultColumns, part);
    }
  }
}

/** Result of a search: the index of the query vector, the distance, and the address of each row. */
type FoundBatch = Omit<BatchRows, "columns"> & {
  readonly columns: readonly [query: FixedColumn, distance: FixedColumn, address: FixedColumn];
};

const addressesIn = ({ columns }: FoundBatch): FixedColumn => columns[2];

/** Sorts the rows of each query vector, and yields those within offset and limit. */
async function* sortedBatches(
  source: FragmentSource,
  request: SearchRequest & { readonly order: Order },
): AsyncGenerator<FoundBatch> {
  const { offset, limit, observer } = request;
  const batches: FoundBatch[] = [];
  for await (const batch of foundBatches(source, { ...request, offset: 0, limit: offset + limit })) {
    batches.push(batch);
  }
  if (batches.length === 0) return;
  const all = joinedBatch(
    batches,
    batches.reduce((sum, { rowCount }) => sum + rowCount, 0),
  );
  const { orderOfFound } = await ordering.get();
  const sorting = orderOfFound(observer?.source("order", source) ?? source, request, addressesIn(all));
  const rows = await (observer?.time("order", sorting, ({ length }) => length) ?? sorting);
  const queries = numbersOf(all.columns[0]);
  const rowsByQuery = new Map<number, number[]>();
  for (const query of queries) rowsByQuery.set(query, []);
  for (const row of rows) rowsByQuery.get(queries[row])?.push(row);
  for (const ofQuery of rowsByQuery.values()) {
    const kept = Uint32Array.from(ofQuery.slice(offset, offset + limit));
    if (kept.length > 0) yield pick(all, kept);
  }
}

/**
 * Yields the returned rows before their columns are read. A batch may hold the rows of several query vectors.
 */
async function* foundBatches(source: FragmentSource, request: SearchRequest): AsyncGenerator<FoundBatch> {
  const { offset, limit, search } = request;
  let query = -1;
  let skip = 0;
  let left = 0;
  const maxRows = offset + limit;
  const { index, requested } = search;
  const searched = { ...request, fragments: searchedFragments(search, request.fragments) };
  const usesIndex = index !== null && areKept(search, maxRows * (requested.refineFactor ?? 1));
  const neighbors = usesIndex
    ? await nearestByIndex(source, searched, index, maxRows)
    : nearestBySketches(source, searched, maxRows);
  const { postfilter } = search;
  const near = joined(neighbors);
  for await (const batch of postfilter === null ? near : selected(source, request, postfilter, near)) {
    const queries = numbersOf(batch.columns[0]);
    const rows = new Uint32Array(batch.rowCount);
    let count = 0;
    for (let row = 0; row < batch.rowCount; row++) {
      if (queries[row] !== query) {
        query = queries[row];
        skip = offset;
        left = limit;
      }
      if (skip > 0) skip--;
      else if (left > 0) {
        left--;
        rows[count++] = row;
      }
    }
    if (count > 0) yield count === rows.length ? batch : pick(batch, rows.subarray(0, count));
  }
}

/** Merges small results of several query vectors into one batch, so that one read loads their columns. */
async function* joined(neighbors: AsyncIterable<NearRows> | Iterable<NearRows>): AsyncGenerator<FoundBatch> {
  let pending: FoundBatch[] = [];
  let rowCount = 0;
  for await (const near of neighbors) {
    const batch = batchOf(near);
    if (batch.rowCount === 0) continue;
    if (rowCount + batch.rowCount > READ_ROWS && pending.length > 0) {
      yield joinedBatch(pending, rowCount);
      pending = [];
      rowCount = 0;
    }
    pending.push(batch);
    rowCount += batch.rowCount;
  }
  if (pending.length > 0) yield joinedBatch(pending, rowCount);
}

function joinedBatch(batches: readonly FoundBatch[], rowCount: number): FoundBatch {
  const column = (index: 0 | 1 | 2): FixedColumn =>
    concatColumns(batches.map(({ columns }) => columns[index]));
  return { columns: [column(0), column(1), column(2)], rowCount };
}

function batchOf({ query, rows: { distances, addresses } }: NearRows): FoundBatch {
  const { length } = distances;
  const queries = numbersColumn(new Int32Array(length).fill(query));
  return { columns: [queries, numbersColumn(distances), wordPairs(addresses)], rowCount: length };
}

const pick = ({ columns: [query, distance, address] }: FoundBatch, rows: Uint32Array): FoundBatch => ({
  columns: [takeColumn(query, rows), takeColumn(distance, rows), takeColumn(address, rows)],
  rowCount: rows.length,
});

function* partsOf(batch: FoundBatch, partRows: number): Generator<FoundBatch> {
  if (batch.rowCount <= partRows) {
    yield batch;
    return;
  }
  for (let start = 0; start < batch.rowCount; start += partRows) {
    const count = Math.min(partRows, batch.rowCount - start);
    const rows = Uint32Array.from({ length: count }, (_, row) => start + row);
    yield pick(batch, rows);
  }
}

/** Yields the rows that the postfilter selects. */
async function* selected(
  source: FragmentSource,
  request: SearchRequest,
  filter: Filter,
  batches: AsyncIterable<FoundBatch>,
): AsyncGenerator<FoundBatch> {
  const { fragments, signal, search, numbers, observer } = request;
  const filterSource = observer?.source("filter", source) ?? source;
  const plan = { fragments, projection: filter.projection, signal };
  for await (const batch of batches) {
    for (const part of partsOf(batch, READ_ROWS)) {
      const read = await readRowsAtAddresses(filterSource, plan, addressesIn(part));
      const { columns } = withFound(read, search.resultColumns, part);
      const inputs = await columnsFrom(filter.inputs, numbers, columns);
      const rows = await runAsync(filter.expression.select(inputs, part.rowCount), signal);
      yield rows === null ? part : pick(part, rows);
    }
  }
}

/** Inserts the columns of the search before the addresses. */
function withFound(
  { columns, rowCount }: BatchRows,
  resultColumns: readonly FoundColumn[],
  { columns: [queries, distances] }: FoundBatch,
): BatchRows {
  const searchColumns = resultColumns.map((column): Column => (column === DISTANCE ? distances : queries));
  return { columns: [...columns.slice(0, -1), ...searchColumns, columns[columns.length - 1]], rowCount };
}

/** The column as 32-bit integers. */
function numbersOf({ values, length }: FixedColumn): Int32Array {
  const { buffer, byteOffset } = alignedBytes(values, 4);
  return new Int32Array(buffer, byteOffset, length);
}
