/** Indexes of words on half a million texts: building them, and searches. Both sides search the same index. */

import { join } from "node:path";
import { Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import type { DirectoryNamespace, StructuredTextQuery } from "tiltyard";
import { Index, MatchQuery, Operator, PhraseQuery, rerankers } from "tiltyard-reference/session.js";
import type { BenchCase, Side, Size } from "../case.js";
import { openReference, openTiltyard } from "../sides.js";
import { queryVectors, rowsFrom as vectorRows } from "../vectorData.js";

const ROWS: Readonly<Record<Size, number>> = { small: 2000, large: 500_000 };
const FRAGMENTS = 4;
/** Rows that a search by vector and text finds. */
const NEAREST = 10;
const VOCABULARY = 50_000;
const WORDS_OF_TEXT = 20;

const SYLLABLES = [
  "ka",
  "to",
  "mi",
  "re",
  "lun",
  "dor",
  "ves",
  "pi",
  "gra",
  "sol",
  "ten",
  "qua",
  "bri",
  "fa",
  "nox",
  "el",
];

/** The word of a rank: made of syllables, longer where it is rarer. */
function wordOf(rank: number): string {
  let word = "";
  for (let left = rank + 1; left > 0; left = Math.floor(left / SYLLABLES.length)) {
    word += SYLLABLES[left % SYLLABLES.length];
  }
  return word;
}

/** Numbers in no order, the same each time. */
function drawing(first: number): () => number {
  let state = Math.imul(first + 1, 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Texts of 10 to 30 words, whose ranks are distributed as those of a language are: few words make up most of a text. */
function rowsFrom(first: number, count: number): Table {
  const ids = Int32Array.from({ length: count }, (_, row) => first + row);
  const texts = Array.from(ids, (id) => {
    const draw = drawing(id);
    const length = WORDS_OF_TEXT / 2 + Math.floor(draw() * WORDS_OF_TEXT);
    return Array.from({ length }, () => wordOf(Math.floor(VOCABULARY ** draw()) - 1)).join(" ");
  });
  return new Table({ id: vectorFromArray(ids), text: vectorFromArray(texts, new Utf8()) });
}

async function createRows(ns: DirectoryNamespace, name: string, size: Size): Promise<void> {
  const rowCount = ROWS[size] / FRAGMENTS;
  for (let fragment = 0; fragment < FRAGMENTS; fragment++) {
    const rows = tableToIPC(rowsFrom(fragment * rowCount, rowCount), "stream");
    if (fragment === 0) await ns.createTable({ id: [name] }, rows);
    else await ns.insertIntoTable({ id: [name] }, rows);
  }
}

const SETTINGS = { stem: false, removeStopWords: false } as const;

async function createIndex(ns: DirectoryNamespace, name: string, withPosition: boolean): Promise<void> {
  const asked = { id: [name], column: "text", indexType: "FTS", withPosition, ...SETTINGS } as const;
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
            run: () => table.createIndex("text", { config: Index.fts({ withPosition, ...SETTINGS }) }),
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
/** Of a frequent word, of one that every few hundredth text has, and of a rare one. */
const MIXED = [wordOf(8), wordOf(300), wordOf(9000)].join(" ");
const FREQUENT = [wordOf(2), wordOf(5), wordOf(11)].join(" ");
const PAIR = [wordOf(1), wordOf(3)].join(" ");

const match = (terms: string) => ({
  here: { match: { terms, column } },
  there: new MatchQuery(terms, column),
});
const QUESTIONS: readonly Question[] = [
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
    here: { match: { terms: `${wordOf(700)}x`, column, fuzziness: 1 } },
    there: new MatchQuery(`${wordOf(700)}x`, column, { fuzziness: 1 }),
  },
  { name: "match with a filter, top 10", limit: 10, ...match(MIXED), filter: "id % 10 = 3" },
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
      const side = (own: Side["name"], answer: () => Promise<number>): Side => ({
        name: own,
        async run() {
          const found = await answer();
          if (found !== expected) throw new Error(`${name}: ${found} rows, not ${expected}`);
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

/** Vectors are few and searched exactly: what is compared is two searches, and putting their rows in one order. */
const HYBRID_ROWS: Readonly<Record<Size, number>> = { small: 500, large: 20_000 };

const hybrid: BenchCase = {
  area: "read",
  name: "vector and text at once, top 10, 20,000 texts",
  rounds: { small: 2, large: 40 },
  async prepare(directory, size) {
    const root = join(directory, "tables");
    const ns = openTiltyard(root);
    const count = HYBRID_ROWS[size];
    const texts = rowsFrom(0, count);
    const rows = texts.assign(vectorRows(0, count).select(["v"]));
    await ns.createTable({ id: ["t"] }, tableToIPC(rows, "stream"));
    await createIndex(ns, "t", false);
    const reference = await openReference(root);
    const table = await reference.openTable("t");
    const reranker = await rerankers.RRFReranker.create();
    const next = { ours: queryVectors(), theirs: queryVectors() };
    const expectAll = (found: number): void => {
      if (found !== NEAREST) throw new Error(`hybrid: ${found} rows, not ${NEAREST}`);
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

export const textCases: readonly BenchCase[] = [build(false), build(true), ...QUESTIONS.map(search), hybrid];
