/** Small fragments are copied differently from large ones, and mix with them in any order. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { FixedSizeList, Float32, Int32, Table } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { describe, expect } from "vitest";
import { openDataFile } from "../../../src/file/container/reader.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { bools, columnsOf, fieldOf, float32s, int32s, listOf, utf8s } from "../../support/arrowColumns.js";
import { it } from "../../support/fixtures.js";
import { compareTables, reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";

const id = ["t"];

function rowsOf(from: number, length: number): Table {
  const rows = Array.from({ length }, (_, row) => from + row);
  const text = (row: number) => (row % 13 === 0 ? null : `${row} `.repeat(row % 9));
  return new Table({
    n: int32s(rows),
    text: utf8s(rows.map(text)),
    label: utf8s(rows.map((row) => `label ${row % 5}`)),
    list: columnsOf(listOf(new Int32()))(
      rows.map((row) => (row % 4 === 0 ? null : Array.from({ length: row % 6 }, (_, item) => row * item))),
    ),
    vector: columnsOf(new FixedSizeList(8, fieldOf("item", new Float32())))(
      rows.map((row) => Array.from({ length: 8 }, (_, item) => row + item / 8)),
    ),
  });
}

it.each([5, 7, 9, 15])("fragments of %i rows become one page per column", async (length) => {
  const root = await makeTempDir();
  await using ns = new DirectoryNamespace({ root, durability: "none", workers: 0 });
  // Bits, and nulls, which the first fragment lacks.
  const flags = (from: number): Table => {
    const rows = Array.from({ length }, (_, row) => from + row);
    return new Table({
      n: int32s(rows),
      flag: bools(rows.map((row) => row % 3 === 0)),
      nullable: float32s(rows.map((row) => (row > length && row % 2 === 0 ? null : row))),
    });
  };
  await ns.createTable({ id }, flags(0));
  for (let part = 1; part < 30; part++) await ns.insertIntoTable({ id }, flags(part * length));
  const data = join(root, "t.lance", "data");
  const before = new Set(await readdir(data));
  await ns.optimizeTable({ id });
  const [name] = (await readdir(data)).filter((each) => !before.has(each));
  const handle = await new NodeDisk({ durability: "none" }).open(join(data, name));
  if (handle === null) throw new Error("no file");
  const { columns } = await openDataFile(handle, name);
  expect(columns.map(({ pages }) => pages.length)).toEqual([1, 1, 1]);
  await handle.close();
});

describe.each([0, 1])("with %i threads", (workers) => {
  it("a compaction keeps the rows and their order", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root, durability: "none", workers });
    // Small fragments, large ones, and one that is small after deletions.
    const sizes = [10, 300, 12_000, 5, 20, 8000, 8000, 1, 700, 30, 15_000, 3, 3];
    let from = 0;
    for (const [index, length] of sizes.entries()) {
      const rows = rowsOf(from, length);
      await (index === 0 ? ns.createTable({ id }, rows) : ns.insertIntoTable({ id }, rows));
      from += length;
    }
    await ns.deleteFromTable({ id, predicate: "n % 17 = 3 OR n BETWEEN 12400 AND 20300" });
    const before = await ns.table(id).scan().toArrow();
    expect(before.numRows).toBeGreaterThan(25_000);
    const { fragmentsAdded, fragmentsRemoved } = await ns.optimizeTable({ id });
    expect([fragmentsRemoved, fragmentsAdded]).toEqual([sizes.length, 1]);
    compareTables(before, await ns.table(id).scan().toArrow());
    compareTables(before, await reference.readTable(root, "t"));
  });

  it("consecutive compactions reuse memory", async () => {
    for (let round = 0; round < 4; round++) {
      const root = await makeTempDir();
      await using ns = new DirectoryNamespace({ root, durability: "none", workers });
      await ns.createTable({ id }, rowsOf(round, 50));
      for (let part = 1; part < 30; part++)
        await ns.insertIntoTable({ id }, rowsOf(part * 1000, 50 + part + round));
      const before = await ns.table(id).scan().toArrow();
      await ns.optimizeTable({ id });
      compareTables(before, await ns.table(id).scan().toArrow());
      if (round === 3) compareTables(before, await reference.readTable(root, "t"));
    }
  });
});
