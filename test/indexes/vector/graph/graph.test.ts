/** Builds HNSW graphs in memory and compares searches with a scan. */

import { describe, expect, it } from "vitest";
import type { MeasureRows } from "../../../../src/indexes/vector/codes/codes.js";
import { VectorWork } from "../../../../src/indexes/vector/codes/vectorWork.js";
import { Beam, NearestFirst } from "../../../../src/indexes/vector/distance/nearestFirst.js";
import type { SpaceOptions } from "../../../../src/indexes/vector/distance/spaceKernels.js";
import { openSpace, spaceMemory } from "../../../../src/indexes/vector/distance/vectorSpace.js";
import { BuiltGraph, graphBytes } from "../../../../src/indexes/vector/graph/buildGraph.js";
import type { Graph } from "../../../../src/indexes/vector/graph/graphFiles.js";
import { searchGraph } from "../../../../src/indexes/vector/graph/graphSearch.js";
import { PackedGraph } from "../../../../src/indexes/vector/graph/packedGraph.js";
import { randomNumbers } from "../../../support/vectorTables.js";
import { slowPool } from "../slowPool.js";

const valuesOf = ({ item, rowCount, dimension }: SpaceOptions, seed: number) => {
  const next = randomNumbers(seed);
  const length = rowCount * dimension;
  return item === "float32"
    ? Float32Array.from({ length }, () => next() * 4 - 2)
    : Uint8Array.from({ length }, () => next() * 256);
};

it.each([
  ["float32", "l2", 1],
  ["float32", "dot", 7],
  ["float32", "l2", 24],
  ["float32", "dot", 130],
  ["uint8", "l2", 3],
  ["uint8", "l2", 32],
  ["uint8", "l2", 1000],
] as const)("vectors of %s are measured by %s alike with and without a kernel (%i values)", (item, metric, dimension) => {
  const options: SpaceOptions = { item, metric, dimension, rowCount: 50 };
  const values = valuesOf(options, dimension);
  const [fast, plain] = [openSpace(spaceMemory(options)), openSpace(spaceMemory(options, 1, 0, false))];
  for (const space of [fast, plain]) {
    space.put(0, values.subarray(0, 20 * dimension));
    space.put(20, values.subarray(20 * dimension));
  }
  const others = Uint32Array.from({ length: 49 }, (_, row) => row + 1);
  const [distances, plainDistances] = [new Float64Array(49), new Float64Array(49)];
  for (const row of [0, 13, 49]) {
    fast.measure(row, others, 49, distances);
    plain.measure(row, others, 49, plainDistances);
    for (let offset = 0; offset < 49; offset++) {
      expect(Math.abs(distances[offset] - plainDistances[offset])).toBeLessThanOrEqual(
        1e-4 * Math.max(1, Math.abs(plainDistances[offset])),
      );
      let sum = 0;
      for (let index = 0; index < dimension; index++) {
        const [a, b] = [values[row * dimension + index], values[(offset + 1) * dimension + index]];
        sum += metric === "dot" ? a * b : (a - b) ** 2;
      }
      expect(plainDistances[offset]).toBeCloseTo(metric === "dot" ? 1 - sum : sum, 3);
    }
  }
});

