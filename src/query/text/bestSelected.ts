/**
 * Applies a filter to the best rows of a search, the best first, until enough are selected: most searches want few rows,
 * and the filter need not look at all others. Where it turns out to select too few of the best, it has to.
 */

import type { FixedColumn } from "../../arrow/columns/column.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import type { DataFragment } from "../../format/table.js";
import { columnsFrom } from "../columns/computedColumns.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import type { Filter } from "../filter/filter.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { type RankedRows, slicedRows, TopScores, takenRows } from "./topScores.js";

/** Best rows that are kept for the filter, as a multiple of those that are wanted, and at least. */
const KEPT = 16;
const LEAST_KEPT = 512;
/** With more wanted rows, looking at all rows once is not much more. */
const MOST_WANTED = 4096;
/** Rows that the filter looks at together: few at first. */
const FIRST_ROWS = 128;
const MOST_ROWS = 2 ** 14;

/** How many of the best rows {@link bestSelected} is handed; null where the filter had better look at all rows. */
export function bestForFilter(filter: Filter, wanted: number): number | null {
  if (filter.lookups !== null || filter.projection.hasBlobs || wanted > MOST_WANTED) return null;
  return Math.max(LEAST_KEPT, KEPT * wanted);
}

export interface SelectRequest {
  readonly filter: Filter;
  /** Rows that are wanted. */
  readonly wanted: number;
  readonly fragments: readonly DataFragment[];
  readonly numbers: RowNumbers;
  readonly signal?: AbortSignal | undefined;
}

/** The rows that are selected, as many as are wanted; null where there may be others, of a lower rank. */
export async function bestSelected(
  source: FragmentSource,
  best: TopScores,
  request: SelectRequest,
): Promise<RankedRows | null> {
  const { wanted } = request;
  const { areAll } = best;
  if (areAll && wanted > FIRST_ROWS) {
    const rows = best.unranked();
    const isMany = rows.rowCount > FIRST_ROWS;
    if (isMany && (await needsMost(source, rows, request))) return selectedOfAll(source, rows, request);
  }
  const ranked = await best.ranked();
  const places: number[] = [];
  let stepSize = FIRST_ROWS;
  for (let start = 0; start < ranked.rowCount && places.length < wanted; ) {
    const count = Math.min(stepSize, ranked.rowCount - start);
    for (const row of await selectedAmong(source, slicedRows(ranked, start, count), request)) {
      places.push(start + row);
    }
    start += count;
    // As many more as should be enough, going by those that were looked at.
    const expected = (places.length / start) * ranked.rowCount;
    if (!areAll && expected < wanted / 2) return null;
    const missing = ((wanted - places.length) * start) / Math.max(1, places.length);
    stepSize = Math.min(MOST_ROWS, Math.max(FIRST_ROWS, Math.ceil(1.25 * missing)));
    await yieldToEventLoop();
  }
  if (places.length < wanted && !areAll) return null;
  return takenRows(ranked, Uint32Array.from(places.slice(0, wanted)));
}

/** Whether the filter has to look at most rows, whichever come first, going by {@link FIRST_ROWS} of them. */
async function needsMost(source: FragmentSource, rows: RankedRows, request: SelectRequest): Promise<boolean> {
  const step = rows.rowCount / FIRST_ROWS;
  const places = Uint32Array.from({ length: FIRST_ROWS }, (_, index) => Math.floor(index * step));
  const found = [...(await selectedAmong(source, takenRows(rows, places), request))].length;
  return found * step < 2 * request.wanted;
}

/** The same as {@link bestSelected} where the search found no other rows: only those that the filter selects are sorted. */
async function selectedOfAll(
  source: FragmentSource,
  rows: RankedRows,
  request: SelectRequest,
): Promise<RankedRows> {
  const top = new TopScores(request.wanted);
  for (let start = 0; start < rows.rowCount; start += MOST_ROWS) {
    const part = slicedRows(rows, start, Math.min(MOST_ROWS, rows.rowCount - start));
    top.addFrom(part, await selectedAmong(source, part, request));
    await yieldToEventLoop();
  }
  return top.ranked();
}

async function selectedAmong(
  source: FragmentSource,
  { addresses, rowCount }: RankedRows,
  { filter, fragments, numbers, signal }: SelectRequest,
): Promise<Iterable<number>> {
  const own: FixedColumn = { ...addresses, values: addresses.values.slice() };
  const request = { fragments, projection: filter.projection, signal };
  const { columns } = await readRowsAtAddresses(source, request, own);
  const inputs = await columnsFrom(filter.inputs, numbers, columns);
  const selected = await runAsync(filter.expression.select(inputs, rowCount), signal);
  return selected ?? Array.from({ length: rowCount }, (_, row) => row);
}
