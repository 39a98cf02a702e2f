/**
 * Merges of rows into a table that is known; half of them replace rows, spread over the table, and half are new. Before
 * each run the table is restored to how it began.
 */

import { join } from "node:path";
import type { BenchCase, Side } from "../case.js";
import { type BenchRows, type ColumnName, makeRows } from "../data.js";
import { openReference, openTiltyard, referenceTable, tiltyardTable } from "../sides.js";

/** Rows of the table for each that is merged. */
const SHARE = 10;

/** New rows, every other of which has the id of a row of the table. */
function sourceOf(target: BenchRows, columns: readonly ColumnName[]): BenchRows {
  const source = makeRows(target.rowCount / SHARE, 1, columns);
  const idsOf = ({ columns: all }: BenchRows) => {
    const [id] = all;
    if (id.kind !== "int64") throw new Error("the first column is the id");
    return id.values;
  };
  const [known, ids] = [idsOf(target), idsOf(source)];
  for (let row = 0; row < ids.length; row += 2) ids[row] = known[row * SHARE];
  return source;
}

function merge(label: string, columns: readonly ColumnName[]): BenchCase {
  return {
    area: "write",
    name: `merge 100,000 rows into 1,000,000: ${label}`,
    rounds: { small: 2, large: 11 },
    async prepare(directory, size) {
      const target = makeRows(size === "large" ? 1_000_000 : 2000, 0, columns);
      const source = sourceOf(target, columns);
      const ours = [
        await tiltyardSide("tiltyard", join(directory, "ours"), "none", target, source),
        await tiltyardSide("tiltyard, fsync", join(directory, "ours-synced"), "fsync", target, source),
      ];
      const reference = await referenceSide(join(directory, "reference"), target, source);
      return {
        work: { amount: source.rowCount, unit: "rows" },
        sides: [...ours, reference].map(({ side }) => side),
        async close() {
          for (const each of [...ours, reference]) await each.close();
        },
      };
    },
  };
}

interface OpenSide {
  readonly side: Side;
  close(): Promise<void> | void;
}

async function tiltyardSide(
  name: Side["name"],
  root: string,
  durability: "fsync" | "none",
  target: BenchRows,
  source: BenchRows,
): Promise<OpenSide> {
  const ns = openTiltyard(root, durability);
  const id = ["t"];
  await ns.createTable({ id }, tiltyardTable(target));
  const rows = tiltyardTable(source);
  const request = { id, on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
  const side: Side = {
    name,
    async reset() {
      await ns.restoreTable({ id, version: 1 });
    },
    async run() {
      const { numUpdatedRows } = await ns.mergeInsertIntoTable(request, rows);
      if (numUpdatedRows < source.rowCount / 2) throw new Error(`${numUpdatedRows} rows updated`);
    },
  };
  return { side, close: () => ns.close() };
}

async function referenceSide(root: string, target: BenchRows, source: BenchRows): Promise<OpenSide> {
  const connection = await openReference(root);
  const table = await connection.createTable("t", referenceTable(target));
  const rows = referenceTable(source);
  const side: Side = {
    name: "reference",
    async reset() {
      await table.checkout(1);
      await table.restore();
    },
    async run() {
      await table.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows);
    },
  };
  return { side, close: () => connection.close() };
}

export const mergeCases: readonly BenchCase[] = [
  merge("three columns", ["id", "score", "label"]),
  merge("with vectors", ["id", "score", "label", "embedding"]),
];
