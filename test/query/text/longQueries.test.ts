/** Queries of very many words and long texts run in steps, with the results of short ones. */

import { beforeAll, describe, expect, it } from "vitest";
import { runSync } from "../../../src/async/eventLoop.js";
import { Analyzer } from "../../../src/indexes/text/analyzer.js";
import { DEFAULT_TEXT_PARAMETERS } from "../../../src/indexes/text/parameters.js";
import { sharedNamespace } from "../../support/fixtures.js";
import { buildIndex } from "../../support/indexedTable.js";
import { TextModel } from "../../support/textModel.js";

const ROWS = 1500;
const WORDS = 2000;
const wordsOf = (row: number): string[] =>
  Array.from({ length: 3 + (row % 7) }, (_, index) => `w${(row * 31 + index * 977) % WORDS}`);
const all = Array.from({ length: WORDS }, (_, word) => `w${word}`);

const namespace = sharedNamespace();
const table = () => namespace.table<{ id: number; t: string }>("t").query().select(["id"]);
beforeAll(async () => {
  const id = ["t"];
  const rows = Array.from({ length: ROWS }, (_, row) => ({ id: row, t: wordsOf(row).join(" ") }));
  await namespace.createTable({ id }, rows.slice(0, 1200));
  const cut = { stem: false, removeStopWords: false, withPosition: true } as const;
  await buildIndex(namespace, { id, column: "t", indexType: "FTS", ...cut });
  await namespace.insertIntoTable({ id }, rows.slice(1200));
});

const model = new TextModel(
  Array.from({ length: ROWS }, (_, id) => ({ id, words: wordsOf(id), isIndexed: id < 1200, isAlive: true })),
  () => true,
  false,
);

async function turnsOf(work: () => Promise<void>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const turn = (): void => {
    turns++;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isDone = true;
  return turns;
}

describe("a query", () => {
  it.each(["Or", "And"] as const)("may have thousands of words: %s", async (operator) => {
    for (const words of [
      all.slice(0, 300),
      all,
      [...all, ...all.slice(0, 400)],
      [...wordsOf(5), ...wordsOf(5)],
    ]) {
      const match = { terms: words.join(" "), column: "t", operator } as const;
      const expected = [...model.search({ match: { ...match, fuzziness: 0 } as never })].sort(
        ([idA, a], [idB, b]) => b - a || idA - idB,
      );
      for (const limit of [3, ROWS]) {
        const rows = await table().matching({ match }).limit(limit).toArray();
        expect(rows).toHaveLength(Math.min(limit, expected.length));
        for (const [rank, { _score }] of rows.entries()) {
          expect(Math.abs(_score - expected[rank][1])).toBeLessThan(1e-5 * Math.max(1, _score));
        }
      }
    }
  });

  it("of very many words yields to the event loop", async () => {
    const terms = Array.from({ length: 60_000 }, (_, word) => `w${word}`).join(" ");
    const turns = await turnsOf(async () => {
      await table()
        .matching({ match: { terms, column: "t" } })
        .limit(5)
        .toArray();
    });
    expect(turns).toBeGreaterThan(10);
  });

  it("with misspelt members or both forms is refused", async () => {
    const { query } = { query: "w1" };
    for (const [fullTextQuery, message] of [
      [{ query, colums: ["t"] }, /colums.*columns/],
      [{ stringQuery: { query }, columns: ["t"] }, /fullTextQuery\.columns/],
      [
        { stringQuery: { query }, structuredQuery: { query: { match: { terms: query } } } },
        /give one of them/,
      ],
    ] as const) {
      await expect(namespace.queryTable({ id: ["t"], k: 3, fullTextQuery } as never)).rejects.toThrow(
        message,
      );
    }
  });
});

describe("a long text", () => {
  it.each([
    { ...DEFAULT_TEXT_PARAMETERS },
    { ...DEFAULT_TEXT_PARAMETERS, baseTokenizer: "whitespace", stem: false },
    { ...DEFAULT_TEXT_PARAMETERS, baseTokenizer: "raw", maxTokenLength: null, stem: false },
  ])("is cut in pieces as it is cut at once: $baseTokenizer", async (parameters) => {
    const analyzer = await Analyzer.load(parameters);
    const pieces = [
      "the ",
      "running, ",
      "Straße\t",
      "a-b ",
      "naïve\n",
      "𝒳y ",
      "x".repeat(50),
      " and ",
      "\0",
      "中文 ",
    ];
    const text = Array.from(
      { length: 30_000 },
      (_, index) => pieces[(index * 7 + (index >> 5)) % pieces.length],
    ).join("");
    const long = `${"z".repeat(40_000)} ${text}${"z".repeat(40_000)}`;
    for (const whole of ["", "one two", text, long]) {
      const expected: unknown[] = [];
      analyzer.tokens(whole, (...token) => expected.push(token));
      const results: unknown[] = [];
      runSync(analyzer.steps(whole, (...token) => results.push(token)));
      expect(results).toEqual(expected);
    }
  });
});
