/**
 * The nearest centroid of each of many vectors, as WebAssembly kernels. For a vector x, the centroid c with
 * the greatest score x · c - |c|² / 2 is the nearest; by dot product, that with the greatest score x · c.
 * Integers of 16 bits are multiplied twice as fast as floats, so the kernels turn both into such integers.
 * First they subtract the mean of all centroids, which changes no order. Then they scale each vector and each
 * centroid to the length {@link INTEGER_LENGTH}, so that sums of products fit in 32 bits. If the distances of
 * two centroids differ by less than about 1e-5 of the lengths, either may be the result. By dot product, the
 * mean is subtracted from the centroids only.
 *
 * A call measures two vectors from sixteen centroids at once, four centroids to a vector of sums. The
 * centroids of a group lie side by side, two values by two values. The memory of the kernels:
 *
 *     nearest     {@link PIECE_ROWS} times 32 bytes: for each of four lanes the greatest score, then the
 *                 number of the centroid
 *     scales      {@link PIECE_ROWS} floats: the factor of each vector
 *     values      {@link PIECE_BYTES} of vectors, zero-padded to whole steps of 8 values
 *     integers    half as many bytes: the vectors as integers
 *     mean        the mean to subtract from vectors, padded likewise
 *     centroids   {@link CENTROID_BYTES} in groups of 16: the value of one integer of each, halves of their
 *                 squares, then the first pair of integers of each, and so on
 */

import { type Kernel, KernelUse, kernel } from "../../../bytes/wasm/kernel.js";
import { Double, Vector } from "../../../bytes/wasm/values.js";

const PIECE_ROWS = 2048;
const PIECE_BYTES = 256 * 1024;
const CENTROID_BYTES = 16 * 1024 * 1024;
const GROUP = 16;
/** Bytes of one number, or of one pair of integers, of each centroid of a group. */
const GROUP_BYTES = GROUP * 4;
/** Pairs of values, and values, of a vector in one round. */
const STEP_PAIRS = 4;
const STEP = 2 * STEP_PAIRS;
const INTEGER_LENGTH = 32_767;
/** Minimum squared length of a vector when its scale is computed, so that no scale is infinite. */
const LEAST_SQUARES = 1e-30;

const NEAREST = 0;
const NEAREST_BYTES = 32;
const SCALES = NEAREST + PIECE_ROWS * NEAREST_BYTES;
const VALUES = SCALES + PIECE_ROWS * 4;
const INTEGERS = VALUES + PIECE_BYTES;
const MEAN = INTEGERS + PIECE_BYTES / 2;
const CENTROIDS = MEAN + PIECE_BYTES;
const PAGES = Math.ceil((CENTROIDS + CENTROID_BYTES) / 65_536);

const bytesOfWords = (words: readonly number[]): number[] => [
  ...new Uint8Array(Int32Array.from(words).buffer),
];

const LANES = [0, 1, 2, 3];

/** Turns vectors into integers. */
const integersKernel = (memory: WebAssembly.Memory): Kernel | null =>
  kernel(memory, (wasm) => {
    const [rows, steps, rowBytes] = wasm.parameters();
    const [value, start, mean, target, scale, left] = wasm.integers();
    const [sum, low, high, factor] = wasm.vectors();
    const [scaleFactor] = wasm.doubles();
    const halves = [low, high];
    /** Runs the body for every 8 values, after subtracting the mean from them. */
    const eachStep = (body: () => void): void => {
      mean.set(MEAN);
      value.set(start);
      left.set(steps);
      wasm.repeat(left, () => {
        for (const [index, half] of halves.entries())
          half.set(value.loadVector(index * 16).minus("f32x4", mean.loadVector(index * 16)));
        body();
        mean.increase(STEP * 4);
        value.increase(STEP * 4);
      });
    };
    start.set(VALUES);
    target.set(INTEGERS);
    scale.set(SCALES);
    wasm.repeat(rows, () => {
      sum.set(Vector.ofByte(0));
      eachStep(() => {
        for (const half of halves) sum.increase("f32x4", half.times("f32x4", half));
      });
      const length = sum.sum("f32x4").max(Double.of(LEAST_SQUARES)).squareRoot();
      scaleFactor.set(Double.of(INTEGER_LENGTH).over(length));
      wasm.store(scale, scaleFactor.toFloat());
      factor.set(scaleFactor.toFloat().toVector());
      eachStep(() => {
        const [lowWords, highWords] = halves.map((half) => half.times("f32x4", factor).floatsToWords());
        wasm.store(target, lowWords.narrowWords(highWords));
        target.increase(STEP * 2);
      });
      start.increase(rowBytes);
      scale.increase(4);
    });
  });

