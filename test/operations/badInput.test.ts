import { join } from "node:path";
import * as arrow from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { errorOf } from "../support/outcomes.js";
import { cp, readdir, rm, writeFile } from "../support/suite/rootFiles.js";
import { makeTempDir } from "../support/tempDir.js";

const noise = (byteLength: number): Uint8Array => crypto.getRandomValues(new Uint8Array(byteLength));

let scratch: string;
let root: string;
let namespace: DirectoryNamespace;
let before: Record<string, string>;

const rows = new arrow.Table({
  id: arrow.makeVector(Int32Array.of(1, 2, 3)),
  name: arrow.vectorFromArray(["a", null, "c"], new arrow.Utf8()),
});
/** Column `id` of the table is not nullable. */
const declared = new arrow.Schema([
  new arrow.Field("id", new arrow.Int32(), false),
  new arrow.Field("name", new arrow.Utf8(), true),
]);
const asDeclared = (table: arrow.Table) =>
  new arrow.Table(
    declared,
    new arrow.RecordBatch(
      declared,
      arrow.makeData({
        type: new arrow.Struct(declared.fields),
        length: table.numRows,
        children: table.batches[0].data.children,
      }),
    ),
  );

beforeAll(async () => {
  scratch = await makeTempDir();
  root = join(scratch, "root");
  namespace = new DirectoryNamespace({ root, durability: "none" });
  await namespace.createTable({ id: ["t"] }, asDeclared(rows));
  await namespace.insertIntoTable({ id: ["t"] }, asDeclared(rows));
  await namespace.declareTable({ id: ["d"] });
  await namespace.createTableTag({ id: ["t"], tag: "v", version: 1 });
  await namespace.createTableBranch({ id: ["t"], name: "side" });
  await namespace.createTableBranch({ id: ["t"], name: "sub", fromBranch: "side" });
  await namespace.createTableBranch({ id: ["t"], name: "tagged" });
  await namespace.createTableTag({ id: ["t"], tag: "on-tagged", version: 2, branch: "tagged" });
  before = await directorySnapshot(root);
});
afterAll(async () => {
  await namespace.close();
});

/** Expects an error of one of the types, and an unchanged directory. */
async function expectRefusal(call: () => Promise<unknown>, ...types: string[]): Promise<void> {
  const error = await errorOf(call());
  expect(error, "the call should have been refused").toBeInstanceOf(NamespaceError);
  expect(types).toContain((error as NamespaceError).type);
  expect((error as NamespaceError).operation).toBeTypeOf("string");
  expect(await directorySnapshot(root)).toEqual(before);
}

describe("options", () => {
  it.each([
    {},
    { root: "" },
    { root: 5 },
    { root: "a\0b" },
    { root: "x", durability: "sometimes" },
    { root: "x", manifestNaming: "V3" },
    { root: "x", dataStorageVersion: "3" },
    { root: "x", lock: { staleMs: 5 } },
    { root: "x", lock: { retries: -1 } },
    { root: "x", lock: { retries: "many" } },
    { root: "x", lock: { stale: 5000 } },
    { root: "x", authorize: "yes" },
    { root: "x", groupInserts: "yes" },
    { root: "x", workers: 1.5 },
    { root: "x", authorise: "yes" },
  ])("%j are refused", (options) => {
    expect(() => new DirectoryNamespace(options as { root: string })).toThrow(
      expect.objectContaining({ type: "InvalidInput" }),
    );
  });
});

