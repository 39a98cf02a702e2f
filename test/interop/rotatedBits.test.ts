/** Indexes of rotated vectors (IVF_RQ): both engines build, search and maintain them. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { Index, type Table } from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
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

const DIMENSION = 32;
const NEAREST = 7;

const { root, namespace, connection } = await openBothEngines();

const streamOf = (rows: readonly TestRow[]): Uint8Array =>
  tableToIPC(vectorTable("float32", DIMENSION, rows), "stream");

const isKept = ({ id }: TestRow): boolean => id % 7 !== 3;

/** A table with an index of the reference, uncovered rows and deleted rows. */
async function makeTable(
  name: string,
  metric: "l2" | "cosine" | "dot",
  stableRowIds: boolean,
): Promise<TestRow[]> {
  const first = testRows("float32", DIMENSION, 400, 31);
  const more = testRows("float32", DIMENSION, 60, 32, 400);
  await reference.createTable(root, name, streamOf(first), { stableRowIds });
  const table = await connection.openTable(name);
  await table.createIndex("v", { config: Index.ivfRq({ numPartitions: 4, distanceType: metric }) });
  await reference.appendTable(root, name, streamOf(more));
  await reference.deleteRows(root, name, "id % 7 = 3");
  return [...first, ...more].filter(isKept);
}

const search = async (name: string, request: object, by = namespace): Promise<Found[]> =>
  await searchRows(by, { id: [name], k: NEAREST, ...request });

const METRICS = ["l2", "cosine", "dot"] as const;

/** Part of the exact nearest rows among the rows of answers, over several queries. */
async function recallOf(
  rows: readonly TestRow[],
  metric: (typeof METRICS)[number],
  ask: (vector: number[]) => Promise<Found[]>,
): Promise<number> {
  let hits = 0;
  for (const vector of VECTORS) {
    const wanted = new Set(
      nearestOf(metric, rows, vector)
        .slice(0, NEAREST)
        .map(({ id }) => id),
    );
    hits += (await ask(vector)).filter(({ id }) => wanted.has(id)).length;
  }
  return hits / VECTORS.length / NEAREST;
}

const next = randomNumbers(41);
const VECTORS = Array.from({ length: 20 }, () => Array.from({ length: DIMENSION }, () => next() * 4 - 2));

const there =
  (table: Table, metric: (typeof METRICS)[number], refineFactor?: number) =>
  async (vector: number[]): Promise<Found[]> => {
    const query = table.query().nearestTo(vector).distanceType(metric).limit(NEAREST).nprobes(4);
    if (refineFactor !== undefined) query.refineFactor(refineFactor);
    return (await query.toArray()) as Found[];
  };

/** Expects both engines to find the same part of the nearest rows, with equal distances but for rounding. */
async function expectAlike(
  name: string,
  metric: (typeof METRICS)[number],
  rows: readonly TestRow[],
): Promise<number> {
  const table = await connection.openTable(name);
  for (const vector of VECTORS.slice(0, 4)) {
    const distances = new Map(
      (await there(table, metric)(vector)).map(({ id, _distance }) => [id, _distance]),
    );
    for (const { id, _distance } of await search(name, { vector, nprobes: 4 })) {
      const tolerance = 1e-6 * Math.max(1, Math.abs(_distance));
      if (distances.has(id)) expect(Math.abs(_distance - (distances.get(id) ?? 0))).toBeLessThan(tolerance);
    }
  }
  const here = await recallOf(rows, metric, (vector) => search(name, { vector, nprobes: 4 }));
  expect(here).toBeGreaterThan((await recallOf(rows, metric, there(table, metric))) - 0.15);
  return here;
}

const CASES = METRICS.flatMap((metric) => [1, 4].map((bits) => [metric, bits] as const));

it.each([
  ...CASES,
  ...someOf([2, 3, 5, 6, 7, 8, 9]).map((bits) => ["l2", bits] as const),
])("by %s with %i bits, each engine searches and maintains the index of the other", async (metric, numBits) => {
  const rows = testRows("float32", DIMENSION, 700, 31);
  const recalls: number[] = [];
  for (const isOurs of [false, true]) {
    const name = `rq_${metric}_${numBits}_${isOurs}`;
    await reference.createTable(root, name, streamOf(rows), { stableRowIds: isOurs });
    const table = await connection.openTable(name);
    const settings = { numPartitions: 4, distanceType: metric, numBits } as const;
    if (isOurs) await buildIndex(namespace, { id: [name], column: "v", indexType: "IVF_RQ", ...settings });
    else await table.createIndex("v", { config: Index.ivfRq(settings) });
    const [{ indexVersion, indexType }] = await table.listIndices();
    expect({ indexVersion, indexType }).toEqual({ indexVersion: 2, indexType: "IvfRq" });
    recalls.push(await expectAlike(name, metric, rows));
    const more = testRows("float32", DIMENSION, 90, 32, rows.length);
    const kept = [...rows, ...more].filter(isKept);
    await reference.appendTable(root, name, streamOf(more));
    await reference.deleteRows(root, name, "id % 7 = 3");
    const exact = async (vector: number[]) => search(name, { vector, nprobes: 4, refineFactor: 50 });
    // One row outside the index makes all distances exact.
    expect(await recallOf(kept, metric, exact)).toBe(1);
    await (isOurs ? table.optimize() : namespace.optimizeTable({ id: [name] }));
    expect((await table.indexStats("v_idx"))?.numUnindexedRows).toBe(0);
    await expectAlike(name, metric, kept);
    await (isOurs ? namespace.optimizeTable({ id: [name] }) : table.optimize());
    await expectAlike(name, metric, kept);
    expect(await recallOf(kept, metric, there(table, metric, 50))).toBeGreaterThan(0.97);
    expect(await recallOf(kept, metric, exact)).toBeGreaterThan(0.97);
  }
  const [theirs, ours] = recalls;
  expect(ours).toBeGreaterThan(theirs - 0.15);
  expect(ours).toBeGreaterThan(numBits === 1 ? 0.2 : numBits < 4 ? 0.4 : 0.8);
});

