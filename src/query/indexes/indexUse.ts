/**
 * Decides which tests of a filter indexes answer, and which fragments are scanned.
 *
 * Costs are approximate nanoseconds of one thread. A sequential column read is cheap per row. A row taken by
 * address costs more, and so does a row of an index answer, which must be sorted.
 */

import { mapParallel } from "../../async/parallel.js";
import { byteWidthOf, type ValueType } from "../../expression/values/types.js";
import type { DataFragment } from "../../format/table.js";
import type { IndexQuery, OpenIndex } from "../../indexes/kind.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import type { SystemColumn } from "../columns/systemColumns.js";
import { type Predicate, type PredicateTest, queriesOf, testsOf } from "./predicates.js";
import type { IndexSegment, UsableIndex } from "./tableIndexes.js";

/** Cost of a row in one column that a scan reads and compares. */
const SCANNED_FIXED = 5;
const SCANNED_VARIABLE = 15;
/** Cost of reading the columns of a row by its address. */
const TAKEN_ROW = 400;
/** Cost of a row in the answer of an index. */
const FOUND_ROW = 25;
/** Cost of reading a byte of an index file. */
const INDEX_BYTE = 0.3;
/** Cost of searching one segment. */
const ASKED_SEGMENT = 20_000;
/** Cost of opening the files of a fragment. */
const OPENED_FRAGMENT = 50_000;
/** Minimum number of rows that a scan reads before a limit ends it. */
const SCANNED_AT_LEAST = 65_536;

/** Segments opened concurrently. */
const PARALLELISM = 8;

/** Kinds whose answers are supersets, and so say nothing about a negation. */
const ROUGH_KINDS: ReadonlySet<string> = new Set(["ZONEMAP", "BLOOMFILTER", "NGRAM", "FM"]);

/** Kinds that may return changed rows in tables with stable ids: LanceDB's merges keep the old values. */
const ROUGH_KINDS_OF_STABLE_IDS: ReadonlySet<string> = new Set(["LABEL_LIST"]);

/** Answer to a test. */
export type Lookup =
  | {
      readonly kind: "index";
      readonly ask: PredicateTest;
      readonly index: UsableIndex;
      readonly segments: readonly SearchedSegment[];
    }
  /** By row id, address or offset. */
  | { readonly kind: "places"; readonly ask: PredicateTest; readonly which: RowIdentityColumn };

export type RowIdentityColumn = Extract<SystemColumn, "_rowid" | "_rowaddr" | "_rowoffset">;

export interface SearchedSegment {
  readonly segment: IndexSegment;
  readonly open: OpenIndex;
  /** The answer is the union over all queries. */
  readonly queries: readonly IndexQuery[];
  /** True if answers may contain other rows. */
  readonly isRough: boolean;
}

/** Plan for a group of fragments. */
export interface IndexedPart {
  readonly fragmentIds: ReadonlySet<number>;
  readonly plan: LookupPlan;
  /** Expected number of rows. */
  readonly rows: number;
  /** True if no row needs a recheck. */
  readonly isExact: boolean;
}

/** Look-ups and their combination. */
export type LookupPlan =
  | { readonly kind: "lookup"; readonly lookup: Lookup }
  | { readonly kind: "and" | "or"; readonly parts: readonly LookupPlan[] }
  | { readonly kind: "constant"; readonly isAll: boolean }
  /** A superset of the wanted rows. */
  | { readonly kind: "rough"; readonly part: LookupPlan };

export interface IndexUse {
  /** All other fragments are scanned. */
  readonly parts: readonly IndexedPart[];
}

/** Formats a plan in one line. */
export function lookupText(plan: LookupPlan): string {
  switch (plan.kind) {
    case "lookup":
      return textOfLookup(plan.lookup);
    case "constant":
      return plan.isAll ? "all" : "none";
    case "rough":
      return lookupText(plan.part);
    case "and":
    case "or": {
      const text = plan.parts.map(lookupText).join(plan.kind === "and" ? " AND " : " OR ");
      return plan.parts.length === 1 ? text : `(${text})`;
    }
  }
}

