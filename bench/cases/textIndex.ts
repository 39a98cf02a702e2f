/**
 * Indexes of words on half a million texts: building them, and searches. Both sides search the same index.
 */

import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import type { DirectoryNamespace, StructuredTextQuery } from "tiltyard";
import {
  arrow as arrowThere,
  Index,
  MatchQuery,
  Operator,
  PhraseQuery,
  rerankers,
} from "tiltyard-reference/session.js";
import type { BenchCase, Side, Size } from "../case.js";
import { type Contestant, runFresh } from "../runFresh.js";
import { openReference, openTiltyard, type ReferenceRows } from "../sides.js";
import { FIRST_CONTENT_RANK, textRows, wordOf } from "../textData.js";
import { queryVectors, rowsFrom as vectorRows } from "../vectorData.js";

const ROWS: Readonly<Record<Size, number>> = { small: 2000, large: 500_000 };
const FRAGMENTS = 4;
/** Rows that a search by vector and text finds. */
const NEAREST = 10;
async function createRows(ns: DirectoryNamespace, name: string, size: Size): Promise<void> {
  const rowCount = ROWS[size] / FRAGMENTS;
  for (let fragment = 0; fragment < FRAGMENTS; fragment++) {
    const rows = tableToIPC(textRows(fragment * rowCount, rowCount), "stream");
    if (fragment === 0) await ns.createTable({ id: [name] }, rows);
    else await ns.insertIntoTable({ id: [name] }, rows);
  }
}

async function createIndex(ns: DirectoryNamespace, name: string, withPosition: boolean): Promise<void> {
  const asked = { id: [name], column: "text", indexType: "FTS", withPosition } as const;
  const { jobId } = await ns.createTableIndex(asked);
  await ns.waitForJob({ jobId });
}

// ------------------------------------------------------------------------------------------------- building

