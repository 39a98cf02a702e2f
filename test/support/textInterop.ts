/** Text searches by either engine over indexes of either, before and after changes: equal rows and scores. */

import { DirectoryNamespace, type StructuredTextQuery } from "tiltyard";
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
import { afterAll, beforeAll, expect, it } from "vitest";
import { seedOf } from "./effort.js";
import { buildIndex, withReference } from "./indexedTable.js";
import { makeTempDir } from "./tempDir.js";
import { optionsThere } from "./tokensThere.js";

export interface Corpus {
  readonly name: string;
  readonly texts: readonly string[];
  /** Parameters of the index on the first column, which also has positions. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Parameters of the index on the second column. */
  readonly others: Readonly<Record<string, unknown>>;
}

interface Pair {
  readonly here: StructuredTextQuery;
  readonly there: unknown;
  /** True if the reference misses some rows: phrases of three or more words with a slop. */
  readonly isPassedOver?: boolean;
  readonly isFuzzy?: boolean;
}

interface Row {
  readonly id: number;
  readonly t: string | null;
  readonly u: string;
}

/** Deterministic pseudo-random numbers. */
export function drawing(first: number): (below: number) => number {
  let seed = first;
  return (below) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
}

class Queries {
  readonly #texts: readonly string[];
  readonly #draw: (below: number) => number;

  constructor(texts: readonly string[], draw: (below: number) => number) {
    this.#texts = texts;
    this.#draw = draw;
  }

