/** `verifyTable` finds every damage to a table's files, and none in sound tables. */

import { appendFile, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { DirectoryNamespace, type VerifyTableResponse } from "tiltyard";
import { beforeAll, describe, expect, it } from "vitest";
import { copyTree } from "../support/copyTree.js";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { makeTempDir } from "../support/tempDir.js";
import { makeVariedTable, VARIED } from "../support/variedTables.js";

const GOLDEN = fileURLToPath(new URL("../golden", import.meta.url));
const WORDS = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine"];

/** Generator of numbers (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

function rowsOf(first: number, count: number, random: (below: number) => number) {
  return Array.from({ length: count }, (_, row) => ({
    id: first + row,
    code: random(1_000_000),
    city: WORDS[random(WORDS.length)],
    flag: random(2) === 1,
    text: Array.from({ length: 5 }, () => WORDS[random(WORDS.length)]).join(" "),
    tags: [WORDS[random(5)], WORDS[5 + random(5)]],
    score: random(7) === 0 ? null : random(1000) / 8,
    vector: new Float32Array(Array.from({ length: 8 }, () => random(1000) / 1000)),
  }));
}

const INDEXES = [
  ["id", "BTREE"],
  ["city", "BITMAP"],
  ["tags", "LABEL_LIST"],
  ["score", "ZONEMAP"],
  ["code", "BLOOMFILTER"],
  ["text", "FTS"],
  ["vector", "IVF_PQ"],
] as const;

/** Makes a table with several versions, deletions, a tag, a branch, and indexes of many kinds. */
async function makeTable(root: string, seed: number, stableRowIds = false): Promise<void> {
  const random = randomOf(seed);
  const ns = new DirectoryNamespace({ root, durability: "none" });
  const table = ns.table("trees");
  await table.create(rowsOf(0, 300, random), { stableRowIds });
  for (const [column, indexType] of INDEXES) {
    const settings = indexType === "IVF_PQ" ? { numPartitions: 2, numSubVectors: 4 } : {};
    await table.waitForJob(await table.createIndex(column, { indexType, ...settings } as never));
  }
  await table.createTag("first", 1);
  await table.insert(rowsOf(300, 200, random));
  await table.delete("id % 7 = 3");
  await table.update({ where: "id % 11 = 5", valuesSql: { score: "score + 1" } });
  await table.optimize({ targetRowsPerFragment: 100 });
  const branch = await table.createBranch("trial");
  await branch.insert(rowsOf(900, 50, random));
  await ns.close();
}

async function verify(root: string, options = {}): Promise<VerifyTableResponse> {
  const ns = new DirectoryNamespace({ root });
  try {
    return await ns.verifyTable({ id: "trees", ...options });
  } finally {
    await ns.close();
  }
}

/** Files of the table that hold something, relative to the root. */
async function filesOf(root: string): Promise<string[]> {
  const names = await readdir(join(root, "trees.lance"), { recursive: true, withFileTypes: true });
  return names
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => /(\.lance|\.idx|\.manifest|\.txn|\.bin|\.arrow|_refs[/\\].*\.json)$/.test(path))
    .filter((path) => !/[/\\]tree[/\\]/.test(path))
    .sort();
}

/** Makes a damage, and returns what it was and the damaged file. */
async function damage(root: string, seed: number): Promise<{ what: string; path: string }> {
  const random = randomOf(seed);
  const files = await filesOf(root);
  const path = files[random(files.length)];
  const file = join(root, path);
  const { size } = await stat(file);
  const kind = random(10);
  // Nothing else mentions a tag: a table whose tag was removed is a table whose tag was deleted.
  const isTag = /[/\\]_refs[/\\]tags[/\\]/.test(path);
  if (kind === 0 && !isTag) {
    await rm(file);
    return { what: "removed", path };
  }
  if (kind === 1 && size > 1) {
    const length = random(size - 1);
    await truncate(file, length);
    return { what: `truncated to ${length} of ${size}`, path };
  }
  if (kind === 2) {
    await appendFile(file, Uint8Array.of(1 + random(255)));
    return { what: "a byte appended", path };
  }
  const bytes = await readFile(file);
  const offset = random(size);
  bytes[offset] ^= 1 << random(8);
  await writeFile(file, bytes);
  return { what: `a bit of byte ${offset} of ${size} flipped`, path };
}

