/**
 * k-means: trains centroids and finds the nearest centroid of each vector. Vectors are row-major float32. The
 * result depends only on the vectors and the seed, not on the number of threads.
 *
 *     first      initial centroids: vectors far apart from each other, or random ones
 *     coarse     rounds over a sample until the centroids hardly move
 *     fine       a few rounds over all vectors
 *
 * More than {@link MOST_AT_ONCE} centroids are trained in two levels: a few centroids first, then several
 * within each cluster.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import type { Task } from "../../../async/workerPool.js";
import { fillDistances } from "../distance/distance.js";
import type { Metric } from "../distance/metric.js";
import { type Centroids, findNearest } from "../distance/nearestKernel.js";
import type { VectorWork } from "./vectorWork.js";

/** Multiplications between yields. */
const STEP_PRODUCTS = 2 ** 22;
/** Relative gain below which rounds end. */
const LEAST_GAIN = 3e-4;
/** Relative shift of the halves of a split centroid. */
const SPLIT_PART = 1 / 1024;
/** Maximum number of centroids in one level. */
const MOST_AT_ONCE = 512;
/** Candidate vectors per initial centroid, and maximum multiplications. */
const FIRST_RATE = 16;
const FIRST_PRODUCTS = 2 ** 30;
/** Sample vectors per centroid in the coarse rounds. */
const COARSE_RATE = 32;
/** Maximum number of fine rounds. */
const FINE_ROUNDS = 16;
/** Over-relaxation, which halves the rounds. The first and the last rounds move exactly to the means. */
const STRIDE = 1.9;
const LAST_ROUNDS = 2;

export interface KmeansOptions {
  /** `l2`, or `dot` for the largest dot product. */
  readonly metric: Extract<Metric, "l2" | "dot">;
  readonly count: number;
  readonly dimension: number;
  readonly maxRounds: number;
  /** Initial vectors: far apart from each other (default), or random distinct ones. */
  readonly first?: "apart" | "any";
  readonly seed: number;
  readonly work: VectorWork;
  readonly signal?: AbortSignal;
}

/** Returns a deterministic generator of numbers in [0, 1). */
export function seededNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns at most `most` vectors: one from each of equal strata. */
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

/** @param vectors at least one per centroid */
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
      // Cancellation may leave a small negative number.
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

/** Moves each centroid that no vector is nearest to. */
function fillEmpty(
  centroids: Float32Array,
  counts: Uint32Array,
  vectors: Float32Array,
  distances: Float32Array,
  { dimension, metric }: KmeansOptions,
): void {
  const empty = Array.from(counts.keys()).filter((cluster) => counts[cluster] === 0);
  const farthest = metric === "dot" ? [] : farthestRows(distances, empty.length);
  for (const [position, cluster] of empty.entries()) {
    if (metric === "dot") {
      splitLargest(centroids, counts, cluster, dimension);
      continue;
    }
    const row = farthest[position];
    centroids.set(vectors.subarray(row * dimension, (row + 1) * dimension), cluster * dimension);
  }
}

/**
 * Puts an empty centroid beside the largest cluster's. By dot product the worst vectors are short, and a
 * partition of short vectors is useless to searches.
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

/** Returns the rows with the greatest distances, farthest first. */
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
  const totals = { sums, counts };
  const stepRows = Math.ceil(STEP_PRODUCTS / dimension);
  for (let start = 0; start < nearest.length; start += stepRows) {
    addVectors(vectors, nearest, start, Math.min(nearest.length, start + stepRows), dimension, totals);
    await yieldToEventLoop();
  }
  const means = Float32Array.from(sums);
  for (let cluster = 0; cluster < count; cluster++) {
    const divisor = Math.max(1, counts[cluster]);
    for (let index = cluster * dimension; index < (cluster + 1) * dimension; index++)
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
  { sums, counts }: { readonly sums: Float64Array; readonly counts: Uint32Array },
): void {
  for (let row = start, from = start * dimension; row < end; row++) {
    const cluster = nearest[row];
    counts[cluster]++;
    for (let to = cluster * dimension, last = to + dimension; to < last; to++) sums[to] += vectors[from++];
  }
}

