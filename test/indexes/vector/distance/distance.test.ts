import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeHalfFloat } from "../../../../src/bytes/halfFloat.js";
import { fillDistances, queryVector } from "../../../../src/indexes/vector/distance/distance.js";
import { distanceKernels } from "../../../../src/indexes/vector/distance/distanceKernel.js";
import {
  encodeVector,
  isMetricOf,
  METRIC_NAMES,
  type Metric,
  type VectorItem,
} from "../../../../src/indexes/vector/distance/metric.js";

const ITEMS: readonly VectorItem[] = ["float16", "float32", "float64", "uint8"];
const CASES = ITEMS.flatMap((item) =>
  METRIC_NAMES.filter((metric) => isMetricOf(metric, item)).map((metric) => ({ item, metric })),
);

const numbersOfItem = (item: VectorItem): fc.Arbitrary<number> =>
  item === "uint8"
    ? fc.integer({ min: 0, max: 255 })
    : fc.oneof(
        fc.constantFrom(0, -0, 1, -1, 6e-8, 3e-5, 0.333),
        // Products of smaller numbers underflow float32.
        fc.float({ min: -100, max: 100, noNaN: true }).map((value) => (Math.abs(value) < 1e-6 ? 0 : value)),
      );

/** Random rows and queries of one dimension. */
const vectors = (item: VectorItem) =>
  fc.integer({ min: 1, max: 70 }).chain((dimension) => {
    const vector = fc.array(numbersOfItem(item), { minLength: dimension, maxLength: dimension });
    return fc.record({
      dimension: fc.constant(dimension),
      rows: fc.array(vector, { minLength: 1, maxLength: 40 }),
      queries: fc.array(vector, { minLength: 1, maxLength: 3 }),
      padding: fc.integer({ min: 0, max: 3 }),
    });
  });

const allKernels = Object.values(distanceKernels).flatMap((kernels) => Object.values(kernels));

function measure(
  item: VectorItem,
  metric: Metric,
  rows: readonly (readonly number[])[],
  queries: readonly (readonly number[])[],
  padding = 0,
): Float32Array[] {
  const parts = rows.map((row) => encodeVector(item, Float64Array.from(row)));
  const width = parts[0].length;
  // Values may be unaligned.
  const values = new Uint8Array(padding + rows.length * width).subarray(padding);
  for (const [row, bytes] of parts.entries()) values.set(bytes, row * width);
  const distances = queries.map(() => new Float32Array(rows.length));
  const asked = queries.map((query) => queryVector(item, Float64Array.from(query)));
  fillDistances(item, metric, asked, values, distances);
  return distances;
}

function plainly<Result>(act: () => Result): Result {
  for (const use of allKernels) use.isOn = false;
  try {
    return act();
  } finally {
    for (const use of allKernels) use.isOn = true;
  }
}

/** Sums of many terms differ in their last digits, relative to the terms. */
function expectClose(measured: number, wanted: number, scale: number): void {
  if (Number.isNaN(wanted)) expect(measured).toBeNaN();
  else if (!Number.isFinite(wanted)) expect(measured).toBe(wanted);
  else expect(Math.abs(measured - wanted)).toBeLessThanOrEqual(1e-6 * Math.max(Math.abs(wanted), scale));
}

it("every metric and item type has a kernel", () => {
  for (const { item, metric } of CASES)
    expect(distanceKernels[item][metric]?.get(), `${item} ${metric}`).not.toBeNull();
});

it.each(CASES)("the kernel of $metric for $item equals the JavaScript form", ({ item, metric }) => {
  fc.assert(
    fc.property(vectors(item), ({ rows, queries, padding }) => {
      const measured = measure(item, metric, rows, queries, padding);
      const wanted = plainly(() => measure(item, metric, rows, queries, padding));
      for (const [query, distances] of measured.entries()) {
        const norm = (vector: readonly number[]) => Math.hypot(...vector);
        for (const [row, distance] of distances.entries()) {
          const scale =
            metric === "dot" ? norm(rows[row]) * norm(queries[query]) : metric === "cosine" ? 1 : 0;
          if (item === "uint8") expect(distance).toBe(wanted[query][row]);
          else expectClose(distance, wanted[query][row], scale);
        }
      }
    }),
    { numRuns: 60 },
  );
});

it("fillDistances splits rows into pieces, and falls back for long vectors", () => {
  for (const dimension of [3, 128, 1537]) {
    const rows = Array.from({ length: dimension === 3 ? 5000 : 300 }, (_, row) =>
      Array.from({ length: dimension }, (_, index) => ((row * 31 + index * 7) % 101) - 50),
    );
    const [distances] = measure("float32", "l2", rows, [rows[17]]);
    const wanted = rows.map((row) =>
      row.reduce((sum, value, index) => sum + (value - rows[17][index]) ** 2, 0),
    );
    expect(Array.from(distances)).toEqual(wanted.map(Math.fround));
  }
});

it("the kernel decodes every float16", () => {
  const bits = Uint16Array.from({ length: 65_536 }, (_, value) => value);
  const distances = [new Float32Array(bits.length)];
  const one = queryVector("float16", Float64Array.of(1));
  fillDistances("float16", "dot", [one], new Uint8Array(bits.buffer), distances);
  for (const value of bits) {
    const wanted = Math.fround(1 - decodeHalfFloat(value));
    if (Number.isNaN(wanted)) expect(distances[0][value]).toBeNaN();
    else expect(distances[0][value]).toBe(wanted);
  }
});

it("cosine distance is NaN for a vector of length 0", () => {
  expect(measure("float32", "cosine", [[0, 0]], [[1, 0]])[0][0]).toBeNaN();
});
