/** Arbitrary nested tables are read as written: whole, in part and row by row, in every file version. */

import type { Table } from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace } from "tiltyard";
import { describe, it } from "vitest";
import { compareTables } from "../support/compareTables.js";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { makeTable, tableSpecs } from "../support/generators.js";
import { makeNestedTable, nestedTableSpecs, withValidStructs } from "../support/nestedGenerators.js";
import { makeTempDir } from "../support/tempDir.js";

const VERSIONS = ["2.0", "2.1", "2.2"] as const;
type Version = (typeof VERSIONS)[number];
/** Nested tables of each version; of flat ones a third. */
const RUNS = runsOf("ROUND_TRIP_RUNS", 60);

/** Tables by the description that a failure prints. */
const KINDS: Record<string, (version: Version) => fc.Arbitrary<{ spec: object; table: () => Table }>> = {
  flat: () =>
    tableSpecs({ minRows: 1, maxRows: 1_000 }).map((spec) => ({ spec, table: () => makeTable(spec) })),
  nested: (version) =>
    nestedTableSpecs({
      maps: version === "2.2",
      emptyStructs: version === "2.0" ? "anywhere" : "placed",
      maxRows: 200,
    }).map((spec) => {
      const valid = version === "2.0" ? { ...spec, columns: spec.columns.map(withValidStructs) } : spec;
      return { spec: valid, table: () => makeNestedTable(valid) };
    }),
};

describe.each(VERSIONS)("tables of version %s", (version) => {
  it.each(Object.keys(KINDS))("keep arbitrary %s rows", async (kind) => {
    const seed = RUN_SEED;
    console.info(`round trip of ${kind} tables, ${version}: seed ${seed}`);
    const root = await makeTempDir();
    const namespace = new DirectoryNamespace({ root, durability: "none", dataStorageVersion: version });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(KINDS[kind](version), fc.nat(), fc.nat(), async ({ table }, first, second) => {
        const rows = table();
        const id = [`t${count++}`];
        await namespace.createTable({ id }, rows);
        const handle = namespace.table(id);
        compareTables(rows, await handle.scan().toArrow(), { metadata: false });
        const offset = first % rows.numRows;
        const limit = 1 + (second % (rows.numRows - offset));
        const range = await handle.scan({ offset, limit }).toArrow();
        compareTables(rows.slice(offset, offset + limit), range, { metadata: false });
        const rowOffsets = [second % rows.numRows, offset, rows.numRows - 1];
        const [head, ...others] = rowOffsets.map((row) => rows.slice(row, row + 1));
        compareTables(head.concat(...others), await handle.take(rowOffsets), { metadata: false });
        await namespace.dropTable({ id });
      }),
      { numRuns: kind === "nested" ? RUNS : Math.ceil(RUNS / 3), seed, endOnFailure: true },
    );
    await namespace.close();
    console.info(`round trip of ${kind} tables, ${version}: ${count} tables`);
  });
});
