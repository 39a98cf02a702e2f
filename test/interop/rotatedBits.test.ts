/**
 * Searches find the nearest rows without IVF_RQ indexes, which we do not read; the reference maintains them.
 */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { Index } from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import { openBothEngines } from "../support/bothEngines.js";
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

it.each([
  ["l2", false],
  ["cosine", true],
  ["dot", false],
] as const)("by %s, rows are compared one by one (stable row ids: %s)", async (distanceType, stable) => {
  const name = `rq_${distanceType}`;
  const rows = await makeTable(name, distanceType, stable);
  const { indexes } = await namespace.listTableIndices({ id: [name] });
  expect(indexes).toMatchObject([{ indexName: "v_idx", columns: ["v"] }]);
  const next = randomNumbers(41);
  const vectors = Array.from({ length: 6 }, () => Array.from({ length: DIMENSION }, () => next() * 4 - 2));
  const query = { vector: vectors[0], distanceType };
  expect(await namespace.explainTableQueryPlan({ id: [name], query })).not.toContain("VectorIndexSearch");
  const expectNearest = (matches: readonly Found[], vector: number[], keeps = (_: TestRow) => true) => {
    const wanted = nearestOf(distanceType, rows.filter(keeps), vector).slice(0, NEAREST);
    expect(matches.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
    for (const [index, { _distance }] of matches.entries())
      expect(_distance).toBeCloseTo(wanted[index].distance, 4);
  };
  for (const options of [{}, { nprobes: 1 }, { refineFactor: 2, ef: 12 }, { fastSearch: true }]) {
    expectNearest(await search(name, { ...query, ...options }), vectors[0]);
  }
  const filter = "`group` < 3 and id > 90";
  const filtered = await search(name, { ...query, filter, prefilter: true, nprobes: 1 });
  expectNearest(filtered, vectors[0], ({ group, id }) => group < 3 && id > 90);
  const several = await search(name, { vector: vectors, distanceType });
  for (const [index, vector] of vectors.entries())
    expectNearest(
      several.filter(({ query_index }) => query_index === index),
      vector,
    );
  // Our changes leave the index to the reference.
  await namespace.optimizeTable({ id: [name] });
  expectNearest(await search(name, query), vectors[0]);
  const table = await connection.openTable(name);
  await table.optimize();
  const there = (await table
    .query()
    .nearestTo(vectors[0])
    .distanceType(distanceType)
    .limit(NEAREST)
    .nprobes(4)
    .refineFactor(60)
    .toArray()) as Found[];
  expectNearest(there, vectors[0]);
  expectNearest(await search(name, query), vectors[0]);
});

async function segmentOf(name: string): Promise<string> {
  const directory = join(root, `${name}.lance`, "_indices");
  const [segment] = await readdir(directory);
  return join(directory, segment);
}

it("files that are damaged give an error that names them, or the rows", async () => {
  const rows = await makeTable("rq_damaged", "l2", false);
  const vector = [...(rows[9].vector ?? rows[10].vector ?? [])];
  const wanted = nearestOf("l2", rows, vector).slice(0, NEAREST);
  const path = join(await segmentOf("rq_damaged"), "index.idx");
  const whole = await readFile(path);
  const next = randomNumbers(43);
  for (let round = 0; round < 60; round++) {
    const damaged =
      round % 3 === 0 ? whole.subarray(0, Math.floor(next() * whole.length)) : Buffer.from(whole);
    if (damaged.length === whole.length)
      damaged[Math.floor(next() * whole.length)] ^= 1 + Math.floor(next() * 255);
    await writeFile(path, damaged);
    await using ours = new DirectoryNamespace({ root, durability: "none" });
    const matches = await search("rq_damaged", { vector }, ours).catch((error: unknown) => error);
    if (matches instanceof Error) expect(matches).toBeInstanceOf(NamespaceError);
    else expect((matches as Found[]).map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
  }
});

it("files of another kind that say they are of this one, or of none, are not asked", async () => {
  const rows = testRows("float32", DIMENSION, 500, 51);
  await reference.createTable(root, "renamed", streamOf(rows));
  const config = Index.ivfPq({ numPartitions: 2, numSubVectors: 4, distanceType: "l2" });
  await (await connection.openTable("renamed")).createIndex("v", { config });
  const path = join(await segmentOf("renamed"), "index.idx");
  const whole = await readFile(path, "latin1");
  expect(whole).toContain('"IVF_PQ"');
  const vector = [...(rows[9].vector ?? rows[10].vector ?? [])];
  const wanted = nearestOf("l2", rows, vector).slice(0, NEAREST);
  for (const kind of ["IVF_RQ", "IVF_XY", "______"]) {
    await writeFile(path, whole.replace('"IVF_PQ"', `"${kind}"`), "latin1");
    await using ours = new DirectoryNamespace({ root, durability: "none" });
    const query = { vector, nprobes: 1 };
    expect(await ours.explainTableQueryPlan({ id: ["renamed"], query })).not.toContain("VectorIndexSearch");
    const matches = await search("renamed", query, ours);
    expect(matches.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
  }
});
