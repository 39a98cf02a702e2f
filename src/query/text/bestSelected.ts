/**
 * Applies a filter to the best rows of a search, best first, until enough rows pass. Most searches want few
 * rows, so the filter can skip the others, unless too few of the best rows pass.
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

/** Best rows kept for the filter: multiple of the wanted number, and minimum. */
const KEPT = 16;
const LEAST_KEPT = 512;
/** Maximum number of wanted rows; beyond it, filtering all rows costs little more. */
const MOST_WANTED = 4096;
/** Rows per filter step: first and maximum. */
const FIRST_ROWS = 128;
const MOST_ROWS = 2 ** 14;

/** Returns the number of best rows for {@link bestSelected}; null if the filter should run on all rows. */
export function bestForFilter(filter: Filter, wanted: number): number | null {
  if (filter.lookups !== null || filter.projection.hasBlobs || wanted > MOST_WANTED) return null;
  return Math.max(LEAST_KEPT, KEPT * wanted);
}

export interface SelectRequest {
  readonly filter: Filter;
  /** Number of wanted rows. */
  readonly wanted: number;
  readonly fragments: readonly DataFragment[];
  readonly numbers: RowNumbers;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the wanted rows that pass; null if rows of a lower rank may pass too. */
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
  const passing: number[] = [];
  let stepSize = FIRST_ROWS;
  for (let start = 0; start < ranked.rowCount && passing.length < wanted; ) {
    const count = Math.min(stepSize, ranked.rowCount - start);
    for (const row of await selectedAmong(source, slicedRows(ranked, start, count), request)) {
      passing.push(start + row);
    }
    start += count;
    // Extrapolate from the rows filtered so far.
    const expected = (passing.length / start) * ranked.rowCount;
    if (!areAll && expected < wanted / 2) return null;
    const missing = ((wanted - passing.length) * start) / Math.max(1, passing.length);
    stepSize = Math.min(MOST_ROWS, Math.max(FIRST_ROWS, Math.ceil(1.25 * missing)));
    await yieldToEventLoop();
  }
  if (passing.length < wanted && !areAll) return null;
  return takenRows(ranked, Uint32Array.from(passing.slice(0, wanted)));
}

/** True if the filter has to read most rows in any order, judging by {@link FIRST_ROWS} of them. */
async function needsMost(source: FragmentSource, rows: RankedRows, request: SelectRequest): Promise<boolean> {
  const step = rows.rowCount / FIRST_ROWS;
  const sample = Uint32Array.from({ length: FIRST_ROWS }, (_, index) => Math.floor(index * step));
  const passCount = [...(await selectedAmong(source, takenRows(rows, sample), request))].length;
  return passCount * step < 2 * request.wanted;
}

/** Filters a search's only rows like {@link bestSelected}, and sorts only those that pass. */
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
  const addressCopy: FixedColumn = { ...addresses, values: addresses.values.slice() };
  const request = { fragments, projection: filter.projection, signal };
  const { columns } = await readRowsAtAddresses(source, request, addressCopy);
  const inputs = await columnsFrom(filter.inputs, numbers, columns);
  const selected = await runAsync(filter.expression.select(inputs, rowCount), signal);
  return selected ?? Array.from({ length: rowCount }, (_, row) => row);
}
