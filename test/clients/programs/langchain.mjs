import { connect } from "@lancedb/lancedb";
import { LanceDB } from "@langchain/community/vectorstores/lancedb";
import { embedded, step } from "./steps.mjs";

const embeddings = {
  embedDocuments: async (texts) => texts.map((text) => embedded(text)),
  embedQuery: async (text) => embedded(text),
};
const shown = (documents) =>
  documents.map(({ pageContent, metadata: { id, topic } }) => [pageContent, id, topic]);
const uri = "./langchain-data";

const texts = ["the fox jumps", "a lazy dog", "tables of numbers"];
const metadatas = [
  { id: 1, topic: "animals" },
  { id: 2, topic: "animals" },
  { id: 3, topic: "work" },
];
const store = await LanceDB.fromTexts(texts, metadatas, embeddings, { uri });
await step("search", async () => shown(await store.similaritySearch("fox", 1)));
await step("add documents", async () => {
  await store.addDocuments([{ pageContent: "striped zebras run", metadata: { id: 4, topic: "work" } }]);
  return shown(await store.similaritySearch("striped zebras run", 1));
});
await step("search with score", async () =>
  (await store.similaritySearchWithScore("dog", 2)).map(([{ pageContent, metadata }]) => [
    pageContent,
    metadata._distance,
  ]),
);
await step("retriever", async () => shown(await store.asRetriever({ k: 1 }).invoke("tables of numbers")));

const db = await connect(uri);
await step("tables", () => db.tableNames());
const table = await db.openTable("langchain");
await step("filter", async () => {
  const found = await table.query().nearestTo(embedded("tables")).where("topic = 'work'").limit(5).toArray();
  return found.map(({ id }) => id).sort();
});
await step("delete", async () => {
  await table.delete("id = 4");
  return table.countRows();
});
const opened = new LanceDB(embeddings, { table });
await step("opened table", async () => shown(await opened.similaritySearch("tables of numbers", 1)));
await step("overwrite", async () => {
  await LanceDB.fromTexts(["new"], [{ id: 9, topic: "x" }], embeddings, { uri });
  return (await db.openTable("langchain")).countRows();
});
await step("other vector length", () =>
  opened.addVectors([[1, 2, 3]], [{ pageContent: "short", metadata: { id: 5, topic: "x" } }]).then(
    () => "added",
    () => "refused",
  ),
);