let sound: string;
let changed: string;

beforeAll(async () => {
  [sound, changed] = [await makeTempDir(), await makeTempDir()];
  await makeTable(sound, 1);
  await makeTable(changed, 2);
});

describe("verifyTable", () => {
  it.each(
    Array.from({ length: runsOf("VERIFY_SOUND", 24) }, (_, index) => RUN_SEED + index),
  )("reports nothing about a sound table of seed %i", async (seed) => {
    const root = await makeTempDir();
    await makeTable(root, seed, seed % 3 === 0);
    const report = await verify(root, seed % 4 === 0 ? { branch: "trial" } : {});
    expect(report.damages).toEqual([]);
    expect(report).toMatchObject({ isSound: true, damageCount: 0, damagedRows: 0, unchecked: [] });
    expect(report.checkedIndexes).toBe(INDEXES.length);
    expect(report.newestSoundVersion).toBe(report.version);
    await rm(root, { recursive: true });
  });

  it.each(
    Array.from({ length: runsOf("VERIFY_SOUND", 24) }, (_, index) => RUN_SEED + index),
  )("reports nothing about a table of any columns and changes, seed %i", async (seed) => {
    const root = await makeTempDir();
    await makeVariedTable(root, seed);
    const ns = new DirectoryNamespace({ root });
    const branches = Object.keys((await ns.listTableBranches({ id: VARIED })).branches);
    for (const branch of [undefined, ...branches]) {
      const { damages, damageCount } = await ns.verifyTable({ id: VARIED, branch });
      expect({ branch, damageCount, damages }).toEqual({ branch, damageCount: 0, damages: [] });
    }
    await ns.close();
    await rm(root, { recursive: true });
  });

  it("reports nothing about the tables of LanceDB's releases", async () => {
    const ns = new DirectoryNamespace({ root: GOLDEN });
    const { tables } = await ns.listTables({ id: [] });
    expect(tables.length).toBeGreaterThan(80);
    for (const name of tables) {
      const { damages } = await ns.verifyTable({ id: [name] });
      expect({ name, damages }).toEqual({ name, damages: [] });
    }
    await ns.close();
  });

  it("reads again what was read and verified before", async () => {
    const root = await makeTempDir();
    const ns = new DirectoryNamespace({ root, durability: "none" });
    const table = ns.table("trees");
    // A page of more than 64 KiB, whose blocks have checksums.
    const text = (row: number) => `${row} `.repeat(2000);
    await table.create(Array.from({ length: 40 }, (_, row) => ({ row, text: text(row) })));
    for (let time = 0; time < 2; time++) {
      expect(await ns.verifyTable({ id: "trees" })).toMatchObject({ isSound: true, damages: [] });
      expect(await table.countRows("text LIKE '1%'")).toBe(11);
    }
    const { fragments } = await table.storage();
    const path = join(root, "trees.lance", fragments[0].files[0].path);
    const [bytes, { atime, mtime }] = [await readFile(path), await stat(path)];
    bytes[bytes.length >> 1] ^= 1;
    await writeFile(path, bytes);
    // A disk that damages a file leaves its times.
    await utimes(path, atime, mtime);
    expect((await ns.verifyTable({ id: "trees" })).damages).toEqual([
      expect.objectContaining({ kind: "dataFile", path }),
    ]);
    await ns.close();
  });

  it("names a branch whose file is missing", async () => {
    const copy = join(await makeTempDir(), "copy");
    await copyTree(sound, copy);
    const path = join(copy, "trees.lance", "_refs", "branches", "trial.json");
    await rm(path);
    expect((await verify(copy)).damages).toEqual([
      expect.objectContaining({
        kind: "missingFile",
        path,
        message: expect.stringContaining("branch trial has"),
      }),
    ]);
  });

  it("finds a wrong place of the global buffers, and each removed manifest", async () => {
    const copy = join(await makeTempDir(), "copy");
    await copyTree(sound, copy);
    const files = await filesOf(copy);
    const index = files.find((path) => path.endsWith("index.idx")) as string;
    const bytes = await readFile(join(copy, index));
    for (let at = bytes.length - 24; at < bytes.length - 22; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = Uint8Array.from(bytes);
        damaged[at] ^= 1 << bit;
        await writeFile(join(copy, index), damaged);
        expect((await verify(copy)).isSound, `byte ${at}, bit ${bit}`).toBe(false);
      }
    }
    await writeFile(join(copy, index), bytes);
    for (const path of files.filter((each) => each.endsWith(".manifest"))) {
      const manifest = await readFile(join(copy, path));
      await rm(join(copy, path));
      expect((await verify(copy)).isSound, path).toBe(false);
      await writeFile(join(copy, path), manifest);
    }
    expect((await verify(copy)).damages).toEqual([]);
  });

  it("finds each of many damages", async () => {
    const missed: string[] = [];
    const root = await makeTempDir();
    for (let run = 0; run < runsOf("VERIFY_DAMAGES", 240); run++) {
      const copy = join(root, String(run));
      await copyTree(sound, copy);
      const { what, path } = await damage(copy, RUN_SEED + run);
      const { isSound, damages } = await verify(copy);
      const named = damages.some(
        (each) => each.path.includes(basename(path)) || each.path === dirname(join(copy, path)),
      );
      if (isSound || !named) missed.push(`${path}: ${what}: ${JSON.stringify(damages)}`);
      await rm(copy, { recursive: true });
    }
    expect(missed).toEqual([]);
  });

  it("finds each index whose files are those of other rows", async () => {
    const names = async (root: string) => {
      const ns = new DirectoryNamespace({ root });
      const { indexes } = await ns.listTableIndices({ id: "trees" });
      const storage = await ns.describeTableStorage({ id: "trees" });
      await ns.close();
      return new Map(
        indexes.map(({ indexName }) => [
          indexName,
          storage.indexes.find((each) => each.indexName === indexName)?.files.map(({ path }) => path) ?? [],
        ]),
      );
    };
    const [ours, others] = [await names(sound), await names(changed)];
    for (const [indexName, paths] of ours) {
      // Both tables have the same ids.
      if (indexName === "id_idx") continue;
      const copy = join(await makeTempDir(), "copy");
      await copyTree(sound, copy);
      const otherPaths = others.get(indexName) ?? [];
      for (const path of paths) {
        const other = otherPaths.find((each) => basename(each) === basename(path));
        if (other === undefined) throw new Error(`${indexName} has no ${basename(path)}`);
        await writeFile(join(copy, "trees.lance", path), await readFile(join(changed, "trees.lance", other)));
      }
      const { damages } = await verify(copy);
      const kinds = damages.filter((each) => each.indexName === indexName).map(({ kind }) => kind);
      expect({ indexName, kinds }).toEqual({
        indexName,
        kinds: expect.arrayContaining([expect.any(String)]),
      });
    }
  });

  it("tells the columns, rows and versions that can be saved", async () => {
    const copy = join(await makeTempDir(), "copy");
    const ns = new DirectoryNamespace({ root: copy, durability: "none" });
    const table = ns.table("trees");
    await table.create(rowsOf(0, 100, randomOf(1)));
    await table.insert(rowsOf(100, 50, randomOf(2)));
    const { fragments } = await table.storage();
    const file = await ns.describeTableFile({ id: "trees", path: fragments[1].files[0].path });
    await ns.close();
    const bytes = await readFile(file.path);
    bytes[0] ^= 1;
    await writeFile(file.path, bytes);
    const report = await verify(copy);
    expect(report).toMatchObject({
      isSound: false,
      readableRows: 100,
      damagedRows: 50,
      newestSoundVersion: 1,
    });
    const columns = report.damages.flatMap((each) => each.columns ?? []);
    expect(columns).toEqual(["id"]);
    expect(report.damages[0]).toMatchObject({ kind: "dataFile", path: file.path, fragmentId: 1 });
  });

  it("reads other versions if the latest cannot be read", async () => {
    const copy = join(await makeTempDir(), "copy");
    await copyTree(sound, copy);
    const versions = join(copy, "trees.lance", "_versions");
    const [latest] = (await readdir(versions)).filter((name) => name.endsWith(".manifest")).sort();
    await writeFile(join(versions, latest), "no manifest");
    const report = await verify(copy);
    expect(report.isSound).toBe(false);
    expect(report.version).toBe(report.newestSoundVersion);
    expect(report.damages.map(({ kind }) => kind)).toContain("manifest");
  });
});
