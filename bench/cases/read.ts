/** Scans into Arrow tables, of tables that either side wrote. */

import { join } from "node:path";
import type { BenchCase } from "../case.js";
import { byteLength, COLUMN_NAMES, type ColumnName, makeRows } from "../data.js";
import { makeFragments } from "../fragments.js";
import { openReference, openTiltyard, referenceTable, tiltyardTable } from "../sides.js";

type Writer = "tiltyard" | "reference";

function scan(label: string, columns: readonly ColumnName[], writer: Writer): BenchCase {
  return {
    area: "read",
    name: `${label}, 600,000 rows, written by ${writer === "tiltyard" ? "Tiltyard" : "the reference"}`,
    rounds: { small: 2, large: 7 },
    collectFirst: true,
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const rowsPerBatch = size === "large" ? 100_000 : 400;
      const batches = size === "large" ? 6 : 2;
      const stored = columns.every((name) => isOneOf(name, COLUMN_NAMES)) ? COLUMN_NAMES : columns;
      const ns = openTiltyard(root);
      const reference = await openReference(root);
      let bytes = 0;
      for (let i = 0; i < batches; i++) {
        const rows = makeRows(rowsPerBatch, i, stored);
        bytes += byteLength({ ...rows, columns: rows.columns.filter(({ name }) => isOneOf(name, columns)) });
        if (writer === "tiltyard") {
          if (i === 0) await ns.createTable({ id: ["t"] }, tiltyardTable(rows));
          else await ns.insertIntoTable({ id: ["t"] }, tiltyardTable(rows));
        } else if (i === 0) await reference.createTable("t", referenceTable(rows));
        else await (await reference.openTable("t")).add(referenceTable(rows));
      }
      const table = await reference.openTable("t");
      const expected = rowsPerBatch * batches;
      return {
        work: { amount: expected, unit: "rows" },
        bytes,
        sides: [
          {
            name: "tiltyard",
            async run() {
              const result = await ns.queryTable({ id: ["t"], columns });
              expectRows((await result.toArrow()).numRows, expected);
            },
          },
          {
            name: "reference",
            async run() {
              const result = await table
                .query()
                .select([...columns])
                .toArrow();
              expectRows(result.numRows, expected);
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
}

/**
 * Scans a table that is opened anew each time, so nothing about its fragments is cached. Garbage is not
 * collected first: it would discard the shapes of the closed engine's objects and with them compiled code,
 * which then takes half the time.
 */
function scanOfFragments(fragmentRows: number, label: string, columns: readonly ColumnName[]): BenchCase {
  return {
    area: "read",
    name: `scan of 500 fragments of ${fragmentRows} rows, opened anew: ${label}`,
    rounds: { small: 2, large: 9 },
    async prepare(directory, size) {
      const [fragments, rowCount] = size === "large" ? [500, fragmentRows] : [5, 10];
      const root = join(directory, "tables");
      await makeFragments(root, fragments, rowCount, columns);
      const expected = fragments * rowCount;
      return {
        work: { amount: expected, unit: "rows" },
        sides: [
          {
            name: "tiltyard",
            async run() {
              const ns = openTiltyard(root);
              const result = await ns.queryTable({ id: ["t"] });
              expectRows((await result.toArrow()).numRows, expected);
              await ns.close();
            },
          },
          {
            name: "reference",
            async run() {
              const connection = await openReference(root);
              const table = await connection.openTable("t");
              expectRows((await table.query().toArrow()).numRows, expected);
              connection.close();
            },
          },
        ],
        async close() {},
      };
    },
  };
}

function isOneOf(name: string, names: readonly string[]): boolean {
  return names.includes(name);
}

function expectRows(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`a scan gave ${actual} rows instead of ${expected}`);
}

const wholeScans = (["tiltyard", "reference"] as const).flatMap((writer) => [
  scan("full scan", COLUMN_NAMES, writer),
  scan("two-column scan", ["id", "label"], writer),
  scan("scan of int64", ["id"], writer),
  scan("scan of utf8", ["label"], writer),
  scan("scan of utf8, 40 words", ["category"], writer),
  scan("scan of lists of utf8", ["tags"], writer),
  scan("scan of lists of lists of int32", ["grid"], writer),
]);

export const readCases: readonly BenchCase[] = [
  ...wholeScans,
  scanOfFragments(1000, "id, score, label", ["id", "score", "label"]),
];
