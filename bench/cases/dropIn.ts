/**
 * The package that has LanceDB's API, beside LanceDB: both run the same program, on directories of their own.
 * Handles see the commits of others with each call.
 */

import { join } from "node:path";
import * as dropIn from "tiltyard/lancedb";
import * as native from "tiltyard-reference/session.js";
import type { BenchCase, PreparedCase, Side } from "../case.js";
import { DIMENSION, vectorsFrom } from "../vectorData.js";

type Lancedb = typeof dropIn;
type Table = dropIn.Table;

const ROWS = { small: 512, large: 10_000 } as const;
const WORDS = [
  "river",
  "stone",
  "cloud",
  "amber",
  "north",
  "quiet",
  "lemon",
  "paper",
  "ocean",
  "light",
  "field",
];

interface Row extends Record<string, unknown> {
  readonly id: number;
  readonly category: string;
  readonly text: string;
  readonly vector: readonly number[];
}

function rowsOf(first: number, count: number): Row[] {
  const vectors = vectorsFrom(first, count);
  return Array.from({ length: count }, (_, index) => {
    const id = first + index;
    const text = Array.from({ length: 12 }, (_, word) => WORDS[(id * 7 + word * word) % WORDS.length]).join(
      " ",
    );
    const vector = Array.from(vectors.subarray(index * DIMENSION, (index + 1) * DIMENSION));
    return { id, category: `kind ${id % 20}`, text, vector };
  });
}

/** Work of a case on a table. */
interface Work {
  readonly name: string;
  readonly unit?: "rows" | "calls";
  /** Rows or calls of a run. Default: 1. */
  readonly amount?: number;
  readonly rounds?: number;
  /** Prepares the table once. */
  prepare?(lancedb: Lancedb, table: Table): Promise<unknown>;
  /** Untimed, before every run. */
  reset?(table: Table): Promise<unknown>;
  run(table: Table): Promise<unknown>;
}

const expectRows = (actual: number, expected: number): void => {
  if (actual !== expected) throw new Error(`${actual} rows instead of ${expected}`);
};
const few = rowsOf(20_000, 100);
const many = rowsOf(30_000, 1000);
/** Half of them are in the table. */
const merged = [...rowsOf(0, 250), ...rowsOf(40_000, 250)];
const query = Array.from(vectorsFrom(99, 1));
const restore = async (table: Table): Promise<void> => {
  await table.checkout(1);
  await table.restore();
};
const indexTexts = (lancedb: Lancedb, table: Table) =>
  table.createIndex("text", { config: lancedb.Index.fts() });

const WORKS: readonly Work[] = [
  { name: "add of 100 objects", amount: 100, unit: "rows", reset: restore, run: (table) => table.add(few) },
  {
    name: "add of 1,000 objects",
    amount: 1000,
    unit: "rows",
    reset: restore,
    run: (table) => table.add(many),
  },
  {
    name: "merge of 500 objects by id",
    amount: 500,
    unit: "rows",
    reset: restore,
    run: (table) => table.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(merged),
  },
  {
    name: "optimize after 10 adds",
    rounds: 9,
    async reset(table) {
      await restore(table);
      for (let add = 0; add < 10; add++) await table.add(few.slice(add, add + 10));
    },
    run: (table) => table.optimize(),
  },
  {
    name: "limit(10).toArray()",
    run: async (table) => expectRows((await table.query().limit(10).toArray()).length, 10),
  },
  {
    name: "orderBy(id).limit(10).toArray()",
    run: async (table) =>
      expectRows(
        (await table.query().orderBy({ columnName: "id", ascending: false }).limit(10).toArray()).length,
        10,
      ),
  },
  {
    name: "where(category).select(id).toArray()",
    run: (table) => table.query().where("category = 'kind 7'").select(["id"]).toArray(),
  },
  { name: "countRows(category)", run: (table) => table.countRows("category = 'kind 7'") },
  {
    name: "toArray() of all rows, every value read",
    rounds: 9,
    async run(table) {
      let units = 0;
      for (const row of await table.query().toArray()) {
        units += row.id + row.category.length + row.text.length + row.vector.length;
      }
      if (units === 0) throw new Error("values are missing");
    },
  },
  { name: "toArrow() of all rows", rounds: 15, run: (table) => table.toArrow() },
  { name: "vectorSearch, 10 of all rows", run: (table) => table.vectorSearch(query).limit(10).toArray() },
  {
    name: "vectorSearch, 10 rows by IVF_PQ",
    prepare: (lancedb, table) =>
      table.createIndex("vector", { config: lancedb.Index.ivfPq({ numPartitions: 8, numSubVectors: 16 }) }),
    run: (table) => table.vectorSearch(query).limit(10).toArray(),
  },
  {
    name: "search for words",
    prepare: indexTexts,
    run: (table) => table.search("amber lemon", "fts").limit(10).toArray(),
  },
  {
    name: "search by vector and words",
    prepare: indexTexts,
    run: (table) => table.query().nearestTo(query).fullTextSearch("amber lemon").limit(10).toArray(),
  },
];

async function sideOf(name: Side["name"], lancedb: Lancedb, root: string, rowCount: number, work: Work) {
  const connection = await lancedb.connect(root, { readConsistencyInterval: 0 });
  const table = await connection.createTable("t", rowsOf(0, rowCount));
  await work.prepare?.(lancedb, table);
  const { reset } = work;
  const side: Side = {
    name,
    ...(reset !== undefined && {
      async reset() {
        await reset(table);
      },
    }),
    async run() {
      await work.run(table);
    },
  };
  return { side, close: () => connection.close() };
}

const caseOf = (work: Work): BenchCase => ({
  area: "drop-in",
  name: `drop-in: ${work.name}, 10,000 rows`,
  rounds: { small: 2, large: work.rounds ?? 31 },
  async prepare(directory, size): Promise<PreparedCase> {
    const ours = await sideOf("tiltyard", dropIn, join(directory, "ours"), ROWS[size], work);
    const lancedb = native as unknown as Lancedb;
    const theirs = await sideOf("reference", lancedb, join(directory, "reference"), ROWS[size], work);
    return {
      work: { amount: work.amount ?? 1, unit: work.unit ?? "calls" },
      sides: [ours.side, theirs.side],
      async close() {
        ours.close();
        theirs.close();
      },
    };
  },
});

export const dropInCases: readonly BenchCase[] = WORKS.map(caseOf);