describe("names", () => {
  const bad = [
    "",
    ".",
    "..",
    "a/b",
    "a\\b",
    "../t",
    "/t",
    "x".repeat(300),
    "a\u0000b",
    "a\nb",
    "a b",
    "é",
    "__t",
    "t$u",
  ];
  const calls: [string, (name: string) => Promise<unknown>][] = [
    ["createTable", (name) => namespace.createTable({ id: [name] }, rows)],
    ["declareTable", (name) => namespace.declareTable({ id: [name] })],
    ["insertIntoTable", (name) => namespace.insertIntoTable({ id: [name] }, rows)],
    ["dropTable", (name) => namespace.dropTable({ id: [name] })],
    ["tableExists", (name) => namespace.tableExists({ id: [name] })],
    ["describeTable", (name) => namespace.describeTable({ id: [name] })],
    ["restoreTable", (name) => namespace.restoreTable({ id: [name], version: 1 })],
    ["queryTable", (name) => namespace.queryTable({ id: [name] })],
    ["createTableTag", (name) => namespace.createTableTag({ id: [name], tag: "w", version: 1 })],
    ["listTableTags", (name) => namespace.listTableTags({ id: [name] })],
    ["createTableBranch", (name) => namespace.createTableBranch({ id: [name], name: "b" })],
    ["listTableBranches", (name) => namespace.listTableBranches({ id: [name] })],
    ["deleteTableBranch", (name) => namespace.deleteTableBranch({ id: [name], name: "side" })],
  ];
  it.each(calls)("%s refuses illegal names", async (_operation, call) => {
    for (const name of bad) await expectRefusal(() => call(name), "InvalidInput");
  });
  it.each(calls)("%s refuses the root and ids that are not arrays", async (_operation, call) => {
    for (const id of [undefined, null, 7, {}])
      await expectRefusal(() => call(id as unknown as string), "InvalidInput");
    await expectRefusal(() => namespace.describeTable({ id: [] }), "InvalidInput");
  });
  it("the error for a missing parent names the parent", async () => {
    await expectRefusal(() => namespace.createTable({ id: ["nowhere", "t"] }, rows), "NamespaceNotFound");
    await expectRefusal(() => namespace.listTables({ id: ["nowhere"] }), "NamespaceNotFound");
  });
  it("the error for a missing table names the table", async () => {
    await expectRefusal(() => namespace.insertIntoTable({ id: ["none"] }, rows), "TableNotFound");
    await expectRefusal(() => namespace.dropTable({ id: ["none"] }), "TableNotFound");
    await expectRefusal(() => namespace.tableExists({ id: ["none"] }), "TableNotFound");
    await expectRefusal(() => namespace.describeTable({ id: ["none"] }), "TableNotFound");
    await expectRefusal(() => namespace.restoreTable({ id: ["none"], version: 1 }), "TableNotFound");
    await expectRefusal(() => namespace.getTableStats({ id: ["none"] }), "TableNotFound");
    await expectRefusal(() => namespace.countTableRows({ id: ["none"] }), "TableNotFound");
    await expectRefusal(() => namespace.queryTable({ id: ["none"] }), "TableNotFound");
    await expectRefusal(() => namespace.listTableVersions({ id: ["none"] }), "TableNotFound");
    await expectRefusal(() => namespace.describeTableVersion({ id: ["none"], version: 1 }), "TableNotFound");
    await expectRefusal(
      () => namespace.createTableVersion({ id: ["none"], version: 1, manifestPath: "_versions/x" }),
      "TableNotFound",
    );
  });
  it("listTableBranches reports a missing table", async () => {
    const id = ["none"];
    await expectRefusal(() => namespace.createTableBranch({ id, name: "b" }), "TableNotFound");
    await expectRefusal(() => namespace.deleteTableBranch({ id, name: "side" }), "TableNotFound");
    await expectRefusal(() => namespace.listTableBranches({ id }), "TableNotFound");
  });
  it("listTableTags reports a missing table", async () => {
    const id = ["none"];
    await expectRefusal(() => namespace.createTableTag({ id, tag: "w", version: 1 }), "TableNotFound");
    await expectRefusal(() => namespace.updateTableTag({ id, tag: "v", version: 1 }), "TableNotFound");
    await expectRefusal(() => namespace.deleteTableTag({ id, tag: "v" }), "TableNotFound");
    await expectRefusal(() => namespace.getTableTagVersion({ id, tag: "v" }), "TableNotFound");
    await expectRefusal(() => namespace.listTableTags({ id }), "TableNotFound");
  });
  it("a second creation of an existing object fails", async () => {
    await expectRefusal(() => namespace.createTable({ id: ["t"] }, rows), "TableAlreadyExists");
    await expectRefusal(() => namespace.declareTable({ id: ["t"] }), "TableAlreadyExists");
    await expectRefusal(() => namespace.declareTable({ id: ["d"] }), "TableAlreadyExists");
  });
});

