/** Both engines build full-text indexes, and both find the same rows and scores in them. */

import { Index, MatchQuery, PhraseQuery } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";
import { buildIndex, withReference } from "../../support/indexedTable.js";

const root = sharedDirectory();
const namespace = sharedNamespace({ root });

const WORDS = ["apple", "running", "café", "the", "fox", "quickly", "university", "3", "naïve", "dogs"];
const textOf = (id: number): string | null =>
  id % 13 === 0
    ? null
    : Array.from({ length: id % 7 }, (_, index) => WORDS[(id * 7 + index * index * 3) % 10]).join(" ");

describe("our full-text index", () => {
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
        const ourRows = await opened
          .query()
          .fullTextSearch(query as never)
          .limit(2000)
          .toArray();
        return ourRows.map(({ id, _score }) => `${id}:${_score.toFixed(4)}`).sort();
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

it("an index without covered rows still defines the tokenizer", async () => {
  const rows = ["running dogs", "the run", "cat", "Dogs of cats"].map((t, id) => ({ id, t }));
  const scoresOf = (rows: { id: number; _score: number }[]) =>
    rows.map(({ id, _score }) => `${id}:${_score.toFixed(4)}`).sort();
  for (const isEmpty of [false, true]) {
    const name = `covers${isEmpty}`;
    await namespace.createTable({ id: [name] }, isEmpty ? [{ id: 9, t: "run" }] : rows);
    if (isEmpty) await namespace.deleteFromTable({ id: [name], predicate: "true" });
    await buildIndex(namespace, { id: [name], column: "t", indexType: "FTS" });
    if (isEmpty) await namespace.insertIntoTable({ id: [name] }, rows);
    else await namespace.updateTable({ id: [name], updates: [["t", "concat(t, ' x')"]] });
    for (const words of ["runs", "dog cat", "the", "x"]) {
      const here = await namespace
        .table([name])
        .query()
        .matching(words, { columns: ["t"] })
        .toArray();
      const there = await withReference(root, name, (table) =>
        table
          .query()
          .fullTextSearch(words, { columns: ["t"] })
          .limit(100)
          .toArray(),
      );
      expect(scoresOf(here as never), `${name}: ${words}`).toEqual(scoresOf(there));
    }
  }
});

it("without an index, a search reads the named column and needs its name", async () => {
  const rows = ["running dogs", "the run", "cat", "Run"].map((t, id) => ({ id, t }));
  await namespace.createTable({ id: ["plain"] }, rows);
  const table = namespace.table("plain").query();
  for (const words of ["run", "the cat", "Run"]) {
    const here = await table
      .matching(words, { columns: ["t"] })
      .select(["id"])
      .toArray();
    const there = await withReference(root, "plain", (opened) =>
      opened
        .query()
        .fullTextSearch(words, { columns: ["t"] })
        .limit(100)
        .toArray(),
    );
    expect(here.map(({ id }) => Number(id)).sort(), words).toEqual(there.map(({ id }) => Number(id)).sort());
  }
  await expect(table.matching("run").toArray()).rejects.toMatchObject({ type: "InvalidInput" });
  const unknown = { match: { terms: "run", column: "none" } };
  await expect(table.matching(unknown).toArray()).rejects.toMatchObject({ type: "TableColumnNotFound" });
  await expect(table.matching({ match: { terms: "run", column: "id" } }).toArray()).rejects.toMatchObject({
    type: "InvalidInput",
  });
  await buildIndex(namespace, { id: ["plain"], column: "t", indexType: "FTS" });
  await expect(table.matching({ phrase: { terms: "the run", column: "t" } }).toArray()).rejects.toMatchObject(
    { type: "InvalidInput", message: expect.stringContaining("withPosition") },
  );
  const ordered = await table.matching("run").orderBy("id").toArray();
  expect(ordered.map(({ id }) => Number(id))).toEqual([0, 1, 3]);
  expect(await table.matching("run").where("id > 0").explain()).toContain("TextSearch");
});

it("each list of texts is one document", async () => {
  const rows = Array.from({ length: 60 }, (_, id) => ({
    id,
    t: id % 7 === 3 ? null : [textOf(id) ?? "", "apple", textOf(id + 5) ?? ""],
  }));
  await namespace.createTable({ id: ["lists"] }, rows);
  await buildIndex(namespace, { id: ["lists"], column: "t", indexType: "FTS", withPosition: true });
  await namespace.insertIntoTable(
    { id: ["lists"] },
    rows.map((row) => ({ ...row, id: row.id + 100 })),
  );
  const pairs = [
    [{ match: { terms: "apple", column: "t" } }, new MatchQuery("apple", "t")],
    [{ match: { terms: "running fox", column: "t" } }, new MatchQuery("running fox", "t")],
    [{ phrase: { terms: "apple fox", column: "t" } }, new PhraseQuery("apple fox", "t")],
  ] as const;
  const scoresOf = (rows: { id: number; _score: number }[]) =>
    rows.map(({ id, _score }) => `${id}:${_score.toFixed(3)}`).sort();
  for (const [ours, theirs] of pairs) {
    const there = await withReference(root, "lists", (table) =>
      table.query().fullTextSearch(theirs).limit(500).toArray(),
    );
    const here = await namespace.table("lists").query().matching(ours).toArray();
    expect(scoresOf(here as never), JSON.stringify(ours)).toEqual(scoresOf(there as never));
  }
});
