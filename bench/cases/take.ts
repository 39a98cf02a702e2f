/** Random rows of a large table, of tables that either side wrote. */

import { join } from "node:path";
import type { BenchCase } from "../case.js";
import { type ColumnName, makeRows } from "../data.js";
import { openReference, openTiltyard, referenceTable, tiltyardTable } from "../sides.js";

type Writer = "tiltyard" | "reference";

/** Every run takes other rows. */
function take(label: string, columns: readonly ColumnName[], writer: Writer): BenchCase {
  return {
    area: "take",
    name: `1,000 of 1,000,000 rows: ${label}, written by ${writer === "tiltyard" ? "Tiltyard" : "the reference"}`,
    // Runs of some milliseconds are many, as a collection forced before each would slow them down.
    rounds: { small: 2, large: 60 },
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const [rowsPerBatch, batches, taken] = size === "large" ? [100_000, 10, 1000] : [400, 2, 20];
      const ns = openTiltyard(root);
      const reference = await openReference(root);
      for (let i = 0; i < batches; i++) {
        const rows = makeRows(rowsPerBatch, i, columns);
        if (writer === "tiltyard") {
          if (i === 0) await ns.createTable({ id: ["t"] }, tiltyardTable(rows));
          else await ns.insertIntoTable({ id: ["t"] }, tiltyardTable(rows));
        } else if (i === 0) await reference.createTable("t", referenceTable(rows));
        else await (await reference.openTable("t")).add(referenceTable(rows));
      }
      const table = await reference.openTable("t");
      const rounds = { tiltyard: 0, reference: 0 };
      const chooseRows = (side: Writer) => scattered(taken, rowsPerBatch * batches, ++rounds[side]);
      return {
        work: { amount: taken, unit: "rows" },
        sides: [
          {
            name: "tiltyard",
            async run() {
              const rows = await ns.table(["t"]).take(chooseRows("tiltyard"), columns);
              expectRows(rows.numRows, taken);
            },
          },
          {
            name: "reference",
            async run() {
              const query = table.takeOffsets(chooseRows("reference")).select([...columns]);
              expectRows((await query.toArrow()).numRows, taken);
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

/** `count` different rows all over a table, in no order; the same for the same seed. */
function scattered(count: number, rowCount: number, seed: number): number[] {
  const rows = new Set<number>();
  for (let state = seed * 2_654_435_761; rows.size < count; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    rows.add(Math.floor((state / 2 ** 32) * rowCount));
  }
  return [...rows];
}

function expectRows(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`a take gave ${actual} rows instead of ${expected}`);
}

export const takeCases: readonly BenchCase[] = (["tiltyard", "reference"] as const).flatMap((writer) => [
  take("int64 and float64", ["id", "score"], writer),
  take("utf8", ["label"], writer),
  take("utf8, 40 words", ["category"], writer),
  take("float32 × 128", ["embedding"], writer),
]);
