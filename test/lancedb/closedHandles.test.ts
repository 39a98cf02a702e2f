/** Closed tables and connections: what came from them before still works, as with LanceDB's native handles. */

import { connect as connectLocal } from "tiltyard/lancedb";
import { connect as connectNative } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

const rows = [
  { id: 1, vector: [1, 2] },
  { id: 2, vector: [3, 4] },
];

describe.each([
  ["the drop-in", connectLocal],
  ["LanceDB", connectNative as unknown as typeof connectLocal],
])("with %s", (_, connect) => {
  it("queries, merges, tags and branches of a closed table and a closed connection run", async () => {
    const connection = await connect(await makeTempDir());
    const table = await connection.createTable("t", rows);
    const started = table.query().toArray();
    const query = table.query().where("id > 1");
    const search = table.vectorSearch([1, 2]).limit(1);
    const take = table.takeOffsets([0]);
    const merge = table.mergeInsert("id").whenMatchedUpdateAll();
    const [tags, branches] = [await table.tags(), await table.branches()];
    table.close();
    connection.close();
    expect((await started).length).toBe(2);
    expect((await query.toArray()).length).toBe(1);
    expect((await query.outputSchema()).fields.length).toBe(2);
    expect((await search.toArray()).map(({ id }) => id)).toEqual([1]);
    expect((await take.toArray()).map(({ id }) => id)).toEqual([1]);
    expect((await merge.execute([{ id: 1, vector: [9, 9] }])).numUpdatedRows).toBe(1);
    await tags.create("kept", 1);
    expect(Object.keys(await tags.list())).toEqual(["kept"]);
    expect(await branches.list()).toEqual({});
    let count = 0;
    for await (const batch of query) count += batch.numRows;
    expect(count).toBe(1);
  });

  it("calls of a closed table reject", async () => {
    const table = await (await connect(await makeTempDir())).createTable("t", rows);
    table.close();
    for (const method of [
      "schema",
      "countRows",
      "version",
      "toArrow",
      "checkoutLatest",
      "restore",
      "tags",
    ] as const) {
      const call = table[method]();
      await expect(call).rejects.toThrow("Table t is closed");
    }
    expect(() => table.query()).toThrow("Table t is closed");
  });
});

it("a query of a closed database in memory finds its rows", async () => {
  const connection = await connectLocal("memory://");
  const table = await connection.createTable("t", rows);
  const query = table.query();
  table.close();
  connection.close();
  expect((await query.toArray()).length).toBe(2);
  expect((await query.toArray()).length).toBe(2);
});
