/** Indexes of the reference that we do not read set the default metric and the rows of `fastSearch`. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FixedSizeList, Float32, Table, vectorFromArray } from "apache-arrow";
import { Index } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { fieldOf, int32s } from "../support/arrowColumns.js";
import { openBothEngines } from "../support/bothEngines.js";
import type { Found } from "../support/vectorTables.js";

const ROWS = 400;
const DIMENSION = 8;
const NEAREST = 12;
const QUERY = Array.from({ length: DIMENSION }, (_, index) => Math.sin(index) + 0.1);

const { root, namespace, connection } = await openBothEngines();

/** Vectors of different lengths, so that each metric finds different rows. */
const vectorOf = (id: number): number[] =>
  Array.from({ length: DIMENSION }, (_, index) => Math.sin(id * 3.1 + index * 7.7) * (1 + (id % 5)));

const VECTOR = new FixedSizeList(DIMENSION, fieldOf("item", new Float32()));

function rowsFrom(first: number, count: number): Table {
  const ids = Array.from({ length: count }, (_, row) => first + row);
  return new Table({
    id: int32s(ids),
    vector: vectorFromArray(ids.map(vectorOf), VECTOR),
  });
}

async function makeTable(name: string, config: Index): Promise<void> {
  await namespace.createTable({ id: [name] }, rowsFrom(0, ROWS));
  await (await connection.openTable(name)).createIndex("vector", { config });
}

/** Gives the files of an index the name of a kind that no release has. */
async function renameKind(name: string): Promise<void> {
  const directory = join(root, `${name}.lance`, "_indices");
  const path = join(directory, (await readdir(directory))[0], "index.idx");
  await writeFile(path, (await readFile(path, "latin1")).replace('"IVF_PQ"', '"IVF_XY"'), "latin1");
}

async function search(name: string, request: object): Promise<Found[]> {
  const result = await namespace.queryTable({
    ...{ id: [name], vector: QUERY, vectorColumn: "vector", limit: NEAREST, columns: ["id"] },
    ...request,
  });
  return (await result.toArray()) as unknown as Found[];
}

async function foundThere(name: string, isFast: boolean): Promise<Found[]> {
  const query = (await connection.openTable(name))
    .query()
    .nearestTo(QUERY)
    .column("vector")
    .limit(NEAREST)
    .nprobes(2);
  if (isFast) query.fastSearch();
  return (await query.toArray()) as Found[];
}

function expectAlike(here: readonly Found[], there: readonly Found[]): void {
  expect(here.map(({ id }) => id)).toEqual(there.map(({ id }) => id));
  for (const [row, { _distance }] of here.entries()) expect(_distance).toBeCloseTo(there[row]._distance, 4);
}

describe.each(["l2", "cosine", "dot"] as const)("an index of an unknown kind by %s", (distanceType) => {
  const name = `unknown_${distanceType}`;
  const settings = { numPartitions: 2, distanceType };

  it("has its rows compared by its metric, and no others in a fast search", async () => {
    await makeTable(name, Index.ivfPq({ ...settings, numSubVectors: 2 }));
    await renameKind(name);
    await namespace.insertIntoTable({ id: [name] }, rowsFrom(ROWS, 100));
    const plan = await namespace.explainTableQueryPlan({ id: [name], query: { vector: QUERY } });
    expect(plan).toMatch(/indexesNotRead=\[vector_idx: /);
    expect(plan).toContain(`distanceType=${distanceType}`);
    const bypass = { bypassVectorIndex: true, distanceType };
    const all = await search(name, bypass);
    expect(await search(name, {})).toEqual(all);
    const covered = await search(name, { ...bypass, filter: `id < ${ROWS}` });
    expect(covered).not.toEqual(all);
    expect(await search(name, { fastSearch: true })).toEqual(covered);
    expect(await search(name, { fastSearch: true, filter: "id >= 100", offset: 1 })).toEqual(
      await search(name, { ...bypass, filter: `id >= 100 AND id < ${ROWS}`, offset: 1 }),
    );
    // A search that names a metric uses it; one that bypasses the index uses l2.
    const otherMetric = distanceType === "cosine" ? "l2" : "cosine";
    const named = { distanceType: otherMetric };
    expect(await search(name, named)).toEqual(await search(name, { ...named, bypassVectorIndex: true }));
    expect(await search(name, { bypassVectorIndex: true })).toEqual(
      await search(name, { bypassVectorIndex: true, distanceType: "l2" }),
    );
  });
});

it.each([
  "l2",
  "cosine",
  "dot",
] as const)("an index by %s that covers no rows tells no metric, and leaves none for a fast search", async (distanceType) => {
  const name = `covers_none_${distanceType}`;
  await makeTable(name, Index.ivfFlat({ numPartitions: 2, distanceType }));
  await namespace.updateTable({ id: [name], updates: [["id", "id + 1000"]] });
  expect(await search(name, {})).toEqual(await search(name, { distanceType: "l2" }));
  expectAlike(await search(name, {}), await foundThere(name, false));
  expect(await foundThere(name, true)).toEqual([]);
  expect(await search(name, { fastSearch: true })).toEqual([]);
});

it("a fast search by another metric than the index has compares the rows that the index covers", async () => {
  await makeTable("other_metric", Index.ivfFlat({ numPartitions: 2, distanceType: "cosine" }));
  await namespace.insertIntoTable({ id: ["other_metric"] }, rowsFrom(ROWS, 100));
  expect(await search("other_metric", { distanceType: "dot", fastSearch: true })).toEqual(
    await search("other_metric", { distanceType: "dot", bypassVectorIndex: true, filter: `id < ${ROWS}` }),
  );
});
