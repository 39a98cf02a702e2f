/** Compaction: rows keep the reference's order, and both engines go on with the result. */

import { readdirSync } from "node:fs";
import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as arrow from "apache-arrow";
import fc from "fast-check";
import { type DirectoryNamespace, UnsupportedError } from "tiltyard";
import {
  connect,
  Index,
  makeArrowTable,
  type Table as ReferenceTable,
  VectorColumnOptions,
} from "tiltyard-reference/session.js";
import { beforeAll, describe, expect, it } from "vitest";
import { Append, CreateIndex, type DataFragment, Uuid } from "../../src/format/table.js";
import { coverageOf } from "../../src/table/commit/indexCoverage.js";
import { newTransaction, operationOf, readTransaction } from "../../src/table/commit/transaction.js";
import { decodeRowIds, decodeRowVersions, type ValueRuns } from "../../src/table/fragments/rowSequences.js";
import { indicesOf } from "../../src/table/versions/versionContent.js";
import { fieldOf, int32s, largeBinaries, utf8s } from "../support/arrowColumns.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { runsOf } from "../support/effort.js";
import { sharedDirectory } from "../support/fixtures.js";
import { allTypesSpec, makeTable } from "../support/generators.js";
import { FILE_VERSIONS, type FileVersion, sharedNamespaces } from "../support/interop.js";
import {
  leaf,
  makeNestedTable,
  NESTING_NAMES,
  NESTINGS,
  withValidStructs,
} from "../support/nestedGenerators.js";
import { compareTables, reference } from "../support/reference.js";
import { commitPlannedOn, disk, latestFile, openEnvironment } from "../table/support.js";

const GOLDEN = fileURLToPath(new URL("../golden", import.meta.url));
/** Golden tables that compaction may refuse. */
const NOT_WRITTEN = /^v0_1_|^v2_3_|^v2_2_blob$/;

const root = sharedDirectory();
const namespaces = sharedNamespaces(root);
let namespace: DirectoryNamespace;
let tables = 0;
beforeAll(() => {
  namespace = namespaces["2.2"];
});

const rowsOf = (...values: number[]): arrow.Table =>
  new arrow.Table({
    v: int32s(values),
    s: utf8s(values.map((value) => (value % 7 === 0 ? null : `row ${value}`))),
  });
const ipcOf = (...values: number[]): Uint8Array => arrow.tableToIPC(rowsOf(...values));
const count = (from: number, length: number): number[] => Array.from({ length }, (_, index) => from + index);
const valuesOf = (table: arrow.Table): number[] => Array.from(table.getChild("v") ?? [], Number);
const directoryOf = (name: string): string => join(root, `${name}.lance`);
const rowsHere = async (name: string, target: object = {}): Promise<arrow.Table> =>
  namespace.table([name], target).scan().toArrow();
const rowsThere = async (name: string, target: object = {}): Promise<arrow.Table> =>
  arrow.tableFromIPC(await reference.readTable(root, name, target));
const dataFiles = (name: string): Promise<string[]> => readdir(join(directoryOf(name), "data"));
const fragmentsOf = async (name: string): Promise<readonly DataFragment[]> =>
  (await latestFile(directoryOf(name))).manifest.fragments;
const listOf = ({ step, values, counts }: ValueRuns): number[] =>
  values.flatMap((value, run) => Array.from({ length: counts[run] }, (_, row) => value + step * row));

const structOf = (fields: arrow.Field[], children: readonly arrow.Data[]): arrow.Data<arrow.Struct> =>
  arrow.makeData({
    type: new arrow.Struct(fields),
    length: children[0].length,
    nullCount: 0,
    children: [...children],
  });

async function withReference<T>(name: string, use: (table: ReferenceTable) => Promise<T>): Promise<T> {
  const connection = await connect(root, { readConsistencyInterval: 0 });
  try {
    return await use(await connection.openTable(name));
  } finally {
    connection.close();
  }
}

interface Making {
  readonly maker: "us" | "them";
  readonly version: FileVersion;
  readonly stable?: boolean;
}

