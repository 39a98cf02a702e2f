/** Nested columns beyond matrix.test.ts: arbitrary nestings, wide values, many pages, parts, refused rows. */

import * as arrow from "apache-arrow";
import { TableColumnNotFoundError, TableSchemaValidationError, UnsupportedError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { fieldOf, listOf } from "../support/arrowColumns.js";
import { runsOf } from "../support/effort.js";
import { sharedDirectory } from "../support/fixtures.js";
import { makeColumn } from "../support/generators.js";
import * as interop from "../support/interop.js";
import {
  leaf,
  list,
  makeNestedTable,
  map,
  NESTINGS,
  type NestedSpec,
  type NestedTableSpec,
  nestedTableSpecs,
  struct,
} from "../support/nestedGenerators.js";
import { compareTables, reference } from "../support/reference.js";

const VERSIONS = ["2.1", "2.2"] as const;
type Version = (typeof VERSIONS)[number];

const root = sharedDirectory();
const namespaces = interop.sharedNamespaces(root);
let tableCount = 0;
const freshName = () => `t${tableCount++}`;

async function writeThere(spec: NestedTableSpec, version: Version): Promise<void> {
  const rows = makeNestedTable(spec);
  expect(await interop.writeThere(namespaces[version], root, rows, version)).toBeUndefined();
}

async function writeHere(spec: NestedTableSpec, version: Version): Promise<void> {
  const rows = makeNestedTable(spec);
  expect(await interop.writeHere(namespaces[version], root, rows, version)).toBeUndefined();
}

describe.each(VERSIONS)("file version %s", (version) => {
  it("arbitrary nestings", async () => {
    await interop.exchangeTables({
      label: `nested interop ${version}`,
      namespace: namespaces[version],
      root,
      dataStorageVersion: version,
      specs: nestedTableSpecs({ maps: version === "2.2", emptyStructs: "placed" }),
      tableOf: makeNestedTable,
      runs: 120,
    });
  });
});

describe("values that have no place in a chunk", () => {
  const wide = [
    leaf("utf8", "some", "long"),
    leaf("fixedSizeBinary200", "some"),
    leaf("vectorUint8", "none"),
  ];
  it.each(VERSIONS)("in lists and structs, version %s", async (version) => {
    for (const item of wide) {
      const columns = [
        list(item, "some"),
        struct([item], "some"),
        list(struct([item], "some"), "some"),
        struct([list(item)], "none"),
        ...(version === "2.2" ? [struct([list(item, "some")], "some"), map(item, "some")] : []),
      ];
      const spec = { columns, rowCount: 40, seed: 11 };
      await writeThere(spec, version);
      await writeHere(spec, version);
    }
  });
});

describe("values larger than a chunk", () => {
  it.each(VERSIONS)("in lists that lie in null structs, version %s", async (version) => {
    const text = leaf("utf8", "none", "extreme");
    const around = [
      struct([list(text)], "some"),
      struct([list(text, "some")], "some"),
      list(struct([list(text)], "some")),
      struct([struct([list(leaf("binary", "some", "extreme"), "some")], "some")], "some"),
    ];
    const faults = new Set<string>();
    for (const column of around) {
      for (let seed = 1; seed <= runsOf("LARGE_NESTED", 12); seed++) {
        const rows = makeNestedTable({ columns: [column], rowCount: seed % 4 === 0 ? 40 : 5, seed });
        // The reference reads nulls around such lists as values, in its own files too.
        for (const exchange of [interop.writeThere, interop.writeHere]) {
          const fault = await exchange(namespaces[version], root, rows, version);
          if (fault !== undefined) faults.add(fault);
        }
      }
    }
    for (const fault of faults)
      console.info(`values larger than a chunk, ${version}: the reference ${fault}`);
  });
});

describe("lists of vectors larger than a chunk", () => {
  it.each(VERSIONS)("in null structs, version %s", async (version) => {
    const child = makeColumn({ type: "int32", shape: "random", nulls: "none" }, 50_000, 4);
    const vectors = arrow.makeData({
      type: new arrow.FixedSizeList(10_000, fieldOf("item", new arrow.Int32())),
      length: 5,
      nullCount: 0,
      child: child as arrow.Data<arrow.Int32>,
    });
    const lists = arrow.makeData({
      type: listOf(vectors.type),
      length: 4,
      nullCount: 0,
      valueOffsets: Int32Array.of(0, 2, 2, 3, 5),
      child: vectors,
    });
    const struct = new arrow.Struct([fieldOf("l", lists.type)]);
    const data = arrow.makeData({
      type: struct,
      length: 4,
      nullCount: 1,
      nullBitmap: Uint8Array.of(0b1101),
      children: [lists],
    });
    const rows = new arrow.Table({ c: new arrow.Vector([data]) });
    // The reference fails on its own, but reads ours in 2.2.
    await interop.writeThere(namespaces[version], root, rows, version);
    await interop.writeHere(namespaces[version], root, rows, version);
  });
});

describe("lists that are null or empty far more often than not", () => {
  it.each(VERSIONS)("need more pages than one, version %s", async (version) => {
    const sparse = list(leaf("int32", "some"), "some", "mostlyEmpty");
    const columns = [sparse, list(sparse, "some"), list(leaf("utf8"), "none", "empty")];
    const spec = { columns, rowCount: 90_000, seed: 5, batchRows: 40_001 };
    await writeThere(spec, version);
    await writeHere(spec, version);
  });
});

describe("rows with more empty lists between two values than a chunk can tell", () => {
  const items: Record<string, (count: number) => arrow.Data> = {
    numbers: (count) => makeColumn({ type: "int32", shape: "random", nulls: "some" }, count, 3),
    booleans: (count) => makeColumn({ type: "bool", shape: "random", nulls: "none" }, count, 3),
    text: (count) => makeColumn({ type: "utf8", shape: "random", nulls: "some" }, count, 3),
    vectors: (count) => makeColumn({ type: "vectorInt32", shape: "random", nulls: "some" }, count, 3),
  };
  it.each(
    VERSIONS.flatMap((version) => Object.keys(items).map((name) => [name, version] as const)),
  )("%s, version %s", async (name, version) => {
    const child = items[name](400);
    // The first row has items at both ends and 99,700 empty lists between them.
    const inner = Int32Array.from(
      { length: 100_101 },
      (_, list) => Math.min(list, 200) + Math.max(0, list - 99_901),
    );
    const lists = arrow.makeData({
      type: listOf(child.type),
      length: 100_100,
      nullCount: 0,
      valueOffsets: inner,
      child,
    });
    const data = arrow.makeData({
      type: listOf(lists.type),
      length: 2,
      nullCount: 0,
      valueOffsets: Int32Array.of(0, 100_000, 100_100),
      child: lists,
    });
    const rows = new arrow.Table({ c: new arrow.Vector([data]) });
    expect(await interop.writeThere(namespaces[version], root, rows, version)).toBeUndefined();
    expect(await interop.writeHere(namespaces[version], root, rows, version)).toBeUndefined();
  });
});

describe("parts of nested columns", () => {
  it("are read by their paths, as by the reference", async () => {
    const name = freshName();
    const namespace = namespaces["2.2"];
    const inner = struct([leaf("int64", "some"), list(leaf("utf8", "some"), "some")], "some");
    const spec = { columns: [struct([inner, leaf("bool", "some")], "some")], rowCount: 500, seed: 2 };
    await namespace.createTable({ id: [name] }, makeNestedTable(spec));
    for (const columns of [["c0.m1"], ["c0.m0"], ["c0.m0.m0", "c0.m0.m1"], ["c0.m0.m1", "c0"]]) {
      const expected = arrow.tableFromIPC(await reference.readTable(root, name, { columns }));
      const actual = await namespace.table([name]).scan({ columns, limit: 500 }).toArrow();
      compareTables(expected, actual, { metadata: false });
    }
    await expect(
      namespace
        .table([name])
        .scan({ columns: ["c0.m9"] })
        .toArrow(),
    ).rejects.toThrow(TableColumnNotFoundError);
  });

  it("limit, offset, deleted rows and taken rows", async () => {
    const name = freshName();
    const namespace = namespaces["2.2"];
    const columns = [
      leaf("int32", "none", "sorted"),
      NESTINGS.deep(leaf("utf8", "some"), "some", "short"),
      map(leaf("float64", "some"), "some"),
    ];
    const spec = { columns, rowCount: 3_000, seed: 8 };
    await reference.createTable(root, name, arrow.tableToIPC(makeNestedTable(spec)));
    await namespace.insertIntoTable({ id: [name] }, makeNestedTable({ ...spec, seed: 9 }));
    await reference.appendTable(root, name, arrow.tableToIPC(makeNestedTable({ ...spec, seed: 10 })));
    await reference.deleteRows(root, name, "c0 % 7 = 3");
    for (const [offset, limit] of [
      [0, 1],
      [2_500, 400],
      [100, 100_000],
    ]) {
      const expected = arrow.tableFromIPC(await reference.readTable(root, name, { offset, limit }));
      const actual = await namespace.table([name]).scan({ offset, limit }).toArrow();
      compareTables(expected, actual, { metadata: false });
    }
    const rowOffsets = [5, 17, 2_569, 3_001, 5_001];
    const expected = arrow.tableFromIPC(await reference.takeRows(root, name, rowOffsets));
    const actual = await namespace.takeRows({ id: [name], rowOffsets });
    compareTables(expected, actual, { metadata: false });
  });
});

describe("rows that do not fit", () => {
  it("maps in files of version 2.1", async () => {
    const table = makeNestedTable({ columns: [list(map(leaf("int32")))], rowCount: 3, seed: 1 });
    await expect(namespaces["2.1"].createTable({ id: [freshName()] }, table)).rejects.toThrow(
      UnsupportedError,
    );
  });

  it("nulls where the table's schema has none", async () => {
    const name = freshName();
    const namespace = namespaces["2.2"];
    const shape = (nulls: "none" | "some") => [list(struct([leaf("int32", nulls)]))];
    await namespace.createTable(
      { id: [name] },
      makeNestedTable({ columns: shape("none"), rowCount: 50, seed: 1 }),
    );
    const rows = makeNestedTable({ columns: shape("some"), rowCount: 50, seed: 1 });
    await expect(namespace.insertIntoTable({ id: [name] }, rows)).rejects.toThrow(TableSchemaValidationError);
  });

  it("members the table does not have, or of another type", async () => {
    const name = freshName();
    const namespace = namespaces["2.2"];
    const insert = (members: NestedSpec[]) =>
      namespace.insertIntoTable(
        { id: [name] },
        makeNestedTable({ columns: [struct(members)], rowCount: 5, seed: 1 }),
      );
    const members = [leaf("int32", "some"), leaf("utf8", "some")];
    await namespace.createTable(
      { id: [name] },
      makeNestedTable({ columns: [struct(members)], rowCount: 5, seed: 1 }),
    );
    await expect(insert([...members, leaf("bool")])).rejects.toThrow(TableSchemaValidationError);
    await expect(insert([leaf("int64", "some")])).rejects.toThrow(TableSchemaValidationError);
    // A missing nullable member reads as null.
    await insert([leaf("int32", "some")]);
    const expected = arrow.tableFromIPC(await reference.readTable(root, name));
    compareTables(expected, await namespace.table([name]).scan().toArrow(), { metadata: false });
    const taken = await namespace.takeRows({ id: [name], rowOffsets: [7, 2] });
    expect(taken.getChildAt(0)?.get(0).m1).toBe(null);
  });
});
