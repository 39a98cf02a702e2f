import { LanceVectorStore } from "@mastra/lance";
import { embedded, step } from "./steps.mjs";

const store = await LanceVectorStore.create("./mastra-data");
const tableName = "docs";
const texts = ["the fox jumps", "a lazy dog", "tables of numbers", "rows of tables"];
const rows = (count) =>
  Array.from({ length: count }, (_, index) => ({
    id: String(index),
    vector: embedded(`${texts[index % texts.length]} ${index}`),
    metadata_text: texts[index % texts.length],
    metadata_size: index,
  }));
const shown = (found) => found.map(({ id, score, metadata }) => [id, score, metadata]);

await step("create table", async () => (await store.createTable(tableName, rows(300))).name);
await step("list tables", () => store.listTables());
await step("schema", async () =>
  (await store.getTableSchema(tableName)).fields.map(({ name, type }) => [name, String(type)]),
);
await step("create index", () =>
  store.createIndex({
    tableName,
    indexName: "vector",
    dimension: 16,
    metric: "cosine",
    indexConfig: { type: "ivfflat", numPartitions: 1, numSubVectors: 1 },
  }),
);
await step("create hnsw index", () =>
  store.createIndex({
    tableName,
    indexName: "vector",
    dimension: 16,
    metric: "cosine",
    indexConfig: { type: "hnsw", numPartitions: 1, numSubVectors: 1 },
  }),
);
await step("list indexes", () => store.listIndexes());
await step("describe index", () => store.describeIndex({ indexName: "vector_idx" }));
await step(
  "query",
  async () =>
    (await store.query({ tableName, queryVector: embedded("the fox jumps 0"), topK: 3, columns: ["id"] }))
      .length,
);
await step("filter", async () =>
  shown(
    await store.query({
      tableName,
      queryVector: embedded("tables of numbers"),
      topK: 5,
      filter: { text: "tables of numbers", size: { $lt: 10 } },
      columns: ["id", "metadata_text", "metadata_size"],
    }),
  )
    .map(([id, , metadata]) => [id, metadata])
    .sort(),
);
await step("all columns", async () =>
  Object.keys(
    (
      await store.query({
        tableName,
        queryVector: embedded("dog"),
        topK: 1,
        includeAllColumns: true,
        includeVector: true,
      })
    )[0],
  ),
);
await step("update vector", () =>
  store.updateVector({ indexName: "vector", id: "1", update: { metadata: { text: "changed" } } }),
);
await step("delete vector", () => store.deleteVector({ indexName: "vector", id: "2" }));
await step("after changes", async () =>
  (
    await store.query({
      tableName,
      queryVector: embedded("dog"),
      topK: 10,
      filter: { size: { $lt: 4 } },
      columns: ["id", "metadata_text"],
    })
  )
    .map(({ id, metadata }) => [id, metadata])
    .sort(),
);
await step("delete index", () => store.deleteIndex({ indexName: "vector_idx" }));
await step("indexes after", () => store.listIndexes());
await step("upsert", () =>
  store.upsert({
    tableName,
    ids: ["new", "0"],
    vectors: [embedded("brand new"), embedded("replaced")],
    metadata: [
      { text: "brand new", size: 1000 },
      { text: "replaced", size: 1001 },
    ],
  }),
);
await step("upserted", async () =>
  (
    await store.query({
      tableName,
      queryVector: embedded("brand new"),
      topK: 10,
      filter: { size: { $gte: 1000 } },
      columns: ["id", "metadata_text"],
    })
  )
    .map(({ id, metadata }) => [id, metadata])
    .sort(),
);
await step("delete table", () => store.deleteTable(tableName));
await step("delete all", async () => {
  await store.createTable("other", rows(3));
  await store.deleteAllTables();
  return store.listTables();
});
await step("unknown table", () => store.query({ tableName: "none", queryVector: [1], topK: 1 }));
store.close();
