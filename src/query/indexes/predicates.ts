/**
 * Conditions in the form of index queries. Negations move down to single tests: a row matches where the
 * condition is true, so AND and OR need no nulls. Ranges of one column that AND joins are merged.
 */

import type { Column } from "../../arrow/columns/column.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import type { ColumnReference, ColumnTest, Condition, RangeBound } from "../../expression/evaluate/bound.js";
import { columnOfScalars, scalarOf, scalarReader } from "../../expression/values/scalars.js";
import type { ValueType } from "../../expression/values/types.js";
import type { IndexBound, IndexQuery } from "../../indexes/kind.js";

/** The rows for which a condition is true. */
export type Predicate =
  | { readonly kind: "and" | "or"; readonly parts: readonly Predicate[] }
  | PredicateTest
  /** A subset of the rows of the part. */
  | { readonly kind: "within"; readonly part: Predicate }
  /** All rows, or none. */
  | { readonly kind: "constant"; readonly isAll: boolean }
  | { readonly kind: "unknown" };

/** A test of one column. */
export interface PredicateTest {
  readonly kind: "ask";
  readonly column: ColumnReference;
  readonly test: ColumnTest | { readonly kind: "isNull" };
  /** True to select the rows for which the test is false. */
  readonly isNegated: boolean;
}

const UNKNOWN: Predicate = { kind: "unknown" };

/** Maximum number of tests that indexes answer. */
const MAX_TESTS = 256;

/** Converts a condition. @returns null if it has no test that an index can answer */
export function* predicateOf(condition: Condition): Steps<Predicate | null> {
  const predicate = yield* wanted(condition, false, new Pace());
  const count = testsOf(predicate).length;
  return count === 0 || count > MAX_TESTS ? null : predicate;
}

export function testsOf(predicate: Predicate): PredicateTest[] {
  switch (predicate.kind) {
    case "ask":
      return [predicate];
    case "within":
      return testsOf(predicate.part);
    case "and":
    case "or":
      return predicate.parts.flatMap(testsOf);
    default:
      return [];
  }
}

function* wanted(condition: Condition, isNegated: boolean, pace: Pace): Steps<Predicate> {
  if (pace.isStep()) yield;
  switch (condition.kind) {
    case "and":
    case "or": {
      const parts: Predicate[] = [];
      for (const part of condition.parts) parts.push(yield* wanted(part, isNegated, pace));
      const isAnd = (condition.kind === "and") !== isNegated;
      return isAnd ? conjunction(parts) : disjunction(parts);
    }
    case "not":
      return yield* wanted(condition.part, !isNegated, pace);
    case "only":
      return isNegated ? UNKNOWN : yield* wanted(condition.part, false, pace);
    case "within":
      return isNegated ? UNKNOWN : { kind: "within", part: yield* wanted(condition.part, false, pace) };
    case "isNull":
      return { kind: "ask", column: condition.column, test: { kind: "isNull" }, isNegated };
    case "constant":
      return { kind: "constant", isAll: condition.value === !isNegated };
    case "test": {
      const { column, test } = condition;
      if (test.kind !== "range" || !isNegated) return { kind: "ask", column, test, isNegated };
      const outside: Predicate[] = [];
      if (test.lower !== null) outside.push(rangeOf(column, null, opposite(test.lower)));
      if (test.upper !== null) outside.push(rangeOf(column, opposite(test.upper), null));
      return disjunction(outside);
    }
    case "unknown":
      return UNKNOWN;
  }
}

const rangeOf = (
  column: ColumnReference,
  lower: RangeBound | null,
  upper: RangeBound | null,
): PredicateTest => ({ kind: "ask", column, test: { kind: "range", lower, upper }, isNegated: false });

const opposite = ({ value, isInclusive }: RangeBound): RangeBound => ({ value, isInclusive: !isInclusive });

function disjunction(parts: readonly Predicate[]): Predicate {
  if (parts.some(({ kind }) => kind === "unknown")) return UNKNOWN;
  const flat = parts.flatMap((part) => (part.kind === "or" ? part.parts : [part]));
  return flat.length === 1 ? flat[0] : { kind: "or", parts: flat };
}