/** Five fragments; some have deleted rows, the second has few left. */
async function makeFragments(name: string, { maker, version, stable }: Making): Promise<void> {
  const id = [name];
  const parts = [count(0, 40), count(40, 30), count(70, 3), count(73, 27), count(100, 20)];
  for (const [index, values] of parts.entries()) {
    if (maker === "us") {
      const create = index === 0 ? "createTable" : "insertIntoTable";
      await namespaces[version][create]({ id }, rowsOf(...values));
    } else if (index === 0) {
      await reference.createTable(root, name, ipcOf(...values), {
        dataStorageVersion: version,
        stableRowIds: stable,
      });
    } else {
      await reference.appendTable(root, name, ipcOf(...values));
    }
  }
  await reference.deleteRows(root, name, "v % 10 = 3 OR (v >= 40 AND v < 60)");
}

const makings: Making[] = FILE_VERSIONS.flatMap((version) => [
  { maker: "us", version },
  { maker: "them", version },
  { maker: "them", version, stable: true },
]);
const titled = makings.map((making) => ({
  ...making,
  title: `${making.version}, made by ${making.maker}${making.stable ? ", with stable row ids" : ""}`,
}));

describe.each(titled)("a table of $title", (making) => {
  it("has the same rows afterwards, as after the reference's compaction", async () => {
    const [mine, theirs] = [`c${tables++}`, `c${tables++}`];
    await makeFragments(mine, making);
    await makeFragments(theirs, making);
    const before = await rowsHere(mine);
    const response = await namespace.optimizeTable({ id: [mine] });
    const { compaction } = await reference.optimizeTable(root, theirs);
    expect(response).toEqual({
      transactionId: expect.any(String),
      version: 8,
      ...compaction,
      indexedFragmentsLeft: 0,
      indexesUpdated: 0,
    });
    compareTables(before, await rowsHere(mine));
    compareTables(before, await rowsThere(mine));
    compareTables(before, await rowsHere(theirs));

    const [here, there] = [await latestFile(directoryOf(mine)), await latestFile(directoryOf(theirs))];
    const shapeOf = async (file: typeof here, name: string) => {
      const { manifest } = file;
      const transaction = (await readTransaction({ disk, root: directoryOf(name) }, file))!;
      const [fragment] = manifest.fragments;
      const { physicalRows, inlineRowIds, inlineCreatedAtVersions, inlineLastUpdatedAtVersions } = fragment;
      const versionsOf = (bytes: Uint8Array | undefined) =>
        bytes && listOf(decodeRowVersions(bytes, physicalRows, ""));
      const operation = operationOf(transaction);
      const groups = operation.kind === "rewrite" ? operation.value.groups : [];
      return {
        version: manifest.version,
        readVersion: transaction.readVersion,
        groups: groups.map((group) => [
          group.oldFragments.map((old) => [old.id, old.physicalRows, old.deletionFile?.numDeletedRows]),
          group.newFragments.map((added) => [added.id, added.physicalRows]),
        ]),
        fragments: manifest.fragments.map((each) => [each.id, each.physicalRows, each.files[0].fields]),
        maxFragmentId: manifest.maxFragmentId,
        nextRowId: manifest.nextRowId,
        flags: [manifest.readerFeatureFlags, manifest.writerFeatureFlags],
        rowIds: inlineRowIds && listOf(decodeRowIds(inlineRowIds, physicalRows, "")),
        created: versionsOf(inlineCreatedAtVersions),
        updated: versionsOf(inlineLastUpdatedAtVersions),
      };
    };
    expect(await shapeOf(here, mine)).toEqual(await shapeOf(there, theirs));

    for (const name of [mine, theirs]) {
      await reference.appendTable(root, name, ipcOf(200, 201));
      await reference.deleteRows(root, name, "v = 0 OR v = 201");
      await namespace.insertIntoTable({ id: [name] }, rowsOf(300));
      await reference.appendTable(root, name, ipcOf(400));
    }
    const grown = await rowsThere(mine);
    expect(valuesOf(grown)).toEqual([...valuesOf(before).slice(1), 200, 300, 400]);
    await reference.optimizeTable(root, mine);
    await namespace.optimizeTable({ id: [theirs] });
    for (const name of [mine, theirs]) {
      compareTables(grown, await rowsHere(name));
      compareTables(grown, await rowsThere(name));
      expect(await fragmentsOf(name)).toHaveLength(1);
    }
  });
});