const scoresKernel = (memory: WebAssembly.Memory): Kernel | null =>
  kernel(memory, (wasm) => {
    const [pairs, groups, steps, rowBytes] = wasm.parameters();
    const [pair, valueA, valueB, group, centroid, left, target, scale] = wasm.integers();
    const vectorLocals = () => ({ factor: wasm.vector(), sums: LANES.map(() => wasm.vector()) });
    /** The two vectors of a pair: each value of a centroid that is loaded serves both. */
    const rows = [
      { value: valueA, ...vectorLocals() },
      { value: valueB, ...vectorLocals() },
    ];
    const [integers, greatest, nearest, isGreater, firstNumbers, numbers] = wasm.vectors();
    const multiply = (index: number): void => {
      for (const { factor, value } of rows) factor.set(value.loadRepeated(index * 4));
      for (const lane of LANES) {
        integers.set(centroid.loadVector(index * GROUP_BYTES + lane * 16));
        for (const { factor, sums } of rows) sums[lane].increase("i32x4", factor.productsOfShorts(integers));
      }
    };
    const compare = ({ factor, sums }: (typeof rows)[number], index: number): void => {
      greatest.set(target.loadVector(index * NEAREST_BYTES));
      nearest.set(target.loadVector(index * NEAREST_BYTES + 16));
      numbers.set(firstNumbers);
      factor.set(scale.loadRepeated(index * 4));
      for (const [lane, sum] of sums.entries()) {
        const product = sum.wordsToFloats().times("f32x4", group.loadVector(lane * 16));
        const halfSquare = group.loadVector(GROUP_BYTES + lane * 16);
        sum.set(product.minus("f32x4", halfSquare.times("f32x4", factor)));
        isGreater.set(sum.floatsAbove(greatest));
        greatest.set(isGreater.choose(sum, greatest));
        nearest.set(isGreater.choose(numbers, nearest));
        numbers.increase("i32x4", Vector.ofWord(4));
      }
      wasm.store(target, greatest, index * NEAREST_BYTES);
      wasm.store(target, nearest, index * NEAREST_BYTES + 16);
    };
    const measurePair = (): void => {
      for (const { sums } of rows) for (const sum of sums) sum.set(Vector.ofByte(0));
      centroid.set(group.plus(2 * GROUP_BYTES));
      valueB.set(valueA.plus(rowBytes));
      left.set(steps);
      wasm.repeat(left, () => {
        for (let index = 0; index < STEP_PAIRS; index++) multiply(index);
        for (const { value } of rows) value.increase(STEP_PAIRS * 4);
        centroid.increase(STEP_PAIRS * GROUP_BYTES);
      });
      // The next pair begins at the end of the second vector.
      valueA.set(valueB);
      for (const [index, row] of rows.entries()) compare(row, index);
      target.increase(2 * NEAREST_BYTES);
      scale.increase(2 * 4);
    };
    // The centroids of a group stay in the cache while the kernel goes through all vectors.
    firstNumbers.set(Vector.ofBytes(bytesOfWords([0, 1, 2, 3])));
    group.set(CENTROIDS);
    wasm.repeat(groups, () => {
      valueA.set(INTEGERS);
      target.set(NEAREST);
      scale.set(SCALES);
      pair.set(pairs);
      wasm.repeat(pair, measurePair);
      firstNumbers.set(numbers);
      // The last pair ended at the next group.
      group.set(centroid);
    });
  });

