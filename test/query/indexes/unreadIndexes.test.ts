/** A table stays usable with an index that this release cannot read: listed, kept, replaceable, reported. */

import { readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FixedSizeList, Float32, Table, vectorFromArray } from "apache-arrow";
import { CorruptFileError, type DirectoryNamespace, type NamespaceWarning, type TableHandle } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { IndexMetadata } from "../../../src/format/table.js";
import { fieldOf, int32s, utf8s } from "../../support/arrowColumns.js";
import { changeIndexes } from "../../support/changeIndexes.js";
import { copyTree } from "../../support/copyTree.js";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";
import { buildIndex, withReference } from "../../support/indexedTable.js";
import { RestNamespace } from "../../support/restNamespace.js";

const ROWS = 300;
const WORDS = ["apple", "banana", "cherry", "damson", "elder"];
const COLUMNS = ["id", "vector", "text"] as const;
type Column = (typeof COLUMNS)[number];
const KINDS = { id: "BTREE", vector: "IVF_FLAT", text: "FTS" } as const;

const vectorOf = (id: number): number[] => [Math.sin(id), Math.cos(id * 3), Math.sin(id * 7), id / 100];
const textOf = (id: number): string => `${WORDS[id % 5]} the ${WORDS[(id * 3 + 1) % 5]} w${id % 40}`;

function rowsFrom(first: number, count: number): Table {
  const ids = Array.from({ length: count }, (_, row) => first + row);
  return new Table({
    id: int32s(ids),
    w: int32s(ids),
    vector: vectorFromArray(ids.map(vectorOf), new FixedSizeList(4, fieldOf("item", new Float32()))),
    text: utf8s(ids.map(textOf)),
  });
}

let overHttp: DirectoryNamespace;
const warnings: NamespaceWarning[] = [];
const root = sharedDirectory();
const namespace = sharedNamespace({
  root,
  onWarning(warning) {
    warnings.push(warning);
    throw new Error("a host's function may fail");
  },
});
beforeAll(() => {
  overHttp = new RestNamespace({ root, durability: "none" }) as unknown as DirectoryNamespace;
});
afterAll(() => overHttp.close());

type Entry = (entry: IndexMetadata) => IndexMetadata;
const details = (entry: IndexMetadata, typeUrl: string): IndexMetadata => ({
  ...entry,
  indexDetails: { ...(entry.indexDetails as NonNullable<IndexMetadata["indexDetails"]>), typeUrl },
});
const edited =
  (change: Entry) =>
  (table: string): Promise<void> =>
    changeIndexes(table, (entries) => entries.map(change));
const unsized = edited((entry) => ({ ...entry, files: [] }));

/** Replaces a table's index files by files of another format, of which only the footer matters. */
const reformatted =
  (writeVersion: (footer: Buffer) => void) =>
  async (table: string): Promise<void> => {
    await unsized(table);
    const footer = Buffer.alloc(40);
    writeVersion(footer);
    footer.write("LANC", 36);
    await eachIndexFile(table, (path) => writeFile(path, footer));
  };

/** Replaces bytes of the page encodings in index files, and removes their checksums. */
const reencoded =
  (change: (bytes: Buffer, layout: number) => void) =>
  async (table: string): Promise<void> => {
    let changed = 0;
    await eachIndexFile(table, async (path) => {
      const bytes = await readFile(path);
      for (let index = bytes.indexOf(LAYOUT); index >= 0; index = bytes.indexOf(LAYOUT, index + 1)) {
        change(bytes, index);
        changed++;
      }
      // Turns the tags of fields 1000 and 1001 into unknown ones.
      for (const tag of [0xc2, 0xca]) {
        const slot = bytes.lastIndexOf(Buffer.from([tag, 0x3e]));
        if (slot >= 0) bytes[slot + 1] = 0x3f;
      }
      await writeFile(path, bytes);
    });
    expect(changed).toBeGreaterThan(0);
  };
const LAYOUT = "/lance.encodings21.PageLayout";

async function eachIndexFile(table: string, change: (path: string) => Promise<void>): Promise<void> {
  for (const directory of await readdir(join(table, "_indices"))) {
    for (const name of await readdir(join(table, "_indices", directory))) {
      await change(join(table, "_indices", directory, name));
    }
  }
}

