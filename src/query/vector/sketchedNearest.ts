/**
 * Finds the rows nearest to vectors of all rows, or of those that a filter selects, without reading most of them: sketches in
 * memory tell bounds of their distances (indexes/vector/sketches/sketchBounds.ts), and only the vectors of rows are read that may be
 * among the nearest. The answer is the same as of comparing all rows, to the last bit: a row is passed over only if its
 * distance is above those of as many others as are wanted.
 *
 * Columns have sketches from their second search on, as far as there is memory for them. Other fragments are compared whole.
 */

import type { FixedColumn } from "../../arrow/columns/column.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { lowerBound } from "../../bytes/search.js";
import type { DataFragment } from "../../format/table.js";
import { Beam } from "../../indexes/vector/distance/nearestFirst.js";
import { NearestRows } from "../../indexes/vector/distance/nearestRows.js";
import { SketchQuery } from "../../indexes/vector/sketches/sketchBounds.js";
import type { SketchMetric } from "../../indexes/vector/sketches/sketchKernels.js";
import type { PlacedSketch } from "../../indexes/vector/sketches/sketchMemory.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { selectedRows } from "../filter/filteredRows.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { type NearRows, nearestRows, offerRows, type SearchRequest } from "./nearestRows.js";
import { SketchCandidates } from "./sketchCandidates.js";
import { type Offered, offerBatch } from "./vectorDistances.js";
import { findSketches, type SketchedFragment } from "./vectorSketches.js";

/** Rows that can be wanted of each vector: of more, most vectors are read anyway. */
const MOST_WANTED = 2048;
/** Vectors that a slot is compared with before other work on the thread may have its turn. */
const QUERIES_AT_ONCE = 32;
/** Rows whose vectors are read at once. */
const READ_ROWS = 4096;

/** The nearest rows of each vector, vector by vector, nearest first, `most` of each at most. */
export async function* nearestBySketches(
  source: FragmentSource,
  request: SearchRequest,
  most: number,
): AsyncGenerator<NearRows, void, undefined> {
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
      for (const [index, own] of candidates.entries()) {
        await offerCandidates(source, request, index, own, nearest[index]);
      }
    } else {
      const fragments = sketched.map(({ fragment }) => fragment);
      await offerRows(source, { ...request, fragments }, nearest);
    }
  } finally {
    release();
  }
  for (const [query, own] of nearest.entries()) yield { query, rows: own.finish() };
}

/** Null for vectors that are not sketched, and for queries that sketches tell nothing of. */
function queriesOf({ search }: SearchRequest): SketchQuery[] | null {
  const { column, metric, queries } = search;
  const isSketched = column.item === "float32" || column.item === "float16";
  if (column.isMulti || !isSketched || metric === "hamming") return null;
  const made = queries.map((query) => SketchQuery.of(metric as SketchMetric, query));
  return made.every((query) => query !== null) ? made : null;
}

/** Goes through the sketches. False where they leave so many rows that comparing all is quicker. */
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

/** Which rows of a fragment are searched. */
interface SearchedRows {
  /** Rows that are not, in ascending order; null for none. */
  readonly deleted: Uint32Array | null;
  /** The only ones that are, in ascending order; null for all. */
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
    const where = { sketch, place: position, fragmentId: fragment.id, firstRow, deleted };
    for (let start = 0; start < candidates.length; start += QUERIES_AT_ONCE) {
      signal?.throwIfAborted();
      if (listed !== null) memory.list(listed, firstRow);
      for (const own of candidates.slice(start, start + QUERIES_AT_ONCE)) {
        if (!own.select(where, count, listed !== null)) return false;
      }
      await yieldToEventLoop();
    }
  }
  return true;
}

/** Reads the vectors of candidates, and offers those rows: the most promising ones first, as they may rule out others. */
async function offerCandidates(
  source: FragmentSource,
  request: SearchRequest,
  query: number,
  candidates: SketchCandidates,
  nearest: NearestRows,
): Promise<void> {
  const { search, fragments, observer, signal } = request;
  const own = observer?.source("scan", source) ?? source;
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
    const addresses: FixedColumn = {
      kind: "fixed",
      length: words.length / 2,
      validity: null,
      byteWidth: 8,
      values: new Uint8Array(words.buffer, words.byteOffset, words.byteLength),
    };
    const { columns } = await readRowsAtAddresses(
      own,
      { fragments, projection: search.read, signal },
      addresses,
    );
    await offerBatch(one, columns, [offered]);
  }
}