function conjunction(parts: readonly Predicate[]): Predicate {
  const flat = parts.flatMap((part) => (part.kind === "and" ? part.parts : [part]));
  const joined: Predicate[] = [];
  /** Open ranges among the joined parts, by column and missing bound. */
  const open = new Map<string, { readonly partIndex: number; readonly range: OpenRange }>();
  for (const part of flat) {
    const range = openRange(part);
    if (range === null) {
      joined.push(part);
      continue;
    }
    const { column, lower, upper } = range;
    const [present, lacking] = lower === null ? ["upper", "lower"] : ["lower", "upper"];
    const counterpart = open.get(`${column.index} lacks ${present}`);
    if (counterpart === undefined) {
      open.set(`${column.index} lacks ${lacking}`, { partIndex: joined.length, range });
      joined.push(part);
      continue;
    }
    open.delete(`${column.index} lacks ${present}`);
    const { partIndex, range: opposing } = counterpart;
    joined[partIndex] = rangeOf(column, lower ?? opposing.lower, upper ?? opposing.upper);
  }
  return joined.length === 1 ? joined[0] : { kind: "and", parts: joined };
}

/** A range with one bound. */
interface OpenRange {
  readonly column: ColumnReference;
  readonly lower: RangeBound | null;
  readonly upper: RangeBound | null;
}

function openRange(part: Predicate): OpenRange | null {
  if (part.kind !== "ask" || part.isNegated || part.test.kind !== "range") return null;
  const { lower, upper } = part.test;
  return (lower === null) === (upper === null) ? null : { column: part.column, lower, upper };
}

/** Returns queries whose union is the rows for which a test is true. */
export function queriesOf({ column, test }: PredicateTest): IndexQuery[] {
  const { type } = column;
  if (type.kind !== "float") return [test];
  if (test.kind === "in") return floatsAmong(type, test.values);
  if (test.kind === "range") return floatRange(type, test.lower, test.upper);
  return [test];
}

// In conditions, both zeros are equal, and so are all NaN, which follow the numbers. Indexes order floats by
// their bits: -NaN, -Infinity … -0, 0 … Infinity, NaN.

const floatOf = (type: ValueType, column: Column): number => Number(scalarOf(column, type));
const bound = (type: ValueType, value: number, isInclusive: boolean): IndexBound => ({
  value: columnOfScalars(type, [value]),
  isInclusive,
});

/** Returns queries for all NaN. */
const notNumbers = (type: ValueType): IndexQuery[] => [
  { kind: "range", lower: bound(type, Number.POSITIVE_INFINITY, false), upper: null },
  { kind: "range", lower: null, upper: bound(type, Number.NEGATIVE_INFINITY, false) },
];

function floatsAmong(type: ValueType, values: Column): IndexQuery[] {
  const read = scalarReader({ column: values, step: 1 }, type);
  const numbers = new Set<number>();
  let hasZero = false;
  let hasNaN = false;
  for (let row = 0; row < values.length; row++) {
    const value = Number(read(row));
    if (Number.isNaN(value)) hasNaN = true;
    else if (value === 0) hasZero = true;
    else numbers.add(value);
  }
  const all = [...numbers, ...(hasZero ? [0, -0] : [])];
  const queries: IndexQuery[] = all.length === 0 ? [] : [{ kind: "in", values: columnOfScalars(type, all) }];
  return hasNaN ? [...queries, ...notNumbers(type)] : queries;
}

function floatRange(type: ValueType, lower: RangeBound | null, upper: RangeBound | null): IndexQuery[] {
  const low = lower === null ? null : floatOf(type, lower.value);
  const high = upper === null ? null : floatOf(type, upper.value);
  const withNaN = high === null || (Number.isNaN(high) && upper?.isInclusive === true);
  const queries: IndexQuery[] = [];
  if (low === null || !Number.isNaN(low)) {
    const from =
      low === null || lower === null
        ? bound(type, Number.NEGATIVE_INFINITY, true)
        : bound(type, low === 0 ? (lower.isInclusive ? -0 : 0) : low, lower.isInclusive);
    const to =
      high === null || upper === null || Number.isNaN(high)
        ? bound(type, Number.POSITIVE_INFINITY, true)
        : bound(type, high === 0 ? (upper.isInclusive ? 0 : -0) : high, upper.isInclusive);
    queries.push({ kind: "range", lower: from, upper: to });
  }
  if (withNaN && (low === null || !Number.isNaN(low) || lower?.isInclusive === true)) {
    queries.push(...notNumbers(type));
  }
  return queries;
}
