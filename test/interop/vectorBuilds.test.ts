/** Vector indexes that we build: the reference finds as much by them as by its own, and maintains them. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import { InvalidInputError } from "tiltyard";
import { Index, type Table } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { openBothEngines } from "../support/bothEngines.js";
import { someOf } from "../support/effort.js";
import { buildIndex } from "../support/indexedTable.js";
import { reference } from "../support/reference.js";
import {
  type Found,
  nearestOf,
  randomNumbers,
  searchRows,
  type TestRow,
  testRows,
  vectorTable,
} from "../support/vectorTables.js";

const DIMENSION = 16;
const ROWS = 2000;
const PARTITIONS = 8;
const QUERIES = 30;
const NEAREST = 10;
const METRICS = ["l2", "cosine", "dot"] as const;
type FloatMetric = (typeof METRICS)[number];

const { root, namespace, connection } = await openBothEngines();

function clusteredRows(count: number, seed: number, firstId = 0): TestRow[] {
  const centre = randomNumbers(4);
  const centres = Array.from({ length: 30 }, () => Array.from({ length: DIMENSION }, () => centre() * 4 - 2));
  const next = randomNumbers(seed);
  return Array.from({ length: count }, (_, row) => {
    const around = centres[Math.floor(next() * centres.length)];
    const vector = around.map((value) => Math.fround(value + (next() - 0.5) * 2));
    return { id: firstId + row, group: 0, vector: next() < 0.02 ? null : vector };
  });
}

const streamOf = (rows: readonly TestRow[]): Uint8Array =>
  tableToIPC(vectorTable("float32", DIMENSION, rows), "stream");

function theirConfig(kind: string, distanceType: FloatMetric): Index {
  const options = { numPartitions: PARTITIONS, distanceType };
  switch (kind) {
    case "IVF_PQ":
      return Index.ivfPq({ ...options, numSubVectors: 8 });
    case "IVF_HNSW_PQ":
      return Index.hnswPq({ ...options, numSubVectors: 8 });
    case "IVF_HNSW_SQ":
      return Index.hnswSq(options);
    // LanceDB's API for Node.js makes no IVF_HNSW_FLAT.
    default:
      return Index.ivfFlat(options);
  }
}

const queriesOf = (rows: readonly TestRow[]): (readonly number[])[] =>
  clusteredRows(QUERIES, 99).map(({ vector }, query) => vector ?? rows[query].vector ?? []);

/** Number of nearest rows that the reference finds, over all queries. */
async function foundThere(
  table: Table,
  metric: FloatMetric,
  rows: readonly TestRow[],
  nprobes: number,
  refineFactor?: number,
) {
  let hits = 0;
  for (const vector of queriesOf(rows)) {
    const wanted = idsOf(nearestOf(metric, rows, vector).slice(0, NEAREST));
    const query = table
      .query()
      .nearestTo([...vector])
      .distanceType(metric)
      .limit(NEAREST)
      .nprobes(nprobes);
    if (refineFactor !== undefined) query.refineFactor(refineFactor);
    hits += ((await query.toArray()) as Found[]).filter(({ id }) => wanted.has(id)).length;
  }
  return hits / QUERIES / NEAREST;
}

const idsOf = (rows: readonly { readonly id: number }[]): Set<number> => new Set(rows.map(({ id }) => id));

async function foundHere(name: string, metric: FloatMetric, rows: readonly TestRow[], nprobes: number) {
  let hits = 0;
  for (const vector of queriesOf(rows)) {
    const wanted = idsOf(nearestOf(metric, rows, vector).slice(0, NEAREST));
    const query = { id: [name], vector, k: NEAREST, nprobes };
    const matches = await searchRows(namespace, query);
    hits += matches.filter(({ id }) => wanted.has(id)).length;
  }
  return hits / QUERIES / NEAREST;
}

const BUILT = ["IVF_FLAT", "IVF_PQ", "IVF_HNSW_FLAT", "IVF_HNSW_SQ", "IVF_HNSW_PQ"] as const;

