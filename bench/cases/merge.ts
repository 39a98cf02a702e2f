/**
 * Merges of rows into a table that is known; half of them replace rows, spread over the table, and half are
 * new. Before each run the table is restored to how it began.
 */

import type { DirectoryNamespace } from "tiltyard";
import type { BenchCase } from "../case.js";
import { type BenchRows, type ColumnName, makeRows } from "../data.js";
import { restoredSides } from "../restored.js";
import { type ReferenceTable, referenceTable, tiltyardTable } from "../sides.js";

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
  const [targetIds, ids] = [idsOf(target), idsOf(source)];
  for (let row = 0; row < ids.length; row += 2) ids[row] = targetIds[row * SHARE];
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
      const [ourRows, theirRows] = [tiltyardTable(source), referenceTable(source)];
      const sides = await restoredSides(directory, target, {
        async ours(ns, id) {
          const request = { id, on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
          const { numUpdatedRows } = await ns.mergeInsertIntoTable(request, ourRows);
          if (numUpdatedRows < source.rowCount / 2) throw new Error(`${numUpdatedRows} rows updated`);
        },
        reference: (table) =>
          table.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(theirRows),
      });
      return { work: { amount: source.rowCount, unit: "rows" }, ...sides };
    },
  };
}

function upsert(rowCount: number): BenchCase {
  const label = rowCount.toLocaleString("en");
  return {
    area: "write",
    name: `upsert of 1 row by a BTREE key, ${label} rows`,
    rounds: { small: 2, large: 31 },
    async prepare(directory, size) {
      const columns: ColumnName[] = ["id", "score", "label"];
      const target = makeRows(size === "large" ? rowCount : 2000, 0, columns);
      const source = makeRows(1, 1, columns);
      const [[targetId], [id]] = [target.columns, source.columns];
      if (targetId.kind !== "int64" || id.kind !== "int64") throw new Error("the first column is the id");
      id.values[0] = targetId.values[target.rowCount >> 1];
      const [ourRows, theirRows] = [tiltyardTable(source), referenceTable(source)];
      const change = {
        async ours(ns: DirectoryNamespace, table: string[]) {
          const request = { id: table, on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
          const { numUpdatedRows } = await ns.mergeInsertIntoTable(request, ourRows);
          if (numUpdatedRows !== 1) throw new Error(`${numUpdatedRows} rows updated`);
        },
        reference: (table: ReferenceTable) =>
          table.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(theirRows),
      };
      const sides = await restoredSides(directory, target, change, "id");
      return { work: { amount: 1, unit: "rows" }, ...sides };
    },
  };
}

export const mergeCases: readonly BenchCase[] = [
  merge("three columns", ["id", "score", "label"]),
  merge("with vectors", ["id", "score", "label", "embedding"]),
  upsert(1_000_000),
  upsert(4_000_000),
];
