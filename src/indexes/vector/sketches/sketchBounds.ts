/**
 * What sketches tell of distances. A vector x is its sketch y and a rest that is at most `error` long; a query q is words b
 * times a step t, and a rest that is at most `miss` long. Then
 *
 *     | |q - x| - |t b - y| |  ≤  error + miss                     l2; by cosine the same of q and x with the length 1,
 *                                                                  whose squared distance is twice that by cosine
 *     | q·x - t b·y |  ≤  |t b| error + miss |x|                   dot
 *
 * Bounds are those of the distances as they are computed of the vectors, in floats of 32 bits: what is lost there counts as an
 * error besides. So a row whose bound is above the distances of enough others is not among the nearest, not even by a
 * distance that was rounded.
 */

import type { QueryVector } from "../distance/distance.js";
import { CONSTANT_COUNT, type SketchMetric } from "./sketchKernels.js";

/** Magnitudes of vectors that are sketched: squares of them are floats of 32 bits without loss. */
export const LEAST_MAGNITUDE = 1e-15;
export const MOST_MAGNITUDE = 1e15;

/** What floats of 64 bits lose of a few sums. */
const LOSS = 2 ** -48;
/** More than sums of squares lose that are too small for floats of 32 bits. */
const TINY = 1e-37;

/** At most so much of a sum is lost, per part of it, where vectors are added up in floats of 32 bits. */
export const lossOfSums = (dimension: number): number => (dimension / 8 + 32) * 2 ** -24;

/** A query as kernels compare it with sketches. */
export class SketchQuery {
  readonly #metric: SketchMetric;
  /** Words of 16 bits. */
  readonly words: Int16Array;
  /** What words are multiplied by. */
  readonly #step: number;
  /** Of the words times the step. */
  readonly #norm: number;
  readonly #miss: number;
  readonly #loss: number;

  private constructor(metric: SketchMetric, { numbers, norm }: QueryVector) {
    const dimension = numbers.length;
    const scale = metric === "cosine" ? norm : 1;
    const largest = magnitudeOf(numbers) / scale;
    // The product of the words and as many bytes is an integer of 32 bits.
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
    // By cosine, lengths are computed with a loss, too.
    const ofLengths = metric === "cosine" ? 2 * this.#loss + 2 ** -20 : 0;
    this.#miss = Math.sqrt(rest) * (1 + 1e-9) + this.#norm * 1e-12 + ofLengths;
  }

  /** Null for a query that sketches tell nothing of. */
  static of(metric: SketchMetric, query: QueryVector): SketchQuery | null {
    const largest = magnitudeOf(query.numbers);
    return largest >= LEAST_MAGNITUDE && largest <= MOST_MAGNITUDE ? new SketchQuery(metric, query) : null;
  }

  /** Sets the constants of the kernel so that it selects all rows whose distance may be at most `most`. */
  limitTo(most: number, constants: Float64Array): void {
    const squares = this.#norm * this.#norm;
    const values =
      this.#metric === "dot"
        ? [this.#step, this.#leastProduct(most), this.#norm, this.#missOfLength]
        : [squares * (1 - LOSS), 1 - LOSS, 2 * this.#step, this.#rootOf(most) + this.#miss];
    for (let index = 0; index < CONSTANT_COUNT; index++) constants[index] = values[index];
  }

  /** The dot product of vectors whose distance is at most so large. */
  #leastProduct(distance: number): number {
    return Number.isFinite(distance) ? 1 - distance - 2 ** -22 * (1 + Math.abs(distance)) : -distance;
  }

  /** How far a row may be off, per length of it. */
  get #missOfLength(): number {
    return (this.#miss + this.#loss * this.#norm) * 1.001;
  }

  /** The distance of two vectors whose distance by the metric is at most so large. */
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
   * Bounds of the distance of a row.
   * @param estimate by the kernel
   * @param error of the row, which has a distance
   * @param inverse of its length
   * @param into lower and upper bound
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
