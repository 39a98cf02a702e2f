/** Searches the texts of a version and ranks the rows by score. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { STREAMED } from "../../rows/readAhead.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { addressAt, addressWords } from "../columns/rowAddresses.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import type { Filter } from "../filter/filter.js";
import { selectedRows } from "../filter/filteredRows.js";
import { isSelected, type SearchedRows } from "../scan/liveRows.js";
import { bestForFilter, bestSelected } from "./bestSelected.js";
import { openWordIndex, type WordScope } from "./openWordIndex.js";
import { RowScores } from "./rowScores.js";
import { searchLeaf, type TextScope } from "./textLeaf.js";
import { columnsOf, type TextQuery } from "./textQuery.js";
import { type RankedRows, slicedRows, TopScores, takenRows } from "./topScores.js";

export interface TextSearchPlan extends WordScope {
  readonly query: TextQuery;
  /** Filter of the rows; null for none. */
  readonly filter: Filter | null;
  /** True to filter before the search; else after it. */
  readonly isPrefiltered: boolean;
  /** True to return the matches in the texts. */
  readonly highlights: boolean;
}

export async function searchTexts(
  plan: TextSearchPlan,
  source: FragmentSource,
  numbers: RowNumbers,
  offset: number,
  limit: number,
  signal?: AbortSignal,
): Promise<RankedRows> {
  const { filter, isPrefiltered, version, fields, isFast } = plan;
  const scope = { version, fields, source, isFast, selection: null, ...(signal && { signal }) };
  const wanted = offset + limit;
  const isFirst = filter !== null && isPrefiltered && (await isCovered(plan));
  const best = isFirst ? bestForFilter(filter, wanted) : null;
  if (filter !== null && best !== null) {
    const first = await bestRows(plan.query, scope, best);
    const { fragments } = version.file.manifest;
    const request = { filter, wanted, fragments, numbers, signal };
    const selected = await bestSelected(source, first, request);
    if (selected !== null) return pageOf(selected, offset, limit);
  }
  const selection = filter === null ? null : await selectionOf(plan, filter, source, numbers, signal);
  const kept = await bestRows(plan.query, { ...scope, selection: isPrefiltered ? selection : null }, wanted);
  const ranked = await kept.ranked();
  const isPostfiltered = !isPrefiltered && selection !== null;
  return pageOf(isPostfiltered ? selectedOf(ranked, selection) : ranked, offset, limit);
}

/**
 * True if indexes cover all searched rows. Scores of other rows depend on which of them the filter selects,
 * so the best rows overall need not include the best selected ones.
 */
async function isCovered(plan: TextSearchPlan): Promise<boolean> {
  for (const column of new Set(columnsOf(plan.query))) {
    const { others } = await openWordIndex(column, plan);
    if (others.length > 0) return false;
  }
  return true;
}

async function bestRows(query: TextQuery, scope: TextScope, count: number): Promise<TopScores> {
  const top = new TopScores(count);
  if (query.kind === "match" || query.kind === "phrase") await searchLeaf(query, scope, top);
  else await (await scoresOf(query, scope)).each((address, score) => top.add(address, score));
  await yieldToEventLoop();
  return top;
}

function pageOf(ranked: RankedRows, offset: number, limit: number): RankedRows {
  const start = Math.min(offset, ranked.rowCount);
  return slicedRows(ranked, start, Math.min(limit, ranked.rowCount - start));
}

async function selectionOf(
  { version }: TextSearchPlan,
  filter: Filter,
  source: FragmentSource,
  numbers: RowNumbers,
  signal: AbortSignal | undefined,
): Promise<SearchedRows> {
  const { fragments } = version.file.manifest;
  const selection = new Map<number, Uint32Array>();
  const request = { fragments, filter, numbers, readAhead: STREAMED, ...(signal && { signal }) };
  for await (const { fragment, rows } of selectedRows(source, request)) selection.set(fragment.id, rows);
  return selection;
}

function selectedOf(ranked: RankedRows, selection: SearchedRows): RankedRows {
  const { addresses, rowCount } = ranked;
  const words = addressWords(addresses);
  const rows = new Uint32Array(rowCount);
  let count = 0;
  for (let row = 0; row < rowCount; row++) {
    if (isSelected(selection, addressAt(words, row))) rows[count++] = row;
  }
  return takenRows(ranked, rows.slice(0, count));
}

/** Returns all rows of a query: in a compound query, any row may be among the best. */
async function scoresOf(query: TextQuery, scope: TextScope): Promise<RowScores> {
  switch (query.kind) {
    case "match":
    case "phrase": {
      const scores = new RowScores();
      await searchLeaf(query, scope, scores);
      return scores;
    }
    case "multi": {
      const best = new RowScores();
      for (const part of query.queries) await best.join(await scoresOf(part, scope), Math.max);
      return best;
    }
    case "boost": {
      const scores = await scoresOf(query.positive, scope);
      const negative = await scoresOf(query.negative, scope);
      await scores.meet(
        negative,
        true,
        (score, negativeScore) => score - query.negativeBoost * negativeScore,
      );
      return scores;
    }
    case "boolean":
      return booleanScores(query, scope);
  }
}

const sum = (a: number, b: number): number => a + b;

async function booleanScores(
  { must, should, mustNot }: Extract<TextQuery, { kind: "boolean" }>,
  scope: TextScope,
): Promise<RowScores> {
  let required: RowScores | null = null;
  for (const part of must) {
    const partScores = await scoresOf(part, scope);
    if (required === null) required = partScores;
    else await required.meet(partScores, false, sum);
  }
  const all = required ?? new RowScores();
  for (const part of should) {
    const partScores = await scoresOf(part, scope);
    if (required === null) await all.join(partScores, sum);
    else await all.meet(partScores, true, sum);
  }
  for (const part of mustNot) await all.exclude(await scoresOf(part, scope));
  return all;
}
