/** Runs a query with a full-text or hybrid search. Reads the rows in the order of their ranks. */

import type { RecordBatch } from "apache-arrow";
import type { Column } from "../../arrow/columns/column.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { makeBatch } from "../../arrow/exchange/batch.js";
import { lazyModule } from "../../async/lazy.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { type Projection, returnedColumns } from "../columns/projection.js";
import { addressWords, wordPairs } from "../columns/rowAddresses.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import type { BatchRows } from "../scan/scan.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { Highlighter } from "../text/textHighlights.js";
import { searchTexts, type TextSearchPlan } from "../text/textSearch.js";
import type { HybridRows } from "./hybridSearch.js";
import type { QueryOptions, QueryPlan } from "./queryPlan.js";

/** Loaded with the first search whose rows are sorted. */
const ordering = lazyModule(() => import("../order/foundOrder.js"));
/** Loaded with the first hybrid search. */
const hybrid = lazyModule(() => import("./hybridSearch.js"));

/** Maximum rows read by address at once. Fewer if they have blobs, more if rows are short. */
const RANKED_ROWS = 8192;
const RANKED_BLOB_ROWS = 256;
const RANKED_SHORT_ROWS = 2 ** 17;
const RANKED_BYTES = 2 ** 20;

/** Rows to read at once. Ranked rows are scattered, so larger reads decode the same pages less often. */
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

export async function* rankedBatches(
  source: FragmentSource,
  plan: QueryPlan,
  textSearch: TextSearchPlan,
  numbers: RowNumbers,
  options: QueryOptions,
): AsyncGenerator<RecordBatch> {
  const { observer } = options;
  const rows = returnedRows(source, plan, textSearch, numbers, options);
  for await (const { columns, rowCount } of observer?.rows("take", rows) ?? rows) {
    yield makeBatch(plan.projection.schema, columns, rowCount);
  }
}

/** Yields the columns that the query returns. */
async function* returnedRows(
  source: FragmentSource,
  plan: QueryPlan,
  textSearch: TextSearchPlan,
  numbers: RowNumbers,
  options: QueryOptions,
): AsyncGenerator<BatchRows> {
  const { fragments, projection } = plan;
  const { batchRows, observer, signal } = options;
  const searchedIn = observer?.source("order", source) ?? source;
  const searched = searchRanked(searchedIn, plan, textSearch, numbers, options);
  const ranked = await (observer?.time("order", searched, ({ rowCount }) => rowCount) ?? searched);
  const takeSource = observer?.source("take", source) ?? source;
  const stepSize = Math.min(batchRows, rankedAtOnce(projection, textSearch.highlights));
  const request = { fragments, projection: { ...projection, withAddresses: true }, signal };
  const { version, fields, isFast, query } = textSearch;
  const scope = { version, fields, source, selection: null, isFast, signal };
  const highlighter = textSearch.highlights ? await Highlighter.open(query, scope) : null;
  for (let start = 0; start < ranked.rowCount; start += stepSize) {
    signal?.throwIfAborted();
    const count = Math.min(stepSize, ranked.rowCount - start);
    const addresses = wordPairs(addressWords(ranked.addresses).slice(2 * start, 2 * (start + count)));
    const { columns } = await readRowsAtAddresses(takeSource, request, addresses);
    const outputs = columns.slice(0, -1);
    const searchColumns = ranked.searchColumns.map((column) => sliceColumn(column, start, count));
    if (highlighter !== null) searchColumns.push(await highlighter.column(takeSource, fragments, addresses));
    const all = [...outputs, ...searchColumns, columns[columns.length - 1]];
    yield { columns: await returnedColumns(projection, numbers, all, count, signal), rowCount: count };
  }
}

async function searchRanked(
  source: FragmentSource,
  plan: QueryPlan,
  textSearch: TextSearchPlan,
  numbers: RowNumbers,
  options: QueryOptions,
): Promise<HybridRows> {
  const { search, filter, order, offset, limit } = plan;
  if (order !== null) {
    const all = { ...plan, order: null, offset: 0, limit: offset + limit };
    const ranked = await searchRanked(source, all, textSearch, numbers, options);
    const { orderOfFound } = await ordering.get();
    const request = { ...plan, ...options, order, numbers };
    const rows = await orderOfFound(source, request, ranked.addresses);
    return pickRanked(ranked, rows.subarray(offset, offset + limit));
  }
  if (search !== null) {
    const request = { ...plan, ...options, search, filter, order, numbers, observer: undefined };
    const { byReciprocalRank, searchBoth } = await hybrid.get();
    return searchBoth(source, request, textSearch, plan.rerank ?? byReciprocalRank);
  }
  const { signal } = options;
  const ranked = await searchTexts(textSearch, source, numbers, offset, limit, signal);
  return { ...ranked, searchColumns: [ranked.scores] };
}

const pickRanked = ({ addresses, searchColumns }: HybridRows, rows: Uint32Array): HybridRows => ({
  addresses: takeColumn(addresses, rows),
  searchColumns: searchColumns.map((column) => takeColumn<Column>(column, rows)),
  rowCount: rows.length,
});
