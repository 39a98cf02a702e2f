/** Indexes that are made without rows: queries scan until an optimisation by either engine fills them. */

import { UnsupportedError } from "tiltyard";
import { describe, expect, it } from "../support/fixtures.js";

const rows = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const n = first + index;
    return { n, c: `c${n % 3}`, l: ["a", `b${n % 2}`], s: `word${n} common`, vector: [n, 1, 2, 3] };
  });

const KINDS = [
  ["n", "BTREE", "n = 7", 1],
  ["c", "BITMAP", "c = 'c1'", 100],
  ["l", "LABEL_LIST", "array_has_any(l, ['b1'])", 150],
  ["n", "ZONEMAP", "n < 5", 5],
  ["n", "BLOOMFILTER", "n = 9", 1],
  ["s", "NGRAM", "contains(s, 'ord29')", 11],
  ["s", "FTS", null, 1],
] as const;

describe.each(KINDS)("on %s, of kind %s", (column, indexType, filter, expected) => {
  it.for(["this engine", "LanceDB"])("%s fills it", async (engine, { ns, theirs }) => {
    await ns.createTable({ id: "t" }, rows(0, 300));
    const table = ns.table("t");
    const { jobId } = await table.createIndex(column, { indexType, train: false });
    await ns.waitForJob({ jobId: jobId as string });
    const count = async () =>
      filter === null
        ? (await table.search({ text: "word7", limit: 500 }).toArray()).length
        : table.countRows(filter);
    const native = await theirs.openTable("t");
    const nativeCount = async () =>
      filter === null
        ? (await native.query().fullTextSearch("word7").limit(500).toArray()).length
        : native.countRows(filter);
    const [{ numIndexedRows, numUnindexedRows }] = await table.indexes();
    expect([numIndexedRows, numUnindexedRows]).toEqual([0, 300]);
    expect(await native.indexStats(`${column}_idx`)).toMatchObject({
      numIndexedRows: 0,
      numUnindexedRows: 300,
    });
    expect([await count(), await nativeCount()]).toEqual([expected, expected]);
    await table.insert(rows(300, 1));
    await (engine === "LanceDB" ? native : table).optimize();
    const [filled] = await table.indexes();
    expect([filled.numIndexedRows, filled.numUnindexedRows]).toEqual([301, 0]);
    expect([await count(), await nativeCount()]).toEqual([expected, expected]);
  });
});

it("an index that LanceDB made without rows is read, searched beside and filled", async ({ ns, theirs }) => {
  const { Index } = await import("tiltyard-reference/session.js");
  await ns.createTable({ id: "t" }, rows(0, 300));
  const native = await theirs.openTable("t");
  await native.createIndex("n", { config: Index.btree(), train: false });
  await native.createIndex("s", { config: Index.fts(), train: false });
  const table = ns.table("t");
  expect(await table.countRows("n = 7")).toBe(1);
  expect((await table.search({ text: "word7", limit: 5 }).toArray()).length).toBe(1);
  expect(await table.tokenize("Words", { column: "s" })).toEqual([{ text: "word", position: 0 }]);
  await table.optimize();
  expect((await table.indexes()).map(({ numIndexedRows }) => numIndexedRows)).toEqual([300, 300]);
  expect(await native.countRows("n = 7")).toBe(1);
});

it("vector indexes refuse to be made without rows", async ({ ns }) => {
  await ns.createTable({ id: "t" }, rows(0, 300));
  for (const indexType of ["IVF_FLAT", "IVF_PQ", "IVF_HNSW_SQ"] as const) {
    const made = ns.table("t").createIndex("vector", { indexType, train: false });
    await expect(made).rejects.toThrow(UnsupportedError);
  }
  expect(await ns.table("t").indexes()).toEqual([]);
});
