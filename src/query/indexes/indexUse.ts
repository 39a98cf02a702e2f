/**
 * Decides whether the rows that a filter selects are found by indexes: which tests are asked of which index, and for
 * which fragments all rows are looked at instead.
 *
 * Costs are approximate nanoseconds of one thread. Reading a column from end to end costs little per row; a row that is
 * taken by itself costs more, and so does a row of an index's answer, which has to be put in order.
 */

import { mapParallel } from "../../async/parallel.js";
import { byteWidthOf, type ValueType } from "../../expression/values/types.js";
import type { DataFragment } from "../../format/table.js";
import type { IndexQuery, OpenIndex } from "../../indexes/kind.js";
import { liveRowCount } from "../../table/fragments/statistics.js";
import type { SystemColumn } from "../columns/systemColumns.js";
import { type Ask, type Predicate, queriesOf } from "./predicates.js";
import type { IndexSegment, UsableIndex } from "./tableIndexes.js";

/** Of a row of a column that is read from end to end and compared. */
const SCANNED_FIXED = 5;
const SCANNED_VARIABLE = 15;
/** Of a row whose columns are read by its address. */
const TAKEN_ROW = 400;
/** Of a row of an answer. */
const FOUND_ROW = 25;
/** Of a byte of an index file. */
const INDEX_BYTE = 0.3;
/** Of asking one segment. */
const ASKED_SEGMENT = 20_000;
/** Of a fragment whose files are opened. */
const OPENED_FRAGMENT = 50_000;
/** Rows that a scan looks at before a limit can end it. */
const SCANNED_AT_LEAST = 65_536;

/** Tests opened at the same time. */
const PARALLELISM = 8;

/** Kinds whose answers may hold further rows, so that nothing is known of a negation. */
const ROUGH_KINDS: ReadonlySet<string> = new Set(["ZONEMAP", "BLOOMFILTER", "NGRAM"]);

/**
 * Kinds whose answers may hold rows that were changed meanwhile, in tables with stable row ids: the reference, where it
 * merges such an index, leaves the changed rows among the values that they had.
 */
const ROUGH_KINDS_OF_STABLE_IDS: ReadonlySet<string> = new Set(["LABEL_LIST"]);

/** How a test is answered. */
export type Lookup =
  | {
      readonly kind: "index";
      readonly ask: Ask;
      readonly index: UsableIndex;
      readonly segments: readonly AskedSegment[];
    }
  /** By the ids, addresses or numbers of the rows. */
  | { readonly kind: "places"; readonly ask: Ask; readonly which: PlaceColumn };

export type PlaceColumn = Extract<SystemColumn, "_rowid" | "_rowaddr" | "_rowoffset">;

export interface AskedSegment {
  readonly segment: IndexSegment;
  readonly open: OpenIndex;
  /** The rows of all queries together are the answer. */
  readonly queries: readonly IndexQuery[];
  /** Whether the answers may hold rows that are not meant. */
  readonly isRough: boolean;
}

/** What is done for some fragments. */
export interface IndexedPart {
  readonly fragmentIds: ReadonlySet<number>;
  readonly plan: LookupPlan;
  /** Expected number of rows. */
  readonly rows: number;
  /** Whether no row has to be looked at again. */
  readonly isExact: boolean;
}

/** Which lookups give the rows, and how they are put together. */
export type LookupPlan =
  | { readonly kind: "lookup"; readonly lookup: Lookup }
  | { readonly kind: "and" | "or"; readonly parts: readonly LookupPlan[] }
  | { readonly kind: "constant"; readonly isAll: boolean }
  /** The rows of the part, of which some are not meant. */
  | { readonly kind: "rough"; readonly part: LookupPlan };

export interface IndexUse {
  /** Fragments that are in none of them are scanned. */
  readonly parts: readonly IndexedPart[];
}

/** A plan in one line. */
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

const TEST_NAMES: Readonly<Record<Ask["test"]["kind"], string>> = {
  in: "values of",
  range: "range of",
  startsWith: "prefix of",
  contains: "text in",
  hasAny: "any item of",
  hasAll: "all items of",
  isNull: "nulls of",
};

/** What of the version and the query decides. */
interface UseInput {
  readonly predicate: Predicate;
  readonly fragments: readonly DataFragment[];
  readonly hasStableIds: boolean;
  /** Types of the columns that the filter reads. */
  readonly types: readonly ValueType[];
  /** Most rows that are wanted. */
  readonly wantedRows: number;
  /** Whether indexes are asked even where a scan should be quicker. */
  readonly isForced: boolean;
  /** The indexes of a column, or which of the places of rows it is. */
  optionsOf(ask: Ask): readonly UsableIndex[] | PlaceColumn;
  /** Null where it can't be read by this release. */
  open(index: UsableIndex, segment: IndexSegment): Promise<OpenIndex | null>;
}

/**
 * Chooses the indexes that are asked. Those that could answer are opened, as what is in them tells what a look-up costs.
 * @returns null where everything is scanned
 */
export async function planIndexUse(input: UseInput): Promise<IndexUse | null> {
  const options = new Map<Ask, PricedLookup[]>();
  const asks = asksOf(input.predicate);
  const found = await mapParallel(asks, PARALLELISM, (ask) => lookupsOf(ask, input));
  for (const [position, ask] of asks.entries()) options.set(ask, found[position]);
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
    const isCheaper =
      priced.cost + (priced.isExact ? 0 : priced.rows * TAKEN_ROW) < scanCost(input, group, priced);
    if (!input.isForced && !isCheaper) continue;
    const fragmentIds = new Set(group.map(({ id }) => id));
    const { plan, isExact } = priced;
    parts.push({ fragmentIds, plan, isExact, rows: Math.ceil(priced.rows) });
  }
  return parts.length === 0 ? null : { parts };
}

