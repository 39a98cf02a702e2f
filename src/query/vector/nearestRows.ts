/** Finds the nearest rows by comparing all rows, or a filter's. Keeps only distances and addresses. */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { FLOAT32, UINT64 } from "../../expression/values/types.js";
import { MAX_NEAREST, type NearestRowList, NearestRows } from "../../indexes/vector/distance/nearestRows.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { addressesAmong, addressWords } from "../columns/rowAddresses.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import type { Filter } from "../filter/filter.js";
import { filteredRows } from "../filter/filteredRows.js";
import { SORT_BYTES, sortRows } from "../order/externalSort.js";
import type { Order } from "../order/order.js";
import type { SortOptions } from "../order/orderedRows.js";
import type { KeyOrder } from "../order/sortKeys.js";
import { observedScan, type QueryObserver } from "../scan/observer.js";
import type { BatchRows, ScanRequest } from "../scan/scan.js";
import { measureDistances, offerBatch } from "./vectorDistances.js";
import type { VectorSearch } from "./vectorSearch.js";

/** Rows per batch. */
const BATCH_ROWS = 65_536;
/** Approximate bytes per batch. */
const BATCH_BYTES = 2 ** 25;

/** Maximum number of rows that a comparison keeps in memory for all vectors. */
export const MAX_KEPT = 2 ** 20;

export interface SearchRequest extends ScanRequest, SortOptions {
  readonly search: VectorSearch;
  /** Rows to search; null for all. */
  readonly filter: Filter | null;
  /** Order of the rows that were found; null for that of their distances. */
  readonly order: Order | null;
  readonly numbers: RowNumbers;
  readonly observer?: QueryObserver;
}

/** Nearest rows of one vector. */
export interface NearRows {
  /** Index of the vector. */
  readonly query: number;
  readonly rows: NearestRowList;
}

/** Yields the nearest rows of each vector in turn, nearest first, at most `most` each. */
export async function* nearestRows(
  source: FragmentSource,
  request: SearchRequest,
  most: number,
): AsyncGenerator<NearRows> {
  if (!areKept(request.search, most)) {
    yield* allByDistance(source, request, most);
    return;
  }
  const nearest = Array.from({ length: resultCount(request.search) }, () => new NearestRows(most));
  await offerRows(source, request, nearest);
  for (const [query, collector] of nearest.entries()) yield { query, rows: collector.finish() };
}

/** Returns the number of results of a search. */
const resultCount = ({ column, queries }: VectorSearch): number => (column.isMulti ? 1 : queries.length);

/** True if the rows of all vectors fit in memory; else each vector sorts on its own. */
export const areKept = (search: VectorSearch, most: number): boolean =>
  most <= MAX_NEAREST && most * resultCount(search) <= MAX_KEPT;

/** Offers rows to the collector of each vector: those of `batches`, by default all that are searched. */
export async function offerRows(
  source: FragmentSource,
  request: SearchRequest,
  nearest: readonly NearestRows[],
  batches: AsyncIterable<BatchRows> | Iterable<BatchRows> = vectorsOf(source, request),
): Promise<void> {
  for await (const { columns } of batches) await offerBatch(request.search, columns, nearest);
}

const BY_DISTANCE: readonly KeyOrder[] = [
  { type: FLOAT32, ascending: true, nullsFirst: false },
  { type: UINT64, ascending: true, nullsFirst: false },
];

/** Sorts all rows by distance in bounded memory. */
async function* allByDistance(
  source: FragmentSource,
  request: SearchRequest,
  most: number,
): AsyncGenerator<NearRows> {
  for (let query = 0; query < resultCount(request.search); query++) {
    const sorted = sortRows(measuredRows(source, request, query), {
      orders: BY_DISTANCE,
      keyPlaces: [0, 1],
      limit: most,
      sortBytes: request.sortBytes ?? SORT_BYTES,
      makeFile: request.makeFile,
      signal: request.signal,
    });
    for await (const { columns, rowCount } of sorted) {
      const { values } = columns[0] as FixedColumn;
      const distances = new Float32Array(values.slice().buffer, 0, rowCount);
      yield { query, rows: { distances, addresses: addressWords(columns[1] as FixedColumn) } };
    }
  }
}

/** Yields the distances and addresses of rows within the bounds. */
async function* measuredRows(
  source: FragmentSource,
  request: SearchRequest,
  query: number,
): AsyncGenerator<BatchRows> {
  const { queries, column, lowerBound, upperBound } = request.search;
  const search = column.isMulti ? request.search : { ...request.search, queries: [queries[query]] };
  for await (const { columns, rowCount } of vectorsOf(source, request)) {
    const all = new Float32Array(rowCount).fill(Number.NaN);
    await measureDistances(search, columns[0], (_, firstRow, distances) => all.set(distances, firstRow));
    const wanted = new Uint32Array(rowCount);
    let count = 0;
    for (let row = 0; row < rowCount; row++) {
      if (all[row] >= lowerBound && !(all[row] >= upperBound)) wanted[count++] = row;
    }
    if (count === 0) continue;
    const rows = wanted.subarray(0, count);
    const measured: readonly Column[] = [numbersColumn(all), addressesAmong(columns)];
    yield { columns: measured.map((each) => takeColumn(each, rows)), rowCount: count };
  }
}

/** Scans the vectors and addresses of the rows to search. */
function vectorsOf(source: FragmentSource, request: SearchRequest): AsyncIterable<BatchRows> {
  const { search, filter } = request;
  const everything = {
    ...request,
    projection: search.read,
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: BATCH_ROWS,
    batchBytes: search.column.isMulti ? BATCH_BYTES : undefined,
    isTransient: true,
  };
  return filter === null
    ? observedScan(source, request.observer, everything)
    : filteredRows(source, { ...everything, filter });
}
