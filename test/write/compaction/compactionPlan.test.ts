import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_FILE_ROWS } from "../../../src/file/writing/writer.js";
import { DataFragment } from "../../../src/format/table.js";
import { type FragmentFacts, planCompaction } from "../../../src/write/compaction/compactionPlan.js";

/** Makes facts of fragments, numbered from 0, from physical rows, and live rows if there are fewer. */
const factsOf = (...fragments: (number | readonly [physical: number, live: number, coverage?: string])[]) =>
  fragments.map((each, id): FragmentFacts => {
    const [physicalRows, liveRows, coverage = ""] = typeof each === "number" ? [each, each] : each;
    return { fragment: DataFragment.create({ id, physicalRows }), liveRows, coverage, absent: "" };
  });
const plan = (facts: readonly FragmentFacts[], targetRows = 100, maxDeletedShare = 0.1) =>
  planCompaction(facts, { targetRows, maxDeletedShare }).map(({ fragments, rowCounts }) => [
    fragments.map(({ id }) => id),
    [...rowCounts],
  ]);

describe("a plan", () => {
  it.each([
    ["merges small neighbours", factsOf(10, 20, 30), [[[0, 1, 2], [60]]]],
    ["is empty without any", factsOf(), []],
    ["leaves a small fragment alone that has no neighbour", factsOf(10), []],
    ["leaves large fragments", factsOf(100, 200), []],
    [
      "does not merge across a large one",
      factsOf(10, 20, 100, 30, 40),
      [
        [[0, 1], [30]],
        [[3, 4], [70]],
      ],
    ],
    ["leaves what stands alone between large ones", factsOf(10, 100, 20, 100), []],
    ["rewrites one with many deleted rows", factsOf(100, [200, 170], 100), [[[1], [170]]]],
    ["leaves one with few deleted rows", factsOf([200, 180]), []],
    ["merges it with small neighbours", factsOf(5, [200, 100], 6), [[[0, 1, 2], [111]]]],
    ["removes one without rows", factsOf([5, 0]), [[[0], []]]],
    [
      "splits where there are rows enough",
      factsOf(60, 50, 70, 40, 10),
      [
        [[0, 1], [110]],
        [[2, 3, 4], [120]],
      ],
    ],
    [
      "spreads rows evenly",
      factsOf(99, [999, 400]),
      [
        [
          [0, 1],
          [125, 125, 125, 124],
        ],
      ],
    ],
    ["leaves fragments whose rows are not counted", factsOf(10, 0, 10, 10), [[[2, 3], [20]]]],
    [
      "does not mix what different indexes cover",
      factsOf([10, 10, "x-"], [10, 10, "x-"], [10, 10, "--"], [10, 10, "-x"], [10, 10, "-x"]),
      [
        [[0, 1], [20]],
        [[3, 4], [20]],
      ],
    ],
  ])("%s", (_, facts, expected) => {
    expect(plan(facts)).toEqual(expected);
  });

  it("keeps files within bounds, and leaves only the last fragment too small", () => {
    expect(plan(factsOf(MAX_FILE_ROWS - 1, 10), MAX_FILE_ROWS)).toEqual([
      [
        [0, 1],
        [MAX_FILE_ROWS, 9],
      ],
    ]);
  });

  it("keeps all rows and their order, and leaves little for a second compaction", () => {
    const fragment = fc
      .tuple(fc.nat(150), fc.integer({ min: 0, max: 100 }), fc.constantFrom("-", "x"))
      .map(([rows, percent, coverage]) => [rows, Math.floor((rows * percent) / 100), coverage] as const);
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 30 }), (fragments) => {
        const facts = factsOf(...fragments);
        const groups = planCompaction(facts, { targetRows: 100, maxDeletedShare: 0.1 });
        const ids = groups.flatMap((group) => group.fragments.map(({ id }) => id));
        expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
        for (const { fragments: merged, rowCounts, coverage } of groups) {
          const mergedIds = merged.map(({ id }) => id);
          expect(mergedIds).toEqual(merged.map((_, index) => mergedIds[0] + index));
          expect(new Set(mergedIds.map((id) => facts[id].coverage))).toEqual(new Set([coverage]));
          const liveRows = mergedIds.reduce((sum, id) => sum + facts[id].liveRows, 0);
          expect(rowCounts.reduce((sum, count) => sum + count, 0)).toBe(liveRows);
          expect(rowCounts.filter((count) => count < 100).length).toBeLessThanOrEqual(1);
          if (rowCounts.length > 1) expect(Math.min(...rowCounts)).toBeGreaterThanOrEqual(100);
          expect(plan(factsOf(...rowCounts))).toEqual([]);
        }
      }),
    );
  });
});