describe.each(METRICS)("by %s", (distanceType) => {
  it.each(
    someOf(BUILT.slice(METRICS.indexOf(distanceType))),
  )("the reference finds by our %s what it finds by its own", async (indexType) => {
    const [ours, theirs] = [`ours_${indexType}_${distanceType}`, `theirs_${indexType}_${distanceType}`];
    const rows = clusteredRows(ROWS, 3);
    await namespace.createTable({ id: [ours] }, streamOf(rows));
    await reference.createTable(root, theirs, streamOf(rows));
    const request = { id: [ours], column: "v", indexType, distanceType, numPartitions: PARTITIONS };
    await buildIndex(namespace, { ...request, ...(indexType.endsWith("PQ") && { numSubVectors: 8 }) });
    const table = await connection.openTable(ours);
    const theirTable = await connection.openTable(theirs);
    await theirTable.createIndex("v", { config: theirConfig(indexType, distanceType) });
    expect(await table.indexStats("v_idx")).toMatchObject({
      ...{ indexType, distanceType, numIndexedRows: ROWS, numUnindexedRows: 0 },
    });
    const plan = await table
      .query()
      .nearestTo([...queriesOf(rows)[0]])
      .distanceType(distanceType)
      .explainPlan(true);
    expect(plan).toContain("ANN");
    for (const nprobes of [2, PARTITIONS]) {
      const by = await foundThere(table, distanceType, rows, nprobes);
      const byTheirs = await foundThere(theirTable, distanceType, rows, nprobes);
      const byOurs = await foundHere(ours, distanceType, rows, nprobes);
      // Few queries and a random index of the reference: vectorRecall.test.ts compares closely.
      expect(by, `${nprobes} probes`).toBeGreaterThanOrEqual(byTheirs - 0.1);
      // Rows with equal codes may come in any order.
      expect(byOurs).toBeGreaterThanOrEqual(by - 0.02);
      if (indexType === "IVF_FLAT" && nprobes === PARTITIONS) expect(by).toBeGreaterThan(0.999);
    }
  });
});

/** Settings of an index that finds all near rows, by nearly exact codes or refinement. */
const KEPT = [
  ["IVF_FLAT", true],
  ["IVF_PQ", true],
  ["IVF_SQ", true],
  ["IVF_HNSW_SQ", true],
  ["IVF_HNSW_FLAT", true],
  ["IVF_PQ", false],
  ["IVF_HNSW_SQ", false],
  ["IVF_HNSW_PQ", false],
] as const;

it.each(
  someOf(KEPT, 3),
)("%s is kept right by both while rows come, go and move (ours: %s)", async (indexType, isOurs) => {
  const name = `kept_${indexType}_${isOurs}`;
  const id = [name];
  let rows = clusteredRows(1200, 5);
  await reference.createTable(root, name, streamOf(rows), { stableRowIds: indexType === "IVF_SQ" });
  const table = await connection.openTable(name);
  if (isOurs) {
    await buildIndex(namespace, { id, column: "v", indexType, distanceType: "l2", numPartitions: 4 });
  } else {
    await table.createIndex("v", { config: theirConfig(indexType, "l2") });
  }
  const isRight = async (unindexed: number) => {
    expect(await table.indexStats("v_idx")).toMatchObject({ indexType, numUnindexedRows: unindexed });
    const counts = await Promise.all(
      queriesOf(rows).map(async (vector) => {
        const wanted = idsOf(nearestOf("l2", rows, vector).slice(0, NEAREST));
        const query = { vector, k: NEAREST, nprobes: 8, refineFactor: 10 };
        expect(await namespace.explainTableQueryPlan({ id, query })).toContain(`kind=${indexType}`);
        const matches = await searchRows(namespace, { id, ...query });
        return matches.filter(({ id: rowId }) => wanted.has(rowId)).length;
      }),
    );
    expect(counts.reduce((sum, count) => sum + count, 0) / QUERIES / NEAREST).toBeGreaterThan(0.99);
    expect(await foundThere(table, "l2", rows, 8, 10)).toBeGreaterThan(0.98);
  };
  const change = async (seed: number, remainder: number) => {
    const more = clusteredRows(150, seed, seed * 10_000);
    await namespace.insertIntoTable({ id }, streamOf(more));
    await table.delete(`id % 7 = ${remainder}`);
    rows = [...rows, ...more].filter(({ id: rowId }) => rowId % 7 !== remainder);
    return more.filter(({ id: rowId }) => rowId % 7 !== remainder).length;
  };
  const added = await change(6, 0);
  await isRight(added);
  await namespace.optimizeTable({ id });
  await isRight(0);
  await change(7, 1);
  await table.optimize();
  await isRight(0);
  await change(8, 2);
  await namespace.optimizeTable({ id });
  await isRight(0);
});

