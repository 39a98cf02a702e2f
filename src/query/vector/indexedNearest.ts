/**
 * Finds the rows nearest to vectors by an index. Rows that it does not cover are compared with the vectors themselves; those
 * that it finds are then compared so too. With a refine factor, several times as many rows as wanted are taken from the
 * index, and compared.
 */

import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import type { DataFragment } from "../../format/table.js";
import { type FoundRows, MAX_NEAREST, NearestRows } from "../../indexes/vector/distance/nearestRows.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { wordPairs } from "../columns/rowAddresses.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { MAX_KEPT, type NearRows, offerRows, type SearchRequest } from "./nearestRows.js";
import { SearchableRows } from "./searchableRows.js";
import type { VectorIndex, VectorSearch } from "./vectorSearch.js";

/** Partitions that are looked into where nobody says how many. */
const DEFAULT_PROBES = 20;
/**
 * Rows as far away as the last wanted one that are compared exactly too. Codes of several rows are often the same, so their
 * distances are equal until they are compared.
 */
const MOST_TIES = 1024;
/** Distances of codes whose difference is a smaller part of them are taken for equal: they were added up in another order. */
const TIE_DIFFERENCE = 1e-5;
/** Rows whose vectors are read at once to compute their distances exactly. */
const READ_ROWS = 4096;

/** The nearest rows of each vector. */
export async function* nearestByIndex(
  source: FragmentSource,
  request: SearchRequest,
  index: VectorIndex,
  most: number,
): AsyncGenerator<NearRows, void, undefined> {
  const { search, fragments, observer } = request;
  const { asked, queries } = search;
  const { refineFactor } = asked;
  const coveredIds = new Set(index.segments.flatMap(({ covered }) => [...covered]));
  const covered = fragments.filter(({ id }) => coveredIds.has(id));
  const others = fragments.filter(({ id }) => !coveredIds.has(id));
  // An answer has exact distances where it has rows that the index does not cover: those of codes would not compare.
  let isExact = refineFactor !== undefined || others.length > 0;
  let wanted = most * (refineFactor ?? 1);
  const ask = () => {
    const asked = askIndex(source, request, index, covered, wanted, isExact);
    return observer?.time("index", asked) ?? asked;
  };
  let candidates = await ask();
  if (request.numbers.hasStableIds && candidates.some(hasRepeatedRows)) {
    // Lance 9 and 10 keep the codes of vectors before and after an update. Only the vectors themselves tell which is right.
    isExact = true;
    wanted = Math.min(2 * wanted, MAX_NEAREST);
    candidates = await ask();
  }
  const nearest = isExact ? await refined(source, request, candidates, { wanted, most }) : candidates;
  if (others.length > 0) await offerRows(source, { ...request, fragments: others }, nearest);
  for (const query of queries.keys()) yield { query, rows: nearest[query].finish() };
}

/** Tells whether a row is there with two distances. */
function hasRepeatedRows(rows: NearestRows): boolean {
  const { distances, addresses } = rows.finish();
  const seen = new Set<number>();
  for (let row = 0; row < distances.length; row++)
    seen.add(addresses[2 * row + 1] * 2 ** 32 + addresses[2 * row]);
  return seen.size < distances.length;
}

async function askIndex(
  source: FragmentSource,
  request: SearchRequest,
  index: VectorIndex,
  covered: readonly DataFragment[],
  most: number,
  isRefined: boolean,
): Promise<NearestRows[]> {
  const { search, signal } = request;
  const { queries, column } = search;
  // Distances that are exact are the same for rows whose vectors are.
  const isExact = index.segments.every(({ open }) => open.kind === "IVF_FLAT") && !isBoundedBelow(search);
  const room = Math.min(most + MOST_TIES, MAX_NEAREST, Math.floor(MAX_KEPT / queries.length));
  const nearest = queries.map(() => new NearestRows(isRefined && !isExact ? Math.max(most, room) : most));
  if (covered.length === 0) return nearest;
  const rows = await SearchableRows.of(source, request, covered, index.path);
  const vectors = queries.map(({ numbers }) => Float64Array.from(numbers.subarray(0, column.dimension)));
  for (const { covered: own, open } of index.segments) {
    await open.search(
      {
        ...probesOf(search, open.partitionCount),
        queries: vectors,
        wantedRows: most,
        ...(search.asked.beam !== undefined && { beam: search.asked.beam }),
        // Nearer rows would leave no room for those that are wanted.
        lowerBound: isRefined ? search.lowerBound - slackAt(search.lowerBound) : search.lowerBound,
        upperBound: isRefined ? Number.NaN : search.upperBound,
        place: (low, high, address) => rows.place(low, high, own, address),
        ...(signal && { signal }),
      },
      nearest,
    );
  }
  return nearest;
}

function probesOf(
  { asked }: VectorSearch,
  partitionCount: number,
): { leastProbes: number; mostProbes: number } {
  const all = asked.mostProbes === 0;
  const leastProbes =
    asked.leastProbes ??
    Math.min(DEFAULT_PROBES, all ? partitionCount : (asked.mostProbes ?? DEFAULT_PROBES));
  return {
    leastProbes,
    mostProbes: all ? partitionCount : (asked.mostProbes ?? Math.max(DEFAULT_PROBES, leastProbes)),
  };
}

/**
 * The nearest of the candidates, by exact distances. The vectors of rows of several queries are read together.
 * @param wanted candidates that are compared; more if several are equally far away
 * @param most rows that are kept
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
  for (const parts of piecesOf(candidates.map((own) => withTies(own.finish(), wanted, search.lowerBound)))) {
    const addresses = concatColumns(parts.map(({ words }) => wordPairs(words)));
    const { columns } = await readRowsAtAddresses(source, plan, addresses);
    let start = 0;
    for (const { query, words } of parts) {
      const rowCount = words.length / 2;
      const own = { columns: columns.map((column) => sliceColumn(column, start, rowCount)), rowCount };
      const one = { ...search, queries: [search.queries[query]] };
      await offerRows(source, { ...request, search: one }, [nearest[query]], [own]);
      start += rowCount;
    }
  }
  return nearest;
}

/** How far distances that are taken for equal differ at most. */
const slackAt = (distance: number): number =>
  Number.isFinite(distance) ? TIE_DIFFERENCE * Math.max(1, Math.abs(distance)) : 0;

const isBoundedBelow = ({ lowerBound }: VectorSearch): boolean => lowerBound !== Number.NEGATIVE_INFINITY;

/** The addresses of the first rows that are not too near, of those as far away as the last of them, and of nearer ones. */
function withTies({ distances, addresses }: FoundRows, wanted: number, lowerBound: number): Uint32Array {
  let count = 0;
  const least = lowerBound === Number.NEGATIVE_INFINITY ? lowerBound : lowerBound + slackAt(lowerBound);
  while (count < distances.length && distances[count] < least) count++;
  count += wanted;
  if (count >= distances.length) return addresses;
  const last = distances[count - 1];
  while (count < distances.length && distances[count] <= last + slackAt(last)) count++;
  return addresses.subarray(0, 2 * count);
}

/** Some of the rows of a query: pairs of words. */
interface AddressPart {
  readonly query: number;
  readonly words: Uint32Array;
}

/** Cuts the addresses of all queries into pieces of {@link READ_ROWS} rows. */
function* piecesOf(addresses: readonly Uint32Array[]): Generator<AddressPart[], void, undefined> {
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
