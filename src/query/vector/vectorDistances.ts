/** Distances of the rows of a batch from the vectors of a search. */

import type { Column, FixedColumn, FixedSizeListColumn, Validity } from "../../arrow/columns/column.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { InternalError } from "../../errors.js";
import { fillDistances } from "../../indexes/vector/distance/distance.js";
import { ITEM_BYTES } from "../../indexes/vector/distance/metric.js";
import { addressesAmong, addressWords } from "../columns/rowAddresses.js";
import type { VectorSearch } from "./vectorSearch.js";

/** Bytes of vectors that are compared before other work on the thread has its turn; several queries count as often. */
const PIECE_BYTES = 2 ** 22;

/** Is called with distances of some rows from one query; those that are none are NaN. */
type TakeDistances = (query: number, firstRow: number, distances: Float32Array) => void;

/** @param column the vectors of the rows, as the search reads them */
export async function measureDistances(
  search: VectorSearch,
  column: Column,
  take: TakeDistances,
): Promise<void> {
  if (column.kind === "fixedSizeList") await measureVectors(search, column, take);
  else if (column.kind === "list") await measureLists(search, column, take);
  else if (column.kind !== "null") throw new InternalError(`vectors in a column of ${column.kind}`);
}

/** What distances are offered to. */
export interface Offered {
  /** A row that is farther away is not wanted. */
  readonly farthest: number;
  add(distance: number, low: number, high: number): void;
}

/**
 * Offers rows of a batch whose distances lie between the bounds to what keeps the nearest ones of each vector.
 * @param columns the vectors, as the search reads them, and the addresses of the rows after them
 */
export async function offerBatch(
  search: VectorSearch,
  columns: readonly Column[],
  nearest: readonly Offered[],
): Promise<void> {
  const { lowerBound, upperBound } = search;
  const words = addressWords(addressesAmong(columns));
  await measureDistances(search, columns[0], (query, firstRow, distances) => {
    const own = nearest[query];
    for (let row = 0; row < distances.length; row++) {
      const distance = distances[row];
      // Also false where the distance is NaN.
      if (distance <= own.farthest && distance >= lowerBound && !(distance >= upperBound)) {
        const index = 2 * (firstRow + row);
        own.add(distance, words[index], words[index + 1]);
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
    const distances = room.map((own) => (own.length === count ? own : own.subarray(0, count)));
    const values = items.values.subarray(start * rowBytes, (start + count) * rowBytes);
    fillDistances(item, metric, queries, dimension, values, count, distances);
    for (const [query, own] of distances.entries()) {
      markMissing(own, start, vectors.validity, items.validity, dimension);
      take(query, start, own);
    }
    await yieldToEventLoop();
  }
}

export function itemsOf({ items }: FixedSizeListColumn): FixedColumn {
  if (items.kind === "fixed") return items;
  throw new InternalError(`vectors whose values are a column of ${items.kind}`);
}

/** Rows without a vector, and those that lack values of it, have no distance. */
function markMissing(
  distances: Float32Array,
  firstRow: number,
  validity: Validity | null,
  ofItems: Validity | null,
  dimension: number,
): void {
  if (validity === null && ofItems === null) return;
  for (let row = 0; row < distances.length; row++) {
    if (isWhole(firstRow + row, validity, ofItems, dimension)) continue;
    distances[row] = Number.NaN;
  }
}

/** Whether a row has a vector, and all values of it. */
export function isWhole(
  row: number,
  validity: Validity | null,
  ofItems: Validity | null,
  dimension: number,
): boolean {
  if (!isValid(validity, row)) return false;
  if (ofItems === null) return true;
  for (let index = row * dimension; index < (row + 1) * dimension; index++) {
    if (!isValid(ofItems, index)) return false;
  }
  return true;
}

/** Rows of several vectors: for each vector of the query the nearest of the row's counts, and these distances are added. */
async function measureLists(
  search: VectorSearch,
  lists: Extract<Column, { kind: "list" }>,
  take: TakeDistances,
): Promise<void> {
  const { items, offsets, validity } = lists;
  if (items.kind !== "fixedSizeList")
    throw new InternalError(`lists of vectors in a column of ${items.kind}`);
  const first = Number(offsets[0]);
  const end = Number(offsets[lists.length]);
  const own = search.queries.map(() => new Float32Array(end - first));
  await measureVectors(search, sliceColumn(items, first, end - first), (query, firstVector, distances) =>
    own[query].set(distances, firstVector),
  );
  const sums = new Float64Array(lists.length);
  for (const distances of own) {
    for (let row = 0; row < lists.length; row++) {
      const [start, stop] = [Number(offsets[row]) - first, Number(offsets[row + 1]) - first];
      // Vectors without a distance count for nothing; a row of such has none.
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
