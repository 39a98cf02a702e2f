/**
 * Compares numbers with one number, in kernels (compareKernel.ts) or, in runtimes without them, in loops
 * here. A loop adds each comparison to its byte as 0 or 1, eight at a time, without a branch that a processor
 * would have to predict.
 */

import { tagOf } from "../../bytes/anyRealm.js";
import type { LaneShape } from "../../bytes/wasm/values.js";
import type { NumberLane } from "../values/operands.js";
import { compareInKernel } from "./compareKernel.js";

/** The relation of a value to the number. */
export type NumberRelation = "less" | "atMost" | "equal";

/**
 * @param number not NaN; a NaN among the values is never related to it
 * @returns a bit for each of the first `length` values
 */
export function compareNumber(
  relation: NumberRelation,
  values: NumberLane,
  number: number,
  length: number,
): Uint8Array {
  const bits = new Uint8Array((length + 7) >>> 3);
  if (isComparedInKernel(relation, values, number, length, bits)) return bits;
  const whole = length & ~7;
  switch (relation) {
    case "less":
      setLess(values, number, whole, bits);
      break;
    case "atMost":
      setAtMost(values, number, whole, bits);
      break;
    case "equal":
      setEqual(values, number, whole, bits);
  }
  for (let row = whole; row < length; row++) {
    const value = values[row];
    const isRelated =
      relation === "less" ? value < number : relation === "atMost" ? value <= number : value === number;
    if (isRelated) bits[row >>> 3] |= 1 << (row & 7);
  }
  return bits;
}

/**
 * Compares values with a number, or that number with them.
 * @param isRight true if the number is on the right
 * @param compare compares the values with the number
 */
export function beside<Bits extends Uint8Array | null>(
  relation: NumberRelation,
  isRight: boolean,
  compare: (turned: NumberRelation) => Bits,
): Bits {
  if (isRight || relation === "equal") return compare(relation);
  // `number < value` is the opposite of `value <= number`. This also holds for NaN, which is greater than all
  // numbers.
  const bits = compare(relation === "less" ? "atMost" : "less");
  if (bits !== null) for (let byte = 0; byte < bits.length; byte++) bits[byte] = ~bits[byte];
  return bits;
}

function isComparedInKernel(
  relation: NumberRelation,
  values: NumberLane,
  number: number,
  length: number,
  bits: Uint8Array,
): boolean {
  const shape = shapeOf(values);
  if (shape === null) return false;
  const { buffer, byteOffset, BYTES_PER_ELEMENT } = values;
  const bytes = new (values.constructor as new (numbers: number[]) => NumberLane)([number]);
  // The type of the values may lack the number.
  if (bytes[0] !== number) return false;
  return compareInKernel(
    shape,
    relation,
    new Uint8Array(buffer, byteOffset, length * BYTES_PER_ELEMENT),
    new Uint8Array(bytes.buffer),
    bits,
  );
}

const SHAPES: Readonly<Record<string, LaneShape | undefined>> = {
  Int32Array: "i32x4",
  Float32Array: "f32x4",
  Float64Array: "f64x2",
};

const shapeOf = (values: NumberLane): LaneShape | null => SHAPES[tagOf(values)] ?? null;

function setLess(a: NumberLane, number: number, length: number, bits: Uint8Array): void {
  for (let row = 0; row < length; row += 8) {
    bits[row >>> 3] =
      +(a[row] < number) |
      (+(a[row + 1] < number) << 1) |
      (+(a[row + 2] < number) << 2) |
      (+(a[row + 3] < number) << 3) |
      (+(a[row + 4] < number) << 4) |
      (+(a[row + 5] < number) << 5) |
      (+(a[row + 6] < number) << 6) |
      (+(a[row + 7] < number) << 7);
  }
}

function setAtMost(a: NumberLane, number: number, length: number, bits: Uint8Array): void {
  for (let row = 0; row < length; row += 8) {
    bits[row >>> 3] =
      +(a[row] <= number) |
      (+(a[row + 1] <= number) << 1) |
      (+(a[row + 2] <= number) << 2) |
      (+(a[row + 3] <= number) << 3) |
      (+(a[row + 4] <= number) << 4) |
      (+(a[row + 5] <= number) << 5) |
      (+(a[row + 6] <= number) << 6) |
      (+(a[row + 7] <= number) << 7);
  }
}

function setEqual(a: NumberLane, number: number, length: number, bits: Uint8Array): void {
  for (let row = 0; row < length; row += 8) {
    bits[row >>> 3] =
      +(a[row] === number) |
      (+(a[row + 1] === number) << 1) |
      (+(a[row + 2] === number) << 2) |
      (+(a[row + 3] === number) << 3) |
      (+(a[row + 4] === number) << 4) |
      (+(a[row + 5] === number) << 5) |
      (+(a[row + 6] === number) << 6) |
      (+(a[row + 7] === number) << 7);
  }
}