describe("modes, versions, limits", () => {
  it.each(["", "upsert", "app end", 1, {}, ["append"]])("insert mode %j", async (mode) => {
    await expectRefusal(
      () => namespace.insertIntoTable({ id: ["t"], mode: mode as "append" }, asDeclared(rows)),
      "InvalidInput",
    );
  });
  it("createTable refuses an unknown mode", async () => {
    await expectRefusal(
      () => namespace.createTable({ id: ["t"], mode: "replace" as "create" }, rows),
      "InvalidInput",
    );
  });
  it.each([-1, 1.5, Number.NaN, Infinity, 2 ** 53, 1e300, "1", true])("version %j", async (value) => {
    const version = value as number;
    await expectRefusal(() => namespace.restoreTable({ id: ["t"], version }), "InvalidInput");
    await expectRefusal(() => namespace.tableExists({ id: ["t"], version }), "InvalidInput");
    await expectRefusal(() => namespace.describeTable({ id: ["t"], version }), "InvalidInput");
    await expectRefusal(() => namespace.describeTableVersion({ id: ["t"], version }), "InvalidInput");
    await expectRefusal(() => namespace.queryTable({ id: ["t"], version }), "InvalidInput");
    await expectRefusal(
      () => namespace.createTableVersion({ id: ["t"], version, manifestPath: "_versions/x" }),
      "InvalidInput",
    );
  });
  it.each([0, 3, 99, Number.MAX_SAFE_INTEGER])("a query of the missing version %j fails", async (version) => {
    await expectRefusal(() => namespace.restoreTable({ id: ["t"], version }), "TableVersionNotFound");
    await expectRefusal(() => namespace.tableExists({ id: ["t"], version }), "TableVersionNotFound");
    await expectRefusal(() => namespace.describeTable({ id: ["t"], version }), "TableVersionNotFound");
    await expectRefusal(() => namespace.describeTableVersion({ id: ["t"], version }), "TableVersionNotFound");
    await expectRefusal(() => namespace.countTableRows({ id: ["t"], version }), "TableVersionNotFound");
  });
  it("queries refuse invalid limits, offsets and batch sizes", async () => {
    for (const value of [0, -1, 1.5, Number.NaN, "5"]) {
      await expectRefusal(() => namespace.listTables({ limit: value as number }), "InvalidInput");
      await expectRefusal(
        () => namespace.listTableVersions({ id: ["t"], limit: value as number }),
        "InvalidInput",
      );
      await expectRefusal(() => namespace.queryTable({ id: ["t"], limit: value as number }), "InvalidInput");
      await expectRefusal(
        () => namespace.queryTable({ id: ["t"], batchSize: value as number }),
        "InvalidInput",
      );
    }
    await expectRefusal(() => namespace.queryTable({ id: ["t"], offset: -1 }), "InvalidInput");
  });
  it("queries refuse invalid columns", async () => {
    await expectRefusal(() => namespace.queryTable({ id: ["t"], columns: ["nope"] }), "TableColumnNotFound");
    await expectRefusal(() => namespace.queryTable({ id: ["t"], columns: ["id.x"] }), "TableColumnNotFound");
    for (const columns of [
      {},
      { columnNames: "id" },
      { columnAliases: "id" },
      { columnNames: [5] },
    ] as never[]) {
      await expectRefusal(() => namespace.queryTable({ id: ["t"], columns }), "InvalidInput");
    }
    for (const path of ["", "a..b", "`id", "id."]) {
      await expectRefusal(() => namespace.queryTable({ id: ["t"], columns: [path] }), "InvalidInput");
    }
  });
  it("a query of a missing branch fails", async () => {
    await expectRefusal(
      () => namespace.insertIntoTable({ id: ["t"], branch: "dev" }, rows),
      "TableBranchNotFound",
    );
    await expectRefusal(() => namespace.queryTable({ id: ["t"], branch: "dev" }), "TableBranchNotFound");
    await expectRefusal(() => namespace.queryTable({ id: ["t"], branch: "../x" }), "InvalidInput");
  });
  it("methods refuse requests that are not objects", async () => {
    await expectRefusal(() => namespace.describeTable(undefined as never), "InvalidInput");
    await expectRefusal(() => namespace.describeTable("t" as never), "InvalidInput");
  });
});

describe("branches", () => {
  const id = ["t"];
  const bad = [
    "",
    "main",
    "/a",
    "a/",
    "a//b",
    "a/../b",
    "..",
    ".",
    "a\\b",
    "a b",
    "x.lock",
    "a\0",
    "a".repeat(241),
    7,
    {},
    null,
  ];
  it.each(bad)("createTableBranch refuses the name %j", async (name) => {
    await expectRefusal(() => namespace.createTableBranch({ id, name: name as string }), "InvalidInput");
    await expectRefusal(() => namespace.deleteTableBranch({ id, name: name as string }), "InvalidInput");
  });
  const partsOfTables = ["side/data", "side/_versions", "side/tree/x", "x/_y", "x/DATA", "x/.tiltyard.lock"];
  it.each(partsOfTables)("that would lie in another's files: %s", async (name) => {
    await expectRefusal(() => namespace.createTableBranch({ id, name }), "InvalidInput");
  });
  it("createTableBranch refuses a missing or invalid source", async () => {
    const from = (source: object) => () => namespace.createTableBranch({ id, name: "b", ...source });
    await expectRefusal(from({ fromBranch: "none" }), "TableBranchNotFound");
    await expectRefusal(from({ fromBranch: "../x" }), "InvalidInput");
    await expectRefusal(from({ fromBranch: 7 }), "InvalidInput");
    await expectRefusal(from({ fromVersion: 9 }), "TableVersionNotFound");
    await expectRefusal(from({ fromBranch: "side", fromVersion: 1 }), "TableVersionNotFound");
    for (const fromVersion of [-1, 1.5, "1"]) await expectRefusal(from({ fromVersion }), "InvalidInput");
    await expectRefusal(from({ fromTag: "none" }), "TableTagNotFound");
    await expectRefusal(from({ fromTag: "a/b" }), "InvalidInput");
    await expectRefusal(from({ fromTag: "v", fromVersion: 1 }), "InvalidInput");
    await expectRefusal(from({ fromTag: "v", fromBranch: "side" }), "InvalidInput");
    await expectRefusal(() => namespace.createTableBranch({ id: ["d"], name: "b" }), "InvalidTableState");
    await expectRefusal(
      () => namespace.createTableBranch({ id: ["d"], name: "b", fromVersion: 1 }),
      "TableVersionNotFound",
    );
  });
  it("branches can't be created twice, deleted when missing, or deleted when referred to", async () => {
    await expectRefusal(() => namespace.createTableBranch({ id, name: "side" }), "TableBranchAlreadyExists");
    await expectRefusal(() => namespace.deleteTableBranch({ id, name: "none" }), "TableBranchNotFound");
    await expectRefusal(() => namespace.deleteTableBranch({ id, name: "side" }), "InvalidInput");
    await expectRefusal(() => namespace.deleteTableBranch({ id, name: "tagged" }), "InvalidInput");
  });
  it("listTableBranches refuses invalid pages", async () => {
    await expectRefusal(() => namespace.listTableBranches({ id, limit: 0 }), "InvalidInput");
    await expectRefusal(() => namespace.listTableBranches({ id, limit: 1.5 }), "InvalidInput");
    await expectRefusal(() => namespace.listTableBranches({ id, pageToken: 7 as never }), "InvalidInput");
  });
});

