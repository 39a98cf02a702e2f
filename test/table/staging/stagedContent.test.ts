/**
 * Staged manifests are refused for many reasons, and no operation follows their hostile parts on the disk.
 */

import { copyFile, cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { InvalidInputError, UnsupportedError } from "../../../src/errors.js";
import { Field } from "../../../src/format/file.js";
import {
  BasePath,
  type DataFile,
  type DataFragment,
  DeletionFile,
  IndexMetadata,
  IndexSection,
  type Manifest,
  Timestamp,
  Uuid,
} from "../../../src/format/table.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { findLatestVersion } from "../../../src/table/versions/latestVersion.js";
import { type ManifestFile, readManifestFile } from "../../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { manifestPath } from "../../../src/table/versions/paths.js";
import { directorySnapshot } from "../../support/directorySnapshot.js";
import { beforeAll, describe, expect, it } from "../../support/fixtures.js";
import { makeTempDir } from "../../support/tempDir.js";

const id = ["t"];
const rows = (...values: number[]) => new Table({ v: vectorFromArray(values, new Int32()) });
const disk = new NodeDisk({ durability: "none" });

let root: string;
let table: string;
let ns: DirectoryNamespace;
let latest: ManifestFile;

async function latestOf(directory: string): Promise<ManifestFile> {
  const entry = await findLatestVersion({ disk, root: directory });
  return (await readManifestFile(disk, entry?.path ?? "")) as ManifestFile;
}

/** Members of a manifest, and the indexes beside it. */
type Change = Partial<Manifest> & { readonly indices?: readonly IndexMetadata[] };

async function stage(directory: string, file: ManifestFile, change: Change): Promise<string> {
  const { indices, ...members } = change;
  const { chunks } = encodeManifestFile({
    manifest: { ...file.manifest, version: file.manifest.version + 1, ...members },
    indexSectionBytes:
      indices === undefined ? file.indexSectionBytes : IndexSection.encode({ indices: [...indices] }),
    transactionBytes: file.transactionBytes as Uint8Array,
  });
  const path = join(directory, "_versions", "staged");
  await writeFile(path, Buffer.concat(chunks));
  return path;
}

beforeAll(async () => {
  root = await makeTempDir();
  table = join(root, "t.lance");
  ns = new DirectoryNamespace({ root, durability: "none" });
  for (const name of ["t", "u"]) {
    await ns.createTable({ id: [name] }, rows(1, 2));
    await ns.insertIntoTable({ id: [name] }, rows(3));
  }
  latest = await latestOf(table);
  return () => ns.close();
});

/** Changes the last fragment. */
const last = (change: (fragment: DataFragment) => Partial<DataFragment>) => (manifest: Manifest) => ({
  fragments: manifest.fragments.map((each, index, all) =>
    index === all.length - 1 ? { ...each, ...change(each) } : each,
  ),
});
/** Changes the file of the last fragment. */
const file = (change: Partial<DataFile>) => last(({ files }) => ({ files: [{ ...files[0], ...change }] }));
const deletion = (change: Partial<DeletionFile>) =>
  last(() => ({ deletionFile: DeletionFile.create({ readVersion: 2, id: 1n, ...change }) }));
const index = (change: Partial<IndexMetadata>) => () => ({
  indices: [IndexMetadata.create({ uuid: Uuid.create({ uuid: new Uint8Array(16) }), name: "i", ...change })],
});
const config = (key: string, value: string) => () => ({
  config: new Map([
    ["lance.auto_cleanup.interval", "1"],
    [`lance.auto_cleanup.${key}`, value],
  ]),
});
const field = (change: Partial<Field>) => (manifest: Manifest) => ({
  fields: [
    ...manifest.fields,
    Field.create({ id: 1, parentId: -1, name: "w", logicalType: "int32", ...change }),
  ],
});
const nested = (depth: number) => (manifest: Manifest) => ({
  fields: [
    ...manifest.fields,
    ...Array.from({ length: depth }, (_, index) =>
      Field.create({ id: index + 1, parentId: index === 0 ? -1 : index, name: "s", logicalType: "struct" }),
    ),
  ],
});

const REFUSED: readonly [string, RegExp, (manifest: Manifest) => Change][] = [
  ["another branch", /is of branch/, () => ({ branch: "dev" })],
  ["a branch that leads elsewhere", /is of branch/, () => ({ branch: "../u.lance" })],
  [
    "two fragments of one id",
    /two fragments 0/,
    ({ fragments }) => ({ fragments: [...fragments, fragments[0]] }),
  ],
  ["a fragment above the highest id", /as the highest id/, last(() => ({ id: 2 }))],
  ["no highest id", /as the highest id/, () => ({ maxFragmentId: undefined })],
  ["no ids that are left", /skips fragment ids/, () => ({ maxFragmentId: 2 ** 32 - 1 })],
  ["no row ids that are left", /skips row ids/, () => ({ nextRowId: Number.MAX_SAFE_INTEGER })],
  [
    "a time beyond the calendar",
    /invalid time/,
    () => ({ timestamp: Timestamp.create({ seconds: 2 ** 50 }) }),
  ],
  [
    "a negative part of a second",
    /invalid time/,
    () => ({ timestamp: Timestamp.create({ seconds: 1, nanos: -1 }) }),
  ],
  [
    "an unknown data format",
    /is unknown/,
    ({ dataFormat }) => ({ dataFormat: { ...dataFormat!, version: "9.9" } }),
  ],
  ["a transaction's file elsewhere", /not a file name/, () => ({ transactionFile: "../../u.lance/x.txn" })],
  ["a transaction's file that is its directory", /not a file name/, () => ({ transactionFile: ".." })],
  ["no field ids that are left", /skips field ids/, field({ id: 2 ** 31 - 1 })],
  ["a field twice", /repeated/, field({ id: 0 })],
  ["a negative field", /negative/, field({ id: -1 })],
  ["a field without its parent", /before its parent/, field({ parentId: 7 })],
  ["a number with a member", /has 1 children/, field({ parentId: 0 })],
  ["a list without items", /has 0 children/, field({ logicalType: "list" })],
  ["fields without end", /deeper/, nested(65)],
  [
    "stable row ids of a table without",
    /row ids are stable/,
    () => ({ readerFeatureFlags: 2n, writerFeatureFlags: 2n }),
  ],
  ["half a paired flag", /paired/, () => ({ writerFeatureFlags: 256n })],
  ["an unreadable interval", /interval/, config("interval", "../u.lance")],
  ["an unreadable age", /older_than/, config("older_than", "for ever")],
  ["no version to retain", /retain_versions/, config("retain_versions", "0")],
  ["a file elsewhere", /calls a data file/, file({ path: "../../u.lance/data/x.lance" })],
  ["a file below a directory", /calls a data file/, file({ path: "deep/x.lance" })],
  ["a file that is no data file", /calls a data file/, file({ path: "x.txt" })],
  ["a device", /calls a data file/, file({ path: "con.lance" })],
  ["a file that is not there", /not a file of the table/, file({ path: "missing.lance" })],
  ["a directory for a file", /not a file of the table/, file({ path: "directory.lance" })],
  ["a field that no table has", /not a valid field/, file({ fields: [2 ** 31 - 1] })],
  ["a field without a number", /not a valid field/, file({ fields: [-1] })],
  ["a field twice in a file", /not a valid field/, file({ fields: [0, 0], columnIndices: [0, 1] })],
  ["more columns than fields", /1 fields and 2 columns/, file({ columnIndices: [0, 1] })],
  ["a column before the first", /negative column/, file({ columnIndices: [-2] })],
  ["a file in no base", /names base path 0/, file({ baseId: 0 })],
  [
    "row ids in another file",
    /in other files/,
    last(() => ({ externalRowIds: { path: "/etc/passwd", offset: 0, size: 1 } })),
  ],
  ["more rows than fragments have", /rows in fragment/, last(() => ({ physicalRows: 2 ** 40 }))],
  [
    "a deletion file that is not there",
    /not a file of the table/,
    deletion({ fileType: 1, numDeletedRows: 1 }),
  ],
  ["a deletion file of no type", /of type 7/, deletion({ fileType: 7 })],
  ["more deleted rows than there are", /deletes 9 of 1/, deletion({ numDeletedRows: 9 })],
  ["a deletion file in no base", /names base path 3/, deletion({ baseId: 3 })],
  ["a base path", /base path/, () => ({ basePaths: [BasePath.create({ path: join(root, "u.lance") })] })],
  ["an index without an id", /without an id/, index({ uuid: Uuid.create({ uuid: new Uint8Array(3) }) })],
  ["an index in no base", /names base path 5/, index({ baseId: 5 })],
  [
    "an index with files elsewhere",
    /calls a file of index/,
    index({ files: [{ path: "../x", sizeBytes: 1 }] }),
  ],
  ["an index of no field", /on an invalid field/, index({ fields: [-5] })],
];

describe("a staged manifest is refused that has", () => {
  it.each(REFUSED)("%s", async (_name, message, change) => {
    await mkdir(join(table, "data", "directory.lance"), { recursive: true });
    const manifestPath = await stage(table, latest, change(latest.manifest));
    const before = await directorySnapshot(root);
    const part = { id, version: 3, manifestPath };
    for (const publish of [
      () => ns.createTableVersion(part),
      () => ns.batchCreateTableVersions({ entries: [part] }),
    ]) {
      const error = await publish().catch((thrown) => thrown);
      expect(error).toBeInstanceOf(InvalidInputError);
      expect(error.message).toMatch(message);
    }
    expect(await directorySnapshot(root)).toEqual(before);
  });

  it.each(["readerFeatureFlags", "writerFeatureFlags"] as const)("an unknown flag: %s", async (member) => {
    const manifestPath = await stage(table, latest, { [member]: 1n << 40n });
    const publish = ns.createTableVersion({ id, version: 3, manifestPath });
    await expect(publish).rejects.toBeInstanceOf(UnsupportedError);
  });
});

/** Makes a separate table for a test that changes it. */
async function fresh(): Promise<{
  ns: DirectoryNamespace;
  root: string;
  table: string;
  file: ManifestFile;
}> {
  const copy = await makeTempDir();
  await cp(root, copy, { recursive: true });
  await rm(join(copy, "t.lance", "_versions", "staged"), { force: true });
  const directory = join(copy, "t.lance");
  const ns = new DirectoryNamespace({ root: copy, durability: "none" });
  return { ns, root: copy, table: directory, file: await latestOf(directory) };
}

describe("a staged manifest is published that", () => {
  it("has a new fragment whose file exists", async () => {
    const { ns, table: directory, file: base } = await fresh();
    const { fragments } = base.manifest;
    const [{ path }] = fragments[1].files;
    await copyFile(join(directory, "data", path), join(directory, "data", "copy.lance"));
    const added = { ...fragments[1], id: 2, files: [{ ...fragments[1].files[0], path: "copy.lance" }] };
    const manifestPath = await stage(directory, base, { fragments: [...fragments, added], maxFragmentId: 2 });
    await ns.createTableVersion({ id, version: 3, manifestPath });
    expect((await ns.table("t").scan({}).toArrow()).numRows).toBe(4);
    await ns.close();
  });

  it("is the next of a branch, with exactly the base paths of the branch", async () => {
    const { ns, root: copy, table: directory } = await fresh();
    await ns.createTableBranch({ id, name: "dev" });
    const dev = join(directory, "tree", "dev");
    const base = await latestOf(dev);
    const [ofMain] = base.manifest.basePaths;
    const otherBase = BasePath.create({ ...ofMain, id: 1, path: join(copy, "u.lance") });
    for (const basePaths of [
      [ofMain, otherBase],
      [{ ...ofMain, path: join(copy, "u.lance") }],
      [ofMain, ofMain],
      [],
    ]) {
      const manifestPath = await stage(dev, base, { basePaths });
      const publish = ns.createTableVersion({ id, branch: "dev", version: 3, manifestPath });
      await expect(publish).rejects.toBeInstanceOf(InvalidInputError);
    }
    await ns.createTableVersion({ id, branch: "dev", version: 3, manifestPath: await stage(dev, base, {}) });
    expect(await ns.countTableRows({ id, branch: "dev" })).toBe(3);
    await ns.close();
  });

  it("is the first of a branch, with one base path for its source", async () => {
    const { ns, root: copy, table: directory } = await fresh();
    await ns.createTableBranch({ id, name: "old" });
    const first = await latestOf(join(directory, "tree", "old"));
    const dev = join(directory, "tree", "dev");
    await mkdir(join(dev, "_versions"), { recursive: true });
    const [ofMain] = first.manifest.basePaths;
    const create = async (basePaths: readonly BasePath[]) => {
      const change = { version: 2, branch: "dev", basePaths: [...basePaths] };
      const manifestPath = await stage(dev, first, change);
      const request = { id, branch: "dev", version: 2, manifestPath, unregisteredBranch: true };
      return ns.createTableVersion(request);
    };
    for (const path of [join(copy, "u.lance"), dev, copy, "/"]) {
      await expect(create([{ ...ofMain, path }])).rejects.toBeInstanceOf(InvalidInputError);
      await expect(create([ofMain, { ...ofMain, id: 1, path }])).rejects.toBeInstanceOf(InvalidInputError);
    }
    await create([ofMain]);
    await ns.close();
  });

  it("is the first of a table, with base paths that the host allows", async ({ root: elsewhere }) => {
    const { ns, root: copy, file: base } = await fresh();
    await ns.declareTable({ id: ["new"] });
    const directory = join(copy, "new.lance");
    await mkdir(join(directory, "_versions"), { recursive: true });
    await cp(table, join(elsewhere, "t.lance"), { recursive: true });
    const basePaths = [BasePath.create({ isDatasetRoot: true, path: join(elsewhere, "t.lance") })];
    const fragments = base.manifest.fragments.map((each) => ({
      ...each,
      files: each.files.map((one) => ({ ...one, baseId: 0 })),
    }));
    const flags = { readerFeatureFlags: 16n, writerFeatureFlags: 16n };
    const manifestPath = await stage(directory, base, { version: 1, basePaths, fragments, ...flags });
    const part = { id: ["new"], version: 1, manifestPath };
    await expect(ns.createTableVersion(part)).rejects.toThrow(/base path/);
    await using allowing = new DirectoryNamespace({
      root: copy,
      durability: "none",
      allowedBases: [elsewhere],
    });
    const asked: unknown[] = [];
    const asking = new DirectoryNamespace({
      root: copy,
      durability: "none",
      allowedBases: [elsewhere],
      authorize({ operation, id, location }) {
        asked.push([operation, id, location]);
        if (id.length === 0) throw new Error("not for you");
      },
    });
    await expect(asking.createTableVersion(part)).rejects.toMatchObject({ name: "PermissionDeniedError" });
    expect(asked[1]).toEqual(["createTableVersion", [], join(elsewhere, "t.lance")]);
    await asking.close();
    await allowing.createTableVersion(part);
    expect((await allowing.table("new").scan({}).toArrow()).numRows).toBe(3);
    await expect(ns.table("new").scan({}).toArrow()).rejects.toMatchObject({
      name: "PermissionDeniedError",
    });
    await ns.close();
  });
});

describe("a manifest on the disk", () => {
  const branchNames = ["../u.lance", "../../u.lance", "u", "x"];
  it.each(
    branchNames,
  )("that claims branch %s does not make cleanups remove another table's versions", async (branch) => {
    const { ns, root: copy, table: directory, file: base } = await fresh();
    // Settings for the directory to which the branch's base path leads, if the engine followed it.
    const settings = { interval: "1", older_than: "0s", retain_versions: "1" };
    const change = {
      version: 2,
      branch,
      config: new Map(Object.entries(settings).map(([key, value]) => [`lance.auto_cleanup.${key}`, value])),
    };
    const staged = await stage(directory, base, change);
    await rm(manifestPath(directory, 2, "V2"));
    await copyFile(staged, manifestPath(directory, 2, "V2"));
    await rm(staged);
    const before = await directorySnapshot(join(copy, "u.lance"));
    await ns.insertIntoTable({ id }, rows(4));
    await ns.insertIntoTable({ id }, rows(5));
    expect(await directorySnapshot(join(copy, "u.lance"))).toEqual(before);
    // The table's own versions are cleaned up as its config asks.
    const left = (await readdir(join(directory, "_versions"))).filter((name) => name.endsWith(".manifest"));
    expect(left.length).toBe(2);
    await ns.close();
  });
});
