/** Rows of equal scores come in disk order, for any limit and any way to find them. */

import { beforeAll, expect, it } from "vitest";
import { sharedNamespace } from "../../support/fixtures.js";
import { buildIndex } from "../../support/indexedTable.js";

const ROWS = 900;
const namespace = sharedNamespace();
beforeAll(async () => {
  const id = ["t"];
  const rows = Array.from({ length: ROWS }, (_, row) => ({
    id: row,
    t: `aa bb cc ${row % 2 === 0 ? "dd" : "ee ee"}${" pad".repeat(row % 3)}`,
  }));
  await namespace.createTable({ id }, rows.slice(0, 400));
  await namespace.insertIntoTable({ id }, rows.slice(400, 700));
  const cut = { stem: false, removeStopWords: false, withPosition: true } as const;
  await buildIndex(namespace, { id, column: "t", indexType: "FTS", ...cut });
  await namespace.insertIntoTable({ id }, rows.slice(700));
});

it.each([
  { phrase: { column: "t", terms: "aa bb" } },
  { phrase: { column: "t", terms: "bb cc dd" } },
  { phrase: { column: "t", terms: "aa cc", slop: 1 } },
  { match: { column: "t", terms: "aa" } },
  { match: { column: "t", terms: "ee", boost: 3 } },
  { match: { column: "t", terms: "ee", boost: 1e300 } },
  { match: { column: "t", terms: "ee", boost: 1e-300 } },
  { match: { column: "t", terms: "ee pad", boost: 0.3 } },
  { match: { column: "t", terms: "aa dd", operator: "And" } },
  { match: { column: "t", terms: "bx", fuzziness: 1 } },
  {
    boolean: {
      must: [{ match: { column: "t", terms: "aa" } }],
      should: [{ phrase: { column: "t", terms: "cc dd" } }],
    },
  },
] as const)("found by %j", async (query) => {
  const asked = namespace.table("t").query().matching(query).select(["id"]);
  const best = async (limit: number) => {
    const rows = (await asked.limit(limit).toArray()) as unknown as { id: number; _score: number }[];
    return rows.map(({ id, _score }) => ({ id: Number(id), _score }));
  };
  const all = await best(ROWS);
  expect(all.length).toBeGreaterThan(100);
  expect(all).toEqual(
    [...all].sort((a, b) => (a._score === b._score ? 0 : b._score - a._score) || a.id - b.id),
  );
  for (const limit of [1, 2, 7, 64, 100, 333]) expect(await best(limit)).toEqual(all.slice(0, limit));
});
