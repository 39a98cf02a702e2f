/** Computes an aggregate function of the rows of many groups at once. */

import type { Column } from "../../arrow/columns/column.js";
import { isSet } from "../../arrow/columns/validity.js";
import type { Steps } from "../../async/eventLoop.js";
import { validWhere } from "../../expression/values/operands.js";

/** Rows of a batch. */
export interface GroupedRows {
  /** Group of each row, below the number of groups. */
  readonly groups: Uint32Array;
  readonly rowCount: number;
  /** True if there is only group 0. */
  readonly isOne?: boolean;
}

export interface Accumulator {
  /** Bytes of the states of all groups. */
  readonly byteLength: number;
  /** Makes room for the states of groups. */
  reserve(groupCount: number): Steps<void>;
  /** Adds rows. @param operand values of the rows, without dictionaries; null for `count(*)` */
  add(operand: Column | null, rows: GroupedRows): Steps<void>;
  /** Called once after the last row. */
  finish?(): Steps<void>;
  /** Returns the results of groups `start` to `end`, exclusive. */
  results(start: number, end: number): Steps<Column>;
  /** Lets go of everything outside memory. */
  discard?(): Promise<void>;
}

/** Bytes that one step copies. */
const STEP_BYTES = 2 ** 22;

type Numbers = Uint8Array | Uint32Array | Int32Array | Float64Array;

/** Returns an array with room for groups: the same one, or a larger one that begins with its values. */
export function* roomFor<Values extends Numbers>(values: Values, groupCount: number): Steps<Values> {
  if (groupCount <= values.length) return values;
  const Type = values.constructor as new (length: number) => Values;
  const larger = new Type(Math.max(groupCount, Math.ceil(1.5 * values.length), 64));
  const step = STEP_BYTES / values.BYTES_PER_ELEMENT;
  for (let start = 0; start < values.length; start += step) {
    larger.set(values.subarray(start, start + step), start);
    if (start + step < values.length) yield;
  }
  return larger;
}

/** Returns 1 for each row that is null; null if there are none. */
export function nullsOfRows({ kind, validity }: Column, rowCount: number): Uint8Array | null {
  if (kind === "null") return new Uint8Array(rowCount).fill(1);
  if (validity === null) return null;
  const nulls = new Uint8Array(rowCount);
  for (let row = 0; row < rowCount; row++) if (!isSet(validity, row)) nulls[row] = 1;
  return nulls;
}

/** Returns the validity of results. @param seen 0 for groups whose result is null */
export const resultValidity = (seen: ArrayLike<number>, start: number, end: number) =>
  validWhere(end - start, (index) => seen[start + index] > 0);
