/**
 * Lists of numbers as vectors: distances, products, and vectors of length one. The result is null if a number
 * is missing, or if a vector of length 0 would need a direction.
 */

import type { Validity } from "../../arrow/columns/column.js";
import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { fixedColumn } from "../kernels/arithmetic.js";
import { checkMade } from "../values/boundedTake.js";
import { numbersOf, type Operand, type ValueKernel, without } from "../values/operands.js";
import { listLane } from "../values/scalars.js";
import { FLOAT64, isNumeric, listTypeOf, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, listNames, taking } from "./form.js";

const VECTOR = listTypeOf(FLOAT64);

const isVector = (type: ValueType): boolean =>
  type.kind === "list" && (isNumeric(type.item) || type.item.kind === "null");

const STEP_NUMBERS = 2 ** 14;

class Vectors {
  readonly numbers: Float64Array;
  readonly #offsets: Int32Array | Float64Array;
  readonly #step: number;
  readonly #validity: Validity | null;
  readonly #isNull: boolean;
  readonly mayLackNumbers: boolean;

  constructor(operand: Operand) {
    const { items, offsets } = listLane(operand);
    this.#isNull = items.kind !== "fixed";
    this.numbers =
      items.kind === "fixed"
        ? (numbersOf({ column: items, step: 1 }, FLOAT64) as Float64Array)
        : new Float64Array(0);
    this.#offsets = offsets;
    this.#step = operand.step;
    this.#validity = items.validity;
    this.mayLackNumbers = this.#isNull || items.validity !== null;
  }

  start(row: number): number {
    return this.#offsets[row * this.#step];
  }

  size(row: number): number {
    return this.#offsets[row * this.#step + 1] - this.start(row);
  }

