/**
 * Finds the rows that a filter selects by asking indexes. What they answer is left with the fragments that they cover,
 * and without rows that are deleted. Rows come fragment by fragment, as in a scan.
 */

import { mapParallel } from "../../async/parallel.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { InternalError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import type { IndexAnswer, IndexQuery, OpenIndex } from "../../indexes/kind.js";
import { RowIds } from "../../indexes/rowIds.js";
import { unskipped } from "../../rows/rowPositions.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { rowIdsOf } from "../columns/systemColumns.js";
import { placesOfIds, placesOfOffsets } from "../scan/rowPlaces.js";
import type { AskedSegment, IndexUse, Lookup, LookupPlan } from "./indexUse.js";
import type { IndexSegment, UsableIndex } from "./tableIndexes.js";

/** Segments asked at the same time. */
const PARALLELISM = 4;

/** Rows of a fragment that have to be looked at. */
export interface CandidateRows {
  readonly fragment: DataFragment;
  /** Physical offsets, ascending, none deleted; null for all rows. */
  readonly rows: Uint32Array | null;
  /** Whether the filter selects all of them. */
  readonly isExact: boolean;
}

/** What indexes of a version are asked through. */
interface LookupInput {
  /** All fragments of the version. */
  readonly fragments: readonly DataFragment[];
  readonly hasStableIds: boolean;
  /** Ids of rows are below it. */
  readonly nextRowId: number;
  /** Of the manifest, for errors. */
  readonly path: string;
  /** Opens a segment for this search alone, whose reads are counted; null where nobody counts. */
  readonly reopen: ((index: UsableIndex, segment: IndexSegment) => Promise<OpenIndex | null>) | null;
}

/** Rows by their addresses, or all rows but these. */
interface Found {
  readonly ids: RowIds;
  readonly isComplement: boolean;
  readonly isExact: boolean;
}

interface FoundIn extends Found {
  /** The fragments in which these rows lie. */
  readonly fragmentIds: ReadonlySet<number>;
}

const ALL: Found = { ids: RowIds.none, isComplement: true, isExact: true };
const NONE: Found = { ids: RowIds.none, isComplement: false, isExact: true };

/** The answers to what is asked, by the ids of the fragments. */
export class IndexedRows {
  readonly #byFragment: ReadonlyMap<number, FoundIn>;

  private constructor(byFragment: ReadonlyMap<number, FoundIn>) {
    this.#byFragment = byFragment;
  }

  static async find(
    use: IndexUse,
    input: LookupInput,
    source: FragmentSource,
    signal?: AbortSignal,
  ): Promise<IndexedRows> {
    const lookups = [...new Set(use.parts.flatMap(({ plan }) => lookupsIn(plan)))];
    const answers = new Map<Lookup, Found>();
    for (const lookup of lookups) {
      answers.set(
        lookup,
        lookup.kind === "index"
          ? await askIndex(lookup, input, signal)
          : await findPlaces(lookup, input, source),
      );
    }
    const byFragment = new Map<number, FoundIn>();
    for (const { fragmentIds, plan } of use.parts) {
      const found = combined(plan, answers);
      const known = { ...found, fragmentIds: new Set(found.ids.highWords()) };
      for (const id of fragmentIds) byFragment.set(id, known);
    }
    return new IndexedRows(byFragment);
  }

  /** Whether no row of a fragment has to be looked at. */
  hasNone({ id }: DataFragment): boolean {
    const found = this.#byFragment.get(id);
    return found !== undefined && !found.isComplement && !found.fragmentIds.has(id);
  }

  async rowsOf(source: FragmentSource, fragment: DataFragment): Promise<CandidateRows> {
    const found = this.#byFragment.get(fragment.id);
    if (found === undefined) return { fragment, rows: null, isExact: false };
    const { ids, isComplement, isExact } = found;
    const lows = ids.lows(fragment.id, fragment.physicalRows);
    const rows = isComplement ? complement(lows, fragment.physicalRows) : lows;
    if (rows.length === 0 || fragment.deletionFile === undefined) return { fragment, rows, isExact };
    const deleted = await source.readDeletions(fragment);
    return { fragment, rows: deleted === null ? rows : withoutRows(rows, deleted), isExact };
  }
}

const complement = (rows: Uint32Array, rowCount: number): Uint32Array => unskipped(0, rowCount, rows);

/** @param gone ascending */
function withoutRows(rows: Uint32Array, gone: Uint32Array): Uint32Array {
  const left = new Uint32Array(rows.length);
  let count = 0;
  let next = 0;
  for (const row of rows) {
    while (next < gone.length && gone[next] < row) next++;
    if (next === gone.length || gone[next] !== row) left[count++] = row;
  }
  return left.subarray(0, count);
}

// ------------------------------------------------------------------------------------------------- combining

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

