/** Picks for each row the value of one of several operands: COALESCE, NULLIF, GREATEST, LEAST, and lists of operands. */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import type { Operand, ValueKernel } from "../values/operands.js";
import { nullsOf } from "../values/scalars.js";
import type { ValueType } from "../values/types.js";
import { rowComparison } from "./compare.js";

/** The values of `type` that `choose` picks; it gives the number of an operand, or -1 for null. */
export function pick(
  operands: readonly Operand[],
  type: ValueType,
  length: number,
  choose: (row: number) => number,
): Column {
  const places = Float64Array.from({ length: operands.length }, () => 0);
  let base = 0;
  for (const [index, { column }] of operands.entries()) {
    places[index] = base;
    base += column.length;
  }
  const indices = new Uint32Array(length);
  const known = new Uint8Array((length + 7) >>> 3);
  for (let row = 0; row < length; row++) {
    const chosen = choose(row);
    if (chosen < 0) continue;
    indices[row] = places[chosen] + row * operands[chosen].step;
    known[row >>> 3] |= 1 << (row & 7);
  }
  return takeWhere(concatColumns(operands.map(({ column }) => column)), indices, known, type);
}

/** The values at `indices` of the rows whose bit in `known` is set; null for all others. */
export function takeWhere(column: Column, indices: Uint32Array, known: Uint8Array, type: ValueType): Column {
  const { length } = indices;
  if (column.length === 0) return nullsOf(type, length);
  const taken = takeColumn(column, indices);
  const { validity } = taken;
  if (taken.kind === "null") return taken;
  if (validity === null) return { ...taken, validity: validityFrom(known, 0, length) };
  const both = known.slice();
  for (let row = 0; row < length; row++) if (!isValid(validity, row)) both[row >>> 3] &= ~(1 << (row & 7));
  return { ...taken, validity: validityFrom(both, 0, length) };
}

/** The first operand that is not null. */
export const coalesce =
  (type: ValueType): ValueKernel =>
  (operands, length) =>
    pick(operands, type, length, (row) =>
      operands.findIndex(
        ({ column, step }) => column.kind !== "null" && isValid(column.validity, row * step),
      ),
    );

/** The first operand, or null where it equals the second. */
export const nullIf =
  (type: ValueType): ValueKernel =>
  ([first, second], length) => {
    const compare = rowComparison(first.column, second.column, type);
    const isThere = (operand: Operand, row: number) =>
      operand.column.kind !== "null" && isValid(operand.column.validity, row * operand.step);
    return pick([first], type, length, (row) =>
      isThere(first, row) && isThere(second, row) && compare(row * first.step, row * second.step) === 0
        ? -1
        : 0,
    );
  };

/** The greatest operand, or the least; nulls are passed over. */
export const extreme =
  (type: ValueType, sign: 1 | -1): ValueKernel =>
  (operands, length) =>
    pick(operands, type, length, (row) => {
      let best = -1;
      for (const [index, { column, step }] of operands.entries()) {
        if (column.kind === "null" || !isValid(column.validity, row * step)) continue;
        if (best < 0) {
          best = index;
          continue;
        }
        const chosen = operands[best];
        const order = rowComparison(column, chosen.column, type)(row * step, row * chosen.step);
        if (order * sign > 0) best = index;
      }
      return best;
    });

/** A list of the operands, row by row. */
export const listKernel =
  (item: ValueType): ValueKernel =>
  (operands, length) => {
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
        : takeColumn(concatColumns(operands.map(({ column }) => column)), indices);
    return { kind: "list", length, validity: null, offsets, items };
  };
