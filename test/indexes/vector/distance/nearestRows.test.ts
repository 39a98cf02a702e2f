import { describe, expect, it } from "vitest";
import { NearestRows } from "../../../../src/indexes/vector/distance/nearestRows.js";
import { Random } from "../../../support/generators.js";

const rowsOf = (nearest: NearestRows): number[][] => {
  const { distances, addresses } = nearest.finish();
  return Array.from(distances, (distance, row) => [distance, addresses[2 * row], addresses[2 * row + 1]]);
};

describe("NearestRows", () => {
  it("counts a repeated row once", () => {
    const nearest = new NearestRows(3);
    for (const [distance, row, fragment] of [
      [2, 7, 0],
      [1, 5, 1],
      [2, 7, 0],
      [1, 5, 1],
      [2, 7, 1],
      [3, 1, 0],
    ]) {
      nearest.add(distance, row, fragment);
    }
    expect(rowsOf(nearest)).toEqual([
      [1, 5, 1],
      [2, 7, 0],
      [2, 7, 1],
    ]);
  });

  it("equals a full sort of distinct rows", () => {
    const random = new Random(7);
    for (const count of [1, 10, 100]) {
      const nearest = new NearestRows(count);
      const rows = new Map<string, number[]>();
      for (let step = 0; step < 3000; step++) {
        const [row, fragment] = [random.below(400), random.below(3)];
        const distance = ((row * 31 + fragment) % 50) / 4;
        nearest.add(distance, row, fragment);
        rows.set(`${row} ${fragment}`, [distance, row, fragment]);
      }
      const sorted = [...rows.values()].sort(
        (one, two) => one[0] - two[0] || one[2] - two[2] || one[1] - two[1],
      );
      expect(rowsOf(nearest)).toEqual(sorted.slice(0, count));
    }
  });

  it.each([
    5, 40, 400,
  ])("keeps the first rows of %i that arrive in the order of their distances", (offered) => {
    const nearest = new NearestRows(10);
    const rows = Array.from({ length: offered }, (_, row) => [row / 2, offered - row, 1]);
    for (const [distance, row, fragment] of rows) nearest.add(distance, row, fragment);
    nearest.updateFarthest();
    expect(nearest.farthest).toBe(offered > 10 ? 4.5 : Number.POSITIVE_INFINITY);
    expect(rowsOf(nearest)).toEqual(rows.slice(0, 10));
  });

  it("orders equal distances by address although they arrive in order", () => {
    const nearest = new NearestRows(4);
    for (const [distance, row] of [
      [1, 9],
      [1, 3],
      [1, 3],
      [2, 5],
    ])
      nearest.add(distance, row, 0);
    expect(rowsOf(nearest)).toEqual([
      [1, 3, 0],
      [1, 9, 0],
      [2, 5, 0],
    ]);
  });
});
