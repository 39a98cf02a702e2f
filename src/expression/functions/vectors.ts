/**
 * Lists of numbers as vectors: distances, products, and vectors of length one. Null where a number is missing, and where
 * a direction is asked of a vector that has none.
 */

import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { InvalidInputError } from "../../errors.js";
import { fixedColumn, perRow } from "../kernels/arithmetic.js";
import type { Operand, ValueKernel } from "../values/operands.js";
import { listLane } from "../values/scalars.js";
import { FLOAT64, isNumeric, listTypeOf, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, operandCount } from "./form.js";

const VECTOR = listTypeOf(FLOAT64);

const isVector = (type: ValueType): boolean =>
  type.kind === "list" && (isNumeric(type.item) || type.item.kind === "null");

/** The numbers of each row; null for a row with one that is missing. */
function vectorsOf(operand: Operand): (row: number) => Float64Array | null {
  const { items, offsets } = listLane(operand);
  const { step } = operand;
  const numbers =
    items.kind === "fixed"
      ? new Float64Array(items.values.slice(0, 8 * items.length).buffer)
      : new Float64Array(items.length);
  const validity = items.kind === "null" ? null : items.validity;
  return (row) => {
    const [start, end] = [offsets[row * step], offsets[row * step + 1]];
    if (items.kind === "null" && end > start) return null;
    for (let at = start; at < end; at++) if (!isValid(validity, at)) return null;
    return numbers.subarray(start, end);
  };
}

/** A number for each two vectors of one length. */
const measured =
  (name: string, measure: (one: Float64Array, other: Float64Array) => number | null): FunctionDefinition =>
  (types) => {
    if (types.length !== 2) return operandCount(2);
    if (!types.some(isVector) || !types.every((type) => isVector(type) || type.kind === "null")) {
      return "lists of numbers are expected";
    }
    const kernel: ValueKernel = ([ones, others], length, valid) => {
      const oneAt = vectorsOf(ones);
      const otherAt = vectorsOf(others);
      return perRow(FLOAT64, length, valid, (row) => {
        const [one, other] = [oneAt(row), otherAt(row)];
        if (one === null || other === null) return null;
        if (one.length !== other.length) {
          throw new InvalidInputError(`${name}: lists of ${one.length} and of ${other.length} items`);
        }
        return measure(one, other);
      });
    };
    return { operands: [VECTOR, VECTOR], type: FLOAT64, kernel };
  };

function product(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += one[at] * other[at];
  return sum;
}

function distance(one: Float64Array, other: Float64Array): number {
  // The sum of no squares has a sign in the reference.
  let sum = one.length === 0 ? -0 : 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] - other[at]) ** 2;
  return Math.sqrt(sum);
}

function cosineDistance(one: Float64Array, other: Float64Array): number | null {
  const lengths = Math.sqrt(product(one, one)) * Math.sqrt(product(other, other));
  return lengths === 0 ? null : 1 - product(one, other) / lengths;
}

/** ARRAY_NORMALIZE(list): null where all numbers are zero; no numbers stay none. */
const normalize: FunctionDefinition = (types) => {
  if (types.length !== 1) return operandCount(1);
  if (!isVector(types[0]) && types[0].kind !== "null") return "a list of numbers is expected";
  const kernel: ValueKernel = ([lists], length, valid) => {
    const vectorAt = vectorsOf(lists);
    const offsets = new Int32Array(length + 1);
    const known = new Uint8Array((length + 7) >>> 3);
    const made: number[] = [];
    for (let row = 0; row < length; row++) {
      const vector = isValid(valid, row) ? vectorAt(row) : null;
      const norm = vector === null ? 0 : Math.sqrt(product(vector, vector));
      if (vector !== null && (norm !== 0 || vector.length === 0)) {
        known[row >>> 3] |= 1 << (row & 7);
        for (const value of vector) made.push(value / norm);
      }
      offsets[row + 1] = made.length;
    }
    const items = fixedColumn(Float64Array.from(made), made.length, null);
    return { kind: "list", length, validity: validityFrom(known, 0, length), offsets, items };
  };
  return { operands: [VECTOR], type: VECTOR, kernel };
};

export const VECTOR_FUNCTIONS: Functions = {
  array_distance: measured("array_distance", distance),
  list_distance: measured("list_distance", distance),
  inner_product: measured("inner_product", product),
  dot_product: measured("dot_product", product),
  cosine_distance: measured("cosine_distance", cosineDistance),
  array_normalize: normalize,
  list_normalize: normalize,
};