it("is the same for the same rows, and may take the place of another", async () => {
  const files: Buffer[][] = [];
  for (const name of ["same_a", "same_b"]) {
    await namespace.createTable({ id: [name] }, streamOf(clusteredRows(1500, 8)));
    await buildIndex(namespace, {
      id: [name],
      column: "v",
      indexType: "IVF_PQ",
      numPartitions: 3,
      numSubVectors: 4,
    });
    const directory = join(root, `${name}.lance`, "_indices");
    const [segment] = await readdir(directory);
    files.push(
      await Promise.all(
        ["index.idx", "auxiliary.idx"].map((file) => readFile(join(directory, segment, file))),
      ),
    );
  }
  expect(files[0]).toEqual(files[1]);
  const id = ["same_a"];
  await buildIndex(namespace, { id, column: "v", indexType: "IVF_SQ", distanceType: "l2", replace: true });
  const { indexes } = await namespace.listTableIndices({ id });
  expect(indexes).toMatchObject([{ indexName: "v_idx" }]);
  const stats = await namespace.describeTableIndexStats({ id, indexName: "v_idx" });
  expect(stats).toMatchObject({ indexType: "IVF_SQ", distanceType: "l2", numIndexedRows: 1500 });
  expect(await foundHere("same_a", "l2", clusteredRows(1500, 8), 1)).toBeGreaterThan(0.9);
});

it("takes floats of 16 and 64 bits, and tables with stable row ids", async () => {
  for (const item of ["float16", "float64"] as const) {
    const id = [item];
    const rows = testRows(item, 5, 500, 3);
    await namespace.createTable({ id, stableRowIds: true }, tableToIPC(vectorTable(item, 5, rows), "stream"));
    await buildIndex(namespace, { id, column: "v", indexType: "IVF_FLAT", numPartitions: 2 });
    await namespace.deleteFromTable({ id, predicate: "id < 100" });
    const left = rows.filter(({ id: rowId }) => rowId >= 100);
    const vector = rows[1].vector ?? rows[2].vector ?? [];
    const matches = await searchRows(namespace, { id, vector, k: 5 });
    const there = await (await connection.openTable(item))
      .query()
      .nearestTo([...vector])
      .limit(5)
      .toArray();
    expect(matches.map((row) => row.id)).toEqual(
      nearestOf("l2", left, vector)
        .slice(0, 5)
        .map((row) => row.id),
    );
    expect(there.map((row) => row.id)).toEqual(matches.map((row) => row.id));
  }
});

it("is cancelled, and leaves nothing behind", async () => {
  const id = ["cancelled"];
  await namespace.createTable({ id }, streamOf(clusteredRows(ROWS, 7)));
  const request = { id, column: "v", indexType: "IVF_PQ", numPartitions: 8, numSubVectors: 16 } as const;
  const { jobId } = await namespace.createTableIndex(request);
  const directory = join(root, "cancelled.lance", "_indices");
  const segmentsThere = () => readdir(directory).catch(() => []);
  while ((await segmentsThere()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await namespace.cancelJob({ jobId });
  expect(await namespace.waitForJob({ jobId })).toMatchObject({ state: "Cancelled" });
  expect((await namespace.listTableIndices({ id })).indexes).toEqual([]);
  expect(await segmentsThere()).toEqual([]);
});

it("is refused where it can't be", async () => {
  const id = ["refused"];
  await namespace.createTable(
    { id },
    streamOf(clusteredRows(10, 1).map((row) => ({ ...row, vector: null }))),
  );
  const build = (request: object) =>
    buildIndex(namespace, { id, column: "v", indexType: "IVF_FLAT", ...request });
  await expect(build({})).rejects.toThrow(InvalidInputError);
  await expect(build({ indexType: "IVF_RQ" })).rejects.toThrow(InvalidInputError);
  await expect(build({ indexType: "IVF_PQ", numSubVectors: 5 })).rejects.toThrow(InvalidInputError);
  await expect(build({ distanceType: "hamming" })).rejects.toThrow(InvalidInputError);
  await expect(build({ column: "id" })).rejects.toThrow(InvalidInputError);
  expect((await namespace.listTableIndices({ id })).indexes).toEqual([]);
});
