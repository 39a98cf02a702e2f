/** Both contestants with a table that is restored to how it began before each run. */

import { join } from "node:path";
import type { DirectoryNamespace } from "tiltyard";
import { Index } from "tiltyard-reference/session.js";
import type { PreparedCase, Side } from "./case.js";
import type { BenchRows } from "./data.js";
import { openReference, openTiltyard, type ReferenceTable, referenceTable, tiltyardTable } from "./sides.js";

/** Change that a run makes. */
export interface TableChange {
  ours(ns: DirectoryNamespace, id: string[]): Promise<void>;
  reference(table: ReferenceTable): Promise<unknown>;
}

/**
 * Makes the tables; the engine has one without syncs and one with.
 * @param indexed column with a BTREE index. Default: none
 */
export async function restoredSides(
  directory: string,
  rows: BenchRows,
  change: TableChange,
  indexed?: string,
): Promise<Pick<PreparedCase, "sides" | "close">> {
  const id = ["t"];
  const tiltyard = async (
    name: Side["name"],
    folder: string,
    durability: "fsync" | "none",
  ): Promise<{ side: Side; close: () => Promise<void> }> => {
    const ns = openTiltyard(join(directory, folder), durability);
    await ns.createTable({ id }, tiltyardTable(rows));
    if (indexed !== undefined) {
      await ns.waitForJob(await ns.createTableIndex({ id, column: indexed, indexType: "BTREE" }));
    }
    const { version } = await ns.describeTable({ id });
    const side: Side = {
      name,
      async reset() {
        await ns.restoreTable({ id, version });
      },
      run: () => change.ours(ns, id),
    };
    return { side, close: () => ns.close() };
  };
  const ours = [
    await tiltyard("tiltyard", "ours", "none"),
    await tiltyard("tiltyard, fsync", "ours-synced", "fsync"),
  ];
  const connection = await openReference(join(directory, "reference"));
  const table = await connection.createTable("t", referenceTable(rows));
  if (indexed !== undefined) await table.createIndex(indexed, { config: Index.btree() });
  const firstVersion = await table.version();
  const reference: Side = {
    name: "reference",
    async reset() {
      await table.checkout(firstVersion);
      await table.restore();
    },
    async run() {
      await change.reference(table);
    },
  };
  return {
    sides: [...ours.map(({ side }) => side), reference],
    async close() {
      for (const each of ours) await each.close();
      connection.close();
    },
  };
}