/**
 * Chooses initial centroids far apart from each other: the probability of a vector grows with its distance
 * from those before. By dot product, and if candidates are too few, vectors are spread evenly over the input.
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
  for (let cluster = 0; cluster < count; cluster++) {
    signal?.throwIfAborted();
    const numbers = some.slice(row * dimension, (row + 1) * dimension);
    centroids.set(numbers, cluster * dimension);
    const query = { numbers, bytes: new Uint8Array(numbers.buffer), norm: 1 };
    fillDistances("float32", "l2", [query], bytes, [fromChosen]);
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

/** Chooses random vectors, distinct ones first. */
function distinctVectors(
  vectors: Float32Array,
  dimension: number,
  count: number,
  seed: number,
): Float32Array {
  const next = seededNumbers(seed);
  const left = Uint32Array.from({ length: vectors.length / dimension }, (_, row) => row);
  const seenKeys = new Set<string>();
  const chosen = new Float32Array(count * dimension);
  const again: Float32Array[] = [];
  let done = 0;
  for (let end = left.length; end > 0 && done < count; end--) {
    const position = Math.floor(next() * end);
    const vector = vectors.subarray(left[position] * dimension, (left[position] + 1) * dimension);
    left[position] = left[end - 1];
    const key = vector.join();
    if (seenKeys.has(key)) again.push(vector);
    else chosen.set(vector, dimension * done++);
    seenKeys.add(key);
  }
  for (const vector of again.slice(0, count - done)) chosen.set(vector, dimension * done++);
  return chosen;
}

/** Trains about √count centroids, then a proportional number within each cluster. */
async function trainTwoLevels(vectors: Float32Array, options: KmeansOptions): Promise<Float32Array> {
  const { count, dimension, seed, work } = options;
  const shared = work.share(vectors);
  const upperCount = Math.round(Math.sqrt(count));
  const upper = await trainOneLevel(shared, { ...options, count: upperCount });
  const upperCentroids = centroidsOf(upper, options);
  const { nearest } = await assignVectors(shared, upperCentroids, work);
  const members = Array.from({ length: upperCount }, (): number[] => []);
  for (const [row, cluster] of nearest.entries()) members[cluster].push(row);
  const counts = apportioned(
    members.map(({ length }) => length),
    count,
  );
  const centroids = new Float32Array(count * dimension);
  let done = 0;
  for (const [cluster, rows] of members.entries()) {
    if (counts[cluster] === 0) continue;
    const near = new Float32Array(rows.length * dimension);
    for (const [position, row] of rows.entries()) {
      near.set(shared.subarray(row * dimension, (row + 1) * dimension), position * dimension);
    }
    const lower = await trainOneLevel(near, { ...options, count: counts[cluster], seed: seed + cluster });
    centroids.set(lower, done * dimension);
    done += counts[cluster];
  }
  return centroids;
}

/** Distributes centroids among clusters in proportion to their vectors, which are at least as many. */
function apportioned(sizes: readonly number[], count: number): number[] {
  const counts = sizes.map(() => 0);
  for (let done = 0; done < count; done++) {
    // The cluster with the most vectors per centroid gets the next.
    let best = -1;
    for (let cluster = 0; cluster < sizes.length; cluster++) {
      if (counts[cluster] === sizes[cluster]) continue;
      if (best < 0 || sizes[cluster] * (counts[best] + 1) > sizes[best] * (counts[cluster] + 1))
        best = cluster;
    }
    counts[best]++;
  }
  return counts;
}

let lastKey = 0;

/** Reserves consecutive unique keys and returns the first. */
export function newKeys(count: number): number {
  const first = lastKey + 1;
  lastKey += count;
  return first;
}

/** Makes centroids. @param values immutable from now on */
export const centroidsOf = (
  values: Float32Array,
  { dimension, metric }: Pick<KmeansOptions, "dimension" | "metric">,
): Centroids => ({ values, dimension, metric, key: newKeys(1) });

/** Nearest centroid of each vector and its score (nearestKernel.ts). */
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

/** Finds the nearest centroid of each vector; the first of equally near ones. */
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
    take(start, assigned) {
      nearest.set(assigned.nearest, start);
      scores.set(assigned.scores, start);
    },
  });
  return { nearest, scores };
}