  *lacksNumber(row: number): Steps<boolean> {
    const start = this.start(row);
    const end = start + this.size(row);
    if (this.#isNull) return end > start;
    for (let item = start, left = STEP_NUMBERS; item < end; item++) {
      if (!isValid(this.#validity, item)) return true;
      if (--left > 0) continue;
      left = STEP_NUMBERS;
      yield;
    }
    return false;
  }
}

/** Adds a term to a sum for each pair of numbers. */
type Sum = (
  sum: number,
  left: Float64Array,
  leftStart: number,
  right: Float64Array,
  rightStart: number,
  count: number,
) => number;

const addProducts: Sum = (first, left, leftStart, right, rightStart, count) => {
  let sum = first;
  for (let index = 0; index < count; index++) sum += left[leftStart + index] * right[rightStart + index];
  return sum;
};

const addSquaredDifferences: Sum = (first, left, leftStart, right, rightStart, count) => {
  let sum = first;
  for (let index = 0; index < count; index++) {
    const difference = left[leftStart + index] - right[rightStart + index];
    sum += difference * difference;
  }
  return sum;
};

/** A sum over the numbers of two vectors, which may be the same. */
interface SumOf {
  readonly add: Sum;
  readonly vectors: readonly [0 | 1, 0 | 1];
}

interface Measure {
  readonly sums: readonly SumOf[];
  /** Returns the measure of two vectors from their sums and their number of values. */
  finish(sums: Float64Array, count: number): number | null;
}

/** Computes a number for each pair of vectors of one length. */
const measuredBy = (name: string, { sums, finish }: Measure): FunctionDefinition =>
  taking("vv", (types) => {
    if (!types.some(isVector) || !types.every((type) => isVector(type) || type.kind === "null")) {
      return "expected lists of numbers";
    }
    const kernel: ValueKernel = function* run(operands, length, valid) {
      const pace = new Pace(STEP_NUMBERS);
      const pair = operands.map((operand) => new Vectors(operand));
      const [left, right] = pair;
      const results = new Float64Array(length);
      const missing = new Uint8Array((length + 7) >>> 3);
      const totals = new Float64Array(sums.length);
      for (let row = 0; row < length; row++) {
        if (pace.isStep(8)) yield;
        if (!isValid(valid, row)) continue;
        let isMissing = left.mayLackNumbers && (yield* left.lacksNumber(row));
        isMissing ||= right.mayLackNumbers && (yield* right.lacksNumber(row));
        if (!isMissing) {
          const count = left.size(row);
          if (count !== right.size(row)) {
            throw new InvalidInputError(`${name}: the lists have ${count} and ${right.size(row)} items`);
          }
          totals.fill(0);
          for (let first = 0; first < count; first += STEP_NUMBERS) {
            const numbers = Math.min(STEP_NUMBERS, count - first);
            for (let index = 0; index < sums.length; index++) {
              const { add, vectors } = sums[index];
              const [one, two] = [pair[vectors[0]], pair[vectors[1]]];
              totals[index] = add(
                totals[index],
                one.numbers,
                one.start(row) + first,
                two.numbers,
                two.start(row) + first,
                numbers,
              );
            }
            if (pace.isStep(sums.length * numbers)) yield;
          }
          const result = finish(totals, count);
          if (result === null) isMissing = true;
          else results[row] = result;
        }
        if (isMissing) missing[row >>> 3] |= 1 << (row & 7);
      }
      return fixedColumn(results, length, without(valid, missing, length));
    };
    return { operands: [VECTOR, VECTOR], type: FLOAT64, kernel };
  });

const product: Measure = {
  sums: [{ add: addProducts, vectors: [0, 1] }],
  finish: (sums) => sums[0],
};

const distance: Measure = {
  sums: [{ add: addSquaredDifferences, vectors: [0, 1] }],
  // In the reference, the sum of no squares is negative zero.
  finish: (sums, count) => (count === 0 ? -0 : Math.sqrt(sums[0])),
};

const cosineDistance: Measure = {
  sums: [
    { add: addProducts, vectors: [0, 0] },
    { add: addProducts, vectors: [1, 1] },
    { add: addProducts, vectors: [0, 1] },
  ],
  finish: ([left, right, both]) => {
    const lengths = Math.sqrt(left) * Math.sqrt(right);
    return lengths === 0 ? null : 1 - both / lengths;
  },
};

/** ARRAY_NORMALIZE(list): null if all numbers are zero; an empty list stays empty. */
const normalize = taking("v", ([type]) => {
  if (!isVector(type) && type.kind !== "null") return "expected a list of numbers";
  const kernel: ValueKernel = function* run([lists], length, valid) {
    const pace = new Pace(STEP_NUMBERS);
    const vectors = new Vectors(lists);
    const { numbers } = vectors;
    const offsets = new Int32Array(length + 1);
    const validBits = new Uint8Array((length + 7) >>> 3);
    let max = 0;
    for (let row = 0; row < length; row++) if (isValid(valid, row)) max += vectors.size(row);
    checkMade(8 * max);
    const values = new Float64Array(max);
    let end = 0;
    for (let row = 0; row < length; row++) {
      if (pace.isStep(8)) yield;
      if (isValid(valid, row)) {
        if (!vectors.mayLackNumbers || !(yield* vectors.lacksNumber(row))) {
          const start = vectors.start(row);
          const stop = start + vectors.size(row);
          let sum = 0;
          for (let first = start; first < stop; first += STEP_NUMBERS) {
            const count = Math.min(STEP_NUMBERS, stop - first);
            sum = addProducts(sum, numbers, first, numbers, first, count);
            if (pace.isStep(count)) yield;
          }
          const norm = Math.sqrt(sum);
          if (norm !== 0 || start === stop) {
            validBits[row >>> 3] |= 1 << (row & 7);
            for (let first = start; first < stop; first += STEP_NUMBERS) {
              const last = Math.min(stop, first + STEP_NUMBERS);
              for (let item = first; item < last; item++) values[end++] = numbers[item] / norm;
              if (pace.isStep(last - first)) yield;
            }
          }
        }
      }
      offsets[row + 1] = end;
    }
    const items = fixedColumn(values.subarray(0, end), end, null);
    return { kind: "list", length, validity: validityFrom(validBits, 0, length), offsets, items };
  };
  return { operands: [VECTOR], type: VECTOR, kernel };
});

export const VECTOR_FUNCTIONS: Functions = {
  array_distance: measuredBy("array_distance", distance),
  list_distance: measuredBy("list_distance", distance),
  inner_product: measuredBy("inner_product", product),
  dot_product: measuredBy("dot_product", product),
  cosine_distance: measuredBy("cosine_distance", cosineDistance),
  ...listNames(normalize, "normalize"),
};
