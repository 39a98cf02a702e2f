/**
 * Kills a process that builds or updates an index, while another resumes. `npm run soak` kills more often.
 */

import * as arrow from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { runsOf } from "../support/effort.js";
import { reference } from "../support/reference.js";
import { killIndexWork } from "./indexKillLoop.js";

const KILLS = runsOf("INDEX_KILLS", 6);
const ROWS = 20_000;
const DIMENSION = 4;
const KINDS = [
  { column: "v", indexType: "BTREE" },
  { column: "e", indexType: "IVF_HNSW_SQ", numPartitions: 3, m: 6, efConstruction: 24 },
  { column: "v", indexType: "BITMAP" },
  { column: "l", indexType: "LABEL_LIST" },
  { column: "s", indexType: "NGRAM" },
  { column: "e", indexType: "IVF_PQ", numPartitions: 5, numSubVectors: 4, maxIterations: 5 },
  { column: "v", indexType: "ZONEMAP" },
  { column: "v", indexType: "BLOOMFILTER" },
] as const;
const id = ["t"];

/** Returns a vector that is unique to a value and far from those of its neighbours. */
const vectorOf = (value: number): number[] =>
  Array.from({ length: DIMENSION }, (_, index) => Math.floor(value / 16 ** index) % 16);

const listOf = (value: number): string[] => [`v${value}`, `of ${value % 40}`];
const textOf = (value: number): string => `text of ${value} here`;

/** By column: a filter that only the rows of one value pass. */
const FILTERS = {
  v: (value: number) => `v = ${value}`,
  e: (value: number) => `v = ${value}`,
  l: (value: number) => `array_has_all(l, ['v${value}', 'of ${value % 40}'])`,
  s: (value: number) => `contains(s, 'of ${value} he')`,
};

function rowsFrom(first: number): arrow.Table {
  const values = Int32Array.from({ length: ROWS }, (_, row) => first + ((row * 7919) % ROWS));
  const type = new arrow.FixedSizeList(DIMENSION, new arrow.Field("item", new arrow.Float32(), true));
  return new arrow.Table({
    v: arrow.vectorFromArray(values),
    e: arrow.vectorFromArray(Array.from(values, vectorOf), type),
    l: arrow.vectorFromArray(
      Array.from(values, listOf),
      new arrow.List(new arrow.Field("item", new arrow.Utf8(), true)),
    ),
    s: arrow.vectorFromArray(Array.from(values, textOf), new arrow.Utf8()),
  });
}
const valuesOf = (table: arrow.Table) =>
  Array.from(table.getChild("v") ?? [], Number).sort((left, right) => left - right);

async function check(
  root: string,
  { column }: (typeof KINDS)[number],
  rowCount: number,
  where: string,
): Promise<void> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  const table = ns.table(id);
  expect(await table.countRows(), where).toBe(rowCount);
  for (const value of [0, 777, rowCount - 1, rowCount]) {
    const answer = await table.scan({ filter: FILTERS[column](value), useScalarIndex: true }).toArrow();
    expect(valuesOf(answer), where).toEqual(value < rowCount ? [value] : []);
  }
  const neighbours = await table.scan({ filter: "v >= 19990 AND v < 20010", useScalarIndex: true }).toArrow();
  expect(neighbours.numRows, where).toBe(rowCount > ROWS ? 20 : 10);
  for (const value of [5, ROWS - 1, rowCount - 1]) {
    const near = table.search({ vector: vectorOf(value), limit: 3, nprobes: 9, refineFactor: 20, ef: 200 });
    expect(valuesOf(await near.toArrow()), where).toContain(value);
  }
  for (const { numIndexedRows = 0, numUnindexedRows = 0 } of (await ns.listTableIndices({ id })).indexes) {
    expect(numIndexedRows + numUnindexedRows, where).toBe(rowCount);
  }
}

it(`index builds resume after ${KILLS} kills`, async () => {
  await killIndexWork({
    kills: KILLS,
    killsOfTable: 4,
    maxDelayMs: 150,
    rows: ROWS,
    rowsFrom,
    kinds: KINDS,
    check,
    async checkReference(root) {
      const seen = await reference.readTable(root, "t", { filter: "v >= 19990 AND v < 19995" });
      expect(valuesOf(arrow.tableFromIPC(seen))).toEqual([19_990, 19_991, 19_992, 19_993, 19_994]);
    },
  });
});
