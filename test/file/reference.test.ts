import { join } from "node:path";
import * as arrow from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { fieldOf } from "../support/arrowColumns.js";
import { allTypesSpec, type ColumnSpec, makeTable, Random, TYPE_NAMES } from "../support/generators.js";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";
import { swapDataFile } from "./swapDataFile.js";

describe.each(["2.1", "2.2"] as const)("the reference reads data files of version %s", (version) => {
  let uri = "";
  const disk = new NodeDisk({ durability: "none" });
  beforeAll(async () => {
    uri = await makeTempDir();
  });

  /** Replaces the reference's file by ours, with other rows; all the ways to read give our rows. */
  async function expectReadable(name: string, theirs: arrow.Table, ours: arrow.Table): Promise<void> {
    await reference.createTable(uri, name, arrow.tableToIPC(theirs, "stream"), {
      dataStorageVersion: version,
    });
    await swapDataFile(disk, join(uri, `${name}.lance`), ours, version);
    compareTables(ours, await reference.readTable(uri, name), { metadata: false });
    const half = Math.floor(ours.numRows / 2);
    const middle = await reference.readTable(uri, name, { offset: half, limit: 100 });
    compareTables(ours.slice(half, half + 100), middle, { metadata: false });
    // The reference returns rows in its own order, so ours ascend.
    const count = Math.min(60, ours.numRows);
    const offsets = Array.from({ length: count }, (_, index) => Math.floor((index * ours.numRows) / count));
    const batch = ours.batches[0];
    const expected = offsets.map((offset) => batch.slice(offset, offset + 1));
    compareTables(new arrow.Table(ours.schema, expected), await reference.takeRows(uri, name, offsets), {
      metadata: false,
    });
  }

  for (const [shape, nulls] of [
    ["random", "none"],
    ["random", "some"],
    ["random", "all"],
    ["constant", "none"],
    ["constant", "some"],
    ["lowCardinality", "some"],
    ["extreme", "none"],
    ["long", "some"],
    ["empty", "none"],
    ["empty", "some"],
  ] as const) {
    it(`with ${shape} values of every type, nulls: ${nulls}`, async () => {
      // Only these types have long values; for others this case repeats the random one.
      const types = shape === "long" ? (["utf8", "largeUtf8", "binary", "largeBinary"] as const) : TYPE_NAMES;
      const ours = makeTable(allTypesSpec(1500, nulls, { shape, seed: 5, types }));
      const theirs = makeTable(allTypesSpec(1500, nulls, { shape: "random", seed: 6, types }));
      await expectReadable(`${shape}_${nulls}`, theirs, ours);
    });
  }

  it("with one row", async () => {
    const ours = makeTable(allTypesSpec(1, "none", { seed: 5 }));
    await expectReadable("one", makeTable(allTypesSpec(1, "none", { seed: 6 })), ours);
  });

  it("with dictionary-typed columns", async () => {
    const make = (seed: number) => {
      const pick = (words: readonly (string | null)[]) =>
        Array.from({ length: 2500 }, (_, row) => words[(row * seed) % words.length]);
      return new arrow.Table({
        plain: arrow.vectorFromArray(
          pick(["red", "green", "blue"]),
          new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
        ),
        nulls: arrow.vectorFromArray(
          pick(["red", null, "blue", ""]),
          new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8()),
        ),
        wide: arrow.vectorFromArray(
          pick(["a", "b", "c", null]),
          new arrow.Dictionary(new arrow.Utf8(), new arrow.Int16()),
        ),
      });
    };
    await expectReadable("dictionaries", make(7), make(5));
  });

  it("with lists of lists, of bits, and columns of nulls", async () => {
    const make = (seed: number) => {
      const rows = 2500;
      const random = new Random(seed);
      const bytes = (count: number) => {
        const filled = new Uint8Array(count);
        random.fill(filled);
        return filled;
      };
      const nulls = (count: number, some: boolean) =>
        some ? { nullBitmap: bytes(Math.ceil(count / 8)), nullCount: -1 } : { nullCount: 0 };
      const floats = (outer: number, inner: number, some: boolean) => {
        const items = arrow.makeData({
          type: new arrow.Float32(),
          length: rows * outer * inner,
          data: Float32Array.from({ length: rows * outer * inner }, () => random.next()),
          ...nulls(rows * outer * inner, some),
        });
        const list = new arrow.FixedSizeList(inner, fieldOf("item", new arrow.Float32()));
        const lists = arrow.makeData({
          type: list,
          length: rows * outer,
          child: items,
          ...nulls(rows * outer, some),
        });
        const type = new arrow.FixedSizeList(outer, fieldOf("item", list));
        return arrow.makeData({ type, length: rows, child: lists, ...nulls(rows, some) });
      };
      const bits = (some: boolean) => {
        const data = bytes(Math.ceil((rows * 9) / 8));
        const items = arrow.makeData({
          type: new arrow.Bool(),
          length: rows * 9,
          data,
          ...nulls(rows * 9, some),
        });
        const type = new arrow.FixedSizeList(9, fieldOf("item", new arrow.Bool()));
        return arrow.makeData({ type, length: rows, child: items, ...nulls(rows, some) });
      };
      const columns = {
        small: floats(2, 3, false),
        smallNulls: floats(2, 3, true),
        large: floats(5, 50, false),
        largeNulls: floats(5, 50, true),
        bits: bits(false),
        bitsNulls: bits(true),
        nothing: arrow.makeData({ type: new arrow.Null(), length: rows }),
      };
      const schema = new arrow.Schema(
        Object.entries(columns).map(([name, data]) => fieldOf(name, data.type)),
      );
      const children: arrow.Data[] = Object.values(columns);
      return new arrow.Table(
        schema,
        new arrow.RecordBatch(
          schema,
          arrow.makeData({ type: new arrow.Struct(schema.fields), length: rows, nullCount: 0, children }),
        ),
      );
    };
    await expectReadable("lists", make(2), make(3));
  });

  it("filters and deletes on pages without levels", async () => {
    const columns: ColumnSpec[] = [
      { name: "a", type: "int64", shape: "random", nulls: "none" },
      { name: "f", type: "float64", shape: "random", nulls: "none" },
      { name: "b", type: "int8", shape: "random", nulls: "none" },
      { name: "s", type: "utf8", shape: "lowCardinality", nulls: "some" },
    ];
    const ours = makeTable({ columns, rowCount: 20_000, seed: 5 });
    await expectReadable("filters", makeTable({ columns, rowCount: 20_000, seed: 6 }), ours);
    const values = ours.getChild("b")!.toArray() as Int8Array;
    const negative = values.reduce((count, value) => count + (value < 0 ? 1 : 0), 0);
    expect(await reference.countRows(uri, "filters", "b < 0")).toBe(negative);
    expect(await reference.countRows(uri, "filters", `a = ${ours.getChild("a")!.get(777)}`)).toBe(1);
    await reference.deleteRows(uri, "filters", "b < 0");
    expect(await reference.countRows(uri, "filters")).toBe(20_000 - negative);
    const left = arrow.tableFromIPC(await reference.readTable(uri, "filters", { columns: ["b"] }));
    expect([...left.getChild("b")!.toArray()]).toEqual([...values].filter((value) => value >= 0));
  });
});