/** Makes a table's only index unreadable in the given way, and returns the reported type and reason. */
const UNREADABLE: Readonly<
  Record<string, { spoil(table: string): Promise<void>; type?: string; reason: RegExp }>
> = {
  "an unknown type": {
    spoil: edited((entry) => details(entry, "/lance.future.QuantumIndexDetails")),
    type: "UNKNOWN",
    reason: /does not read indexes of type "\/lance\.future\.QuantumIndexDetails"/,
  },
  "a type named like a member of every object": {
    spoil: edited((entry) => details(entry, "/lance.future.constructor")),
    type: "UNKNOWN",
    reason: /does not read indexes of type "\/lance\.future\.constructor"/,
  },
  "no type": {
    spoil: edited((entry) => ({ ...entry, indexDetails: undefined })),
    type: "UNKNOWN",
    reason: /does not say its type/,
  },
  "a newer format": { spoil: edited((entry) => ({ ...entry, indexVersion: 99 })), reason: /version 99/ },
  "unknown members": {
    spoil: edited((entry) => ({ ...entry, unknown: new Uint8Array([0xf8, 0x07, 1]) })),
    reason: /members that this release does not know/,
  },
  "values of other columns": {
    spoil: edited((entry) => ({ ...entry, coveringFields: [1] })),
    reason: /values of other columns/,
  },
  "no coverage": {
    spoil: edited((entry) => ({ ...entry, fragmentBitmap: new Uint8Array(0) })),
    reason: /which fragments it covers/,
  },
  "no directory": {
    spoil: (table) => rm(join(table, "_indices"), { recursive: true }),
    reason: /is missing/,
  },
  "files that are missing and not recorded": {
    async spoil(table) {
      await unsized(table);
      await eachIndexFile(table, (path) => rm(path));
    },
    reason: /is missing/,
  },
  "empty files": {
    spoil: (table) => eachIndexFile(table, (path) => truncate(path, 0)),
    reason: /is empty/,
  },
  "files of the legacy format": {
    spoil: reformatted((footer) => footer.writeUInt16LE(2, 34)),
    reason: /data format version 0\.1/,
  },
  "pages in an unknown encoding": {
    spoil: reencoded((bytes, index) => {
      const length = index + LAYOUT.length + 1;
      const layout = length + (bytes[length] < 0x80 ? 1 : 2);
      expect([0x0a, 0x12, 0x1a]).toContain(bytes[layout]);
      // Turns the only member of the layout into an unknown one.
      bytes[layout] = 0x7a;
    }),
    reason: /pages in an encoding that this release does not read/,
  },
  "pages of an unknown type of encoding": {
    spoil: reencoded((bytes, index) => bytes.write("99", index + LAYOUT.indexOf("21"))),
    reason: /has an encoding of type "\/lance\.encodings99\.PageLayout"/,
  },
  "files of a later format": {
    spoil: reformatted((footer) => footer.writeUInt16LE(9, 32)),
    reason: /data format version 9\.0/,
  },
};

const idsOf = (rows: readonly object[]): number[] => rows.map((row) => Number((row as { id: number }).id));
const sorted = (ids: readonly number[]): number[] => [...ids].sort((one, second) => one - second);

const QUESTIONS: Readonly<Record<Column, object>> = {
  id: { filter: "id >= 20 AND id < 40" },
  vector: { vector: vectorOf(77), vectorColumn: "vector", limit: 7 },
  text: { fullTextQuery: { stringQuery: { query: "w3 w17", columns: ["text"] } }, limit: 1000 },
};

async function answer(on: DirectoryNamespace, name: string, column: Column): Promise<number[]> {
  const result = await on.queryTable({ id: [name], columns: ["id"], ...QUESTIONS[column] });
  return sorted(idsOf(await result.toArray()));
}

const directoryOf = (name: string): string => join(root, `${name}.lance`);
const templateOf = (column: Column): string => `indexed_${column}`;

/** Makes a table of two fragments without an index, and one with the same rows and an index per column. */
beforeAll(async () => {
  await namespace.createTable({ id: ["plain"] }, rowsFrom(0, ROWS));
  await namespace.insertIntoTable({ id: ["plain"] }, rowsFrom(ROWS, 50));
  for (const column of COLUMNS) {
    const name = templateOf(column);
    await copyTree(directoryOf("plain"), directoryOf(name));
    await buildIndex(namespace, { id: [name], column, indexType: KINDS[column], name: `${column}_idx` });
  }
});

