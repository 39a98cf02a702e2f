/** Reads catalogs of other engines: more columns, other rows, damage, and settings that forbid access. */

import { mkdir, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { Bool, type DataType, Field, Int32, List, Schema, Table, Utf8, vectorFromArray } from "apache-arrow";
import { CorruptFileError, DirectoryNamespace, NamespaceError } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import type { Disk } from "../../../src/io/disk/disk.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { replaceFile } from "../../../src/io/publish.js";
import { type OperationContext, openContext } from "../../../src/operations/context.js";
import { cleanUpVersions } from "../../../src/table/cleanup/cleanup.js";
import { ABSENT } from "../../../src/table/versions/identity.js";
import { findLatestVersion } from "../../../src/table/versions/latestVersion.js";
import type { ManifestFile } from "../../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { readManifestAt } from "../../../src/table/versions/openVersion.js";
import { tableAt } from "../../../src/table/versions/tableAt.js";
import { insertRows, requireInserted } from "../../../src/write/insert.js";
import { directorySnapshot } from "../../support/directorySnapshot.js";
import { interruptedDisk } from "../../support/interruptedDisk.js";
import { rowsOf } from "../../support/intRows.js";
import { errorOf } from "../../support/outcomes.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";

let root: string;
let ns: DirectoryNamespace;
let context: OperationContext;

beforeEach(async () => {
  root = await makeTempDir();
  ns = new DirectoryNamespace({ root, durability: "none" });
  context = openContext({ root, durability: "none" });
  return async () => {
    await ns.close();
    await context.close();
  };
});

interface Row {
  readonly id: string;
  readonly type?: string;
  readonly location?: string | null;
  readonly metadata?: string | null;
}

async function writeCatalog(rows: readonly Row[], version: "2.1" | "2.2" = "2.2"): Promise<void> {
  const list = new List(new Field("object_id", new Utf8(), true));
  const columns: [string, DataType, boolean, unknown[]][] = [
    ["extra", new Utf8(), true, rows.map(({ id }) => `of ${id}`)],
    ["object_id", new Utf8(), false, rows.map(({ id }) => id)],
    ["object_type", new Utf8(), false, rows.map(({ type }) => type ?? "namespace")],
    ["location", new Utf8(), true, rows.map(({ location }) => location ?? null)],
    ["metadata", new Utf8(), true, rows.map(({ metadata }) => metadata ?? null)],
    ["base_objects", list, true, rows.map(({ id }, index) => (index % 2 === 0 ? [id, null] : null))],
    ["flag", new Bool(), true, rows.map((_, index) => index % 3 === 0)],
    ["number", new Int32(), true, rows.map((_, index) => index)],
  ];
  const schema = new Schema(columns.map(([name, type, nullable]) => new Field(name, type, nullable)));
  const vectors = columns.map(([name, type, , values]) => [name, vectorFromArray(values, type)]);
  const table = new Table(schema, Object.fromEntries(vectors));
  const inserted = await insertRows(tableAt(context, join(root, "__manifest")), ABSENT, table, {
    mode: "Append",
    newTable: { version, naming: "V2" },
    onCreated: "fail",
  });
  requireInserted(inserted);
}

/** Reads the columns of the catalog's table on disk, through a root table with the same directory. */
async function readColumns(): Promise<Record<string, unknown>[]> {
  await symlink(join(root, "__manifest"), join(root, "as-table.lance"));
  const table = await ns.table(["as-table"]).scan().toArrow();
  await rm(join(root, "as-table.lance"));
  return table.toArray().map((row) => {
    const { base_objects: list, ...rest } = row.toJSON();
    return { ...rest, base_objects: list === null ? null : [...list] };
  });
}

async function latestFile(): Promise<ManifestFile> {
  const latest = await findLatestVersion({ disk: context.disk, root: join(root, "__manifest") });
  return (await readManifestAt(context, latest!))!;
}

async function setTableMetadata(entries: [string, string][]): Promise<void> {
  const file = await latestFile();
  const { chunks } = encodeManifestFile({
    manifest: { ...file.manifest, tableMetadata: new Map(entries) },
    indexSectionBytes: null,
    transactionBytes: file.transactionBytes,
  });
  await replaceFile(context.disk, file.path, new Uint8Array(Buffer.concat(chunks)), { sync: false });
}

async function expectRefusal(call: () => Promise<unknown>, type: string): Promise<NamespaceError> {
  const before = await directorySnapshot(root);
  const error = await errorOf(call());
  expect(error).toBeInstanceOf(NamespaceError);
  expect((error as NamespaceError).type, String(error)).toBe(type);
  expect(await directorySnapshot(root)).toEqual(before);
  return error as NamespaceError;
}

describe.each(["2.1", "2.2"] as const)("unknown columns, in format %s", (version) => {
  it("stay with their rows through every change", async () => {
    await writeCatalog(
      [{ id: "a", metadata: '{"k":"v"}' }, { id: "b" }, { id: "c" }, { id: "x", type: "odd" }],
      version,
    );
    await ns.createNamespace({ id: ["d"] });
    await ns.dropNamespace({ id: ["b"] });
    await ns.createNamespace({ id: ["a"], mode: "Overwrite", properties: { n: "w" } });
    await ns.declareTable({ id: ["c", "t"] });
    await ns.renameTable({ id: ["c", "t"], newTableName: "u", newNamespaceId: ["a"] });
    const rows = await readColumns();
    const unknown = { extra: null, base_objects: null, flag: null, number: null };
    expect(rows).toEqual([
      {
        object_id: "a",
        object_type: "namespace",
        location: null,
        metadata: '{"n":"w"}',
        extra: "of a",
        base_objects: ["a", null],
        flag: true,
        number: 0,
      },
      {
        object_id: "c",
        object_type: "namespace",
        location: null,
        metadata: null,
        extra: "of c",
        base_objects: ["c", null],
        flag: false,
        number: 2,
      },
      {
        object_id: "x",
        object_type: "odd",
        location: null,
        metadata: null,
        extra: "of x",
        base_objects: null,
        flag: true,
        number: 3,
      },
      { object_id: "d", object_type: "namespace", location: null, metadata: null, ...unknown },
      {
        object_id: "a$u",
        object_type: "table",
        location: expect.stringMatching(/^[0-9a-f]{8}_c\$t$/),
        metadata: null,
        ...unknown,
      },
    ]);
  });
});

it("each change makes one version in the reference's format", async () => {
  await ns.createNamespace({ id: ["a"] });
  const first = await latestFile();
  await setTableMetadata([["kept", "1"]]);
  await ns.createNamespace({ id: ["b"] });
  const { manifest, transaction } = await latestFile();
  expect(first.manifest.version).toBe(2);
  expect(manifest.version).toBe(3);
  expect(manifest.fragments.map(({ id, physicalRows }) => [id, physicalRows])).toEqual([[0, 2]]);
  expect(manifest.maxFragmentId).toBe(0);
  expect(manifest.transactionFile).toBe("");
  expect(manifest.tableMetadata).toEqual(new Map([["kept", "1"]]));
  expect(transaction?.readVersion).toBe(2);
  expect(transaction?.overwrite?.schema).toEqual(manifest.fields);
  expect(manifest.fields.map(({ name, nullable }) => [name, nullable])).toEqual([
    ["object_id", false],
    ["object_type", false],
    ["location", true],
    ["metadata", true],
    ["base_objects", true],
    ["object_id", true],
  ]);
  expect((await readdir(join(root, "__manifest", "_transactions"))).length).toBe(1);
  await reference.catalogStep(root, "createNamespace", ["c"]);
  expect((await latestFile()).manifest.fields).toEqual(manifest.fields);
  await ns.dropNamespace({ id: ["a"] });
  await ns.dropNamespace({ id: ["b"] });
  await ns.dropNamespace({ id: ["c"] });
  expect(await reference.catalogStep(root, "listNamespaces", [])).toEqual([]);
  await reference.catalogStep(root, "createNamespace", ["d"]);
  expect((await ns.listNamespaces()).namespaces).toEqual(["d"]);
});

describe("feature flags", () => {
  const READER = "lance.namespace.manifest.reader_feature_flags";
  const WRITER = "lance.namespace.manifest.writer_feature_flags";
  beforeEach(() => ns.createNamespace({ id: ["a"] }));

  it("that are unknown prevent writing, or reading", async () => {
    await setTableMetadata([
      [WRITER, "2"],
      [READER, "0"],
    ]);
    expect((await ns.listNamespaces()).namespaces).toEqual(["a"]);
    for (const call of [
      () => ns.createNamespace({ id: ["b"] }),
      () => ns.dropNamespace({ id: ["a"] }),
      () => ns.createTable({ id: ["a", "t"] }, rowsOf(1)),
      () => ns.createTable({ id: ["t"] }, rowsOf(1)),
      () => ns.declareTable({ id: ["t"] }),
    ]) {
      expect((await expectRefusal(call, "Unsupported")).message).toMatch(/bit 1/);
    }
    await setTableMetadata([[READER, "18446744073709551615"]]);
    await expectRefusal(() => ns.listNamespaces(), "Unsupported");
    await expectRefusal(() => ns.createNamespace({ id: ["b"] }), "Unsupported");
    await expectRefusal(() => ns.describeTable({ id: ["a", "t"] }), "Unsupported");
    await setTableMetadata([[READER, "many"]]);
    await expectRefusal(() => ns.listNamespaces(), "Internal");
  });
  it("that are clear have no effect", async () => {
    await setTableMetadata([
      [WRITER, "0"],
      [READER, "0"],
    ]);
    await ns.createNamespace({ id: ["b"] });
    expect((await latestFile()).manifest.tableMetadata.size).toBe(2);
  });
});

describe("a root that another engine deleted", () => {
  const LIFECYCLE: [string, string][] = [
    ["lance.namespace.manifest.reader_feature_flags", "1"],
    ["lance.namespace.manifest.writer_feature_flags", "1"],
  ];
  const DELETED = "lance.namespace.manifest.deleted";
  beforeEach(() => ns.createNamespace({ id: ["a"] }));

  it("is reported as a missing namespace, and nothing is added to it", async () => {
    await ns.createTable({ id: ["a", "t"] }, rowsOf(1));
    await ns.createTable({ id: ["r"] }, rowsOf(1));
    await ns.deregisterTable({ id: ["r"] });
    await setTableMetadata([...LIFECYCLE, [DELETED, "true"]]);
    const calls: (() => Promise<unknown>)[] = [
      () => ns.namespaceExists({}),
      () => ns.namespaceExists({ id: ["a"] }),
      () => ns.describeNamespace({}),
      () => ns.listNamespaces(),
      () => ns.listTables(),
      () => ns.listTables({ id: ["a"] }),
      () => ns.listAllTables(),
      () => ns.tableExists({ id: ["t"] }),
      () => ns.describeTable({ id: ["a", "t"] }),
      () => ns.countTableRows({ id: ["a", "t"] }),
      () => ns.createNamespace({ id: ["b"] }),
      () => ns.dropNamespace({ id: ["a"], behavior: "Cascade" }),
      () => ns.declareTable({ id: ["t"] }),
      () => ns.createTable({ id: ["t"] }, rowsOf(1)),
      () => ns.createTable({ id: ["a", "u"] }, rowsOf(1)),
      () => ns.insertIntoTable({ id: ["a", "t"] }, rowsOf(1)),
      () => ns.dropTable({ id: ["a", "t"] }),
      () => ns.registerTable({ id: ["r"], location: "r.lance" }),
    ];
    for (const call of calls) {
      const { message } = await expectRefusal(call, "NamespaceNotFound");
      expect(message, String(call)).toMatch(/was deleted/);
    }
  });

  it("is reported by the next call of a program that had read the catalog before", async () => {
    expect((await ns.listNamespaces()).namespaces).toEqual(["a"]);
    await using rival = new DirectoryNamespace({ root, durability: "none" });
    await rival.createNamespace({ id: ["b"] });
    await setTableMetadata([...LIFECYCLE, [DELETED, "true"]]);
    await expectRefusal(() => ns.createNamespace({ id: ["c"] }), "NamespaceNotFound");
  });

  it("is recognised by the marker only: the flags alone change nothing, and stay", async () => {
    for (const more of [[], [[DELETED, "false"]]] as [string, string][][]) {
      await setTableMetadata([...LIFECYCLE, ...more]);
      const id = [`b${more.length}`];
      await ns.createNamespace({ id });
      await ns.namespaceExists({});
      await ns.dropNamespace({ id });
      expect((await latestFile()).manifest.tableMetadata).toEqual(new Map([...LIFECYCLE, ...more]));
    }
    await setTableMetadata([...LIFECYCLE, [DELETED, "perhaps"]]);
    await expectRefusal(() => ns.listNamespaces(), "Unsupported");
    await expectRefusal(() => ns.listTables(), "Unsupported");
  });
});

describe("damaged rows", () => {
  it("with one id are reported on use, and prevent all changes", async () => {
    await writeCatalog([{ id: "a" }, { id: "b" }, { id: "a" }]);
    expect((await ns.listNamespaces()).namespaces).toEqual(["a", "b"]);
    await ns.describeNamespace({ id: ["b"] });
    const error = await expectRefusal(() => ns.describeNamespace({ id: ["a"] }), "Internal");
    expect(error).toBeInstanceOf(CorruptFileError);
    await expectRefusal(() => ns.createNamespace({ id: ["c"] }), "Internal");
    await expectRefusal(() => ns.dropNamespace({ id: ["a"], behavior: "Cascade" }), "Internal");
  });

  it("with invalid locations are reported on use", async () => {
    const places = [
      null,
      "",
      "/etc",
      "..",
      "a/../../b",
      "a//b",
      "s3://b/t",
      "__manifest",
      ".tiltyard-dropped-x",
      "a\\b",
    ];
    await writeCatalog([
      { id: "a" },
      ...places.map((location, index) => ({ id: `a$t${index}`, type: "table", location })),
    ]);
    expect((await ns.listTables({ id: ["a"] })).tables.length).toBe(places.length);
    for (let index = 0; index < places.length; index++) {
      const id = ["a", `t${index}`];
      for (const call of [
        () => ns.describeTable({ id }),
        () => ns.createTable({ id }, rowsOf(1)),
        () => ns.dropTable({ id }),
        () => ns.insertIntoTable({ id }, rowsOf(1)),
        () => ns.dropNamespace({ id: ["a"], behavior: "Cascade" }),
      ]) {
        await expectRefusal(call, "Internal");
      }
    }
  });

  it("with invalid properties are reported on use", async () => {
    for (const [index, metadata] of ["{", "[]", "1", '{"a":1}', "null"].entries()) {
      await rm(join(root, "__manifest"), { recursive: true, force: true });
      await mkdir(join(root, `place${index}`));
      await writeCatalog([
        { id: "a", metadata },
        { id: "b" },
        { id: "b$t", type: "table", location: `place${index}`, metadata },
      ]);
      await expectRefusal(() => ns.describeNamespace({ id: ["a"] }), "Internal");
      await expectRefusal(() => ns.describeTable({ id: ["b", "t"] }), "Internal");
      await ns.namespaceExists({ id: ["a"] });
      await ns.tableExists({ id: ["b", "t"] });
    }
  });

  it("that share a location lose their data only with the last", async () => {
    await ns.createNamespace({ id: ["a"] });
    const { location } = await ns.createTable({ id: ["a", "t"] }, rowsOf(1));
    const directory = location.slice(root.length + 1);
    await rm(join(root, "__manifest"), { recursive: true });
    await ns.createTable({ id: ["r"] }, rowsOf(2));
    await rm(join(root, "__manifest"), { recursive: true });
    await writeCatalog([
      { id: "a" },
      { id: "b" },
      { id: "a$t", type: "table", location: directory },
      { id: "b$t", type: "table", location: directory },
      { id: "b$r", type: "table", location: "r.lance" },
    ]);
    await ns.dropNamespace({ id: ["b"], behavior: "Cascade" });
    expect(await ns.countTableRows({ id: ["a", "t"] })).toBe(1);
    expect(await ns.countTableRows({ id: ["r"] })).toBe(1);
    await ns.dropTable({ id: ["a", "t"] });
    expect((await readdir(root)).sort()).toEqual(["__manifest", "r.lance"]);
  });
});

describe("a version of the catalog", () => {
  const catalogRoot = () => join(root, "__manifest");
  const oldData = /__manifest.data.[^/\\]*\.lance$/;

  it("is read again if another engine cleans it away meanwhile", async () => {
    await ns.createNamespace({ id: ["a"] });
    const inner = new NodeDisk({ durability: "none" });
    const isReading = (_verb: keyof Disk, path: string) => oldData.test(path);
    const disk = interruptedDisk(inner, isReading, async () => {
      await ns.createNamespace({ id: ["b"] });
      await cleanUpVersions(tableAt(context, catalogRoot()), { olderThanMs: 0 });
    });
    await using reader = new DirectoryNamespace({ root, disk });
    expect(await reader.listNamespaces()).toEqual({ namespaces: ["a", "b"] });
    expect(disk.interrupted).toBe(true);
  });

  it("without its data file is damaged", async () => {
    await ns.createNamespace({ id: ["a"] });
    for (const name of await readdir(join(catalogRoot(), "data")))
      await rm(join(catalogRoot(), "data", name));
    await using reader = new DirectoryNamespace({ root, durability: "none" });
    await expect(reader.listNamespaces()).rejects.toBeInstanceOf(CorruptFileError);
  });
});