describe("tags", () => {
  const id = ["t"];
  const bad = [
    "",
    ".",
    ".a",
    "a.",
    "a..b",
    "a/b",
    "a b",
    "x.lock",
    "a@b",
    "a\0",
    "a".repeat(241),
    7,
    {},
    null,
  ];
  it.each(bad)("createTableTag refuses the name %j", async (name) => {
    const tag = name as string;
    await expectRefusal(() => namespace.createTableTag({ id, tag, version: 1 }), "InvalidInput");
    await expectRefusal(() => namespace.updateTableTag({ id, tag, version: 1 }), "InvalidInput");
    await expectRefusal(() => namespace.deleteTableTag({ id, tag }), "InvalidInput");
    await expectRefusal(() => namespace.getTableTagVersion({ id, tag }), "InvalidInput");
  });
  it("createTableTag refuses alphabets that the reference can't list", async () => {
    await expectRefusal(() => namespace.createTableTag({ id, tag: "é", version: 1 }), "InvalidInput");
  });
  it("tags can't be created twice, and missing tags can't be read, moved or deleted", async () => {
    await expectRefusal(
      () => namespace.createTableTag({ id, tag: "v", version: 1 }),
      "TableTagAlreadyExists",
    );
    await expectRefusal(() => namespace.updateTableTag({ id, tag: "w", version: 1 }), "TableTagNotFound");
    await expectRefusal(() => namespace.deleteTableTag({ id, tag: "w" }), "TableTagNotFound");
    await expectRefusal(() => namespace.getTableTagVersion({ id, tag: "w" }), "TableTagNotFound");
    await expectRefusal(() => namespace.queryTable({ id, tag: "w" }), "TableTagNotFound");
  });
  it.each([undefined, null, -1, 1.5, "1", 2 ** 53])("of version %j", async (value) => {
    const version = value as number;
    await expectRefusal(() => namespace.createTableTag({ id, tag: "w", version }), "InvalidInput");
    await expectRefusal(() => namespace.updateTableTag({ id, tag: "v", version }), "InvalidInput");
  });
  it("createTableTag refuses a missing version or branch", async () => {
    for (const tag of ["v", "w"]) {
      const change = (request: { version: number; branch?: string }) =>
        tag === "v"
          ? namespace.updateTableTag({ id, tag, ...request })
          : namespace.createTableTag({ id, tag, ...request });
      await expectRefusal(() => change({ version: 3 }), "TableVersionNotFound");
      await expectRefusal(() => change({ version: 1, branch: "none" }), "TableBranchNotFound");
      await expectRefusal(() => change({ version: 1, branch: "../x" }), "InvalidInput");
    }
    await expectRefusal(
      () => namespace.createTableTag({ id: ["d"], tag: "w", version: 1 }),
      "TableVersionNotFound",
    );
  });
  it("listTableTags refuses invalid pages", async () => {
    await expectRefusal(() => namespace.listTableTags({ id, limit: 0 }), "InvalidInput");
    await expectRefusal(() => namespace.listTableTags({ id, pageToken: 7 as never }), "InvalidInput");
  });
});