function scanCost({ types, wantedRows }: UseInput, group: readonly DataFragment[], { rows }: Priced): number {
  const rowCount = group.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  const perRow = types.reduce((sum, type) => sum + scannedRow(type), 0);
  // With a limit, the scan ends when enough rows were found.
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

// ------------------------------------------------------------------------------------------------- lookups

interface PricedLookup {
  readonly lookup: Lookup;
  /** Fragments that it tells of; null for all. */
  readonly covered: ReadonlySet<number> | null;
  readonly coveredRows: number;
  /** Expected rows of the answer, of all fragments. */
  readonly rows: number;
  readonly cost: number;
  readonly isExact: boolean;
}

function asksOf(predicate: Predicate): Ask[] {
  switch (predicate.kind) {
    case "ask":
      return [predicate];
    case "within":
      return asksOf(predicate.part);
    case "and":
    case "or":
      return predicate.parts.flatMap(asksOf);
    default:
      return [];
  }
}

/** All ways to answer a test. */
async function lookupsOf(ask: Ask, input: UseInput): Promise<PricedLookup[]> {
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
  const found: PricedLookup[] = [];
  for (const index of options) {
    if (ask.isNegated && isRough(index, input)) continue;
    const priced = await priceLookup(ask, index, queries, input);
    if (priced !== null) found.push(priced);
  }
  return found;
}

const isRough = ({ kind }: UsableIndex, { hasStableIds }: UseInput): boolean =>
  ROUGH_KINDS.has(kind.name) || (hasStableIds && ROUGH_KINDS_OF_STABLE_IDS.has(kind.name));

async function priceLookup(
  ask: Ask,
  index: UsableIndex,
  queries: readonly IndexQuery[],
  input: UseInput,
): Promise<PricedLookup | null> {
  const segments: AskedSegment[] = [];
  const covered = new Set<number>();
  let rows = 0;
  let cost = 0;
  const areRough = isRough(index, input);
  let isExact = !areRough;
  for (const segment of index.segments) {
    const open = await input.open(index, segment);
    const answered = open && answeredQueries(open, queries);
    // Its fragments are scanned, or answered by another index.
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

/** The queries as an index answers them; null where it does not. */
function answeredQueries(
  open: OpenIndex,
  queries: readonly IndexQuery[],
): Pick<AskedSegment, "queries" | "isRough"> | null {
  if (queries.every((query) => open.answers(query))) return { queries, isRough: false };
  const others = queries.map((query): IndexQuery | null => {
    if (open.answers(query)) return query;
    // What a text begins with is somewhere in it.
    const within: IndexQuery | null =
      query.kind === "startsWith" ? { kind: "contains", text: query.prefix } : null;
    return within !== null && open.answers(within) ? within : null;
  });
  return others.includes(null) ? null : { queries: others as IndexQuery[], isRough: true };
}

/** Fragments that the same lookups tell of. */
function fragmentGroups(
  fragments: readonly DataFragment[],
  options: ReadonlyMap<Ask, readonly PricedLookup[]>,
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

// ------------------------------------------------------------------------------------------------- prices

/** A group of fragments, of which one stands for all. */
interface Scope {
  readonly options: ReadonlyMap<Ask, readonly PricedLookup[]>;
  readonly fragmentId: number;
  readonly rowCount: number;
  /** The part of an answer that is expected in the group. */
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
      return priceAsk(predicate, scope);
    case "or": {
      const parts = predicate.parts.map((part) => price(part, scope));
      const known = parts.filter((part) => part !== null);
      if (known.length < parts.length) return null;
      return {
        plan: { kind: "or", parts: known.map(({ plan }) => plan) },
        rows: Math.min(
          scope.rowCount,
          known.reduce((sum, { rows }) => sum + rows, 0),
        ),
        cost: known.reduce((sum, { cost }) => sum + cost, 0),
        isExact: known.every(({ isExact }) => isExact),
      };
    }
    case "and":
      return priceAnd(predicate.parts, scope);
  }
}

function priceAsk(ask: Ask, { options, fragmentId, part }: Scope): Priced | null {
  let best: Priced | null = null;
  for (const option of options.get(ask) ?? []) {
    if (option.covered !== null && !option.covered.has(fragmentId)) continue;
    const share = part(option.coveredRows);
    const own: Priced = {
      plan: { kind: "lookup", lookup: option.lookup },
      rows: option.rows * share,
      cost: option.cost * Math.min(1, share),
      isExact: option.isExact,
    };
    if (best === null || priceOf(own) < priceOf(best)) best = own;
  }
  return best;
}

/** With what it costs to look at the rows again. */
const priceOf = ({ cost, rows, isExact }: Priced): number => cost + (isExact ? 0 : rows * TAKEN_ROW);

/** Asks for the part with the fewest rows, and for others where that is cheaper than to look at these rows again. */
function priceAnd(parts: readonly Predicate[], scope: Scope): Priced | null {
  const known = parts
    .map((part) => price(part, scope))
    .filter((part) => part !== null)
    .sort((a, b) => a.rows - b.rows || priceOf(a) - priceOf(b));
  if (known.length === 0) return null;
  const taken = [known[0]];
  let { rows, cost } = known[0];
  const isWhole = known.length === parts.length;
  let isExact = known[0].isExact;
  for (const next of known.slice(1)) {
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
  return {
    plan: isAll ? plan : { kind: "rough", part: plan },
    rows,
    cost,
    isExact: isExact && isAll,
  };
}
