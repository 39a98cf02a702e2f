/** Arbitrary text searches return the rows and scores of a scan, with filters, limits and uncovered rows. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { sharedNamespace } from "../../support/fixtures.js";
import { buildIndex } from "../../support/indexedTable.js";
import { asked, type Match, type ModelQuery, type ModelRow, TextModel } from "../../support/textModel.js";

const namespace = sharedNamespace();

/** Words that differ by few letters, most frequent first. */
const WORDS = [
  "aa",
  "ab",
  "b",
  "abc",
  "abd",
  "bbc",
  "cab",
  "caba",
  "c1",
  "c12",
  "long",
  "longer",
  "lunge",
  "d",
  "e",
];
const word = fc.nat(224).map((drawn) => WORDS[Math.floor(Math.sqrt(drawn))]);
const words = (most: number) => fc.array(word, { minLength: 1, maxLength: most });
const text = fc.array(word, { maxLength: 18 });

const match: fc.Arbitrary<Match> = fc
  .record({
    words: words(4),
    operator: fc.constantFrom("And", "Or"),
    boost: fc.constantFrom(1, 0.5, 3),
    fuzziness: fc.constantFrom(0, 0, 0, 1, 2),
    prefixLength: fc.constantFrom(0, 1, 2),
    maxExpansions: fc.constantFrom(50, 50, 3),
  })
  .map(({ words: terms, ...options }) => ({ terms: terms.join(" "), column: "t", ...options }) as Match);
const phrase = fc
  .record({ words: fc.array(word, { minLength: 2, maxLength: 4 }), slop: fc.constantFrom(0, 0, 1, 3) })
  .map(({ words: terms, slop }): ModelQuery => ({ phrase: { terms: terms.join(" "), column: "t", slop } }));

const { query } = fc.letrec<{ query: ModelQuery }>((tie) => {
  const parts = (minLength: number) =>
    fc.array(tie("query"), { minLength, maxLength: 2, depthIdentifier: "q" });
  return {
    query: fc.oneof(
      { maxDepth: 2, depthIdentifier: "q" },
      match.map((each): ModelQuery => ({ match: each })),
      phrase,
      fc
        .array(match, { minLength: 1, maxLength: 3 })
        .map((each): ModelQuery => ({ multiMatch: { matchQueries: each } })),
      fc
        .record({
          positive: tie("query"),
          negative: tie("query"),
          negativeBoost: fc.constantFrom(0.25, 0.5, 2),
        })
        .map((boost): ModelQuery => ({ boost })),
      fc
        .record({ must: parts(0), should: parts(1), mustNot: parts(0) })
        .map((boolean): ModelQuery => ({ boolean })),
    ),
  };
});

const question = fc.record({
  query,
  /** Selects every nth row. */
  every: fc.constantFrom(1, 1, 2, 7),
  isPrefiltered: fc.boolean(),
  fastSearch: fc.constantFrom(false, false, true),
  limit: fc.constantFrom(null, 1, 5, 20),
  offset: fc.constantFrom(0, 0, 3),
});

/** Scores of several parts may differ by magnitudes, so the test compares float32. */
const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(a));

it("text searches return the rows and scores of a scan", async () => {
  let tables = 0;
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: 300 }),
      fc.array(text, { maxLength: 20 }),
      fc.array(question, { minLength: 10, maxLength: 30 }),
      fc.integer({ min: 2, max: 9 }),
      fc.constantFrom(128, 256),
      async (texts, more, questions, rest, blockSize) => {
        const id = [`t${tables++}`];
        const rowOf = (words: readonly string[], index: number) => ({ id: index, t: words.join(" ") });
        const half = Math.ceil(texts.length / 2);
        const rows = texts.map(rowOf);
        await namespace.createTable({ id }, rows.slice(0, half));
        if (half < rows.length) await namespace.insertIntoTable({ id }, rows.slice(half));
        const cut = { stem: false, removeStopWords: false, withPosition: true } as const;
        await buildIndex(namespace, { id, column: "t", indexType: "FTS", blockSize, ...cut });
        const others = more.map((words, index) => rowOf(words, texts.length + index));
        if (others.length > 0) await namespace.insertIntoTable({ id }, others);
        await namespace.deleteFromTable({ id, predicate: `id % ${rest} = 1` });
        const all = [...texts, ...more].map(
          (words, index): ModelRow => ({
            id: index,
            words,
            isIndexed: index < texts.length,
            isAlive: index % rest !== 1,
          }),
        );
        for (const { query: drawn, every, isPrefiltered, fastSearch, limit, offset } of questions) {
          const isSelected = (row: ModelRow) => row.id % every === 0;
          // A postfilter on the best rows depends on the order of ties.
          const comesFirst = isPrefiltered || limit !== null || every === 1;
          const model = new TextModel(all, comesFirst ? isSelected : () => true, fastSearch);
          const expected = [...model.search(drawn)]
            .filter(([row]) => row % every === 0)
            .sort(([idA, a], [idB, b]) => b - a || idA - idB);
          let search = namespace
            .table(id)
            .query()
            .matching(asked(drawn), { prefilter: comesFirst, fastSearch })
            .select(["id"]);
          if (every > 1) search = search.where(`id % ${every} = 0`);
          if (limit !== null) search = search.limit(limit).offset(offset);
          const rows = (await search.toArray()) as unknown as { id: number; _score: number }[];
          const page = limit === null ? expected : expected.slice(offset, offset + limit);
          const label = JSON.stringify({ drawn, every, comesFirst, fastSearch, limit, offset });
          expect(rows.length, label).toBe(page.length);
          const scores = new Map(expected);
          for (const [rank, row] of rows.entries()) {
            const score = scores.get(Number(row.id));
            expect(score !== undefined && isNear(score, row._score), `${label}: row ${row.id}`).toBe(true);
            expect(isNear(page[rank][1], row._score), `${label}: rank ${rank}`).toBe(true);
          }
          expect(new Set(rows.map((row) => Number(row.id))).size, label).toBe(rows.length);
          compared++;
        }
      },
    ),
    // The failure names the query. Shrinking takes minutes, since each attempt makes a table.
    { numRuns: 40, endOnFailure: true },
  );
  expect(compared).toBeGreaterThan(400);
});