describe("changes of the schema", () => {
  const id = ["t"];
  const metadata =
    (...updates: unknown[]) =>
    () =>
      namespace.updateFieldMetadata({ id, updates: updates as never });
  const add =
    (...newColumns: unknown[]) =>
    () =>
      namespace.alterTableAddColumns({ id, newColumns: newColumns as never });
  const alter =
    (...alterations: unknown[]) =>
    () =>
      namespace.alterTableAlterColumns({ id, alterations: alterations as never });
  const drop =
    (...columns: unknown[]) =>
    () =>
      namespace.alterTableDropColumns({ id, columns: columns as never });
  const good = { path: "id", metadata: { k: "v" } };

  it.each(["", "id.", ".id", "id..x", "`id", "`id`x", "i`d", "``"])("the path %j", async (path) => {
    await expectRefusal(metadata({ path, metadata: {} }), "InvalidInput");
    await expectRefusal(alter({ path, rename: "x" }), "InvalidInput");
    await expectRefusal(drop(path), "InvalidInput");
    if (path === "") return;
    await expect(metadata({ path, metadata: {} })()).rejects.toThrow(/position \d/);
  });
  it.each(["nope", "ID", "id.x", "`id.x`", "name.item"])("the path %j, which leads nowhere", async (path) => {
    await expectRefusal(metadata(good, { path, metadata: {} }), "TableColumnNotFound");
    await expectRefusal(alter({ path: "id", rename: "x" }, { path, rename: "y" }), "TableColumnNotFound");
    await expectRefusal(drop("id", path), "TableColumnNotFound");
  });
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a number", 7],
    ["a map", { id: {} }],
    ["a string", "id"],
  ])("%s where a list is needed", async (_what, list) => {
    await expectRefusal(() => namespace.updateFieldMetadata({ id, updates: list as never }), "InvalidInput");
    await expectRefusal(
      () => namespace.alterTableAddColumns({ id, newColumns: list as never }),
      "InvalidInput",
    );
    await expectRefusal(
      () => namespace.alterTableAlterColumns({ id, alterations: list as never }),
      "InvalidInput",
    );
    await expectRefusal(
      () => namespace.alterTableDropColumns({ id, columns: list as never }),
      "InvalidInput",
    );
  });
  it.each<[string, unknown]>([
    ["no object", "id"],
    ["null", null],
    ["no path", { metadata: {} }],
    ["a path that is no string", { path: 7, metadata: {} }],
    ["no metadata", { path: "id" }],
    ["null for metadata", { path: "id", metadata: null }],
    ["a list for metadata", { path: "id", metadata: [] }],
    ["a Map for metadata", { path: "id", metadata: new Map([["a", "b"]]) }],
    ["a value that is no string", { path: "id", metadata: { a: 1 } }],
    ["a value that is an object", { path: "id", metadata: { a: {} } }],
    ["replace that is no boolean", { path: "id", metadata: {}, replace: "yes" }],
  ])("metadata update: %s", async (_what, update) => {
    await expectRefusal(metadata(good, update), "InvalidInput");
  });
  it.each<[string, Record<string, string | null>]>([
    ["the primary key of a column that may be null", { "lance-schema:unenforced-primary-key": "true" }],
    ["a primary key that is none", { "lance-schema:unenforced-primary-key": "no" }],
    ["a primary key that is not there taken away", { "lance-schema:unenforced-primary-key:position": null }],
    ["the declaration of a computed column", { computed_column: "true" }],
    ["a part of such a declaration", { "computed_column.expression": "1" }],
  ])("metadata: %s", async (_what, entries) => {
    await expectRefusal(metadata(good, { path: "name", metadata: entries }), "InvalidInput");
  });
  it("updateFieldMetadata refuses metadata that makes a column a blob column", async () => {
    const blob = { "lance-encoding:blob": "true" };
    await expectRefusal(metadata({ path: "name", metadata: blob }), "Unsupported", "InvalidInput");
  });
  it("updateTableSchemaMetadata refuses invalid metadata", async () => {
    for (const value of [undefined, null, [], "a", { a: 1 }, { a: null }, new Map([["a", "b"]])]) {
      await expectRefusal(
        () => namespace.updateTableSchemaMetadata({ id, metadata: value as never }),
        "InvalidInput",
      );
    }
  });
  it.each<[string, unknown, ...string[]]>([
    ["no object", "x", "InvalidInput"],
    ["no name", { expression: "1" }, "InvalidInput"],
    ["an empty name", { name: "", expression: "1" }, "InvalidInput"],
    ["a name with a dot", { name: "a.b", expression: "1" }, "InvalidInput"],
    ["the name of what queries add", { name: "_rowid", expression: "1" }, "InvalidInput"],
    ["a name that is taken", { name: "id", expression: "1" }, "InvalidInput"],
    ["a name that is no Unicode", { name: "\ud800", expression: "1" }, "InvalidInput"],
    ["neither expression nor type", { name: "x" }, "InvalidInput"],
    ["both expression and type", { name: "x", expression: "1", dataType: "int32" }, "InvalidInput"],
    ["an expression that is no string", { name: "x", expression: 1 }, "InvalidInput"],
    ["an empty expression", { name: "x", expression: " " }, "InvalidInput"],
    ["a constant of no value", { name: "x", expression: "cast(300 as tinyint)" }, "InvalidInput"],
    ["an expression of no sense", { name: "x", expression: "id + " }, "InvalidInput"],
    [
      "an expression over a column that is not there",
      { name: "x", expression: "y + 1" },
      "TableColumnNotFound",
    ],
    ["a computed column of no column", { name: "x", computed: "1 + 1" }, "InvalidInput"],
    ["a computed column of one that is not there", { name: "x", computed: "y + 1" }, "TableColumnNotFound"],
    ["a virtual column of no function", { name: "x", virtualColumn: {} }, "InvalidInput"],
    [
      "a virtual column of an unknown function",
      { name: "x", virtualColumn: { udfName: "f" } },
      "InvalidInput",
    ],
    ["a type that is none", { name: "x", dataType: { type: "wat" } }, "Unsupported"],
    ["a type without a name", { name: "x", dataType: {} }, "InvalidInput"],
    ["a type without a unit", { name: "x", dataType: { type: "timestamp" } }, "InvalidInput"],
    ["a list without items", { name: "x", dataType: { type: "list" } }, "InvalidInput"],
    ["a struct of no objects", { name: "x", dataType: { type: "struct", fields: [7] } }, "InvalidInput"],
    ["a size of 0", { name: "x", dataType: { type: "fixed_size_binary", length: 0 } }, "InvalidInput"],
    ["a time zone that cannot be stored", { name: "x", dataType: "timestamp:us:+02:00" }, "Unsupported"],
    ["metadata that is none", { name: "x", dataType: "int32", metadata: { a: 1 } }, "InvalidInput"],
    [
      "a primary key of nulls",
      { name: "x", dataType: "int32", metadata: { "lance-schema:unenforced-primary-key": "1" } },
      "InvalidInput",
    ],
  ])("new column: %s", async (_what, column, ...types) => {
    await expectRefusal(add({ name: "fine", expression: "1" }, column), ...types);
  });
  it("alterTableAddColumns refuses two columns of one name", async () => {
    await expectRefusal(
      add({ name: "x", expression: "1" }, { name: "x", dataType: "int32" }),
      "InvalidInput",
    );
  });
  it("alterTableAddColumns refuses an infinitely nested type", async () => {
    let type: unknown = { type: "int32" };
    for (let depth = 0; depth < 10_000; depth++) type = { type: "list", fields: [{ name: "item", type }] };
    await expectRefusal(add({ name: "x", dataType: type }), "InvalidInput");
  });
  it.each<[string, unknown, ...string[]]>([
    ["no object", "x", "InvalidInput"],
    ["no path", { rename: "x" }, "InvalidInput"],
    ["nothing to change", { path: "id" }, "InvalidInput"],
    ["an empty name", { path: "id", rename: "" }, "InvalidInput"],
    ["a name with a dot", { path: "id", rename: "a.b" }, "InvalidInput"],
    ["the name of what queries add", { path: "id", rename: "_rowaddr" }, "InvalidInput"],
    ["a name that is taken", { path: "id", rename: "name" }, "InvalidInput"],
    ["a name that is no Unicode", { path: "id", rename: "a\udc00" }, "InvalidInput"],
    ["a name that is no string", { path: "id", rename: 7 }, "InvalidInput"],
    ["nullable that is no boolean", { path: "id", nullable: "no" }, "InvalidInput"],
    ["a column with nulls made non-nullable", { path: "name", nullable: false }, "TableSchemaValidation"],
    [
      "text that is no number as numbers",
      { path: "name", dataType: { type: "int32" } },
      "TableSchemaValidation",
    ],
    ["numbers as bytes", { path: "id", dataType: { type: "binary" } }, "InvalidInput"],
    ["a type that is none", { path: "id", dataType: { type: "wat" } }, "Unsupported"],
    ["a virtual column", { path: "id", virtualColumn: {} }, "Unsupported"],
  ])("alteration: %s", async (_what, alteration, ...types) => {
    await expectRefusal(alter(alteration), ...types);
    await expectRefusal(
      alter({ path: "id", dataType: "int64" }, { path: "name", dataType: "large_utf8" }, alteration),
      ...types,
    );
  });
  it("alterTableDropColumns refuses to drop all columns", async () => {
    await expectRefusal(drop("id", "name"), "InvalidInput");
    await expectRefusal(drop("id", 7), "InvalidInput");
    await expectRefusal(drop("id", null), "InvalidInput");
  });
  it("schema changes refuse a declared table, a missing table and a missing branch", async () => {
    const calls: ((target: { id: string[]; branch?: string }) => Promise<unknown>)[] = [
      (target) => namespace.updateFieldMetadata({ ...target, updates: [] }),
      (target) => namespace.updateTableSchemaMetadata({ ...target, metadata: {} }),
      (target) => namespace.alterTableAddColumns({ ...target, newColumns: [] }),
      (target) => namespace.alterTableAlterColumns({ ...target, alterations: [] }),
      (target) => namespace.alterTableDropColumns({ ...target, columns: [] }),
    ];
    for (const call of calls) {
      await expectRefusal(() => call({ id: ["d"] }), "InvalidTableState");
      await expectRefusal(() => call({ id: ["none"] }), "TableNotFound");
      await expectRefusal(() => call({ id, branch: "none" }), "TableBranchNotFound");
      await expectRefusal(() => call({ id, branch: "../x" }), "InvalidInput");
      await expectRefusal(() => call({ id: [] }), "InvalidInput");
    }
  });
});

