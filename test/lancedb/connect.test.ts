/** Addresses and options of connections, and clones of tables. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DirectoryNamespace } from "tiltyard";
import { afterEach, expect, it, vi } from "vitest";
import { connect, connectNamespace } from "../../src/lancedb/connect.js";
import { startRestServer } from "../support/restServer.js";
import { makeTempDir } from "../support/tempDir.js";

afterEach(() => vi.unstubAllEnvs());

it("paths, file URLs and the home directory name the same database", async () => {
  const home = await makeTempDir();
  vi.stubEnv("HOME", home);
  vi.stubEnv("USERPROFILE", home);
  await (await connect(join(home, "db"))).createTable("t", [{ id: 1 }]);
  for (const uri of ["~/db", `${pathToFileURL(home).href}/db`, `${join(home, "db")}/`]) {
    const connection = await connect(uri);
    expect(await connection.tableNames()).toEqual(["t"]);
    expect((await connection.openTable("t")).display()).toContain(`uri=${uri.replace(/\/$/, "")}/t.lance`);
  }
});

it.each([
  ["", "uri is required"],
  [{} as never, "uri is required"],
  [undefined as never, "uri is required"],
  ["foo://bar", "databases of the scheme 'foo' are not there"],
])("connecting to %j fails", async (uri, sentence) => {
  await expect(connect(uri)).rejects.toThrow(sentence);
});

it("an interval that is no number of seconds is refused", async () => {
  const options = { readConsistencyInterval: -1 };
  await expect(connect(await makeTempDir(), options)).rejects.toThrow(/at least 0, got -1/);
});

it("a namespace of a directory has child namespaces unless its properties say otherwise", async () => {
  const root = await makeTempDir();
  const connection = await connectNamespace("dir", { root });
  expect(connection.display()).toBe("LanceNamespaceDatabase");
  await connection.createNamespace(["n"]);
  const extraProperties = { root: "/overridden", manifest_enabled: "false" };
  const flat = await connectNamespace("dir", { root, extraProperties });
  await expect(flat.createNamespace(["m"])).rejects.toThrow(/only supported when manifest mode is enabled/);
  await expect(connectNamespace("", {})).rejects.toThrow("implName must be a non-empty string");
  await expect(connectNamespace("other", {})).rejects.toThrow("Implementation 'other' is not available");
  await expect(connectNamespace("dir", {} as never)).rejects.toThrow("Missing required property 'root'");
});

it("storage options decide about the files of a new table", async () => {
  const root = await makeTempDir();
  const connection = await connect(root, { storageOptions: { newTableEnableV2ManifestPaths: "false" } });
  const table = await connection.createTable("t", [{ id: 1 }]);
  expect(readdirSync(join(root, "t.lance", "_versions"))).toContain("1.manifest");
  const opened = await connection.openTable("t", [], { storageOptions: { someKey: "x" } });
  expect(await opened.initialStorageOptions()).toEqual({ some_key: "x" });
  expect(await table.latestStorageOptions()).toBeNull();
  const refused = (newTableDataStorageVersion: string) =>
    connection.createTable("u", [{ id: 1 }], { storageOptions: { newTableDataStorageVersion } });
  await expect(refused("legacy")).rejects.toThrow(/not supported: .* version legacy/);
  await expect(refused("9.9")).rejects.toThrow(/Unknown Lance storage version/);
  expect(await connection.tableNames()).toEqual(["t"]);
});

it("a clone shares the rows of a version, and changes on its own", async () => {
  const root = await makeTempDir();
  const connection = await connect(root);
  const source = await connection.createTable("source", [{ id: 1 }]);
  await source.add([{ id: 2 }]);
  const uri = `${root}/source.lance`;
  const clone = await connection.cloneTable("clone", uri);
  await clone.add([{ id: 3 }]);
  expect([await clone.countRows(), await source.countRows()]).toEqual([3, 2]);
  const first = await connection.cloneTable("first", pathToFileURL(uri).href, { sourceVersion: 1 });
  expect(await first.countRows()).toBe(1);
  await expect(connection.cloneTable("deep", uri, { isShallow: false })).rejects.toThrow(
    "Deep clone is not yet implemented",
  );
  await expect(connection.cloneTable("none", `${root}/none.lance`)).rejects.toThrow(/was not found/);
  await expect(connection.cloneTable("far", "/elsewhere/t.lance")).rejects.toThrow(
    "cloneTable takes tables of the root of the same database",
  );
});

it("a clone of a server's table is found by the address that the server tells", async () => {
  const root = await makeTempDir();
  await using namespace = new DirectoryNamespace({ root, durability: "none" });
  await using server = await startRestServer(namespace, { auth: { apiKeys: ["k"] } });
  const connection = await connectNamespace("rest", { uri: server.url, headers: { "x-api-key": "k" } });
  await connection.createTable("source", [{ id: 1 }]);
  const clone = await connection.cloneTable("clone", `${root}/source.lance`);
  expect(await clone.countRows()).toBe(1);
  for (const elsewhere of ["/elsewhere/source.lance", `${root}/none.lance`, "source", ""]) {
    await expect(connection.cloneTable("none", elsewhere)).rejects.toThrow(
      "cloneTable takes tables of the root",
    );
  }
});

it("a clone of a table in memory takes any address of its name", async () => {
  const connection = await connect("memory://");
  await connection.createTable("source", [{ id: 1 }]);
  expect(await (await connection.cloneTable("clone", "memory://source.lance")).countRows()).toBe(1);
  await expect(connection.cloneTable("none", "/source.lance")).rejects.toThrow("cloneTable takes tables");
});

it("an optimisation removes all old versions as of the present, and refuses what is not a time", async () => {
  const table = await (await connect(await makeTempDir())).createTable("t", [{ id: 1 }]);
  await table.add([{ id: 2 }]);
  await expect(table.optimize({ cleanupOlderThan: new Date(Number.NaN) })).rejects.toThrow(
    "must be a valid Date",
  );
  await expect(table.optimize({ cleanupOlderThan: 5 as never })).rejects.toThrow("must be a valid Date");
  expect(await table.version()).toBe(2);
  const hourAgo = new Date(Date.now() - 3_600_000);
  expect((await table.optimize({ cleanupOlderThan: hourAgo })).prune.oldVersionsRemoved).toBe(0);
  await table.add([{ id: 3 }]);
  await table.optimize({ cleanupOlderThan: new Date() });
  expect((await table.listVersions()).length).toBe(1);
});

it("arguments of another type are refused by a sentence that names them", async () => {
  const table = await (await connect(await makeTempDir())).createTable("t", [{ id: 1 }]);
  // biome-ignore lint/suspicious/noExplicitAny: callers without types
  const loose = table as any;
  expect(() => loose.takeOffsets(null)).toThrow("offsets: must be an array");
  expect(() => loose.takeOffsets({})).toThrow("offsets: must be an array");
  expect(() => loose.takeRowIds([Symbol("x")])).toThrow("Row id must be an integer (or bigint)");
  await expect(loose.dropColumns("id")).rejects.toThrow("columnNames: must be an array");
  await expect(loose.waitForIndex("id_idx", 0)).rejects.toThrow("indexNames: must be an array");
  await expect(loose.indexStats({})).rejects.toThrow("name: must be a text");
  for (const version of [1n, true, Number.NaN, Symbol("x")]) {
    await expect(loose.checkout(version)).rejects.toThrow("version: must be a number or the name of a tag");
  }
  expect(await table.version()).toBe(1);
});

it("printing and JSON of a table show no storage options", async () => {
  const connection = await connect(await makeTempDir(), { storageOptions: { awsSecretAccessKey: "hidden" } });
  const table = await connection.createTable("t", [{ id: 1 }]);
  const { inspect } = await import("node:util");
  expect(JSON.stringify([table, connection])).toBe('[{"inner":{}},{"inner":{}}]');
  expect(inspect([table, connection], { depth: 9, showHidden: true })).not.toContain("hidden");
});
