/** Repeated searches of an IVF_FLAT index give equal answers to the last bit, with and without sketches. */

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

const DIMENSION = 40;
const ROUNDS = 4;

it.each([
  ["float32", "l2"],
  ["float32", "cosine"],
  ["float32", "dot"],
  ["float16", "l2"],
] as const)("of %s by %s, through changes of the table", async (item, metric) => {
  await using namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  const id = ["t"];
  // Each vector occurs twice, so that every distance has ties.
  const some = testRows(item, DIMENSION, 2000, 3);
  const rows = [...some, ...some].map((row, position) => ({ ...row, id: position }));
  const streamOf = (which: typeof rows) => tableToIPC(vectorTable(item, DIMENSION, which), "stream");
  await namespace.createTable({ id }, streamOf(rows.slice(0, 2500)));
  await namespace.insertIntoTable({ id }, streamOf(rows.slice(2500, 3900)));
  await buildIndex(namespace, {
    ...{ id, column: "v", indexType: "IVF_FLAT", numPartitions: 2, distanceType: metric },
  });
  const next = randomNumbers(7);
  const queries = Array.from({ length: 5 }, () => randomVector(item, DIMENSION, next));
  queries.push(
    some.find(({ vector }) => vector !== null)?.vector as number[],
    new Array(DIMENSION).fill(1e-20),
  );
  const ask = (vector: number[], more: object) => {
    const request = { id, vector, distanceType: metric, columns: ["id", "_distance"], nprobes: 2, ...more };
    return searchRows(namespace, request);
  };

  async function expectSame(live: typeof rows, more: object = {}): Promise<void> {
    for (const vector of queries) {
      for (const k of [1, 10, 150]) {
        const first = await ask(vector, { k, ...more });
        for (let round = 1; round < ROUNDS; round++) expect(await ask(vector, { k, ...more })).toEqual(first);
        const exact = await ask(vector, { k, bypassVectorIndex: true, ...more });
        // By cosine, the index stores rounded unit vectors.
        if (metric !== "cosine") expect(first).toEqual(exact);
        const wanted = nearestOf(metric, live, vector).slice(0, k);
        for (const [position, { distance }] of wanted.entries()) {
          expect(Math.abs(first[position]._distance - distance)).toBeLessThan(
            1e-5 * (1 + Math.abs(distance)),
          );
        }
      }
    }
  }

  let live = rows.slice(0, 3900);
  await expectSame(live);
  await expectSame(
    live.filter((row) => row.id % 3 === 1),
    { filter: "id % 3 = 1", prefilter: true },
  );
  await namespace.deleteFromTable({ id, predicate: "id % 11 = 5" });
  live = live.filter((row) => row.id % 11 !== 5);
  await expectSame(live);
  await namespace.insertIntoTable({ id }, streamOf(rows.slice(3900)));
  await expectSame([...live, ...rows.slice(3900)]);
});