it("makes no version where there is nothing to do", async () => {
  const name = `c${tables++}`;
  const id = [name];
  await namespace.createTable({ id }, rowsOf(...count(0, 100)));
  await reference.deleteRows(root, name, "v < 10");
  const before = await dataFiles(name);
  expect(await namespace.table(id).optimize()).toEqual({
    version: 2,
    fragmentsRemoved: 0,
    fragmentsAdded: 0,
    filesRemoved: 0,
    filesAdded: 0,
    indexedFragmentsLeft: 0,
    indexesUpdated: 0,
  });
  expect((await reference.optimizeTable(root, name)).compaction.fragmentsRemoved).toBe(0);
  await reference.deleteRows(root, name, "v = 10");
  expect(await namespace.table(id).optimize({ materializeDeletions: false })).toMatchObject({ version: 3 });
  expect(await namespace.table(id).optimize({ materializeDeletionsThreshold: 0.11 })).toMatchObject({
    version: 3,
  });
  expect(await dataFiles(name)).toEqual(before);
  expect(await namespace.table(id).optimize()).toMatchObject({
    version: 5,
    fragmentsRemoved: 1,
    fragmentsAdded: 1,
    filesRemoved: 2,
    filesAdded: 1,
  });
  expect(valuesOf(await rowsThere(name))).toEqual(count(11, 89));
  expect(await namespace.table(id).optimize()).toMatchObject({ version: 5, fragmentsRemoved: 0 });
});

it("makes fragments of the size asked for, whose rows come in the reference's order", async () => {
  const name = `c${tables++}`;
  const id = [name];
  await namespace.createTable({ id }, rowsOf(...count(0, 5)));
  for (const [from, length] of [
    [5, 4],
    [100, 12],
    [20, 9],
    [29, 13],
    [50, 3],
    [53, 4],
  ] as const) {
    await namespace.insertIntoTable({ id }, rowsOf(...count(from, length)));
  }
  expect(await namespace.optimizeTable({ id, targetRowsPerFragment: 10 })).toMatchObject({
    fragmentsRemoved: 4,
    fragmentsAdded: 2,
  });
  expect((await fragmentsOf(name)).map((fragment) => [fragment.id, fragment.physicalRows])).toEqual([
    [2, 12],
    [3, 9],
    [4, 13],
    [7, 9],
    [8, 7],
  ]);
  const order = [...count(100, 12), ...count(20, 22), ...count(0, 9), ...count(50, 7)];
  expect(valuesOf(await rowsHere(name))).toEqual(order);
  expect(valuesOf(await rowsThere(name))).toEqual(order);
  expect(await namespace.optimizeTable({ id, targetRowsPerFragment: 10 })).toMatchObject({
    fragmentsRemoved: 2,
    fragmentsAdded: 1,
  });
  const { compaction } = await reference.optimizeTable(root, name);
  expect(compaction).toMatchObject({ fragmentsRemoved: 4, fragmentsAdded: 1 });
  expect(valuesOf(await rowsHere(name))).toEqual(order);
});

/** Both engines keep rows whose columns come in another order. */
describe.each(FILE_VERSIONS)("columns of all types in %s", (version) => {
  it.each(["none", "some", "all"] as const)("flat, nulls: %s", async (nulls) => {
    const id = [`c${tables++}`];
    const parts = [11, 1, 40].map((rowCount, seed) => makeTable(allTypesSpec(rowCount, nulls, { seed })));
    await expectSameRows(version, id, parts);
  });

  it("nested", async () => {
    const names = NESTING_NAMES.filter((name) => version === "2.2" || !/map|sized/i.test(name));
    const specs = names.map((name) => NESTINGS[name](leaf("int32", "some"), "some", "short"));
    const parts = [9, 1, 25].map((rowCount, seed) =>
      makeNestedTable({
        columns: version === "2.0" ? specs.map(withValidStructs) : specs,
        rowCount,
        seed,
      }),
    );
    await expectSameRows(version, [`c${tables++}`], parts);
  });
});

