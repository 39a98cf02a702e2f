/**
 * Merges of rows into a table that is known; half of them replace rows, spread over the table, and half are
 * new. Before each run the table is restored to how it began.
 */

import type { BenchCase } from "../case.js";
import { type BenchRows, type ColumnName, makeRows } from "../data.js";
import { restoredSides } from "../restored.js";
import { referenceTable, tiltyardTable } from "../sides.js";

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

export const mergeCases: readonly BenchCase[] = [
  merge("three columns", ["id", "score", "label"]),
  merge("with vectors", ["id", "score", "label", "embedding"]),
];