let tables = 0;
/** Copies two tables with the same rows, and makes the index of the first unreadable. */
async function spoiledTable(
  column: Column,
  spoil: (table: string) => Promise<void>,
): Promise<{ name: string; plain: string; table: TableHandle; twin: TableHandle }> {
  const name = `t${tables++}`;
  const plain = `${name}_plain`;
  await copyTree(directoryOf(templateOf(column)), directoryOf(name));
  await copyTree(directoryOf("plain"), directoryOf(plain));
  await spoil(directoryOf(name));
  return { name, plain, table: namespace.table([name]), twin: namespace.table([plain]) };
}

const CASES = COLUMNS.flatMap((column) => Object.keys(UNREADABLE).map((what) => [column, what] as const));

describe.each(CASES)("an index on %s with %s", (column, what) => {
  const { spoil, type = column === "vector" ? null : KINDS[column], reason } = UNREADABLE[what];

  it("is listed, explained, reported once and kept, while rows are read and changed", async () => {
    const { name, plain, table, twin } = await spoiledTable(column, spoil);
    const id = [name];
    const before = await table.indexes();
    expect(before).toMatchObject([{ indexName: `${column}_idx`, indexType: type ?? expect.any(String) }]);
    const stats = await namespace.describeTableIndexStats({ id, indexName: `${column}_idx` });
    expect(Number(stats.numIndexedRows) + Number(stats.numUnindexedRows)).toBe(ROWS + 50);

    warnings.length = 0;
    const expected = await answer(namespace, plain, column);
    for (let round = 0; round < 2; round++) expect(await answer(namespace, name, column)).toEqual(expected);
    expect(await answer(overHttp, name, column)).toEqual(expected);
    expect(await overHttp.listTableIndices({ id })).toEqual(await namespace.listTableIndices({ id }));
    const warned = warnings.filter(({ indexName }) => indexName === `${column}_idx`);
    expect(warned).toMatchObject([{ kind: "indexNotRead", location: directoryOf(name) }]);
    expect(warned[0].message).toMatch(reason);
    for (const on of [namespace, overHttp]) {
      const plan = await on.explainTableQueryPlan({ id, query: QUESTIONS[column], verbose: true });
      expect(plan).toMatch(new RegExp(`indexesNotRead=\\[${column}_idx: .*${reason.source}`));
      expect(plan).not.toContain(root);
      expect(plan).not.toContain("IndexSearch");
      expect(await on.analyzeTableQueryPlan({ id, ...QUESTIONS[column] })).toMatch(/indexesNotRead=/);
    }

    for (const [each, on] of [
      [name, table],
      [plain, twin],
    ] as const) {
      const filter = column === "text" ? "text LIKE 'apple%'" : "id % 7 = 3 AND id < 100";
      await on.update({ where: filter, values: { w: -1 } });
      await on.delete("id = 5 OR id = 310");
      if (column === "text") await on.update({ where: "id = 9", values: { text: "w3" } });
      await namespace.mergeInsertIntoTable(
        { id: [each], on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
        rowsFrom(ROWS + 40, 30),
      );
      await on.insert(rowsFrom(1000, 20));
    }
    const filters = ["id >= 20 AND id < 60", "w = -1", "text LIKE 'apple%'", "vector IS NOT NULL"];
    const check = async (): Promise<void> => {
      for (const filter of filters) expect(await table.countRows(filter)).toBe(await twin.countRows(filter));
      expect(await answer(namespace, name, column)).toEqual(await answer(namespace, plain, column));
    };
    await check();
    await table.optimize();
    await check();
    const after = await table.indexes();
    expect(after.map(({ indexName, indexUuid }) => [indexName, indexUuid])).toEqual(
      before.map(({ indexName, indexUuid }) => [indexName, indexUuid]),
    );

    const { jobId } = await table.createIndex(column, { indexType: KINDS[column], replace: true });
    await table.waitForJob(jobId);
    expect((await table.indexes()).map(({ indexName, indexType }) => [indexName, indexType])).toEqual([
      [`${column}_idx`, KINDS[column]],
    ]);
    await check();
    expect(await namespace.explainTableQueryPlan({ id, query: QUESTIONS[column] })).not.toContain("NotRead");
    await withReference(root, name, async (reference) => {
      expect(await reference.countRows()).toBe(await table.countRows());
    });
  });
});

it.each(
  (["vector", "text"] as const).flatMap((column) =>
    ["an unknown type", "a newer format", "no directory", "no coverage"].map(
      (what) => [column, what] as const,
    ),
  ),
)("a fast search beside an index on %s with %s finds the rows that the index covers", async (column, what) => {
  const { name, plain, table, twin } = await spoiledTable(column, UNREADABLE[what].spoil);
  // An index without coverage may cover any row.
  const more = [table, ...(what === "no coverage" ? [twin] : [])];
  for (const each of more) await each.insert(rowsFrom(ROWS + 50, 60));
  const query = { columns: ["id"], ...QUESTIONS[column], limit: 1000 };
  const ask = async (id: string, request: object) =>
    idsOf(await (await namespace.queryTable({ id: [id], ...query, ...request })).toArray());
  const covered = await ask(name, { fastSearch: true });
  expect(covered).toEqual(await ask(plain, {}));
  const all = await ask(name, {});
  expect(all.length - covered.length)[what === "no coverage" ? "toBe" : "toBeGreaterThan"](0);
  const plan = await namespace.explainTableQueryPlan({ id: [name], query: { ...query, fastSearch: true } });
  expect(plan).toContain("indexesNotRead");
  const fragments = what === "no coverage" ? 3 : 2;
  expect(plan).toMatch(new RegExp(`Scan: columns=\\[${column}\\], fragments=${fragments}, `));
});

it.each(COLUMNS)("an index on %s of an unknown type can be dropped", async (column) => {
  const { table } = await spoiledTable(column, UNREADABLE["an unknown type"].spoil);
  await table.dropIndex(`${column}_idx`);
  expect(await table.indexes()).toEqual([]);
});

it.each(
  COLUMNS,
)("an index on %s of a later version covers no rows that moved, although their ids are stable", async (column) => {
  // Lance 14 has such B-trees, and reads row locations from them.
  const name = `later_${column}`;
  const id = [name];
  await namespace.createTable({ id, stableRowIds: true }, rowsFrom(0, ROWS));
  await namespace.insertIntoTable({ id }, rowsFrom(ROWS, 50));
  await buildIndex(namespace, { id, column, indexType: KINDS[column], name: `${column}_idx` });
  await edited((entry) => ({ ...entry, indexVersion: 9 }))(directoryOf(name));
  await namespace.table(id).delete("id % 3 = 0");
  await namespace.table(id).optimize();
  const indices = await namespace.describeTableIndexStats({ id, indexName: `${column}_idx` });
  expect(indices).toMatchObject({
    numIndexedRows: 0,
    numUnindexedRows: await namespace.table(id).countRows(),
  });
});

it.each(
  COLUMNS,
)("a new index on %s gets another name if one of an unknown type exists and is not replaced", async (column) => {
  const { table } = await spoiledTable(column, UNREADABLE["an unknown type"].spoil);
  const { jobId } = await table.createIndex(column, { indexType: KINDS[column] });
  await table.waitForJob(jobId);
  expect((await table.indexes()).map(({ indexName, indexType }) => [indexName, indexType])).toEqual([
    [`${column}_idx`, "UNKNOWN"],
    [`${column}_idx_2`, KINDS[column]],
  ]);
});

it.each(
  COLUMNS,
)("queries that use a damaged index on %s fail, and the index can be replaced", async (column) => {
  const { name, plain, table } = await spoiledTable(column, async (directory) => {
    await unsized(directory);
    await eachIndexFile(directory, (path) =>
      writeFile(path, "no file of an index at all, but rather long a text"),
    );
  });
  await expect(answer(namespace, name, column)).rejects.toThrow(CorruptFileError);
  expect((await table.indexes()).map(({ indexName }) => indexName)).toEqual([`${column}_idx`]);
  const { jobId } = await table.createIndex(column, { indexType: KINDS[column], replace: true });
  await table.waitForJob(jobId);
  expect(await answer(namespace, name, column)).toEqual(await answer(namespace, plain, column));
});
