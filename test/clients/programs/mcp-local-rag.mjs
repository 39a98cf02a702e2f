import { VectorStore } from "./node_modules/mcp-local-rag/dist/vectordb/index.js";
import { embedded, step } from "./steps.mjs";

const DIMENSION = 32;
const chunk = (filePath, chunkIndex, text) => ({
  id: `${filePath}:${chunkIndex}`,
  filePath,
  chunkIndex,
  text,
  vector: embedded(text, DIMENSION),
  metadata: { fileName: filePath.split("/").at(-1), fileSize: text.length, fileType: "md" },
  fileTitle: chunkIndex === 0 ? null : "a title",
  timestamp: "2026-01-01T00:00:00.000Z",
});
const shown = (found) => found.map(({ filePath, chunkIndex, text }) => [filePath, chunkIndex, text]);
const options = { dbPath: "./rag-data", tableName: "chunks" };
const store = new VectorStore(options);

await step("initialize", () => store.initialize());
await step("empty search", () => store.search(embedded("fox", DIMENSION)));
await step("insert", () =>
  store.insertChunks([
    chunk("/docs/it's.md", 0, "the fox jumps over a dog"),
    chunk("/docs/it's.md", 1, "tables of numbers in files"),
    chunk("/docs/b.md", 0, "rows of a table"),
    chunk("/notes/c.md", 0, "useState hook of a component"),
  ]),
);
await step("vector search", async () =>
  shown(await store.search(embedded("fox dog", DIMENSION), { limit: 2 })),
);
await step("hybrid search", async () =>
  shown(await store.search(embedded("component", DIMENSION), { queryText: "useState", limit: 1 })),
);
await step("scoped search", async () =>
  shown(await store.search(embedded("rows", DIMENSION), { limit: 5, scope: ["/docs/"] }))
    .map(([path]) => path)
    .sort(),
);
await step("chunks by range", () => store.getChunksByRange("/docs/it's.md", 0, 1));
await step("chunks by file", async () =>
  (await store.getChunksByFilePath("/docs/it's.md")).map((each) => ({
    ...each,
    vector: [...each.vector].length,
  })),
);
await step("list files", async () =>
  (await store.listFiles()).sort((a, b) => (a.filePath < b.filePath ? -1 : 1)),
);
await step("delete", () => store.deleteChunks("/docs/it's.md"));
await step("delete nothing", () => store.deleteChunks("/docs/none.md"));
await step("optimize", () => store.optimize());
await step("status", async () => {
  const { documentCount, chunkCount, ftsIndexEnabled, searchMode } = await store.getStatus();
  return { documentCount, chunkCount, ftsIndexEnabled, searchMode };
});
const limited = new VectorStore({ ...options, maxDistance: 0.3, grouping: "similar", hybridWeight: 0 });
await limited.initialize();
await step("maximum distance", async () =>
  shown(await limited.search(embedded("rows of a table", DIMENSION), { limit: 5 })),
);
await step("second store sees inserts", async () => {
  await store.insertChunks([chunk("/docs/d.md", 0, "late rows")]);
  return (await limited.listFiles()).length;
});
await store.close();
await step("closed", () =>
  store.search(embedded("fox", DIMENSION), { limit: 1 }).then((found) => found.length),
);
await limited.close();
