/**
 * A damaged file of ours gives the written rows or a typed error. A file of the reference has no checksums:
 * it gives well-formed rows or a typed error, in bounded time and memory.
 */

import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { type Table, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { afterAll, beforeAll, describe, expect, it, sharedDirectory } from "../support/fixtures.js";
import { allTypesSpec, makeTable } from "../support/generators.js";
import { compareTables, reference } from "../support/reference.js";

const NAME = "t";
const TABLE = `${NAME}.lance`;
/** Memory that one read may add, far above the need of these tables and far below that of a wild length. */
const MAX_HEAP_GROWTH = 512 * 1024 * 1024;

interface Damage {
  file: number;
  /** Position as a fraction of the file's length. */
  fraction: number;
  kind: { flip: number } | { cut: true } | { zero: number };
}

const damages: fc.Arbitrary<Damage> = fc.record({
  file: fc.nat(1000),
  fraction: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.record({ flip: fc.integer({ min: 1, max: 255 }) }) },
    { weight: 2, arbitrary: fc.constant({ cut: true as const }) },
    { weight: 1, arbitrary: fc.record({ zero: fc.integer({ min: 1, max: 64 }) }) },
  ),
});

function damage(bytes: Uint8Array, { fraction, kind }: Damage): Uint8Array {
  const position = Math.floor(fraction * bytes.length);
  if ("cut" in kind) return bytes.slice(0, position);
  const damaged = Uint8Array.from(bytes);
  if ("flip" in kind) damaged[position] ^= kind.flip;
  else damaged.fill(0, position, position + kind.zero);
  return damaged;
}

async function filesOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}

async function readAll(root: string): Promise<Table> {
  await using namespace = new DirectoryNamespace({ root, durability: "none" });
  return await namespace.table([NAME]).scan().toArrow();
}

describe.each([
  ["ours", "2.2"],
  ["ours", "2.1"],
  ["the reference's", "2.2"],
  ["the reference's", "2.1"],
] as const)("a damaged table of %s, file version %s", (maker, dataStorageVersion) => {
  const root = sharedDirectory();
  let expected: Table;
  let files: string[];

  beforeAll(async () => {
    const part = (seed: number, shape: "random" | "runs" | "lowCardinality") =>
      makeTable(allTypesSpec(300, "some", { seed, shape }));
    expected = part(1, "random");
    if (maker === "ours") {
      const namespace = new DirectoryNamespace({ root, durability: "none", dataStorageVersion });
      await namespace.createTable({ id: [NAME] }, part(1, "random"));
      await namespace.insertIntoTable({ id: [NAME] }, part(2, "runs"));
      await namespace.insertIntoTable({ id: [NAME] }, part(3, "lowCardinality"));
      await namespace.close();
      expected = expected.concat(part(2, "runs"), part(3, "lowCardinality"));
    } else {
      await reference.createTable(root, NAME, tableToIPC(part(1, "random")), { dataStorageVersion });
    }
    files = await filesOf(join(root, TABLE));
    compareTables(expected, await readAll(root), { metadata: false });
  });
  afterAll(() => {
    (globalThis as { gc?: () => void }).gc?.();
  });

  it("gives the written rows or a typed error", async ({ root: work }) => {
    const seed = RUN_SEED;
    console.info(`corruption of ${maker} ${dataStorageVersion}: seed ${seed}`);
    await cp(join(root, TABLE), join(work, TABLE), { recursive: true });
    let refused = 0;
    let survived = 0;
    const heapBefore = process.memoryUsage().rss;
    await fc.assert(
      fc.asyncProperty(damages, async (what) => {
        const path = join(work, TABLE, files[what.file % files.length]);
        const original = await readFile(path);
        await writeFile(path, damage(original, what));
        try {
          const rows = await readAll(work);
          if (maker === "ours") compareTables(expected, rows, { metadata: false });
          else expect(rows.toArray().length).toBe(rows.numRows);
          survived++;
        } catch (error) {
          if (!(error instanceof NamespaceError)) throw error;
          refused++;
        } finally {
          await writeFile(path, original);
        }
        expect(process.memoryUsage().rss - heapBefore).toBeLessThan(MAX_HEAP_GROWTH);
      }),
      { numRuns: runsOf("CORRUPTION_RUNS", 150), seed },
    );
    expect(refused).toBeGreaterThan(0);
    expect(survived).toBeGreaterThan(0);
  });

  it("is noticed by an engine that has read the table before", async ({ root: work, ns }) => {
    await cp(join(root, TABLE), join(work, TABLE), { recursive: true });
    const read = () => ns.table([NAME]).scan().toArrow();
    compareTables(expected, await read(), { metadata: false });
    for (const file of files.filter((name) => name.startsWith("data"))) {
      const path = join(work, TABLE, file);
      const original = await readFile(path);
      // The last byte is the end mark of the format; cutting it off is damage in any file.
      await writeFile(path, original.subarray(0, -1));
      await expect(read()).rejects.toThrow(NamespaceError);
      if (maker === "ours") {
        await writeFile(path, damage(original, { file: 0, fraction: 0, kind: { flip: 1 } }));
        await expect(read()).rejects.toThrow(NamespaceError);
      }
      await writeFile(path, original);
      compareTables(expected, await read(), { metadata: false });
    }
  });

  it("with a missing, stale, too high or garbage hint is read as ever", async () => {
    const hint = join(root, TABLE, "_versions", "latest_version_hint.json");
    for (const text of [
      "",
      "{",
      "null",
      "[]",
      '{"version":1}',
      '{"version":0}',
      '{"version":-3}',
      '{"version":1e99}',
      '{"version":"2"}',
      '{"version":77}',
      '{"version":18446744073709551615}',
      "x".repeat(100_000),
    ]) {
      await writeFile(hint, text);
      compareTables(expected, await readAll(root), { metadata: false });
    }
  });
});
