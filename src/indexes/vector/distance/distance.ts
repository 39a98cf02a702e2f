/**
 * Distances between vectors and queries, as float32:
 *
 *     l2         sum of squared differences
 *     cosine     1 - dot product / product of lengths
 *     dot        1 - dot product
 *     hamming    number of different bits
 *
 * Smaller is nearer. A distance is NaN if a vector contains NaN, or has length 0 by cosine. Sums beyond
 * float32 are infinite.
 */

import { alignedBytes } from "../../../bytes/aligned.js";
import { decodeHalfFloat } from "../../../bytes/halfFloat.js";
import { sumsInKernel } from "./distanceKernel.js";
import { encodeVector, ITEM_BYTES, type Metric, numbersIn, type VectorItem } from "./metric.js";

/** A query vector. */
export interface QueryVector {
  /** Values as kernels add them up: float32 for float16 vectors. */
  readonly bytes: Uint8Array;
  readonly numbers: Float32Array | Float64Array | Uint8Array;
  /** Length of the vector. */
  readonly norm: number;
}

/** Sums of squares from here on are infinite as float32. */
const TOO_MANY_SQUARES = 2 ** 128 - 2 ** 103;

/** Returns the length of a vector from its sum of squares; infinite beyond float32. */
const lengthOf = (squares: number): number =>
  squares < TOO_MANY_SQUARES ? Math.sqrt(squares) : Number.POSITIVE_INFINITY;

/** Makes a query vector. @param values rounded to the item type */
export function queryVector(item: VectorItem, values: Float64Array): QueryVector {
  const numbers = numbersIn(item, encodeVector(item, values));
  let squares = 0;
  for (let index = 0; index < numbers.length; index++) squares += numbers[index] * numbers[index];
  return { bytes: new Uint8Array(numbers.buffer), numbers, norm: lengthOf(squares) };
}

/**
 * Fills the distances of rows to each query.
 * @param queries at least one, all of one dimension
 * @param values row-major vectors
 */
export function fillDistances(
  item: VectorItem,
  metric: Metric,
  queries: readonly QueryVector[],
  values: Uint8Array,
  distances: readonly Float32Array[],
): void {
  const queryBytes = queries.map(({ bytes }) => bytes);
  const isDone = sumsInKernel(item, metric, queryBytes, values, (query, firstRow, count, sums) =>
    finish(metric, queries[query].norm, sums, count, distances[query], firstRow),
  );
  if (isDone) return;
  const rowCount = values.length / (queries[0].numbers.length * ITEM_BYTES[item]);
  const numbers = numbersIn(item, alignedBytes(values, ITEM_BYTES[item]));
  const sums = new Float64Array(2 * rowCount);
  for (const [index, query] of queries.entries()) {
    addUp(metric, query.numbers, numbers, sums, rowCount);
    finish(metric, query.norm, sums, rowCount, distances[index], 0);
  }
}

/** Returns a function that measures the distance of a row to a query. @param values row-major vectors */
export function distanceToRow(
  item: VectorItem,
  metric: Metric,
  query: QueryVector,
  values: Uint8Array,
): (row: number) => number {
  const dimension = query.numbers.length;
  const aligned = alignedBytes(values, ITEM_BYTES[item]);
  const sums = new Float64Array(2);
  const distance = new Float32Array(1);
  const measure = (numbers: ArrayLike<number>, start: number): number => {
    addUp(metric, query.numbers, numbers, sums, 1, start);
    finish(metric, query.norm, sums, 1, distance, 0);
    return distance[0];
  };
  if (item !== "float16") {
    const numbers = numbersIn(item, aligned);
    return (row) => measure(numbers, row * dimension);
  }
  // Decoding only the requested float16 vectors is faster.
  const halves = new Uint16Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 2);
  const numbers = new Float32Array(dimension);
  return (row) => {
    for (let index = 0, slot = row * dimension; index < dimension; index++, slot++)
      numbers[index] = decodeHalfFloat(halves[slot]);
    return measure(numbers, 0);
  };
}

/** Computes the kernels' sums in JavaScript: of the metric, and of squares. */
function addUp(
  metric: Metric,
  query: ArrayLike<number>,
  numbers: ArrayLike<number>,
  sums: Float64Array,
  rowCount: number,
  first = 0,
): void {
  const dimension = query.length;
  for (let row = 0; row < rowCount; row++) {
    const start = first + row * dimension;
    let sum = 0;
    let squares = 0;
    switch (metric) {
      case "l2":
        for (let index = 0; index < dimension; index++) {
          const difference = numbers[start + index] - query[index];
          sum += difference * difference;
        }
        break;
      case "cosine":
        for (let index = 0; index < dimension; index++) {
          const number = numbers[start + index];
          sum += number * query[index];
          squares += number * number;
        }
        break;
      case "dot":
        for (let index = 0; index < dimension; index++) sum += numbers[start + index] * query[index];
        break;
      case "hamming":
        for (let index = 0; index < dimension; index++) {
          sum += BITS_SET[numbers[start + index] ^ query[index]];
        }
    }
    sums[2 * row] = sum;
    sums[2 * row + 1] = squares;
  }
}

/** Number of set bits by byte. */
const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => {
  let bits = 0;
  for (let rest = byte; rest > 0; rest &= rest - 1) bits++;
  return bits;
});

/** Converts sums to distances. */
function finish(
  metric: Metric,
  queryNorm: number,
  sums: Float64Array,
  rowCount: number,
  distances: Float32Array,
  firstRow: number,
): void {
  switch (metric) {
    case "l2":
    case "hamming":
      for (let row = 0; row < rowCount; row++) distances[firstRow + row] = sums[2 * row];
      return;
    case "dot":
      for (let row = 0; row < rowCount; row++) distances[firstRow + row] = 1 - sums[2 * row];
      return;
    case "cosine":
      for (let row = 0; row < rowCount; row++) {
        const lengths = queryNorm * lengthOf(sums[2 * row + 1]);
        // Two infinities have no ratio.
        const product = lengths === Number.POSITIVE_INFINITY ? Math.fround(sums[2 * row]) : sums[2 * row];
        distances[firstRow + row] = 1 - product / lengths;
      }
  }
}