async function expectSameRows(version: FileVersion, id: string[], parts: arrow.Table[]): Promise<void> {
  const ours = namespaces[version];
  await ours.createTable({ id }, parts[0]);
  for (const part of parts.slice(1)) await ours.insertIntoTable({ id }, part);
  const before = await ours.table(id).scan().toArrow();
  const seen = await rowsThere(id[0]).catch(() => null);
  expect(await ours.optimizeTable({ id })).toMatchObject({
    fragmentsRemoved: parts.length,
    fragmentsAdded: 1,
  });
  compareTables(before, await ours.table(id).scan().toArrow());
  if (seen !== null) compareTables(seen, await rowsThere(id[0]));
}

it("copies JSON as it is stored", async () => {
  const name = `c${tables++}`;
  const id = [name];
  const texts = ['{"b":1,"a":[true,null,1.50,-0]}', null, "12345678901234567890", '"\u00e9"', "[]"];
  const field = fieldOf("j", new arrow.Utf8(), true, { "ARROW:extension:name": "arrow.json" });
  const json = (part: (string | null)[]) => {
    const { data } = utf8s(part);
    return new arrow.Table(
      new arrow.Schema([field]),
      new arrow.RecordBatch(new arrow.Schema([field]), structOf([field], data)),
    );
  };
  await namespace.createTable({ id }, json(texts));
  await namespace.insertIntoTable({ id }, json(texts.slice(2)));
  const [before, seen] = [await rowsHere(name), await rowsThere(name)];
  expect(await namespace.optimizeTable({ id })).toMatchObject({ fragmentsAdded: 1 });
  compareTables(before, await rowsHere(name));
  compareTables(seen, await rowsThere(name));
});

it.each([
  ["text", new arrow.Utf8(), "arrow.json", ["{}", null, "no JSON"]],
  ["bytes", new arrow.LargeBinary(), "lance.json", [Uint8Array.of(1, 2), null, Uint8Array.of(3)]],
] as const)("copies %s that metadata calls JSON as what it is", async (_name, type, extension, values) => {
  const name = `c${tables++}`;
  const id = [name];
  const field = fieldOf("s", type);
  const part = () => {
    const schema = new arrow.Schema([field]);
    const { data } = arrow.vectorFromArray(values, type);
    return new arrow.Table(schema, new arrow.RecordBatch(schema, structOf([field], data)));
  };
  const setName = (value: string | null) =>
    reference.updateFieldMetadata(root, name, [{ path: "s", metadata: { "ARROW:extension:name": value } }]);
  await namespace.createTable({ id }, part());
  await namespace.insertIntoTable({ id }, part());
  const seen = await rowsThere(name);
  await setName(extension);
  const before = await rowsHere(name);
  expect(await namespace.optimizeTable({ id })).toMatchObject({ fragmentsRemoved: 2, fragmentsAdded: 1 });
  compareTables(before, await rowsHere(name));
  // The reference reads no column whose name differs from the stored one.
  await setName(null);
  compareTables(seen, await rowsThere(name));
});

it.each(["2.0", "2.1"] as const)("copies blobs in %s", async (version) => {
  const ours = namespaces[version];
  const id = [`c${tables++}`];
  const field = fieldOf("b", new arrow.LargeBinary(), true, { "lance-encoding:blob": "true" });
  const schema = new arrow.Schema([field, fieldOf("v", new arrow.Int32())]);
  const blobs = (values: number[]) => {
    const data = [
      ...largeBinaries(
        values.map((value) => (value % 4 === 3 ? null : new Uint8Array(value * 1000).fill(value))),
      ).data,
      ...int32s(values).data,
    ];
    return new arrow.Table(schema, new arrow.RecordBatch(schema, structOf(schema.fields, data)));
  };
  await ours.createTable({ id }, blobs([1, 2, 3, 40]));
  await ours.insertIntoTable({ id }, blobs([0, 5, 6]));
  await reference.deleteRows(root, id[0], "v = 2");
  const before = await ours.table(id).scan().toArrow();
  expect(await ours.optimizeTable({ id })).toMatchObject({ fragmentsRemoved: 2, fragmentsAdded: 1 });
  compareTables(before, await ours.table(id).scan().toArrow());
  const [blob] = await ours.table(id).takeBlobs("b", [2]);
  expect(blob?.size).toBe(40_000);
  expect(valuesOf(await rowsThere(id[0]))).toEqual([1, 3, 40, 0, 5, 6]);
});

