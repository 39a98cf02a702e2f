import { expect, it } from "vitest";
import { RowIdRuns } from "../../../src/write/indexes/gatheredRows.js";

it("has more runs of ids than a call can have arguments", () => {
  const runCount = 500_000;
  // Each run is a row, and its id the number of the row from the end.
  const runs = Array.from({ length: runCount }, (_, start) => ({
    start,
    low: (runCount - 1 - 2 * start) >>> 0,
    high: start & 1,
  }));
  const ids = new RowIdRuns(runs, runCount);
  const [first, last] = [0, runCount - 1];
  expect([...ids.idsOf(Uint32Array.of(first, last, 7), 1, 0)]).toEqual([last, 0, 0, 1, runCount - 8, 1]);
  expect([...ids.idsBetween(last - 1, runCount)]).toEqual([1, 0, 0, 1]);
});
