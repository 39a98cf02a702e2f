/** Repeated searches of an HNSW index return the same answers with and without packed graphs. */

import { tableToIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { buildIndex } from "../../support/indexedTable.js";
import { makeTempDir } from "../../support/tempDir.js";
import {
  nearestOf,
  randomNumbers,
  randomVector,
  searchRows,
  testRows,
  vectorTable,
} from "../../support/vectorTables.js";

const DIMENSION = 20;
const ROUNDS = 8;

it.each([
  "l2",
  "cosine",
] as const)("repeated searches by %s agree through changes of the table", async (metric) => {
  await using namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  const id = ["t"];
  const rows = testRows("float32", DIMENSION, 2500, 3);
  const streamOf = (some: typeof rows) => tableToIPC(vectorTable("float32", DIMENSION, some), "stream");
  await namespace.createTable({ id }, streamOf(rows.slice(0, 1300)));
  await namespace.insertIntoTable({ id }, streamOf(rows.slice(1300, 2400)));
  await buildIndex(namespace, {
    ...{ id, column: "v", indexType: "IVF_HNSW_SQ", numPartitions: 1, distanceType: metric },
  });
  const next = randomNumbers(7);
  const queries = Array.from({ length: 5 }, () => randomVector("float32", DIMENSION, next));

  /** Searches before and after graphs are packed. */
  async function expectSame(live: typeof rows, filter?: string): Promise<void> {
    const kept = new Set(live.map((row) => row.id));
    let hits = 0;
    for (const vector of queries) {
      const wanted = nearestOf(metric, live, vector).slice(0, 10);
      const answers: number[][] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const request = {
          id,
          vector,
          k: 10,
          ef: 60,
          columns: ["id"],
          ...(filter && { filter, prefilter: true }),
        };
        const rowsFound = await searchRows(namespace, request);
        answers.push(rowsFound.map((row) => row.id));
        expect(rowsFound).toHaveLength(10);
        expect(rowsFound.every((row) => kept.has(row.id))).toBe(true);
      }
      for (const answer of answers.slice(1)) {
        expect(new Set(answer).size).toBe(10);
        hits += answer.filter((answerId) => wanted.some((row) => row.id === answerId)).length;
      }
      // Both kinds of walks agree if all rows are live.
      if (live.length === 2400 && filter === undefined) {
        for (const answer of answers) expect(answer).toEqual(answers[0]);
      }
    }
    expect(hits / (10 * queries.length * (ROUNDS - 1))).toBeGreaterThan(0.9);
  }

  let live = rows.slice(0, 2400);
  await expectSame(live);
  await expectSame(
    live.filter((row) => row.id % 3 === 1),
    "id % 3 = 1",
  );
  await expectSame(
    live.filter((row) => row.id % 10 !== 1),
    "id % 10 <> 1",
  );
  await namespace.deleteFromTable({ id, predicate: "id % 11 = 5" });
  live = live.filter((row) => row.id % 11 !== 5);
  await expectSame(live);
  // No row near any query remains.
  const nearest = queries.flatMap((query) =>
    nearestOf(metric, live, query)
      .slice(0, 40)
      .map((row) => row.id),
  );
  await namespace.deleteFromTable({ id, predicate: `id IN (${nearest.join(", ")})` });
  live = live.filter((row) => !nearest.includes(row.id));
  await expectSame(live);
  await namespace.insertIntoTable({ id }, streamOf(rows.slice(2400)));
  await expectSame([...live, ...rows.slice(2400)]);
  const bounded = await namespace.queryTable({
    id,
    vector: queries[0],
    k: 10,
    upperBound: 1e-9,
    columns: ["id"],
  });
  expect((await bounded.toArrow()).numRows).toBe(0);
});
