/**
 * k-means: finds centroids of vectors, and the nearest centroid of each. Vectors are floats of 32 bits, one behind the
 * other. The same vectors and the same seed give the same centroids, with any number of threads.
 *
 *     first      some of the vectors, far apart from each other or at random
 *     coarse     rounds over some vectors for each centroid, until these hardly move
 *     fine       a few rounds over all
 *
 * More than {@link MOST_AT_ONCE} centroids are trained in two levels: some, then several of the vectors of each.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import type { Task } from "../../../async/workerPool.js";
import { fillDistances } from "../distance/distance.js";
import type { Metric } from "../distance/metric.js";
import { type Centroids, findNearest } from "../distance/nearestKernel.js";
import type { VectorWork } from "./vectorWork.js";

/** Products of values that are computed before other work on the thread has its turn. */
const STEP_PRODUCTS = 2 ** 22;
/** Rounds end where one brings down the sum of all distances by less than this part. */
const LEAST_GAIN = 3e-4;
/** How far the halves of a centroid that is split lie from it, as a part of its values. */
const SPLIT_PART = 1 / 1024;
/** Centroids of more than one level. */
const MOST_AT_ONCE = 512;
/** Vectors for each centroid among which the first are chosen, and their products of values at most. */
const FIRST_RATE = 16;
const FIRST_PRODUCTS = 2 ** 30;
/** Vectors of the coarse rounds for each centroid. */
const COARSE_RATE = 32;
/** Rounds over all vectors behind coarse ones, at most. */
const FINE_ROUNDS = 16;
/**
 * How far centroids go in a round, as a multiple of the way to the means of their vectors: they settle in about half as many
 * rounds where they go beyond these. The first round and the last ones end at the means.
 */
const STRIDE = 1.9;
const LAST_ROUNDS = 2;

export interface KmeansOptions {
  /** `l2`, or `dot` for the largest dot product. */
  readonly metric: Extract<Metric, "l2" | "dot">;
  readonly count: number;
  readonly dimension: number;
  readonly maxRounds: number;
  /** Which vectors come first: such that lie far apart (default), or any that differ. */
  readonly first?: "apart" | "any";
  readonly seed: number;
  readonly work: VectorWork;
  readonly signal?: AbortSignal;
}

/** Numbers from 0 to 1, 1 exclusive; the same for the same seed. */
export function seededNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** At most so many of some vectors: one of each of equal stretches. */
export function someVectors(
  vectors: Float32Array,
  dimension: number,
  most: number,
  seed: number,
): Float32Array {
  const count = vectors.length / dimension;
  if (count <= most) return vectors;
  const next = seededNumbers(seed);
  const some = new Float32Array(most * dimension);
  for (let row = 0; row < most; row++) {
    const from = Math.floor(((row + next()) * count) / most) * dimension;
    some.set(vectors.subarray(from, from + dimension), row * dimension);
  }
  return some;
}

/** @param vectors at least one for each centroid */
export async function trainCentroids(vectors: Float32Array, options: KmeansOptions): Promise<Float32Array> {
  return options.count > MOST_AT_ONCE ? trainTwoLevels(vectors, options) : trainOneLevel(vectors, options);
}

async function trainOneLevel(vectors: Float32Array, options: KmeansOptions): Promise<Float32Array> {
  const { count, dimension, maxRounds, seed, work } = options;
  let centroids = await firstCentroids(vectors, options);
  const coarseRows = COARSE_RATE * count;
  if (vectors.length / dimension <= 2 * coarseRows) {
    return goRounds(work.share(vectors), centroids, maxRounds, options);
  }
  const coarse = work.share(someVectors(vectors, dimension, coarseRows, seed));
  centroids = await goRounds(coarse, centroids, maxRounds, options);
  return goRounds(work.share(vectors), centroids, Math.min(maxRounds, FINE_ROUNDS), options);
}

// ------------------------------------------------------------------------------------------------- rounds

