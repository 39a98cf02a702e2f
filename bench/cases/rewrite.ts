/** Changes of many rows: columns from SQL, updates of a tenth of the rows, deletes over many fragments. */

import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BenchCase, Side } from "../case.js";
import { makeRows } from "../data.js";
import { makeFragments } from "../fragments.js";
import { restoredSides, type TableChange } from "../restored.js";
import { openReference, openTiltyard } from "../sides.js";

const ROWS = 1_000_000;

function rewriteCase(label: string, change: TableChange): BenchCase {
  return {
    area: "write",
    name: `${label}, 1,000,000 rows`,
    rounds: { small: 2, large: 15 },
    async prepare(directory, size) {
      const rowCount = size === "large" ? ROWS : 2000;
      const sides = await restoredSides(
        directory,
        makeRows(rowCount, 0, ["count", "score", "label"]),
        change,
      );
      return { work: { amount: rowCount, unit: "rows" }, ...sides };
    },
  };
}

const addColumns = (label: string, expression: string): BenchCase =>
  rewriteCase(`add a column by SQL: ${label}`, {
    async ours(ns, id) {
      await ns.alterTableAddColumns({ id, newColumns: [{ name: "added", expression }] });
    },
    reference: (table) => table.addColumns([{ name: "added", valueSql: expression }]),
  });

/** `count` is below 1,000: this selects a tenth of the rows. */
const update = rewriteCase("update 10 %", {
  async ours(ns, id) {
    await ns.updateTable({ id, predicate: "count < 100", updates: [["score", "score * 2"]] });
  },
  reference: (table) => table.update({ where: "count < 100", valuesSql: { score: "score * 2" } }),
});

const FRAGMENTS = 500;
const FRAGMENT_ROWS = 1000;

/** Every fragment gets a file of deletions. */
const deleteMany: BenchCase = {
  area: "write",
  name: `delete 10 % over ${FRAGMENTS} fragments of ${FRAGMENT_ROWS} rows`,
  rounds: { small: 1, large: 15 },
  async prepare(directory, size) {
    const [fragments, rowCount] = size === "large" ? [FRAGMENTS, FRAGMENT_ROWS] : [5, 100];
    const template = join(directory, "template");
    await makeFragments(template, fragments, rowCount, ["count", "score"]);
    const ours = (name: Side["name"], durability: "none" | "fsync"): Side => {
      const root = join(directory, durability);
      return {
        name,
        reset: () => copied(template, root),
        async run() {
          const ns = openTiltyard(root, durability);
          await ns.deleteFromTable({ id: ["t"], predicate: "count < 100" });
          await ns.close();
        },
      };
    };
    const reference: Side = {
      name: "reference",
      reset: () => copied(template, join(directory, "reference")),
      async run() {
        const connection = await openReference(join(directory, "reference"));
        const table = await connection.openTable("t");
        await table.delete("count < 100");
        connection.close();
      },
    };
    return {
      work: { amount: fragments * rowCount, unit: "rows" },
      sides: [ours("tiltyard", "none"), ours("tiltyard, fsync", "fsync"), reference],
      async close() {},
    };
  },
};

async function copied(template: string, root: string): Promise<void> {
  await rm(root, { recursive: true, force: true });
  await cp(template, root, { recursive: true });
}

export const rewriteCases: readonly BenchCase[] = [
  addColumns("product of floats", "score * 2"),
  addColumns("sum of columns", "score + count"),
  addColumns("text", "concat(label, '-x')"),
  update,
  deleteMany,
];
