/** Compares the nearest centroids, from the kernel and without it, with the definition. */

import { afterEach, expect, it } from "vitest";
import { assignVectors, centroidsOf } from "../../../../src/indexes/vector/codes/kmeans.js";
import { VectorWork } from "../../../../src/indexes/vector/codes/vectorWork.js";
import { nearestKernelUse } from "../../../../src/indexes/vector/distance/nearestKernel.js";
import { randomNumbers } from "../../../support/vectorTables.js";

afterEach(() => {
  nearestKernelUse.isOn = true;
});

const CASES = [
  [1, 1],
  [3, 8],
  [4, 16],
  [5, 17],
  [8, 256],
  [16, 31],
  [130, 40],
  [1025, 9],
] as const;

it.each(
  CASES,
)("findNearest matches the definition: %i dimensions, %i centroids", async (dimension, count) => {
  const next = randomNumbers(dimension * 1000 + count);
  const numbers = (rows: number) => Float32Array.from({ length: rows * dimension }, () => next() * 4 - 2);
  const rowCount = 700;
  const [vectors, centroids] = [numbers(rowCount), numbers(count)];
  // Of two equal centroids, the first counts.
  if (count > 2) centroids.copyWithin((count - 1) * dimension, 0, dimension);
  for (const metric of ["l2", "dot"] as const) {
    const distanceOf = (row: number, centroid: number): number => {
      let sum = 0;
      for (let index = 0; index < dimension; index++) {
        const [a, b] = [vectors[row * dimension + index], centroids[centroid * dimension + index]];
        sum += metric === "l2" ? (a - b) ** 2 : a * b;
      }
      return metric === "l2" ? sum : 1 - sum;
    };
    const distanceIn = (by: "l2" | "dot", row: number, score: number): number => {
      if (by === "dot") return 1 - score;
      const vector = vectors.subarray(row * dimension, (row + 1) * dimension);
      return vector.reduce((sum, value) => sum + value * value, -2 * score);
    };
    for (const isOn of [true, false]) {
      nearestKernelUse.isOn = isOn;
      const made = centroidsOf(centroids, { metric, dimension });
      const { nearest, scores } = await assignVectors(vectors, made, new VectorWork());
      for (const [row, centroid] of nearest.entries()) {
        const all = Array.from({ length: count }, (_, each) => distanceOf(row, each));
        const least = Math.min(...all);
        // The kernel multiplies integers, whose error grows with both lengths.
        const tolerance = (isOn ? 1e-4 : 1e-5) * (dimension + Math.abs(least));
        expect(Math.abs(distanceIn(metric, row, scores[row]) - least)).toBeLessThan(tolerance);
        expect(all[centroid] - least).toBeLessThan(tolerance);
        if (count > 2) expect(centroid).toBeLessThan(count - 1);
      }
    }
  }
});

it("findNearest handles short vectors with a large common offset, and mixed lengths", async () => {
  const [dimension, rowCount, count] = [24, 500, 32];
  const next = randomNumbers(91);
  const around = (middle: number, rows: number, lengthOf: () => number) =>
    Float32Array.from({ length: rows * dimension }, () => middle + lengthOf() * (next() * 2 - 1));
  const settings = [
    [1000, () => 1],
    [0, () => 10 ** (6 * next() - 3)],
    [0, () => 1e-12],
    [0, () => 0],
  ] as const;
  for (const [middle, lengthOf] of settings) {
    const [vectors, centroids] = [around(middle, rowCount, lengthOf), around(middle, count, lengthOf)];
    const made = centroidsOf(centroids, { metric: "l2", dimension });
    const { nearest } = await assignVectors(vectors, made, new VectorWork());
    for (const [row, centroid] of nearest.entries()) {
      const vector = vectors.subarray(row * dimension, (row + 1) * dimension);
      const all = Array.from({ length: count }, (_, each) =>
        vector.reduce((sum, value, index) => sum + (value - centroids[each * dimension + index]) ** 2, 0),
      );
      expect(all[centroid]).toBeLessThanOrEqual(Math.min(...all) * 1.001);
    }
  }
});