/** Files of the reference in every layout and compression, twice, as if appended to themselves. */
describe("a golden table", () => {
  const names = readdirSync(GOLDEN)
    .filter((entry) => entry.endsWith(".lance"))
    .map((entry) => entry.slice(0, -".lance".length));

  it.each(names)("%s", async (name) => {
    await cp(join(GOLDEN, `${name}.lance`), directoryOf(name), { recursive: true });
    const id = [name];
    const { manifest } = await latestFile(directoryOf(name));
    const append = Append.create({
      fragments: manifest.fragments.map((fragment) => ({ ...fragment, id: 0, deletionFile: undefined })),
    });
    await commitPlannedOn(
      openEnvironment(),
      directoryOf(name),
      newTransaction(manifest.version, "append", append),
    );
    const before = await rowsHere(name).catch(() => null);
    const seen = await rowsThere(name).catch(() => null);
    const files = await directorySnapshot(directoryOf(name));
    const outcome = await namespace.optimizeTable({ id }).catch((error: unknown) => error);
    if (before === null || outcome instanceof Error) {
      expect(outcome).toBeInstanceOf(UnsupportedError);
      expect(name).toMatch(NOT_WRITTEN);
      expect(await directorySnapshot(directoryOf(name))).toEqual(files);
      return;
    }
    expect(outcome).toMatchObject({ fragmentsAdded: 1 });
    compareTables(before, await rowsHere(name));
    // The reference gives locations of blobs, which change.
    if (seen !== null && !/_blob(_side_files)?$/.test(name)) compareTables(seen, await rowsThere(name));
  });
});

/** Ids of the fragments that each index covers, by index name. */
async function coverageIn(name: string): Promise<Record<string, number[]>> {
  const indices = indicesOf(await latestFile(directoryOf(name)));
  return Object.fromEntries(indices.map((index) => [index.name, [...(coverageOf(index) ?? [])]]));
}

const people = (from: number, length: number) =>
  count(from, length).map((id) => ({
    id,
    kind: `kind ${id % 5}`,
    text: `word${id % 11} and word${id % 7}`,
    vector: [id % 10, id % 3, 1, 0.5],
    other: [id % 10, 0, 1, 0.5, 0, 0, 0, id % 7],
  }));

/** Answers of each index to questions that need it. */
async function answersOf(table: ReferenceTable) {
  const ids = async (query: { toArray(): Promise<{ id: number }[]> }) =>
    (await query.toArray()).map(({ id }) => Number(id)).sort((a, b) => a - b);
  return {
    btree: await ids(table.query().where("id > 100 AND id < 320")),
    bitmap: await ids(table.query().where("kind = 'kind 3'")),
    text: await ids(table.query().fullTextSearch("word10").limit(1000)),
    vector: await ids(table.query().nearestTo([3, 0, 1, 0.5]).distanceRange(0, 0.1).limit(1000)),
  };
}