function combined(plan: LookupPlan, answers: ReadonlyMap<Lookup, Found>): Found {
  switch (plan.kind) {
    case "lookup":
      return answers.get(plan.lookup) ?? ALL;
    case "rough":
      return { ...combined(plan.part, answers), isExact: false };
    case "constant":
      return plan.isAll ? ALL : NONE;
    case "and":
      return plan.parts.map((part) => combined(part, answers)).reduce(both, ALL);
    case "or": {
      // A row is in neither of two sets where it is in both of their complements.
      const none = plan.parts.map((part) => opposite(combined(part, answers))).reduce(both, ALL);
      return opposite(none);
    }
  }
}

const opposite = (found: Found): Found => ({ ...found, isComplement: !found.isComplement });

function both(a: Found, b: Found): Found {
  const isExact = a.isExact && b.isExact;
  if (a.isComplement && b.isComplement) return { ids: a.ids.union(b.ids), isComplement: true, isExact };
  if (a.isComplement) return { ids: b.ids.minus(a.ids), isComplement: false, isExact };
  if (b.isComplement) return { ids: a.ids.minus(b.ids), isComplement: false, isExact };
  return { ids: a.ids.intersect(b.ids), isComplement: false, isExact };
}

// ------------------------------------------------------------------------------------------------- asking

/** The rows for which a test is true, or false if it is negated; of covered fragments only. */
async function askIndex(
  { ask, index, segments }: Extract<Lookup, { kind: "index" }>,
  input: LookupInput,
  signal: AbortSignal | undefined,
): Promise<Found> {
  const parts = await mapParallel(segments, PARALLELISM, (asked) =>
    askSegment(index, asked, ask.isNegated, input, signal),
  );
  let ids = RowIds.none;
  let isExact = true;
  for (const part of parts) {
    ids = ids.union(part.ids);
    isExact &&= part.isExact;
  }
  if (!ask.isNegated) return { ids, isComplement: false, isExact };
  // What is not known exactly says nothing about the other rows.
  return isExact ? { ids, isComplement: true, isExact } : { ...ALL, isExact: false };
}

/** The rows for which a test is true; with `isNegated` those as well for which it is null. */
async function askSegment(
  index: UsableIndex,
  { segment, open: known, queries, isRough }: AskedSegment,
  isNegated: boolean,
  input: LookupInput,
  signal: AbortSignal | undefined,
): Promise<{ readonly ids: RowIds; readonly isExact: boolean }> {
  const open = input.reopen === null ? known : await input.reopen(index, segment);
  if (open === null) throw new InternalError(`index ${index.name} can't be opened any more`);
  let ids = RowIds.none;
  let isExact = !isRough;
  for (const [position, query] of queries.entries()) {
    // Whatever is asked of it, the same rows are null.
    const withNulls = isNegated && position === 0;
    const answer: IndexAnswer = await searchOne(open, query, withNulls, signal);
    ids = ids.union(answer.rows);
    isExact &&= answer.isExact;
    if (!withNulls) continue;
    if (answer.nulls === null) isExact = false;
    else ids = ids.union(answer.nulls);
  }
  if (input.hasStableIds && !index.kind.knowsPlaces) {
    const covered = input.fragments.filter(({ id }) => segment.covered.has(id));
    ids = await placesOfIds(ids, input.nextRowId, covered, (fragment) => rowIdsOf(fragment, input.path));
  }
  return { ids: ids.within(segment.covered), isExact };
}

const searchOne = (
  open: OpenIndex,
  query: IndexQuery,
  withNulls: boolean,
  signal: AbortSignal | undefined,
): Promise<IndexAnswer> => open.search(query, { withNulls, ...(signal && { signal }) });

/** The rows that are given by their ids, addresses or numbers. */
async function findPlaces(
  { ask, which }: Extract<Lookup, { kind: "places" }>,
  input: LookupInput,
  source: FragmentSource,
): Promise<Found> {
  const { fragments } = input;
  const values = ask.test.kind === "in" ? ask.test.values : null;
  if (values?.kind !== "fixed") return { ...ALL, isExact: false };
  const bytes = alignedBytes(values.values, 4);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, 2 * values.length);
  const found = async (): Promise<RowIds> => {
    if (which === "_rowoffset") {
      const offsets = new Float64Array(values.length);
      for (let row = 0; row < offsets.length; row++)
        offsets[row] = words[2 * row + 1] * 2 ** 32 + words[2 * row];
      return placesOfOffsets(offsets.sort(), fragments, source);
    }
    const ids = RowIds.of(words);
    if (which === "_rowaddr" || !input.hasStableIds) return ids;
    return placesOfIds(ids, input.nextRowId, fragments, (fragment) => rowIdsOf(fragment, input.path));
  };
  return { ids: await found(), isComplement: ask.isNegated, isExact: true };
}