interface NearestKernels {
  readonly memory: ArrayBuffer;
  readonly integers: Kernel["run"];
  readonly scores: Kernel["run"];
}

function nearestKernels(): NearestKernels | null {
  if (typeof WebAssembly !== "object") return null;
  const memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES });
  const [integers, scores] = [integersKernel(memory), scoresKernel(memory)];
  return integers && scores && { memory: memory.buffer, integers: integers.run, scores: scores.run };
}

export const nearestKernelUse = new KernelUse(nearestKernels);

export interface Centroids {
  /** Vectors of the centroids, one after another; never changed. */
  readonly values: Float32Array;
  readonly dimension: number;
  /** A number that no other centroids have, so that they are loaded once. */
  readonly key: number;
  readonly metric: "l2" | "dot";
}

/**
 * Finds the nearest centroid of each of some vectors.
 * @param values one vector after another
 * @param nearest gets their numbers; the first of several equally near ones
 * @param scores by l2, gets half of the vector's square minus half of the squared distance; by dot product,
 * the product
 */
export function findNearest(
  centroids: Centroids,
  values: Float32Array,
  nearest: Uint32Array,
  scores?: Float32Array,
): void {
  const { dimension } = centroids;
  const width = Math.ceil(dimension / STEP) * STEP;
  const groups = Math.ceil(centroids.values.length / dimension / GROUP);
  const hasRoom = groups * GROUP_BYTES * (2 + width / 2) <= CENTROID_BYTES && 2 * width * 4 <= PIECE_BYTES;
  const kernels = hasRoom ? nearestKernelUse.get() : null;
  if (kernels === null) findPlainly(centroids, values, nearest);
  else findInKernel(kernels, centroids, width, groups, values, nearest);
  if (scores !== undefined) fillScores(centroids, values, nearest, scores);
}

function findInKernel(
  { memory, ...kernels }: NearestKernels,
  centroids: Centroids,
  width: number,
  groups: number,
  values: Float32Array,
  nearest: Uint32Array,
): void {
  const { dimension } = centroids;
  load(memory, centroids, width, groups);
  const room = new Float32Array(memory, VALUES, PIECE_BYTES / 4);
  const sums = new Float32Array(memory, NEAREST, PIECE_ROWS * 8);
  const numbers = new Uint32Array(memory, NEAREST, PIECE_ROWS * 8);
  const pieceRows = Math.min(PIECE_ROWS, 2 * Math.floor(PIECE_BYTES / 8 / width));
  for (let start = 0; start < nearest.length; start += pieceRows) {
    const rows = Math.min(pieceRows, nearest.length - start);
    fill(room, values.subarray(start * dimension, (start + rows) * dimension), dimension, width);
    sums.set(NONE_YET.subarray(0, rows * 8));
    kernels.integers(rows, width / STEP, width * 4);
    kernels.scores(Math.ceil(rows / 2), groups, width / STEP, width * 2);
    for (let row = 0, first = 0; row < rows; row++, first += 8) {
      let index = first;
      for (let lane = first + 1; lane < first + 4; lane++) {
        if (
          sums[lane] > sums[index] ||
          (sums[lane] === sums[index] && numbers[lane + 4] < numbers[index + 4])
        )
          index = lane;
      }
      nearest[start + row] = numbers[index + 4];
    }
  }
}

/** Results before the first comparison: no score, and the first centroid. */
const NONE_YET = Float32Array.from({ length: PIECE_ROWS * 8 }, (_, index) =>
  index % 8 < 4 ? Number.NEGATIVE_INFINITY : 0,
);

/** Puts vectors into the memory of the kernel. */
function fill(room: Float32Array, values: Float32Array, dimension: number, width: number): void {
  if (width === dimension) {
    room.set(values);
    return;
  }
  for (let from = 0, to = 0; from < values.length; from += dimension, to += width) {
    room.set(values.subarray(from, from + dimension), to);
    room.fill(0, to + dimension, to + width);
  }
}

