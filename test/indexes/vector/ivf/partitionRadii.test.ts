/** Radii never exclude a partition with a near enough row, whatever the rounding. */

import { expect, it } from "vitest";
import type { Codes } from "../../../../src/indexes/vector/codes/codes.js";
import { fillDistances, queryVector } from "../../../../src/indexes/vector/distance/distance.js";
import type { IvfFiles } from "../../../../src/indexes/vector/ivf/ivfFiles.js";
import { PartitionRadii } from "../../../../src/indexes/vector/ivf/partitionRadii.js";
import { randomNumbers } from "../../../support/vectorTables.js";

const DIMENSION = 40;
const ROWS = 50;

const flat = {
  model: { kind: "FLAT" },
  from: (query: Float64Array) => ({
    all(_: unknown, bytes: Uint8Array, distances: Float32Array) {
      const vector = queryVector("float32", query);
      fillDistances("float32", "l2", [vector], bytes, [distances]);
    },
  }),
} as unknown as Codes;

const reachesOf = (metric: string, item = "float32") =>
  PartitionRadii.of({
    ...{ codes: flat, metric, item, graphs: null, dimension: DIMENSION },
    ...{ starts: Uint32Array.of(0, ROWS), centroids: new Float32Array(DIMENSION) },
  } as unknown as IvfFiles);

it.each([1e-12, 1, 1e12])("radii exclude no near row at a scale of %d", async (scale) => {
  const next = randomNumbers(9);
  let beyond = 0;
  for (let round = 0; round < 200; round++) {
    const centroid = Float32Array.from({ length: DIMENSION }, () => scale * (next() - 0.5));
    // Some rows and queries are collinear with the centroid, so that the triangle is flat.
    const direction = Float64Array.from({ length: DIMENSION }, () => next() - 0.5);
    const along = (length: number) =>
      Float32Array.from(
        centroid,
        (value, index) => value + scale * (length * direction[index] + (round % 2) * 0.01 * (next() - 0.5)),
      );
    const rows = Array.from({ length: ROWS }, () => along(0.1 * next()));
    const vector = Float64Array.from(along(0.1 + 10 ** (-5 * next())));
    const bytes = new Uint8Array(Float32Array.from(rows.flatMap((row) => [...row])).buffer);
    const queryVectors = queryVector("float32", vector);
    const [distances, toCentroid] = [new Float32Array(ROWS), new Float32Array(1)];
    fillDistances("float32", "l2", [queryVectors], bytes, [distances]);
    fillDistances("float32", "l2", [queryVectors], new Uint8Array(centroid.buffer), [toCentroid]);
    const radii = reachesOf("l2");
    if (radii === null) throw new Error("no reaches");
    expect(radii.isBeyond(0, toCentroid[0], 0)).toBe(false);
    await radii.note(0, 1, centroid, bytes, ROWS);
    expect(radii.isBeyond(0, toCentroid[0], 0)).toBe(false);
    await radii.note(0, 1, centroid, bytes, ROWS);
    const nearest = Math.min(...distances);
    expect(radii.isBeyond(0, toCentroid[0], nearest)).toBe(false);
    expect(radii.isBeyond(0, toCentroid[0], Number.POSITIVE_INFINITY)).toBe(false);
    if (radii.isBeyond(0, toCentroid[0], nearest / 4)) beyond++;
  }
  expect(beyond).toBeGreaterThan(50);
});

it("radii do not exist for metrics without the triangle inequality and for rounded vectors", () => {
  expect(reachesOf("dot")).toBeNull();
  expect(reachesOf("cosine")).toBeNull();
  expect(reachesOf("l2", "float16")).toBeNull();
});