async function goRounds(
  vectors: Float32Array,
  first: Float32Array,
  maxRounds: number,
  options: KmeansOptions,
): Promise<Float32Array> {
  const { dimension, metric } = options;
  const rowCount = vectors.length / dimension;
  const squares = metric === "dot" ? new Float32Array(rowCount).fill(1) : await squaresOf(vectors, dimension);
  let centroids = first;
  let lastSum = Number.POSITIVE_INFINITY;
  for (let round = 0; round < maxRounds; round++) {
    const { nearest, scores } = await assignVectors(vectors, centroidsOf(centroids, options), options.work);
    const distances = scores;
    const factor = metric === "dot" ? 1 : 2;
    let sum = 0;
    for (let row = 0; row < rowCount; row++) {
      distances[row] = squares[row] - factor * scores[row];
      // What is left of the difference of large numbers may be a little below 0.
      if (metric === "l2" && distances[row] < 0) distances[row] = 0;
      sum += distances[row];
    }
    const { means, counts } = await meansOf(vectors, nearest, options);
    const isFull = !counts.includes(0);
    const haveRecovered = isFull && Math.abs(lastSum - sum) <= LEAST_GAIN * Math.abs(sum);
    const goesBeyond = metric === "l2" && round > 0 && round < maxRounds - LAST_ROUNDS && !haveRecovered;
    centroids = goesBeyond ? pointsBeyond(centroids, means) : means;
    if (!isFull) fillEmpty(centroids, counts, vectors, distances, options);
    if (haveRecovered) break;
    lastSum = sum;
  }
  return centroids;
}

const pointsBeyond = (from: Float32Array, means: Float32Array): Float32Array =>
  means.map((mean, index) => from[index] + STRIDE * (mean - from[index]));

/** Finds new places for centroids that no vector is near to. */
function fillEmpty(
  centroids: Float32Array,
  counts: Uint32Array,
  vectors: Float32Array,
  distances: Float32Array,
  { dimension, metric }: KmeansOptions,
): void {
  const empty = Array.from(counts.keys()).filter((own) => counts[own] === 0);
  const farthest = metric === "dot" ? [] : farthestRows(distances, empty.length);
  for (const [position, own] of empty.entries()) {
    if (metric === "dot") {
      splitLargest(centroids, counts, own, dimension);
      continue;
    }
    const row = farthest[position];
    centroids.set(vectors.subarray(row * dimension, (row + 1) * dimension), own * dimension);
  }
}

/**
 * Puts an empty centroid beside the one with the most vectors. By dot product, the vectors that are worst off are short: a
 * partition of these is of no use to a search for the largest products.
 */
function splitLargest(centroids: Float32Array, counts: Uint32Array, empty: number, dimension: number): void {
  const largest = counts.indexOf(counts.reduce((most, count) => Math.max(most, count), 0));
  for (let index = 0; index < dimension; index++) {
    const value = centroids[largest * dimension + index];
    const shift = (index % 2 === 0 ? 1 : -1) * SPLIT_PART * value;
    centroids[largest * dimension + index] = value + shift;
    centroids[empty * dimension + index] = value - shift;
  }
  counts[empty] = counts[largest] >>> 1;
  counts[largest] -= counts[empty];
}

/** The rows with the greatest distances, the farthest first. */
function farthestRows(distances: Float32Array, count: number): Uint32Array {
  const bound = distances.slice().sort()[Math.max(0, distances.length - count)];
  const rows = Uint32Array.from(distances.keys()).filter((row) => distances[row] >= bound);
  return rows.sort((a, b) => distances[b] - distances[a] || a - b);
}

async function squaresOf(vectors: Float32Array, dimension: number): Promise<Float32Array> {
  const squares = new Float32Array(vectors.length / dimension);
  for (let row = 0, index = 0, done = 0; row < squares.length; row++) {
    let sum = 0;
    for (const end = index + dimension; index < end; index++) sum += vectors[index] * vectors[index];
    squares[row] = sum;
    done += dimension;
    if (done < STEP_PRODUCTS) continue;
    done = 0;
    await yieldToEventLoop();
  }
  return squares;
}

