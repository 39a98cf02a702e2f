/**
 * Deletes and updates of some rows of a table that is known; before each run it is restored to how it began.
 */

import type { BenchCase } from "../case.js";
import { type ColumnName, makeRows } from "../data.js";
import { restoredSides } from "../restored.js";

/** One row of a hundred, spread over the table. */
const CONDITION = "count < 10";

type Statement = "delete" | "update";

function change(statement: Statement, label: string, columns: readonly ColumnName[]): BenchCase {
  return {
    area: "write",
    name: `${statement} 1 % of 1,000,000 rows: ${label}`,
    rounds: { small: 2, large: statement === "delete" ? 60 : 15 },
    async prepare(directory, size) {
      const rowCount = size === "large" ? 1_000_000 : 2000;
      const rows = makeRows(rowCount, 0, columns);
      const sides = await restoredSides(directory, rows, {
        async ours(ns, id) {
          if (statement === "delete") await ns.deleteFromTable({ id, predicate: CONDITION });
          else await ns.updateTable({ id, predicate: CONDITION, updates: [["score", "score * 2"]] });
        },
        reference: (table) =>
          statement === "delete"
            ? table.delete(CONDITION)
            : table.update({ where: CONDITION, valuesSql: { score: "score * 2" } }),
      });
      return { work: { amount: rowCount / 100, unit: "rows" }, ...sides };
    },
  };
}

export const changeCases: readonly BenchCase[] = (["delete", "update"] as const).flatMap((statement) => [
  change(statement, "three columns", ["count", "score", "label"]),
  change(statement, "with vectors", ["count", "score", "label", "embedding"]),
]);
