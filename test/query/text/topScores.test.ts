import fc from "fast-check";
import { expect, it } from "vitest";
import { TopScores } from "../../../src/query/text/topScores.js";

const row = fc.record({
  address: fc
    .integer({ min: 0, max: 3 })
    .chain((fragment) => fc.nat(5000).map((index) => fragment * 2 ** 32 + index)),
  // Few distinct scores give many ties.
  score: fc
    .oneof(
      fc.integer({ min: -3, max: 9 }),
      fc.float({ min: -2, max: 30, noNaN: true }),
      fc.constantFrom(1e300, 3.4028235677973366e38, 1e-46, -1e-46, -1e300),
    )
    // Scores that round to one float32 come from above and below.
    .chain((score) => fc.constantFrom(0, 1, -1, 3, -3).map((more) => score * (1 + more * 2 ** -27))),
});

it("TopScores orders by score, then by address", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(row, { selector: ({ address }) => address, maxLength: 300 }),
      fc.constantFrom(0, 1, 2, 10, 50, 299, 1000, Number.POSITIVE_INFINITY),
      async (rows, most) => {
        const top = new TopScores(most);
        for (const { address, score } of rows) if (score >= top.threshold) top.add(address, score);
        const { addresses, scores, rowCount } = await top.ranked();
        const expected = rows
          .map(({ address, score }) => ({ address, score: Math.fround(score) + 0 }))
          .sort((a, b) => b.score - a.score || a.address - b.address)
          .slice(0, most);
        expect(rowCount).toBe(expected.length);
        const words = new Uint32Array(addresses.values.slice().buffer);
        const floats = new Float32Array(scores.values.slice().buffer);
        const kept = Array.from({ length: rowCount }, (_, index) => ({
          address: words[2 * index + 1] * 2 ** 32 + words[2 * index],
          score: floats[index] + 0,
        }));
        expect(kept).toEqual(expected);
      },
    ),
    { numRuns: 300 },
  );
});

it("TopScores sorts more rows than fit an in-memory sort", async () => {
  const top = new TopScores(Number.POSITIVE_INFINITY);
  for (let index = 0; index < 10_000; index++) top.add(index, (index * 7919) % 1000);
  const { scores, rowCount } = await top.ranked();
  const floats = new Float32Array(scores.values.slice().buffer);
  expect(rowCount).toBe(10_000);
  expect(floats.every((score, index) => index === 0 || score <= floats[index - 1])).toBe(true);
});
