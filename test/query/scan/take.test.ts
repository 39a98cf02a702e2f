/** Random access gives the rows that a scan has at the same offsets, in the order asked. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { concatColumns } from "../../../src/arrow/columns/concatColumns.js";
import { takeColumn } from "../../../src/arrow/columns/takeColumn.js";
import { makeBatch, toTable } from "../../../src/arrow/exchange/batch.js";
import { columnFromData } from "../../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { InvalidInputError, TableColumnNotFoundError } from "../../../src/errors.js";
import { columnsOf, fieldOf } from "../../support/arrowColumns.js";
import { it, sharedDirectory } from "../../support/fixtures.js";
import { type ColumnSpec, makeTable, type TableSpec } from "../../support/generators.js";
import { compareTables, reference } from "../../support/reference.js";

const VERSIONS = ["2.1", "2.2"] as const;
const WRITERS = ["tiltyard", "the reference"] as const;

/** Enough rows for pages that are sliced, in every layout. */
const COLUMNS: readonly ColumnSpec[] = [
  { name: "key", type: "int32", shape: "sorted", nulls: "none" },
  { name: "wide", type: "int64", shape: "random", nulls: "none" },
  { name: "gaps", type: "int64", shape: "random", nulls: "some" },
  { name: "flag", type: "bool", shape: "random", nulls: "some" },
  { name: "word", type: "utf8", shape: "lowCardinality", nulls: "some" },
  { name: "text", type: "utf8", shape: "random", nulls: "some" },
  { name: "same", type: "float64", shape: "constant", nulls: "none" },
  { name: "void", type: "int16", shape: "random", nulls: "all" },
  { name: "dense", type: "vectorInt32", shape: "random", nulls: "none" },
  { name: "patchy", type: "vectorFloat32NullItems", shape: "lowCardinality", nulls: "some" },
];
const NAMES = COLUMNS.map(({ name }) => name);

const root = sharedDirectory();

/** Rows of a table at offsets, by way of its columns. */
function pick(table: arrow.Table, offsets: readonly number[], names: readonly string[]): arrow.Table {
  const schema: arrow.Schema = table.schema;
  const columns = names.map((name) => {
    const field = schema.fields.find((candidate) => candidate.name === name)!;
    const layout = layoutOf(field.type, name);
    const parts = table.getChild(name)!.data.map((data) => columnFromData(data, layout));
    return takeColumn(concatColumns(parts), Uint32Array.from(offsets));
  });
  const picked = table.select([...names]).schema;
  return toTable(picked, [makeBatch(picked, columns, offsets.length)]);
}

async function makeFragments(
  namespace: DirectoryNamespace,
  name: string,
  writer: (typeof WRITERS)[number],
  version: (typeof VERSIONS)[number],
): Promise<void> {
  for (const [index, rowCount] of [9_000, 1, 4_000].entries()) {
    const spec: TableSpec = { columns: [...COLUMNS], rowCount, seed: index + 1 };
    const rows = makeTable(spec);
    if (writer === "tiltyard") {
      if (index === 0) await namespace.createTable({ id: [name] }, rows);
      else await namespace.insertIntoTable({ id: [name] }, rows);
    } else if (index === 0) {
      await reference.createTable(root, name, arrow.tableToIPC(rows), { dataStorageVersion: version });
    } else await reference.appendTable(root, name, arrow.tableToIPC(rows));
  }
}

