import { expect, it } from "vitest";
import { firstAscending } from "../../../../src/indexes/vector/distance/nearestRows.js";
import { randomNumbers } from "../../../support/vectorTables.js";

it("firstAscending returns the positions of the smallest numbers in stable order", () => {
  const next = randomNumbers(3);
  for (let round = 0; round < 300; round++) {
    const count = 1 + Math.floor(next() * 400);
    const numbers = Float32Array.from({ length: count }, () =>
      next() < 0.1 ? Number.POSITIVE_INFINITY : Math.floor(next() * 50) - 10,
    );
    const most = 1 + Math.floor(next() * 200);
    const sorted = [...numbers.keys()].sort((a, b) =>
      numbers[a] === numbers[b] ? a - b : numbers[a] - numbers[b],
    );
    expect([...firstAscending(numbers, most)]).toEqual(sorted.slice(0, most));
  }
});