async function meansOf(
  vectors: Float32Array,
  nearest: Uint32Array,
  { count, dimension }: KmeansOptions,
): Promise<{ readonly means: Float32Array; readonly counts: Uint32Array }> {
  const sums = new Float64Array(count * dimension);
  const counts = new Uint32Array(count);
  const stepRows = Math.ceil(STEP_PRODUCTS / dimension);
  for (let start = 0; start < nearest.length; start += stepRows) {
    addVectors(vectors, nearest, start, Math.min(nearest.length, start + stepRows), dimension, sums, counts);
    await yieldToEventLoop();
  }
  const means = Float32Array.from(sums);
  for (let own = 0; own < count; own++) {
    const divisor = Math.max(1, counts[own]);
    for (let index = own * dimension; index < (own + 1) * dimension; index++)
      means[index] = sums[index] / divisor;
  }
  return { means, counts };
}

function addVectors(
  vectors: Float32Array,
  nearest: Uint32Array,
  start: number,
  end: number,
  dimension: number,
  sums: Float64Array,
  counts: Uint32Array,
): void {
  for (let row = start, from = start * dimension; row < end; row++) {
    const own = nearest[row];
    counts[own]++;
    for (let to = own * dimension, last = to + dimension; to < last; to++) sums[to] += vectors[from++];
  }
}

// -------------------------------------------------------------------------------------------------- first

/**
 * Vectors far apart from each other: each is chosen with a probability that grows with its distance from those before. By dot
 * product, and where these are few for so many, vectors that are evenly spread over all.
 */
async function firstCentroids(
  vectors: Float32Array,
  { count, dimension, metric, first, seed, signal }: KmeansOptions,
): Promise<Float32Array> {
  const most = Math.min(FIRST_RATE * count, Math.floor(FIRST_PRODUCTS / (count * dimension)));
  if (metric === "dot" || most < 2 * count) return someVectors(vectors, dimension, count, seed).slice();
  const some = someVectors(vectors, dimension, most, seed);
  if (first === "any") return distinctVectors(some, dimension, count, seed);
  const bytes = new Uint8Array(some.buffer, some.byteOffset, some.byteLength);
  const rowCount = some.length / dimension;
  const next = seededNumbers(seed);
  const centroids = new Float32Array(count * dimension);
  const distances = new Float32Array(rowCount).fill(Number.POSITIVE_INFINITY);
  const fromChosen = new Float32Array(rowCount);
  let row = Math.floor(next() * rowCount);
  for (let own = 0; own < count; own++) {
    signal?.throwIfAborted();
    const numbers = some.slice(row * dimension, (row + 1) * dimension);
    centroids.set(numbers, own * dimension);
    const query = { numbers, bytes: new Uint8Array(numbers.buffer), norm: 1 };
    fillDistances("float32", "l2", [query], dimension, bytes, rowCount, [fromChosen]);
    let sum = 0;
    for (let index = 0; index < rowCount; index++) {
      if (fromChosen[index] < distances[index]) distances[index] = fromChosen[index];
      sum += distances[index];
    }
    let left = next() * sum;
    row = 0;
    while (row < rowCount - 1 && left >= distances[row]) left -= distances[row++];
    await yieldToEventLoop();
  }
  return centroids;
}

/** So many of some vectors at random, of those that are the same only one as long as there are others. */
function distinctVectors(
  vectors: Float32Array,
  dimension: number,
  count: number,
  seed: number,
): Float32Array {
  const next = seededNumbers(seed);
  const left = Uint32Array.from({ length: vectors.length / dimension }, (_, row) => row);
  const known = new Set<string>();
  const chosen = new Float32Array(count * dimension);
  const again: Float32Array[] = [];
  let done = 0;
  for (let end = left.length; end > 0 && done < count; end--) {
    const position = Math.floor(next() * end);
    const own = vectors.subarray(left[position] * dimension, (left[position] + 1) * dimension);
    left[position] = left[end - 1];
    const key = own.join();
    if (known.has(key)) again.push(own);
    else chosen.set(own, dimension * done++);
    known.add(key);
  }
  for (const own of again.slice(0, count - done)) chosen.set(own, dimension * done++);
  return chosen;
}