describe.each(VERSIONS)("file version %s", (version) => {
  describe.each(WRITERS)("written by %s", (writer) => {
    let namespace: DirectoryNamespace;
    const name = `t${version.replace(".", "")}${writer.length}`;
    beforeAll(async () => {
      namespace = new DirectoryNamespace({ root, durability: "none", dataStorageVersion: version });
      await makeFragments(namespace, name, writer, version);
    });
    afterAll(() => namespace.close());

    async function agrees(runs: number): Promise<void> {
      const table = namespace.table([name]);
      const all = await table.scan().toArrow();
      const offset = fc.integer({ min: 0, max: all.numRows - 1 });
      const stretch = fc
        .tuple(offset, fc.integer({ min: 1, max: 3_000 }))
        .map(([first, count]) =>
          Array.from({ length: Math.min(count, all.numRows - first) }, (_, index) => first + index),
        );
      // So dense that most chunks are wanted, and still only a small part of each.
      const spread = fc
        .tuple(fc.nat(200), fc.integer({ min: 3, max: 200 }))
        .map(([first, step]) =>
          Array.from({ length: Math.ceil((all.numRows - first) / step) }, (_, index) => first + index * step),
        );
      const offsets = fc.oneof(fc.array(offset, { maxLength: 30 }), stretch, spread);
      await fc.assert(
        fc.asyncProperty(offsets, fc.subarray(NAMES, { minLength: 1 }), async (rows, columns) => {
          const taken = await table.take(rows, columns);
          compareTables(pick(all, rows, columns), taken, { metadata: false });
        }),
        { numRuns: runs },
      );
    }

    it("takes any rows of any columns", () => agrees(25));

    it("scans any stretch of rows", async () => {
      const table = namespace.table([name]);
      const all = await table.scan().toArrow();
      const stretch = fc.tuple(
        fc.nat(all.numRows - 1),
        fc.oneof(fc.integer({ min: 1, max: 20 }), fc.nat(9_000)),
      );
      await fc.assert(
        fc.asyncProperty(stretch, async ([offset, count]) => {
          const limit = Math.max(1, count);
          const length = Math.min(limit, all.numRows - offset);
          const rows = Array.from({ length }, (_, index) => offset + index);
          const scanned = await table.scan({ offset, limit }).toArrow();
          compareTables(pick(all, rows, NAMES), scanned, { metadata: false });
        }),
        { numRuns: 12 },
      );
    });

    it("does not count deleted rows", async () => {
      const before = await namespace.table([name]).countRows();
      await reference.deleteRows(root, name, "key % 4 = 0 OR key % 7 = 2");
      expect(await namespace.table([name]).countRows()).toBeLessThan(before);
      await agrees(10);
    });

    it("refuses offsets beyond the rows", async () => {
      const table = namespace.table([name]);
      const count = await table.countRows();
      expect((await table.take([count - 1])).numRows).toBe(1);
      for (const bad of [
        [count],
        [0, count + 5],
        [-1],
        [0.5],
        [Number.NaN],
        [2 ** 53],
        ["1"],
        [1n],
        [null],
      ]) {
        await expect(table.take(bad as number[])).rejects.toThrow(InvalidInputError);
      }
      for (const bad of [undefined, 3, "0", {}, new DataView(new ArrayBuffer(8)), new BigInt64Array(1)]) {
        await expect(table.take(bad as unknown as number[])).rejects.toThrow(InvalidInputError);
      }
      await expect(table.take([0], ["nothing"])).rejects.toThrow(TableColumnNotFoundError);
    });

    it("takes nothing, typed arrays, and earlier versions", async () => {
      const table = namespace.table([name]);
      const none = await table.take([], ["key"]);
      expect([none.numRows, none.schema.fields.length]).toEqual([0, 1]);
      const plain = await table.take([5, 2, 5], ["key"]);
      for (const offsets of [Uint32Array.of(5, 2, 5), Float64Array.of(5, 2, 5)]) {
        compareTables(plain, await table.take(offsets, ["key"]));
      }
      const first = namespace.table([name], { version: 1 });
      expect(await first.countRows()).toBe(9_000);
      await expect(first.take([9_000])).rejects.toThrow(InvalidInputError);
    });
  });
});

it("a take returns rows of lists and structs", async () => {
  const item = fieldOf("item", new arrow.Int32());
  const list = new arrow.List(item);
  const struct = new arrow.Struct([fieldOf("a", new arrow.Int32()), fieldOf("l", list)]);
  const listOf = (row: number) =>
    row % 11 === 0 ? null : Array.from({ length: row % 5 }, (_, index) => (index === 3 ? null : row * index));
  const rowCount = 30_000;
  const rows = Array.from({ length: rowCount }, (_, row) => row);
  const table = new arrow.Table({
    list: arrow.vectorFromArray(rows.map(listOf), list),
    struct: columnsOf(struct)(rows.map((row) => ({ a: row % 7 === 0 ? null : row, l: listOf(row + 1) }))),
  });
  await using namespace = new DirectoryNamespace({ root, durability: "none" });
  await namespace.createTable({ id: ["nested"] }, table);
  const offsets = [29_999, 11, 3, 3, 15_000, 0, 22_222];
  const taken = await namespace.table(["nested"]).take(offsets);
  expect(taken.toArray().map((row) => JSON.stringify(row))).toEqual(
    offsets.map((row) => JSON.stringify(table.get(row))),
  );
  const limited = await namespace.table(["nested"]).scan({ offset: 12_345, limit: 3 }).toArrow();
  expect(limited.toArray().map((row) => JSON.stringify(row))).toEqual(
    [12_345, 12_346, 12_347].map((row) => JSON.stringify(table.get(row))),
  );
});

it("a take gives each caller a dictionary of its own", async ({ root }) => {
  await using namespace = new DirectoryNamespace({
    root,
    durability: "none",
    dataStorageVersion: "2.1",
  });
  const values = Array.from({ length: 100_000 }, (_, row) => `value ${(row * 7) % 300}`);
  const column = arrow.vectorFromArray(values, new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()));
  await namespace.createTable({ id: ["t"] }, new arrow.Table({ column }));
  const far = Array.from({ length: 40 }, (_, index) => index * 2_000);
  for (const rows of [[5, 70_000], far]) {
    for (let time = 0; time < 3; time++) {
      const taken = await namespace.table(["t"]).take(rows);
      expect([...taken.getChild("column")!]).toEqual(rows.map((row) => values[row]));
      // What callers do to their rows stays with them.
      for (const data of taken.getChild("column")!.data) {
        for (const words of data.dictionary?.data ?? []) (words.values as Uint8Array).fill(63);
      }
    }
  }
});
