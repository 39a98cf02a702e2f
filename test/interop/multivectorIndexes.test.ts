/** Indexes on columns with several vectors per row: both engines build, search and maintain them. */

import { FixedSizeList, Float32, Table, tableToIPC } from "apache-arrow";
import { InvalidInputError } from "tiltyard";
import { Index, type Table as TheirTable } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { columnsOf, fieldOf, int32s, listOf } from "../support/arrowColumns.js";
import { openBothEngines } from "../support/bothEngines.js";
import { buildIndex } from "../support/indexedTable.js";
import { reference } from "../support/reference.js";
import { type Found, randomNumbers, searchRows } from "../support/vectorTables.js";

const DIMENSION = 16;
const ROWS = 500;
const NEAREST = 8;
const VECTORS = listOf(new FixedSizeList(DIMENSION, fieldOf("item", new Float32())));

type Vectors = readonly (readonly number[])[];

interface Row {
  readonly id: number;
  readonly vectors: Vectors | null;
}

const { root, namespace, connection } = await openBothEngines();

const vectorFrom = (next: () => number): number[] =>
  Array.from({ length: DIMENSION }, () => Math.fround(next() * 2 - 1));

/** Rows of up to four vectors; some have none, and some are null. */
function rowsFrom(firstId: number, count: number): Row[] {
  const next = randomNumbers(firstId + 7);
  return Array.from({ length: count }, (_, index) => {
    const vectors = Array.from({ length: Math.floor(next() * 5) }, () => vectorFrom(next));
    return { id: firstId + index, vectors: next() < 0.05 ? null : vectors };
  });
}

const streamOf = (rows: readonly Row[]): Uint8Array =>
  tableToIPC(
    new Table({
      id: int32s(rows.map(({ id }) => id)),
      v: columnsOf(VECTORS)(rows.map(({ vectors }) => vectors)),
    }),
    "stream",
  );

const next = randomNumbers(5);
const QUERIES: readonly Vectors[] = [1, 2, 3, 5].map((count) =>
  Array.from({ length: count }, () => vectorFrom(next)),
);

interface Options {
  readonly nprobes?: number;
  readonly refineFactor?: number;
  readonly filter?: string;
  readonly fastSearch?: boolean;
}

const here = (name: string, vector: Vectors, options: Options = {}): Promise<Found[]> =>
  searchRows(namespace, { id: [name], vector, k: NEAREST, columns: ["id"], ...options } as never);

async function there(
  table: TheirTable,
  [first, ...rest]: Vectors,
  { nprobes, refineFactor, filter, fastSearch }: Options = {},
): Promise<Found[]> {
  let query = table
    .query()
    .nearestTo([...first])
    .distanceType("cosine")
    .limit(NEAREST);
  for (const vector of rest) query = query.addQueryVector([...vector]);
  if (nprobes !== undefined) query = query.nprobes(nprobes);
  if (refineFactor !== undefined) query = query.refineFactor(refineFactor);
  if (filter !== undefined) query = query.where(filter);
  if (fastSearch === true) query = query.fastSearch();
  return (await query.toArray()) as Found[];
}

const distancesOf = (rows: readonly Found[]): number[] => rows.map(({ _distance }) => _distance);

function expectAlike(ours: readonly Found[], theirs: readonly Found[]): void {
  expect(ours).toHaveLength(theirs.length);
  for (const [index, distance] of distancesOf(ours).entries())
    expect(distance).toBeCloseTo(theirs[index]._distance, 4);
}

/** Number of rows that only one engine may find when both walk graphs: their levels are random. */
const MISSED = 3;

function expectNotFarther(ours: readonly Found[], theirs: readonly Found[]): void {
  expect(ours).toHaveLength(theirs.length);
  for (const [index, { _distance }] of theirs.slice(MISSED).entries())
    expect(ours[index]._distance).toBeLessThan(_distance + 1e-4);
}

/** Distance of a row: the sum of the distances of its nearest vectors. */
function exactDistance(query: Vectors, vectors: Vectors): number {
  const cosine = (a: readonly number[], b: readonly number[]): number => {
    const dot = (x: readonly number[], y: readonly number[]) =>
      x.reduce((sum, value, index) => sum + value * y[index], 0);
    return 1 - dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  };
  return query.reduce(
    (sum, vector) => sum + Math.min(...vectors.map((candidate) => cosine(vector, candidate))),
    0,
  );
}

function nearest(rows: readonly Row[], query: Vectors): number[] {
  const measured = rows.flatMap(({ vectors }) =>
    vectors === null || vectors.length === 0 ? [] : [exactDistance(query, vectors)],
  );
  return measured.sort((a, b) => a - b).slice(0, NEAREST);
}

const OPTIONS: readonly Options[] = [{}, { nprobes: 1 }, { refineFactor: 4 }, { filter: "id % 3 = 1" }];

const configOf = (kind: string): Index => {
  const options = { numPartitions: 3, distanceType: "cosine" } as const;
  switch (kind) {
    case "IVF_PQ":
      return Index.ivfPq({ ...options, numSubVectors: 4 });
    case "IVF_HNSW_SQ":
      return Index.hnswSq(options);
    case "IVF_HNSW_PQ":
      return Index.hnswPq({ ...options, numSubVectors: 4 });
    default:
      return Index.ivfFlat(options);
  }
};

const KINDS = ["IVF_FLAT", "IVF_PQ", "IVF_HNSW_SQ", "IVF_HNSW_PQ"] as const;

