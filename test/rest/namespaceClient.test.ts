/** LanceDB's client `connectNamespace("rest")`, which writes versions itself or through the server. */

import { connectNamespace } from "tiltyard-reference/session.js";
import { afterEach, describe, expect, it } from "../support/fixtures.js";
import { type RestServer, startRestServer } from "../support/restServer.js";

const KEY = "secret";

describe.each<{ managedVersioning: boolean; more?: Record<string, string> }>([
  { managedVersioning: false },
  { managedVersioning: true },
  // Configuration from LanceDB's guide for Spark.
  { managedVersioning: true, more: { "headers.x-lancedb-database": "tests" } },
])("managed versioning: $managedVersioning, more properties: $more", ({ managedVersioning, more }) => {
  let server: RestServer;
  let connection: Awaited<ReturnType<typeof connectNamespace>>;

  it.beforeEach(async ({ ns }) => {
    server = await startRestServer(ns, { auth: { apiKeys: [KEY] }, managedVersioning });
    connection = await connectNamespace("rest", { uri: server.url, "headers.x-api-key": KEY, ...more });
  });
  afterEach(async () => {
    connection.close();
    await server[Symbol.asyncDispose]();
  });

  it("the client creates, lists, describes and drops namespaces", async () => {
    await connection.createNamespace(["a"], { properties: { owner: "me" } });
    await connection.createNamespace(["a", "b c"]);
    expect((await connection.describeNamespace(["a"])).properties).toEqual({ owner: "me" });
    expect((await connection.listNamespaces([])).namespaces).toEqual(["a"]);
    expect((await connection.listNamespaces(["a"])).namespaces).toEqual(["b c"]);
    await expect(connection.createNamespace(["a"])).rejects.toThrow(/exists/i);
    await expect(connection.describeNamespace(["nowhere"])).rejects.toThrow(/not found|does not exist/i);
    await expect(connection.dropNamespace(["a"])).rejects.toThrow(/not empty|holds/i);
    await connection.dropNamespace(["a", "b c"]);
    await connection.dropNamespace(["a"]);
    expect((await connection.listNamespaces([])).namespaces).toEqual([]);
  });

  it("the client creates tables, and changes and reads rows, branches and tags", async ({ ns }) => {
    await connection.createNamespace(["n"]);
    const table = await connection.createTable("t", [{ v: 1 }, { v: 2 }], ["n"]);
    await table.add([{ v: 3 }]);
    expect(await table.countRows()).toBe(3);
    await table.add([{ v: 9 }], { mode: "overwrite" });
    expect((await table.query().toArray()).map(({ v }) => v)).toEqual([9]);
    expect((await table.listVersions()).length).toBe(3);
    await table.checkout(2);
    expect(await table.countRows()).toBe(3);
    await table.restore();
    expect(await table.version()).toBe(4);
    const tags = await table.tags();
    await tags.create("good", 2);
    expect(await tags.getVersion("good")).toBe(2);
    const branches = await table.branches();
    const dev = await branches.create("dev");
    await dev.add([{ v: 4 }]);
    expect(Object.keys(await branches.list())).toEqual(["dev"]);
    expect(await dev.countRows()).toBe(4);
    expect(await table.countRows()).toBe(3);
    expect((await table.stats()).numRows).toBe(3);
    await table.updateFieldMetadata([{ path: "v", metadata: { unit: "m" } }]);
    const id = ["n", "t"];
    // This engine sees all rows.
    expect(await ns.countTableRows({ id })).toBe(3);
    expect(await ns.countTableRows({ id, branch: "dev" })).toBe(4);
    expect((await ns.getTableTagVersion({ id, tag: "good" })).version).toBe(2);
    await branches.delete("dev");
    expect((await ns.listTableBranches({ id })).branches).toEqual({});
    await expect(connection.createTable("t", [{ v: 1 }], ["n"])).rejects.toThrow(/exists/i);
    expect(await connection.tableNames(["n"])).toEqual(["t"]);
    await connection.dropTable("t", ["n"]);
    expect(await connection.tableNames(["n"])).toEqual([]);
    await expect(connection.openTable("t", ["n"])).rejects.toThrow(/not found/i);
  });

  it("the client creates a table of the legacy format, changes it, and this engine reads it", async ({
    ns,
  }) => {
    const table = await connection.createTable("old", [{ v: 1 }, { v: 2 }], {
      storageOptions: { newTableDataStorageVersion: "legacy" },
    });
    await table.add([{ v: 3 }]);
    await table.delete("v = 1");
    expect(await ns.countTableRows({ id: ["old"] })).toBe(2);
    expect(await ns.countTableRows({ id: ["old"], version: 1 })).toBe(2);
    expect((await table.query().toArray()).map(({ v }) => v)).toEqual([2, 3]);
  });

  it("the client adds columns of expressions that both engines see", async ({ ns }) => {
    const table = await connection.createTable("t", [
      { v: 1, w: "one" },
      { v: 2, w: null },
    ]);
    await table.addColumns([
      { name: "twice", valueSql: "v * 2" },
      { name: "loud", valueSql: "upper(w)" },
    ]);
    const newColumns = [{ name: "sum", expression: "v + twice" }];
    await ns.alterTableAddColumns({ id: ["t"], newColumns });
    await table.checkoutLatest();
    await table.add([{ v: 3, w: "three", twice: 0, loud: null, sum: null }]);
    const expected = [
      [1, "one", 2, "ONE", 3],
      [2, null, 4, null, 6],
      [3, "three", 0, null, null],
    ];
    const cells = (rows: readonly Record<string, unknown>[]) =>
      rows.map(({ v, w, twice, loud, sum }) => [v, w, twice, loud, sum]);
    expect(cells(await table.query().toArray())).toEqual(expected);
    expect(cells((await ns.table("t").scan().toArrow()).toArray())).toEqual(expected);
    const answer = await fetch(`${server.url}/v1/table/t/add_columns`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": KEY },
      body: JSON.stringify({ new_columns: [{ name: "half", expression: "v / 2.0" }] }),
    });
    expect(await answer.json()).toMatchObject({ version: 5 });
    expect((await ns.table("t").scan().toArrow()).getChild("half")?.toJSON()).toEqual([0.5, 1, 1.5]);
  });

  it("names with spaces and with plus signs are different", async ({ ns }) => {
    for (const name of ["b c", "b+c"]) {
      await connection.createNamespace([name]);
      await connection.createNamespace([name, `in ${name}`]);
      const table = await connection.createTable(`t ${name}`, [{ v: 1 }], [name]);
      await table.add([{ v: 2 }]);
    }
    for (const name of ["b c", "b+c"]) {
      expect((await connection.listNamespaces([name])).namespaces).toEqual([`in ${name}`]);
      expect(await connection.tableNames([name])).toEqual([`t ${name}`]);
      const table = await connection.openTable(`t ${name}`, [name]);
      expect(await table.countRows()).toBe(2);
      expect(await ns.countTableRows({ id: [name, `t ${name}`] })).toBe(2);
    }
  });

  it("the client opens tables of this engine, and fills declared ones", async ({ ns }) => {
    await ns.declareTable({ id: ["d"] });
    const table = await connection.createTable("d", [{ v: 1 }]);
    await table.add([{ v: 2 }]);
    expect(await ns.countTableRows({ id: ["d"] })).toBe(2);
    await ns.restoreTable({ id: ["d"], version: 1 });
    await table.checkoutLatest();
    expect(await table.countRows()).toBe(1);
    expect(await (await connection.openTable("d")).version()).toBe(3);
  });
});
