/** LanceDB's remote client, `connect("db://…")`, against the handler. */

import { arrow, type Connection, connect } from "tiltyard-reference/session.js";
import { afterEach, describe, expect, it } from "../../support/fixtures.js";
import { post, type RestServer, startRestServer } from "../../support/restServer.js";

const KEY = "secret";
let server: RestServer;
let connection: Connection;

it.beforeEach(async ({ ns }) => {
  server = await startRestServer(ns, { auth: { apiKeys: [KEY] } });
  connection = await connect("db://tests", { apiKey: KEY, hostOverride: server.url });
});
afterEach(async () => {
  connection.close();
  await server[Symbol.asyncDispose]();
});

describe("LanceDB's remote client", () => {
  it("the client creates, lists, describes and drops namespaces and their tables", async () => {
    await connection.createNamespace(["a"], { properties: { owner: "me" } });
    await connection.createNamespace(["a"], { mode: "exist_ok" });
    await connection.createNamespace(["a", "b"]);
    expect((await connection.describeNamespace(["a"])).properties).toEqual({ owner: "me" });
    expect((await connection.listNamespaces([])).namespaces).toEqual(["a"]);
    expect((await connection.listNamespaces(["a"])).namespaces).toEqual(["b"]);
    const table = await connection.createTable("t", [{ v: 1 }], ["a", "b"]);
    expect(await table.countRows()).toBe(1);
    expect(await connection.tableNames(["a", "b"])).toEqual(["t"]);
    expect(await connection.tableNames()).toEqual([]);
    await expect(connection.dropNamespace(["a"])).rejects.toThrow(/not empty/i);
    await connection.dropNamespace(["a"], { behavior: "cascade" });
    await connection.dropNamespace(["a"], { mode: "skip" });
    expect((await connection.listNamespaces([])).namespaces).toEqual([]);
  });

  it("the client creates tables, and appends, overwrites, counts, queries and restores rows", async ({
    ns,
  }) => {
    const table = await connection.createTable("t", [
      { v: 1, w: "one" },
      { v: 2, w: null },
    ]);
    await expect(connection.createTable("t", [{ v: 1 }])).rejects.toThrow(/already exists/);
    await connection.createTable("t", [{ v: 1 }], { existOk: true });
    expect((await table.add([{ v: 3, w: "three" }])).version).toBe(2);
    expect(await table.countRows()).toBe(3);
    const rows = await table.query().select(["w", "v"]).limit(2).offset(1).toArray();
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { w: null, v: 2 },
      { w: "three", v: 3 },
    ]);
    await table.add([{ v: 9, w: "nine" }], { mode: "overwrite" });
    expect((await table.query().toArray()).map(({ v }) => v)).toEqual([9]);
    expect((await table.listVersions()).map(({ version }) => version)).toEqual([1, 2, 3]);
    await table.checkout(2);
    expect(await table.countRows()).toBe(3);
    await table.restore();
    expect(await table.version()).toBe(4);
    await table.checkoutLatest();
    await table.restore();
    expect(await ns.countTableRows({ id: ["t"], version: 5 })).toBe(3);
    await connection.createTable("t", [{ x: 1 }], { mode: "overwrite" });
    expect((await (await connection.openTable("t")).schema()).fields.map(({ name }) => name)).toEqual(["x"]);
    expect((await table.query().where("x >= 1").toArray()).length).toBe(1);
    expect(await table.countRows("x > 1")).toBe(0);
    await connection.dropTable("t");
    await expect(connection.openTable("t")).rejects.toThrow(/not found/);
  });

  it("the client deletes and updates rows and gets their number", async () => {
    const table = await connection.createTable("t", [
      { v: 1, w: "one" },
      { v: 2, w: "two" },
      { v: 3, w: "three" },
    ]);
    expect(await table.delete("v > 2")).toMatchObject({ numDeletedRows: 1, version: 2 });
    expect(await table.update({ where: "v = 2", values: { w: "it's" } })).toMatchObject({
      ...{ rowsUpdated: 1, version: 3 },
    });
    expect(await table.update({ w: "w || '!'", v: "v + 10" })).toMatchObject({ rowsUpdated: 2, version: 4 });
    expect(await table.delete("false")).toMatchObject({ numDeletedRows: 0, version: 5 });
    expect((await table.query().toArray()).map(({ v, w }) => [v, w])).toEqual([
      [11, "one!"],
      [12, "it's!"],
    ]);
    await expect(table.delete("nothing = 1")).rejects.toThrow(/no column nothing/);
    await expect(table.update({ nothing: "1" })).rejects.toThrow(/column nothing/);
    expect(await table.version()).toBe(5);
  });

  it("the client merges rows by key and gets their number", async () => {
    const table = await connection.createTable("t", [
      { k: 1, v: 1, w: "one" },
      { k: 2, v: 2, w: "two" },
      { k: 3, v: 3, w: "three" },
    ]);
    const upsert = table.mergeInsert("k").whenMatchedUpdateAll().whenNotMatchedInsertAll();
    expect(
      await upsert.execute([
        { k: 2, v: 20, w: "twenty" },
        { k: 4, v: 4, w: "four" },
      ]),
    ).toMatchObject({
      ...{ version: 2, numUpdatedRows: 1, numInsertedRows: 1, numDeletedRows: 0 },
    });
    const newer = table.mergeInsert(["k", "v"]).whenMatchedUpdateAll({ where: "source.w > target.w" });
    expect(
      await newer.execute(
        [
          { k: 1, v: 1, w: "zero" },
          { k: 3, v: 3, w: "a" },
          { k: 2, v: 2, w: "x" },
        ],
        {
          timeoutMs: 30_000,
        },
      ),
    ).toMatchObject({ version: 3, numUpdatedRows: 1, numInsertedRows: 0, numDeletedRows: 0 });
    const rest = table.mergeInsert("k").whenNotMatchedBySourceDelete({ where: "k > 2" });
    expect(await rest.execute([{ k: 4, v: 0, w: "" }])).toMatchObject({ version: 4, numDeletedRows: 1 });
    expect((await table.query().toArray()).map(({ k, v, w }) => [k, v, w]).sort()).toEqual([
      [1, 1, "zero"],
      [2, 20, "twenty"],
      [4, 4, "four"],
    ]);
    const twice = upsert.execute([
      { k: 1, v: 1, w: "a" },
      { k: 1, v: 2, w: "b" },
    ]);
    await expect(twice).rejects.toThrow(/same key/);
    expect(await table.version()).toBe(4);
  });

  it("the client gets aliased columns, zero rows on request, and rows in its order", async () => {
    const table = await connection.createTable("t", [{ v: 2 }, { v: 1 }]);
    const plain = (rows: object[]) => rows.map((row) => ({ ...row }));
    expect(plain(await table.query().select({ a: "v" }).toArray())).toEqual([{ a: 2 }, { a: 1 }]);
    expect(await table.query().limit(0).toArray()).toEqual([]);
    const sorted = table.query().orderBy([{ columnName: "v", ascending: true, nullsFirst: false }]);
    expect(plain(await sorted.toArray())).toEqual([{ v: 1 }, { v: 2 }]);
    const computed = sorted.select({ x: "v + 1", at: "_rowoffset" }).limit(1);
    expect(plain(await computed.toArray())).toEqual([{ x: 2, at: 1n }]);
    expect(plain(await table.takeOffsets([1, 0]).toArray())).toEqual([{ v: 2 }, { v: 1 }]);
    expect(await table.query().where("v > 1").explainPlan()).toMatch(/Filter: condition=v > 1/);
    expect(await table.query().where("v > 1").analyzePlan()).toMatch(/Filter: .*metrics=\[rows=1,/);
  });

  it("the client gets rows with dictionaries of several fragments", async ({ ns }) => {
    const { Dictionary, Int32, Table, tableToIPC, Utf8, vectorFromArray } = arrow;
    const rows = (...values: string[]) =>
      tableToIPC(
        new Table({ d: vectorFromArray(values, new Dictionary(new Utf8(), new Int32())) }),
        "stream",
      );
    await ns.createTable({ id: ["t"] }, rows("a", "b"));
    await ns.insertIntoTable({ id: ["t"] }, rows("c", "a"));
    const table = await connection.openTable("t");
    expect((await table.query().toArray()).map(({ d }) => d)).toEqual(["a", "b", "c", "a"]);
  });

  it("the client opens tables with unescaped names and with other delimiters", async () => {
    await connection.createNamespace(["n"]);
    for (const name of ["a+b", "a b", "ä;=&,'"]) {
      const table = await connection.createTable(name, [{ v: 1 }], ["n"]);
      expect(await connection.tableNames(["n"])).toEqual([name]);
      expect(await table.countRows()).toBe(1);
      await connection.dropTable(name, ["n"]);
    }
    const dotted = await connect("db://tests", {
      ...{ apiKey: KEY, hostOverride: server.url, clientConfig: { idDelimiter: "." } },
    });
    await dotted.createTable("t", [{ v: 1 }], ["n"]);
    expect((await dotted.listNamespaces()).namespaces).toEqual(["n"]);
    expect((await dotted.listTables(["n"])).tables).toEqual(["t"]);
    expect((await dotted.listTables()).tables).toEqual([]);
    dotted.close();
  });

  it.each([
    { userAgent: "shop/1.0" },
    { userAgent: "shop/1.0", idDelimiter: "." },
    { idDelimiter: "." },
  ])("is recognised under another name, and with another delimiter: %o", async (clientConfig) => {
    const connection = await connect("db://tests", { apiKey: KEY, hostOverride: server.url, clientConfig });
    const table = await connection.createTable("t", [{ v: 1 }]);
    // These answers differ from those of the interface.
    await expect(connection.createTable("t", [{ v: 1 }])).rejects.toThrow(/already exists/);
    await (await table.tags()).create("x", 1);
    expect(await (await table.tags()).list()).toMatchObject({ x: { version: 1 } });
    expect(await table.update({ v: "v + 1" })).toMatchObject({ rowsUpdated: 1 });
    connection.close();
  });

  it("the client gets the right error at once", async () => {
    const table = await connection.createTable("t", [{ v: 1 }]);
    const tags = await table.tags();
    await tags.create("good", 1);
    const { requests } = server.handler.counters;
    await expect(tags.create("good", 1)).rejects.toThrow(/already exists/);
    expect(server.handler.counters.requests).toBe(requests + 1);
  });

  it("the client does not take a missing column, tag or branch for a missing table", async () => {
    const table = await connection.createTable("t", [{ v: 1 }]);
    const missing = /Table 't' was not found/;
    const wrong: [call: () => Promise<unknown>, told: RegExp][] = [
      [() => table.query().select(["none"]).toArray(), /none/],
      [() => table.query().select({ x: "none + 1" }).toArray(), /none/],
      [() => table.query().select({ x: "lower(" }).toArray(), /lower/],
      [async () => (await table.tags()).getVersion("none"), /tag none/],
      [async () => (await table.tags()).delete("none"), /tag none/],
      [async () => (await table.tags()).update("none", 1), /tag none/],
      [() => table.updateFieldMetadata([{ path: "none", metadata: {} }]), /none/],
      [() => table.alterColumns([{ path: "none", rename: "x" }]), /none/],
      [() => table.dropColumns(["none"]), /none/],
    ];
    for (const [call, told] of wrong) {
      const error = await call().catch((thrown: Error) => thrown);
      expect(String(error)).toMatch(told);
      expect(String(error)).not.toMatch(missing);
      expect(String(error)).toMatch(/400/);
    }
    // The client recognises a missing table.
    await connection.dropTable("t");
    await expect(table.query().select(["none"]).toArray()).rejects.toThrow(missing);
  });

  it("the client learns which operations of its own server are missing", async () => {
    const table = await connection.createTable("t", [{ v: 1 }]);
    const branches = await table.branches();
    await branches.create("dev");
    const unsupported: [call: () => Promise<unknown>, told: RegExp][] = [
      [() => table.prewarmData(), /page_cache\/prewarm: .*not supported/],
      [() => table.prewarmData(["v"]), /page_cache\/prewarm: .*not supported/],
      [() => branches.diff("dev"), /branches\/diff: .*not supported/],
      [() => branches.cherryPick("dev"), /branches\/cherry_pick: .*not supported/],
      [() => table.setLsmWriteSpec({ specType: "unsharded" }), /set_lsm_write_spec: .*not supported/],
      [() => table.unsetLsmWriteSpec(), /unset_lsm_write_spec: .*not supported/],
      [() => table.flushLsm(), /flush_lsm: .*not supported/],
      [() => table.query().useLsm(true).toArray(), /use_lsm: .*not supported/],
      [
        () =>
          table
            .mergeInsert("v")
            .useLsm(true)
            .whenMatchedUpdateAll()
            .execute([{ v: 1 }]),
        /use_lsm: .*not supported/,
      ],
    ];
    for (const [call, told] of unsupported) {
      const { requests } = server.handler.counters;
      const error = await call().catch((thrown: Error) => thrown);
      expect(String(error)).toMatch(told);
      expect(String(error)).toMatch(/406/);
      expect(String(error)).not.toMatch(/was not found/);
      // The client does not retry; some calls request the schema first.
      expect(server.handler.counters.requests - requests).toBeLessThanOrEqual(2);
    }
    // The client names the location of the source, and a server shows none.
    await expect(connection.cloneTable("c", table.name)).rejects.toThrow(/source_location: .*no such member/);
    await expect(table.prewarmIndex("none")).rejects.toThrow(/index/i);
    await expect(branches.diff("none")).rejects.toThrow(/branch 'none' does not exist/);
    expect(await table.query().useLsm(false).toArray()).toHaveLength(1);
  });

  it("the client learns that a table has no log, unless it has one or is missing", async ({ ns }) => {
    const table = await connection.createTable("t", [{ v: 1 }]);
    expect(await table.getLsmWriteSpec()).toBeUndefined();
    expect(await table.getLsmStats()).toBeUndefined();
    await ns.declareTable({ id: ["declared"] });
    const headers = {
      ...{ "x-api-key": KEY, "x-lancedb-database": "tests" },
      "user-agent": "LanceDB-Node-Client/0.39.0",
    };
    for (const name of ["t", "declared"]) {
      const { status, json } = await post(
        server,
        `/v1/table/${name}/get_lsm_write_spec/`,
        undefined,
        headers,
      );
      expect([status, json]).toEqual([200, { lsm_write_spec: null }]);
    }
    const logged = await (await connect(ns.root)).openTable("t");
    await logged.setLsmWriteSpec({ specType: "unsharded" });
    await expect(table.getLsmWriteSpec()).rejects.toThrow(/406.*get_lsm_write_spec: .*not supported/s);
    await connection.dropTable("t");
    await expect(table.getLsmWriteSpec()).rejects.toThrow(/Table 't' was not found/);
  });

  it("the client creates branches and tags, reads statistics, changes metadata and columns, and renames tables", async () => {
    const table = await connection.createTable("t", [{ v: 1 }, { v: 2 }]);
    await table.add([{ v: 3 }]);
    const tags = await table.tags();
    await tags.create("good", 1);
    await tags.update("good", 2);
    expect(await tags.getVersion("good")).toBe(2);
    expect(await tags.list()).toMatchObject({ good: { version: 2 } });
    await tags.delete("good");
    const branches = await table.branches();
    const dev = await branches.create("dev");
    await dev.add([{ v: 4 }]);
    expect(Object.keys(await branches.list())).toEqual(["dev"]);
    expect(await dev.countRows()).toBe(4);
    expect(await table.countRows()).toBe(3);
    expect((await dev.query().toArray()).map(({ v }) => v)).toEqual([1, 2, 3, 4]);
    await branches.delete("dev");
    await expect(branches.delete("dev")).rejects.toThrow(/not found/i);
    expect(await table.stats()).toMatchObject({
      numRows: 3,
      numIndices: 0,
      fragmentStats: { numFragments: 2 },
    });
    await table.updateFieldMetadata([{ path: "v", metadata: { unit: "m" } }]);
    expect((await table.schema()).fields[0].metadata.get("unit")).toBe("m");
    await table.alterColumns([{ path: "v", rename: "w" }]);
    await table.dropColumns(["w"]).catch((error: Error) => expect(error.message).toMatch(/column/));
    await connection.renameTable("t", "u");
    expect(await connection.tableNames()).toEqual(["u"]);
  });

  it("the client adds columns of expressions and constants, and changes types", async () => {
    const table = await connection.createTable("t", [
      { v: 1, w: "one" },
      { v: 2, w: null },
    ]);
    await table.delete("v = 1");
    await table.add([{ v: 3, w: "three" }]);
    const added = await table.addColumns([
      { name: "twice", valueSql: "v * 2" },
      { name: "loud", valueSql: "upper(w) || '!'" },
      { name: "seven", valueSql: "7" },
    ]);
    expect(added.version).toBe(4);
    await table.alterColumns([
      { path: "twice", rename: "double" },
      { path: "seven", dataType: "int32" },
    ]);
    const names = ["v", "w", "double", "loud", "seven"];
    expect((await table.schema()).fields.map(({ name }) => name)).toEqual(names);
    expect((await table.query().toArray()).map((row) => names.map((name) => row[name]))).toEqual([
      [2, null, 4, null, 7],
      [3, "three", 6, "THREE!", 7],
    ]);
    const version = await table.version();
    const refused = (valueSql: string) => table.addColumns([{ name: "x", valueSql }]);
    await expect(refused("nothing + 1")).rejects.toThrow(/no column nothing/);
    await expect(refused("v +")).rejects.toThrow(/expression/);
    await expect(refused("(select 1)")).rejects.toThrow(/select/i);
    await expect(table.addColumns([{ name: "v", valueSql: "1" }])).rejects.toThrow(/\bv\b/);
    expect(await table.version()).toBe(version);
  });

  it("the client reads the schema of every type", async () => {
    const { Field, Schema, FixedSizeList, List, Struct, Float32, Utf8, TimestampMicrosecond, Int64, Bool } =
      arrow;
    const schema = new Schema([
      new Field("id", new Int64(), false),
      new Field("vector", new FixedSizeList(2, new Field("item", new Float32(), true)), true),
      new Field("names", new List(new Field("item", new Utf8(), true)), true),
      new Field("at", new TimestampMicrosecond("UTC"), true),
      new Field("s", new Struct([new Field("ok", new Bool(), true)]), true),
    ]);
    await connection.createEmptyTable("types", schema);
    const seen = await (await connection.openTable("types")).schema();
    expect(seen.fields.map(({ name, type, nullable }) => `${name}: ${type} ${nullable}`)).toEqual(
      schema.fields.map(({ name, type, nullable }) => `${name}: ${type} ${nullable}`),
    );
  });
});