describe("indexes of the reference", () => {
  async function makeIndexed(name: string, stable: boolean): Promise<void> {
    const connection = await connect(root, { readConsistencyInterval: 0 });
    const storageOptions = { new_table_enable_stable_row_ids: String(stable) };
    const table = await connection.createTable(
      name,
      makeArrowTable(people(0, 300), {
        vectorColumns: { vector: new VectorColumnOptions(), other: new VectorColumnOptions() },
      }),
      { storageOptions },
    );
    await table.add(people(300, 40));
    await table.createIndex("id", { config: Index.btree() });
    await table.createIndex("kind", { config: Index.bitmap() });
    await table.createIndex("text", { config: Index.fts() });
    await table.createIndex("vector", { config: Index.ivfFlat({ numPartitions: 2 }) });
    await table.createIndex("text", { config: Index.fm(), name: "other_idx" });
    for (const from of [400, 420, 440]) await table.add(people(from, 20));
    await table.delete("id % 9 = 4");
    connection.close();
  }

  it.each([false, true])("stay right, stable row ids: %s", async (stable) => {
    const name = `c${tables++}`;
    await makeIndexed(name, stable);
    const before = await withReference(name, answersOf);
    for (const answer of Object.values(before)) expect(answer.length).toBeGreaterThan(10);
    const response = await namespace.optimizeTable({ id: [name] });
    expect(response).toMatchObject({ fragmentsRemoved: 5, fragmentsAdded: 2, indexedFragmentsLeft: 0 });
    const all = (await fragmentsOf(name)).map((fragment) => fragment.id);
    expect(await coverageIn(name)).toEqual({
      id_idx: all,
      kind_idx: all,
      text_idx: all,
      vector_idx: all,
      other_idx: all,
    });
    expect(await withReference(name, answersOf)).toEqual(before);
    await withReference(name, async (table) => {
      expect(await table.query().where("id > 100 AND id < 320").explainPlan()).toContain("ScalarIndexQuery");
      await table.add(people(500, 30));
      await table.optimize();
      const { numIndexedRows, numUnindexedRows } = (await table.indexStats("id_idx"))!;
      expect([numIndexedRows, numUnindexedRows]).toEqual([await table.countRows(), 0]);
      const now = await answersOf(table);
      for (const [kind, ids] of Object.entries(before)) {
        expect(
          now[kind as keyof typeof now].filter((id) => id < 500),
          kind,
        ).toEqual(ids);
      }
    });
  });

  it.each([
    ["there is no telling which an index covers", "unknown", new Uint8Array(0)],
    ["indexes know fragments by the ids of older ones", "__lance_frag_reuse", undefined],
  ])("keep all fragments from being merged where %s", async (_, indexName, fragmentBitmap) => {
    const name = `c${tables++}`;
    await makeIndexed(name, true);
    const [index] = indicesOf(await latestFile(directoryOf(name)));
    const added = {
      ...index,
      name: indexName,
      fragmentBitmap: fragmentBitmap ?? index.fragmentBitmap,
      uuid: Uuid.create({ uuid: new Uint8Array(16) }),
    };
    const change = CreateIndex.create({ newIndices: [added] });
    await commitPlannedOn(openEnvironment(), directoryOf(name), newTransaction(1, "createIndex", change));
    expect(await namespace.optimizeTable({ id: [name] })).toMatchObject({
      fragmentsRemoved: 0,
      indexedFragmentsLeft: 5,
    });
  });
});

describe("columns in several files", () => {
  it.each(FILE_VERSIONS)("and columns without values become one file of %s", async (version) => {
    const ours = namespaces[version];
    const name = `c${tables++}`;
    const id = [name];
    await ours.createTable({ id }, rowsOf(...count(0, 20)));
    await reference.addColumns(root, name, { twice: "v * 2" });
    await ours.insertIntoTable({ id }, (await rowsHere(name)).slice(3, 9));
    await ours.alterTableAddColumns({ id, newColumns: [{ name: "text", expression: "'x'" }] });
    await ours.insertIntoTable({ id }, (await rowsHere(name)).slice(1, 3));
    await reference.addNullColumns(
      root,
      name,
      arrow.tableToIPC(new arrow.Table({ none: int32s([] as number[]) })),
    );
    await ours.alterTableDropColumns({ id, columns: ["s"] });
    await reference.deleteRows(root, name, "v = 5");
    const [before, seen] = [await rowsHere(name), await rowsThere(name)];
    expect(before.schema.fields.map((field) => field.name)).toEqual(["v", "twice", "text", "none"]);
    expect(await ours.optimizeTable({ id })).toMatchObject({
      fragmentsRemoved: 3,
      fragmentsAdded: 1,
      filesAdded: 1,
    });
    compareTables(before, await rowsHere(name));
    compareTables(seen, await rowsThere(name));
    compareTables(seen, before, { metadata: false });
    await reference.addColumns(root, name, { again: "v + 1" });
    expect(valuesOf(await rowsHere(name))).toEqual(valuesOf(before));
  });
});

