/** Compaction of many small fragments, and the removal of old versions that the reference's goes along with. */

import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BenchCase, Side } from "../case.js";
import type { ColumnName } from "../data.js";
import { makeFragments } from "../fragments.js";
import { openReference, openTiltyard } from "../sides.js";

function compaction(fragmentRows: number, label: string, columns: readonly ColumnName[]): BenchCase {
  return {
    area: "write",
    name: `compaction of 500 fragments of ${fragmentRows} rows: ${label}`,
    rounds: { small: 1, large: 9 },
    collectFirst: true,
    async prepare(directory, size) {
      const [fragments, rowCount] = size === "large" ? [500, fragmentRows] : [5, 10];
      const template = join(directory, "template");
      await makeFragments(template, fragments, rowCount, columns);
      const rows = fragments * rowCount;
      return {
        work: { amount: rows, unit: "rows" },
        sides: [
          tiltyardSide("tiltyard", directory, "none", rows),
          tiltyardSide("tiltyard, fsync", directory, "fsync", rows),
          referenceSide(directory, rows),
        ],
        async close() {},
      };
    },
  };
}

/** A table of its own for each run. */
async function resetTable(directory: string, root: string): Promise<void> {
  await rm(root, { recursive: true, force: true });
  await cp(join(directory, "template"), root, { recursive: true });
}

function tiltyardSide(
  name: Side["name"],
  directory: string,
  durability: "fsync" | "none",
  rows: number,
): Side {
  const root = join(directory, durability);
  return {
    name,
    reset: () => resetTable(directory, root),
    async run() {
      const ns = openTiltyard(root, durability);
      const { fragmentsAdded } = await ns.optimizeTable({ id: ["t"] });
      await ns.cleanupTable({ id: ["t"] });
      expectCompacted(fragmentsAdded, await ns.countTableRows({ id: ["t"] }), rows);
      await ns.close();
    },
  };
}

function referenceSide(directory: string, rows: number): Side {
  const root = join(directory, "reference");
  return {
    name: "reference",
    reset: () => resetTable(directory, root),
    async run() {
      const connection = await openReference(root);
      const table = await connection.openTable("t");
      const { compaction } = await table.optimize();
      expectCompacted(compaction.fragmentsAdded, await table.countRows(), rows);
      connection.close();
    },
  };
}

function expectCompacted(fragmentsAdded: number, actual: number, expected: number): void {
  if (fragmentsAdded !== 1) throw new Error(`${fragmentsAdded} fragments instead of one`);
  if (actual !== expected) throw new Error(`${actual} rows after the compaction instead of ${expected}`);
}

export const upkeepCases: readonly BenchCase[] = [
  compaction(1000, "id, score, label", ["id", "score", "label"]),
  compaction(200, "four columns", ["id", "score", "label", "embedding"]),
];
