/** Vector searches give the rows and distances of the definition, for any filters, deletions and offsets. */

import { Table, tableToIPC, vectorFromArray } from "apache-arrow";
import fc from "fast-check";
import { InvalidInputError, TableColumnNotFoundError } from "tiltyard";
import { beforeAll, describe, expect, it } from "vitest";
import { int32s, listOf } from "../../support/arrowColumns.js";
import { sharedNamespace } from "../../support/fixtures.js";
import {
  distanceOf,
  type Found,
  type NearRow,
  nearestOf,
  randomNumbers,
  randomVector,
  type TestItem,
  type TestMetric,
  type TestRow,
  testRows,
  vectorTable,
  vectorType,
} from "../../support/vectorTables.js";

const DIMENSION = 7;
const ITEMS: readonly TestItem[] = ["float16", "float32", "float64", "uint8"];

const namespace = sharedNamespace();
/** Live rows of each version of each table, by item type. */
const versions = new Map<TestItem, Map<number, TestRow[]>>();
beforeAll(async () => {
  for (const [index, item] of ITEMS.entries()) {
    const id = [item];
    const versionRows = new Map<number, TestRow[]>();
    versions.set(item, versionRows);
    let rows = testRows(item, DIMENSION, 300, index + 1);
    const stableRowIds = index % 2 === 1;
    const data = tableToIPC(vectorTable(item, DIMENSION, rows), "stream");
    const { version } = await namespace.createTable({ id, stableRowIds }, data);
    versionRows.set(version, rows);
    const more = testRows(item, DIMENSION, 120, index + 50, 300);
    const appended = await namespace.insertIntoTable(
      { id },
      tableToIPC(vectorTable(item, DIMENSION, more), "stream"),
    );
    rows = [...rows, ...more];
    versionRows.set(appended.version, rows);
    const { version: deleted } = await namespace.deleteFromTable({ id, predicate: "id % 7 = 3" });
    rows = rows.filter(({ id: rowId }) => rowId % 7 !== 3);
    versionRows.set(deleted, rows);
  }
});

const metricsOf = (item: TestItem): readonly TestMetric[] =>
  item === "uint8" ? ["hamming"] : ["l2", "cosine", "dot"];

/** Compares distances approximately, and rows up to ties. */
function expectNearest(rows: readonly Found[], wanted: readonly NearRow[], all: readonly NearRow[]): void {
  const byId = new Map(all.map(({ id, distance }) => [id, distance]));
  expect(rows).toHaveLength(wanted.length);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  for (const [row, { id, _distance }] of rows.entries()) {
    const tolerance = 1e-5 * Math.max(1, Math.abs(wanted[row].distance));
    expect(Math.abs(_distance - wanted[row].distance)).toBeLessThanOrEqual(tolerance);
    expect(Math.abs(_distance - (byId.get(id) ?? Number.NaN))).toBeLessThanOrEqual(tolerance);
    if (row > 0) expect(_distance).toBeGreaterThanOrEqual(rows[row - 1]._distance);
  }
}

const filters: readonly { readonly text: string; readonly keeps: (row: TestRow) => boolean }[] = [
  { text: "id >= 100", keeps: ({ id }) => id >= 100 },
  { text: '"group" = 3', keeps: ({ group }) => group === 3 },
  { text: "id in (1, 5, 77, 400)", keeps: ({ id }) => [1, 5, 77, 400].includes(id) },
  { text: "id < 0", keeps: () => false },
];

