/** Searches of texts by either engine over indexes of either: the same rows with the same scores. */

import { DirectoryNamespace } from "tiltyard";
import {
  BooleanQuery,
  BoostQuery,
  Index,
  MatchQuery,
  MultiMatchQuery,
  Occur,
  Operator,
  PhraseQuery,
  type Table,
} from "tiltyard-reference/session.js";
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

const WORDS = [
  ...["apple", "apples", "running", "runs", "café", "the", "fox", "foxes", "quickly", "university"],
  ...["universal", "3", "naïve", "dogs", "dog", "cat", "cot", "Paris", "generally", "happiness"],
];
let seed = 7;
const draw = (below: number): number => {
  seed = (seed * 1103515245 + 12345) % 2 ** 31;
  return Math.floor((seed / 2 ** 31) * below);
};
const text = (): string => Array.from({ length: draw(9) }, () => WORDS[draw(WORDS.length)]).join(" ");
const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    id: first + at,
    t: draw(20) === 0 ? null : text(),
    u: text(),
  }));

/** The same query for both engines. */
interface Pair {
  readonly here: object;
  readonly there: unknown;
}
const words = (count: number): string =>
  Array.from({ length: count }, () => WORDS[draw(WORDS.length)]).join(" ");
function match(fuzziness = 0): Pair {
  const terms = words(1 + draw(3));
  const column = draw(3) === 0 ? "u" : "t";
  const isAll = draw(2) === 0;
  const boost = 1 + draw(3);
  return {
    here: { match: { terms, column, operator: isAll ? "And" : "Or", boost, fuzziness } },
    there: new MatchQuery(terms, column, { operator: isAll ? Operator.And : Operator.Or, boost, fuzziness }),
  };
}
function phrase(): Pair {
  const terms = words(2 + draw(2));
  const slop = draw(3);
  return {
    here: { phrase: { terms, column: "t", slop } },
    there: new PhraseQuery(terms, "t", { slop }),
  };
}
function compound(): Pair {
  const [a, b, c] = [match(), match(), draw(2) === 0 ? phrase() : match()];
  switch (draw(3)) {
    case 0:
      return {
        here: { boost: { positive: a.here, negative: b.here, negativeBoost: 0.25 } },
        there: new BoostQuery(a.there as never, b.there as never, { negativeBoost: 0.25 }),
      };
    case 1: {
      const terms = words(2);
      return {
        here: { multiMatch: { query: terms, columns: ["t", "u"], boost: [1, 2] } },
        there: new MultiMatchQuery(terms, ["t", "u"], { boosts: [1, 2] }),
      };
    }
    default:
      return {
        here: { boolean: { must: [a.here], should: [b.here], mustNot: [c.here] } },
        there: new BooleanQuery([
          [Occur.Must, a.there as never],
          [Occur.Should, b.there as never],
          [Occur.MustNot, c.there as never],
        ]),
      };
  }
}

const byId = (found: { id: number; _score: number }[]) =>
  new Map(found.map(({ id, _score }) => [Number(id), _score]));

async function expectSame(name: string, table: Table, { here, there }: Pair, filter?: string): Promise<void> {
  const label = `${JSON.stringify(here)} ${filter ?? ""}`;
  let query = table.query().fullTextSearch(there as never);
  if (filter !== undefined) query = query.where(filter);
  const theirs = byId(await query.select(["id"]).limit(5000).toArray());
  const result = await namespace.queryTable({
    id: [name],
    fullTextQuery: { structuredQuery: { query: here } },
    columns: ["id"],
    filter,
  });
  const rows = (await result.toArray()) as unknown as { id: number; _score: number }[];
  for (let row = 1; row < rows.length; row++)
    expect(rows[row]._score).toBeLessThanOrEqual(rows[row - 1]._score);
  const ours = byId(rows);
  expect(
    [...ours.keys()].sort((a, b) => a - b),
    label,
  ).toEqual([...theirs.keys()].sort((a, b) => a - b));
  for (const [id, score] of theirs)
    expect(Math.abs((ours.get(id) ?? 0) - score), `${label}: ${id}`).toBeLessThan(1e-4);
}

describe.each(["reference", "engine"])("texts indexed by the %s", (builder) => {
  it("are found with the same scores before and after changes by either", { timeout: 60_000 }, async () => {
    const name = `by${builder}`;
    await namespace.createTable({ id: [name] }, rowsFrom(0, 700));
    await withReference(root, name, async (table) => {
      if (builder === "reference") {
        await table.createIndex("t", { config: Index.fts({ withPosition: true }) });
        await table.createIndex("u", { config: Index.fts({ stem: false, removeStopWords: false }) });
      } else {
        const request = { id: [name], indexType: "FTS" };
        await buildIndex(namespace, { ...request, column: "t", withPosition: true });
        await buildIndex(namespace, { ...request, column: "u", stem: false, removeStopWords: false });
      }
      const ask = async (count: number): Promise<void> => {
        await table.checkoutLatest();
        for (let round = 0; round < count; round++) {
          await expectSame(name, table, match());
          await expectSame(name, table, phrase());
          await expectSame(name, table, compound());
          await expectSame(name, table, match(), "id % 3 = 0");
        }
      };
      await ask(15);
      for (let round = 0; round < 10; round++) await expectSame(name, table, match(1 + draw(2)));
      await namespace.insertIntoTable({ id: [name] }, rowsFrom(1000, 60));
      await ask(8);
      await namespace.deleteFromTable({ id: [name], predicate: "id % 5 = 1" });
      await ask(8);
      if (builder === "engine") await table.optimize();
      else await namespace.waitForJob(await namespace.optimizeTable({ id: [name] }));
      await ask(8);
    });
  });
});
