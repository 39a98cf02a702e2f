/** Runs a query: reads its rows, and makes batches of the columns that it returns. */

import type { RecordBatch } from "apache-arrow";
import { columnBytes } from "../arrow/columns/columnBytes.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import { makeBatch } from "../arrow/exchange/batch.js";
import type { DataFragment } from "../format/table.js";
import type { MemoryShare } from "../memory.js";
import { rowsOfBatch } from "../rows/batchSize.js";
import type { ReadAhead } from "../rows/readAhead.js";
import { expressionRows, type Filter } from "./filter.js";
import { filteredRows } from "./filteredRows.js";
import type { FragmentSource } from "./fragmentColumns.js";
import { observedScan, type QueryObserver } from "./observer.js";
import type { Order } from "./order.js";
import { orderedRows, type SortOptions } from "./orderedRows.js";
import { computationSize, type Projection, returnedColumns } from "./projection.js";
import type { BatchRows } from "./scan.js";
import { searchedRows } from "./searchedRows.js";
import type { RowNumbers } from "./systemColumns.js";
import type { VectorSearch } from "./vectorSearch.js";

/** Name of the use of memory by rows that a filter selected, or that were sorted. */
const SELECTED = "selected rows";

/** What a query asks for. */
export interface QueryPlan {
  readonly fragments: readonly DataFragment[];
  readonly projection: Projection;
  /** The search by vector that finds the rows; null for none. */
  readonly search: VectorSearch | null;
  /** Comes before the search. */
  readonly filter: Filter | null;
  /** Null for the order in which rows lie on disk. */
  readonly order: Order | null;
  readonly offset: number;
  readonly limit: number;
}

/** Most rows that the filter of a query has to find. */
export const mostFiltered = ({ search, order, offset, limit }: QueryPlan): number =>
  order === null && search === null ? offset + limit : Number.POSITIVE_INFINITY;

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

export async function* runQuery(
  source: FragmentSource,
  plan: QueryPlan,
  numbers: RowNumbers,
  options: QueryOptions,
): AsyncGenerator<RecordBatch, void, undefined> {
  const { projection, search, filter, order } = plan;
  const size = computationSize(projection);
  // Expressions run on few rows at a time, so that other work has its turn.
  const batchRows = size === 0 ? options.batchRows : Math.min(options.batchRows, expressionRows(size));
  const request = { ...plan, ...options, batchRows };
  const batch = async ({ columns, rowCount }: BatchRows): Promise<RecordBatch> =>
    makeBatch(projection.schema, await returnedColumns(projection, numbers, columns, rowCount), rowCount);
  const found =
    search !== null
      ? searchedRows(source, { ...request, search, filter, numbers })
      : order !== null
        ? orderedRows(source, { ...request, filter, order, numbers })
        : filter !== null
          ? filteredRows(source, { ...request, filter, numbers })
          : null;
  if (found === null) {
    for await (const rows of observedScan(source, options.observer, request)) yield await batch(rows);
    return;
  }
  const { memory, signal } = options;
  try {
    for await (const rows of found) {
      const bytes = rows.columns.reduce((sum, column) => sum + columnBytes(column), 0);
      memory?.note(SELECTED, bytes);
      for (const part of partsOf(rows, rowsAtOnce(request, bytes / rows.rowCount))) {
        signal?.throwIfAborted();
        yield await batch(part);
      }
    }
  } finally {
    memory?.note(SELECTED, 0);
  }
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
