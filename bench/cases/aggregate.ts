/** Aggregations of ten million rows. The reference of these cases is DuckDB, on a table in its own memory. */

import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { Table, tableFromArrays, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import type { BenchCase } from "../case.js";
import { openTiltyard } from "../sides.js";

type Aggregation = Omit<Parameters<DirectoryNamespace["aggregateTable"]>[0], "id">;

const PARTS = 10;
/** Factor that spreads the numbers of rows over 32 bits. */
const SPREAD = 2_654_435_761;

/** Rows whose numbers are spread evenly, in no order. */
function rowsFrom(first: number, count: number): Table {
  const spread = (row: number): number => Math.imul(first + row + 1, SPREAD) >>> 0;
  const from = <Value>(make: (hash: number) => Value) =>
    Array.from({ length: count }, (_, row) => make(spread(row)));
  const words = vectorFromArray(
    from((hash) => `word ${hash % 40}`),
    new Utf8(),
  );
  return tableFromArrays({
    k: BigInt64Array.from(from((hash) => BigInt(hash % 5_000_000))),
    g: Int32Array.from(from((hash) => hash % 1000)),
    n: BigInt64Array.from(from((hash) => BigInt(hash) - 2n ** 31n)),
    v: Float64Array.from(from((hash) => (hash % 100_003) / 7)),
  }).assign(new Table({ w: words }));
}

/** Returns the SQL of these rows. */
const duckDbRows = (count: number): string =>
  `SELECT (h % 5000000)::BIGINT k, (h % 1000)::INTEGER g, h - 2147483648 n, (h % 100003)::DOUBLE / 7 v,
    'word ' || (h % 40) w FROM (SELECT ((i + 1) * ${SPREAD}) % 4294967296 h FROM range(${count}) r(i))`;

function aggregateCase(name: string, aggregation: Aggregation, sql: string): BenchCase {
  return {
    area: "read",
    name: `${name}, 10,000,000 rows, beside DuckDB`,
    rounds: { small: 2, large: 5 },
    collectFirst: true,
    async prepare(directory, size) {
      const rowCount = size === "large" ? 10_000_000 : 1000;
      const ns = openTiltyard(join(directory, "tables"));
      for (let part = 0; part < PARTS; part++) {
        const rows = tableToIPC(rowsFrom((part * rowCount) / PARTS, rowCount / PARTS), "stream");
        if (part === 0) await ns.createTable({ id: ["t"] }, rows);
        else await ns.insertIntoTable({ id: ["t"] }, rows);
      }
      const instance = await DuckDBInstance.create(":memory:");
      const connection = await instance.connect();
      await connection.run(`CREATE TABLE t AS ${duckDbRows(rowCount)}`);
      const ours = async (): Promise<number> => {
        let groupCount = 0;
        for await (const { numRows } of await ns.aggregateTable({ id: ["t"], ...aggregation })) {
          groupCount += numRows;
        }
        return groupCount;
      };
      const theirs = async (): Promise<number> => {
        const result = await connection.stream(sql);
        let groupCount = 0;
        for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; ) {
          groupCount += chunk.rowCount;
          chunk = await result.fetchChunk();
        }
        return groupCount;
      };
      const expected = await theirs();
      const checked = (answer: () => Promise<number>) => async (): Promise<void> => {
        const groupCount = await answer();
        if (groupCount !== expected) throw new Error(`${groupCount} groups, not ${expected}`);
      };
      return {
        work: { amount: rowCount, unit: "rows" },
        sides: [
          { name: "tiltyard", run: checked(ours) },
          { name: "reference", run: checked(theirs) },
        ],
        async close() {
          await ns.close();
          connection.closeSync();
          instance.closeSync();
        },
      };
    },
  };
}

const totals = { n: "count(*)", total: "sum(v)" };

export const aggregateCases: readonly BenchCase[] = [
  aggregateCase("sum of floats", { values: { total: "sum(v)" } }, "SELECT sum(v) FROM t"),
  aggregateCase("sum of int64", { values: { total: "sum(n)" } }, "SELECT sum(n) FROM t"),
  aggregateCase(
    "sum of products",
    { values: { total: "sum(v * g) / count(*)" } },
    "SELECT sum(v * g) / count(*) FROM t",
  ),
  aggregateCase(
    "filtered sum",
    { values: { total: "sum(v)" }, filter: "g < 500" },
    "SELECT sum(v) FROM t WHERE g < 500",
  ),
  aggregateCase(
    "groups by 40 words",
    { groupBy: ["w"], values: totals },
    "SELECT w, count(*), sum(v) FROM t GROUP BY w",
  ),
  aggregateCase(
    "groups by 1,000 ints",
    { groupBy: ["g"], values: totals },
    "SELECT g, count(*), sum(v) FROM t GROUP BY g",
  ),
  aggregateCase(
    "5,000,000 groups",
    { groupBy: ["k"], values: totals },
    "SELECT k, count(*), sum(v) FROM t GROUP BY k",
  ),
  aggregateCase("median of floats", { values: { middle: "median(v)" } }, "SELECT median(v) FROM t"),
];
