/** Runs a query: reads its rows, and makes batches of the columns that it returns. */

import type { RecordBatch } from "apache-arrow";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { makeBatch } from "../../arrow/exchange/batch.js";
import type { DataFragment } from "../../format/table.js";
import type { MemoryShare } from "../../memory.js";
import type { Rerank } from "../../namespace/queries.js";
import { rowsOfBatch } from "../../rows/batchSize.js";
import type { ReadAhead } from "../../rows/readAhead.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { computationEffort, type Projection, returnedColumns } from "../columns/projection.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import { expressionRows, type Filter } from "../filter/filter.js";
import { filteredRows } from "../filter/filteredRows.js";
import type { Order } from "../order/order.js";
import { orderedRows, type SortOptions } from "../order/orderedRows.js";
import { observedScan, type QueryObserver } from "../scan/observer.js";
import type { BatchRows, ScanRequest } from "../scan/scan.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { Highlighter } from "../text/textHighlights.js";
import { searchTexts, type TextSearchPlan } from "../text/textSearch.js";
import type { VectorSearch } from "../vector/vectorSearch.js";
import { byReciprocalRank, type HybridRows, searchBoth } from "./hybridSearch.js";
import { searchedRows } from "./searchedRows.js";

/** Name of the use of memory by rows that a filter selected, or that were sorted. */
const SELECTED = "selected rows";

/** What a query asks for. */
export interface QueryPlan {
  readonly fragments: readonly DataFragment[];
  readonly projection: Projection;
  /** The search by vector that finds the rows; null for none. */
  readonly search: VectorSearch | null;
  /**
   * Rows that are found by their texts, the best first; null for none. `_score` is then the last column. With a search by
   * vector beside it, `_distance`, `_score` and `_relevance_score` are. Highlights come behind these.
   */
  readonly textSearch: TextSearchPlan | null;
  /** How relevant rows are that two searches find. Default: by reciprocal rank fusion. */
  readonly rerank?: Rerank | undefined;
  /** Comes before the search. */
  readonly filter: Filter | null;
  /** Null for the order in which rows lie on disk. */
  readonly order: Order | null;
  readonly offset: number;
  readonly limit: number;
}

/** Most rows that the filter of a query has to find. */
export const mostFiltered = ({ search, textSearch, order, offset, limit }: QueryPlan): number =>
  order === null && search === null && textSearch === null ? offset + limit : Number.POSITIVE_INFINITY;

/** How a query is run. */
export interface QueryOptions extends SortOptions {
  /** Maximum rows of a batch. */
  readonly batchRows: number;
  /** Approximate bytes of a batch. Default: as the data lies on disk. */
  readonly batchBytes?: number;
  readonly readAhead: ReadAhead;
  readonly memory?: MemoryShare;
  readonly signal?: AbortSignal;
  /** Is told what becomes of the query. */
  readonly observer?: QueryObserver;
}

/** Nothing is read until the first batch is asked for. */
export function runQuery(
  source: FragmentSource,
  plan: QueryPlan,
  numbers: RowNumbers,
  options: QueryOptions,
): AsyncGenerator<RecordBatch, void, undefined> {
  const { projection, search, textSearch, filter, order } = plan;
  if (textSearch !== null) return rankedRows(source, plan, textSearch, numbers, options);
  const effort = computationEffort(projection);
  // Expressions run on few rows at a time, so that other work has its turn.
  const batchRows =
    effort.size === 0 ? options.batchRows : Math.min(options.batchRows, expressionRows(effort));
  const request = { ...plan, ...options, batchRows };
  const found =
    search !== null
      ? searchedRows(source, { ...request, search, filter, numbers })
      : order !== null
        ? orderedRows(source, { ...request, filter, order, numbers })
        : filter !== null
          ? filteredRows(source, { ...request, filter, numbers })
          : null;
  if (found === null) {
    const scanned = observedScan(source, options.observer, scanOf(plan, options, batchRows));
    return scannedBatches(scanned, projection, numbers);
  }
  return foundBatches(found, request, numbers);
}

async function batchOf(
  { columns, rowCount }: BatchRows,
  projection: Projection,
  numbers: RowNumbers,
): Promise<RecordBatch> {
  return makeBatch(
    projection.schema,
    await returnedColumns(projection, numbers, columns, rowCount),
    rowCount,
  );
}

