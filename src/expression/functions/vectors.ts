/**
 * Lists of numbers as vectors: distances, products, and vectors of length one. Null where a number is missing, and where
 * a direction is asked of a vector that has none.
 */

import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { fixedColumn } from "../kernels/arithmetic.js";
import { checkMade } from "../values/boundedTake.js";
import { type Operand, type ValueKernel, without } from "../values/operands.js";
import { listLane } from "../values/scalars.js";
import { FLOAT64, isNumeric, listTypeOf, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, operandCount } from "./form.js";

const VECTOR = listTypeOf(FLOAT64);

const isVector = (type: ValueType): boolean =>
  type.kind === "list" && (isNumeric(type.item) || type.item.kind === "null");

/** Numbers that are looked at from one step to the next. */
const STEP_NUMBERS = 2 ** 14;

/** The numbers of each row; null for a row with one that is missing. */
function vectorsOf(operand: Operand, pace: Pace): (row: number) => Steps<Float64Array | null> {
  const { items, offsets } = listLane(operand);
  const { step } = operand;
  return function* of(row) {
    const [start, end] = [offsets[row * step], offsets[row * step + 1]];
    if (items.kind !== "fixed") return end > start ? null : new Float64Array(0);
    for (let at = start; at < end && items.validity !== null; at++) {
      if (!isValid(items.validity, at)) return null;
      if (pace.isStep()) yield;
    }
    if (pace.isStep(1 + ((end - start) >>> 3))) yield;
    return new Float64Array(items.values.slice(8 * start, 8 * end).buffer);
  };
}

/** Adds up what each two numbers give. */
function* sumOf(length: number, pace: Pace, first: number, add: (at: number) => number): Steps<number> {
  let sum = first;
  for (let from = 0; from < length; from += STEP_NUMBERS) {
    const end = Math.min(length, from + STEP_NUMBERS);
    for (let at = from; at < end; at++) sum += add(at);
    if (pace.isStep(end - from)) yield;
  }
  return sum;
}

type Measure = (one: Float64Array, other: Float64Array, pace: Pace) => Steps<number | null>;

/** A number for each two vectors of one length. */
const measuredBy =
  (name: string, measure: Measure): FunctionDefinition =>
  (types) => {
    if (types.length !== 2) return operandCount(2);
    if (!types.some(isVector) || !types.every((type) => isVector(type) || type.kind === "null")) {
      return "lists of numbers are expected";
    }
    const kernel: ValueKernel = function* run([ones, others], length, valid) {
      const pace = new Pace(STEP_NUMBERS);
      const oneAt = vectorsOf(ones, pace);
      const otherAt = vectorsOf(others, pace);
      const numbers = new Float64Array(length);
      const missing = new Uint8Array((length + 7) >>> 3);
      for (let row = 0; row < length; row++) {
        if (pace.isStep(8)) yield;
        if (!isValid(valid, row)) continue;
        const [one, other] = [yield* oneAt(row), yield* otherAt(row)];
        let result: number | null = null;
        if (one !== null && other !== null) {
          if (one.length !== other.length) {
            throw new InvalidInputError(`${name}: lists of ${one.length} and of ${other.length} items`);
          }
          result = yield* measure(one, other, pace);
        }
        if (result === null) missing[row >>> 3] |= 1 << (row & 7);
        else numbers[row] = result;
      }
      return fixedColumn(numbers, length, without(valid, missing, length));
    };
    return { operands: [VECTOR, VECTOR], type: FLOAT64, kernel };
  };

const product = (one: Float64Array, other: Float64Array, pace: Pace): Steps<number> =>
  sumOf(one.length, pace, 0, (at) => one[at] * other[at]);

function* distance(one: Float64Array, other: Float64Array, pace: Pace): Steps<number> {
  // The sum of no squares has a sign in the reference.
  const first = one.length === 0 ? -0 : 0;
  return Math.sqrt(yield* sumOf(one.length, pace, first, (at) => (one[at] - other[at]) ** 2));
}

function* cosineDistance(one: Float64Array, other: Float64Array, pace: Pace): Steps<number | null> {
  const lengths = Math.sqrt(yield* product(one, one, pace)) * Math.sqrt(yield* product(other, other, pace));
  return lengths === 0 ? null : 1 - (yield* product(one, other, pace)) / lengths;
}

/** ARRAY_NORMALIZE(list): null where all numbers are zero; no numbers stay none. */
const normalize: FunctionDefinition = (types) => {
  if (types.length !== 1) return operandCount(1);
  if (!isVector(types[0]) && types[0].kind !== "null") return "a list of numbers is expected";
  const kernel: ValueKernel = function* run([lists], length, valid) {
    const pace = new Pace(STEP_NUMBERS);
    const vectorAt = vectorsOf(lists, pace);
    const { offsets: starts } = listLane(lists);
    const offsets = new Int32Array(length + 1);
    const known = new Uint8Array((length + 7) >>> 3);
    let most = 0;
    for (let row = 0; row < length; row++) {
      if (isValid(valid, row)) most += starts[row * lists.step + 1] - starts[row * lists.step];
    }
    checkMade(8 * most);
    const made = new Float64Array(most);
    let end = 0;
    for (let row = 0; row < length; row++) {
      if (pace.isStep(8)) yield;
      const vector = isValid(valid, row) ? yield* vectorAt(row) : null;
      const norm = vector === null ? 0 : Math.sqrt(yield* product(vector, vector, pace));
      if (vector !== null && (norm !== 0 || vector.length === 0)) {
        known[row >>> 3] |= 1 << (row & 7);
        for (let from = 0; from < vector.length; from += STEP_NUMBERS) {
          const stop = Math.min(vector.length, from + STEP_NUMBERS);
          for (let at = from; at < stop; at++) made[end++] = vector[at] / norm;
          if (pace.isStep(stop - from)) yield;
        }
      }
      offsets[row + 1] = end;
    }
    const items = fixedColumn(made.subarray(0, end), end, null);
    return { kind: "list", length, validity: validityFrom(known, 0, length), offsets, items };
  };
  return { operands: [VECTOR], type: VECTOR, kernel };
};

export const VECTOR_FUNCTIONS: Functions = {
  array_distance: measuredBy("array_distance", distance),
  list_distance: measuredBy("list_distance", distance),
  inner_product: measuredBy("inner_product", product),
  dot_product: measuredBy("dot_product", product),
  cosine_distance: measuredBy("cosine_distance", cosineDistance),
  array_normalize: normalize,
  list_normalize: normalize,
};