describe("rows that do not fit the schema", () => {
  const append = (data: arrow.Table) => () => namespace.insertIntoTable({ id: ["t"] }, data);
  it("an insert refuses an unknown column", async () => {
    const table = new arrow.Table({
      id: arrow.makeVector(Int32Array.of(1)),
      extra: arrow.makeVector(Int32Array.of(1)),
    });
    await expectRefusal(append(table), "TableSchemaValidation");
  });
  it("an insert refuses a missing column that forbids nulls", async () => {
    await expectRefusal(
      append(new arrow.Table({ name: arrow.vectorFromArray(["x"], new arrow.Utf8()) })),
      "TableSchemaValidation",
    );
  });
  it.each([
    ["text for int32", arrow.vectorFromArray(["x"], new arrow.Utf8())],
    ["int64 for int32", arrow.vectorFromArray([1n], new arrow.Int64())],
    ["float64 for int32", arrow.vectorFromArray([1], new arrow.Float64())],
    ["bool for int32", arrow.vectorFromArray([true], new arrow.Bool())],
  ])("%s", async (_name, id) => {
    await expectRefusal(append(new arrow.Table({ id })), "TableSchemaValidation");
  });
  it("an insert refuses nulls in a column that forbids them", async () => {
    await expectRefusal(
      append(new arrow.Table({ id: arrow.vectorFromArray([1, null], new arrow.Int32()) })),
      "TableSchemaValidation",
    );
  });
  it("an insert refuses nulls that only appear in a later batch", async () => {
    const good = new arrow.RecordBatch({
      id: arrow.makeData({ type: new arrow.Int32(), data: Int32Array.of(1, 2), length: 2 }),
    });
    const bad = new arrow.RecordBatch({
      id: arrow.makeData({
        type: new arrow.Int32(),
        data: Int32Array.of(1, 2),
        length: 2,
        nullCount: 1,
        nullBitmap: Uint8Array.of(1),
      }),
    });
    async function* batches() {
      for (let index = 0; index < 5; index++) yield good;
      yield bad;
    }
    await expectRefusal(
      () => namespace.insertIntoTable({ id: ["t"] }, batches()),
      "TableSchemaValidation",
      "InvalidInput",
    );
  });
  it("createTable refuses illegal column names", async () => {
    const int = () => arrow.makeVector(Int32Array.of(1));
    const twice = new arrow.Schema([
      new arrow.Field("a", new arrow.Int32(), true),
      new arrow.Field("a", new arrow.Int32(), true),
    ]);
    const data = arrow.makeData({
      type: new arrow.Struct(twice.fields),
      length: 1,
      children: [int().data[0], int().data[0]],
    });
    const table = new arrow.Table(twice, new arrow.RecordBatch(twice, data));
    await expectRefusal(
      () => namespace.createTable({ id: ["new"] }, table),
      "TableSchemaValidation",
      "InvalidInput",
    );
    await expectRefusal(
      () => namespace.createTable({ id: ["new"] }, arrow.tableToIPC(table)),
      "TableSchemaValidation",
      "InvalidInput",
    );
    await expectRefusal(
      () => namespace.createTable({ id: ["new"] }, new arrow.Table({ "a.b": int() })),
      "TableSchemaValidation",
    );
    // Names that the reference refuses to create, and can't read.
    for (const name of ["_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version"]) {
      const reserved = new arrow.Table({ [name]: int() });
      await expectRefusal(() => namespace.createTable({ id: ["new"] }, reserved), "TableSchemaValidation");
      await expectRefusal(
        () => namespace.insertIntoTable({ id: ["t"], mode: "Overwrite" }, reserved),
        "TableSchemaValidation",
      );
    }
    await expectRefusal(
      () => namespace.createTable({ id: ["new"] }, new arrow.Table({})),
      "TableSchemaValidation",
      "InvalidInput",
    );
  });
  it("the error for an unsupported type names the column", async () => {
    const interval = new arrow.IntervalYearMonth();
    const child = arrow.makeData({ type: interval, data: Int32Array.of(1), length: 1 });
    const table = new arrow.Table({ span: arrow.makeVector(child) });
    await expectRefusal(() => namespace.createTable({ id: ["new"] }, table), "Unsupported");
    await expect(namespace.createTable({ id: ["new"] }, table)).rejects.toThrow(/span/);
  });
});

