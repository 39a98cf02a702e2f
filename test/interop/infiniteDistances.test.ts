/** Both engines find the same rows for vectors with infinities or NaN; infinite distances come last. */

import { Index, makeArrowTable, arrow as thereArrow } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { openBothEngines } from "../support/bothEngines.js";
import { buildIndex } from "../support/indexedTable.js";

const { namespace, connection } = await openBothEngines();
const { Field, FixedSizeList, Float16, Float32, Float64, Int32, List, Schema } = thereArrow;

const HUGE = { float16: 60_000, float32: 3e38, float64: Math.fround(3e38) } as const;
const ITEMS = { float16: new Float16(), float32: new Float32(), float64: new Float64() } as const;
type Item = keyof typeof HUGE;
type Metric = "l2" | "cosine" | "dot";

const vectorType = (item: Item) => new FixedSizeList(2, new Field("item", ITEMS[item], true));

const vectorsOf = (item: Item): ((number | null)[] | null)[] => {
  const [huge, infinity] = [HUGE[item], Number.POSITIVE_INFINITY];
  return [
    ...[
      [1, 0],
      [infinity, 1],
      [huge, huge],
      [-huge, -huge],
      [Number.NaN, 1],
      [-infinity, infinity],
    ],
    ...[[2, 3], [0, 0], null, [infinity, infinity], [5, 4], [0, -huge], [-infinity, 0], [1, Number.NaN]],
  ];
};

interface Asked {
  readonly lowerBound?: number;
  readonly upperBound?: number;
  readonly limit?: number;
  readonly filter?: string;
  readonly refineFactor?: number;
  readonly fastSearch?: boolean;
}

const ASKED: readonly Asked[] = [
  {},
  { lowerBound: -0.01 },
  { lowerBound: Number.POSITIVE_INFINITY },
  { upperBound: Number.POSITIVE_INFINITY },
  { upperBound: 1e39 },
  { lowerBound: Number.NEGATIVE_INFINITY, upperBound: 1e30 },
  { limit: 6 },
  { limit: 1 },
  { filter: "id % 2 = 1" },
  { refineFactor: 3 },
];

/** Each row as its number and its distance, sorted, per vector. */
const told = (rows: readonly unknown[]): string[] =>
  (rows as { id: number; _distance: number; query_index?: number }[])
    .map(({ id, _distance, query_index = 0 }) => {
      // Infinity less infinity is NaN.
      const distance = Math.abs(_distance) < 1e6 ? Math.round(_distance * 1e3) / 1e3 : Math.fround(_distance);
      return { id, distance: distance + 0, query: query_index };
    })
    .sort(
      (a, b) =>
        a.query - b.query || (a.distance === b.distance ? a.id - b.id : a.distance < b.distance ? -1 : 1),
    )
    .map(({ id, distance, query }) => `${query}: ${id} at ${distance.toPrecision(4)}`);

async function expectSame(
  name: string,
  vectors: readonly number[][],
  metric: Metric,
  asked: Asked,
): Promise<void> {
  const { lowerBound, upperBound, limit = 400, filter, refineFactor, fastSearch } = asked;
  const query = (await connection.openTable(name))
    .query()
    .nearestTo(vectors[0])
    .distanceType(metric)
    .limit(limit);
  for (const vector of vectors.slice(1)) query.addQueryVector(vector);
  if (filter !== undefined) query.where(filter);
  if (refineFactor !== undefined) query.refineFactor(refineFactor);
  if (fastSearch) query.fastSearch();
  if (lowerBound !== undefined || upperBound !== undefined) query.distanceRange(lowerBound, upperBound);
  const there = told(await query.toArray());
  const matches = await namespace.queryTable({
    ...{
      id: [name],
      vector: vectors.length === 1 ? vectors[0] : vectors,
      distanceType: metric,
      prefilter: true,
    },
    ...asked,
    limit,
  });
  expect(told(await matches.toArray()), JSON.stringify({ vectors, asked })).toEqual(there);
}

