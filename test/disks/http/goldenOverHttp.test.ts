/** Tables of the reference, in all encodings and with all kinds of indexes, over HTTP and from the disk. */

import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Field, FixedSizeList, Float32, Table, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { httpDisk, publishIndex } from "tiltyard/disks";
import { connect, Index } from "tiltyard-reference/session.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { int32s, listOf, utf8s } from "../../support/arrowColumns.js";
import { exactColumns } from "../../support/exactJson.js";
import { type FileHost, startFileHost } from "../../support/fileHost.js";
import { sharedDirectory } from "../../support/fixtures.js";
import { randomNumbers, randomVector } from "../../support/vectorTables.js";

const GOLDEN = fileURLToPath(new URL("../../golden", import.meta.url));

const tablesIn = (directory: string): string[] =>
  readdirSync(directory)
    .filter((entry) => entry.endsWith(".lance"))
    .map((entry) => entry.slice(0, -".lance".length));

/** Namespaces on the same tables: on the disk, on a host with an index, and on one without. */
interface Readers {
  readonly local: DirectoryNamespace;
  readonly published: DirectoryNamespace;
  readonly plain: DirectoryNamespace;
}

function readersOf(root: string, prepare: () => Promise<void> | void): Readers {
  const readers = {} as { -readonly [Name in keyof Readers]: Readers[Name] };
  const hosts: FileHost[] = [];
  beforeAll(async () => {
    await prepare();
    const plainHost = await startFileHost(root);
    // An index that is hidden is none.
    plainHost.misbehave = (_request, response, path) => {
      if (path !== "tiltyard-index.json") return false;
      response.writeHead(404).end();
      return true;
    };
    const host = await startFileHost(root);
    hosts.push(plainHost, host);
    readers.local = new DirectoryNamespace({ root, durability: "none" });
    await publishIndex(readers.local);
    readers.published = new DirectoryNamespace({ root: "/", disk: httpDisk(host.url) });
    readers.plain = new DirectoryNamespace({ root: "/", disk: httpDisk(plainHost.url) });
  });
  afterAll(async () => {
    for (const ns of Object.values(readers)) await ns.close();
    for (const host of hosts) await host[Symbol.asyncDispose]();
  });
  return readers;
}

async function expectEqual(
  { local, published, plain }: Readers,
  read: (ns: DirectoryNamespace) => Promise<unknown>,
): Promise<void> {
  const expected = await read(local);
  expect(await read(published)).toEqual(expected);
  expect(await read(plain)).toEqual(expected);
}

describe("encodings", () => {
  const root = sharedDirectory();
  const readers = readersOf(root, () => cpSync(GOLDEN, root, { recursive: true }));

  it.each(tablesIn(GOLDEN))("%s has the same rows over HTTP", async (name) => {
    await expectEqual(readers, async (ns) => {
      const table = ns.table([name]);
      const rows = await table.countRows();
      return [
        exactColumns(await table.scan().toArrow()),
        exactColumns(
          await table.scan({ offset: Math.floor(rows / 3), limit: Math.ceil(rows / 2) }).toArrow(),
        ),
        exactColumns(await table.take([rows - 1, 0, Math.floor(rows / 2)])),
      ];
    });
  });

  it("the namespaces list the same tables", async () => {
    const list = async (ns: DirectoryNamespace) => [...(await ns.listTables()).tables].sort();
    expect(await list(readers.published)).toEqual(await list(readers.local));
    await expect(readers.plain.listTables()).rejects.toThrow("publishIndex");
  });
});

describe.each(["legacy", "oldIndexes", "oldVectorIndexes"])("old releases: %s", (directory) => {
  const root = sharedDirectory();
  const readers = readersOf(root, () => cpSync(join(GOLDEN, directory), root, { recursive: true }));

  it.each(tablesIn(join(GOLDEN, directory)))("%s answers the same over HTTP", async (name) => {
    await expectEqual(readers, async (ns) => {
      const table = ns.table([name]);
      const fields = (await table.describe()).schema?.fields ?? [];
      const answers: unknown[] = [exactColumns(await table.scan({ limit: 500 }).toArrow())];
      for (const field of fields) {
        if (/^(vec|vector)/.test(field.name)) {
          const [{ [field.name]: vector }] = (await table.scan({ limit: 1 }).toArray()) as never[];
          answers.push(await table.search({ vector: [...(vector as Iterable<number>)], limit: 5 }).toArray());
        } else if (name.includes("fts")) {
          answers.push(await table.search({ text: "a", limit: 5 }).toArray().catch(String));
        }
      }
      answers.push(await table.scan({ filter: "id = 7" }).toArray().catch(String));
      return answers;
    });
  });
});

