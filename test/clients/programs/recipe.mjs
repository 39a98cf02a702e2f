import * as lancedb from "@lancedb/lancedb";
import { getRegistry } from "@lancedb/lancedb/embedding";

const db = await lancedb.connect("./recipe-data");
const rows = [
  { id: 1, text: "the fox", vector: [1, 0] },
  { id: 2, text: "a dog", vector: [0, 1] },
];
const table = await db.createTable("animals", rows, { mode: "overwrite" });
await table.createIndex("text", { config: lancedb.Index.fts() });
const near = await table.vectorSearch([0.1, 0.9]).limit(1).toArray();
const matching = await table.search("fox", "fts").toArray();
console.log(near[0].id, matching[0].id, await table.countRows("id > 1"), typeof getRegistry);
