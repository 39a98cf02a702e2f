/** Aborting a search does not fail others that wait for the same index parts. */

import { tableToIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { buildIndex } from "../../support/indexedTable.js";
import { makeTempDir } from "../../support/tempDir.js";
import { randomNumbers, vectorTable } from "../../support/vectorTables.js";

const DIMENSION = 16;
const id = ["t"];

it.each([
  "IVF_FLAT",
  "IVF_HNSW_SQ",
] as const)("a search that is aborted, and one that is not: %s", async (indexType) => {
  const next = randomNumbers(3);
  const rows = Array.from({ length: 2000 }, (_, row) => ({
    ...{ id: row, group: 0 },
    vector: Array.from({ length: DIMENSION }, next),
  }));
  const root = await makeTempDir();
  const writer = new DirectoryNamespace({ root, durability: "none" });
  await writer.createTable({ id }, tableToIPC(vectorTable("float32", DIMENSION, rows), "stream"));
  await buildIndex(writer, { id, column: "v", indexType, numPartitions: 4 });
  await writer.close();
  let aborted = 0;
  for (let round = 0; round < 40; round++) {
    const namespace = new DirectoryNamespace({ root, durability: "none" });
    const abortedSearch = new AbortController();
    const ask = async (signal?: AbortSignal) => {
      const request = { id, columns: ["id"], vector: rows[round].vector, k: 3, signal };
      return (await (await namespace.queryTable(request)).toArray()).length;
    };
    const both = Promise.allSettled([ask(abortedSearch.signal), ask()]);
    for (let turn = 0; turn < round; turn++) await new Promise(setImmediate);
    abortedSearch.abort();
    const [first, second] = await both;
    if (first.status === "rejected") aborted++;
    expect(second).toEqual({ status: "fulfilled", value: 3 });
    await namespace.close();
  }
  expect(aborted).toBeGreaterThan(0);
});