describe.each(ITEMS)("vectors of %s", (item) => {
  it.each(metricsOf(item))("are found by %s", async (distanceType) => {
    const question = fc.record({
      seed: fc.integer({ min: 1, max: 1e6 }),
      version: fc.constantFrom(...(versions.get(item) ?? new Map()).keys()),
      k: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(1000, 2_000_000)),
      offset: fc.constantFrom(0, 0, 3),
      filter: fc.constantFrom(null, null, ...filters),
      prefilter: fc.boolean(),
      bounds: fc.constantFrom(null, null, 0.1, 0.5),
    });
    await fc.assert(
      fc.asyncProperty(question, async ({ seed, version, k, offset, filter, prefilter, bounds }) => {
        const query = randomVector(item, DIMENSION, randomNumbers(seed));
        const rows = versions.get(item)?.get(version) ?? [];
        const all = nearestOf(distanceType, rows, query);
        // Between two distances, and equal to neither as float32.
        const between = (from: number) => {
          let index = from;
          while (all[index + 1].distance - all[index].distance < 1e-5) index++;
          return (all[index].distance + all[index + 1].distance) / 2;
        };
        const [lowerBound, upperBound] =
          bounds === null
            ? []
            : [between(Math.floor(all.length * bounds * 0.5)), between(Math.floor(all.length * bounds))];
        const inBounds = all.filter(
          ({ distance }) => distance >= (lowerBound ?? -Infinity) && distance < (upperBound ?? Infinity),
        );
        const keeps = (row: NearRow) =>
          filter === null || filter.keeps(rows.find(({ id }) => id === row.id) as TestRow);
        const wanted = prefilter ? inBounds.filter(keeps) : inBounds.slice(0, offset + k).filter(keeps);
        const result = await namespace.queryTable({
          ...{
            id: [item],
            version,
            vector: query,
            k,
            offset,
            distanceType,
            lowerBound,
            upperBound,
            prefilter,
          },
          ...(filter !== null && { filter: filter.text }),
        });
        const foundRows = (await result.toArray()) as unknown as Found[];
        expectNearest(foundRows, wanted.slice(offset, offset + k), all);
      }),
      { numRuns: 25 },
    );
  });
});