describe("indexes of the reference", () => {
  const root = sharedDirectory();
  const ROWS = 6000;
  const WORDS = ["ash", "elm", "oak", "yew", "fir", "larch", "beech", "birch", "hazel", "lime"];
  const readers = readersOf(root, async () => {
    const all = Array.from({ length: ROWS }, (_, id) => id);
    const texts = all.map((id) =>
      Array.from({ length: 5 + (id % 5) }, (_, word) => WORDS[(id * (word + 3) + word) % 10]).join(" "),
    );
    const next = randomNumbers(7);
    const vectors = ["byFlat", "byPq", "bySq", "byRq", "hnswPq", "hnswSq"].map((name) => [
      name,
      vectorFromArray(
        all.map(() => randomVector("float32", 16, next)),
        new FixedSizeList(16, new Field("item", new Float32(), true)),
      ),
    ]);
    const rows = new Table({
      id: int32s(all),
      group: utf8s(all.map((id) => `g${id % 7}`)),
      tags: vectorFromArray(
        all.map((id) => [WORDS[id % 10], WORDS[(id >> 3) % 10]]),
        listOf(new Utf8()),
      ),
      text: utf8s(texts),
      ...Object.fromEntries(vectors),
    });
    await using ours = new DirectoryNamespace({ root, durability: "none", jobs: "wait" });
    await ours.createTable({ id: ["t"] }, rows);
    const connection = await connect(root);
    const table = await connection.openTable("t");
    await table.createIndex("id", { config: Index.btree() });
    await table.createIndex("group", { config: Index.bitmap() });
    await table.createIndex("tags", { config: Index.labelList() });
    await table.createIndex("text", { config: Index.fts({ withPosition: true }) });
    const numPartitions = 4;
    await table.createIndex("byFlat", { config: Index.ivfFlat({ numPartitions }) });
    await table.createIndex("byPq", { config: Index.ivfPq({ numPartitions, numSubVectors: 4 }) });
    await table.createIndex("bySq", { config: Index.hnswSq({ numPartitions: 1 }) });
    await table.createIndex("byRq", { config: Index.ivfRq({ numPartitions }) });
    await table.createIndex("hnswPq", { config: Index.hnswPq({ numPartitions: 2, numSubVectors: 4 }) });
    await table.createIndex("hnswSq", { config: Index.hnswSq({ numPartitions: 2 }) });
    connection.close();
    const more = [
      { column: "text", name: "trigrams", indexType: "NGRAM" },
      { column: "group", name: "zones", indexType: "ZONEMAP" },
      { column: "id", name: "bloom", indexType: "BLOOMFILTER" },
    ] as const;
    for (const request of more) await ours.createTableIndex({ id: ["t"], ...request } as never);
  });

  it.each([
    "id = 4711",
    "id BETWEEN 100 AND 140",
    "`group` = 'g3' AND id < 200",
    "array_has(tags, 'yew') AND id < 90",
    "contains(text, 'lar') AND id > 5900",
  ])("the filter %s selects the same rows", (filter) =>
    expectEqual(readers, async (ns) =>
      exactColumns(
        await ns
          .table("t")
          .scan({ filter, columns: ["id", "group", "tags", "text"] })
          .toArrow(),
      ),
    ));

  it.each([
    "byFlat",
    "byPq",
    "bySq",
    "byRq",
    "hnswPq",
    "hnswSq",
  ])("searches of %s find the same rows", (column) =>
    expectEqual(readers, (ns) => {
      const vector = Array.from({ length: 16 }, (_, index) => Math.sin(123.4 + index * 2));
      return ns
        .table("t")
        .search({ vector, vectorColumn: column, limit: 10, columns: ["id"] })
        .toArray();
    }));

  it.each(["larch", "ash elm", '"oak yew"'])("searches of words find the same rows: %s", (text) =>
    expectEqual(readers, (ns) =>
      ns
        .table("t")
        .search({ text, limit: 10, columns: ["id"] })
        .toArray(),
    ));
});
