/** Indexes through LanceDB's remote client, `connect("db://…")`. */

import { type Connection, connect, Index, type Table } from "tiltyard-reference/session.js";
import { afterEach, expect, it } from "../../support/fixtures.js";
import { buildIndex } from "../../support/indexedTable.js";
import { type RestServer, startRestServer } from "../../support/restServer.js";

const KEY = "secret";
let server: RestServer;
let connection: Connection;
let table: Table;

it.beforeEach(async ({ ns }) => {
  server = await startRestServer(ns, { auth: { apiKeys: [KEY] } });
  connection = await connect("db://tests", { apiKey: KEY, hostOverride: server.url });
  table = await connection.createTable("t", [
    { n: 1, m: 1, text: "one", labels: ["a"], vector: [1, 2] },
    { n: 2, m: 1, text: "two", labels: ["a", "b"], vector: [1, 3] },
  ]);
});
afterEach(async () => {
  connection.close();
  await server[Symbol.asyncDispose]();
});

it("the client builds the index types that it knows, and waits for them", async () => {
  await table.createIndex("n", { config: Index.btree() });
  await table.waitForIndex(["n_idx"], 20);
  await table.createIndex("text", { config: Index.bitmap() });
  await table.createIndex("labels", { config: Index.labelList() });
  await table.waitForIndex(["n_idx", "text_idx", "labels_idx"], 20);
  const listed = (await table.listIndices()).map(({ name, indexType, columns }) => [
    name,
    indexType,
    columns,
  ]);
  expect(listed.sort()).toEqual([
    ["labels_idx", "LabelList", ["labels"]],
    ["n_idx", "BTree", ["n"]],
    ["text_idx", "Bitmap", ["text"]],
  ]);
  expect(await table.indexStats("text_idx")).toMatchObject({
    indexType: "BITMAP",
    numIndexedRows: 2,
    numUnindexedRows: 0,
  });
  expect(await table.query().where("n = 2").select(["text"]).toArray()).toMatchObject([{ text: "two" }]);
  // The client replaces an index by default.
  await table.createIndex("n", { config: Index.btree() });
  await expect(table.createIndex("n", { config: Index.btree(), replace: false })).rejects.toThrow(/n_idx/);
  await table.dropIndex("text_idx");
  expect((await table.listIndices()).map(({ name }) => name).sort()).toEqual(["labels_idx", "n_idx"]);
  expect(await table.indexStats("text_idx")).toBeUndefined();
});

it("the client lists and describes index types that it does not know", async ({ ns }) => {
  for (const [column, indexType] of [
    ["n", "ZONEMAP"],
    ["m", "BLOOMFILTER"],
    ["text", "NGRAM"],
  ] as const) {
    await buildIndex(ns, { id: ["t"], column, indexType });
    const stats = await table.indexStats(`${column}_idx`);
    expect(stats, indexType).toMatchObject({ numIndexedRows: 2, numUnindexedRows: 0 });
  }
  const listed = await table.listIndices();
  expect(listed.map(({ name }) => name).sort()).toEqual(["m_idx", "n_idx", "text_idx"]);
});

it("the client learns which index is unsupported, and which request is invalid", async () => {
  const vector = table.createIndex("vector", { config: Index.ivfRq() });
  await expect(vector).rejects.toThrow(/IVF_RQ|multiple of 8/);
  const japanese = Index.fts({ baseTokenizer: "lindera/ipadic" as never });
  await expect(table.createIndex("text", { config: japanese })).rejects.toThrow(/406.*lindera/s);
  await expect(table.createIndex("n", { config: Index.labelList() })).rejects.toThrow(
    /400.*n.*can have BTREE/s,
  );
  await expect(table.createIndex("none", { config: Index.btree() })).rejects.toThrow(/none/);
  await expect(table.dropIndex("none_idx")).rejects.toThrow(/none_idx/);
  expect(await table.listIndices()).toEqual([]);
});
