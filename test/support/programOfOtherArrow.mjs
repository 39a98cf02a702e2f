/** Prints which objects of the drop-in are of the program's copy of apache-arrow, and what hybrid searches find. */

import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "program.js"));
const arrow = require("apache-arrow");
const lancedb = require("tiltyard-lancedb");

const db = await lancedb.connect("memory://");
const rows = Array.from({ length: 20 }, (_, id) => ({ id, text: `dog ${id}`, vector: [id, 1] }));
const table = await db.createTable("t", rows);
await table.add(new arrow.Table({ text: arrow.vectorFromArray(["cat", null]) }));
await table.createIndex("text", { config: lancedb.Index.fts() });

const handed = [];
const reranker = {
  async rerankHybrid(_query, near, matching) {
    handed.push(near instanceof arrow.RecordBatch, matching instanceof arrow.RecordBatch);
    const field = new arrow.Field("_relevance_score", new arrow.Float32(), true);
    const schema = new arrow.Schema([...near.schema.fields, field]);
    const [scores] = arrow.vectorFromArray(Array(near.numRows).fill(1), new arrow.Float32()).data;
    const children = [...near.data.children, scores];
    const type = new arrow.Struct(schema.fields);
    return new arrow.RecordBatch(
      schema,
      arrow.makeData({ type, length: near.numRows, nullCount: 0, children }),
    );
  },
};
const hybrid = () => table.query().nearestTo([1, 1]).fullTextSearch("dog").limit(3);
const { value: batch } = await table.query()[Symbol.asyncIterator]().next();
const [row] = await table.query().limit(1).toArray();
const rrf = await lancedb.rerankers.RRFReranker.create();
const schema = new arrow.Schema([new arrow.Field("id", new arrow.Int64()), lancedb.blob("b")]);
await db.createTable("blobs", [{ id: 1n, b: Buffer.from("x") }], { schema });

console.log(
  JSON.stringify({
    schema: (await table.schema()) instanceof arrow.Schema,
    table: (await table.toArrow()) instanceof arrow.Table,
    query: (await table.query().toArrow()) instanceof arrow.Table,
    outputSchema: (await table.query().outputSchema()) instanceof arrow.Schema,
    batch: batch instanceof arrow.RecordBatch,
    cell: row.vector instanceof arrow.Vector,
    reranked: (await hybrid().rerank(rrf).toArrow()) instanceof arrow.Table,
    byProgram: (await hybrid().rerank(reranker).toArray()).length,
    handed,
    field: lancedb.blob("b") instanceof arrow.Field,
    count: await table.countRows(),
  }),
);
