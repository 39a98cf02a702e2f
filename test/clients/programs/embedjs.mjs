import { LanceDb } from "@llm-tools/embedjs-lancedb";
import { embedded, step } from "./steps.mjs";

const chunk = (id, text, loader) => ({
  pageContent: text,
  vector: embedded(text),
  metadata: { id, uniqueLoaderId: loader, source: `${id}.txt` },
});
const store = new LanceDb({ path: "./embedjs-data" });
await step("init", () => store.init({ dimensions: 16 }));
await step("insert", () =>
  store.insertChunks([
    chunk("a", "the fox jumps", "one"),
    chunk("b", "a lazy dog", "one"),
    chunk("c", "tables of numbers", "two"),
  ]),
);
await step("count", () => store.getVectorCount());
await step("search", async () =>
  (await store.similaritySearch(embedded("the fox jumps"), 1)).map(({ pageContent, score, metadata }) => [
    pageContent,
    score,
    metadata,
  ]),
);
await step("delete", () => store.deleteKeys("one"));
await step("count after delete", () => store.getVectorCount());
await step("init again", async () => {
  const again = new LanceDb({ path: "./embedjs-data" });
  await again.init({ dimensions: 16 });
  return again.getVectorCount();
});
await step("reset", async () => {
  await store.reset();
  return store.getVectorCount();
});
