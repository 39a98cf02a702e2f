/** Searches with an order: the rows that the search finds without one, sorted, and then cut. */

import fc from "fast-check";
import { DirectoryNamespace, type QueryTableRequest } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runsOf } from "../../support/effort.js";
import { makeTempDir } from "../../support/tempDir.js";

const ROWS = 90;
const ID = ["rows"];
const ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
afterAll(() => ns.close());

interface Row {
  readonly id: number;
  readonly city: string | null;
  readonly price: number | null;
}

const rowOf = (id: number) => ({
  id,
  city: id % 7 === 0 ? null : ["Oslo", "Bergen", "Åre"][id % 3],
  price: id % 5 === 0 ? null : (id * 37) % 11,
  text: `${"tree ".repeat(1 + (id % 4))}${"x ".repeat(id % 9)}`,
  vector: [(id * 31) % 17, (id * 7) % 13],
});

beforeAll(async () => {
  const rows = Array.from({ length: ROWS }, (_, id) => rowOf(id));
  await ns.createTable({ id: ID }, rows.slice(0, 50));
  await ns.insertIntoTable({ id: ID }, rows.slice(50));
  await ns.deleteFromTable({ id: ID, predicate: "id % 13 = 4" });
  const { jobId } = await ns.createTableIndex({ id: ID, column: "text", indexType: "FTS" });
  await ns.waitForJob({ jobId });
});

type Search = Omit<QueryTableRequest, "id">;
type Found = Row & { readonly query_index?: number };
const found = async (search: Search): Promise<Found[]> =>
  (await (
    await ns.queryTable({ id: ID, columns: ["id", "city", "price"], ...search })
  ).toArray()) as unknown as Found[];

interface Key {
  readonly columnName: "id" | "city" | "price";
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
}

/** Sorts like the engine: texts by their bytes, nulls at one end in either direction. */
function compared(first: Found, second: Found, keys: readonly Key[]): number {
  for (const { columnName, ascending, nullsFirst } of keys) {
    const [a, b] = [first[columnName], second[columnName]];
    if (a === b) continue;
    if (a === null || b === null) return (a === null) === nullsFirst ? -1 : 1;
    const isLess =
      typeof a === "string"
        ? Buffer.compare(Buffer.from(a), Buffer.from(String(b))) < 0
        : Number(a) < Number(b);
    return isLess === ascending ? -1 : 1;
  }
  return 0;
}

/** Returns the rows of the search, sorted and cut for each vector. */
async function model(search: Search, keys: readonly Key[], offset: number, limit: number): Promise<Found[]> {
  const rows = await found({ ...search, limit: offset + limit });
  return [...new Set(rows.map(({ query_index }) => query_index))].flatMap((query) =>
    rows
      .filter(({ query_index }) => query_index === query)
      .sort((first, second) => compared(first, second, keys))
      .slice(offset, offset + limit),
  );
}

const vector = [3.5, 4.25];
const fullTextQuery = { stringQuery: { query: "tree", columns: ["text"] } };
const SEARCHES: Readonly<Record<string, Search>> = {
  vector: { vector },
  vectors: { vector: [vector, [9, 9.5]] },
  filtered: { vector, filter: "price > 3" },
  postfiltered: { vector, filter: "price > 3", prefilter: false },
  text: { fullTextQuery },
  "filtered text": { fullTextQuery, filter: "city IS NOT NULL" },
  both: { vector, fullTextQuery },
};

describe.each(Object.entries(SEARCHES))("a search by %s", (_, search) => {
  it("returns its rows in the order of their keys", async () => {
    const key = fc.record({
      columnName: fc.constantFrom("id" as const, "city" as const, "price" as const),
      ascending: fc.boolean(),
      nullsFirst: fc.boolean(),
    });
    const keyLists = fc.array(key, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        keyLists,
        fc.nat(12),
        fc.integer({ min: 1, max: 60 }),
        async (orderBy, offset, limit) => {
          const rows = await found({ ...search, orderBy, offset, limit });
          expect(rows).toEqual(await model(search, orderBy, offset, limit));
        },
      ),
      { numRuns: runsOf("FOUND_ORDERS", 60) },
    );
  });
});

describe("an order of a search", () => {
  it("may name a column that is not returned, and one of the system", async () => {
    const ids = async (orderBy: QueryTableRequest["orderBy"]) =>
      (await found({ vector, orderBy, limit: 4, columns: ["id"] })).map(({ id }) => Number(id));
    const byDistance = await ids(undefined);
    expect(await ids("-_rowid")).toEqual([...byDistance].sort((first, second) => second - first));
    await expect(ids("-_distance")).rejects.toThrow(/_distance/);
    await expect(ids("vector")).rejects.toThrow(/can't be sorted by vector/);
  });

  it("is a step of the plan", async () => {
    const plan = async (search: Search) =>
      ns.explainTableQueryPlan({
        id: ID,
        query: { columns: ["id"], orderBy: "-id", limit: 3, offset: 2, ...search },
      });
    expect(await plan({ vector })).toMatch(
      /Take: .*\n +Sort: keys=\[id desc nulls last\], skip=2, limit=3\n +NearestRows: .*rows=5/,
    );
    expect(await plan({ fullTextQuery })).toMatch(
      /Take: .*\n +Sort: .*skip=2, limit=3\n +TextSearch: .*rows=5/,
    );
    expect(await ns.analyzeTableQueryPlan({ id: ID, vector, orderBy: "id" })).toMatch(
      /Sort: .*metrics=\[rows=10/,
    );
  });

  it("of no rows is no rows", async () => {
    expect(await found({ vector, filter: "id < 0", orderBy: "id" })).toEqual([]);
    expect(await found({ fullTextQuery: { stringQuery: { query: "nothing" } }, orderBy: "id" })).toEqual([]);
  });
});
