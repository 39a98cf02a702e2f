/** Searches with sketches give the answers of full comparisons to the last bit. */

import { type Table, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace, InvalidInputError } from "tiltyard";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { decodeHalfFloat, encodeHalfFloat } from "../../../src/bytes/halfFloat.js";
import { runsOf } from "../../support/effort.js";
import { it, sharedDirectory, sharedNamespace } from "../../support/fixtures.js";
import { nearestOf, randomNumbers, type TestRow, vectorTable } from "../../support/vectorTables.js";

const DIMENSION = 19;
const ROWS = 1300;
const ITEMS = ["float32", "float16"] as const;
const KINDS = [
  "near ties",
  "huge ranges",
  "duplicates",
  "constant",
  "clusters",
  "what is no number",
] as const;
type Kind = (typeof KINDS)[number];

const roundedTo =
  (item: (typeof ITEMS)[number]) =>
  (value: number): number =>
    item === "float16" ? decodeHalfFloat(encodeHalfFloat(value)) : Math.fround(value);

/** Vectors of one kind; some rows have none. */
function rowsOf(kind: Kind, item: (typeof ITEMS)[number], firstId: number, seed: number): TestRow[] {
  const next = randomNumbers(seed);
  const most = item === "float16" ? 1e3 : 1e18;
  const centre = Array.from({ length: DIMENSION }, () => next() * 4 - 2);
  const numberAt = (row: number, index: number): number => {
    const value = next() * 4 - 2;
    switch (kind) {
      case "near ties":
        return centre[index] + value * 1e-4;
      case "huge ranges":
        return value * most ** (next() * 2 - 1);
      case "duplicates":
        return centre[(index + (row % 5)) % DIMENSION];
      case "constant":
        return 0.1;
      case "clusters":
        return centre[(index + (row % 7)) % DIMENSION] + value * 0.2;
      case "what is no number":
        if (row % 11 === 0) return 0;
        return row % 9 === 0 && index === 3 ? [Number.NaN, Infinity, -Infinity][row % 3] : value;
    }
  };
  const rounded = roundedTo(item);
  return Array.from({ length: ROWS }, (_, row) => {
    const vector = Array.from({ length: DIMENSION }, (_, index) => rounded(numberAt(row, index)));
    return { id: firstId + row, group: Math.floor(next() * 10), vector: next() < 0.03 ? null : vector };
  });
}

const tableOf = (item: string, kind: Kind): string => `${item} ${kind}`.replaceAll(" ", "-");

const root = sharedDirectory();
const sketched = sharedNamespace({ root });
let plain: DirectoryNamespace;
/** Live rows of each table's versions. */
const versions = new Map<string, Map<number, TestRow[]>>();
beforeAll(async () => {
  plain = new DirectoryNamespace({ root, durability: "none", vectorCacheBytes: 0 });
  for (const item of ITEMS) {
    for (const [index, kind] of KINDS.entries()) {
      const id = [tableOf(item, kind)];
      const versionRows = new Map<number, TestRow[]>();
      versions.set(id[0], versionRows);
      let rows = rowsOf(kind, item, 0, index + 1);
      const bytes = (tableRows: TestRow[]) => tableToIPC(vectorTable(item, DIMENSION, tableRows), "stream");
      const { version } = await plain.createTable({ id, stableRowIds: index % 2 === 0 }, bytes(rows));
      versionRows.set(version, rows);
      const more = rowsOf(kind, item, ROWS, index + 1);
      rows = [...rows, ...more];
      versionRows.set((await plain.insertIntoTable({ id }, bytes(more))).version, rows);
      // Too few for a sketch.
      const few = more.slice(0, 9).map((row) => ({ ...row, id: row.id + 10_000 }));
      rows = [...rows, ...few];
      versionRows.set((await plain.insertIntoTable({ id }, bytes(few))).version, rows);
      const { version: deleted } = await plain.deleteFromTable({ id, predicate: "id % 7 = 3" });
      versionRows.set(
        deleted,
        rows.filter((row) => row.id % 7 !== 3),
      );
    }
  }
});
afterAll(() => plain.close());

