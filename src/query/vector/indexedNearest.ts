/**
 * Finds the nearest rows of vectors by an index. If there are rows outside its coverage, these and the rows
 * that the index finds are compared exactly. With a refine factor, the index returns several times the wanted
 * rows for an exact comparison. A search of a multivector column scores the rows of the vectors that the
 * index finds for each query vector (scoredRows.ts).
 */

import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import type { DataFragment } from "../../format/table.js";
import { MAX_NEAREST, type NearestRowList, NearestRows } from "../../indexes/vector/distance/nearestRows.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { wordPairs } from "../columns/rowAddresses.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { MAX_KEPT, type NearRows, offerRows, type SearchRequest } from "./nearestRows.js";
import { scoredRows, VECTORS_PER_ROW } from "./scoredRows.js";
import { SearchableRows } from "./searchableRows.js";
import type { VectorIndex, VectorSearch } from "./vectorSearch.js";

/** Default number of partitions to probe. */
const DEFAULT_PROBES = 20;
/**
 * Maximum number of ties with the last wanted row that are compared exactly: rows that share a code have
 * equal distances.
 */
const MOST_TIES = 1024;
/** Relative difference below which code distances count as ties, since their sums round differently. */
const TIE_DIFFERENCE = 1e-5;
/** Rows per read of an exact comparison. */
const READ_ROWS = 4096;

/** Returns the nearest rows of each vector. */
export async function nearestByIndex(
  source: FragmentSource,
  request: SearchRequest,
  index: VectorIndex,
  most: number,
): Promise<NearRows[]> {
  const { search, fragments, observer } = request;
  const { refineFactor } = search.requested;
  const coveredIds = new Set(index.segments.flatMap(({ covered }) => [...covered]));
  const covered = fragments.filter(({ id }) => coveredIds.has(id));
  const others = fragments.filter(({ id }) => !coveredIds.has(id));
  // Exact distances do not compare with those of codes, so one uncovered fragment makes all distances exact.
  let isExact = refineFactor !== undefined || others.length > 0;
  let wanted = most * (refineFactor ?? 1);
  const ask = () => {
    const answer = search.column.isMulti
      ? searchLists(source, request, index, covered, { most, wanted, isExact })
      : searchIndex(source, request, index, covered, wanted, isExact);
    return observer?.time("index", answer) ?? answer;
  };
  let candidates = await ask();
  if (!search.column.isMulti && request.numbers.hasStableIds && candidates.some(hasRepeatedRows)) {
    // Lance 9 and 10 keep the codes of a vector from before and after an update; only the vector decides.
    isExact = true;
    wanted = Math.min(2 * wanted, MAX_NEAREST);
    candidates = await ask();
  }
  const nearest = isExact ? await refined(source, request, candidates, { wanted, most }) : candidates;
  if (others.length > 0) await offerRows(source, { ...request, fragments: others }, nearest);
  return nearest.map((rows, query) => ({ query, rows: rows.finish() }));
}

/**
 * Searches the index for each vector of a multivector query.
 * @param counts `most` rows are wanted, and `wanted` compared exactly, plus ties. Lists of vectors have the
 *   same length with and without a refine factor, as those of Lance: their length decides the scores
 * @returns the rows of the one result
 */
async function searchLists(
  source: FragmentSource,
  request: SearchRequest,
  index: VectorIndex,
  covered: readonly DataFragment[],
  counts: { readonly most: number; readonly wanted: number; readonly isExact: boolean },
): Promise<NearestRows[]> {
  const { search } = request;
  const { most, wanted, isExact } = counts;
  const room = Math.min(MAX_NEAREST, Math.floor(MAX_KEPT / search.queries.length));
  const vectorCount = Math.max(1, Math.min(most * VECTORS_PER_ROW, room));
  const unbounded = { ...request, search: { ...search, ...UNBOUNDED } };
  const vectors = await searchIndex(source, unbounded, index, covered, vectorCount, false);
  const lists = vectors.map((each) => each.finish());
  // Rows whose estimates tie with the last wanted one are compared, too.
  return isExact
    ? [scoredRows(lists, UNBOUNDED, Math.min(wanted + MOST_TIES, MAX_NEAREST))]
    : [scoredRows(lists, search, most)];
}

const UNBOUNDED = { lowerBound: Number.NEGATIVE_INFINITY, upperBound: Number.NaN };

/** True if a row occurs with two distances. */
function hasRepeatedRows(rows: NearestRows): boolean {
  const { distances, addresses } = rows.finish();
  const seen = new Set<number>();
  for (let row = 0; row < distances.length; row++)
    seen.add(addresses[2 * row + 1] * 2 ** 32 + addresses[2 * row]);
  return seen.size < distances.length;
}

