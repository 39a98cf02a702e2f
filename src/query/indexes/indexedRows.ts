/** Finds the live rows of a filter by indexes, in covered fragments, one fragment after the other. */

import { mapAhead, mapParallel } from "../../async/parallel.js";
import { whenReady } from "../../async/pending.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { InternalError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import type { OpenIndex } from "../../indexes/kind.js";
import { RowIds } from "../../indexes/rowIds.js";
import { unskipped } from "../../rows/rowPositions.js";
import { stableIdsOf } from "../../table/fragments/rowOrigins.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { placesOfIds, placesOfOffsets } from "../scan/rowPlaces.js";
import type { IndexUse, Lookup, LookupPlan, SearchedSegment } from "./indexUse.js";
import type { IndexSegment, UsableIndex } from "./tableIndexes.js";

/** Segments searched concurrently. */
const PARALLELISM = 4;
/** Fraction of candidate rows from which on a fragment is scanned. */
const SCANNED_PART = 1 / 8;
/** Fragments looked up and read ahead. */
const FRAGMENTS_AHEAD = 8;

/** Candidate rows of a fragment. */
interface CandidateRows {
  readonly fragment: DataFragment;
  /** Row offsets, ascending, without deleted rows; null for all rows. */
  readonly rows: Uint32Array | null;
  /** True if the filter selects all of them. */
  readonly isExact: boolean;
}

/** Consecutive fragments to scan, or rows of one fragment. */
type FilterRows =
  | { readonly kind: "scan"; readonly fragments: readonly DataFragment[] }
  | { readonly kind: "rows"; readonly candidates: CandidateRows; readonly rows: Uint32Array };

/** Facts about the version. */
interface LookupInput {
  /** All fragments of the version. */
  readonly fragments: readonly DataFragment[];
  readonly hasStableIds: boolean;
  /** Exclusive bound of row ids. */
  readonly nextRowId: number;
  /** Path of the manifest, for errors. */
  readonly path: string;
  /** Opens a segment for this search only, and counts its reads; null without counting. */
  readonly reopen: ((index: UsableIndex, segment: IndexSegment) => Promise<OpenIndex | null>) | null;
}

/** A set of rows by address, or its complement. */
interface RowSet {
  readonly ids: RowIds;
  readonly isComplement: boolean;
  readonly isExact: boolean;
}

interface FragmentRowSet extends RowSet {
  /** Fragments of the rows. */
  readonly fragmentIds: ReadonlySet<number>;
}

const NO_ROWS = new Uint32Array(0);
const ALL: RowSet = { ids: RowIds.none, isComplement: true, isExact: true };
const NONE: RowSet = { ids: RowIds.none, isComplement: false, isExact: true };

/** Answers by fragment id. */
export class IndexedRows {
  readonly #byFragment: ReadonlyMap<number, FragmentRowSet>;

  private constructor(byFragment: ReadonlyMap<number, FragmentRowSet>) {
    this.#byFragment = byFragment;
  }

  static async find(
    use: IndexUse,
    input: LookupInput,
    source: FragmentSource,
    signal?: AbortSignal,
  ): Promise<IndexedRows> {
    const lookups = [...new Set(use.parts.flatMap(({ plan }) => lookupsIn(plan)))];
    const answers = new Map<Lookup, RowSet>();
    for (const lookup of lookups) {
      const isIndex = lookup.kind === "index";
      const search = isIndex ? searchIndex(lookup, input, signal) : findByIdentity(lookup, input, source);
      answers.set(lookup, await search);
    }
    const byFragment = new Map<number, FragmentRowSet>();
    for (const { fragmentIds, plan } of use.parts) {
      const rowSet = combined(plan, answers);
      const answer = { ...rowSet, fragmentIds: new Set(rowSet.ids.highWords()) };
      for (const id of fragmentIds) byFragment.set(id, answer);
    }
    return new IndexedRows(byFragment);
  }

  /** Returns true if the look-ups answer for the rows of a fragment. */
  readonly covers = ({ id }: DataFragment): boolean => this.#byFragment.has(id);

