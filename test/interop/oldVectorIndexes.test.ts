/**
 * Vector indexes of older LanceDB releases, which test/support/writeOldVectorIndexes.mjs made: both engines
 * find the same rows, before and after both change the table.
 */

import { readdirSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CorruptFileError, DirectoryNamespace, NamespaceError } from "tiltyard";
import type { Table as ReferenceTable } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { copyTree } from "../support/copyTree.js";
import { Random } from "../support/generators.js";
import { withReference } from "../support/indexedTable.js";
import { makeTempDir } from "../support/tempDir.js";

const GOLDEN = fileURLToPath(new URL("../golden/oldVectorIndexes", import.meta.url));
const NEAREST = 10;
const tables = readdirSync(GOLDEN).map((entry) => entry.slice(0, -".lance".length));
/** Tables with PQ codes of LanceDB before 0.19, which neither engine reads. */
const unread = tables.filter((table) => /^0\.14\.1_hnswpq|^0\.1[46]\.\d_ivfpq/.test(table));

interface Asked {
  readonly limit?: number;
  readonly fastSearch?: boolean;
  readonly nprobes?: number;
  readonly refineFactor?: number;
  readonly ef?: number;
  readonly filter?: string;
}

const SEARCHES: readonly Asked[] = [
  {},
  { nprobes: 1 },
  { fastSearch: true },
  { fastSearch: true, nprobes: 1 },
  { fastSearch: true, nprobes: 2, ef: 12 },
  { fastSearch: true, limit: 2, ef: 3 },
  { fastSearch: true, refineFactor: 3 },
  { filter: "id % 3 = 0" },
  { fastSearch: true, filter: "id % 3 = 0" },
];

async function copyOf(table: string) {
  const root = await makeTempDir();
  await copyTree(join(GOLDEN, `${table}.lance`), join(root, "t.lance"));
  return { root, namespace: new DirectoryNamespace({ root, durability: "none" }) };
}

type Opened = Awaited<ReturnType<typeof copyOf>>;

function queryVectors(table: string, count: number): number[][] {
  const random = new Random(count);
  const dimension = table.includes("hnswsq_") ? 2 : table.includes("hnsw") ? 4 : 8;
  return Array.from({ length: count }, () =>
    Array.from({ length: dimension }, () => Math.fround(random.below(1000) / 250 - 1.6)),
  );
}

async function distancesThere(table: ReferenceTable, vector: number[], asked: Asked): Promise<number[]> {
  const query = table
    .query()
    .nearestTo(vector)
    .limit(asked.limit ?? NEAREST);
  if (asked.fastSearch) query.fastSearch();
  if (asked.nprobes) query.nprobes(asked.nprobes);
  if (asked.refineFactor) query.refineFactor(asked.refineFactor);
  if (asked.ef) query.ef(asked.ef);
  if (asked.filter) query.where(asked.filter);
  return (await query.toArray()).map(({ _distance }) => _distance as number);
}

async function rowsHere({ namespace }: Opened, vector: number[], asked: Asked) {
  const request = { id: ["t"], vector, limit: NEAREST, prefilter: true, ...asked };
  return (await (await namespace.queryTable(request)).toArray()) as { id: number; _distance: number }[];
}

async function expectSameSearches(opened: Opened, table: string, isNear = false): Promise<void> {
  await withReference(opened.root, "t", async (reference) => {
    for (const asked of SEARCHES) {
      for (const vector of queryVectors(table, isNear ? 3 : 6)) {
        const there = await distancesThere(reference, vector, asked);
        const here = (await rowsHere(opened, vector, asked)).map(({ _distance }) => _distance);
        const told = JSON.stringify({ asked, here, there });
        expect(here.length, told).toBe(there.length);
        for (const [index, distance] of here.entries()) {
          const difference = distance - there[index];
          expect(isNear ? difference : Math.abs(difference), told).toBeLessThan(1e-4);
        }
      }
    }
  });
}