const filters: readonly { readonly text: string; readonly keeps: (row: TestRow) => boolean }[] = [
  { text: "id >= 500", keeps: ({ id }) => id >= 500 },
  { text: '"group" = 3', keeps: ({ group }) => group === 3 },
  { text: "id in (1, 5, 77, 1400)", keeps: ({ id }) => [1, 5, 77, 1400].includes(id) },
  { text: "id < 0", keeps: () => false },
];

const question = fc.record({
  seed: fc.integer({ min: 1, max: 1e6 }),
  versionPlace: fc.nat(3),
  metric: fc.constantFrom("l2", "cosine", "dot"),
  k: fc.constantFrom(1, 3, 10, 10, 100, 1500),
  offset: fc.constantFrom(0, 0, 4),
  filter: fc.constantFrom(null, null, ...filters),
  prefilter: fc.constantFrom(true, true, false),
  bounds: fc.constantFrom(null, null, 0.002, 0.3),
  isOfTable: fc.boolean(),
  queryCount: fc.constantFrom(1, 1, 1, 40),
});

describe.each(ITEMS)("a sketched search of %s", (item) => {
  it.each(KINDS)("returns the nearest %s", async (kind) => {
    const id = [tableOf(item, kind)];
    const tableVersions = [...(versions.get(id[0]) ?? [])];
    const property = fc.asyncProperty(question, async (asked) => {
      const { seed, versionPlace, metric, k, offset, filter, prefilter, bounds, queryCount } = asked;
      const [version, rows] = tableVersions[versionPlace];
      const next = randomNumbers(seed);
      const vector = (): readonly number[] => {
        const { vector } = rows[Math.floor(next() * rows.length)];
        const values = asked.isOfTable && vector?.every(Number.isFinite) ? vector : null;
        return values ?? Array.from({ length: DIMENSION }, () => roundedTo(item)(next() * 4 - 2));
      };
      const vectors = Array.from({ length: queryCount }, vector);
      const all = nearestOf(metric, rows, vectors[0]);
      const quantile = (part: number) => all[Math.floor(all.length * part)]?.distance;
      const request = {
        ...{ id, version, vector: queryCount === 1 ? vectors[0] : vectors, k, offset, distanceType: metric },
        ...(bounds !== null && { lowerBound: quantile(bounds / 2), upperBound: quantile(bounds) }),
        ...(filter !== null && { filter: filter.text, prefilter }),
      };
      const [sketchedResult, wanted] = await Promise.all(
        [sketched, plain].map(async (namespace) => (await namespace.queryTable(request)).toArrow()),
      );
      const told = (table: Table) =>
        ["query_index", "id", "_distance"].map((name) => [...(table.getChild(name)?.toArray() ?? [])]);
      expect(told(sketchedResult)).toEqual(told(wanted));
      if (bounds !== null || queryCount > 1 || kind === "huge ranges" || !prefilter) return;
      // Compares the number of rows and their distances with the definition.
      const kept = all.filter(
        ({ id: of }) => filter?.keeps(rows.find((row) => row.id === of) as TestRow) ?? true,
      );
      const nearest = kept.filter(({ distance }) => distance < Infinity).slice(offset, offset + k);
      expect(sketchedResult.numRows).toBe(nearest.length);
      for (const [row, { distance }] of nearest.entries()) {
        const sketchedDistance = sketchedResult.getChild("_distance")?.get(row) as number;
        if (sketchedDistance === distance) continue;
        expect(Math.abs(sketchedDistance - distance)).toBeLessThanOrEqual(
          1e-4 * Math.max(1, Math.abs(distance)),
        );
      }
    });
    await fc.assert(property, { numRuns: runsOf("SKETCH_RUNS", 60) });
  });
});