  /** True if the look-ups found exactly the rows that the filter selects in the covered fragments. */
  get areExact(): boolean {
    for (const { isExact, isComplement } of this.#byFragment.values())
      if (!isExact || isComplement) return false;
    return true;
  }

  /** Returns the rows of a fragment that the look-ups found, without deleted ones. */
  rowsIn(source: FragmentSource, fragment: DataFragment): Uint32Array | Promise<Uint32Array> {
    if (!this.covers(fragment) || this.#hasNone(fragment)) return NO_ROWS;
    return whenReady(this.#rowsOf(source, fragment), ({ rows }) => rows ?? NO_ROWS);
  }

  /** Yields the rows of all fragments in order, without empty fragments. */
  async *parts(
    source: FragmentSource,
    fragments: readonly DataFragment[],
    signal: AbortSignal | undefined,
  ): AsyncGenerator<FilterRows> {
    let scanned: DataFragment[] = [];
    const candidatesIn = fragments.filter((fragment) => !this.#hasNone(fragment));
    const ahead = mapAhead(candidatesIn, async (fragment) => this.#rowsOf(source, fragment), {
      weigh: () => 1,
      maxWeight: FRAGMENTS_AHEAD,
      ...(signal && { signal }),
    });
    for await (const candidates of ahead) {
      const { fragment, rows, isExact } = candidates;
      if (rows === null || (!isExact && rows.length >= fragment.physicalRows * SCANNED_PART)) {
        scanned.push(fragment);
        continue;
      }
      if (rows.length === 0) continue;
      if (scanned.length > 0) yield { kind: "scan", fragments: scanned };
      scanned = [];
      yield { kind: "rows", candidates, rows };
    }
    if (scanned.length > 0) yield { kind: "scan", fragments: scanned };
  }

  /** True if the fragment has no candidate rows. */
  #hasNone({ id }: DataFragment): boolean {
    const rowSet = this.#byFragment.get(id);
    return rowSet !== undefined && !rowSet.isComplement && !rowSet.fragmentIds.has(id);
  }

  #rowsOf(source: FragmentSource, fragment: DataFragment): CandidateRows | Promise<CandidateRows> {
    const rowSet = this.#byFragment.get(fragment.id);
    if (rowSet === undefined) return { fragment, rows: null, isExact: false };
    const { ids, isComplement, isExact } = rowSet;
    const lows = ids.lows(fragment.id, fragment.physicalRows);
    const rows = isComplement ? unskipped(0, fragment.physicalRows, lows) : lows;
    if (rows.length === 0 || fragment.deletionFile === undefined) return { fragment, rows, isExact };
    return source.readDeletions(fragment).then((deleted) => ({
      fragment,
      rows: deleted === null ? rows : withoutRows(rows, deleted),
      isExact,
    }));
  }
}

/** Removes deleted rows. @param deleted ascending */
function withoutRows(rows: Uint32Array, deleted: Uint32Array): Uint32Array {
  const left = new Uint32Array(rows.length);
  let count = 0;
  let next = 0;
  for (const row of rows) {
    while (next < deleted.length && deleted[next] < row) next++;
    if (next === deleted.length || deleted[next] !== row) left[count++] = row;
  }
  return left.subarray(0, count);
}

function lookupsIn(plan: LookupPlan): Lookup[] {
  switch (plan.kind) {
    case "lookup":
      return [plan.lookup];
    case "rough":
      return lookupsIn(plan.part);
    case "constant":
      return [];
    case "and":
    case "or":
      return plan.parts.flatMap(lookupsIn);
  }
}

function combined(plan: LookupPlan, answers: ReadonlyMap<Lookup, RowSet>): RowSet {
  switch (plan.kind) {
    case "lookup":
      return answers.get(plan.lookup) ?? ALL;
    case "rough":
      return { ...combined(plan.part, answers), isExact: false };
    case "constant":
      return plan.isAll ? ALL : NONE;
    case "and":
      return plan.parts.map((part) => combined(part, answers)).reduce(both, ALL);
    case "or":
      // De Morgan: a union is the complement of the intersection of complements.
      return opposite(plan.parts.map((part) => opposite(combined(part, answers))).reduce(both, ALL));
  }
}

const opposite = (rowSet: RowSet): RowSet => ({ ...rowSet, isComplement: !rowSet.isComplement });

function both(a: RowSet, b: RowSet): RowSet {
  const isExact = a.isExact && b.isExact;
  if (a.isComplement && b.isComplement) return { ids: a.ids.union(b.ids), isComplement: true, isExact };
  if (a.isComplement) return { ids: b.ids.minus(a.ids), isComplement: false, isExact };
  if (b.isComplement) return { ids: a.ids.minus(b.ids), isComplement: false, isExact };
  return { ids: a.ids.intersect(b.ids), isComplement: false, isExact };
}

/** Returns the rows of covered fragments for which a test is true, or false if it is negated. */
async function searchIndex(
  { ask, index, segments }: Extract<Lookup, { kind: "index" }>,
  input: LookupInput,
  signal: AbortSignal | undefined,
): Promise<RowSet> {
  const search = (asked: SearchedSegment) => searchSegment(index, asked, ask.isNegated, input, signal);
  const parts =
    segments.length === 1 ? [await search(segments[0])] : await mapParallel(segments, PARALLELISM, search);
  let ids = RowIds.none;
  let isExact = true;
  for (const part of parts) {
    ids = ids.union(part.ids);
    isExact &&= part.isExact;
  }
  if (!ask.isNegated) return { ids, isComplement: false, isExact };
  // The complement of an inexact answer is unknown.
  return isExact ? { ids, isComplement: true, isExact } : { ...ALL, isExact: false };
}

/** Returns the rows for which a test is true; with `isNegated` also those for which it is null. */
async function searchSegment(
  index: UsableIndex,
  { segment, open: opened, queries, isRough }: SearchedSegment,
  isNegated: boolean,
  input: LookupInput,
  signal: AbortSignal | undefined,
): Promise<{ readonly ids: RowIds; readonly isExact: boolean }> {
  const open = input.reopen === null ? opened : await input.reopen(index, segment);
  if (open === null) throw new InternalError(`index ${index.name} can no longer be opened`);
  let ids = RowIds.none;
  let isExact = !isRough;
  for (const [position, query] of queries.entries()) {
    // All queries have the same null rows.
    const withNulls = isNegated && position === 0;
    const answer = await open.search(query, { withNulls, ...(signal && { signal }) });
    ids = ids.union(answer.rows);
    isExact &&= answer.isExact;
    if (!withNulls) continue;
    if (answer.nulls === null) isExact = false;
    else ids = ids.union(answer.nulls);
  }
  if (input.hasStableIds && !index.kind.storesAddresses) {
    const covered = input.fragments.filter(({ id }) => segment.covered.has(id));
    ids = await placesOfIds(ids, input.nextRowId, covered, (fragment) => stableIdsOf(fragment, input.path));
  }
  return { ids: ids.within(segment.covered), isExact };
}

/** Returns the rows with these ids, addresses or offsets. */
async function findByIdentity(
  { ask, which }: Extract<Lookup, { kind: "places" }>,
  input: LookupInput,
  source: FragmentSource,
): Promise<RowSet> {
  const { fragments } = input;
  const values = ask.test.kind === "in" ? ask.test.values : null;
  if (values?.kind !== "fixed") return { ...ALL, isExact: false };
  const bytes = alignedBytes(values.values, 4);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, 2 * values.length);
  const findRows = async (): Promise<RowIds> => {
    if (which === "_rowoffset") {
      const offsets = new Float64Array(values.length);
      for (let row = 0; row < offsets.length; row++)
        offsets[row] = words[2 * row + 1] * 2 ** 32 + words[2 * row];
      return placesOfOffsets(offsets.sort(), fragments, source);
    }
    const ids = RowIds.of(words);
    if (which === "_rowaddr" || !input.hasStableIds) return ids;
    return placesOfIds(ids, input.nextRowId, fragments, (fragment) => stableIdsOf(fragment, input.path));
  };
  return { ids: await findRows(), isComplement: ask.isNegated, isExact: true };
}
