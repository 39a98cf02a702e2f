/** Partition sketches exclude no near enough row, and most others. */

import { expect, it } from "vitest";
import { fillDistances, queryVector } from "../../../../src/indexes/vector/distance/distance.js";
import { encodeVector } from "../../../../src/indexes/vector/distance/metric.js";
import { PartitionSketch, prepareSketches } from "../../../../src/indexes/vector/sketches/partitionSketch.js";
import { randomNumbers } from "../../../support/vectorTables.js";

const DIMENSION = 100;

it.each([
  ["float32", "l2", 5000],
  ["float32", "cosine", 2321],
  ["float32", "dot", 700],
  ["float16", "l2", 4097],
] as const)("of %s by %s, %d rows", async (item, metric, rowCount) => {
  const next = randomNumbers(5);
  const numbers = Float32Array.from({ length: rowCount * DIMENSION }, () => next() * 4 - 2);
  const vectors = encodeVector(item, numbers);
  const sketch = await PartitionSketch.make(item, DIMENSION, vectors, undefined);
  // Another sketch shares the memory.
  await PartitionSketch.make(item, DIMENSION, encodeVector(item, numbers.map(Math.abs)), undefined);
  const query = queryVector(
    item,
    Float64Array.from({ length: DIMENSION }, () => next() * 4 - 2),
  );
  const asked = prepareSketches(metric, item, query);
  if (sketch === null || asked === null) throw new Error("no sketch");
  const distances = new Float32Array(rowCount);
  fillDistances(item, metric, [query], vectors, [distances]);
  for (const rank of [0, 20, rowCount - 1]) {
    const most = distances.slice().sort()[rank];
    const selected = new Set<number>();
    for (let start = 0, position = 0; start < rowCount; start += sketch.pieceRows, position++) {
      for (const row of sketch.select(position, asked, most).rows) selected.add(start + row);
    }
    for (const [row, distance] of distances.entries()) {
      if (distance <= most) expect(selected.has(row)).toBe(true);
    }
    if (rank === 20) expect(selected.size).toBeLessThan(rowCount / 4);
    if (rank === rowCount - 1) expect(selected.size).toBe(rowCount);
  }
});

it("PartitionSketch refuses few vectors and other item types", async () => {
  const few = encodeVector("float32", new Float32Array(20 * DIMENSION).fill(1));
  expect(await PartitionSketch.make("float32", DIMENSION, few, undefined)).toBeNull();
  const query = queryVector("float64", new Float64Array(DIMENSION).fill(1));
  expect(prepareSketches("l2", "float64", query)).toBeNull();
  expect(prepareSketches("l2", "float32", queryVector("float32", new Float64Array(DIMENSION)))).toBeNull();
});
