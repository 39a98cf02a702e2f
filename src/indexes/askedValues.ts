/** The values that a query asks for, in the form in which they are looked up: sorted points, or a range. */

import type { Column } from "../arrow/columns/column.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import type { LogicalType } from "../arrow/types/type.js";
import { InternalError } from "../errors.js";
import type { IndexBound, IndexQuery } from "./kind.js";
import { compareValues, type OrderedValues, orderedValues, orderOf } from "./valueOrder.js";

export type AskedValues =
  | {
      readonly kind: "points";
      /** Ascending, each once. */
      readonly values: OrderedValues;
      readonly distinct: number;
    }
  | { readonly kind: "range"; readonly lower: AskedBound | null; readonly upper: AskedBound | null };

export interface AskedBound {
  /** One value. */
  readonly value: OrderedValues;
  readonly isInclusive: boolean;
}

/** @param type of the values that are looked up */
export function askedValues(type: LogicalType, query: IndexQuery): AskedValues {
  switch (query.kind) {
    case "in":
    case "hasAny":
    case "hasAll":
      return sortedPoints(type, query.values);
    case "range":
      return { kind: "range", lower: askedBound(type, query.lower), upper: askedBound(type, query.upper) };
    case "startsWith":
      return prefixRange(query.prefix);
    default:
      throw new InternalError(`a query of kind ${query.kind} asks for no values`);
  }
}

function askedBound(type: LogicalType, bound: IndexBound | null): AskedBound | null {
  return bound && { value: orderedValues(type, bound.value), isInclusive: bound.isInclusive };
}

function sortedPoints(type: LogicalType, column: Column): AskedValues {
  const given = orderedValues(type, column);
  const order = orderOf(given);
  let distinct = 0;
  for (const row of order) {
    if (distinct > 0 && compareValues(given, order[distinct - 1], given, row) === 0) continue;
    order[distinct++] = row;
  }
  const values = orderedValues(type, takeColumn(column, order.slice(0, distinct)));
  return { kind: "points", values, distinct };
}

/** Texts with a prefix are those from the prefix itself up to the next text that is as long. */
function prefixRange(prefix: string): AskedValues {
  const bytes = new TextEncoder().encode(prefix);
  const lower = { value: bytesValue(bytes), isInclusive: true };
  if (bytes.length === 0) return { kind: "range", lower: null, upper: null };
  // No byte of UTF-8 is 255.
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