/** By itself, so that what is compiled for the loop lasts from one query to the next. */
async function* scannedBatches(
  scanned: AsyncIterable<BatchRows>,
  projection: Projection,
  numbers: RowNumbers,
): AsyncGenerator<RecordBatch, void, undefined> {
  for await (const rows of scanned) yield await batchOf(rows, projection, numbers);
}

async function* foundBatches(
  found: AsyncIterable<BatchRows>,
  request: QueryOptions & QueryPlan,
  numbers: RowNumbers,
): AsyncGenerator<RecordBatch, void, undefined> {
  const { projection, memory, signal } = request;
  try {
    for await (const rows of found) {
      const bytes = rows.columns.reduce((sum, column) => sum + columnBytes(column), 0);
      memory?.note(SELECTED, bytes);
      for (const part of partsOf(rows, rowsAtOnce(request, bytes / rows.rowCount))) {
        signal?.throwIfAborted();
        yield await batchOf(part, projection, numbers);
      }
    }
  } finally {
    memory?.note(SELECTED, 0);
  }
}

/**
 * Written out: an object that is spread from others has a shape of its own each time, and code that was compiled for that of
 * the query before would be thrown away.
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

/** Rows that are read at once by their addresses: fewer where they have blobs, more where they are short. */
const RANKED_ROWS = 8192;
const RANKED_BLOB_ROWS = 256;
const RANKED_SHORT_ROWS = 2 ** 17;
const RANKED_BYTES = 2 ** 20;

/** Rows lie in no order on disk: the more are read at once, the fewer times their pages are. */
function rankedAtOnce({ hasBlobs, outputs }: Projection, highlights: boolean): number {
  if (hasBlobs) return RANKED_BLOB_ROWS;
  let rowBytes = 1;
  for (const { layout } of outputs) {
    if (layout.kind === "fixed") rowBytes += layout.byteWidth;
    else if (layout.kind !== "bits") return RANKED_ROWS;
  }
  if (highlights) return RANKED_ROWS;
  return Math.max(RANKED_ROWS, Math.min(RANKED_SHORT_ROWS, Math.floor(RANKED_BYTES / rowBytes)));
}

async function* rankedRows(
  source: FragmentSource,
  plan: QueryPlan,
  textSearch: TextSearchPlan,
  numbers: RowNumbers,
  options: QueryOptions,
): AsyncGenerator<RecordBatch, void, undefined> {
  const { fragments, projection } = plan;
  const { batchRows, observer, signal } = options;
  const searched = searchRanked(source, plan, textSearch, numbers, options);
  const ranked = await (observer === undefined ? searched : observer.time("order", searched));
  const atOnce = Math.min(batchRows, rankedAtOnce(projection, textSearch.highlights));
  const request = { fragments, projection: { ...projection, withAddresses: true }, signal };
  const { version, fields, isFast, query } = textSearch;
  const scope = { version, fields, source, selection: null, isFast, signal };
  const highlighter = textSearch.highlights ? await Highlighter.open(query, scope) : null;
  for (let start = 0; start < ranked.rowCount; start += atOnce) {
    signal?.throwIfAborted();
    const count = Math.min(atOnce, ranked.rowCount - start);
    const addresses = {
      ...ranked.addresses,
      length: count,
      values: ranked.addresses.values.slice(8 * start, 8 * (start + count)),
    };
    const { columns } = await readRowsAtAddresses(source, request, addresses);
    const returned = await returnedColumns(projection, numbers, columns, count);
    for (const column of ranked.found) returned.push(sliceColumn(column, start, count));
    if (highlighter !== null) returned.push(await highlighter.column(source, fragments, addresses));
    yield makeBatch(projection.schema, returned, count);
  }
}

async function searchRanked(
  source: FragmentSource,
  plan: QueryPlan,
  textSearch: TextSearchPlan,
  numbers: RowNumbers,
  options: QueryOptions,
): Promise<HybridRows> {
  const { search, filter, offset, limit, rerank = byReciprocalRank } = plan;
  if (search !== null) {
    const request = { ...plan, ...options, search, filter, numbers, observer: undefined };
    return searchBoth(source, request, textSearch, rerank);
  }
  const { addresses, scores, rowCount } = await searchTexts(
    textSearch,
    source,
    numbers,
    offset,
    limit,
    options.signal,
  );
  return { addresses, found: [scores], rowCount };
}

/** Rows of a batch that is handed out. */
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