function textOfLookup(lookup: Lookup): string {
  const { test, isNegated } = lookup.ask;
  const what = `${isNegated ? "not " : ""}${TEST_NAMES[test.kind]}`;
  if (lookup.kind === "places") return `${what} ${lookup.which}`;
  const { name, kind, field } = lookup.index;
  return `${name} (${kind.name}, ${what} ${field.name})`;
}

const TEST_NAMES: Readonly<Record<PredicateTest["test"]["kind"], string>> = {
  in: "values of",
  range: "range of",
  startsWith: "prefix of",
  contains: "text in",
  hasAny: "any item of",
  hasAll: "all items of",
  isNull: "nulls of",
};

/** Facts about the version and the query. */
interface UseInput {
  readonly predicate: Predicate;
  readonly fragments: readonly DataFragment[];
  readonly hasStableIds: boolean;
  /** Types of the filter's columns. */
  readonly types: readonly ValueType[];
  /** Maximum number of wanted rows. */
  readonly wantedRows: number;
  /** True to use indexes even if a scan should be faster. */
  readonly isForced: boolean;
  /** Returns the indexes of a column, or its name if it identifies rows. */
  optionsOf(ask: PredicateTest): readonly UsableIndex[] | RowIdentityColumn;
  /** Returns a segment if it is open and needs no check; else undefined. */
  opened(index: UsableIndex, segment: IndexSegment): OpenIndex | undefined;
  /** Opens a segment; null if this release cannot read it. */
  open(index: UsableIndex, segment: IndexSegment): Promise<OpenIndex | null>;
}

/**
 * Chooses the indexes to search. Opens the candidates, whose contents determine the cost.
 * @returns null to scan everything
 */
export async function planIndexUse(input: UseInput): Promise<IndexUse | null> {
  const asks = testsOf(input.predicate);
  const opened: OpenSegments = new Map();
  const closed = asks.flatMap((ask) => closedSegments(ask, input, opened));
  if (closed.length > 0) {
    await mapParallel(closed, PARALLELISM, async ({ index, segment }) => {
      opened.set(segment, await input.open(index, segment));
    });
  }
  const options = new Map(asks.map((ask) => [ask, lookupsOf(ask, input, opened)]));
  const parts: IndexedPart[] = [];
  for (const group of fragmentGroups(input.fragments, options)) {
    const rowCount = group.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
    const scope: Scope = {
      options,
      fragmentId: group[0].id,
      part: (covered) => (covered === 0 ? 0 : rowCount / covered),
      rowCount,
    };
    const priced = price(input.predicate, scope);
    if (priced === null) continue;
    if (!input.isForced && !(priceOf(priced) < scanCost(input, group, priced))) continue;
    const fragmentIds = new Set(group.map(({ id }) => id));
    const { plan, isExact } = priced;
    parts.push({ fragmentIds, plan, isExact, rows: Math.ceil(priced.rows) });
  }
  return parts.length === 0 ? null : { parts };
}

function scanCost({ types, wantedRows }: UseInput, group: readonly DataFragment[], { rows }: Priced): number {
  const rowCount = group.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  const perRow = types.reduce((sum, type) => sum + scannedRow(type), 0);
  // With a limit, the scan ends once enough rows match.
  const looked = Math.max(SCANNED_AT_LEAST, (rowCount * wantedRows) / Math.max(rows, 1));
  const part = looked < rowCount ? looked / rowCount : 1;
  return part * (rowCount * perRow + group.length * OPENED_FRAGMENT);
}

function scannedRow(type: ValueType): number {
  switch (type.kind) {
    case "string":
    case "binary":
    case "list":
    case "struct":
    case "other":
      return SCANNED_VARIABLE;
    case "null":
    case "bool":
      return SCANNED_FIXED;
    default:
      return (SCANNED_FIXED * Math.max(4, byteWidthOf(type))) / 4;
  }
}

interface PricedLookup {
  readonly lookup: Lookup;
  /** Covered fragments; null for all. */
  readonly covered: ReadonlySet<number> | null;
  readonly coveredRows: number;
  /** Expected rows of the answer in all fragments. */
  readonly rows: number;
  readonly cost: number;
  readonly isExact: boolean;
}

/** Open segments; null for one that this release cannot read. */
type OpenSegments = Map<IndexSegment, OpenIndex | null>;

