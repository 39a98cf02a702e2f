import { FixedSizeList, Float32, Schema, Uint8 } from "apache-arrow";
import { Index } from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import { fieldOf } from "../support/arrowColumns.js";
import { openBothEngines } from "../support/bothEngines.js";
import { buildIndex } from "../support/indexedTable.js";

const { namespace, connection } = await openBothEngines();
let detailTables = 0;

it("both engines list the same paths, and a listed path names the column in a request", async () => {
  const names = ["row-id", "naïve", "1abc", "with space", "日本", "a$b", "²x", "ok_1", "a`b", "é\u0301"];
  const values = Object.fromEntries(names.map((name, index) => [name, index]));
  const table = await connection.createTable("paths", [
    { ...values, "meta-data": { "user-id": 1, plain: 2 } },
  ]);
  const quoted = (name: string): string => `\`${name.replaceAll("`", "``")}\``;
  const paths = [...names.map(quoted), "`meta-data`.`user-id`", "`meta-data`.plain"];
  for (const [index, path] of paths.entries()) {
    await buildIndex(namespace, { id: ["paths"], column: path, indexType: "BTREE", name: `index${index}` });
  }
  const { indexes } = await namespace.listTableIndices({ id: ["paths"] });
  const here = Object.fromEntries(indexes.map(({ indexName, columns }) => [indexName, columns]));
  const there = Object.fromEntries((await table.listIndices()).map(({ name, columns }) => [name, columns]));
  expect(here).toEqual(there);
  for (const [indexName, [column]] of Object.entries(here)) {
    await buildIndex(namespace, {
      id: ["paths"],
      column,
      indexType: "BTREE",
      name: indexName,
      replace: true,
    });
  }
  expect((await namespace.listTableIndices({ id: ["paths"] })).indexes.length).toBe(paths.length);
});

it("both engines give an index of a column the same name", async () => {
  const names = ["a.b", "a`b", "a.`b", "`", "a-b", "ab"];
  const row = { p: Object.fromEntries(names.map((name, index) => [name, index])) };
  for (const id of ["ours", "theirs"]) await connection.createTable(id, [row]);
  const theirs = await connection.openTable("theirs");
  for (const name of names) {
    const column = `p.\`${name.replaceAll("`", "``")}\``;
    await buildIndex(namespace, { id: ["ours"], column, indexType: "BTREE" });
    await theirs.createIndex(column);
  }
  const { indexes } = await namespace.listTableIndices({ id: ["ours"] });
  expect(indexes.map(({ indexName }) => indexName).sort()).toEqual(
    (await theirs.listIndices()).map(({ name }) => name).sort(),
  );
});

it.each([
  "hamming",
  "l2",
  "cosine",
  "dot",
] as const)("details of an index tell its distance: %s", async (distanceType) => {
  const item = fieldOf("item", distanceType === "hamming" ? new Uint8() : new Float32());
  const schema = new Schema([fieldOf("v", new FixedSizeList(8, item))]);
  const id = [`details_${distanceType}`];
  const rows = Array.from({ length: 60 }, (_, row) => ({
    v: Uint8Array.from({ length: 8 }, (_, index) => (row * 7 + index) % 256),
  }));
  await namespace.createTable({ id, schema }, rows);
  await buildIndex(namespace, { id, column: "v", indexType: "IVF_FLAT", numPartitions: 2, distanceType });
  const [{ indexDetails }] = (await namespace.listTableIndices({ id })).indexes;
  expect(JSON.parse(indexDetails ?? "")).toMatchObject({ metric_type: distanceType.toUpperCase() });
  const [there] = await (await connection.openTable(id[0])).listIndices();
  expect(JSON.stringify(there.indexDetails).toLowerCase()).toContain(`"metric_type":"${distanceType}"`);
});

const COSINE = { numPartitions: 2, distanceType: "cosine" } as const;

it.each([
  [
    "vector",
    Index.ivfPq({ ...COSINE, numSubVectors: 4 }),
    { indexType: "IVF_PQ", ...COSINE, numSubVectors: 4 },
  ],
  ["vector", Index.ivfPq({ distanceType: "dot" }), { indexType: "IVF_PQ", distanceType: "dot" }],
  ["vector", Index.ivfFlat({ numPartitions: 3 }), { indexType: "IVF_FLAT", numPartitions: 3 }],
  ["vector", Index.hnswSq({ m: 12 }), { indexType: "IVF_HNSW_SQ", m: 12 }],
  [
    "vector",
    Index.hnswPq({ ...COSINE, efConstruction: 99 }),
    { ...COSINE, indexType: "IVF_HNSW_PQ", efConstruction: 99 },
  ],
  [
    "text",
    Index.fts({ withPosition: true, baseTokenizer: "ngram" }),
    { indexType: "FTS", withPosition: true, baseTokenizer: "ngram" },
  ],
  [
    "text",
    Index.fts({ language: "German", maxTokenLength: 20 }),
    { indexType: "FTS", language: "German", maxTokenLength: 20 },
  ],
  ["id", Index.btree(), { indexType: "BTREE" }],
] as const)("both engines show the same details of an index on %s", async (column, config, request) => {
  const name = `shown_${detailTables++}`;
  const rows = Array.from({ length: 300 }, (_, id) => ({
    ...{ id, text: `document ${id}` },
    vector: Array.from({ length: 16 }, (_, index) => Math.sin(id * 17 + index)),
  }));
  const shown: unknown[] = [];
  for (const isOurs of [false, true]) {
    const id = [`${name}_${isOurs}`];
    const table = await connection.createTable(id[0], rows);
    if (isOurs) await buildIndex(namespace, { id, column, ...request });
    else await table.createIndex(column, { config });
    const [here] = (await namespace.listTableIndices({ id })).indexes;
    const [there] = await table.listIndices();
    expect(JSON.parse(here.indexDetails ?? "")).toEqual(there.indexDetails);
    const { runtime_hints: _, ...details } = there.indexDetails as Record<string, unknown>;
    shown.push(details);
  }
  expect(shown[1]).toEqual(shown[0]);
});

it("the plan of a search by an index has a scan of the rows that the index does not cover", async () => {
  const id = ["plans"];
  const rows = (count: number) =>
    Array.from({ length: count }, (_, row) => ({ vector: Float32Array.of(row, 0.5) }));
  await namespace.createTable({ id }, rows(300));
  await buildIndex(namespace, { id, column: "vector", indexType: "IVF_FLAT", numPartitions: 2 });
  await namespace.insertIntoTable({ id }, rows(3));
  const plan = async (more: object) =>
    namespace.explainTableQueryPlan({ id, query: { vector: [1, 2], ...more } });
  expect(await plan({})).toContain("Scan: columns=[vector], fragments=1, rows=3");
  expect(await plan({ fastSearch: true })).not.toContain("Scan:");
  expect(await plan({ bypassVectorIndex: true })).toContain("Scan: columns=[vector], fragments=2, rows=303");
});
