/** Indexes on vectors of bytes, compared by bits, that each engine builds over rows of both. */

import { tableToIPC } from "apache-arrow";
import { InvalidInputError } from "tiltyard";
import { Index, type Table } from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import { openBothEngines } from "../support/bothEngines.js";
import { buildIndex } from "../support/indexedTable.js";
import { reference } from "../support/reference.js";
import {
  type Found,
  nearestOf,
  randomNumbers,
  searchRows,
  type TestRow,
  vectorTable,
} from "../support/vectorTables.js";

const DIMENSION = 12;
const ROWS = 2000;
const PARTITIONS = 8;
const QUERIES = 15;
const NEAREST = 10;

const { root, namespace, connection } = await openBothEngines();

/** Vectors around a few centres; each differs from its centre in some bits. */
function clusteredRows(count: number, seed: number, firstId = 0): TestRow[] {
  const centre = randomNumbers(4);
  const centres = Array.from({ length: 20 }, () =>
    Array.from({ length: DIMENSION }, () => Math.floor(centre() * 256)),
  );
  const next = randomNumbers(seed);
  const noise = () => Array.from({ length: 8 }, (_, bit) => (next() < 0.12 ? 1 << bit : 0));
  return Array.from({ length: count }, (_, row) => {
    const around = centres[Math.floor(next() * centres.length)];
    const vector = around.map((value) => noise().reduce((byte, bit) => byte ^ bit, value));
    return { id: firstId + row, group: 0, vector: next() < 0.02 ? null : vector };
  });
}

const streamOf = (rows: readonly TestRow[]): Uint8Array =>
  tableToIPC(vectorTable("uint8", DIMENSION, rows), "stream");

const queriesOf = (): number[][] => clusteredRows(QUERIES, 99).map(({ vector }) => [...(vector ?? [1])]);

type Search = (query: number[], nprobes: number) => Promise<Found[]>;

const here =
  (id: string[]): Search =>
  async (query, nprobes) => {
    const request = { id, vector: Uint8Array.from(query), k: NEAREST, nprobes };
    return await searchRows(namespace, request);
  };
const there =
  (table: Table): Search =>
  (query, nprobes) =>
    table
      .query()
      .nearestTo(Uint8Array.from(query))
      // The reference's types lack "hamming".
      .distanceType("hamming" as "l2")
      .limit(NEAREST)
      .nprobes(nprobes)
      .toArray() as Promise<Found[]>;

/** Part of the nearest rows that a search finds; rows at equal distances count as equal. */
async function recallOf(search: Search, rows: readonly TestRow[], nprobes: number): Promise<number> {
  let hits = 0;
  for (const query of queriesOf().filter(({ length }) => length === DIMENSION)) {
    const near = new Map(nearestOf("hamming", rows, query).map(({ id, distance }) => [id, distance]));
    const farthest = [...near.values()][NEAREST - 1];
    const matches = await search(query, nprobes);
    for (const row of matches) expect(row._distance).toBe(near.get(row.id));
    hits += matches.filter(({ _distance }) => _distance <= farthest).length;
  }
  return hits / queriesOf().filter(({ length }) => length === DIMENSION).length / NEAREST;
}

it("the reference finds by ours what it finds by its own", async () => {
  const rows = clusteredRows(ROWS, 3);
  await namespace.createTable({ id: ["ours"] }, streamOf(rows));
  await buildIndex(namespace, { id: ["ours"], column: "v", numPartitions: PARTITIONS });
  await reference.createTable(root, "theirs", streamOf(rows));
  const [ours, theirs] = [await connection.openTable("ours"), await connection.openTable("theirs")];
  const config = Index.ivfFlat({ distanceType: "hamming", numPartitions: PARTITIONS });
  await theirs.createIndex("v", { config });
  const stats = { indexType: "IVF_FLAT", distanceType: "hamming", numIndexedRows: ROWS, numUnindexedRows: 0 };
  expect(await ours.indexStats("v_idx")).toMatchObject(stats);
  expect(await namespace.describeTableIndexStats({ id: ["ours"], indexName: "v_idx" })).toMatchObject(stats);
  for (const nprobes of [2, PARTITIONS]) {
    const byOurs = await recallOf(there(ours), rows, nprobes);
    expect(byOurs).toBeGreaterThanOrEqual((await recallOf(there(theirs), rows, nprobes)) - 0.05);
    expect(await recallOf(here(["ours"]), rows, nprobes)).toBeCloseTo(byOurs, 5);
    if (nprobes === PARTITIONS) expect(byOurs).toBe(1);
  }
});

it.each([true, false])("are kept right by both while rows come, go and move (ours: %s)", async (isOurs) => {
  const name = `kept_${isOurs}`;
  const id = [name];
  let rows = clusteredRows(1200, 5);
  await reference.createTable(root, name, streamOf(rows));
  const table = await connection.openTable(name);
  if (isOurs) await buildIndex(namespace, { id, column: "v", indexType: "IVF_FLAT", numPartitions: 4 });
  else
    await table.createIndex("v", {
      config: Index.ivfFlat({ distanceType: "hamming", numPartitions: 4 }),
    });
  const optimize = [() => namespace.optimizeTable({ id }), () => table.optimize()];
  for (const [round, bringUpToDate] of [...optimize, ...optimize].entries()) {
    const more = clusteredRows(100, 10 + round, 10_000 * (1 + round));
    await namespace.insertIntoTable({ id }, streamOf(more));
    await table.delete(`id % 7 = ${round}`);
    rows = [...rows, ...more].filter(({ id: rowId }) => rowId % 7 !== round);
    expect(await recallOf(here(id), rows, 8)).toBe(1);
    await bringUpToDate();
    expect(await table.indexStats("v_idx")).toMatchObject({ distanceType: "hamming", numUnindexedRows: 0 });
    expect(
      await namespace.explainTableQueryPlan({ id, query: { vector: new Uint8Array(DIMENSION), k: 1 } }),
    ).toContain("kind=IVF_FLAT");
    expect(await recallOf(here(id), rows, 8)).toBe(1);
    expect(await recallOf(there(table), rows, 8)).toBe(1);
  }
});

it("are of the kind whose codes are the vectors, and by no other distance", async () => {
  const id = ["refused"];
  await namespace.createTable({ id }, streamOf(clusteredRows(50, 1)));
  for (const request of [
    { indexType: "IVF_PQ" },
    { indexType: "IVF_SQ" },
    { indexType: "IVF_HNSW_SQ" },
    { indexType: "IVF_HNSW_FLAT", distanceType: "hamming" },
    { indexType: "IVF_FLAT", distanceType: "l2" },
  ] as const) {
    await expect(buildIndex(namespace, { id, column: "v", ...request })).rejects.toThrow(InvalidInputError);
  }
  expect((await namespace.listTableIndices({ id })).indexes).toEqual([]);
});