it("equal vectors, whose residuals are zero, have codes that both engines read", async () => {
  const vector = Array.from({ length: DIMENSION }, () => 1);
  const rows = Array.from({ length: 40 }, (_, id) => ({ id, group: 0, vector }));
  for (const numBits of [1, 5]) {
    const name = `rq_equal_${numBits}`;
    await reference.createTable(root, name, streamOf(rows));
    const table = await connection.openTable(name);
    await buildIndex(namespace, { id: [name], column: "v", indexType: "IVF_RQ", numPartitions: 1, numBits });
    const query = vector.map((value) => value + 1);
    for (const matches of [await search(name, { vector: query }), await there(table, "l2")(query)])
      for (const { _distance } of matches) expect(_distance).toBeCloseTo(DIMENSION, 3);
  }
});

it.each([
  ["float16", 1],
  ["float64", 3],
] as const)("vectors of %s have codes too", async (item, numBits) => {
  const rows = testRows(item, DIMENSION, 300, 61);
  for (const isOurs of [false, true]) {
    const name = `rq_${item}_${isOurs}`;
    await reference.createTable(root, name, tableToIPC(vectorTable(item, DIMENSION, rows), "stream"));
    const table = await connection.openTable(name);
    const settings = { numPartitions: 2, distanceType: "l2", numBits } as const;
    if (isOurs) await buildIndex(namespace, { id: [name], column: "v", indexType: "IVF_RQ", ...settings });
    else await table.createIndex("v", { config: Index.ivfRq(settings) });
    expect(await recallOf(rows, "l2", (vector) => search(name, { vector, nprobes: 2 }))).toBeGreaterThan(0.2);
    expect(await recallOf(rows, "l2", there(table, "l2"))).toBeGreaterThan(0.2);
  }
});

async function segmentOf(name: string): Promise<string> {
  const directory = join(root, `${name}.lance`, "_indices");
  const [segment] = await readdir(directory);
  return join(directory, segment);
}

it.each([
  "index.idx",
  "auxiliary.idx",
])("a damaged %s gives an error that names it, or rows", async (file) => {
  const name = `rq_damaged_${file.slice(0, 5)}`;
  await makeTable(name, "l2", false);
  const path = join(await segmentOf(name), file);
  const whole = await readFile(path);
  const random = randomNumbers(43);
  for (let round = 0; round < 60; round++) {
    const damaged =
      round % 3 === 0 ? whole.subarray(0, Math.floor(random() * whole.length)) : Buffer.from(whole);
    if (damaged.length === whole.length)
      damaged[Math.floor(random() * whole.length)] ^= 1 + Math.floor(random() * 255);
    await writeFile(path, damaged);
    await using ours = new DirectoryNamespace({ root, durability: "none" });
    const request = { vector: VECTORS[round % VECTORS.length], fastSearch: true };
    const matches = await search(name, request, ours).catch((error: unknown) => error);
    if (matches instanceof Error) expect(matches).toBeInstanceOf(NamespaceError);
    else expect((matches as Found[]).length).toBeLessThanOrEqual(NEAREST);
  }
});

it("an index of a kind that this release does not know is not asked", async () => {
  const rows = testRows("float32", DIMENSION, 500, 51);
  await reference.createTable(root, "renamed", streamOf(rows));
  const config = Index.ivfPq({ numPartitions: 2, numSubVectors: 4, distanceType: "l2" });
  await (await connection.openTable("renamed")).createIndex("v", { config });
  const path = join(await segmentOf("renamed"), "index.idx");
  const whole = await readFile(path, "latin1");
  expect(whole).toContain('"IVF_PQ"');
  const vector = [...(rows[9].vector ?? rows[10].vector ?? [])];
  const wanted = nearestOf("l2", rows, vector).slice(0, NEAREST);
  for (const kind of ["IVF_XY", "______"]) {
    await writeFile(path, whole.replace('"IVF_PQ"', `"${kind}"`), "latin1");
    await using ours = new DirectoryNamespace({ root, durability: "none" });
    const query = { vector, nprobes: 1 };
    expect(await ours.explainTableQueryPlan({ id: ["renamed"], query })).not.toContain("VectorIndexSearch");
    const matches = await search("renamed", query, ours);
    expect(matches.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
  }
});
