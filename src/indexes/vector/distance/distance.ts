/**
 * Distances of vectors to queries, as floats of 32 bits:
 *
 *     l2         the sum of the squares of the differences
 *     cosine     1 - the dot product divided by both lengths
 *     dot        1 - the dot product
 *     hamming    the number of bits that differ
 *
 * Smaller is nearer. A distance is NaN where a vector holds NaN, and by cosine where it has the length 0. Sums that are too
 * large for floats of 32 bits are infinite.
 */

import { alignedBytes } from "../../../bytes/aligned.js";
import { decodeHalfFloat } from "../../../bytes/halfFloat.js";
import { sumsInKernel } from "./distanceKernel.js";
import { encodeVector, ITEM_BYTES, type Metric, numbersIn, type VectorItem } from "./metric.js";

/** A vector whose distance to others is asked for. */
export interface QueryVector {
  /** As kernels add its values up: floats of 32 bits also for vectors of such of 16. */
  readonly bytes: Uint8Array;
  readonly numbers: Float32Array | Float64Array | Uint8Array;
  /** The length of the vector. */
  readonly norm: number;
}

/** Squares of this much and more are infinite as floats of 32 bits, as which they are added up. */
const TOO_MANY_SQUARES = 2 ** 128 - 2 ** 103;

/** The length of a vector, by the sum of the squares of its values; what is too long for floats of 32 bits has no end. */
const lengthOf = (squares: number): number =>
  squares < TOO_MANY_SQUARES ? Math.sqrt(squares) : Number.POSITIVE_INFINITY;

/** @param values of the query; they are rounded to what vectors of such values can hold */
export function queryVector(item: VectorItem, values: Float64Array): QueryVector {
  const numbers = numbersIn(item, encodeVector(item, values));
  let squares = 0;
  for (let index = 0; index < numbers.length; index++) squares += numbers[index] * numbers[index];
  return { bytes: new Uint8Array(numbers.buffer), numbers, norm: lengthOf(squares) };
}

/**
 * Puts the distances of some vectors to each query in its array, from the start on.
 * @param values of the vectors, one behind the other
 */
export function fillDistances(
  item: VectorItem,
  metric: Metric,
  queries: readonly QueryVector[],
  dimension: number,
  values: Uint8Array,
  rowCount: number,
  distances: readonly Float32Array[],
): void {
  const isDone = sumsInKernel(
    item,
    metric,
    queries.map(({ bytes }) => bytes),
    dimension,
    values,
    rowCount,
    (query, firstRow, count, sums) =>
      finish(metric, queries[query].norm, sums, count, distances[query], firstRow),
  );
  if (isDone) return;
  const numbers = numbersIn(item, alignedBytes(values, ITEM_BYTES[item]));
  const sums = new Float64Array(2 * rowCount);
  for (const [index, query] of queries.entries()) {
    addUp(metric, query.numbers, numbers, sums, rowCount);
    finish(metric, query.norm, sums, rowCount, distances[index], 0);
  }
}

/**
 * Measures the distances of single vectors to a query.
 * @param values of all vectors, one behind the other
 * @returns the distance of a vector by its place
 */
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
  // All of them would take longer to make floats of 32 bits of than the few that are asked about.
  const halves = new Uint16Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 2);
  const numbers = new Float32Array(dimension);
  return (row) => {
    for (let index = 0, slot = row * dimension; index < dimension; index++, slot++)
      numbers[index] = decodeHalfFloat(halves[slot]);
    return measure(numbers, 0);
  };
}

/** The same sums as the kernels', in plain form: of the metric, and of the squares of the values. */
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

/** Number of bits that are set, by byte. */
const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => {
  let bits = 0;
  for (let rest = byte; rest > 0; rest &= rest - 1) bits++;
  return bits;
});

/** Makes distances of sums. */
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
        // Neither has a direction where both are infinite.
        const product = lengths === Number.POSITIVE_INFINITY ? Math.fround(sums[2 * row]) : sums[2 * row];
        distances[firstRow + row] = 1 - product / lengths;
      }
  }
}