describe.each(KINDS)("an %s on lists of vectors", (kind) => {
  const settings = { numPartitions: 3, ...(kind.endsWith("PQ") && { numSubVectors: 4 }) };
  // The engines walk graphs differently.
  const isWalked = kind.includes("HNSW");

  it.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])("answers alike in both engines (built by us: %s, stable row ids: %s)", async (isOurs, stableRowIds) => {
    const name = `${kind}_${isOurs ? "ours" : "theirs"}_${stableRowIds}`;
    const rows = rowsFrom(0, ROWS);
    await reference.createTable(root, name, streamOf(rows), { stableRowIds });
    const table = await connection.openTable(name);
    if (isOurs) await buildIndex(namespace, { id: [name], column: "v", indexType: kind, ...settings });
    else await table.createIndex("v", { config: configOf(kind) });
    expect((await table.indexStats("v_idx"))?.indexType).toBe(kind);
    const request = { id: [name], query: { vector: QUERIES[1], k: NEAREST } };
    expect(await namespace.explainTableQueryPlan(request as never)).toContain("VectorIndexSearch");
    expect(
      await table
        .query()
        .nearestTo([...QUERIES[0][0]])
        .explainPlan(true),
    ).toContain("MultivectorScoring");
    const expectSame = async () => {
      for (const vectors of QUERIES) {
        for (const options of OPTIONS) {
          if (isWalked && options.refineFactor === undefined) continue;
          const [ours, theirs] = [await here(name, vectors, options), await there(table, vectors, options)];
          if (!isWalked) expectAlike(ours, theirs);
          else expectNotFarther(ours, theirs);
        }
      }
    };
    await expectSame();
    // Both engines maintain it.
    await namespace.deleteFromTable({ id: [name], predicate: "id % 10 = 4" });
    await namespace.insertIntoTable({ id: [name] }, streamOf(rowsFrom(ROWS, 60)));
    await namespace.optimizeTable({ id: [name] });
    expect((await table.indexStats("v_idx"))?.numUnindexedRows).toBe(0);
    await expectSame();
    await reference.appendTable(root, name, streamOf(rowsFrom(ROWS + 60, 40)));
    await table.optimize();
    const { numUnindexedRows } = await namespace.describeTableIndexStats({ id: [name], indexName: "v_idx" });
    expect(numUnindexedRows).toBe(0);
    await expectSame();
  });

  it("finds the nearest rows when candidates, or uncovered rows, are compared exactly", async () => {
    const name = `${kind}_exact`;
    const rows = rowsFrom(0, ROWS);
    await namespace.createTable({ id: [name] }, streamOf(rows));
    await buildIndex(namespace, { id: [name], column: "v", indexType: kind, ...settings });
    const recallOf = async (all: readonly Row[], options: Options): Promise<number> => {
      let found = 0;
      for (const vectors of QUERIES) {
        const wanted = nearest(all, vectors);
        const farthest = wanted[wanted.length - 1] + 1e-4;
        found += distancesOf(await here(name, vectors, options)).filter((each) => each <= farthest).length;
      }
      return found / QUERIES.length / NEAREST;
    };
    expect(await recallOf(rows, { refineFactor: 10 })).toBeGreaterThan(0.9);
    const more = rowsFrom(ROWS, 50);
    await namespace.insertIntoTable({ id: [name] }, streamOf(more));
    expect(await recallOf([...rows, ...more], {})).toBeGreaterThan(0.6);
    expect(await here(name, QUERIES[1], { fastSearch: true, filter: `id >= ${ROWS}` })).toEqual([]);
  });
});

it("an IVF_RQ on lists of vectors of each engine gives the other the candidates of its nearest rows", async () => {
  for (const isOurs of [false, true]) {
    const name = `rotated_${isOurs}`;
    await namespace.createTable({ id: [name] }, streamOf(rowsFrom(0, ROWS)));
    const table = await connection.openTable(name);
    const settings = { numPartitions: 3, numBits: 3, distanceType: "cosine" } as const;
    if (isOurs) await buildIndex(namespace, { id: [name], column: "v", indexType: "IVF_RQ", ...settings });
    else await table.createIndex("v", { config: Index.ivfRq(settings) });
    for (const vectors of QUERIES) {
      const [ours, theirs] = [
        await here(name, vectors, { refineFactor: 10 }),
        await there(table, vectors, { refineFactor: 10 }),
      ];
      expectNotFarther(ours, theirs);
    }
  }
});

it("an index by another distance than cosine is refused", async () => {
  await namespace.createTable({ id: ["refused"] }, streamOf(rowsFrom(0, 20)));
  const request = { id: ["refused"], column: "v", indexType: "IVF_FLAT", distanceType: "l2" } as const;
  await expect(namespace.createTableIndex(request)).rejects.toThrow(InvalidInputError);
});

it("a column of lists gets an IVF_PQ by cosine if the request names neither", async () => {
  await namespace.createTable({ id: ["by_default"] }, streamOf(rowsFrom(0, ROWS)));
  await buildIndex(namespace, { id: ["by_default"], column: "v" } as never);
  const stats = await namespace.describeTableIndexStats({ id: ["by_default"], indexName: "v_idx" });
  expect(stats).toMatchObject({ indexType: "IVF_PQ", distanceType: "cosine" });
});

it("bounds of the distance apply to the sums", async () => {
  const name = "bounded";
  await namespace.createTable({ id: [name] }, streamOf(rowsFrom(0, ROWS)));
  await buildIndex(namespace, { id: [name], column: "v", indexType: "IVF_FLAT", numPartitions: 2 });
  const all = await here(name, QUERIES[2]);
  const [lowerBound, upperBound] = [all[2]._distance, all[5]._distance];
  const bounded = await here(name, QUERIES[2], { lowerBound, upperBound } as never);
  expect(bounded.map(({ id }) => id)).toEqual(all.slice(2, 5).map(({ id }) => id));
});
