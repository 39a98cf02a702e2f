import { MemoryStore } from "./node_modules/lancedb-opencode-pro/dist/store.js";
import { embedded, step } from "./steps.mjs";

const DIMENSION = 24;
const NOW = 1_700_000_000_000;
const record = (id, text, more = {}) => ({
  id,
  text,
  vector: embedded(text, DIMENSION),
  category: "fact",
  scope: "project:a",
  importance: 0.5,
  timestamp: NOW + Number(id.slice(1)),
  lastRecalled: 0,
  recallCount: 0,
  projectCount: 0,
  schemaVersion: 2,
  embeddingModel: "words",
  vectorDim: DIMENSION,
  metadataJson: "{}",
  ...more,
});
const ids = (records) => records.map(({ id }) => id).sort();
const store = new MemoryStore("./opencode-data");

await step("init", () => store.init(DIMENSION));
await step("put", async () => {
  await store.put(record("m1", "the fox jumps"));
  await store.put(record("m2", "a lazy dog", { scope: "global" }));
  await store.put(record("m3", "it's a table of numbers"));
  return ids(await store.list("project:a", 10));
});
await step(
  "hybrid search",
  async () =>
    (
      await store.search({
        query: "fox",
        queryVector: embedded("fox", DIMENSION),
        scopes: ["project:a", "global"],
        limit: 2,
        vectorWeight: 0.7,
        bm25Weight: 0.3,
        minScore: 0,
      })
    ).map(({ record }) => record.id)[0],
);
await step("has memory", () => store.hasMemory("m3", ["project:a"]));
await step("usage", async () => {
  await store.updateMemoryUsage("m3", "project:b", ["project:a"]);
  return (await store.list("project:a", 10)).find(({ id }) => id === "m3")?.recallCount;
});
await step("citation", async () => {
  await store.updateCitation("m1", ["project:a"], { source: "user", status: "verified", timestamp: NOW });
  return store.getCitation("m1", ["project:a"]);
});
await step("move to another scope", () => store.updateMemoryScope("m1", "global", ["project:a"]));
await step("global memories", async () => ids(await store.readGlobalMemories()));
await step("delete", () => store.deleteById("m1", ["global"]));
await step("clear scope", () => store.clearScope("project:a"));
await step("index health", () => {
  const { vector, fts } = store.getIndexHealth();
  return { vector, fts };
});
await step("many rows", async () => {
  for (let index = 10; index < 280; index++) await store.put(record(`m${index}`, `memory number ${index}`));
  const again = new MemoryStore("./opencode-data");
  await again.init(DIMENSION);
  const { vector, fts } = again.getIndexHealth();
  return [vector, fts, (await again.list("project:a", 1000)).length];
});