// ------------------------------------------------------------------------------------------------- levels

/** Trains about the square root of the centroids, then of the vectors near each its share. */
async function trainTwoLevels(vectors: Float32Array, options: KmeansOptions): Promise<Float32Array> {
  const { count, dimension, seed, work } = options;
  const shared = work.share(vectors);
  const upperCount = Math.round(Math.sqrt(count));
  const upper = await trainOneLevel(shared, { ...options, count: upperCount });
  const upperCentroids = centroidsOf(upper, options);
  const { nearest } = await assignVectors(shared, upperCentroids, work);
  const members = Array.from({ length: upperCount }, (): number[] => []);
  for (const [row, own] of nearest.entries()) members[own].push(row);
  const shares = sharesOf(
    members.map(({ length }) => length),
    count,
  );
  const centroids = new Float32Array(count * dimension);
  let done = 0;
  for (const [own, rows] of members.entries()) {
    if (shares[own] === 0) continue;
    const near = new Float32Array(rows.length * dimension);
    for (const [position, row] of rows.entries()) {
      near.set(shared.subarray(row * dimension, (row + 1) * dimension), position * dimension);
    }
    const lower = await trainOneLevel(near, { ...options, count: shares[own], seed: seed + own });
    centroids.set(lower, done * dimension);
    done += shares[own];
  }
  return centroids;
}

/** Divides a number of centroids among groups in proportion to their vectors, of which there are at least as many. */
function sharesOf(sizes: readonly number[], count: number): number[] {
  const shares = sizes.map(() => 0);
  for (let done = 0; done < count; done++) {
    // To the group whose centroids would have the most vectors.
    let best = -1;
    for (let own = 0; own < sizes.length; own++) {
      if (shares[own] === sizes[own]) continue;
      if (best < 0 || sizes[own] * (shares[best] + 1) > sizes[best] * (shares[own] + 1)) best = own;
    }
    shares[best]++;
  }
  return shares;
}

// ---------------------------------------------------------------------------------------------- assigning

let lastKey = 0;

/** Keys of centroids that nobody has yet, the first of so many behind each other. */
export function newKeys(count: number): number {
  const first = lastKey + 1;
  lastKey += count;
  return first;
}

/** @param values are not changed any more */
export const centroidsOf = (
  values: Float32Array,
  { dimension, metric }: Pick<KmeansOptions, "dimension" | "metric">,
): Centroids => ({ values, dimension, metric, key: newKeys(1) });

/** The number of the nearest centroid of each vector, and its score (nearestKernel.ts). */
export interface Assigned {
  readonly nearest: Uint32Array;
  readonly scores: Float32Array;
}

export const ASSIGN_VECTORS: Task<
  { readonly values: Float32Array; readonly centroids: Centroids },
  Assigned
> = {
  name: "assignVectors",
  run({ values, centroids }) {
    const rowCount = values.length / centroids.dimension;
    const assigned = { nearest: new Uint32Array(rowCount), scores: new Float32Array(rowCount) };
    findNearest(centroids, values, assigned.nearest, assigned.scores);
    return assigned;
  },
  memoryOf: ({ nearest, scores }) => [nearest.buffer as ArrayBuffer, scores.buffer as ArrayBuffer],
};

/** Finds the nearest centroid of each vector; of several, the first. */
export async function assignVectors(
  vectors: Float32Array,
  centroids: Centroids,
  work: VectorWork,
): Promise<Assigned> {
  const { dimension } = centroids;
  const rowCount = vectors.length / dimension;
  const nearest = new Uint32Array(rowCount);
  const scores = new Float32Array(rowCount);
  const [all, shared] = [work.share(vectors), { ...centroids, values: work.share(centroids.values) }];
  await work.run({
    task: ASSIGN_VECTORS,
    rowCount,
    products: centroids.values.length,
    inputOf: (start, end) => ({
      values: all.subarray(start * dimension, end * dimension),
      centroids: shared,
    }),
    take(start, own) {
      nearest.set(own.nearest, start);
      scores.set(own.scores, start);
    },
  });
  return { nearest, scores };
}