describe.each(["float16", "float32", "float64"] as const)("of %s", (item) => {
  const huge = HUGE[item];
  const queries = [
    [1, 0],
    [huge, huge],
    [-1, 0],
    [0, 0],
    [2, -1],
  ];

  it.each(["l2", "cosine", "dot"] as const)("a search by %s finds the same rows", async (metric) => {
    const name = `${item}_${metric}`;
    const schema = new Schema([new Field("id", new Int32(), true), new Field("v", vectorType(item), true)]);
    const rows = vectorsOf(item).map((v, id) => ({ id, v }));
    await connection.createTable(name, makeArrowTable(rows, { schema }));
    for (const asked of ASKED) {
      // From the second search of a column on, sketches answer.
      for (const query of queries) await expectSame(name, [query], metric, asked);
      await expectSame(name, queries, metric, asked);
    }
  });
});

describe("beside an index", () => {
  const huge = HUGE.float32;
  const schema = new Schema([
    new Field("id", new Int32(), true),
    new Field("v", new FixedSizeList(2, new Field("item", new Float32(), true)), true),
  ]);
  const wave = (id: number): number[] => [Math.sin(id) * (1 + (id % 7)), Math.cos(3 * id) * (1 + (id % 5))];

  it.each(
    (["l2", "cosine", "dot"] as const).flatMap((metric) =>
      (["IVF_FLAT of the reference", "IVF_FLAT", "IVF_PQ of the reference"] as const).map((kind) => ({
        metric,
        kind,
      })),
    ),
  )("by $metric, an $kind leads to the same rows, and others are compared", async ({ metric, kind }) => {
    const name = `${kind} ${metric}`.replaceAll(" ", "_");
    const odd = vectorsOf("float32").map((v, id) => ({ id, v }));
    const others = Array.from({ length: 300 }, (_, id) => ({ id: 100 + id, v: wave(id) }));
    const table = await connection.createTable(name, makeArrowTable([...odd, ...others], { schema }));
    if (kind === "IVF_FLAT") {
      await buildIndex(namespace, {
        id: [name],
        column: "v",
        indexType: kind,
        distanceType: metric,
        numPartitions: 2,
      });
    } else {
      const settings = { numPartitions: 1, distanceType: metric };
      const isFlat = kind.startsWith("IVF_FLAT");
      const config = isFlat ? Index.ivfFlat(settings) : Index.ivfPq({ ...settings, numSubVectors: 1 });
      await table.createIndex("v", { config });
    }
    const asked: readonly Asked[] = kind.startsWith("IVF_FLAT")
      ? [{}, { refineFactor: 2 }, { upperBound: Number.POSITIVE_INFINITY }, { fastSearch: true }]
      : [{ refineFactor: 2 }];
    const queries =
      metric === "cosine" || kind.startsWith("IVF_PQ")
        ? [[1, 0]]
        : [
            [1, 0],
            [huge, huge],
            [-1, 2],
          ];
    for (const each of asked) for (const query of queries) await expectSame(name, [query], metric, each);
    await namespace.insertIntoTable(
      { id: [name] },
      odd.map(({ id, v }) => ({ id: 1000 + id, v })),
    );
    for (const each of asked) for (const query of queries) await expectSame(name, [query], metric, each);
  });
});

it.each([
  "l2",
  "dot",
  "cosine",
] as const)("of rows of several vectors, a search by %s finds the same", async (metric) => {
  const [huge, infinity] = [HUGE.float32, Number.POSITIVE_INFINITY];
  const lists = [
    ...[
      [[1, 0]],
      [[infinity, 1]],
      [
        [huge, huge],
        [1, 1],
      ],
      [[-huge, -huge]],
      [[Number.NaN, 1]],
    ],
    ...[
      [
        [Number.NaN, 1],
        [2, 3],
      ],
      [
        [Number.NaN, 1],
        [infinity, 1],
      ],
      [],
      null,
      [
        [5, 5],
        [1, 4],
      ],
      [[4, -4]],
    ],
  ];
  const vectors = new List(new Field("item", vectorType("float32"), true));
  const schema = new Schema([new Field("id", new Int32(), true), new Field("many", vectors, true)]);
  const rows = lists.map((many, id) => ({ id, many }));
  const name = `several_${metric}`;
  await connection.createTable(name, makeArrowTable(rows, { schema }));
  for (const query of [
    [[1, 0]],
    [
      [-1, 0],
      [0, 1],
    ],
    [
      [1, 0],
      [huge, huge],
    ],
  ]) {
    for (const asked of [{}, { limit: 5 }, { upperBound: infinity }])
      await expectSame(name, query, metric, asked);
  }
});