/** Key of the centroids in the memory of the kernel. */
let loadedKey: number | null = null;

function load(memory: ArrayBuffer, centroids: Centroids, width: number, groups: number): void {
  if (centroids.key === loadedKey) return;
  const { values, dimension, metric } = centroids;
  const count = values.length / dimension;
  const mean = meanOf(centroids);
  const subtracted = new Float32Array(memory, MEAN, width).fill(0);
  if (metric === "l2") subtracted.set(mean);
  const groupWords = GROUP * (2 + width / 2);
  const floats = new Float32Array(memory, CENTROIDS, groups * groupWords).fill(0);
  const integers = new Int16Array(memory, CENTROIDS, 2 * groups * groupWords);
  const centred = new Float64Array(dimension);
  for (let centroid = 0; centroid < groups * GROUP; centroid++) {
    const start = Math.floor(centroid / GROUP) * groupWords + (centroid % GROUP);
    if (centroid >= count) {
      floats[start + GROUP] = Number.POSITIVE_INFINITY;
      continue;
    }
    let squares = 0;
    for (let index = 0; index < dimension; index++) {
      centred[index] = values[centroid * dimension + index] - mean[index];
      squares += centred[index] * centred[index];
    }
    const unit = Math.sqrt(Math.max(squares, LEAST_SQUARES)) / INTEGER_LENGTH;
    floats[start] = unit;
    floats[start + GROUP] = metric === "l2" ? squares / 2 : 0;
    for (let index = 0; index < dimension; index++) {
      const pair = start + (2 + (index >>> 1)) * GROUP;
      integers[2 * pair + (index & 1)] = Math.round(centred[index] / unit);
    }
  }
  loadedKey = centroids.key;
}

/** The mean of all centroids, as floats of 32 bits. */
function meanOf({ values, dimension }: Centroids): Float32Array {
  const sums = new Float64Array(dimension);
  for (let slot = 0; slot < values.length; ) {
    for (let index = 0; index < dimension; index++) sums[index] += values[slot++];
  }
  return Float32Array.from(sums, (sum) => (sum * dimension) / values.length);
}

/** Computes the scores of the nearest centroids. */
function fillScores(
  centroids: Centroids,
  values: Float32Array,
  nearest: Uint32Array,
  scores: Float32Array,
): void {
  const { values: numbers, dimension } = centroids;
  const halves = halfSquares(centroids);
  for (let row = 0, index = 0; row < nearest.length; row++) {
    let score = -halves[nearest[row]];
    for (let from = nearest[row] * dimension, end = from + dimension; from < end; from++, index++)
      score += values[index] * numbers[from];
    scores[row] = score;
  }
}

/** Halves of the squares of centroids; by dot product zeros. */
function halfSquares({ values, dimension, metric }: Centroids): Float64Array {
  const halves = new Float64Array(values.length / dimension);
  if (metric === "dot") return halves;
  for (let centroid = 0, slot = 0; centroid < halves.length; centroid++) {
    for (let index = 0; index < dimension; index++, slot++)
      halves[centroid] += (values[slot] * values[slot]) / 2;
  }
  return halves;
}

/** Finds the nearest centroids without a kernel, or if its memory has no room for the centroids. */
function findPlainly(centroids: Centroids, values: Float32Array, nearest: Uint32Array): void {
  const { values: numbers, dimension } = centroids;
  const halves = halfSquares(centroids);
  for (let row = 0; row < nearest.length; row++) {
    const from = row * dimension;
    let greatest = Number.NEGATIVE_INFINITY;
    for (let centroid = 0, slot = 0; centroid < halves.length; centroid++) {
      let score = -halves[centroid];
      for (let index = 0; index < dimension; index++) score += values[from + index] * numbers[slot++];
      if (score > greatest) {
        greatest = score;
        nearest[row] = centroid;
      }
    }
  }
}
