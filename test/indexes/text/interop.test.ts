/** Indexes of words that either engine builds, searched by both: the same rows with the same scores. */

import { DirectoryNamespace } from "tiltyard";
import { Index, MatchQuery, PhraseQuery } from "tiltyard-reference/session.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildIndex, withReference } from "../../support/indexedTable.js";
import { makeTempDir } from "../../support/tempDir.js";

let root: string;
let namespace: DirectoryNamespace;
beforeAll(async () => {
  root = await makeTempDir();
  namespace = new DirectoryNamespace({ root, durability: "none" });
});
afterAll(() => namespace.close());

const WORDS = ["apple", "running", "café", "the", "fox", "quickly", "university", "3", "naïve", "dogs"];
const textOf = (id: number): string | null =>
  id % 13 === 0
    ? null
    : Array.from({ length: id % 7 }, (_, at) => WORDS[(id * 7 + at * at * 3) % 10]).join(" ");

describe("an index of words built here", () => {
  it.each([
    { withPosition: false },
    { withPosition: true },
    { blockSize: 256 },
    { baseTokenizer: "ngram" },
    { stem: false, asciiFolding: false, removeStopWords: false },
  ])("answers the reference as its own: %o", async (parameters) => {
    const name = `built${Object.entries(parameters).flat().join("")}`;
    const rows = Array.from({ length: 1500 }, (_, id) => ({ id, t: textOf(id) }));
    await namespace.createTable({ id: [name] }, rows);
    await namespace.createTable({ id: [`${name}there`] }, rows);
    await buildIndex(namespace, { id: [name], column: "t", indexType: "FTS", ...parameters });
    const ofWindows = "baseTokenizer" in parameters && { stem: false, removeStopWords: false };
    const options = { ...parameters, ...ofWindows } as Parameters<typeof Index.fts>[0];
    await withReference(root, `${name}there`, async (table) => {
      await table.createIndex("t", { config: Index.fts(options) });
    });
    const scores = (table: string, query: unknown) =>
      withReference(root, table, async (opened) => {
        const found = await opened
          .query()
          .fullTextSearch(query as never)
          .limit(2000)
          .toArray();
        return found.map(({ id, _score }) => `${id}:${_score.toFixed(4)}`).sort();
      });
    const queries: unknown[] = [...WORDS, "apple fox", "running dogs 3"].map(
      (words) => new MatchQuery(words, "t"),
    );
    if (parameters.withPosition === true)
      queries.push(new PhraseQuery("apple fox", "t"), new PhraseQuery("running the", "t"));
    for (const query of queries)
      expect(await scores(name, query)).toEqual(await scores(`${name}there`, query));
  });
});