async function searchIndex(
  source: FragmentSource,
  request: SearchRequest,
  index: VectorIndex,
  covered: readonly DataFragment[],
  most: number,
  isRefined: boolean,
): Promise<NearestRows[]> {
  const { search, signal } = request;
  const { queries, column } = search;
  // Exact distances tie only for equal vectors.
  const isExact = index.segments.every(({ open }) => open.kind === "IVF_FLAT") && !isBoundedBelow(search);
  const room = Math.min(most + MOST_TIES, MAX_NEAREST, Math.floor(MAX_KEPT / queries.length));
  const nearest = queries.map(() => new NearestRows(isRefined && !isExact ? Math.max(most, room) : most));
  if (covered.length === 0) return nearest;
  const rows = await SearchableRows.of(source, request, covered, index.path);
  const vectors = queries.map(({ numbers }) => new Float64Array(numbers.subarray(0, column.dimension)));
  for (const { covered: segmentIds, open } of index.segments) {
    const { leastProbes, mostProbes } = probesOf(search, open.partitionCount);
    await open.search(
      {
        leastProbes,
        mostProbes,
        queries: vectors,
        wantedRows: most,
        beam: search.requested.beam,
        // Nearer rows would displace the wanted ones.
        lowerBound: isRefined ? search.lowerBound - slackAt(search.lowerBound) : search.lowerBound,
        upperBound: isRefined ? Number.NaN : search.upperBound,
        locate: (low, high, address) => rows.locate(low, high, segmentIds, address),
        signal,
      },
      nearest,
    );
  }
  return nearest;
}

function probesOf(
  { requested }: VectorSearch,
  partitionCount: number,
): { leastProbes: number; mostProbes: number } {
  const all = requested.mostProbes === 0;
  const leastProbes =
    requested.leastProbes ??
    Math.min(DEFAULT_PROBES, all ? partitionCount : (requested.mostProbes ?? DEFAULT_PROBES));
  return {
    leastProbes,
    mostProbes: all ? partitionCount : (requested.mostProbes ?? Math.max(DEFAULT_PROBES, leastProbes)),
  };
}

/**
 * Returns the nearest candidates by exact distance. A candidate of several queries is read once.
 * @param wanted number of candidates to compare, plus ties
 * @param most maximum number of rows to keep
 */
async function refined(
  source: FragmentSource,
  request: SearchRequest,
  candidates: readonly NearestRows[],
  { wanted, most }: { readonly wanted: number; readonly most: number },
): Promise<NearestRows[]> {
  const { search, fragments, signal } = request;
  const nearest = candidates.map(() => new NearestRows(most));
  const plan = { fragments, projection: search.read, signal };
  for (const parts of piecesOf(
    candidates.map((collector) => withTies(collector.finish(), wanted, search.lowerBound)),
  )) {
    const addresses = concatColumns(parts.map(({ words }) => wordPairs(words)));
    const { columns } = await readRowsAtAddresses(source, plan, addresses);
    let start = 0;
    for (const { query, words } of parts) {
      const rowCount = words.length / 2;
      const batch = { columns: columns.map((column) => sliceColumn(column, start, rowCount)), rowCount };
      // The query vectors of a multivector column share one result.
      const one = search.column.isMulti ? search : { ...search, queries: [search.queries[query]] };
      await offerRows(source, { ...request, search: one }, [nearest[query]], [batch]);
      start += rowCount;
    }
  }
  return nearest;
}

/** Returns the maximum difference of distances that count as ties. */
const slackAt = (distance: number): number =>
  Number.isFinite(distance) ? TIE_DIFFERENCE * Math.max(1, Math.abs(distance)) : 0;

const isBoundedBelow = ({ lowerBound }: VectorSearch): boolean => lowerBound !== Number.NEGATIVE_INFINITY;

/** Returns addresses: the first `wanted` beyond the lower bound, ties with the last, and nearer rows. */
function withTies({ distances, addresses }: NearestRowList, wanted: number, lowerBound: number): Uint32Array {
  let count = 0;
  const least = lowerBound === Number.NEGATIVE_INFINITY ? lowerBound : lowerBound + slackAt(lowerBound);
  while (count < distances.length && distances[count] < least) count++;
  count += wanted;
  if (count >= distances.length) return addresses;
  const last = distances[count - 1];
  while (count < distances.length && distances[count] <= last + slackAt(last)) count++;
  return addresses.subarray(0, 2 * count);
}

/** Rows of a query, as pairs of words. */
interface AddressPart {
  readonly query: number;
  readonly words: Uint32Array;
}

/** Cuts the addresses of all queries into pieces of {@link READ_ROWS} rows. */
function* piecesOf(addresses: readonly Uint32Array[]): Generator<AddressPart[]> {
  let parts: AddressPart[] = [];
  let room = 2 * READ_ROWS;
  for (const [query, all] of addresses.entries()) {
    for (let start = 0; start < all.length; ) {
      const words = all.slice(start, start + room);
      parts.push({ query, words });
      start += words.length;
      room -= words.length;
      if (room > 0) continue;
      yield parts;
      parts = [];
      room = 2 * READ_ROWS;
    }
  }
  if (parts.length > 0) yield parts;
}
