/** By an index that covers some rows, we find rows at least as near as the reference's. Many rows tie. */

import { Index, makeArrowTable, arrow as thereArrow } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { openBothEngines } from "../support/bothEngines.js";
import { someOf } from "../support/effort.js";
import { type Found, randomNumbers } from "../support/vectorTables.js";

const DIMENSION = 4;
const LIMIT = 5;
const { namespace, connection } = await openBothEngines();

type Metric = "l2" | "cosine" | "dot";
const KINDS = {
  IVF_FLAT: (distanceType: Metric) => Index.ivfFlat({ numPartitions: 3, distanceType }),
  IVF_PQ: (distanceType: Metric) => Index.ivfPq({ numPartitions: 3, numSubVectors: 2, distanceType }),
  IVF_PQ_coarse: (distanceType: Metric) => Index.ivfPq({ numPartitions: 1, numSubVectors: 1, distanceType }),
  IVF_PQ_4: (distanceType: Metric) =>
    Index.ivfPq({ numPartitions: 2, numSubVectors: 2, numBits: 4, distanceType }),
  IVF_HNSW_SQ: (distanceType: Metric) => Index.hnswSq({ numPartitions: 2, distanceType }),
  IVF_HNSW_PQ: (distanceType: Metric) => Index.hnswPq({ numPartitions: 2, numSubVectors: 2, distanceType }),
};

interface Asked {
  readonly refineFactor?: number;
  readonly filter?: string;
  readonly lowerBound?: number;
  readonly upperBound?: number;
  readonly fastSearch?: boolean;
  readonly count?: number;
}

/** Bounds between the distances that occur. */
const searches = (metric: Metric): readonly Asked[] => {
  const [lowerBound, upperBound] =
    metric === "l2" ? [10.5, 14.5] : metric === "dot" ? [-2.5, 0.5] : [0.137, 0.413];
  return [
    {},
    { count: 3 },
    { filter: "id % 3 = 0" },
    { refineFactor: 2 },
    { lowerBound },
    { lowerBound, upperBound },
    { upperBound },
    { fastSearch: true, refineFactor: 2 },
    { fastSearch: true, refineFactor: 3, lowerBound },
  ];
};

const next = randomNumbers(17);
const drawVector = (): number[] => {
  const vector = Array.from({ length: DIMENSION }, () => Math.floor(next() * 5) - 1);
  return vector.some((value) => value !== 0) ? vector : drawVector();
};

const { Field, FixedSizeList, Float32, Int32, Schema } = thereArrow;
const vectors = new FixedSizeList(DIMENSION, new Field("item", new Float32(), true));
const schema = new Schema([new Field("id", new Int32(), true), new Field("v", vectors, true)]);
const rows = (first: number, count: number) =>
  makeArrowTable(
    Array.from({ length: count }, (_, index) => ({ id: first + index, v: drawVector() })),
    { schema },
  );

const distancesOf = (matches: readonly Found[], count: number): number[][] =>
  Array.from({ length: count }, (_, query) =>
    matches.filter((row) => Number(row.query_index ?? 0) === query).map(({ _distance }) => _distance),
  );

describe.each(["l2", "cosine", "dot"] as const)("by %s", (metric) => {
  it.each(
    Object.entries(KINDS).flatMap(([kind, config]) =>
      someOf([1, 80]).map((uncovered) => ({ kind, config, uncovered })),
    ),
  )("$kind leads to rows as near as those of the reference beside $uncovered others", async (each) => {
    const { kind, config, uncovered } = each;
    const name = `${kind}_${metric}_${uncovered}`;
    const table = await connection.createTable(name, rows(0, 400));
    await table.createIndex("v", { config: config(metric) });
    await table.delete("id % 13 = 5");
    await table.add(rows(400, uncovered));
    for (const asked of searches(metric)) {
      const { count = 1, refineFactor, filter, lowerBound, upperBound, fastSearch } = asked;
      for (let repeat = 0; repeat < 4; repeat++) {
        const queries = Array.from({ length: count }, drawVector);
        const query = table.query().nearestTo(queries[0]).limit(LIMIT);
        for (const vector of queries.slice(1)) query.addQueryVector(vector);
        if (refineFactor !== undefined) query.refineFactor(refineFactor);
        if (filter !== undefined) query.where(filter);
        if (fastSearch === true) query.fastSearch();
        if (lowerBound !== undefined || upperBound !== undefined) query.distanceRange(lowerBound, upperBound);
        const there = distancesOf((await query.toArray()) as unknown as Found[], count);
        const { count: _, ...request } = asked;
        const vector = count === 1 ? queries[0] : queries;
        const matches = await namespace.queryTable({
          id: [name],
          vector,
          limit: LIMIT,
          prefilter: true,
          ...request,
        });
        const here = distancesOf((await matches.toArray()) as unknown as Found[], count);
        for (const [index, distances] of there.entries()) {
          const told = JSON.stringify({ asked, query: queries[index], here: here[index], there: distances });
          expect(here[index].length, told).toBeGreaterThanOrEqual(distances.length);
          for (const [position, distance] of distances.entries()) {
            expect(here[index][position], told).toBeLessThan(
              distance + 1e-4 * Math.max(1, Math.abs(distance)),
            );
          }
        }
      }
    }
  });
});

it("a graph index of the reference with empty partitions leads to rows", async () => {
  const data = Array.from({ length: 60 }, (_, id) => ({
    id,
    v: id % 2 === 0 ? [1, 2, 3, 4] : [-4, 3, -2, 1],
  }));
  const table = await connection.createTable("emptyPartitions", makeArrowTable(data, { schema }));
  await table.createIndex("v", { config: Index.hnswSq({ numPartitions: 6 }) });
  const matches = await namespace.queryTable({ id: ["emptyPartitions"], vector: [1, 2, 3, 4], limit: 30 });
  const ids = ((await matches.toArray()) as unknown as Found[]).map(({ id }) => id).sort((a, b) => a - b);
  expect(ids).toEqual(Array.from({ length: 30 }, (_, index) => 2 * index));
});