/** Returns the segments that might answer a test and are to be opened. Notes those that are open. */
function closedSegments(ask: PredicateTest, input: UseInput, opened: OpenSegments) {
  const closed: { readonly index: UsableIndex; readonly segment: IndexSegment }[] = [];
  for (const index of indexesFor(ask, input)) {
    for (const segment of index.segments) {
      const open = input.opened(index, segment);
      if (open === undefined) closed.push({ index, segment });
      else opened.set(segment, open);
    }
  }
  return closed;
}

/** Returns the indexes that might answer a test. */
function indexesFor(ask: PredicateTest, input: UseInput): readonly UsableIndex[] {
  const options = input.optionsOf(ask);
  return typeof options === "string"
    ? []
    : options.filter((index) => !ask.isNegated || !isRough(index, input));
}

/** Returns all look-ups that can answer a test. */
function lookupsOf(ask: PredicateTest, input: UseInput, opened: OpenSegments): PricedLookup[] {
  const options = input.optionsOf(ask);
  if (typeof options === "string") {
    if (ask.test.kind !== "in") return [];
    const listed = ask.test.values.length;
    const lookup: Lookup = { kind: "places", ask, which: options };
    const coveredRows = input.fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
    const rows = ask.isNegated ? Math.max(0, coveredRows - listed) : listed;
    return [{ lookup, covered: null, coveredRows, rows, cost: rows * FOUND_ROW, isExact: true }];
  }
  const queries = queriesOf(ask);
  const lookups: PricedLookup[] = [];
  for (const index of indexesFor(ask, input)) {
    const priced = priceLookup(ask, index, queries, input, opened);
    if (priced !== null) lookups.push(priced);
  }
  return lookups;
}

const isRough = ({ kind }: UsableIndex, { hasStableIds }: UseInput): boolean =>
  ROUGH_KINDS.has(kind.name) || (hasStableIds && ROUGH_KINDS_OF_STABLE_IDS.has(kind.name));

function priceLookup(
  ask: PredicateTest,
  index: UsableIndex,
  queries: readonly IndexQuery[],
  input: UseInput,
  opened: OpenSegments,
): PricedLookup | null {
  const segments: SearchedSegment[] = [];
  const covered = new Set<number>();
  let rows = 0;
  let cost = 0;
  const areRough = isRough(index, input);
  let isExact = !areRough;
  for (const segment of index.segments) {
    const open = opened.get(segment) ?? null;
    const answered = open && answerableQueries(open, queries);
    // Another index or a scan answers for its fragments.
    if (open === null || answered === null || (answered.isRough && ask.isNegated)) continue;
    isExact &&= !answered.isRough;
    segments.push({ segment, open, queries: answered.queries, isRough: areRough || answered.isRough });
    cost += ASKED_SEGMENT;
    for (const query of answered.queries) {
      const estimate = open.estimate(query);
      rows += estimate.rows;
      cost += estimate.rows * FOUND_ROW + estimate.bytes * INDEX_BYTE;
    }
    for (const id of segment.covered) covered.add(id);
  }
  if (segments.length === 0) return null;
  const coveredRows = input.fragments.reduce(
    (sum, fragment) => sum + (covered.has(fragment.id) ? liveRowCount(fragment) : 0),
    0,
  );
  rows = Math.min(rows, coveredRows);
  if (ask.isNegated) rows = coveredRows - rows;
  return { lookup: { kind: "index", ask, index, segments }, covered, coveredRows, rows, cost, isExact };
}

/** Returns the queries in a form that the index answers; null if it cannot. */
function answerableQueries(
  open: OpenIndex,
  queries: readonly IndexQuery[],
): Pick<SearchedSegment, "queries" | "isRough"> | null {
  if (queries.every((query) => open.answers(query))) return { queries, isRough: false };
  const rewritten = queries.map((query): IndexQuery | null => {
    if (open.answers(query)) return query;
    if (query.kind !== "startsWith") return null;
    // A prefix is contained in the text.
    const within: IndexQuery = { kind: "contains", text: query.prefix };
    return open.answers(within) ? within : null;
  });
  return rewritten.includes(null) ? null : { queries: rewritten as IndexQuery[], isRough: true };
}

