/**
 * Runs a search by vector: finds the nearest rows, applies a filter that comes after the search, and reads the columns of
 * the rows that are left by their addresses.
 */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { RowsPlan } from "../columns/columnReads.js";
import { columnsFrom } from "../columns/computedColumns.js";
import { DISTANCE, type FoundColumn } from "../columns/foundColumns.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import type { Filter } from "../filter/filter.js";
import type { BatchRows } from "../scan/scan.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { nearestByIndex } from "../vector/indexedNearest.js";
import { areKept, distanceColumn, type NearRows, type SearchRequest } from "../vector/nearestRows.js";
import { nearestBySketches } from "../vector/sketchedNearest.js";

/** Rows that are read at once by their addresses. */
const READ_ROWS = 8192;
/** The same where they have blobs. */
const READ_BLOB_ROWS = 256;

/**
 * The outputs of the projection, what the search found, and the addresses of the rows. Offset and limit count the rows of
 * each of several vectors.
 */
export async function* searchedRows(
  source: FragmentSource,
  request: SearchRequest,
): AsyncGenerator<BatchRows, void, undefined> {
  const { search, observer, projection, fragments, signal } = request;
  const found = foundBatches(source, request);
  const own = observer?.source("take", source) ?? source;
  const atOnce = Math.min(request.batchRows, projection.hasBlobs ? READ_BLOB_ROWS : READ_ROWS);
  const plan: RowsPlan = { ...projection, withAddresses: true };
  async function* read(): AsyncGenerator<BatchRows, void, undefined> {
    for await (const near of observer?.rows("search", found) ?? found) {
      for (const part of partsOf(near, atOnce)) {
        const rows = await readRowsAtAddresses(
          own,
          { fragments, projection: plan, signal },
          addressesIn(part),
        );
        yield withFound(rows, search.found, part);
      }
    }
  }
  yield* observer?.rows("take", read()) ?? read();
}

/** Rows that were found: distances, and addresses. */
interface FoundBatch extends BatchRows {
  readonly query: number;
}

const addressesIn = ({ columns }: FoundBatch): FixedColumn => columns[1] as FixedColumn;

/** The rows that the query returns, without their other columns. */
async function* foundBatches(
  source: FragmentSource,
  request: SearchRequest,
): AsyncGenerator<FoundBatch, void, undefined> {
  const { offset, limit, search } = request;
  let query = -1;
  let skip = 0;
  let left = 0;
  const most = offset + limit;
  const { index, asked } = search;
  const isAsked = index !== null && areKept(search, most * (asked.refineFactor ?? 1));
  const found = isAsked
    ? nearestByIndex(source, request, index, most)
    : nearestBySketches(source, request, most);
  for await (const near of found) {
    if (near.query !== query) {
      query = near.query;
      skip = offset;
      left = limit;
    }
    for await (const batch of selected(source, request, search.postfilter, batchOf(near))) {
      const skipped = Math.min(skip, batch.rowCount);
      const count = Math.min(batch.rowCount - skipped, left);
      skip -= skipped;
      left -= count;
      if (count > 0)
        yield pick(
          batch,
          Uint32Array.from({ length: count }, (_, row) => skipped + row),
        );
    }
  }
}

function batchOf({ query, rows: { distances, addresses } }: NearRows): FoundBatch {
  const words: FixedColumn = {
    kind: "fixed",
    length: distances.length,
    validity: null,
    byteWidth: 8,
    values: new Uint8Array(addresses.buffer, addresses.byteOffset, addresses.byteLength),
  };
  return { query, columns: [distanceColumn(distances), words], rowCount: distances.length };
}

const pick = ({ query, columns }: FoundBatch, rows: Uint32Array): FoundBatch => ({
  query,
  columns: columns.map((column) => takeColumn(column, rows)),
  rowCount: rows.length,
});

function* partsOf(batch: FoundBatch, most: number): Generator<FoundBatch> {
  for (let start = 0; start < batch.rowCount; start += most) {
    const count = Math.min(most, batch.rowCount - start);
    yield pick(
      batch,
      Uint32Array.from({ length: count }, (_, row) => start + row),
    );
  }
}

/** The rows that the filter selects which comes after the search. */
async function* selected(
  source: FragmentSource,
  request: SearchRequest,
  filter: Filter | null,
  batch: FoundBatch,
): AsyncGenerator<FoundBatch, void, undefined> {
  if (filter === null) {
    yield batch;
    return;
  }
  const { fragments, signal, search, numbers, observer } = request;
  const own = observer?.source("filter", source) ?? source;
  for (const part of partsOf(batch, READ_ROWS)) {
    const { projection } = filter;
    const read = await readRowsAtAddresses(own, { fragments, projection, signal }, addressesIn(part));
    const { columns } = withFound(read, search.found, part);
    const inputs = await columnsFrom(filter.inputs, numbers, columns);
    const rows = filter.expression.select(inputs, part.rowCount);
    yield rows === null ? part : pick(part, rows);
  }
}

/** Puts what was found before the addresses. */
function withFound(
  { columns, rowCount }: BatchRows,
  found: readonly FoundColumn[],
  { query, columns: [distances] }: FoundBatch,
): BatchRows {
  const own = found.map((column): Column => (column === DISTANCE ? distances : sameNumber(query, rowCount)));
  return { columns: [...columns.slice(0, -1), ...own, columns[columns.length - 1]], rowCount };
}

const sameNumber = (value: number, length: number): FixedColumn => ({
  kind: "fixed",
  length,
  validity: null,
  byteWidth: 4,
  values: new Uint8Array(new Int32Array(length).fill(value).buffer),
});