it.each([
  ["float32", "l2", 5],
  ["float32", "dot", 24],
  ["uint8", "l2", 40],
  ["uint8", "l2", 2100],
] as const)("vectors of %s that lie apart by %s are chosen alike with and without a kernel (%i values)", (item, metric, dimension) => {
  const options: SpaceOptions = { item, metric, dimension, rowCount: 300 };
  // Small integers keep float sums exact.
  const values = valuesOf(options, dimension).map(Math.round);
  const [fast, plain] = [openSpace(spaceMemory(options)), openSpace(spaceMemory(options, 1, 0, false))];
  for (const space of [fast, plain]) space.put(0, values);
  const rows = Uint32Array.from({ length: 299 }, (_, row) => row + 1);
  const measured = new Float64Array(299);
  plain.measure(0, rows, 299, measured);
  rows.sort((a, b) => measured[a - 1] - measured[b - 1]);
  const distances = Float64Array.from(rows, (row) => measured[row - 1]);
  for (const [count, most] of [
    [0, 5],
    [1, 1],
    [299, 6],
    [299, 299],
  ]) {
    const [kernelChoice, plainChoice] = [new Uint32Array(most), new Uint32Array(most)];
    const chosen = plain.choose(rows, distances, count, most, plainChoice);
    expect(fast.choose(rows, distances, count, most, kernelChoice)).toBe(chosen);
    expect(kernelChoice).toEqual(plainChoice);
    expect(chosen).toBeGreaterThanOrEqual(Math.min(count, 1));
    const isChosen = (position: number) => plainChoice.subarray(0, chosen).includes(position);
    const between = new Float64Array(1);
    for (let position = 0; position < count && chosen < most; position++) {
      const isApart = Array.from({ length: position }, (_, index) => index).every((index) => {
        plain.measure(rows[position], rows.subarray(index, index + 1), 1, between);
        return !isChosen(index) || between[0] >= distances[position];
      });
      expect(isChosen(position)).toBe(isApart);
    }
  }
});

it("NearestFirst and Beam order rows by distance", () => {
  const next = randomNumbers(3);
  const distances = Array.from({ length: 1000 }, () => Math.floor(next() * 200));
  const [heap, beam] = [new NearestFirst(), new Beam(60)];
  for (const [row, distance] of distances.entries()) {
    heap.add(distance, row);
    if (distance < beam.bound) beam.add(distance, row);
  }
  const sorted = [...distances].sort((a, b) => a - b);
  expect(Array.from({ length: 1000 }, () => distances[heap.take()])).toEqual(sorted);
  expect([...beam.distances]).toEqual(sorted.slice(0, 60));
  expect(Array.from(beam.rows, (row) => distances[row])).toEqual(sorted.slice(0, 60));
});

const measureBy =
  (distanceOf: (row: number) => number): MeasureRows =>
  (rows, count, distances) => {
    for (let index = 0; index < count; index++) distances[index] = distanceOf(rows[index]);
  };

function graphOf(built: BuiltGraph, rowCount: number): Graph {
  const counts = built.levelCounts().filter((count) => count > 0);
  const lists = counts.map(() => new Map<number, number[]>());
  for (const [row, level] of levelsOf(built)) lists[level.number].set(row, level.neighbours);
  const targets: number[] = [];
  const ranges = lists.map(
    (level) =>
      new Map(
        [...level].map(([row, neighbours]) => {
          const start = targets.length;
          targets.push(...neighbours);
          return [row, { start, end: targets.length }];
        }),
      ),
  );
  return {
    rowCount,
    entryPoint: built.entryPoint,
    levelCount: counts.length,
    targets: Uint32Array.from(targets),
    range(level, row, into) {
      Object.assign(into, ranges[level].get(row) ?? { start: 0, end: 0 });
    },
    upperLevels() {
      return this;
    },
  };
}

function* levelsOf(built: BuiltGraph): Generator<[number, { number: number; neighbours: number[] }]> {
  let number = -1;
  let last = Number.POSITIVE_INFINITY;
  for (const { rows, starts, neighbours } of built.levels(100)) {
    for (const [position, row] of rows.entries()) {
      if (row <= last) number++;
      last = row;
      yield [row, { number, neighbours: [...neighbours.subarray(starts[position], starts[position + 1])] }];
    }
  }
}

