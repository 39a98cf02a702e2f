/** Picks one of several operands for each row: COALESCE, NULLIF, GREATEST, LEAST, and lists of operands. */

import type { Column } from "../../arrow/columns/column.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { takeBounded } from "../values/boundedTake.js";
import { isThere, type Operand, type ValueKernel } from "../values/operands.js";
import { nullsOf } from "../values/scalars.js";
import type { ValueType } from "../values/types.js";
import { RowOrder } from "./rowOrder.js";

/** Returns the values that `choose` picks. It returns the number of an operand, or -1 for null. */
function* pick(
  operands: readonly Operand[],
  type: ValueType,
  length: number,
  choose: (row: number) => number | Steps<number>,
): Steps<Column> {
  const sourceIndices = Float64Array.from({ length: operands.length }, () => 0);
  let base = 0;
  for (const [index, { column }] of operands.entries()) {
    sourceIndices[index] = base;
    base += column.length;
  }
  const indices = new Uint32Array(length);
  const validBits = new Uint8Array((length + 7) >>> 3);
  const pace = new Pace(STEP_CHOICES);
  for (let row = 0; row < length; row++) {
    if (pace.isStep(operands.length)) yield;
    const choice = choose(row);
    const chosen = typeof choice === "number" ? choice : yield* choice;
    if (chosen < 0) continue;
    indices[row] = sourceIndices[chosen] + row * operands[chosen].step;
    validBits[row >>> 3] |= 1 << (row & 7);
  }
  const all = yield* concatInSteps(operands.map(({ column }) => column));
  return yield* takeWhere(all, indices, validBits, type);
}

const STEP_CHOICES = 2 ** 14;
/** Maximum number of bytes of the values of a batch. Offsets have 32 bits. */
const MAX_TAKEN = 2 ** 31 - 1;

/** Returns the values at `indices`, and nulls in the rows whose valid bit is not set. */
export function* takeWhere(
  column: Column,
  indices: Uint32Array,
  validBits: Uint8Array,
  type: ValueType,
): Steps<Column> {
  const { length } = indices;
  if (column.length === 0) return nullsOf(type, length);
  const values = yield* takeBounded(column, indices, MAX_TAKEN);
  const { validity } = values;
  if (values.kind === "null") return values;
  if (validity === null) return { ...values, validity: validityFrom(validBits, 0, length) };
  const both = validBits.slice();
  for (let row = 0; row < length; row++) if (!isValid(validity, row)) both[row >>> 3] &= ~(1 << (row & 7));
  return { ...values, validity: validityFrom(both, 0, length) };
}

/** The first operand that is not null. */
export const coalesce =
  (type: ValueType): ValueKernel =>
  (operands, length) =>
    pick(operands, type, length, (row) => {
      for (let index = 0; index < operands.length; index++) if (isThere(operands[index], row)) return index;
      return -1;
    });

/** The first operand, or null if it equals the second. */
export const nullIf =
  (type: ValueType): ValueKernel =>
  ([first, second], length) => {
    const rows = new RowOrder(first.column, second.column, type);
    return pick([first], type, length, (row) => {
      if (!isThere(first, row) || !isThere(second, row)) return 0;
      const order = orderOf(rows, row * first.step, row * second.step);
      return typeof order === "number" ? unlessEqual(order) : thenUnlessEqual(order);
    });
  };

const unlessEqual = (order: number): number => (order === 0 ? -1 : 0);

function* thenUnlessEqual(order: Steps<number>): Steps<number> {
  return unlessEqual(yield* order);
}

/** Orders two values. Long values are compared in several steps. */
function orderOf(rows: RowOrder, left: number, right: number): number | Steps<number> {
  return rows.isSmall || rows.work(left, right) <= LONG_WORK
    ? rows.compare(left, right)
    : longOrder(rows, left, right);
}

function* longOrder(rows: RowOrder, left: number, right: number): Steps<number> {
  if (rows.isLong(left, right)) return yield* rows.inSteps(left, right);
  yield;
  return rows.compare(left, right);
}

const LONG_WORK = 2 ** 10;

/** The greatest operand, or the least, without nulls. */
export const extreme =
  (type: ValueType, sign: 1 | -1): ValueKernel =>
  (operands, length) => {
    // Keyed by the indexes of both operands. Orders are made when needed: few of all pairs are compared.
    const orders = new Map<number, RowOrder>();
    const ordersOf = (left: number, right: number): RowOrder => {
      const key = left * operands.length + right;
      let rows = orders.get(key);
      if (rows === undefined) {
        rows = new RowOrder(operands[left].column, operands[right].column, type);
        orders.set(key, rows);
      }
      return rows;
    };
    /** Returns the best operand of a row: the best one before `first`, or a better one from `first` on. */
    const bestOf = (row: number, first: number, before: number): number | Steps<number> => {
      let best = before;
      for (let index = first; index < operands.length; index++) {
        const operand = operands[index];
        if (!isThere(operand, row)) continue;
        if (best < 0) {
          best = index;
          continue;
        }
        const order = orderOf(ordersOf(index, best), row * operand.step, row * operands[best].step);
        if (typeof order !== "number") return bestBehind(row, index, best, order);
        if (order * sign > 0) best = index;
      }
      return best;
    };
    function* bestBehind(row: number, index: number, best: number, order: Steps<number>): Steps<number> {
      const next = bestOf(row, index + 1, (yield* order) * sign > 0 ? index : best);
      return typeof next === "number" ? next : yield* next;
    }
    return pick(operands, type, length, (row) => bestOf(row, 0, -1));
  };

export const listKernel = (item: ValueType): ValueKernel =>
  function* run(operands, length) {
    const count = operands.length;
    const offsets = new Int32Array(length + 1);
    for (let row = 1; row <= length; row++) offsets[row] = row * count;
    const indices = new Uint32Array(length * count);
    let base = 0;
    for (const [index, { column, step }] of operands.entries()) {
      for (let row = 0; row < length; row++) indices[row * count + index] = base + row * step;
      base += column.length;
    }
    const items =
      count === 0
        ? nullsOf(item, 0)
        : yield* takeBounded(yield* concatInSteps(operands.map(({ column }) => column)), indices, MAX_TAKEN);
    return { kind: "list", length, validity: null, offsets, items };
  };
