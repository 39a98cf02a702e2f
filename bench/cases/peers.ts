/**
 * Rows beside libraries that do one thing: SQLite for point lookups, hnswlib for graphs. The libraries are
 * called in their quickest form: a prepared statement, and a vector that is an array already.
 */

import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import type { BenchCase, Side, Size } from "../case.js";
import { HAS_PEERS, type Hnswlib, loadPeer, openSqlite, type SqliteDatabase } from "../peers.js";
import { openTiltyard } from "../sides.js";
import { embeddings, tableOf, type VectorList } from "../vectorData.js";
import { wordVectors } from "../wordVectors.js";
import { createIndex, createRows, rowCountOf, rowsFrom } from "./scalarIndex.js";

/** Calls of a run: one alone is too short to be timed, and their code must be compiled before it is. */
const CALLS: Readonly<Record<Size, number>> = { small: 2, large: 100 };

/** @param ask makes the call of this number, and returns the rows that it got */
const side = (name: Side["name"], size: Size, ask: (call: number) => Promise<number> | number): Side => {
  let call = 0;
  return {
    name,
    async run() {
      let rows = 0;
      for (let left = CALLS[size]; left > 0; left--) rows += await ask(call++);
      if (rows === 0) throw new Error(`${name}: no rows`);
    },
  };
};

// ----------------------------------------------------------------------------------------- point lookups

const RETURNED = ["i", "kind", "state", "name"];

function fillSqlite(database: SqliteDatabase, size: Size): void {
  database.exec("CREATE TABLE t (i INTEGER, kind INTEGER, state INTEGER, name TEXT)");
  const insert = database.prepare("INSERT INTO t VALUES (?, ?, ?, ?)");
  database.exec("BEGIN");
  for (const row of rowsFrom(0, rowCountOf(size))) insert.run(...RETURNED.map((column) => row?.[column]));
  database.exec("COMMIT");
  database.exec("CREATE INDEX t_i ON t (i)");
}

const lookup: BenchCase = {
  area: "read",
  name: "100 point lookups, indexed, 1,000,000 rows, beside SQLite",
  rounds: { small: 2, large: 60 },
  async prepare(directory, size) {
    const ns = openTiltyard(join(directory, "tables"));
    await createRows(ns, "t", size);
    await createIndex(ns, "t", "i", "BTREE");
    const database = openSqlite(join(directory, "rows.db"));
    fillSqlite(database, size);
    const statement = database.prepare(`SELECT ${RETURNED.join(", ")} FROM t WHERE i = ?`);
    const ours = async (key: number): Promise<number> => {
      const result = await ns.queryTable({ id: ["t"], columns: RETURNED, filter: `i = ${key}` });
      return (await result.toArrow()).numRows;
    };
    const values = rowsFrom(0, rowCountOf(size)).getChild("i")?.toArray() as Int32Array;
    const keyOf = (call: number): number => values[(call * 7919) % values.length];
    for (let call = 0; call < 20; call++) {
      const key = keyOf(call);
      const [rows, expected] = [await ours(key), statement.all(key).length];
      if (rows !== expected) throw new Error(`i = ${key}: ${rows} rows, not ${expected}`);
    }
    return {
      work: { amount: CALLS[size], unit: "calls" },
      sides: [
        side("tiltyard", size, (call) => ours(keyOf(call))),
        side("reference", size, (call) => statement.all(keyOf(call)).length),
      ],
      async close() {
        await ns.close();
        database.close();
      },
    };
  },
};

// ------------------------------------------------------------------------------------------------ graphs

const NEAREST = 10;
const VECTORS: Readonly<Record<Size, number>> = { small: 600, large: 100_000 };
const QUERIES: Readonly<Record<Size, number>> = { small: 8, large: 1000 };
const MOST_EF = 512;
const GRAPH = { m: 20, efConstruction: 150 };

/** Rows that a side finds for a query, by a search with this `ef`. */
type Search = (query: number, ef: number) => Promise<ArrayLike<number>> | ArrayLike<number>;