const metricOf = (table: string): string => table.slice(table.lastIndexOf("_") + 1);

it.each(unread)("a search compares all rows by the metric of the index of %s", async (table) => {
  const opened = await copyOf(table);
  const [vector] = queryVectors(table, 1);
  const query = { vector, limit: NEAREST };
  expect(await opened.namespace.explainTableQueryPlan({ id: ["t"], query })).toMatch(
    /indexesNotRead=\[.*(PQ codes of LanceDB before 0\.19|data format version 0\.1)/,
  );
  const compared = async (request: object) =>
    (
      await opened.namespace.queryTable({
        ...{ id: ["t"], ...query, bypassVectorIndex: true, distanceType: metricOf(table), ...request },
      })
    ).toArray();
  expect(await rowsHere(opened, vector, {})).toEqual(await compared({}));
  const covered = await compared({ limit: 1000, filter: "_rowaddr < 4294967296" });
  expect(covered.length).toBeLessThan(await opened.namespace.countTableRows({ id: ["t"] }));
  expect(await rowsHere(opened, vector, { fastSearch: true, limit: 1000 })).toEqual(covered);
  await opened.namespace.close();
});

it.each(tables)("the type and the metric of the index of %s are listed", async (table) => {
  const opened = await copyOf(table);
  const stats = await opened.namespace.describeTableIndexStats({ id: ["t"], indexName: "vector_idx" });
  const indexType = `IVF_${table.includes("hnsw") ? "HNSW_" : ""}${table.includes("sq") ? "SQ" : "PQ"}`;
  expect(stats).toMatchObject({ indexType, distanceType: metricOf(table) });
  const { indexes } = await opened.namespace.listTableIndices({ id: ["t"] });
  expect(JSON.parse(indexes[0].indexDetails ?? "")).toMatchObject({
    metric_type: metricOf(table).toUpperCase(),
  });
  // The reference does not know the details type of the first releases.
  await withReference(opened.root, "t", async (reference) => {
    const there = await reference.indexStats("vector_idx");
    if (there !== undefined) expect(there).toMatchObject({ distanceType: metricOf(table) });
  });
  await opened.namespace.close();
});

async function settingsOf({ root }: Opened): Promise<string[]> {
  const indices = join(root, "t.lance/_indices");
  const texts: string[] = [];
  for (const uuid of await readdir(indices)) {
    const text = await readFile(join(indices, uuid, "auxiliary.idx"), "latin1");
    texts.push(/\{[^{}]*codebook_tensor[^{}]*\}/.exec(text)?.[0].replaceAll("\\", "") ?? "");
  }
  return texts;
}

it.each(
  tables.filter((table) => /^0\.19.*pq/.test(table)),
)("the codebook of %s stays in the settings, where the release that wrote it looks for it", async (table) => {
  const opened = await copyOf(table);
  const [before] = await settingsOf(opened);
  const { codebook_tensor: tensor, codebook_position: position } = JSON.parse(before);
  expect(position).toBe(0);
  expect(tensor.length).toBeGreaterThan(16);
  const handle = opened.namespace.table("t");
  await handle.delete("id % 7 = 2");
  await handle.optimize();
  const settings = await settingsOf(opened);
  expect(settings.length).toBeGreaterThan(1);
  for (const text of settings)
    expect(JSON.parse(text)).toMatchObject({ codebook_position: 0, codebook_tensor: tensor });
  // A new index stores it in a buffer, as later releases do.
  const { jobId } = await handle.createIndex("vector", {
    ...{ indexType: "IVF_PQ", numSubVectors: 4, distanceType: "l2", replace: true },
  });
  await handle.waitForJob(jobId);
  const isPlaced = (text: string): boolean => JSON.parse(text).codebook_position > 0;
  expect((await settingsOf(opened)).filter(isPlaced)).toHaveLength(1);
  await opened.namespace.close();
});

describe.each(tables.filter((table) => !unread.includes(table)))("the index of %s", (table) => {
  it("leads to the rows that it leads the reference to", async () => {
    const opened = await copyOf(table);
    await expectSameSearches(opened, table);
    await opened.namespace.close();
  });

  it("leads to rows as near as those of the reference after rows were deleted, merged and optimized", async () => {
    const opened = await copyOf(table);
    const handle = opened.namespace.table("t");
    await handle.delete("id % 7 = 2");
    const [vector] = queryVectors(table, 1);
    await handle.mergeInsert(
      "id",
      [
        { id: 1, vector },
        { id: 5000, vector },
      ],
      { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
    );
    const rowCount = await handle.countRows();
    await expectSameSearches(opened, table, true);
    await handle.optimize();
    expect(await handle.countRows()).toBe(rowCount);
    await expectSameSearches(opened, table, true);
    if (!table.endsWith("dot")) {
      const nearest = await rowsHere(opened, vector, { nprobes: 20, refineFactor: 5 });
      expect(nearest.slice(0, 2).map(({ id }) => id)).toEqual([1, 5000]);
    }
    await opened.namespace.close();
  });

  it("gives an answer or a typed error when its files are damaged", async () => {
    const opened = await copyOf(table);
    const indices = join(opened.root, "t.lance/_indices");
    const [uuid] = await readdir(indices);
    const random = new Random(3);
    let failed = 0;
    for (const name of await readdir(join(indices, uuid))) {
      const path = join(indices, uuid, name);
      const bytes = await readFile(path);
      for (let damage = 0; damage < 25; damage++) {
        const damaged = Uint8Array.from(bytes);
        const span = damage % 2 === 0 ? bytes.length : Math.min(bytes.length, 700);
        damaged[bytes.length - 1 - random.below(span)] ^= 1 << random.below(8);
        await writeFile(path, damaged);
        const namespace = new DirectoryNamespace({ root: opened.root, durability: "none" });
        try {
          await rowsHere({ ...opened, namespace }, queryVectors(table, 1)[0], { fastSearch: true });
        } catch (error) {
          expect(error).toBeInstanceOf(NamespaceError);
          failed++;
        } finally {
          await namespace.close();
        }
      }
      await writeFile(path, bytes);
    }
    expect(failed).toBeGreaterThan(5);
    await opened.namespace.close();
  });
});

async function rewrite({ root }: Opened, file: string, from: string, to: string): Promise<void> {
  const [uuid] = await readdir(join(root, "t.lance/_indices"));
  const path = join(root, "t.lance/_indices", uuid, file);
  const bytes = await readFile(path);
  const offset = bytes.indexOf(from);
  expect(offset).toBeGreaterThan(0);
  expect(to.length).toBe(from.length);
  bytes.write(to, offset, "latin1");
  await writeFile(path, bytes);
}

describe("an old index whose text is damaged", () => {
  it.each([
    ["0.19.0_ivfpq_cosine", "auxiliary.idx", 'tensor\\":[8,2,18,3,', 'tensor\\":[8,2,18,-,'],
    ["0.19.0_ivfpq_cosine", "auxiliary.idx", 'tensor\\":[8,2,18,3,', 'tensor\\":[8,2,1888,'],
    ["0.19.0_ivfpq_cosine", "auxiliary.idx", 'tensor\\":[8,2,18,3,', 'tensor\\":[8,2,18, ,'],
    ["0.19.0_ivfpq_cosine", "auxiliary.idx", 'tensor\\":[8,2,18,3,', 'tensor\\":[8,2,18,]]'],
    ["0.19.0_hnswpq_l2", "index.idx", 'level_offsets\\":[0,', 'level_offsets\\":[1,'],
  ])("is corrupt: %s, %s", async (table, file, from, to) => {
    const opened = await copyOf(table);
    await rewrite(opened, file, from, to);
    await expect(rowsHere(opened, queryVectors(table, 1)[0], { fastSearch: true })).rejects.toThrow(
      CorruptFileError,
    );
    await opened.namespace.close();
  });
});