  /** Words that stand together in some text. */
  #words(count: number, areNext: boolean): string {
    const draw = this.#draw;
    for (;;) {
      const words = this.#texts[draw(this.#texts.length)]
        .split(/[\s.,;:()`"'*#/]+/)
        .filter((word) => word !== "");
      if (words.length < count) continue;
      const first = draw(words.length - count + 1);
      if (areNext) return words.slice(first, first + count).join(" ");
      return Array.from({ length: count }, () => words[draw(words.length)]).join(" ");
    }
  }

  /**
   * Draws a query for words. A part of another query has no repeated ngrams, because the reference counts
   * these differently in uncovered rows.
   */
  match(isPart = false): Pair {
    const draw = this.#draw;
    const terms = this.#words(1 + draw(4), false);
    const drawn = draw(4) === 0 ? "u" : "t";
    const isAll = draw(2) === 0;
    const column = isPart && isAll ? "t" : drawn;
    const boost = [1, 2, 0.5][draw(3)];
    return {
      here: { match: { terms, column, operator: isAll ? "And" : "Or", boost } },
      there: new MatchQuery(terms, column, { operator: isAll ? Operator.And : Operator.Or, boost }),
    };
  }

  fuzzy(): Pair {
    const draw = this.#draw;
    const letters = Array.from(this.#words(1, false));
    const index = draw(letters.length);
    if (draw(3) > 0) letters.splice(index, draw(2), ...(draw(2) === 0 ? ["e"] : []));
    const terms = letters.join("") || "a";
    const [fuzziness, prefixLength, maxExpansions] = [1 + draw(2), draw(3), draw(4) === 0 ? 3 : 50];
    const options = { fuzziness, prefixLength, maxExpansions };
    return {
      here: { match: { terms, column: "t", ...options } },
      there: new MatchQuery(terms, "t", options),
      isFuzzy: true,
    };
  }

  phrase(isExact = false): Pair {
    const draw = this.#draw;
    const count = 2 + draw(3);
    const terms = this.#words(count, true);
    const slop = isExact ? 0 : draw(3);
    return {
      here: { phrase: { terms, column: "t", slop } },
      there: new PhraseQuery(terms, "t", { slop }),
      isPassedOver: slop > 0,
    };
  }

  compound(): Pair {
    const draw = this.#draw;
    const last = () => (draw(2) === 0 ? this.phrase(true) : this.match(true));
    const [a, b, c] = [this.match(true), this.match(true), last()];
    switch (draw(4)) {
      case 0:
        return {
          here: { boost: { positive: a.here, negative: b.here, negativeBoost: 0.25 } },
          there: new BoostQuery(a.there as never, b.there as never, { negativeBoost: 0.25 }),
        };
      case 1: {
        const terms = this.#words(2, false);
        const matchQueries = [
          { terms, column: "t", boost: 1 },
          { terms, column: "u", boost: 2 },
        ];
        return {
          here: { multiMatch: { matchQueries } },
          there: new MultiMatchQuery(terms, ["t", "u"], { boosts: [1, 2] }),
        };
      }
      case 2:
        return {
          here: { boolean: { should: [a.here, b.here, c.here] } },
          there: new BooleanQuery([
            [Occur.Should, a.there as never],
            [Occur.Should, b.there as never],
            [Occur.Should, c.there as never],
          ]),
        };
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
}

type Found = { id: number; _score: number };

const byId = (rows: readonly Found[]) => new Map(rows.map(({ id, _score }) => [Number(id), _score]));
const ascending = (ids: Iterable<number>) => [...ids].sort((a, b) => a - b);

async function expectSame(
  namespace: DirectoryNamespace,
  name: string,
  table: Table,
  pair: Pair,
  { filter, limit }: { readonly filter?: string; readonly limit?: number },
): Promise<void> {
  const label = `${JSON.stringify(pair.here)} ${filter ?? ""}`;
  let query = table.query().fullTextSearch(pair.there as never);
  if (filter !== undefined) query = query.where(filter);
  const there: Found[] = await query
    .select(["id", "_score"])
    .limit(limit ?? 100_000)
    .toArray();
  let asked = namespace.table([name]).query().matching(pair.here).select(["id"]);
  if (filter !== undefined) asked = asked.where(filter);
  if (limit !== undefined) asked = asked.limit(limit);
  const here = (await asked.toArray()) as unknown as Found[];
  for (let row = 1; row < here.length; row++) {
    expect(here[row]._score, label).toBeLessThanOrEqual(here[row - 1]._score);
  }
  if (limit !== undefined) {
    const scores = (rows: readonly Found[]) => rows.map(({ _score }) => _score).sort((a, b) => b - a);
    const [ours, theirs] = [scores(here), scores(there)];
    expect(ours.length, label).toBe(theirs.length);
    for (const [rank, score] of theirs.entries()) {
      expect(Math.abs(ours[rank] - score), `${label}: rank ${rank}`).toBeLessThan(toleranceOf(score));
    }
    return;
  }
  const theirs = byId(there);
  const ours = byId(here);
  const shared = [...ours.keys()].filter((id) => pair.isPassedOver !== true || theirs.has(id));
  expect(ascending(shared), label).toEqual(ascending(theirs.keys()));
  for (const [id, score] of theirs) {
    expect(Math.abs((ours.get(id) ?? 0) - score), `${label}: ${id}`).toBeLessThan(toleranceOf(score));
  }
}

/** Four decimals, fewer for scores beyond a thousand: they are single floats. */
const toleranceOf = (score: number): number => Math.max(1e-4, score * 2 ** -21);

/** Tests one corpus: an index of each engine, searched and changed by both. */
export function testCorpus({ name: corpusName, texts, parameters, others }: Corpus, rounds: number): void {
  let root: string;
  let namespace: DirectoryNamespace;
  beforeAll(async () => {
    root = await makeTempDir();
    namespace = new DirectoryNamespace({ root, durability: "none" });
  });
  afterAll(() => namespace.close());

  it.each([
    { builder: "them", actor: "us" },
    { builder: "us", actor: "them" },
  ])(`${corpusName}: indexed by $builder, changed by both, optimized by $actor`, async ({
    builder,
    actor,
  }) => {
    const draw = drawing(seedOf(builder === "us" ? 11 : 29));
    const queries = new Queries(texts, draw);
    const rowsFrom = (first: number, count: number): Row[] =>
      Array.from({ length: count }, (_, index) => ({
        id: first + index,
        t: draw(20) === 0 ? null : texts[(first + index) % texts.length],
        u: Array.from(texts[draw(texts.length)]).slice(0, 80).join(""),
      }));
    const name = `${builder}${actor}`;
    const kept = texts.length - 60;
    await namespace.createTable({ id: [name] }, rowsFrom(0, kept));
    const ofFirst = { withPosition: true, ...parameters };
    await withReference(root, name, async (table) => {
      if (builder === "them") {
        await table.createIndex("t", { config: Index.fts(optionsThere(ofFirst)) });
        await table.createIndex("u", { config: Index.fts(optionsThere(others)) });
      } else {
        await buildIndex(namespace, { id: [name], indexType: "FTS", column: "t", ...ofFirst });
        await buildIndex(namespace, { id: [name], indexType: "FTS", column: "u", ...others });
      }
      let asked = 0;
      const ask = async (isFuzzy: boolean): Promise<void> => {
        await table.checkoutLatest();
        const same = async (pair: Pair, options = {}) => {
          asked++;
          await expectSame(namespace, name, table, pair, options);
        };
        for (let round = 0; round < rounds; round++) {
          await same(queries.match());
          await same(queries.match(), { limit: 10 });
          await same(queries.match(), { filter: "id % 3 = 0" });
          await same(queries.match(), { filter: "id % 3 = 0", limit: 10 });
          await same(queries.match(), { filter: "id % 3 = 0", limit: 200 });
          await same(queries.phrase());
          await same(queries.compound());
          if (isFuzzy) await same(queries.fuzzy());
        }
      };
      await ask(true);
      await namespace.insertIntoTable({ id: [name] }, rowsFrom(kept, 30));
      await ask(true);
      await table.checkoutLatest();
      await table.add(rowsFrom(kept + 30, 30) as never);
      await namespace.deleteFromTable({ id: [name], predicate: "id % 5 = 1" });
      await ask(true);
      if (actor === "us") await namespace.optimizeTable({ id: [name] });
      else await table.optimize();
      await ask(true);
      await namespace.updateTable({ id: [name], updates: [["t", "u"]], predicate: "id % 11 = 2" });
      await table.checkoutLatest();
      await table.delete("id % 7 = 3");
      await ask(false);
      if (actor === "us") await table.optimize();
      else await namespace.optimizeTable({ id: [name] });
      await ask(true);
      expect(asked).toBeGreaterThanOrEqual(rounds * 40);
    });
  });
}