describe("bodies", () => {
  const ipc = arrow.tableToIPC(asDeclared(rows));
  const garbage: [string, unknown][] = [
    ["nothing", undefined],
    ["null", null],
    ["a number", 7],
    ["a string", "rows"],
    ["an empty body", new Uint8Array(0)],
    ["bytes that are not Arrow", new TextEncoder().encode("id,name\n1,a\n")],
    ["random bytes", noise(4096)],
    ["a stream cut in the schema", ipc.subarray(0, 40)],
    ["a stream cut in a batch", ipc.subarray(0, ipc.length - 30)],
    ["an object", {}],
    ["rows as objects, and another thing", [{ id: 1 }, 7]],
  ];
  it.each(garbage)("an insert refuses %s", async (_name, data) => {
    await expectRefusal(() => namespace.insertIntoTable({ id: ["t"] }, data as arrow.Table), "InvalidInput");
    await expectRefusal(() => namespace.insertIntoTable({ id: ["d"] }, data as arrow.Table), "InvalidInput");
    await expectRefusal(() => namespace.createTable({ id: ["new"] }, data as arrow.Table), "InvalidInput");
  });

  it("a stream that breaks in the middle leaves no file", async () => {
    const wide = new arrow.Table({ id: arrow.makeVector(new Int32Array(200_000).map((_, index) => index)) });
    async function* breaking() {
      for (let index = 0; index < 20; index++) yield wide.batches[0];
      throw new Error("the network went away");
    }
    await expectRefusal(
      () => namespace.insertIntoTable({ id: ["t"] }, breaking()),
      "InvalidInput",
      "Internal",
    );
    async function* breakingBytes() {
      const bytes = arrow.tableToIPC(new arrow.Table([...wide.batches, ...wide.batches, ...wide.batches]));
      for (let offset = 0; offset < bytes.length / 2; offset += 64_000)
        yield bytes.subarray(offset, offset + 64_000);
      throw new Error("the network went away");
    }
    await expectRefusal(
      () => namespace.insertIntoTable({ id: ["t"] }, breakingBytes()),
      "InvalidInput",
      "Internal",
    );
    for (const data of [breaking, breakingBytes]) {
      await expectRefusal(() => namespace.createTable({ id: ["new"] }, data()), "InvalidInput", "Internal");
      await expectRefusal(() => namespace.insertIntoTable({ id: ["d"] }, data()), "InvalidInput", "Internal");
    }
  });

  it("an aborted insert leaves no file", async () => {
    const controller = new AbortController();
    async function* endless() {
      for (let index = 0; ; index++) {
        if (index === 3) controller.abort();
        yield asDeclared(rows).batches[0];
      }
    }
    const call = () => namespace.insertIntoTable({ id: ["t"], signal: controller.signal }, endless());
    await expectRefusal(call, "ServiceUnavailable");
  });
});

