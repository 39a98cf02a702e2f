/** Sketch bounds hold for computed distances of arbitrary vectors and queries. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillDistances, queryVector } from "../../../../src/indexes/vector/distance/distance.js";
import { SketchQuery } from "../../../../src/indexes/vector/sketches/sketchBounds.js";
import type { SketchMetric } from "../../../../src/indexes/vector/sketches/sketchKernels.js";
import { SketchStore, type VectorSketch } from "../../../../src/indexes/vector/sketches/sketchStore.js";
import { runsOf } from "../../../support/effort.js";
import { randomNumbers } from "../../../support/vectorTables.js";

const METRICS: readonly SketchMetric[] = ["l2", "cosine", "dot"];
const ROWS = 1500;

function sketchOf(store: SketchStore, key: string, values: Float32Array, dimension: number): VectorSketch {
  store.begin();
  store.noteCompared(key, 1);
  const rowCount = values.length / dimension;
  const maker = store.make(key, { dimension, rowCount });
  if (maker === null) throw new Error("no sketch");
  for (let row = 0; row < rowCount; row += maker.pieceRows) {
    const end = Math.min(rowCount, row + maker.pieceRows);
    maker.put(values.subarray(row * dimension, end * dimension), () => false);
  }
  maker.end();
  const sketch = store.use(key);
  if (sketch === null) throw new Error("no sketch");
  return sketch;
}

function hardVectors(dimension: number, seed: number): Float32Array {
  const next = randomNumbers(seed);
  const values = new Float32Array(ROWS * dimension);
  const centre = Float32Array.from({ length: dimension }, () => (next() * 4 - 2) * 10 ** (next() * 8 - 4));
  for (let row = 0; row < ROWS; row++) {
    const kind = Math.floor(next() * 10);
    const scale = 10 ** (kind < 5 ? 0 : next() * 34 - 17);
    for (let index = 0; index < dimension; index++) {
      const slot = row * dimension + index;
      const value = next() * 4 - 2;
      if (kind === 0) values[slot] = centre[index];
      else if (kind === 1) values[slot] = centre[index] * (1 + value * 1e-6);
      else if (kind === 2) values[slot] = index === row % dimension ? 1e6 * value : value * 1e-6;
      else if (kind === 3) values[slot] = row % 3 === 0 ? 0 : row % 3 === 1 ? 1 : -0.5;
      else values[slot] = value * scale;
    }
    if (kind === 9) values[row * dimension] = [Number.NaN, Infinity, -Infinity, 1e38, 1e-42][row % 5];
  }
  return values;
}

describe.each(METRICS)("sketches by %s", (metric) => {
  it("exclude no near row, and their bounds hold", () => {
    const store = new SketchStore(2 ** 24);
    let made = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e6 }),
        fc.constantFrom(16, 17, 33, 128, 300),
        (seed, dimension) => {
          const values = hardVectors(dimension, seed);
          const sketch = sketchOf(store, `${made++}`, values, dimension);
          const from = Math.floor(randomNumbers(seed + 7)() * ROWS) * dimension;
          const difference = Float64Array.from(values.subarray(from, from + dimension), (value, index) =>
            Number.isFinite(value) ? value * (seed % 2 === 0 ? 1 : 1 + index * 1e-3) : 1,
          );
          const vector = queryVector("float32", difference);
          const query = SketchQuery.of(metric, vector);
          const distances = new Float32Array(ROWS);
          const bytes = new Uint8Array(values.buffer);
          fillDistances("float32", metric, [vector], bytes, [distances]);
          store.release(sketch);
          if (query === null) return;
          const finiteDistances = [...distances]
            .filter((distance) => distance < Infinity)
            .sort((a, b) => a - b);
          for (const limit of [
            Infinity,
            finiteDistances[0],
            finiteDistances[10],
            finiteDistances[finiteDistances.length >> 1],
          ]) {
            const selected = new Set<number>();
            const wrong: object[] = [];
            for (let position = 0; position < sketch.slotCount; position++) {
              const first = position * sketch.slotRows;
              const count = Math.min(sketch.slotRows, ROWS - first);
              const { memory } = sketch;
              const selection = memory.select(sketch, position, { metric, query }, limit, count, false);
              const numbers = memory.numbersOf(sketch, position);
              const bounds = new Float64Array(2);
              for (const [index, row] of selection.rows.entries()) {
                selected.add(first + row);
                query.bounds(selection.estimates[index], numbers[4 * row + 1], numbers[4 * row + 3], bounds);
                const distance = distances[first + row];
                if (Number.isNaN(distance)) continue;
                expect(bounds[0]).toBeLessThanOrEqual(distance);
                expect(bounds[1]).toBeGreaterThanOrEqual(distance);
              }
            }
            for (let row = 0; row < ROWS; row++) {
              const isWanted = distances[row] <= limit && distances[row] < Infinity;
              if (isWanted && !selected.has(row)) wrong.push({ row, distance: distances[row], limit });
            }
            expect(wrong).toEqual([]);
          }
        },
      ),
      { numRuns: runsOf("SKETCH_RUNS", 160) },
    );
  });

  it("exclude most rows of realistic vectors", () => {
    const dimension = 128;
    const next = randomNumbers(5);
    const values = Float32Array.from({ length: ROWS * dimension }, () => next() * 2 - 1);
    const store = new SketchStore(2 ** 22);
    const sketch = sketchOf(store, "realistic", values, dimension);
    const vector = queryVector(
      "float32",
      Float64Array.from(values.subarray(0, dimension), (x) => x + next() * 0.5),
    );
    const query = SketchQuery.of(metric, vector);
    if (query === null) throw new Error("no query");
    const distances = new Float32Array(ROWS);
    fillDistances("float32", metric, [vector], new Uint8Array(values.buffer), [distances]);
    const tenth = [...distances].sort((a, b) => a - b)[9];
    const { rows } = sketch.memory.select(sketch, 0, { metric, query }, tenth, ROWS, false);
    expect(rows.length).toBeGreaterThanOrEqual(10);
    expect(rows.length).toBeLessThan(60);
  });
});

describe("the sketch store", () => {
  const dimension = 16;
  const values = new Float32Array(8192 * dimension).fill(1);
  /** Two slots besides the kernel's memory. */
  const makeStore = () => new SketchStore(2 ** 20);

  it("makes sketches only of compared columns with enough rows", () => {
    const store = makeStore();
    expect(store.make("a", { dimension, rowCount: 8192 })).toBeNull();
    store.noteCompared("a", 0.5);
    expect(store.make("a", { dimension, rowCount: 8192 })).toBeNull();
    store.noteCompared("a", 0.5);
    expect(store.make("a", { dimension, rowCount: 10 })).toBeNull();
    expect(store.make("a", { dimension: 10_000, rowCount: 8192 })).toBeNull();
    const maker = store.make("a", { dimension, rowCount: 8192 });
    expect(maker).not.toBeNull();
    // An unfinished sketch is neither made twice nor used.
    expect(store.make("a", { dimension, rowCount: 8192 })).toBeNull();
    expect(store.use("a")).toBeNull();
    // A sketch that ends early is dropped.
    maker?.end();
    expect(store.use("a")).toBeNull();
    expect(store.size).toBe(0);
  });

  it("stays within its memory and reuses that of unused sketches", () => {
    const store = makeStore();
    sketchOf(store, "a", values, dimension);
    sketchOf(store, "b", values, dimension);
    const kept = [store.use("a"), store.use("b")];
    store.noteCompared("c", 1);
    for (let search = 0; search < 20; search++) store.begin();
    expect(store.make("c", { dimension, rowCount: 8192 })).toBeNull();
    for (const sketch of kept) if (sketch !== null) store.release(sketch);
    store.use("a");
    expect(store.size).toBe(2);
    for (const sketch of kept) if (sketch !== null) store.release(sketch);
    sketchOf(store, "c", values, dimension);
    expect(store.use("b")).toBeNull();
    expect(store.use("c")).not.toBeNull();
    expect(store.weight).toBeLessThanOrEqual(2 ** 20);
    store.clear();
    expect(store.weight).toBe(0);
    expect(store.use("a")).toBeNull();
  });

  it("makes no sketch without memory", () => {
    const store = new SketchStore(0);
    store.noteCompared("a", 5);
    expect(store.make("a", { dimension, rowCount: 8192 })).toBeNull();
    expect(store.weight).toBe(0);
  });
});
