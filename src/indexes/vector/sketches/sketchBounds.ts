/**
 * Bounds of distances from sketches. A vector x is its sketch y plus a rest of length at most `error`. A
 * query q is words b times a step t, plus a rest of length at most `miss`. Then
 *
 *     | |q - x| - |t b - y| |  ≤  error + miss          l2; cosine: the same for q and x of length 1, whose
 *                                                       squared distance is twice the cosine distance
 *     | q·x - t b·y |  ≤  |t b| error + miss |x|        dot
 *
 * The bounds hold for distances as computed in float32: its rounding errors are added to the error. A row
 * whose lower bound exceeds the distances of enough other rows is therefore never among the nearest.
 */

import type { QueryVector } from "../distance/distance.js";
import { CONSTANT_COUNT, type SketchMetric } from "./sketchKernels.js";

/** Range of magnitudes with sketches: their squares are exact enough in float32. */
export const LEAST_MAGNITUDE = 1e-15;
export const MOST_MAGNITUDE = 1e15;

/** Relative rounding error of a few float64 sums. */
const LOSS = 2 ** -48;
/** Exceeds the underflow of float32 sums of squares. */
const TINY = 1e-37;

/** Returns the relative rounding error of float32 sums over a vector. */
export const lossOfSums = (dimension: number): number => (dimension / 8 + 32) * 2 ** -24;

/** A query as kernels compare it with sketches. */
export class SketchQuery {
  readonly #metric: SketchMetric;
  /** Words of 16 bits. */
  readonly words: Int16Array;
  /** Scale of the words. */
  readonly #step: number;
  /** Length of the scaled words. */
  readonly #norm: number;
  readonly #miss: number;
  readonly #loss: number;

  private constructor(metric: SketchMetric, { numbers, norm }: QueryVector) {
    const dimension = numbers.length;
    const scale = metric === "cosine" ? norm : 1;
    const largest = magnitudeOf(numbers) / scale;
    // Keeps the product of words and bytes within 32 bits.
    const most = Math.min(32_767, Math.floor((2 ** 31 - 1) / (127 * (dimension + 16))));
    this.#metric = metric;
    this.#step = largest / most;
    this.words = new Int16Array(dimension);
    let squares = 0;
    let rest = 0;
    for (let index = 0; index < dimension; index++) {
      const value = numbers[index] / scale;
      const word = Math.max(-most, Math.min(most, Math.round(value / this.#step)));
      this.words[index] = word;
      squares += word * word;
      rest += (value - word * this.#step) ** 2;
    }
    this.#norm = Math.sqrt(squares) * this.#step;
    this.#loss = lossOfSums(dimension);
    // For cosine, the computed lengths of the vectors have rounding errors too.
    const ofLengths = metric === "cosine" ? 2 * this.#loss + 2 ** -20 : 0;
    this.#miss = Math.sqrt(rest) * (1 + 1e-9) + this.#norm * 1e-12 + ofLengths;
  }

  /** Returns null if sketches cannot bound distances of the query. */
  static of(metric: SketchMetric, query: QueryVector): SketchQuery | null {
    const largest = magnitudeOf(query.numbers);
    return largest >= LEAST_MAGNITUDE && largest <= MOST_MAGNITUDE ? new SketchQuery(metric, query) : null;
  }

  /** Sets the kernel's constants so that it selects all rows whose distance may be at most `most`. */
  limitTo(most: number, constants: Float64Array): void {
    const squares = this.#norm * this.#norm;
    const values =
      this.#metric === "dot"
        ? [this.#step, this.#leastProduct(most), this.#norm, this.#missOfLength]
        : [squares * (1 - LOSS), 1 - LOSS, 2 * this.#step, this.#rootOf(most) + this.#miss];
    for (let index = 0; index < CONSTANT_COUNT; index++) constants[index] = values[index];
  }

  /** Returns the smallest dot product at a distance of at most `distance`. */
  #leastProduct(distance: number): number {
    return Number.isFinite(distance) ? 1 - distance - 2 ** -22 * (1 + Math.abs(distance)) : -distance;
  }

  /** Error bound of a row, per unit of its length. */
  get #missOfLength(): number {
    return (this.#miss + this.#loss * this.#norm) * 1.001;
  }

  /** Returns the largest Euclidean distance at a metric distance of at most `distance`. */
  #rootOf(distance: number): number {
    const least = Math.max(0, distance);
    const squared =
      this.#metric === "l2" ? (least + TINY) / (1 - this.#loss) : 2 * (least + this.#lossOfCosine(least));
    return Math.sqrt(squared) * (1 + 1e-12);
  }

  #lossOfCosine(distance: number): number {
    return 2 * this.#loss + 2 ** -21 * (1 + distance);
  }

  /**
   * Computes the bounds of a row's distance.
   * @param estimate from the kernel
   * @param error of the row, not NaN
   * @param inverse of the row's length
   * @param into receives the lower and upper bound
   */
  bounds(estimate: number, error: number, inverse: number, into: Float64Array): void {
    if (this.#metric === "dot") {
      const spread = this.#norm * error + this.#missOfLength / inverse;
      const distance = 1 - estimate;
      const rounded = 2 ** -22 * (1 + Math.abs(distance) + spread);
      into[0] = distance - spread - rounded;
      into[1] = distance + spread + rounded;
      return;
    }
    const isCosine = this.#metric === "cosine";
    const spread = (isCosine ? error * inverse : error) + this.#miss;
    const squared = Math.max(0, estimate);
    const root = Math.sqrt(squared + LOSS * 16 * (this.#norm * this.#norm + squared));
    const [near, far] = [Math.max(0, Math.sqrt(squared) - spread), root + spread];
    if (isCosine) {
      const [least, most] = [(near * near) / 2, (far * far) / 2];
      into[0] = least - this.#lossOfCosine(least);
      into[1] = most + this.#lossOfCosine(most);
    } else {
      into[0] = near * near * (1 - this.#loss) - TINY;
      into[1] = far * far * (1 + this.#loss) + TINY;
    }
  }
}

function magnitudeOf(numbers: ArrayLike<number>): number {
  let largest = 0;
  for (let index = 0; index < numbers.length; index++) largest = Math.max(largest, Math.abs(numbers[index]));
  return largest;
}
