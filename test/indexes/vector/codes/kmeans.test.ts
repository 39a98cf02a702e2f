/** Centroids, partitions and codes are good, and the same for any number of threads. */

import { describe, expect, it } from "vitest";
import {
  encoderOf,
  encodeVectors,
  encodingParts,
  trainCodebook,
} from "../../../../src/indexes/vector/codes/encoders.js";
import { assignVectors, centroidsOf, trainCentroids } from "../../../../src/indexes/vector/codes/kmeans.js";
import { VectorWork } from "../../../../src/indexes/vector/codes/vectorWork.js";
import { randomNumbers } from "../../../support/vectorTables.js";
import { slowPool } from "../slowPool.js";

const DIMENSION = 24;

function vectorsAbout(places: number, rowCount: number): Float32Array {
  const next = randomNumbers(places);
  const centres = Float32Array.from({ length: places * DIMENSION }, () => next() * 20);
  return Float32Array.from({ length: rowCount * DIMENSION }, (_, index) => {
    const row = Math.floor(index / DIMENSION);
    return centres[(row % places) * DIMENSION + (index % DIMENSION)] + next();
  });
}

const training = (count: number, metric: "l2" | "dot", work: VectorWork) =>
  ({ metric, count, dimension: DIMENSION, maxRounds: 20, seed: 9, work }) as const;

function nearestTo(vectors: Float32Array, row: number, centroids: Float32Array, dimension: number) {
  let nearest = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let centroid = 0; centroid * dimension < centroids.length; centroid++) {
    let sum = 0;
    for (let index = 0; index < dimension; index++)
      sum += (vectors[row * dimension + index] - centroids[centroid * dimension + index]) ** 2;
    if (sum < least) [least, nearest] = [sum, centroid];
  }
  return { nearest, least };
}

function sumOfSquares(vectors: Float32Array, centroids: Float32Array, dimension: number): number {
  let sum = 0;
  for (let row = 0; row * dimension < vectors.length; row++)
    sum += nearestTo(vectors, row, centroids, dimension).least;
  return sum;
}

/** Moves centroids to the means of their vectors, for a number of rounds. */
function plainRounds(vectors: Float32Array, first: Float32Array, dimension: number, rounds: number) {
  let centroids = first;
  for (let round = 0; round < rounds; round++) {
    const sums = new Float64Array(first.length);
    const counts = new Uint32Array(first.length / dimension);
    for (let row = 0; row * dimension < vectors.length; row++) {
      const { nearest } = nearestTo(vectors, row, centroids, dimension);
      counts[nearest]++;
      for (let index = 0; index < dimension; index++)
        sums[nearest * dimension + index] += vectors[row * dimension + index];
    }
    centroids = Float32Array.from(
      sums,
      (sum, index) => sum / Math.max(1, counts[Math.floor(index / dimension)]),
    );
  }
  return centroids;
}

describe("centroids", () => {
  it.each([
    [40, "l2"],
    [40, "dot"],
    [600, "l2"],
  ] as const)("are the same with threads (%i by %s)", async (count, metric) => {
    const vectors = vectorsAbout(50, 20_000);
    const alone = await trainCentroids(vectors, training(count, metric, new VectorWork()));
    for (const threads of [1, 3]) {
      const tasks: string[] = [];
      const work = new VectorWork(slowPool(threads, tasks));
      expect(await trainCentroids(vectors, training(count, metric, work))).toEqual(alone);
      expect(tasks.length).toBeGreaterThan(0);
    }
  });

  it.each([30, 900])("lie at the centers of the vectors (%i centers)", async (places) => {
    const vectors = vectorsAbout(places, places * 40);
    const work = new VectorWork();
    const values = await trainCentroids(vectors, training(places, "l2", work));
    const centroids = centroidsOf(values, { dimension: DIMENSION, metric: "l2" });
    const { nearest, scores } = await assignVectors(vectors, centroids, work);
    let sum = 0;
    for (const value of vectors) sum += value * value;
    for (const score of scores) sum -= 2 * score;
    // Values are uniform within 1 around their center, with variance 1/12. Some centers share a centroid.
    expect(sum / vectors.length).toBeLessThan(3);
    expect(new Set(nearest).size).toBe(places);
  });

  it("are as good as after many plain rounds", async () => {
    const [count, dimension] = [128, 8];
    const next = randomNumbers(5);
    const directions = Float32Array.from({ length: 3 * dimension }, () => next() - 0.5);
    const vectors = new Float32Array(20_000 * dimension);
    for (let row = 0; row < vectors.length; row += dimension) {
      const weights = [next() * 4, next() * 2, next()];
      for (let index = 0; index < dimension; index++) {
        vectors[row + index] = next();
        for (const [which, weight] of weights.entries())
          vectors[row + index] += weight * directions[which * dimension + index];
      }
    }
    const options = { ...training(count, "l2", new VectorWork()), dimension, maxRounds: 50 };
    const trained = await trainCentroids(vectors, options);
    expect(sumOfSquares(vectors, trained, dimension)).toBeLessThan(
      1.006 * sumOfSquares(vectors, plainRounds(vectors, trained, dimension, 30), dimension),
    );
  });

  it("have the wanted number even if all vectors are equal", async () => {
    const vectors = new Float32Array(700 * DIMENSION).fill(3);
    const values = await trainCentroids(vectors, training(600, "l2", new VectorWork()));
    expect(values).toEqual(new Float32Array(600 * DIMENSION).fill(3));
  });
});

it("threads do not change codes of any kind", async () => {
  const vectors = vectorsAbout(10, 4000);
  const work = new VectorWork();
  const centroids = await trainCentroids(vectors, training(8, "l2", work));
  const indexed = { item: "float32", dimension: DIMENSION, metric: "l2" } as const;
  const parameters = { numSubVectors: 6, maxIterations: 2 };
  const book = (by: VectorWork) =>
    trainCodebook(indexed, parameters, vectors, centroids, { seed: 1, work: by });
  const pq = await book(work);
  const threads = new VectorWork(slowPool(2, []));
  expect(await book(threads)).toEqual(pq);
  for (const model of [{ kind: "FLAT" }, { kind: "SQ", start: 0, end: 21 }, pq] as const) {
    const encoded = await Promise.all(
      [work, threads].map((by) => {
        const parts = encodingParts(model, indexed, centroids, by);
        return encodeVectors(parts, encoderOf(parts), by.share(vectors), by);
      }),
    );
    expect(encoded[1].partitions).toEqual(encoded[0].partitions);
    expect(encoded[1].codes).toEqual(encoded[0].codes);
  }
});
