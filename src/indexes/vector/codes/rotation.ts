/**
 * Random rotations of vectors, which spread their length evenly over all values. The fast rotation has four
 * rounds. A round flips signs, and applies a Hadamard transform of length 2^n to the first 2^n values (odd
 * rounds: to the last). If other values remain, the round also adds and subtracts the two halves of the
 * vector:
 *
 *     (x, y)  →  (x + y, x - y)
 *
 * The bits of the signs, lowest first, come round after round; 1 is minus. All rounds keep the length of the
 * vector, but the sums of halves double its square, so the result is divided by 4.
 */

import { seededNumbers } from "./kmeans.js";

/** Rotation of vectors with `dimension` values, a multiple of 8. */
export type Rotation = {
  readonly dimension: number;
} & (
  | { readonly kind: "fast"; readonly signs: Uint8Array }
  /** Row-major; a row of the matrix gives a value. */
  | { readonly kind: "matrix"; readonly matrix: Float32Array | Float64Array }
);

type Floats = Float32Array | Float64Array;

const ROUNDS = 4;

/** Bytes of the signs of a fast rotation. */
export const signBytes = (dimension: number): number => (ROUNDS * dimension) / 8;

/** Makes a fast rotation. */
export function newRotation(dimension: number, seed: number): Rotation {
  const next = seededNumbers(seed);
  const signs = Uint8Array.from({ length: signBytes(dimension) }, () => Math.floor(next() * 256));
  return { kind: "fast", dimension, signs };
}

/**
 * Rotates a vector. In 32 bits, the values equal those of LanceDB.
 * @param to receives the values; not the same memory
 */
export function rotate(rotation: Rotation, vector: ArrayLike<number>, to: Floats): void {
  const { dimension } = rotation;
  if (rotation.kind === "matrix") {
    const { matrix } = rotation;
    for (let row = 0, offset = 0; row < dimension; row++) {
      let sum = 0;
      for (let index = 0; index < dimension; index++) sum += matrix[offset++] * vector[index];
      to[row] = sum;
    }
    return;
  }
  for (let index = 0; index < dimension; index++) to[index] = vector[index];
  const length = 2 ** Math.floor(Math.log2(dimension));
  for (let round = 0; round < ROUNDS; round++) {
    const first = (round * dimension) / 8;
    for (let index = 0; index < dimension; index++) {
      if (((rotation.signs[first + (index >>> 3)] >>> (index & 7)) & 1) === 1) to[index] = -to[index];
    }
    transform(round % 2 === 0 ? to.subarray(0, length) : to.subarray(dimension - length, dimension));
    if (length < dimension) addHalves(to.subarray(0, dimension));
  }
  if (length < dimension) for (let index = 0; index < dimension; index++) to[index] /= ROUNDS;
}

/** Applies a Hadamard transform that keeps the length of the vector. */
function transform(values: Floats): void {
  const { length } = values;
  for (let half = 1; half < length; half *= 2) {
    for (let start = 0; start < length; start += 2 * half) {
      for (let index = start; index < start + half; index++) {
        const [x, y] = [values[index], values[index + half]];
        values[index] = x + y;
        values[index + half] = x - y;
      }
    }
  }
  const round = values.BYTES_PER_ELEMENT === 4 ? Math.fround : (value: number): number => value;
  const scale = round(1 / round(Math.sqrt(length)));
  for (let index = 0; index < length; index++) values[index] *= scale;
}

function addHalves(values: Floats): void {
  const half = values.length / 2;
  for (let index = 0; index < half; index++) {
    const [x, y] = [values[index], values[index + half]];
    values[index] = x + y;
    values[index + half] = x - y;
  }
}
