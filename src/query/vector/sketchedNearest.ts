/**
 * Finds the nearest rows of vectors without reading most vectors. Sketches in memory bound the distances
 * (indexes/vector/sketches/sketchBounds.ts), and only vectors that can be among the nearest are read. The
 * answer equals that of a full comparison to the last bit: a row is skipped only if its distance exceeds
 * those of enough others.
 *
 * Columns have sketches from their second search on, while memory suffices. Other fragments are compared
 * whole.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { lowerBound } from "../../bytes/search.js";
import type { DataFragment } from "../../format/table.js";
import { Beam } from "../../indexes/vector/distance/nearestFirst.js";
import { NearestRows } from "../../indexes/vector/distance/nearestRows.js";
import { SketchQuery } from "../../indexes/vector/sketches/sketchBounds.js";
import type { SketchMetric } from "../../indexes/vector/sketches/sketchKernels.js";
import type { PlacedSketch } from "../../indexes/vector/sketches/sketchMemory.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { wordPairs } from "../columns/rowAddresses.js";
import { selectedRows } from "../filter/filteredRows.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { type NearRows, nearestRows, offerRows, type SearchRequest } from "./nearestRows.js";
import { SketchCandidates } from "./sketchCandidates.js";
import { type Offered, offerBatch } from "./vectorDistances.js";
import { findSketches, type SketchedFragment } from "./vectorSketches.js";

/** Maximum number of wanted rows; for more, most vectors are read anyway. */
const MOST_WANTED = 2048;
/** Vectors compared with a slot between yields. */
const QUERIES_AT_ONCE = 32;
/** Rows per read. */
const READ_ROWS = 4096;

/** Yields the nearest rows of each vector in turn, nearest first, at most `most` each. */
export async function* nearestBySketches(
  source: FragmentSource,
  request: SearchRequest,
  most: number,
): AsyncGenerator<NearRows> {
  const { sketches } = source;
  const queries = most > MOST_WANTED ? null : queriesOf(request);
  if (sketches === undefined || queries === null) {
    yield* nearestRows(source, request, most);
    return;
  }
  const nearest = queries.map(() => new NearestRows(most));
  const { sketched, others, noteOthers, release } = await findSketches(await sketches.get(), source, request);
  try {
    if (others.length > 0) {
      await offerRows(source, { ...request, fragments: others }, nearest);
      noteOthers();
    }
    const candidates = queries.map(
      (query, index) => new SketchCandidates(query, most, request.search, nearest[index].farthest),
    );
    if (await selectCandidates(source, request, sketched, candidates)) {
      for (const [index, queryCandidates] of candidates.entries()) {
        await offerCandidates(source, request, index, queryCandidates, nearest[index]);
      }
    } else {
      const fragments = sketched.map(({ fragment }) => fragment);
      await offerRows(source, { ...request, fragments }, nearest);
    }
  } finally {
    release();
  }
  for (const [query, collector] of nearest.entries()) yield { query, rows: collector.finish() };
}

/** Returns the sketch queries; null if sketches cannot serve the search. */
function queriesOf({ search }: SearchRequest): SketchQuery[] | null {
  const { column, metric, queries } = search;
  const isSketched = column.item === "float32" || column.item === "float16";
  if (column.isMulti || !isSketched || metric === "hamming") return null;
  const made = queries.map((query) => SketchQuery.of(metric as SketchMetric, query));
  return made.every((query) => query !== null) ? made : null;
}

/** Collects candidates from the sketches. Returns false if a full comparison is faster. */
async function selectCandidates(
  source: FragmentSource,
  request: SearchRequest,
  sketched: readonly SketchedFragment[],
  candidates: readonly SketchCandidates[],
): Promise<boolean> {
  const { filter, signal } = request;
  if (filter === null) {
    for (const { fragment, sketch } of sketched) {
      const deleted = fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
      if (!(await selectOf(fragment, sketch, { deleted, rows: null }, candidates, signal))) return false;
    }
    return true;
  }
  const byId = new Map(sketched.map(({ fragment, sketch }) => [fragment.id, sketch]));
  const fragments = sketched.map(({ fragment }) => fragment);
  for await (const { fragment, rows } of selectedRows(source, { ...request, filter, fragments })) {
    const sketch = byId.get(fragment.id);
    if (sketch === undefined) continue;
    if (!(await selectOf(fragment, sketch, { deleted: null, rows }, candidates, signal))) return false;
  }
  return true;
}

/** Rows of a fragment to search. */
interface SearchedRows {
  /** Excluded rows, ascending; null for none. */
  readonly deleted: Uint32Array | null;
  /** Included rows, ascending; null for all. */
  readonly rows: Uint32Array | null;
}

async function selectOf(
  fragment: DataFragment,
  sketch: PlacedSketch,
  { deleted, rows }: SearchedRows,
  candidates: readonly SketchCandidates[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { memory, slotRows, slotCount, rowCount } = sketch;
  for (let position = 0; position < slotCount; position++) {
    const firstRow = position * slotRows;
    const end = Math.min(rowCount, firstRow + slotRows);
    const listed = rows?.subarray(lowerBound(rows, firstRow), lowerBound(rows, end)) ?? null;
    const count = listed?.length ?? end - firstRow;
    if (count === 0) continue;
    const slot = { sketch, slotIndex: position, fragmentId: fragment.id, firstRow, deleted };
    for (let start = 0; start < candidates.length; start += QUERIES_AT_ONCE) {
      signal?.throwIfAborted();
      if (listed !== null) memory.list(listed, firstRow);
      for (const queryCandidates of candidates.slice(start, start + QUERIES_AT_ONCE)) {
        if (!queryCandidates.select(slot, count, listed !== null)) return false;
      }
      await yieldToEventLoop();
    }
  }
  return true;
}

/** Reads the vectors of candidates and offers them, most promising first, since these may exclude others. */
async function offerCandidates(
  source: FragmentSource,
  request: SearchRequest,
  query: number,
  candidates: SketchCandidates,
  nearest: NearestRows,
): Promise<void> {
  const { search, fragments, observer, signal } = request;
  const observed = observer?.source("scan", source) ?? source;
  const plan = { fragments, projection: search.read, signal };
  const one = { ...search, queries: [search.queries[query]] };
  const exact = new Beam(candidates.most);
  const offered: Offered = {
    farthest: Number.POSITIVE_INFINITY,
    add(distance, low, high) {
      nearest.add(distance, low, high);
      if (distance < exact.bound) exact.add(distance, 0);
    },
  };
  candidates.sort();
  for (let isFirst = true; ; isFirst = false) {
    const words = candidates.take(isFirst ? candidates.most : READ_ROWS, exact.bound);
    if (words.length === 0) return;
    const { columns } = await readRowsAtAddresses(observed, plan, wordPairs(words));
    await offerBatch(one, columns, [offered]);
  }
}