/** Groups fragments with the same look-ups. */
function fragmentGroups(
  fragments: readonly DataFragment[],
  options: ReadonlyMap<PredicateTest, readonly PricedLookup[]>,
): DataFragment[][] {
  const lookups = [...options.values()].flat().filter(({ covered }) => covered !== null);
  const groups = new Map<string, DataFragment[]>();
  for (const fragment of fragments) {
    const key = lookups.map(({ covered }) => (covered?.has(fragment.id) ? "1" : "0")).join("");
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [fragment]);
    else group.push(fragment);
  }
  return [...groups.values()];
}

/** A group of fragments, represented by one. */
interface Scope {
  readonly options: ReadonlyMap<PredicateTest, readonly PricedLookup[]>;
  readonly fragmentId: number;
  readonly rowCount: number;
  /** Returns the fraction of an answer that falls in the group. */
  part(coveredRows: number): number;
}

interface Priced {
  readonly plan: LookupPlan;
  readonly rows: number;
  readonly cost: number;
  readonly isExact: boolean;
}

function price(predicate: Predicate, scope: Scope): Priced | null {
  switch (predicate.kind) {
    case "unknown":
      return null;
    case "constant": {
      const rows = predicate.isAll ? scope.rowCount : 0;
      return { plan: predicate, rows, cost: rows * FOUND_ROW, isExact: true };
    }
    case "within": {
      const part = price(predicate.part, scope);
      return part && { ...part, plan: { kind: "rough", part: part.plan }, isExact: false };
    }
    case "ask":
      return priceTest(predicate, scope);
    case "or": {
      const parts = predicate.parts.map((part) => price(part, scope));
      const pricedParts = parts.filter((part) => part !== null);
      if (pricedParts.length < parts.length) return null;
      const rows = pricedParts.reduce((sum, part) => sum + part.rows, 0);
      return {
        plan: { kind: "or", parts: pricedParts.map(({ plan }) => plan) },
        rows: Math.min(scope.rowCount, rows),
        cost: pricedParts.reduce((sum, { cost }) => sum + cost, 0),
        isExact: pricedParts.every(({ isExact }) => isExact),
      };
    }
    case "and":
      return priceAnd(predicate.parts, scope);
  }
}

function priceTest(ask: PredicateTest, { options, fragmentId, part }: Scope): Priced | null {
  let best: Priced | null = null;
  for (const option of options.get(ask) ?? []) {
    if (option.covered !== null && !option.covered.has(fragmentId)) continue;
    const fraction = part(option.coveredRows);
    const priced: Priced = {
      plan: { kind: "lookup", lookup: option.lookup },
      rows: option.rows * fraction,
      cost: option.cost * Math.min(1, fraction),
      isExact: option.isExact,
    };
    if (best === null || priceOf(priced) < priceOf(best)) best = priced;
  }
  return best;
}

/** Adds the cost of rechecks. */
const priceOf = ({ cost, rows, isExact }: Priced): number => cost + (isExact ? 0 : rows * TAKEN_ROW);

/** Takes the part with the fewest rows, and others if they cost less than rechecks of its rows. */
function priceAnd(parts: readonly Predicate[], scope: Scope): Priced | null {
  const pricedParts = parts
    .map((part) => price(part, scope))
    .filter((part) => part !== null)
    .sort((a, b) => a.rows - b.rows || priceOf(a) - priceOf(b));
  if (pricedParts.length === 0) return null;
  const taken = [pricedParts[0]];
  let { rows, cost } = pricedParts[0];
  const isWhole = pricedParts.length === parts.length;
  let isExact = pricedParts[0].isExact;
  for (const next of pricedParts.slice(1)) {
    const left = rows * (scope.rowCount === 0 ? 0 : next.rows / scope.rowCount);
    const saved = (rows - left) * TAKEN_ROW;
    const savesAll = isWhole && isExact && next.isExact ? left * TAKEN_ROW : 0;
    if (next.cost > saved + savesAll) {
      isExact = false;
      continue;
    }
    taken.push(next);
    rows = left;
    cost += next.cost;
    isExact &&= next.isExact;
  }
  const plan: LookupPlan = { kind: "and", parts: taken.map((part) => part.plan) };
  const isAll = isWhole && taken.length === parts.length;
  return { plan: isAll ? plan : { kind: "rough", part: plan }, rows, cost, isExact: isExact && isAll };
}