describe("a vector search", () => {
  const id = ["float32"];
  const vector = Array.from({ length: DIMENSION }, (_, index) => index / 10);
  const names = async (request: object): Promise<string[]> =>
    (await namespace.queryTable({ id, vector, ...request })).schema.fields.map(({ name }) => name);

  it("returns ten rows with the columns of the table and the distance", async () => {
    const table = await (await namespace.queryTable({ id, vector })).toArrow();
    expect(table.numRows).toBe(10);
    expect(table.schema.fields.map(({ name, type }) => `${name}: ${type}`).slice(-1)).toEqual([
      "_distance: Float32",
    ]);
    expect(await names({})).toEqual(["id", "group", "v", "_distance"]);
  });

  it("returns the distance at its requested position, or last", async () => {
    expect(await names({ columns: ["id"] })).toEqual(["id", "_distance"]);
    expect(await names({ columns: ["_distance", "id"] })).toEqual(["_distance", "id"]);
    expect(await names({ columns: [], withRowId: true })).toEqual(["_distance", "_rowid"]);
    const columnAliases = { far: "_distance > 1", twice: "_distance * 2", next: "id + 1" };
    const rows = await (await namespace.queryTable({ id, vector, columns: { columnAliases } })).toArray();
    for (const row of rows) {
      expect(row.far).toBe((row._distance as number) > 1);
      expect(row.twice).toBeCloseTo((row._distance as number) * 2, 5);
    }
  });

  it("numbers the rows of several vectors", async () => {
    const next = randomNumbers(9);
    const vectors = Array.from({ length: 3 }, () => randomVector("float32", DIMENSION, next));
    const rows = versions.get("float32");
    const latest = rows?.get(Math.max(...rows.keys())) ?? [];
    const request = { id, vector: vectors, k: 4, offset: 1, columns: ["id"] };
    const result = await (await namespace.queryTable(request)).toArray();
    for (const [query, queryVector] of vectors.entries()) {
      const all = nearestOf("l2", latest, queryVector);
      const part = result.filter((row) => row.query_index === query) as unknown as Found[];
      expectNearest(part, all.slice(1, 5), all);
    }
    expect(result).toHaveLength(12);
  });

  it("sorts on disk if the rows of several vectors exceed memory", async () => {
    const next = randomNumbers(77);
    const vectors = Array.from({ length: 3 }, () => randomVector("float32", DIMENSION, next));
    const request = { id, vector: vectors, columns: ["id"] };
    const few = await (await namespace.queryTable({ ...request, k: 50 })).toArray();
    const all = await (await namespace.queryTable({ ...request, k: 2 ** 19 })).toArray();
    for (const query of vectors.keys()) {
      const of = (rows: readonly { query_index?: unknown; id?: unknown }[]) =>
        rows.filter((row) => row.query_index === query).map((row) => row.id);
      expect(of(all).slice(0, 50)).toEqual(of(few));
    }
  });

  it("returns fewer rows of a small table", async () => {
    const many = Array.from({ length: 1025 }, () => vector);
    await expect(namespace.queryTable({ id, vector: many })).rejects.toThrow(
      "at most 1024 vectors, not 1025",
    );
  });

  it("accepts typed arrays and the members of the specification", async () => {
    const wanted = await (await namespace.queryTable({ id, vector, columns: ["id"] })).toArray();
    for (const vectorForm of [
      Float32Array.from(vector),
      Float64Array.from(vector),
      { singleVector: vector },
    ]) {
      const result = await (
        await namespace.queryTable({ id, vector: vectorForm, columns: ["id"] })
      ).toArray();
      expect(result.map((row) => row.id)).toEqual(wanted.map((row) => row.id));
    }
  });

  it("filters by distance afterwards", async () => {
    const request = { id, vector, k: 20, filter: "_distance > 3.0", prefilter: false };
    const rows = await (await namespace.queryTable(request)).toArray();
    expect(rows.length).toBeLessThan(20);
    for (const row of rows) expect(row._distance).toBeGreaterThan(3);
    await expect(namespace.queryTable({ ...request, prefilter: true })).rejects.toThrow(
      TableColumnNotFoundError,
    );
  });

  it("appears in plans", async () => {
    const plan = await namespace.explainTableQueryPlan({
      id,
      query: { vector, k: 3, filter: "id > 5", columns: ["id"] },
    });
    expect(plan).toContain("NearestRows: column=v, distanceType=l2, vectors=1, rows=3");
    expect(plan).toContain("Filter: condition=id > 5");
    const measured = await namespace.analyzeTableQueryPlan({ id, vector, k: 3 });
    expect(measured).toMatch(/NearestRows: .*metrics=\[rows=3,/);
  });
});

describe("rows of several vectors", () => {
  const id = ["multi"];
  const lists = [
    [
      [1, 0],
      [0, 1],
    ],
    [[1, 1]],
    null,
    [
      [-1, 0],
      [0, -1],
      [0.6, 0.8],
    ],
    [[2, 0]],
    [],
  ];
  beforeAll(async () => {
    const type = listOf(vectorType("float32", 2));
    const table = new Table({
      id: int32s(lists.map((_, row) => row)),
      v: vectorFromArray(lists, type),
    });
    await namespace.createTable({ id }, tableToIPC(table, "stream"));
  });

  it.each([
    "cosine",
    "l2",
    "dot",
  ] as const)("are near by the nearest of their vectors, by %s", async (distanceType) => {
    const queries = [
      [1, 0.2],
      [0, 1],
    ];
    const wanted = lists
      .flatMap((list, row) =>
        list === null || list.length === 0
          ? []
          : {
              id: row,
              distance: queries
                .map((query) =>
                  Math.min(...list.map((rowVector) => distanceOf(distanceType, rowVector, query))),
                )
                .reduce((all, value) => all + value, 0),
            },
      )
      .sort((a, b) => a.distance - b.distance);
    const result = await (await namespace.queryTable({ id, vector: queries, distanceType })).toArray();
    expectNearest(result as unknown as Found[], wanted, wanted);
    const flat = await (await namespace.queryTable({ id, vector: queries.flat(), distanceType })).toArray();
    expect(flat.map((row) => row.id)).toEqual(result.map((row) => row.id));
  });
});

describe("a refused search", () => {
  const id = ["float32"];
  const vector = new Array(DIMENSION).fill(0.5);
  const refused = (request: object) => expect(namespace.queryTable({ id, vector, ...request }));

  it("names the column and both dimensions", async () => {
    await refused({ vector: [1, 2] }).rejects.toThrow("has 2 dimensions, and the vectors of column v have 7");
  });

  it.each([
    [{ vector: [Number.NaN, 1] }, "vector[0]: must be a finite number"],
    [{ vector: [] }, "vector: has no numbers"],
    [{ vector: "near" }, "vector: must be a list of numbers"],
    [{ vector: [[1], "x"] }, "vector[1]: must be a list of numbers"],
    [{ distanceType: "l1" }, "distanceType: must be one of l2, cosine, dot, hamming"],
    [
      { distanceType: "hamming" },
      "distanceType: must be l2, cosine, dot for column v, whose vectors are of float32, not hamming",
    ],
    [{ vectorColumn: "id" }, "vectorColumn: id is a column of int32, not of vectors"],
    [{ lowerBound: Number.NaN }, "lowerBound: must be a number"],
    [{ nprobes: 0 }, "nprobes: must be an integer of at least 1"],
    [{ minimumNprobes: 5, maximumNprobes: 4 }, "maximumNprobes: must be at least minimumNprobes"],
    [{ limit: 3, k: 4 }, "limit and k: give one of them"],
    [{ prefilter: 1 }, "prefilter"],
  ] as const)("is refused: %j", async (request, message) => {
    const error = await namespace
      .queryTable({ id, vector, ...(request as object) })
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error.message).toContain(message);
  });

  it("names the missing column", async () => {
    await refused({ vectorColumn: "w" }).rejects.toThrow(TableColumnNotFoundError);
  });

  it("needs the column name among several or no vector columns", async () => {
    const columns = { id: int32s([1]) };
    await namespace.createTable({ id: ["none"] }, tableToIPC(new Table(columns), "stream"));
    await expect(namespace.queryTable({ id: ["none"], vector })).rejects.toThrow("no column of vectors");
    const vectors = (dimension: number) =>
      vectorFromArray([new Array(dimension).fill(1)], vectorType("float32", dimension));
    const table = new Table({ a: vectors(2), b: vectors(2), c: vectors(3) });
    await namespace.createTable({ id: ["two"] }, tableToIPC(table, "stream"));
    await expect(namespace.queryTable({ id: ["two"], vector: [1, 2] })).rejects.toThrow(
      "vectorColumn: must be given, because vectors are in a (2 dimensions), b (2 dimensions), c (3 dimensions)",
    );
    expect(await (await namespace.queryTable({ id: ["two"], vector: [1, 2, 3] })).toArray()).toHaveLength(1);
    const named = await namespace.queryTable({ id: ["two"], vector: [1, 2], vectorColumn: "b" });
    expect(await named.toArray()).toHaveLength(1);
  });
});

describe("a table handle", () => {
  const vector = Float32Array.from({ length: DIMENSION }, (_, index) => index / 10);

  it("finds the nearest rows, by builder and by one call", async () => {
    const table = namespace.table("float32");
    const steps = table
      .query()
      .nearestTo(vector, { distanceType: "cosine" })
      .where("id > 9")
      .select(["id"])
      .limit(5);
    const rows = await steps.toArray();
    const runSync = await table.search({ vector, distanceType: "cosine", filter: "id > 9", k: 5 }).toArray();
    expect(rows).toHaveLength(5);
    expect(rows.map((row) => row.id)).toEqual(runSync.map((row) => row.id));
    expect(await steps.explain()).toContain("NearestRows");
    expect(() => table.query().nearestTo(vector, { metric: "l2" } as object)).toThrow("metric");
  });
});
