import { tableFromIPC } from "apache-arrow";
import fc from "fast-check";
import type { Highlight, StructuredTextQuery } from "tiltyard";
import { beforeAll, describe, expect, it } from "vitest";
import { Analyzer } from "../../../src/indexes/text/analyzer.js";
import { DEFAULT_TEXT_PARAMETERS } from "../../../src/indexes/text/parameters.js";
import { hostileTexts } from "../../support/corpora.js";
import { runsOf } from "../../support/effort.js";
import { sharedNamespace } from "../../support/fixtures.js";
import { buildIndex } from "../../support/indexedTable.js";
import { startRestServer } from "../../support/restServer.js";

const namespace = sharedNamespace();

type Row = Record<string, unknown> & { readonly id: number };

/** Highlighted parts of texts, by row id. */
async function partsFound(
  table: string,
  rows: readonly Row[],
  query: string | StructuredTextQuery,
): Promise<Record<number, string[]>> {
  const matches = await namespace.table(table).query().matching(query, { highlight: true }).toArray();
  const entries = matches.map((each): [number, string[]] => {
    const id = Number(each.id);
    const row = rows.find((candidate) => candidate.id === id);
    return [id, partsOf(row ?? {}, (each._highlights ?? []) as readonly Highlight[])];
  });
  return Object.fromEntries(entries);
}

const partsOf = (row: Record<string, unknown>, highlights: readonly Highlight[]): string[] =>
  highlights.map(({ column, item, start, end }) => {
    const text = item === null ? row[column] : (row[column] as string[])[item];
    return (text as string).slice(start, end);
  });

const match = (terms: string, more: object = {}): StructuredTextQuery => ({
  match: { column: "t", terms, ...more },
});
const ROWS: Row[] = [
  { id: 0, t: "Running dogs run to 😀the naïve CAFÉ", u: "a dog" },
  { id: 1, t: "The quick brown fox, quick to jump; brown foxes", u: "runner" },
  { id: 2, t: "cafe\u0301s and cafés", u: null },
  { id: 3, t: "nothing of it", u: "the fox runs" },
];

describe.each([true, false])("highlights with an index: %s", (isIndexed) => {
  const table = `basic${isIndexed}`;
  beforeAll(async () => {
    await namespace.createTable({ id: [table] }, isIndexed ? ROWS : ROWS.slice(0, 1));
    for (const column of ["t", "u"]) {
      await buildIndex(namespace, { id: [table], column, indexType: "FTS", withPosition: true });
    }
    if (!isIndexed) await namespace.insertIntoTable({ id: [table] }, ROWS.slice(1));
  });
  const parts = (query: string | StructuredTextQuery) => partsFound(table, ROWS, query);

  it("include inflected forms", async () => {
    expect(await parts(match("runs cafe"))).toEqual({ 0: ["Running", "run", "CAFÉ"], 2: ["cafe", "cafés"] });
    expect(await parts("dog fox")).toEqual({
      0: ["dogs", "dog"],
      1: ["fox", "foxes"],
      3: ["fox"],
    });
    expect(await parts(match("the"))).toEqual({});
  });

  it("require all words if the query does", async () => {
    expect(await parts(match("fox brown", { operator: "And" }))).toEqual({
      1: ["brown", "fox", "brown", "foxes"],
    });
    const should = [match("fox run", { operator: "And" }), match("quick")];
    expect(await parts({ boolean: { should } })).toEqual({ 1: ["quick", "quick"] });
  });

  it("include only words in phrases", async () => {
    const phrase = (terms: string, slop = 0): StructuredTextQuery => ({
      phrase: { column: "t", terms, slop },
    });
    expect(await parts(phrase("brown foxes"))).toEqual({ 1: ["brown", "fox", "brown", "foxes"] });
    expect(await parts(phrase("quick brown"))).toEqual({ 1: ["quick", "brown"] });
    expect(await parts(phrase("quick jump", 1))).toEqual({ 1: ["quick", "jump"] });
    expect(await parts(phrase("jump quick"))).toEqual({});
  });

  it("include fuzzy matches", async () => {
    if (!isIndexed) return;
    expect(await parts(match("quik", { fuzziness: 1 }))).toEqual({ 1: ["quick", "quick"] });
  });

  it("exclude parts that lower the score", async () => {
    const boosted = { boost: { positive: match("fox"), negative: match("quick"), negativeBoost: 0.1 } };
    expect(await parts(boosted)).toEqual({ 1: ["fox", "foxes"] });
    const boolean = { must: [match("brown")], should: [match("nothing")], mustNot: [match("dog")] };
    expect(await parts({ boolean })).toEqual({ 1: ["brown", "brown"] });
  });
});