describe("a branch", () => {
  it.each(["us", "them"] as const)("made by %s is compacted, and its source stays", async (maker) => {
    const name = `c${tables++}`;
    const id = [name];
    await namespace.createTable({ id }, rowsOf(1, 2));
    await namespace.insertIntoTable({ id }, rowsOf(3));
    if (maker === "us") await namespace.createTableBranch({ id, name: "dev" });
    else await reference.createBranch(root, name, "dev");
    await namespace.insertIntoTable({ id, branch: "dev" }, rowsOf(4));
    await reference.deleteRows(root, name, "v = 2", { branch: "dev" });
    const before = await directorySnapshot(join(directoryOf(name), "data"));
    const branch = namespace.table(id, { branch: "dev" });
    expect(await branch.optimize()).toMatchObject({ version: 6, fragmentsRemoved: 3, fragmentsAdded: 1 });
    for (const [version, expected] of [
      [6, [1, 3, 4]],
      [4, [1, 3, 4]],
      [3, [1, 2, 3, 4]],
    ] as const) {
      expect(valuesOf(await rowsHere(name, { branch: "dev", version }))).toEqual(expected);
      expect(valuesOf(await rowsThere(name, { branch: "dev", version }))).toEqual(expected);
    }
    expect(await directorySnapshot(join(directoryOf(name), "data"))).toEqual(before);
    expect(valuesOf(await rowsThere(name))).toEqual([1, 2, 3]);
    await reference.appendTable(root, name, ipcOf(9), { branch: "dev" });
    await reference.optimizeTable(root, name, { branch: "dev" });
    expect(valuesOf(await rowsHere(name, { branch: "dev" }))).toEqual([1, 3, 4, 9]);
    await namespace.cleanupTable({ id, branch: "dev", olderThanMs: 0 });
    expect(valuesOf(await rowsThere(name, { branch: "dev" }))).toEqual([1, 3, 4, 9]);
  });
});

it("arbitrary histories have the rows they had without compaction", async () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant("append" as const), count: fc.integer({ min: 1, max: 9 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom("delete" as const, "update" as const),
        of: fc.integer({ min: 2, max: 9 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("theirs" as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("ours" as const),
        targetRowsPerFragment: fc.constantFrom(1, 5, 20, undefined),
        materializeDeletionsThreshold: fc.constantFrom(0, 0.1, 0.5),
      }),
    },
  );
  const histories = fc.record({
    version: fc.constantFrom(...FILE_VERSIONS),
    stable: fc.boolean(),
    steps: fc.array(step, { minLength: 3, maxLength: 12 }),
  });
  await fc.assert(
    fc.asyncProperty(histories, async ({ version, stable, steps }) => {
      const name = `c${tables++}`;
      const id = [name];
      let rows = [0, 1, 2];
      let next = 3;
      await reference.createTable(root, name, ipcOf(...rows), {
        dataStorageVersion: version,
        stableRowIds: stable,
      });
      for (const each of steps) {
        if (each.kind === "append") {
          const added = count(next, each.count);
          next += each.count;
          rows.push(...added);
          await namespace.insertIntoTable({ id }, rowsOf(...added));
        } else if (each.kind === "delete") {
          rows = rows.filter((value) => value % 10 !== each.of);
          await reference.deleteRows(root, name, `v % 10 = ${each.of}`);
        } else if (each.kind === "update") {
          await reference.updateRows(root, name, { s: "'updated'" }, `v % 10 = ${each.of}`);
        } else if (each.kind === "theirs") {
          await reference.optimizeTable(root, name);
        } else {
          const before = await rowIdsOf(name);
          const { kind, ...settings } = each;
          const { fragmentsAdded, version: latest } = await namespace.optimizeTable({ id, ...settings });
          expect(latest).toBe(await reference.tableVersion(root, name));
          // Addresses change with the fragments, stable ids do not.
          if (stable || fragmentsAdded === 0) expect(await rowIdsOf(name)).toEqual(before);
          const fragments = await fragmentsOf(name);
          expect(fragments.map((fragment) => fragment.id)).toEqual(
            fragments.map((fragment) => fragment.id).sort((a, b) => a - b),
          );
        }
        const seen = valuesOf(await rowsThere(name));
        expect(valuesOf(await rowsHere(name))).toEqual(seen);
        expect([...seen].sort((a, b) => a - b)).toEqual(rows);
      }
    }),
    { numRuns: runsOf("INTEROP_RUNS", 8) },
  );
});

/** The reference's row ids by value. */
async function rowIdsOf(name: string): Promise<Map<number, bigint>> {
  const rows = await rowsThere(name, { withRowId: true });
  const ids = rows.getChild("_rowid")!.toArray() as BigUint64Array;
  return new Map(valuesOf(rows).map((value, row) => [value, ids[row]]));
}
