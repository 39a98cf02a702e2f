/** Values of a query in the form that a lookup needs: sorted points, or a range. */

import type { Column } from "../arrow/columns/column.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import type { LogicalType } from "../arrow/types/type.js";
import { InternalError } from "../errors.js";
import type { IndexBound, IndexQuery } from "./kind.js";
import {
  compareValues,
  firstAfter,
  firstFrom,
  type OrderedValues,
  orderedValues,
  orderOf,
} from "./valueOrder.js";

export type QueryValues =
  /** Values ascending and distinct. */
  | { readonly kind: "points"; readonly values: OrderedValues }
  | { readonly kind: "range"; readonly lower: QueryBound | null; readonly upper: QueryBound | null };

export interface QueryBound {
  /** A single value. */
  readonly value: OrderedValues;
  readonly isInclusive: boolean;
}

/** True if an index that orders values of this type can answer the query. */
export function isOrderQuery(type: LogicalType, { kind }: IndexQuery): boolean {
  if (kind === "startsWith") return type.kind === "string";
  return kind === "in" || kind === "range" || kind === "isNull";
}

export function queryValues(type: LogicalType, query: IndexQuery): QueryValues {
  switch (query.kind) {
    case "in":
    case "hasAny":
    case "hasAll":
      return sortedPoints(type, query.values);
    case "range":
      return { kind: "range", lower: queryBound(type, query.lower), upper: queryBound(type, query.upper) };
    case "startsWith":
      return prefixRange(query.prefix);
    default:
      throw new InternalError(`a query of kind ${query.kind} has no values`);
  }
}

function queryBound(type: LogicalType, bound: IndexBound | null): QueryBound | null {
  return bound && { value: orderedValues(type, bound.value), isInclusive: bound.isInclusive };
}

function sortedPoints(type: LogicalType, column: Column): QueryValues {
  const ordered = orderedValues(type, column);
  const order = orderOf(ordered);
  let distinct = 0;
  for (const row of order) {
    if (distinct > 0 && compareValues(ordered, order[distinct - 1], ordered, row) === 0) continue;
    order[distinct++] = row;
  }
  return { kind: "points", values: orderedValues(type, takeColumn(column, order.slice(0, distinct))) };
}

export const isBelow = (values: OrderedValues, row: number, { value, isInclusive }: QueryBound): boolean =>
  compareValues(values, row, value, 0) < (isInclusive ? 0 : 1);

export const isAbove = (values: OrderedValues, row: number, { value, isInclusive }: QueryBound): boolean =>
  compareValues(values, row, value, 0) > (isInclusive ? 0 : -1);

/** Returns the range of sorted values in `[start, end)` that lie within the bounds. */
export function rangeWithin(
  values: OrderedValues,
  start: number,
  end: number,
  { lower, upper }: Extract<QueryValues, { kind: "range" }>,
): { readonly first: number; readonly last: number } {
  const first =
    lower === null ? start : (lower.isInclusive ? firstFrom : firstAfter)(values, start, end, lower.value, 0);
  const last =
    upper === null ? end : (upper.isInclusive ? firstAfter : firstFrom)(values, first, end, upper.value, 0);
  return { first, last };
}

/** Returns the range of texts with a prefix: from the prefix to the next text of its length. */
function prefixRange(prefix: string): QueryValues {
  if (prefix === "") return { kind: "range", lower: null, upper: null };
  const bytes = new TextEncoder().encode(prefix);
  const lower = { value: bytesValue(bytes), isInclusive: true };
  // UTF-8 has no byte 255.
  const next = bytes.slice();
  next[next.length - 1]++;
  return { kind: "range", lower, upper: { value: bytesValue(next), isInclusive: false } };
}

const bytesValue = (bytes: Uint8Array): OrderedValues => ({
  kind: "bytes",
  length: 1,
  validity: null,
  bytes,
  offsets: Int32Array.of(0, bytes.length),
});
