/** File version 2.0: every leaf type, ours read by the reference and the reference's read by us. */

import { tableFromIPC, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  allTypesSpec,
  makeTable,
  NULL_PATTERNS,
  SHAPES,
  type TableSpec,
  tableSpecs,
} from "../support/generators.js";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

let root: string;
let namespace: DirectoryNamespace;
let tableCount = 0;
const freshName = () => `t${tableCount++}`;

beforeAll(async () => {
  root = await makeTempDir();
  namespace = new DirectoryNamespace({ root, durability: "none", dataStorageVersion: "2.0" });
});
afterAll(() => namespace.close());

/** Ours → reference, and ours → us. */
async function writeHere(spec: TableSpec): Promise<void> {
  const name = freshName();
  const expected = makeTable(spec);
  const created = await namespace.createTable({ id: [name] }, expected);
  expect(created.numInsertedRows).toBe(spec.rowCount);
  compareTables(expected, tableFromIPC(await reference.readTable(root, name)), { metadata: false });
  compareTables(expected, await namespace.table([name]).scan().toArrow(), { metadata: false });
  await namespace.dropTable({ id: [name] });
}

/** Reference → us. */
async function writeThere(spec: TableSpec): Promise<void> {
  const name = freshName();
  const expected = makeTable(spec);
  await reference.createTable(root, name, tableToIPC(expected), { dataStorageVersion: "2.0" });
  compareTables(expected, await namespace.table([name]).scan().toArrow(), { metadata: false });
  await namespace.dropTable({ id: [name] });
}

describe.each(NULL_PATTERNS)("%s nulls", (nulls) => {
  it.each(SHAPES)("1,000 rows, %s values, all types", async (shape) => {
    const spec = allTypesSpec(1000, nulls, { shape, seed: 17 });
    await writeHere(spec);
    await writeThere(spec);
  });

  it.each([0, 1])("%i rows, all types", async (rowCount) => {
    const spec = allTypesSpec(rowCount, nulls, { seed: 3 });
    await writeHere(spec);
    await writeThere(spec);
  });

  it("100,000 rows in batches, all types", async () => {
    const spec = allTypesSpec(100_000, nulls, { seed: 5, batchRows: 17_001 });
    await writeHere(spec);
    await writeThere(spec);
  });
});

describe("tables of 2.0", () => {
  it("take appends by turns", async () => {
    const name = freshName();
    const part = (seed: number) => makeTable(allTypesSpec(2_500, "some", { seed, shape: "sorted" }));
    await namespace.createTable({ id: [name] }, part(0));
    // The version of a table is the table's own, whatever an engine makes new ones in.
    const other = new DirectoryNamespace({ root, durability: "none", dataStorageVersion: "2.2" });
    for (let seed = 1; seed < 5; seed++) {
      if (seed % 2 === 0) await other.insertIntoTable({ id: [name] }, part(seed));
      else await reference.appendTable(root, name, tableToIPC(part(seed)));
    }
    await other.close();
    const expected = part(0).concat(part(1), part(2), part(3), part(4));
    compareTables(expected, tableFromIPC(await reference.readTable(root, name)), { metadata: false });
    compareTables(expected, await namespace.table([name]).scan().toArrow(), { metadata: false });
    expect(await namespace.getTableStats({ id: [name] })).toEqual(await reference.tableStats(root, name));
  });

  it("give the parts the reference gives", async () => {
    const name = freshName();
    const spec = allTypesSpec(20_000, "some", { seed: 9, batchRows: 6_000 });
    await namespace.createTable({ id: [name] }, makeTable(spec));
    const columns = spec.columns.filter((_, index) => index % 3 === 1).map((column) => column.name);
    for (const [offset, limit] of [
      [0, 1],
      [5_999, 2],
      [19_990, 20],
      [123, 10_000],
    ]) {
      const expected = tableFromIPC(await reference.readTable(root, name, { columns, offset, limit }));
      const actual = await namespace.table([name]).scan({ columns, offset, limit }).toArrow();
      compareTables(expected, actual, { metadata: false });
    }
    const offsets = [0, 19_999, 7_000, 7_001];
    const taken = tableFromIPC(await reference.takeRows(root, name, offsets, { columns }));
    expect(taken.numRows).toBe(4);
  });

  it("keep arbitrary data", async () => {
    const seed = Number(process.env.FC_SEED ?? Date.now() % 1_000_000_007);
    console.info(`interop 2.0: seed ${seed}`);
    await fc.assert(
      fc.asyncProperty(tableSpecs({}), async (spec) => {
        await writeHere(spec);
        await writeThere(spec);
      }),
      { numRuns: 40, seed, endOnFailure: true },
    );
  });
});