describe("staged manifests", () => {
  const attempt = (manifestPath: unknown, more: object = {}) =>
    namespace.createTableVersion({ id: ["t"], version: 3, manifestPath: manifestPath as string, ...more });

  it("createTableVersion refuses a path outside the table, a missing file and a file that is not a manifest", async () => {
    const outside = join(scratch, "outside.manifest");
    await writeFile(outside, noise(100));
    const versions = join(root, "t.lance", "_versions");
    const [published] = (await readdir(versions)).filter((name) => name.endsWith(".manifest"));
    await cp(join(versions, published), join(scratch, "copy.manifest"));
    for (const path of [
      outside,
      join(scratch, "copy.manifest"),
      "../outside.manifest",
      "../../outside.manifest",
      "_versions/none",
      "_versions",
      "x".repeat(5000),
      `/${"x".repeat(5000)}`,
      "",
      "\0",
      7,
    ]) {
      await expectRefusal(() => attempt(path), "InvalidInput");
    }
    await expectRefusal(() => attempt(join("_versions", published)), "InvalidInput");
    await expectRefusal(() => attempt("data"), "InvalidInput");
  });

  it("createTableVersion refuses manifests that are truncated or of another version or size", async () => {
    const table = join(root, "t.lance");
    const versions = join(table, "_versions");
    const published = (await readdir(versions)).filter((name) => name.endsWith(".manifest")).sort();
    const staged = join(table, "staged");
    try {
      await cp(join(versions, published[0]), staged);
      before = await directorySnapshot(root);
      await expectRefusal(() => attempt("staged"), "InvalidInput");
      await expectRefusal(() => attempt("staged", { manifestSize: 1 }), "InvalidInput");
      await expectRefusal(() => attempt("staged", { manifestSize: -1 }), "InvalidInput");
      await expectRefusal(() => attempt("staged", { namingScheme: "V3" }), "InvalidInput");
      await expectRefusal(() => attempt("staged", { metadata: { a: 1 } }), "InvalidInput");
      await expectRefusal(
        () => namespace.createTableVersion({ id: ["t"], version: 2, manifestPath: "staged" }),
        "ConcurrentModification",
      );
      // A free number below the latest.
      await expectRefusal(
        () => namespace.createTableVersion({ id: ["t"], version: 0, manifestPath: "staged" }),
        "ConcurrentModification",
      );
      await writeFile(staged, noise(300));
      before = await directorySnapshot(root);
      await expectRefusal(() => attempt("staged"), "InvalidInput");
    } finally {
      await rm(staged, { force: true });
      before = await directorySnapshot(root);
    }
  });
});

describe("settings of a compaction", () => {
  it.each([
    ["targetRowsPerFragment", [0, -1, 1.5, 1_048_577, "10", Number.NaN]],
    ["materializeDeletionsThreshold", [-0.1, 1.1, Number.NaN, "0.1"]],
    ["materializeDeletions", [1, "true"]],
    ["branch", [7, "a b"]],
  ])("that are none: %s", async (member, values) => {
    for (const value of values) {
      await expectRefusal(() => namespace.optimizeTable({ id: ["t"], [member]: value }), "InvalidInput");
    }
  });

  it("optimizeTable refuses a missing and a declared table", async () => {
    await expectRefusal(() => namespace.optimizeTable({ id: ["none"] }), "TableNotFound");
    await expectRefusal(() => namespace.optimizeTable({ id: ["d"] }), "InvalidTableState");
    await expectRefusal(() => namespace.optimizeTable({ id: [] }), "InvalidInput");
  });
});
