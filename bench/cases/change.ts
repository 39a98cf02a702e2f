/** Deletes and updates of some rows of a table that is known; before each run it is restored to how it began. */

import { join } from "node:path";
import type { BenchCase, Side } from "../case.js";
import { type BenchRows, type ColumnName, makeRows } from "../data.js";
import { openReference, openTiltyard, referenceTable, tiltyardTable } from "../sides.js";

/** One row of a hundred, spread over the table. */
const CONDITION = "count < 10";

type Statement = "delete" | "update";

function change(statement: Statement, label: string, columns: readonly ColumnName[]): BenchCase {
  return {
    area: "write",
    name: `${statement} 1 % of 1,000,000 rows: ${label}`,
    rounds: { small: 2, large: 15 },
    async prepare(directory, size) {
      const rowCount = size === "large" ? 1_000_000 : 2000;
      const rows = makeRows(rowCount, 0, columns);
      const ours = [
        await tiltyardSide("tiltyard", join(directory, "ours"), "none", statement, rows),
        await tiltyardSide("tiltyard, fsync", join(directory, "ours-synced"), "fsync", statement, rows),
      ];
      const reference = await referenceSide(join(directory, "reference"), statement, rows);
      return {
        work: { amount: rowCount / 100, unit: "rows" },
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
  statement: Statement,
  rows: BenchRows,
): Promise<OpenSide> {
  const ns = openTiltyard(root, durability);
  const id = ["t"];
  await ns.createTable({ id }, tiltyardTable(rows));
  const side: Side = {
    name,
    async reset() {
      await ns.restoreTable({ id, version: 1 });
    },
    async run() {
      if (statement === "delete") await ns.deleteFromTable({ id, predicate: CONDITION });
      else await ns.updateTable({ id, predicate: CONDITION, updates: [["score", "score * 2"]] });
    },
  };
  return { side, close: () => ns.close() };
}

async function referenceSide(root: string, statement: Statement, rows: BenchRows): Promise<OpenSide> {
  const connection = await openReference(root);
  const table = await connection.createTable("t", referenceTable(rows));
  const side: Side = {
    name: "reference",
    async reset() {
      await table.checkout(1);
      await table.restore();
    },
    async run() {
      if (statement === "delete") await table.delete(CONDITION);
      else await table.update({ where: CONDITION, valuesSql: { score: "score * 2" } });
    },
  };
  return { side, close: () => connection.close() };
}

export const changeCases: readonly BenchCase[] = (["delete", "update"] as const).flatMap((statement) => [
  change(statement, "three columns", ["count", "score", "label"]),
  change(statement, "with vectors", ["count", "score", "label", "embedding"]),
]);
