/** A search for many vectors returns what single searches return. */

import { tableToIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import type { VectorKindName } from "../../../src/indexes/kind.js";
import { runsOf } from "../../support/effort.js";
import { buildIndex } from "../../support/indexedTable.js";
import { makeTempDir } from "../../support/tempDir.js";
import {
  type Found,
  randomNumbers,
  searchRows,
  type TestItem,
  type TestMetric,
  type TestRow,
  vectorTable,
} from "../../support/vectorTables.js";

const DIMENSION = 24;
const CLUSTERS = 6;
const QUERIES = 12;
/** Random searches of each new index, and after each change. */
const REQUESTS = runsOf("SEVERAL_VECTORS_REQUESTS", 56);

/** Vectors in separate clusters, and a few elsewhere. */
function clusteredRows(item: TestItem, count: number, seed: number): TestRow[] {
  const next = randomNumbers(seed);
  const centre = randomNumbers(5);
  const centres = Array.from({ length: CLUSTERS * DIMENSION }, () => centre() * 4 - 2);
  const numberOf = (value: number) =>
    item === "uint8" ? Math.max(0, Math.min(255, Math.floor((value + 3) * 42))) : Math.fround(value);
  return Array.from({ length: count }, (_, id) => {
    const cluster = Math.floor(next() * CLUSTERS) * DIMENSION;
    const spread = next() < 0.1 ? 3 : 0.5;
    const vector = Array.from({ length: DIMENSION }, (_, index) =>
      numberOf(centres[cluster + index] + (next() - 0.5) * spread),
    );
    return { id, group: Math.floor(next() * 10), vector: next() < 0.02 ? null : vector };
  });
}

async function expectSame(
  namespace: DirectoryNamespace,
  vectors: readonly (readonly number[])[],
  rest: object,
): Promise<void> {
  const ask = (vector: unknown): Promise<Found[]> =>
    searchRows(namespace, { id: ["t"], columns: ["id"], ...rest, vector } as never);
  const alone = async () => {
    const answers: Found[] = [];
    for (const [index, vector] of vectors.entries()) {
      for (const { id, _distance } of await ask(vector)) answers.push({ query_index: index, id, _distance });
    }
    return answers;
  };
  const plain = (rows: readonly Found[]) =>
    rows.map(({ query_index, id, _distance }) => ({ query_index, id, _distance }));
  const before = plain(await ask(vectors));
  expect(before, JSON.stringify(rest)).toEqual(plain(await alone()));
  expect(plain(await ask(vectors)), JSON.stringify(rest)).toEqual(before);
}

const CASES: readonly (readonly [kind: VectorKindName, metric: TestMetric, item: TestItem])[] = [
  ["IVF_FLAT", "l2", "float32"],
  ["IVF_FLAT", "cosine", "float32"],
  ["IVF_FLAT", "dot", "float32"],
  ["IVF_FLAT", "l2", "float64"],
  ["IVF_FLAT", "hamming", "uint8"],
  ["IVF_PQ", "l2", "float32"],
  ["IVF_PQ", "cosine", "float32"],
  ["IVF_PQ", "dot", "float32"],
  ["IVF_SQ", "l2", "float32"],
  ["IVF_HNSW_SQ", "l2", "float32"],
];

describe.each(CASES)("%s by %s of %s with several vectors", (indexType, distanceType, item) => {
  it("answers like single searches", async () => {
    await using namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
    const id = ["t"];
    const rows = clusteredRows(item, 8600, 3);
    const streamOf = (some: TestRow[]) => tableToIPC(vectorTable(item, DIMENSION, some), "stream");
    await namespace.createTable({ id }, streamOf(rows.slice(0, 5000)));
    await namespace.insertIntoTable({ id }, streamOf(rows.slice(5000, 8000)));
    await buildIndex(namespace, {
      ...{ id, column: "v", indexType, distanceType, numPartitions: 8 },
      ...(indexType === "IVF_PQ" && { numSubVectors: 8 }),
    });
    const next = randomNumbers(11);
    const some = () => clusteredRows(item, QUERIES, 1 + Math.floor(next() * 1e6));
    const vectors = () => some().flatMap(({ vector }) => (vector === null ? [] : [vector]));
    const graphs = indexType.includes("HNSW");

    async function expectAll(): Promise<void> {
      for (let turn = 0; turn < REQUESTS; turn++) {
        const either = <Value>(...values: Value[]): Value => values[Math.floor(next() * values.length)];
        const bound = distanceType === "hamming" ? 40 : distanceType === "l2" ? 2 : 0.05;
        const filter = either(undefined, undefined, "id % 3 = 1", "id % 100 = 7", "`group` = 4");
        await expectSame(namespace, vectors(), {
          k: either(1, 10, 40),
          offset: either(undefined, 3),
          ...either({}, { nprobes: 1 }, { nprobes: 4 }, { minimumNprobes: 1, maximumNprobes: 6 }),
          ...(filter && { filter, prefilter: either(true, false) }),
          ...either({}, {}, { upperBound: bound }, { lowerBound: bound / 4 }),
          ...either({}, {}, { refineFactor: 3 }),
          // Graph walks depend on the number of earlier searches, except for all rows.
          ...(graphs && { ef: 4000, filter: undefined, upperBound: undefined, lowerBound: undefined }),
        });
      }
    }

    await expectAll();
    await namespace.deleteFromTable({ id, predicate: "id % 7 = 2" });
    await expectAll();
    await namespace.insertIntoTable({ id }, streamOf(rows.slice(8000)));
    await expectAll();
  });
});
