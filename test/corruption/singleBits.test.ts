/** Flips single bits in every kind of file that we write: each read gives its old answer or a typed error. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  LargeBinary,
  List,
  Schema,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { CorruptFileError, DirectoryNamespace, InternalError, NamespaceError } from "tiltyard";
import { crc32 } from "../../src/bytes/crc32.js";
import { runsOf, seedOf } from "../support/effort.js";
import { beforeAll, describe, expect, it, sharedDirectory } from "../support/fixtures.js";
import { Random } from "../support/generators.js";
import { buildIndex } from "../support/indexedTable.js";

const FLIPS = runsOf("FLIPS", 800);
const DIMENSIONS = 24;

/** A read that has one right answer, as text. */
type Read = (namespace: DirectoryNamespace) => Promise<string>;

interface Subject {
  /** Prefix of the paths of its files, below the root. */
  readonly directory: string;
  readonly reads: Readonly<Record<string, Read>>;
}

/** Kinds of files by their paths; the first that fits counts. */
const KINDS: readonly (readonly [string, RegExp])[] = [
  ["lock", /\.tiltyard\.lock/],
  ["job", /^\.tiltyard-jobs\//],
  ["catalog data", /^__manifest\/data\//],
  ["catalog manifest", /^__manifest\/_versions\/.*\.manifest$/],
  ["catalog, other", /^__manifest\//],
  ["hint", /latest_version_hint\.json$/],
  ["manifest V1", /_versions\/\d{1,10}\.manifest$/],
  ["manifest V2", /_versions\/\d{20}\.manifest$/],
  ["transaction", /_transactions\//],
  ["deletion .bin", /_deletions\/.*\.bin$/],
  ["tag", /_refs\/tags\//],
  ["branch", /_refs\/branches\//],
  ["blob side file", /\.blob$/],
  ["data 2.0", /^r20\.lance\/(tree\/.*\/)?data\//],
  ["data 2.1", /^r21\.lance\/(tree\/.*\/)?data\//],
  ["data of blobs", /^blobs\.lance\/data\//],
  ["data 2.2", /\/data\//],
  ["side file", /_tiltyard\//],
  ...["btree", "bitmap", "labels", "zones", "bloom", "ngram", "fts", "flat", "sq", "pq", "hnsw"].map(
    (kind) => [`index ${kind}`, new RegExp(`^i_${kind}\\.lance/_indices/`)] as const,
  ),
];

const root = sharedDirectory();
const subjects: Subject[] = [];
const digest = (table: Table): string => `${table.numRows} rows, ${crc32(tableToIPC(table, "stream"))}`;

function rowsOf(count: number, seed: number): Table {
  const random = new Random(seed);
  const vector = new FixedSizeList(DIMENSIONS, new Field("item", new Float32(), true));
  const ids = Array.from({ length: count }, (_, row) => row);
  const words = ["river", "stone", "cloud", "ember", "willow", "harbour", "lantern", "meadow"];
  const texts = ids.map((row) =>
    row % 97 === 5
      ? null
      : `${words[random.below(8)]} ${words[random.below(8)]} ${words[random.below(8)]} number ${row}`,
  );
  return new Table(
    new Schema([
      new Field("id", new Int32(), true),
      new Field("n", new Float64(), true),
      new Field("group", new Utf8(), true),
      new Field("text", new Utf8(), true),
      new Field("labels", new List(new Field("item", new Int32(), true)), true),
      new Field("v", vector, true),
    ]),
    {
      id: vectorFromArray(ids, new Int32()),
      n: vectorFromArray(
        ids.map((row) => (row % 31 === 3 ? null : random.below(1_000_000) / 7)),
        new Float64(),
      ),
      group: vectorFromArray(
        ids.map((row) => `g${row % 13}`),
        new Utf8(),
      ),
      text: vectorFromArray(texts, new Utf8()),
      labels: vectorFromArray(
        ids.map((row) => [row % 5, row % 7]),
        new List(new Field("item", new Int32(), true)),
      ),
      v: vectorFromArray(
        ids.map(() => Float32Array.from({ length: DIMENSIONS }, () => random.below(1000) / 1000)),
        vector,
      ),
    },
  );
}

const scan =
  (name: string, options: Parameters<ReturnType<DirectoryNamespace["table"]>["scan"]>[0] = {}): Read =>
  async (namespace) =>
    digest(await namespace.table([name]).scan(options).toArrow());

const search =
  (name: string, options: Parameters<ReturnType<DirectoryNamespace["table"]>["search"]>[0]): Read =>
  async (namespace) =>
    digest(await namespace.table([name]).search(options).toArrow());

beforeAll(async () => {
  const open = (options: object = {}) =>
    new DirectoryNamespace({ root, durability: "none", workers: 0, ...options });
  const rows = rowsOf(6000, 1);
  const few = [5, 17, 2000, 2001, 4777, 5960];

  for (const [name, dataStorageVersion] of [
    ["r20", "2.0"],
    ["r21", "2.1"],
    ["r22", "2.2"],
  ] as const) {
    const namespace = open({ dataStorageVersion, manifestNaming: name === "r20" ? "V1" : "V2" });
    const table = namespace.table([name]);
    await namespace.createTable({ id: [name], stableRowIds: name === "r22" }, rows);
    await table.delete("id IN (3, 77, 500, 5961)");
    await table.update({ valuesSql: { n: "n + 1" }, where: "id < 40" });
    await namespace.createTableTag({ id: [name], tag: "first", version: 1 });
    await namespace.createTableBranch({ id: [name], name: "side", fromVersion: 2 });
    await namespace.table([name], { branch: "side" }).delete("id > 5990");
    await namespace.close();
    subjects.push({
      directory: `${name}.lance/`,
      reads: {
        scan: scan(name),
        "scan of the first version": async (namespace) =>
          digest(await namespace.table([name], { version: 1 }).scan().toArrow()),
        "row ids": scan(name, { columns: ["id", "_rowid", "_rowaddr"] }),
        filter: scan(name, { filter: "n > 100000 AND \"group\" = 'g3'" }),
        take: async (namespace) => digest(await namespace.table([name]).take(few)),
        "take of vectors": async (namespace) =>
          digest(await namespace.table([name]).take([100], ["id", "v"])),
        count: async (namespace) => String(await namespace.table([name]).countRows()),
        tag: async (namespace) =>
          digest(
            await namespace
              .table([name], { tag: "first" })
              .scan({ columns: ["id"] })
              .toArrow(),
          ),
        branch: async (namespace) =>
          digest(
            await namespace
              .table([name], { branch: "side" })
              .scan({ columns: ["id", "n"] })
              .toArrow(),
          ),
        versions: async (namespace) =>
          JSON.stringify(
            (await namespace.listTableVersions({ id: [name] })).versions.map(({ version }) => version),
          ),
        branches: async (namespace) => JSON.stringify(await namespace.listTableBranches({ id: [name] })),
        tags: async (namespace) => JSON.stringify(await namespace.listTableTags({ id: [name] })),
      },
    });
  }

  const namespace = open();
  const ids = Array.from({ length: 30_000 }, (_, row) => row);
  await namespace.createTable(
    { id: ["many"] },
    new Table({ id: vectorFromArray(ids, new Int32()), x: vectorFromArray(ids, new Float64()) }),
  );
  await namespace.table(["many"]).delete("id % 3 = 1");
  subjects.push({
    directory: "many.lance/",
    reads: {
      scan: scan("many"),
      count: async (reader) => String(await reader.table(["many"]).countRows("id > 100")),
      take: async (reader) => digest(await reader.table(["many"]).take([4, 700, 15_000])),
    },
  });

  for (const [kind, column, indexType, reads] of INDEXES) {
    const name = `i_${kind}`;
    await namespace.createTable({ id: [name] }, rows.select(["id", column === "id" ? "n" : column]));
    const shape = indexType.startsWith("IVF") ? { numPartitions: 4, numSubVectors: 6, sampleRate: 16 } : {};
    const words = indexType === "FTS" ? { withPosition: true } : {};
    await buildIndex(namespace, { id: [name], column, indexType, ...shape, ...words });
    await namespace.table([name]).delete("id IN (9, 10)");
    subjects.push({ directory: `${name}.lance/`, reads: reads(name) });
  }

  const blobs = new Table(
    new Schema([
      new Field("b", new LargeBinary(), true, new Map([["lance-encoding:blob", "true"]])),
      new Field("id", new Int32(), true),
    ]),
    {
      b: vectorFromArray(
        Array.from({ length: 60 }, (_, row) => new Uint8Array(row * 40).fill(row)),
        new LargeBinary(),
      ),
      id: vectorFromArray(
        Array.from({ length: 60 }, (_, row) => row),
        new Int32(),
      ),
    },
  );
  const older = open({ dataStorageVersion: "2.1" });
  await older.createTable({ id: ["blobs"] }, blobs);
  await older.close();
  subjects.push({ directory: "blobs.lance/", reads: { scan: scan("blobs") } });

  await namespace.createNamespace({ id: ["a"], properties: { owner: "me" } });
  await namespace.createTable({ id: ["a", "t"] }, rows.slice(0, 20));
  await namespace.createTable({ id: ["a", "u"] }, rows.slice(20, 30));
  await namespace.close();
  const catalog: Record<string, Read> = {
    tables: async (reader) => JSON.stringify(await reader.listTables({ id: ["a"] })),
    namespaces: async (reader) => JSON.stringify(await reader.listNamespaces({ id: [] })),
    description: async (reader) => JSON.stringify(await reader.describeNamespace({ id: ["a"] })),
    rows: async (reader) => digest(await reader.table(["a", "t"]).scan().toArrow()),
    "other rows": async (reader) => digest(await reader.table(["a", "u"]).scan().toArrow()),
  };
  subjects.push({ directory: "__manifest/", reads: catalog });
  for (const name of readdirSync(root)) {
    if (name.endsWith("_a$t") || name.endsWith("_a$u"))
      subjects.push({ directory: `${name}/`, reads: catalog });
  }
  const jobIds = readdirSync(join(root, ".tiltyard-jobs")).filter((name) => !name.startsWith("."));
  subjects.push({
    directory: ".tiltyard-jobs/",
    reads: Object.fromEntries(
      jobIds.map((jobId) => [
        jobId,
        async (reader: DirectoryNamespace) => {
          // Without its outcome, a job counts as interrupted.
          const { kind, table } = await reader.describeJob({ jobId });
          return JSON.stringify({ kind, table });
        },
      ]),
    ),
  });
});

const INDEXES: readonly (readonly [
  kind: string,
  column: string,
  indexType:
    | "BTREE"
    | "BITMAP"
    | "LABEL_LIST"
    | "ZONEMAP"
    | "BLOOMFILTER"
    | "NGRAM"
    | "FTS"
    | "IVF_FLAT"
    | "IVF_SQ"
    | "IVF_PQ"
    | "IVF_HNSW_SQ",
  reads: (name: string) => Record<string, Read>,
])[] = [
  [
    "btree",
    "n",
    "BTREE",
    (name) => ({
      range: scan(name, { filter: "n > 90000 AND n < 90500" }),
      nulls: async (namespace) => String(await namespace.table([name]).countRows("n IS NULL")),
    }),
  ],
  ["bitmap", "group", "BITMAP", (name) => ({ equal: scan(name, { filter: "\"group\" IN ('g3', 'g7')" }) })],
  ["labels", "labels", "LABEL_LIST", (name) => ({ has: scan(name, { filter: "array_has(labels, 6)" }) })],
  ["zones", "id", "ZONEMAP", (name) => ({ range: scan(name, { filter: "id < 300" }) })],
  ["bloom", "group", "BLOOMFILTER", (name) => ({ equal: scan(name, { filter: "\"group\" = 'g4'" }) })],
  ["ngram", "text", "NGRAM", (name) => ({ part: scan(name, { filter: "contains(text, 'number 42')" }) })],
  [
    "fts",
    "text",
    "FTS",
    (name) => ({
      words: search(name, { text: "ember lantern", limit: 40 }),
      phrase: search(name, {
        fullTextQuery: { structuredQuery: { query: { phrase: { terms: "river stone", column: "text" } } } },
        limit: 40,
      }),
    }),
  ],
  ...(["IVF_FLAT", "IVF_SQ", "IVF_PQ", "IVF_HNSW_SQ"] as const).map(
    (indexType) =>
      [
        indexType === "IVF_HNSW_SQ" ? "hnsw" : indexType.slice(4).toLowerCase(),
        "v",
        indexType,
        (name: string) => ({
          nearest: search(name, {
            vector: Array.from({ length: DIMENSIONS }, (_, index) => index / DIMENSIONS),
            nprobes: 2,
            limit: 12,
          }),
        }),
      ] as const,
  ),
];

const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();

async function outcomeOf(read: Read): Promise<string | Error> {
  const namespace = new DirectoryNamespace({ root, durability: "none", workers: 0 });
  try {
    return await read(namespace);
  } catch (error) {
    return error as Error;
  } finally {
    await namespace.close();
  }
}

interface Counts {
  flips: number;
  same: number;
  refused: number;
}

describe("a single flipped bit", () => {
  it("gives the same rows or a typed error in every kind of file", async () => {
    const seed = seedOf(38);
    const random = new Random(seed);
    const answers = new Map<Read, string>();
    for (const { reads, directory } of subjects) {
      for (const [name, read] of Object.entries(reads)) {
        const outcome = await outcomeOf(read);
        if (outcome instanceof Error) throw new Error(`${directory} ${name}`, { cause: outcome });
        answers.set(read, outcome);
      }
    }
    const byKind = new Map<string, string[]>();
    for (const file of filesBelow(root)) {
      if (!subjects.some(({ directory }) => file.startsWith(directory))) continue;
      const kind = KINDS.find(([, form]) => form.test(file))?.[0] ?? `other: ${file}`;
      byKind.set(kind, [...(byKind.get(kind) ?? []), file]);
    }
    byKind.delete("lock");
    const counts = new Map<string, Counts>(
      [...byKind.keys()].map((kind) => [kind, { flips: 0, same: 0, refused: 0 }]),
    );
    const wrong: string[] = [];
    const errors = new Map<string, number>();
    const kinds = [...byKind.keys()];
    for (let flip = 0; flip < FLIPS; flip++) {
      const kind = kinds[flip % kinds.length]!;
      const files = byKind.get(kind)!.filter((file) => readFileSync(join(root, file)).length > 0);
      if (files.length === 0) continue;
      const file = files[random.below(files.length)]!;
      const path = join(root, file);
      const intact = readFileSync(path);
      const bit = random.below(intact.length * 8);
      const flipped = Uint8Array.from(intact);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      writeFileSync(path, flipped);
      const count = counts.get(kind)!;
      count.flips++;
      let isRefused = false;
      for (const { directory, reads } of subjects) {
        if (!file.startsWith(directory)) continue;
        for (const [name, read] of Object.entries(reads)) {
          const outcome = await outcomeOf(read);
          const where = `${kind}: bit ${bit} of ${file}, ${name}`;
          if (outcome instanceof Error) {
            isRefused = true;
            // A version number may become one of no release, and a name one that nothing has.
            const isTyped =
              outcome instanceof CorruptFileError ||
              (outcome instanceof NamespaceError && !(outcome instanceof InternalError));
            if (!isTyped) wrong.push(`${where}: ${outcome.stack}`);
            errors.set(outcome.name, (errors.get(outcome.name) ?? 0) + 1);
          } else if (outcome !== answers.get(read)) {
            wrong.push(`${where}: ${outcome}, not ${answers.get(read)}`);
          }
        }
      }
      writeFileSync(path, intact);
      if (isRefused) count.refused++;
      else count.same++;
    }
    console.info(
      `single bits, seed ${seed}:\n${[...counts].map(([kind, { flips, same, refused }]) => `  ${kind}: ${flips} flips, ${same} with the same answers, ${refused} refused`).join("\n")}`,
    );
    console.info(`errors: ${JSON.stringify(Object.fromEntries(errors))}`);
    expect(wrong).toEqual([]);
    expect(kinds.filter((kind) => kind.startsWith("other"))).toEqual([]);
  });
});
