/**
 * k-means: finds centroids of vectors, and the nearest centroid of each. Vectors are floats of 32 bits, one behind the
 * other. The same vectors and the same seed give the same centroids.
 */

import { breathe } from "../../async/eventLoop.js";
import { fillDistances, type QueryVector } from "./distance.js";
import type { Metric } from "./metric.js";
import { type LoadedCentroids, loadCentroids } from "./nearestKernel.js";

/** Products of values that are computed before other work on the thread has its turn. */
const STEP_PRODUCTS = 2 ** 23;
const MIN_STEP_ROWS = 32;
const MAX_STEP_ROWS = 2048;
/** The search ends where a round brings down the sum of all distances by less than this part. */
const LEAST_GAIN = 1e-4;
/** How far the halves of a centroid that is split lie from it, as a part of its values. */
const SPLIT_PART = 1 / 1024;

export interface KmeansOptions {
  /** `l2`, or `dot` for the largest dot product. */
  readonly metric: Extract<Metric, "l2" | "dot">;
  readonly count: number;
  readonly dimension: number;
  readonly maxRounds: number;
  readonly seed: number;
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

/** @param vectors at least one */
export async function trainCentroids(vectors: Float32Array, options: KmeansOptions): Promise<Float32Array> {
  const { count, dimension, maxRounds, metric, signal } = options;
  let centroids = await firstCentroids(vectors, options);
  let lastSum = Number.POSITIVE_INFINITY;
  for (let round = 0; round < maxRounds; round++) {
    const sums = new Float64Array(count * dimension);
    const counts = new Uint32Array(count);
    const farthest = new FarthestRows(Math.min(count, vectors.length / dimension));
    let sum = 0;
    await assignVectors(vectors, centroids, { metric, dimension, signal }, (firstRow, nearest, distances) => {
      for (let row = 0; row < nearest.length; row++) {
        const own = nearest[row];
        counts[own]++;
        sum += distances[row];
        farthest.add(distances[row], firstRow + row);
        const from = (firstRow + row) * dimension;
        const to = own * dimension;
        for (let index = 0; index < dimension; index++) sums[to + index] += vectors[from + index];
      }
    });
    centroids = meansOf(sums, counts, dimension);
    for (let own = 0; own < count; own++) {
      if (counts[own] > 0) continue;
      if (metric === "dot") {
        splitLargest(centroids, counts, own, dimension);
        continue;
      }
      // A centroid that no vector is near to takes the place of one of the vectors that are worst off.
      const row = farthest.next();
      centroids.set(vectors.subarray(row * dimension, (row + 1) * dimension), own * dimension);
    }
    const isDone = !counts.includes(0) && Math.abs(lastSum - sum) <= LEAST_GAIN * Math.abs(sum);
    lastSum = sum;
    if (isDone) break;
  }
  return centroids;
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

function meansOf(sums: Float64Array, counts: Uint32Array, dimension: number): Float32Array {
  const means = new Float32Array(sums.length);
  for (let at = 0; at < sums.length; at++)
    means[at] = sums[at] / Math.max(1, counts[Math.floor(at / dimension)]);
  return means;
}

/** The vectors with the greatest distances of a round, the farthest first. */
class FarthestRows {
  readonly #most: number;
  #rows: { readonly distance: number; readonly row: number }[] = [];
  #isSorted = false;

  constructor(most: number) {
    this.#most = Math.min(most, 1024);
  }

  add(distance: number, row: number): void {
    if (this.#rows.length >= this.#most && distance <= this.#rows[this.#rows.length - 1].distance) return;
    this.#rows.push({ distance, row });
    if (this.#rows.length < 2 * this.#most) return;
    this.#sort();
    this.#rows.length = this.#most;
  }

  #sort(): void {
    this.#rows.sort((a, b) => b.distance - a.distance || a.row - b.row);
  }

  next(): number {
    if (!this.#isSorted) this.#sort();
    this.#isSorted = true;
    return this.#rows.shift()?.row ?? 0;
  }
}

/**
 * Vectors far apart from each other: each is chosen with a probability that grows with its distance from those before. By dot
 * product, vectors that are evenly spread over all.
 */
async function firstCentroids(
  vectors: Float32Array,
  { count, dimension, metric, seed, signal }: KmeansOptions,
): Promise<Float32Array> {
  const rowCount = vectors.length / dimension;
  const next = seededNumbers(seed);
  const centroids = new Float32Array(count * dimension);
  if (metric === "dot") {
    for (let own = 0; own < count; own++) {
      const row = Math.floor(((own + next()) * rowCount) / count);
      centroids.set(vectors.subarray(row * dimension, (row + 1) * dimension), own * dimension);
    }
    return centroids;
  }
  const distances = new Float32Array(rowCount).fill(Number.POSITIVE_INFINITY);
  let row = Math.floor(next() * rowCount);
  for (let own = 0; own < count; own++) {
    signal?.throwIfAborted();
    const chosen = vectors.subarray(row * dimension, (row + 1) * dimension);
    centroids.set(chosen, own * dimension);
    let sum = 0;
    await assignVectors(vectors, chosen, { metric: "l2", dimension, signal }, (firstRow, _, fromChosen) => {
      for (let place = 0; place < fromChosen.length; place++) {
        const at = firstRow + place;
        if (fromChosen[place] < distances[at]) distances[at] = fromChosen[place];
        sum += distances[at];
      }
    });
    let left = next() * sum;
    row = 0;
    while (row < rowCount - 1 && left >= distances[row]) left -= distances[row++];
  }
  return centroids;
}

/** Is called with the nearest centroids of some vectors, and the distances from these. */
type TakeAssigned = (firstRow: number, nearest: Uint32Array, distances: Float32Array) => void;

/** Finds the nearest centroid of each vector; of several, the first. */
export async function assignVectors(
  vectors: Float32Array,
  centroids: Float32Array,
  { metric, dimension, signal }: Pick<KmeansOptions, "metric" | "dimension" | "signal">,
  take: TakeAssigned,
): Promise<void> {
  const count = centroids.length / dimension;
  const rowCount = vectors.length / dimension;
  const products = Math.floor(STEP_PRODUCTS / (count * dimension));
  const stepRows = Math.max(MIN_STEP_ROWS, Math.min(MAX_STEP_ROWS, products));
  const find = finderOf(centroids, dimension, metric);
  for (let start = 0; start < rowCount; start += stepRows) {
    signal?.throwIfAborted();
    const rows = Math.min(stepRows, rowCount - start);
    const nearest = new Uint32Array(rows);
    const distances = new Float32Array(rows);
    find(vectors.subarray(start * dimension, (start + rows) * dimension), rows, nearest, distances);
    take(start, nearest, distances);
    await breathe();
  }
}

type FindNearest = LoadedCentroids["find"];

/** Measures all vectors from one centroid after the other, where there is no quicker way. */
function finderOf(centroids: Float32Array, dimension: number, metric: "l2" | "dot"): FindNearest {
  // Others load theirs while this one waits: it loads its own again for each step.
  if (loadCentroids(centroids, dimension, metric) !== null) {
    return (...step) => loadCentroids(centroids, dimension, metric)?.find(...step);
  }
  const count = centroids.length / dimension;
  const queries = Array.from({ length: count }, (_, own): QueryVector => {
    const numbers = centroids.slice(own * dimension, (own + 1) * dimension);
    return { numbers, bytes: new Uint8Array(numbers.buffer), norm: 1 };
  });
  return (values, rows, nearest, least) => {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const room = queries.map(() => new Float32Array(rows));
    fillDistances("float32", metric, queries, dimension, bytes, rows, room);
    least.set(room[0]);
    for (let own = 1; own < count; own++) {
      const distances = room[own];
      for (let row = 0; row < rows; row++) {
        if (distances[row] < least[row]) {
          least[row] = distances[row];
          nearest[row] = own;
        }
      }
    }
  };
}