describe("sketches", () => {
  it("exist from the second search of a column on, for all versions and branches", async ({
    ns: namespace,
  }) => {
    const id = ["t"];
    const rows = rowsOf("clusters", "float32", 0, 3);
    await namespace.createTable({ id }, tableToIPC(vectorTable("float32", DIMENSION, rows), "stream"));
    const vector = rows.find((row) => row.vector !== null)?.vector as number[];
    /** Number of compared rows. */
    const comparedBy = async (request: object): Promise<number> => {
      const text = await namespace.analyzeTableQueryPlan({ id, vector, k: 3, ...request });
      return Number(/Scan: .*metrics=\[rows=(\d+)/.exec(text)?.[1]);
    };
    expect(await comparedBy({})).toBe(ROWS);
    expect(await comparedBy({})).toBe(0);
    await namespace.deleteFromTable({ id, predicate: "id < 100" });
    expect(await comparedBy({})).toBe(0);
    expect(await comparedBy({ version: 1 })).toBe(0);
    await namespace.createTableBranch({ id, name: "b" });
    expect(await comparedBy({ branch: "b" })).toBe(0);
    // Too many wanted rows.
    expect(await comparedBy({ k: 3000 })).toBe(ROWS - 100);
  });

  it("serve concurrent searches, even with memory for some fragments only", async ({ root, open }) => {
    // Four slots besides the kernel's memory, one per fragment.
    const tight = open({ vectorCacheBytes: 1.4 * 2 ** 20 });
    const exact = new DirectoryNamespace({ root, durability: "none", vectorCacheBytes: 0 });
    const id = ["t"];
    for (let fragment = 0; fragment < 6; fragment++) {
      const rows = rowsOf("clusters", "float32", fragment * ROWS, fragment + 1);
      const bytes = tableToIPC(vectorTable("float32", DIMENSION, rows), "stream");
      if (fragment === 0) await tight.createTable({ id }, bytes);
      else await tight.insertIntoTable({ id }, bytes);
    }
    const next = randomNumbers(3);
    const vectors = Array.from({ length: 8 }, () => Array.from({ length: DIMENSION }, () => next() * 4 - 2));
    const ask = async (namespace: DirectoryNamespace, vector: number[], signal?: AbortSignal) => {
      const request = { id, vector, k: 5, columns: ["id"], signal };
      const result = await (await namespace.queryTable(request)).toArray();
      return result.map((row) => [row.id, row._distance]);
    };
    const wanted = await Promise.all(vectors.map((vector) => ask(exact, vector)));
    for (let round = 0; round < 3; round++) {
      expect(await Promise.all(vectors.map((vector) => ask(tight, vector)))).toEqual(wanted);
    }
    const text = await tight.analyzeTableQueryPlan({ id, vector: vectors[0], k: 5 });
    const compared = Number(/Scan: .*metrics=\[rows=(\d+)/.exec(text)?.[1]);
    expect(compared).toBeGreaterThan(0);
    expect(compared).toBeLessThan(6 * ROWS);
    // Aborted searches leave no unfinished sketch.
    const otherNamespace = new DirectoryNamespace({ root, durability: "none" });
    await ask(otherNamespace, vectors[0]);
    const controller = new AbortController();
    setImmediate(() => controller.abort(new Error("enough")));
    const { signal } = controller;
    const aborted = ask(otherNamespace, vectors[0], signal).catch((error: Error) => error.message);
    expect(["queryTable was aborted", wanted[0]]).toContainEqual(await aborted);
    for (const [index, vector] of vectors.entries())
      expect(await ask(otherNamespace, vector)).toEqual(wanted[index]);
    for (const namespace of [tight, exact, otherNamespace]) await namespace.close();
  });

  it("need memory", () => {
    const refused = (vectorCacheBytes: number) => () =>
      new DirectoryNamespace({ root: "/nowhere", vectorCacheBytes });
    expect(refused(-1)).toThrow(InvalidInputError);
    expect(refused(Number.NaN)).toThrow("vectorCacheBytes: must be a number of bytes");
  });
});
