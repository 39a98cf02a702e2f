/** Distances between the rows of a batch and the vectors of a search. */

import type { Column, FixedColumn, FixedSizeListColumn } from "../../arrow/columns/column.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { InternalError } from "../../errors.js";
import { fillDistances } from "../../indexes/vector/distance/distance.js";
import { ITEM_BYTES } from "../../indexes/vector/distance/metric.js";
import { addressesAmong, addressWords } from "../columns/rowAddresses.js";
import type { VectorSearch } from "./vectorSearch.js";

/** Bytes of vectors compared between yields, times queries. */
const PIECE_BYTES = 2 ** 22;

/** Receives the distances of some rows from one query; NaN if there is none. */
type TakeDistances = (query: number, firstRow: number, distances: Float32Array) => void;

/** Measures distances. @param column vectors as the search reads them */
export async function measureDistances(
  search: VectorSearch,
  column: Column,
  take: TakeDistances,
): Promise<void> {
  if (column.kind === "fixedSizeList") await measureVectors(search, column, take);
  else if (column.kind === "list") await measureLists(search, column, take);
  else if (column.kind !== "null")
    throw new InternalError(`a column of kind ${column.kind} cannot hold vectors`);
}

/** Collector of rows. */
export interface Offered {
  /** Rows beyond this distance are not wanted. */
  readonly farthest: number;
  add(distance: number, low: number, high: number): void;
}

/** Offers the rows of a batch (vectors, then addresses) within the bounds to each vector's collector. */
export async function offerBatch(
  search: VectorSearch,
  columns: readonly Column[],
  nearest: readonly Offered[],
): Promise<void> {
  const { lowerBound, upperBound } = search;
  const words = addressWords(addressesAmong(columns));
  await measureDistances(search, columns[0], (query, firstRow, distances) => {
    const collector = nearest[query];
    for (let row = 0; row < distances.length; row++) {
      const distance = distances[row];
      // False for NaN too.
      if (distance <= collector.farthest && distance >= lowerBound && !(distance >= upperBound)) {
        const index = 2 * (firstRow + row);
        collector.add(distance, words[index], words[index + 1]);
      }
    }
  });
}

async function measureVectors(
  { column: { item, dimension }, metric, queries }: VectorSearch,
  vectors: FixedSizeListColumn,
  take: TakeDistances,
): Promise<void> {
  const items = itemsOf(vectors);
  const rowBytes = dimension * ITEM_BYTES[item];
  const pieceRows = Math.max(1, Math.floor(PIECE_BYTES / rowBytes / queries.length));
  const room = queries.map(() => new Float32Array(Math.min(pieceRows, vectors.length)));
  for (let start = 0; start < vectors.length; start += pieceRows) {
    const count = Math.min(pieceRows, vectors.length - start);
    const distances = room.map((buffer) => (buffer.length === count ? buffer : buffer.subarray(0, count)));
    const values = items.values.subarray(start * rowBytes, (start + count) * rowBytes);
    fillDistances(item, metric, queries, values, distances);
    for (const [query, queryDistances] of distances.entries()) {
      if (vectors.validity !== null || items.validity !== null) {
        for (let row = 0; row < count; row++)
          if (!isWhole(vectors, start + row)) queryDistances[row] = Number.NaN;
      }
      take(query, start, queryDistances);
    }
    await yieldToEventLoop();
  }
}

export function itemsOf({ items }: FixedSizeListColumn): FixedColumn {
  if (items.kind === "fixed") return items;
  throw new InternalError(`the values of vectors are in a column of kind ${items.kind}`);
}

/** True if a row has a vector without nulls. */
export function isWhole({ validity, items, dimension }: FixedSizeListColumn, row: number): boolean {
  if (!isValid(validity, row)) return false;
  if (items.validity === null) return true;
  for (let index = row * dimension; index < (row + 1) * dimension; index++) {
    if (!isValid(items.validity, index)) return false;
  }
  return true;
}

/** Measures multivector rows: the sum, over the queries, of the distance to the row's nearest vector. */
async function measureLists(
  search: VectorSearch,
  lists: Extract<Column, { kind: "list" }>,
  take: TakeDistances,
): Promise<void> {
  const { items, offsets, validity } = lists;
  if (items.kind !== "fixedSizeList")
    throw new InternalError(`a column of kind ${items.kind} cannot hold lists of vectors`);
  const first = Number(offsets[0]);
  const end = Number(offsets[lists.length]);
  const byQuery = search.queries.map(() => new Float32Array(end - first));
  await measureVectors(search, sliceColumn(items, first, end - first), (query, firstVector, distances) =>
    byQuery[query].set(distances, firstVector),
  );
  const sums = new Float64Array(lists.length);
  for (const distances of byQuery) {
    for (let row = 0; row < lists.length; row++) {
      const [start, stop] = [Number(offsets[row]) - first, Number(offsets[row + 1]) - first];
      // Vectors without a distance are ignored; a row of only such vectors has none.
      let nearest = Number.NaN;
      for (let index = start; index < stop; index++)
        if (!(distances[index] >= nearest)) nearest = distances[index];
      sums[row] += nearest;
    }
    await yieldToEventLoop();
  }
  const distances = new Float32Array(lists.length);
  for (let row = 0; row < lists.length; row++) {
    distances[row] = isValid(validity, row) ? sums[row] : Number.NaN;
  }
  take(0, 0, distances);
}
