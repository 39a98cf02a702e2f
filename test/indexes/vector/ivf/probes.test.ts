import { expect, it } from "vitest";
import { probedPartitions } from "../../../../src/indexes/vector/ivf/probes.js";

const vectorOf = (...order: number[]) => ({ order: Uint32Array.from(order), offered: 0 });

it("each partition serves all its vectors at once, nearest first", () => {
  const [a, b, c] = [vectorOf(0, 1, 2, 3), vectorOf(1, 0, 3, 2), vectorOf(0, 3, 2, 1)];
  const probes = { leastProbes: 3, mostProbes: 3, wantedRows: 10 };
  const turns = [...probedPartitions([a, b, c], probes)];
  expect(turns.map(([partition]) => partition)).toEqual([0, 1, 1, 0, 3, 2]);
  expect(turns.map(([, probing]) => probing)).toEqual([[a, c], [b], [a], [b], [c, b], [a, c]]);
});

it("a vector probes further partitions while rows are missing", () => {
  const [a, b] = [vectorOf(0, 1, 2), vectorOf(0, 2, 1)];
  const turns: (readonly [number, number])[] = [];
  for (const [partition, probing] of probedPartitions([a, b], {
    leastProbes: 1,
    mostProbes: 3,
    wantedRows: 5,
  })) {
    turns.push([partition, probing.length]);
    for (const vector of probing) vector.offered += vector === a ? 5 : 3;
  }
  expect(turns).toEqual([
    [0, 2],
    [2, 1],
  ]);
});

it("probes stop after the last partition", () => {
  for (const most of [20, Number.MAX_SAFE_INTEGER]) {
    for (const leastProbes of [most, 1]) {
      const probes = { leastProbes, mostProbes: most, wantedRows: 5 };
      const all = [...probedPartitions([vectorOf(1, 0)], probes)];
      expect(all.map(([partition]) => partition)).toEqual([1, 0]);
    }
  }
  expect([...probedPartitions([], { leastProbes: 1, mostProbes: 1, wantedRows: 5 })]).toEqual([]);
});
