/** Creating a table and appending batches to it; appending single rows. */

import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BenchCase, Side, Size } from "../case.js";
import { type BenchRows, byteLength, COLUMN_NAMES, type ColumnName, makeRows } from "../data.js";
import { openReference, openTiltyard, referenceTable, tiltyardTable } from "../sides.js";

/** Makes the table anew in each run: the first batch creates it, the others are appended. */
function createAndAppend(label: string, columns: readonly ColumnName[]): BenchCase {
  return {
    area: "write",
    name: `create + append, 5 × 100,000 rows: ${label}`,
    rounds: { small: 2, large: columns.includes("embedding") ? 7 : 25 },
    collectFirst: columns.includes("embedding"),
    async prepare(directory, size) {
      const rowCount = size === "large" ? 100_000 : 500;
      const batches = Array.from({ length: size === "large" ? 5 : 2 }, (_, i) =>
        makeRows(rowCount, i, columns),
      );
      const reference = await openReference(join(directory, "reference"));
      const sides: Side[] = [
        tiltyardSide("tiltyard", join(directory, "ours"), "none", batches),
        tiltyardSide("tiltyard, fsync", join(directory, "ours-synced"), "fsync", batches),
        {
          name: "reference",
          async reset() {
            await rm(join(directory, "reference", "t.lance"), { recursive: true, force: true });
          },
          async run() {
            const table = await reference.createTable("t", referenceTable(batches[0]));
            for (const batch of batches.slice(1)) await table.add(referenceTable(batch));
          },
        },
      ];
      return {
        work: { amount: rowCount * batches.length, unit: "rows" },
        bytes: batches.reduce((sum, batch) => sum + byteLength(batch), 0),
        sides,
        fileBytes: async () => ({
          tiltyard: await dataFileBytes(join(directory, "ours")),
          reference: await dataFileBytes(join(directory, "reference")),
        }),
        async close() {
          reference.close();
        },
      };
    },
  };
}

async function dataFileBytes(root: string): Promise<number> {
  const data = join(root, "t.lance", "data");
  let bytes = 0;
  for (const name of await readdir(data)) bytes += (await stat(join(data, name))).size;
  return bytes;
}

/** An engine per run, as the table it knew is gone with the directory. */
function tiltyardSide(
  name: Side["name"],
  root: string,
  durability: "fsync" | "none",
  batches: readonly BenchRows[],
): Side {
  return {
    name,
    async reset() {
      // As for the reference: the catalog, which its plain connection has none of, stays with the table's
      // row.
      await rm(join(root, "t.lance"), { recursive: true, force: true });
    },
    async run() {
      const ns = openTiltyard(root, durability);
      await ns.createTable({ id: ["t"] }, tiltyardTable(batches[0]));
      for (const batch of batches.slice(1)) await ns.insertIntoTable({ id: ["t"] }, tiltyardTable(batch));
      await ns.close();
    },
  };
}

/** Every run is a commit to the same table, which grows by a version and a fragment each time. */
const appendOneRow: BenchCase = {
  area: "write",
  name: "append 1 row",
  rounds: { small: 4, large: 200 },
  async prepare(directory: string, _size: Size) {
    const first = makeRows(1, 1);
    const reference = await openReference(join(directory, "reference"));
    const table = await reference.createTable("t", referenceTable(first));
    const engines = [
      { name: "tiltyard", ns: openTiltyard(join(directory, "ours"), "none") },
      { name: "tiltyard, fsync", ns: openTiltyard(join(directory, "ours-synced"), "fsync") },
    ] as const;
    const sides: Side[] = [];
    for (const { name, ns } of engines) {
      await ns.createTable({ id: ["t"] }, tiltyardTable(first));
      sides.push({
        name,
        async run() {
          await ns.insertIntoTable({ id: ["t"] }, tiltyardTable(first));
        },
      });
    }
    sides.push({
      name: "reference",
      async run() {
        await table.add(referenceTable(first));
      },
    });
    return {
      work: { amount: 1, unit: "rows" },
      sides,
      async close() {
        for (const { ns } of engines) await ns.close();
        reference.close();
      },
    };
  },
};

export const writeCases: readonly BenchCase[] = [
  createAndAppend("all four columns", COLUMN_NAMES),
  createAndAppend("int64", ["id"]),
  createAndAppend("float64", ["score"]),
  createAndAppend("utf8", ["label"]),
  createAndAppend("utf8, 40 words", ["category"]),
  createAndAppend("float32 × 128", ["embedding"]),
  createAndAppend("lists of utf8", ["tags"]),
  createAndAppend("lists of lists of int32", ["grid"]),
  appendOneRow,
];