const listsOf = ({ values, dimension }: VectorList): number[][] =>
  Array.from({ length: values.length / dimension }, (_, row) => [
    ...values.subarray(row * dimension, (row + 1) * dimension),
  ]);

async function createVectors(ns: DirectoryNamespace, vectors: VectorList): Promise<void> {
  await ns.createTable({ id: ["t"] }, tableToIPC(tableOf(0, vectors), "stream"));
  const { jobId } = await ns.createTableIndex({
    ...{ id: ["t"], column: "v", indexType: "IVF_HNSW_SQ", distanceType: "l2", numPartitions: 1 },
    ...GRAPH,
  });
  const { state, error } = await ns.waitForJob({ jobId });
  if (state !== "Succeeded") throw new Error(`the build ended as ${state}: ${error?.message}`);
}

function hnswlibIndex(vectors: VectorList): InstanceType<Hnswlib["HierarchicalNSW"]> {
  const { HierarchicalNSW } = loadPeer<Hnswlib>("hnswlib-node");
  const index = new HierarchicalNSW("l2", vectors.dimension);
  const rows = listsOf(vectors);
  index.initIndex(rows.length, GRAPH.m, GRAPH.efConstruction);
  for (const [label, vector] of rows.entries()) index.addPoint(vector, label);
  return index;
}

/** The smallest `ef` that finds this part of the nearest rows. */
async function leastEf(search: Search, nearest: readonly ReadonlySet<number>[], part: number) {
  let [low, high] = [NEAREST, MOST_EF];
  while (low < high) {
    const ef = (low + high) >> 1;
    let hits = 0;
    for (const [query, wanted] of nearest.entries())
      for (const id of Array.from(await search(query, ef))) if (wanted.has(id)) hits++;
    if (hits >= part * nearest.length * NEAREST) high = ef;
    else low = ef + 1;
  }
  return low;
}

/** @param part of the nearest rows that both sides find */
const nearestWords = (part: number): BenchCase => ({
  area: "read",
  name: `100 × nearest 10 by a graph, recall ${part}, 100,000 words × 100, beside hnswlib`,
  rounds: { small: 2, large: 60 },
  async prepare(directory, size) {
    const [rows, queryList] =
      size === "small"
        ? [embeddings(0, VECTORS.small), embeddings(VECTORS.small + 1, QUERIES.small)]
        : wordVectors(VECTORS.large, QUERIES.large);
    const queries = listsOf(queryList);
    const ns = openTiltyard(join(directory, "tables"));
    await createVectors(ns, rows);
    const index = hnswlibIndex(rows);
    const ask = async (vector: number[], options: object): Promise<Int32Array> => {
      const request = { id: ["t"], vector, k: NEAREST, columns: ["id"], distanceType: "l2" as const };
      const result = await ns.queryTable({ ...request, ...options });
      return (await result.toArrow()).getChild("id")?.toArray() as Int32Array;
    };
    const nearest: ReadonlySet<number>[] = [];
    for (const vector of queries) nearest.push(new Set(await ask(vector, { bypassVectorIndex: true })));
    const ours: Search = (query, ef) => ask(queries[query], { nprobes: 1, ef });
    const theirs: Search = (query, ef) => {
      index.setEf(ef);
      return index.searchKnn(queries[query], NEAREST).neighbors;
    };
    const ourEf = await leastEf(ours, nearest, part);
    const theirEf = await leastEf(theirs, nearest, part);
    const rowsBy = (search: Search, ef: number) => async (call: number) =>
      (await search(call % queries.length, ef)).length;
    return {
      work: { amount: CALLS[size], unit: "calls" },
      sides: [side("tiltyard", size, rowsBy(ours, ourEf)), side("reference", size, rowsBy(theirs, theirEf))],
      close: () => ns.close(),
    };
  },
});

export const peerCases: readonly BenchCase[] = HAS_PEERS
  ? [lookup, nearestWords(0.9), nearestWords(0.95)]
  : [];
