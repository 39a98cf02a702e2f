/** Computes an aggregate function of the rows of many groups at once. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { isSet, shiftBits } from "../../arrow/columns/validity.js";
import type { Steps } from "../../async/eventLoop.js";
import { positionsOfOnes } from "../../bytes/bits.js";
import { validWhere } from "../../expression/values/operands.js";
import type { RowSelection } from "../filter/rowSelection.js";

/** Rows of a batch. */
export interface GroupedRows {
  /** Group of each row, below the number of groups. */
  readonly groups: Uint32Array;
  readonly rowCount: number;
  /** True if there is only group 0. */
  readonly isOne?: boolean;
  /** Rows of the operand, ascending: one for each entry of `groups`. Null: its first rows. Default: null. */
  readonly rows?: Uint32Array | null;
}

export interface Accumulator {
  /** Bytes of the states of all groups. */
  readonly byteLength: number;
  /** True if {@link add} takes some rows of an operand. Default: false. */
  readonly takesSomeRows?: boolean;
  /** Makes room for the states of groups. */
  reserve(groupCount: number): Steps<void>;
  /** Adds rows. @param operand values of the rows, without dictionaries; null for `count(*)` */
  add(operand: Column | null, rows: GroupedRows): Steps<void>;
  /** Adds the rows to the one group, without a list of them. The operand is not null in any of them. */
  addWhere?(operand: Column, rows: RowSelection): void;
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

/** Leaves out the rows whose operand is null. */
export function presentRows({ kind, validity }: Column, grouped: GroupedRows): GroupedRows {
  const { groups, rowCount, isOne = false, rows = null } = grouped;
  if (kind === "null") return { groups, rowCount: 0, isOne, rows: new Uint32Array(0) };
  if (validity === null) return grouped;
  const present =
    rows === null
      ? positionsOfOnes(shiftBits(validity.bytes, validity.bitOffset, 0, rowCount), rowCount)
      : presentAmong(validity, rows);
  if (present === null) return grouped;
  return {
    groups: isOne ? groups : pickNumbers(groups, present),
    rowCount: present.length,
    isOne,
    rows: rows === null ? present : pickNumbers(rows, present),
  };
}

/** Returns the positions of the rows that are not null. */
function presentAmong(validity: Validity, rows: Uint32Array): Uint32Array {
  const positions = new Uint32Array(rows.length);
  let count = 0;
  for (let index = 0; index < rows.length; index++)
    if (isSet(validity, rows[index])) positions[count++] = index;
  return positions.subarray(0, count);
}

/** Returns the numbers at some positions. */
export function pickNumbers(numbers: Uint32Array, positions: Uint32Array): Uint32Array {
  const picked = new Uint32Array(positions.length);
  for (let index = 0; index < picked.length; index++) picked[index] = numbers[positions[index]];
  return picked;
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
