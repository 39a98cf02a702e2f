/** Addresses and options of connections, and clones of tables. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, expect, it, vi } from "vitest";
import { connect, connectNamespace } from "../../src/lancedb/connect.js";
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

it("printing and JSON of a table show no storage options", async () => {
  const connection = await connect(await makeTempDir(), { storageOptions: { awsSecretAccessKey: "hidden" } });
  const table = await connection.createTable("t", [{ id: 1 }]);
  const { inspect } = await import("node:util");
  expect(JSON.stringify([table, connection])).toBe('[{"inner":{}},{"inner":{}}]');
  expect(inspect([table, connection], { depth: 9, showHidden: true })).not.toContain("hidden");
});
