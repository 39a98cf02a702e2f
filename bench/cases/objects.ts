/**
 * Rows as plain objects, in and out, and the same rows as Arrow tables. What comes out is looked at, value by
 * value: objects that make their values only when they are asked for have to make them too.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { BenchCase, Side } from "../case.js";
import { type BenchColumn, type ColumnName, makeRows } from "../data.js";
import { openReference, openTiltyard, referenceTable, tiltyardTable } from "../sides.js";

type Row = Record<string, unknown>;
type Form = "objects" | "Arrow";

const ROWS = { small: 300, large: 100_000 } as const;
const SHAPES: readonly { readonly label: string; readonly columns: readonly ColumnName[] }[] = [
  { label: "int32, float64, two texts", columns: ["count", "score", "label", "category"] },
  { label: "int32, text, float32 × 128", columns: ["count", "label", "embedding"] },
];

/** Rows into a table that is there: an insert, or the reference's `add`. */
function insert(label: string, columns: readonly ColumnName[], form: Form): BenchCase {
  return {
    area: "write",
    name: `insert of 100,000 rows as ${form}: ${label}`,
    rounds: { small: 2, large: columns.includes("embedding") ? 7 : 15 },
    // Short runs are slowed down by a collection before them.
    collectFirst: columns.includes("embedding"),
    async prepare(directory, size) {
      const rows = makeRows(ROWS[size], 1, columns);
      // Objects that nobody needs would only be more for the garbage collector to look at.
      const objects = form === "objects" ? toObjects(rows.columns, rows.rowCount) : [];
      const first = makeRows(1, 2, columns);
      const roots = { ours: join(directory, "ours"), theirs: join(directory, "reference") };
      const reference = await openReference(roots.theirs);
      const ns = openTiltyard(roots.ours);
      const sides: Side[] = [
        {
          name: "tiltyard",
          async reset() {
            await ns.createTable({ id: ["t"], mode: "Overwrite" }, tiltyardTable(first));
          },
          async run() {
            await ns.insertIntoTable({ id: ["t"] }, form === "objects" ? objects : tiltyardTable(rows));
          },
        },
        {
          name: "reference",
          async reset() {
            await rm(join(roots.theirs, "t.lance"), { recursive: true, force: true });
            await reference.createTable("t", referenceTable(first));
          },
          async run() {
            const table = await reference.openTable("t");
            await table.add(form === "objects" ? objects : referenceTable(rows));
          },
        },
      ];
      return {
        work: { amount: rows.rowCount, unit: "rows" },
        sides,
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  };
}

/** All rows of a table, as objects of which every value is read, or as an Arrow table. */
function readAll(label: string, columns: readonly ColumnName[], form: Form): BenchCase {
  return {
    area: "read",
    name: `100,000 rows as ${form}: ${label}`,
    rounds: { small: 2, large: columns.includes("embedding") ? 7 : 15 },
    // Short runs are slowed down by a collection before them.
    collectFirst: columns.includes("embedding"),
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const ns = openTiltyard(root);
      await ns.createTable({ id: ["t"] }, tiltyardTable(makeRows(ROWS[size], 1, columns)));
      const reference = await openReference(root);
      const theirs = await reference.openTable("t");
      const ours = ns.table("t");
      const sides: Side[] = [
        {
          name: "tiltyard",
          async run() {
            if (form === "objects") readValues(await ours.scan().toArray(), columns, ROWS[size]);
            else expectRows((await ours.scan().toArrow()).numRows, ROWS[size]);
          },
        },
        {
          name: "reference",
          async run() {
            if (form === "objects") readValues(await theirs.query().toArray(), columns, ROWS[size]);
            else expectRows((await theirs.query().toArrow()).numRows, ROWS[size]);
          },
        },
      ];
      return {
        work: { amount: ROWS[size], unit: "rows" },
        sides,
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  };
}

/** Looks at every value; vectors are looked at as wholes. */
function readValues(rows: readonly Row[], columns: readonly string[], expected: number): void {
  expectRows(rows.length, expected);
  let units = 0;
  for (const row of rows) {
    for (const name of columns) {
      const value = row[name];
      units += typeof value === "number" ? 1 : (value as { readonly length: number }).length;
    }
  }
  if (units < rows.length * columns.length) throw new Error("values are missing");
}

function toObjects(columns: readonly BenchColumn[], rowCount: number): Row[] {
  const values = columns.map((column) => ({ name: column.name, valueAt: valuesOf(column) }));
  return Array.from({ length: rowCount }, (_, row) => {
    const object: Row = {};
    for (const { name, valueAt } of values) object[name] = valueAt(row);
    return object;
  });
}

function valuesOf(column: BenchColumn): (row: number) => unknown {
  switch (column.kind) {
    case "utf8": {
      const decoder = new TextDecoder();
      const { bytes, offsets } = column;
      return (row) => decoder.decode(bytes.subarray(offsets[row], offsets[row + 1]));
    }
    case "vector": {
      const { values, dimension } = column;
      return (row) => Array.from(values.subarray(row * dimension, (row + 1) * dimension));
    }
    case "list":
      throw new Error("no case has lists");
    default:
      return (row) => column.values[row];
  }
}

function expectRows(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`${actual} rows instead of ${expected}`);
}

export const objectCases: readonly BenchCase[] = SHAPES.flatMap(({ label, columns }) => [
  insert(label, columns, "objects"),
  insert(label, columns, "Arrow"),
  readAll(label, columns, "objects"),
  readAll(label, columns, "Arrow"),
]);