describe("a graph", () => {
  const options: SpaceOptions = { item: "float32", metric: "l2", dimension: 8, rowCount: 3000 };
  const values = valuesOf(options, 17);
  const squaresTo = (query: ArrayLike<number>) => (row: number) => {
    let sum = 0;
    for (let index = 0; index < 8; index++) sum += (values[row * 8 + index] - query[index]) ** 2;
    return sum;
  };
  const fail = (row: number): never => {
    throw new RangeError(`row ${row}`);
  };
  const made = async () => {
    const work = new VectorWork();
    const memory = spaceMemory(options, work.lanes);
    openSpace(memory).put(0, values);
    return BuiltGraph.of(memory, options.rowCount, { m: 12, efConstruction: 80, seed: 5 }, work);
  };
  const nearest = (distanceOf: (row: number) => number, accepts: (row: number) => boolean) =>
    Array.from({ length: options.rowCount }, (_, row) => row)
      .filter(accepts)
      .sort((a, b) => distanceOf(a) - distanceOf(b))
      .slice(0, 10);

  it("finds nearly all nearest rows, and is deterministic", async () => {
    const built = await made();
    const graph = graphOf(built, options.rowCount);
    const again = graphOf(await made(), options.rowCount);
    expect(again.targets).toEqual(graph.targets);
    const next = randomNumbers(23);
    let hits = 0;
    for (let query = 0; query < 100; query++) {
      const distanceOf = squaresTo(Array.from({ length: 8 }, () => next() * 4 - 2));
      const measure = measureBy(distanceOf);
      const nearestRows = await searchGraph({ graph, measure, beam: 50, accepts: () => true, fail });
      const wanted = new Set(nearest(distanceOf, () => true));
      hits +=
        nearestRows === null
          ? 0
          : Array.from(nearestRows.rows.subarray(0, 10)).filter((row) => wanted.has(row)).length;
    }
    expect(hits / 1000).toBeGreaterThan(0.97);
  });

  it.each([
    ["float32", "l2", 7, { m: 5, efConstruction: 30 }],
    ["float32", "dot", 40, { m: 12, efConstruction: 60 }],
    ["uint8", "l2", 64, { m: 8, efConstruction: 1 }],
    // Few distinct values give many equal distances.
    ["uint8", "l2", 2, { m: 6, efConstruction: 50 }],
  ] as const)("of %s by %s is the same where walks are kernels (%i values)", async (item, metric, dimension, settings) => {
    const spaceOptions: SpaceOptions = { item, metric, dimension, rowCount: 600 };
    const [plain, fast] = await Promise.all(
      [0, graphBytes(spaceOptions.rowCount, settings, 1)].map(async (moreBytes) => {
        const memory = spaceMemory(spaceOptions, 1, moreBytes);
        openSpace(memory).put(0, valuesOf(spaceOptions, 8));
        const built = await BuiltGraph.of(
          memory,
          spaceOptions.rowCount,
          { ...settings, seed: 7 },
          new VectorWork(),
        );
        return [...built.levels(400)];
      }),
    );
    expect(fast).toEqual(plain);
    const width = 2 * settings.m;
    for (const { rows, starts, neighbours, distances } of fast) {
      for (const [position, row] of rows.entries()) {
        const [first, end] = [starts[position], starts[position + 1]];
        const led = [...neighbours.subarray(first, end)];
        expect(led.length).toBeLessThanOrEqual(width);
        expect(new Set(led).size).toBe(led.length);
        expect(led).not.toContain(row);
        for (const distance of distances.subarray(first, end)) expect(Number.isFinite(distance)).toBe(true);
      }
    }
  });

  it.each([
    [1, true],
    [3, true],
    [3, false],
  ])("is the same with threads (%i, walks are kernels: %s)", async (threads, hasRoom) => {
    const large = { item: "uint8", metric: "l2", dimension: 64, rowCount: 700 } as const;
    const tasks: string[] = [];
    const settings = { m: 60, efConstruction: 9000, seed: 5 };
    const built = async (work: VectorWork) => {
      const moreBytes = hasRoom ? graphBytes(large.rowCount, settings, work.lanes) : 0;
      const memory = spaceMemory(large, work.lanes, moreBytes);
      openSpace(memory).put(0, valuesOf(large, 3));
      return BuiltGraph.of(memory, large.rowCount, settings, work);
    };
    const alone = await built(new VectorWork());
    const shared = await built(new VectorWork(slowPool(threads, tasks)));
    expect(graphOf(shared, large.rowCount).targets).toEqual(graphOf(alone, large.rowCount).targets);
    expect(shared.entryPoint).toBe(alone.entryPoint);
    expect(tasks.length).toBeGreaterThan(10);
  });

  it.each([
    ["float32", true],
    ["float32", false],
    ["uint8", true],
  ] as const)("of %s that are there many times leads on from them (kernels: %s)", async (item, withKernel) => {
    const [places, times, dimension] = [75, 40, 8];
    const spaceOptions: SpaceOptions = { item, metric: "l2", dimension, rowCount: places * times };
    const each = valuesOf({ ...spaceOptions, rowCount: places }, 41);
    const all =
      item === "float32" ? new Float32Array(times * each.length) : new Uint8Array(times * each.length);
    for (let time = 0; time < times; time++) all.set(each, time * each.length);
    const settings = { m: 8, efConstruction: 100 };
    const memory = spaceMemory(spaceOptions, 1, graphBytes(spaceOptions.rowCount, settings, 1), withKernel);
    openSpace(memory).put(0, all);
    const built = await BuiltGraph.of(
      memory,
      spaceOptions.rowCount,
      { ...settings, seed: 5 },
      new VectorWork(),
    );
    const graph = graphOf(built, spaceOptions.rowCount);
    let hits = 0;
    for (let query = 0; query < places; query++) {
      const wanted = each.subarray(query * dimension, (query + 1) * dimension);
      const measure = measureBy((row) => {
        const from = (row % places) * dimension;
        let sum = 0;
        for (const [index, value] of wanted.entries()) sum += (each[from + index] - value) ** 2;
        return sum;
      });
      // The beam holds at most two clusters.
      const nearestRows = await searchGraph({ graph, measure, beam: 60, accepts: () => true, fail });
      if (nearestRows?.distances[9] === 0) hits++;
    }
    expect(hits / places).toBeGreaterThan(0.9);
  });

  it("expands even the farthest beam entry", async () => {
    const graph = graphOf(await made(), options.rowCount);
    const next = randomNumbers(29);
    let hits = 0;
    for (let query = 0; query < 100; query++) {
      const distanceOf = squaresTo(Array.from({ length: 8 }, () => next() * 4 - 2));
      const measure = measureBy(distanceOf);
      const nearestRows = await searchGraph({ graph, measure, beam: 1, accepts: () => true, fail });
      // With a beam of one, a search ends at a local minimum.
      const row = nearestRows?.rows[0] ?? 0;
      const range = { start: 0, end: 0 };
      graph.range(0, row, range);
      const neighbours = graph.targets.subarray(range.start, range.end);
      expect(neighbours.every((neighbour) => distanceOf(neighbour) >= distanceOf(row))).toBe(true);
      if (nearest(distanceOf, () => true)[0] === row) hits++;
    }
    expect(hits).toBeGreaterThan(50);
  });

  describe("packed for a kernel", () => {
    const makeCodes = async (dimension: number, m = 10, rowCount = 3000) => {
      const spaceOptions: SpaceOptions = { item: "uint8", metric: "l2", dimension, rowCount };
      const codes = valuesOf(spaceOptions, 31) as Uint8Array;
      const work = new VectorWork();
      const memory = spaceMemory(spaceOptions, work.lanes);
      openSpace(memory).put(0, codes);
      const built = await BuiltGraph.of(memory, rowCount, { m, efConstruction: 60, seed: 5 }, work);
      return { codes, graph: graphOf(built, rowCount) };
    };
    const squaresOf = (codes: Uint8Array, code: Uint8Array) => (row: number) => {
      let sum = 0;
      for (let index = 0; index < code.length; index++)
        sum += (codes[row * code.length + index] - code[index]) ** 2;
      return sum;
    };

    it.each([
      12, 100, 128, 1600,
    ])("returns the rows of an unpacked search (%i dimensions)", async (dimension) => {
      const { codes, graph } = await makeCodes(
        dimension,
        ...(dimension === 1600 ? ([30, 1100] as const) : []),
      );
      const packed = await PackedGraph.pack(graph, codes, dimension, fail, undefined);
      expect(packed?.memoryWeight).toBeGreaterThan(codes.length);
      const next = randomNumbers(dimension);
      let compared = 0;
      // More walks than walk numbers; long ones take several steps.
      for (let query = 0; query < 300; query++) {
        const beam = 1 + (query % 60);
        const code = Uint8Array.from({ length: dimension }, () => next() * 256);
        const squares = squaresOf(codes, code);
        const measure = measureBy(squares);
        // Two rows at one distance may lead the searches apart.
        const nearestSquares = Float64Array.from({ length: graph.rowCount }, (_, row) => squares(row))
          .sort()
          .subarray(0, 2 * beam);
        if (new Set(nearestSquares).size < nearestSquares.length) continue;
        const plainNearest = await searchGraph({ graph, measure, beam, accepts: () => true, fail });
        const packedNearest = await packed?.nearest(code, beam, undefined);
        expect([...(packedNearest?.distances ?? [])]).toEqual([...(plainNearest?.distances ?? [])]);
        compared++;
        expect(Array.from(packedNearest?.rows ?? [], squares)).toEqual([...(packedNearest?.distances ?? [])]);
        expect(new Set(packedNearest?.rows).size).toBe(beam);
      }
      // In few dimensions, most queries have rows at one distance.
      expect(compared).toBeGreaterThan(dimension === 12 ? 0 : 200);
    });

    it("runs one walk at a time, with a bounded beam", async () => {
      const { codes, graph } = await makeCodes(1600, 40, 1100);
      const packed = await PackedGraph.pack(graph, codes, 1600, fail, undefined);
      const code = codes.slice(0, 1600);
      const both = await Promise.all([
        packed?.nearest(code, 250, undefined),
        packed?.nearest(code, 5, undefined),
      ]);
      expect(both.map((nearestRows) => nearestRows?.rows[0])).toEqual([0, undefined]);
      expect((await packed?.nearest(code, 5, undefined))?.rows[0]).toBe(0);
      expect(await packed?.nearest(code, 5000, undefined)).toBeNull();
      const ended = AbortSignal.abort(new Error("enough"));
      await expect(packed?.nearest(code, 250, ended)).rejects.toThrow("enough");
      expect((await packed?.nearest(code, 7, undefined))?.rows[0]).toBe(0);
      await expect(PackedGraph.pack(graph, codes, 1600, fail, ended)).rejects.toThrow("enough");
    });

    it("is refused if small, and fails for links to missing rows", async () => {
      const { codes, graph } = await makeCodes(16);
      expect(await PackedGraph.pack({ ...graph, rowCount: 900 }, codes, 16, fail, undefined)).toBeNull();
      graph.targets[graph.targets.length >>> 1] = 3000;
      await expect(PackedGraph.pack(graph, codes, 16, fail, undefined)).rejects.toThrow("row 3000");
    });
  });

  it("returns accepted rows only, and null if these are few", async () => {
    const graph = graphOf(await made(), options.rowCount);
    const distanceOf = squaresTo([0, 0.5, 1, 0, 0, 0, -1, 0]);
    const accepts = (row: number) => row % 3 === 1;
    const nearestRows = await searchGraph({ graph, measure: measureBy(distanceOf), beam: 40, accepts, fail });
    const rows = [...(nearestRows?.rows ?? [])];
    expect(rows).toHaveLength(40);
    expect(rows.every(accepts)).toBe(true);
    expect(rows.filter((row) => nearest(distanceOf, accepts).includes(row)).length).toBeGreaterThan(8);
    const few = (row: number) => row % 500 === 0;
    expect(
      await searchGraph({ graph, measure: measureBy(distanceOf), beam: 40, accepts: few, fail }),
    ).toBeNull();
  });

  it("fails for links to missing rows", async () => {
    const graph = graphOf(await made(), options.rowCount);
    graph.targets.fill(options.rowCount);
    const search = searchGraph({
      graph,
      measure: measureBy(squaresTo(values)),
      beam: 5,
      accepts: () => true,
      fail,
    });
    await expect(search).rejects.toThrow("row 3000");
  });

  it("may have one row or none", async () => {
    for (const rowCount of [0, 1]) {
      const memory = spaceMemory({ ...options, rowCount });
      const settings = { m: 4, efConstruction: 8, seed: 1 };
      const built = await BuiltGraph.of(memory, rowCount, settings, new VectorWork());
      expect([...levelsOf(built)].filter(([, { number }]) => number === 0)).toHaveLength(rowCount);
    }
  });
});