function build(withPosition: boolean): BenchCase {
  return {
    area: "write",
    name: `build FTS${withPosition ? " with positions" : ""}, 500,000 texts`,
    rounds: { small: 1, large: 3 },
    collectFirst: true,
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const ns = openTiltyard(root);
      const reference = await openReference(root);
      await createRows(ns, "ours", size);
      await createRows(ns, "theirs", size);
      const table = await reference.openTable("theirs");
      const dropped = async (name: string): Promise<void> => {
        const { indexes } = await ns.listTableIndices({ id: [name] });
        if (indexes.length > 0) await ns.dropTableIndex({ id: [name], indexName: "text_idx" });
      };
      return {
        work: { amount: ROWS[size], unit: "rows" },
        sides: [
          {
            name: "tiltyard",
            reset: () => dropped("ours"),
            run: () => createIndex(ns, "ours", withPosition),
          },
          {
            name: "reference",
            reset: () => dropped("theirs"),
            run: () => table.createIndex("text", { config: Index.fts({ withPosition }) }),
          },
        ],
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  };
}

// ------------------------------------------------------------------------------------------------- asking

interface Question {
  readonly name: string;
  readonly limit: number;
  readonly here: StructuredTextQuery;
  readonly there: MatchQuery | PhraseQuery;
  readonly filter?: string;
}

const column = "text";
/** Returns words by rank: a frequent one, one in every few hundred texts, and a rare one. */
const wordsOf = (...ranks: number[]): string =>
  ranks.map((rank) => wordOf(FIRST_CONTENT_RANK + rank)).join(" ");
const MIXED = wordsOf(8, 300, 9000);
const FREQUENT = wordsOf(2, 5, 11);
const PAIR = wordsOf(1, 3);
const MISSPELT = `${wordsOf(700)}x`;

const match = (terms: string) => ({
  here: { match: { terms, column } },
  there: new MatchQuery(terms, column),
});
const QUESTIONS: readonly Question[] = [
  { name: "match of one word, top 10", limit: 10, ...match(wordsOf(40)) },
  { name: "match of three words, top 10", limit: 10, ...match(MIXED) },
  { name: "match of three words, top 1,000", limit: 1000, ...match(MIXED) },
  { name: "match of frequent words, top 10", limit: 10, ...match(FREQUENT) },
  {
    name: "match of all of three words, top 10",
    limit: 10,
    here: { match: { terms: FREQUENT, column, operator: "And" } },
    there: new MatchQuery(FREQUENT, column, { operator: Operator.And }),
  },
  {
    name: "phrase of two words, top 10",
    limit: 10,
    here: { phrase: { terms: PAIR, column } },
    there: new PhraseQuery(PAIR, column),
  },
  {
    name: "fuzzy match, top 10",
    limit: 10,
    here: { match: { terms: MISSPELT, column, fuzziness: 1 } },
    there: new MatchQuery(MISSPELT, column, { fuzziness: 1 }),
  },
  { name: "match with a filter, top 10", limit: 10, ...match(MIXED), filter: "id % 10 = 3" },
  { name: "match with a filter, top 1,000", limit: 1000, ...match(MIXED), filter: "id % 10 = 3" },
];

function search({ name, limit, here, there, filter }: Question): BenchCase {
  return {
    area: "read",
    name: `${name}, 500,000 texts`,
    rounds: { small: 2, large: 40 },
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const ns = openTiltyard(root);
      await createRows(ns, "t", size);
      await createIndex(ns, "t", true);
      const reference = await openReference(root);
      const table = await reference.openTable("t");
      const theirs = async (): Promise<number> => {
        const asked = table.query().fullTextSearch(there);
        const filtered = filter === undefined ? asked : asked.where(filter);
        return (await filtered.select(["id", "_score"]).limit(limit).toArrow()).numRows;
      };
      const ours = async (): Promise<number> => {
        const asked = ns.table("t").query().matching(here).select(["id"]).limit(limit);
        return (await (filter === undefined ? asked : asked.where(filter)).toArrow()).numRows;
      };
      const expected = await theirs();
      const side = (sideName: Side["name"], answer: () => Promise<number>): Side => ({
        name: sideName,
        async run() {
          const result = await answer();
          if (result !== expected) throw new Error(`${name}: ${result} rows, not ${expected}`);
        },
      });
      return {
        work: { amount: 1, unit: "calls" },
        sides: [side("tiltyard", ours), side("reference", theirs)],
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  };
}

/**
 * Vectors are few and searched exactly: what is compared is two searches, and putting their rows in one
 * order.
 */
const HYBRID_ROWS: Readonly<Record<Size, number>> = { small: 500, large: 20_000 };

const hybrid: BenchCase = {
  area: "read",
  name: "vector and text at once, top 10, 20,000 texts",
  rounds: { small: 2, large: 40 },
  async prepare(directory, size) {
    const root = join(directory, "tables");
    const ns = openTiltyard(root);
    const count = HYBRID_ROWS[size];
    const texts = textRows(0, count);
    const rows = texts.assign(vectorRows(0, count).select(["v"]));
    await ns.createTable({ id: ["t"] }, tableToIPC(rows, "stream"));
    await createIndex(ns, "t", false);
    const reference = await openReference(root);
    const table = await reference.openTable("t");
    const reranker = await rerankers.RRFReranker.create();
    const next = { ours: queryVectors(), theirs: queryVectors() };
    const expectAll = (result: number): void => {
      if (result !== NEAREST) throw new Error(`hybrid: ${result} rows, not ${NEAREST}`);
    };
    return {
      work: { amount: 1, unit: "calls" },
      sides: [
        {
          name: "tiltyard",
          async run() {
            const query = ns.table("t").query().nearestTo(next.ours()).matching(MIXED);
            expectAll((await query.select(["id"]).limit(NEAREST).toArrow()).numRows);
          },
        },
        {
          name: "reference",
          async run() {
            const query = table.query().nearestTo(next.theirs()).fullTextSearch(match(MIXED).there);
            expectAll((await query.rerank(reranker).select(["id"]).limit(NEAREST).toArrow()).numRows);
          },
        },
      ],
      async close() {
        await ns.close();
        reference.close();
      },
    };
  },
};

// ------------------------------------------------------------------------------------------------- new texts

const NEW_ROWS: Readonly<Record<Size, number>> = { small: 200, large: 1000 };

/** Every few texts have one of them. */
const SOUGHT = wordsOf(0, 1, 2, 3, 4, 5, 6, 7);

/** Texts that were appended are found at once, although no index covers them. */
const lag: BenchCase = {
  area: "write",
  name: "append of 1,000 texts and a match of them, 500,000 texts",
  rounds: { small: 1, large: 10 },
  async prepare(directory, size) {
    const root = join(directory, "tables");
    const ns = openTiltyard(root);
    const reference = await openReference(root);
    for (const name of ["ours", "theirs"]) {
      await createRows(ns, name, size);
      await createIndex(ns, name, false);
    }
    const { version } = await ns.describeTable({ id: ["ours"] });
    const table = await reference.openTable("theirs");
    const before = await table.version();
    const bytes = tableToIPC(textRows(ROWS[size], NEW_ROWS[size]), "stream");
    const rows = arrowThere.tableFromIPC(bytes) as unknown as ReferenceRows;
    const expectNew = (ids: readonly unknown[]): void => {
      if (!ids.some((id) => Number(id) >= ROWS[size])) throw new Error("no text was found that was appended");
    };
    const limit = ROWS[size];
    return {
      work: { amount: NEW_ROWS[size], unit: "rows" },
      sides: [
        {
          name: "tiltyard",
          reset: async () => void (await ns.restoreTable({ id: ["ours"], version: Number(version) })),
          async run() {
            await ns.insertIntoTable({ id: ["ours"] }, bytes);
            const asked = ns.table("ours").query().matching(match(SOUGHT).here).select(["id"]).limit(limit);
            expectNew([...((await asked.toArrow()).getChild("id") ?? [])]);
          },
        },
        {
          name: "reference",
          async reset() {
            await table.checkout(before);
            await table.restore();
          },
          async run() {
            await table.add(rows);
            const asked = table.query().fullTextSearch(match(SOUGHT).there).select(["id", "_score"]);
            expectNew([...((await asked.limit(limit).toArrow()).getChild("id") ?? [])]);
          },
        },
      ],
      async close() {
        await ns.close();
        reference.close();
      },
    };
  },
};

/** A search by a process that begins with the import. */
const fresh: BenchCase = {
  area: "process",
  name: "import + match of one word, 500,000 texts",
  rounds: { small: 1, large: 9 },
  async prepare(directory, size) {
    const root = join(directory, "tables");
    const ns = openTiltyard(root);
    await createRows(ns, "t", size);
    await createIndex(ns, "t", true);
    await ns.close();
    const side = (name: Contestant): Side => ({
      name,
      run: () => runFresh(name, "match", root, { words: wordsOf(40) }),
    });
    return {
      work: { amount: 1, unit: "calls" },
      sides: [side("tiltyard"), side("reference")],
      close: async () => undefined,
    };
  },
};

export const textCases: readonly BenchCase[] = [
  build(false),
  build(true),
  lag,
  ...QUESTIONS.map(search),
  hybrid,
  fresh,
];