it("highlights number the texts of a list, including nulls", async () => {
  const rows: Row[] = [{ id: 0, t: ["one dog", null, "two", "dogs: three"] }];
  await namespace.createTable({ id: ["lists"] }, rows);
  await buildIndex(namespace, { id: ["lists"], column: "t", indexType: "FTS" });
  const [row] = await namespace.table("lists").search({ text: "dog", highlight: true }).toArray();
  expect(row._highlights).toEqual([
    { column: "t", item: 0, start: 4, end: 7 },
    { column: "t", item: 3, start: 0, end: 4 },
  ]);
});

it("highlights merge overlapping character windows", async () => {
  const rows: Row[] = [{ id: 0, t: "😀 the cafés" }];
  await namespace.createTable({ id: ["windows"] }, rows);
  await buildIndex(namespace, { id: ["windows"], column: "t", indexType: "FTS", baseTokenizer: "ngram" });
  expect(await partsFound("windows", rows, "cafe")).toEqual({ 0: ["café"] });
});

it("highlights of hostile texts are exactly the query words", async () => {
  const rows = hostileTexts(300).map((t, id) => ({ id, t }));
  await namespace.createTable({ id: ["hostile"] }, rows);
  await buildIndex(namespace, { id: ["hostile"], column: "t", indexType: "FTS" });
  const analyzer = await Analyzer.load(DEFAULT_TEXT_PARAMETERS);
  const tokensOf = (text: string): string[] => {
    const tokens: string[] = [];
    analyzer.tokens(text, (token) => tokens.push(token));
    return tokens;
  };
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...rows), async ({ t }) => {
      const wanted = new Set(tokensOf(t));
      if (wanted.size === 0) return;
      const parts = await partsFound("hostile", rows, match(t));
      for (const row of rows) {
        const having = tokensOf(row.t).filter((token) => wanted.has(token));
        expect((parts[row.id] ?? []).flatMap(tokensOf), row.t).toEqual(having);
      }
    }),
    { numRuns: runsOf("HIGHLIGHT_RUNS", 40) },
  );
});

it("highlights work over HTTP and in hybrid searches", async () => {
  const rows = ROWS.map((row) => ({ ...row, vector: [row.id, 1] }));
  await namespace.createTable({ id: ["both"] }, rows);
  await buildIndex(namespace, { id: ["both"], column: "t", indexType: "FTS" });
  const matches = await namespace
    .table("both")
    .query()
    .nearestTo([3, 1])
    .matching("fox", { highlight: true })
    .limit(2)
    .toArray();
  expect(
    matches.map(({ id, _highlights }) => [Number(id), partsOf(ROWS[Number(id)], _highlights ?? [])]),
  ).toEqual(expect.arrayContaining([[1, ["fox", "foxes"]]]));
  await using server = await startRestServer(namespace);
  const answer = await fetch(`${server.url}/v1/table/both/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      k: 5,
      columns: ["id"],
      full_text_query: { string_query: { query: "fox" } },
      highlight: true,
    }),
  });
  const [row] = tableFromIPC(new Uint8Array(await answer.arrayBuffer())).toArray();
  const fox = { column: "t", item: null, start: 16, end: 19 };
  expect(JSON.parse(JSON.stringify(row._highlights))).toEqual([fox, { ...fox, start: 42, end: 47 }]);
  const none = { id: ["both"], highlight: true };
  await expect(namespace.queryTable(none)).rejects.toMatchObject({ type: "InvalidInput" });
});
