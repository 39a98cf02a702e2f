/** Blob columns of version 2 in data files, in shared side files, and in side files of their own. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import fc from "fast-check";
import {
  DirectoryNamespace,
  InvalidInputError,
  TableSchemaValidationError,
  UnsupportedError,
} from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { columnsOf, fieldOf, int32s, listOf } from "../support/arrowColumns.js";
import { countingDisk } from "../support/countingDisk.js";
import { runsOf } from "../support/effort.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { compareTables, reference } from "../support/reference.js";

const DATA = fieldOf("data", new arrow.LargeBinary());
const URI = fieldOf("uri", new arrow.Utf8());
const RANGE = [fieldOf("position", new arrow.Uint64()), fieldOf("size", new arrow.Uint64())];
const BLOB = new arrow.Struct([DATA, URI]);
const INLINE = "lance-encoding:blob-inline-size-threshold";
const SHARED = "lance-encoding:blob-dedicated-size-threshold";
const SIDE_FILE = "lance-encoding:blob-pack-file-size-threshold";

const SIZES = [5, null, 0, 70_000, 65_536, 65_537, 4_194_304, 4_194_305, 100_000, null, 9];
/** Bounds so small that a few bytes reach every kind of file. */
const SMALL = { [INLINE]: "10", [SHARED]: "20", [SIDE_FILE]: "30" };
const SMALL_SIZES = [5, 10, null, 11, 12, 20, 0, 21, 22, 40, 19, null, 15];

const disk = countingDisk(new NodeDisk({ durability: "none" }));
let tableCount = 0;
const freshName = () => `b${tableCount++}`;

const root = sharedDirectory();
const namespace = sharedNamespace({ root, dataStorageVersion: "2.2", disk });

const blobField = (
  more: Record<string, string> = {},
  type: arrow.DataType = BLOB,
  nullable = true,
): arrow.Field =>
  new arrow.Field(
    "b",
    type,
    nullable,
    new Map([["ARROW:extension:name", "lance.blob.v2"], ...Object.entries(more)]),
  );

function bytesOf(row: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let index = 0; index < size; index++) bytes[index] = row * 31 + index * 7 + (index >>> 8);
  return bytes;
}

const struct = (row: number, size: number | null) =>
  size === null ? null : { data: bytesOf(row, size), uri: null };

const tableOf = (sizes: readonly (number | null)[], field = blobField(), firstRow = 0): arrow.Table =>
  new arrow.Table(new arrow.Schema([field]), {
    b: columnsOf(BLOB)(sizes.map((size, row) => struct(row + firstRow, size))),
  });

const hex = (values: readonly (Uint8Array | null)[]) =>
  values.map((value) => (value === null ? null : Buffer.from(value).toString("hex")));

const expectedBytes = (sizes: readonly (number | null)[]) =>
  hex(sizes.map((size, row) => (size === null ? null : bytesOf(row, size))));

/** Files of each side directory, and the reference's location of each value, without random names. */
async function placement(name: string): Promise<{ sideFiles: unknown; descriptors: unknown }> {
  const data = join(root, `${name}.lance`, "data");
  const sideFiles = readdirSync(data, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) =>
      readdirSync(join(data, entry.name))
        .sort()
        .map((file) => [file, readFileSync(join(data, entry.name, file)).toString("hex")]),
    );
  const described = arrow.tableFromIPC(await reference.readTable(root, name)).toArray();
  return { sideFiles, descriptors: described.map((row) => JSON.stringify(row, plain)) };
}

const plain = (_: string, value: unknown) => (typeof value === "bigint" ? Number(value) : value);

describe("what the reference writes is read", () => {
  it("from wherever it puts them, and lazily the bytes asked for only", async () => {
    const name = freshName();
    const table = namespace.table([name]);
    const expected = tableOf(SIZES);
    await reference.createTable(root, name, arrow.tableToIPC(expected));
    compareTables(expected, await table.scan().toArrow());
    compareTables(expected.slice(3, 6), await table.take([3, 4, 5]));
    disk.reset();
    const lazy = await table.takeBlobs("b", [10, 1, 7, 5]);
    expect(lazy.map((value) => value?.size)).toEqual([9, undefined, 4_194_305, 65_537]);
    expect(disk.bytesRead).toBeLessThan(70_000);
    disk.reset();
    expect(hex([await lazy[2]!.read(4_194_300), await lazy[3]!.read(65_000, 10)])).toEqual(
      hex([bytesOf(7, 4_194_305).subarray(4_194_300), bytesOf(5, 65_537).subarray(65_000, 65_010)]),
    );
    expect(disk.reads.map(({ length }) => length)).toEqual([5, 10]);
    await namespace.dropTable({ id: [name] });
  });

  it.each([[[null, null]], [[7]], [[7, 7, 7]]])("sizes %j", async (sizes) => {
    const name = freshName();
    await reference.createTable(root, name, arrow.tableToIPC(tableOf(sizes)));
    await reference.appendTable(root, name, arrow.tableToIPC(tableOf(sizes)));
    const expected = tableOf(sizes);
    compareTables(expected.concat(expected), await namespace.table([name]).scan().toArrow());
  });
});

describe("what is written here", () => {
  it.each<[string, readonly (number | null)[], Record<string, string>, boolean]>([
    ["of all sizes", SIZES, {}, true],
    ["of all sizes, by bounds of the field", SMALL_SIZES, SMALL, true],
    ["none in the data file but empty ones", [1, 0, null, 2], { [INLINE]: "0" }, true],
    ["more in the data file than may share one", [5, 15, 25], { [INLINE]: "20", [SHARED]: "10" }, true],
    ["non-null", [3, 0, 70_000], {}, false],
    ["all null", [null, null, null], {}, true],
    ["all alike", [7, 7], {}, true],
    ["one", [1], {}, true],
  ])("%s: lies where the reference puts it, and both read it", async (_, sizes, bounds, nullable) => {
    const expected = tableOf(sizes, blobField(bounds, BLOB, nullable));
    const [ours, theirs] = [freshName(), freshName()];
    await namespace.createTable({ id: [ours] }, expected);
    await reference.createTable(root, theirs, arrow.tableToIPC(expected));
    expect(await placement(ours)).toEqual(await placement(theirs));
    expect(await reference.schemaJson(root, ours)).toEqual(await reference.schemaJson(root, theirs));
    for (const name of [ours, theirs]) {
      compareTables(expected, await namespace.table([name]).scan().toArrow());
      expect(hex(await reference.fetchBlobs(root, name, "b"))).toEqual(expectedBytes(sizes));
      await namespace.dropTable({ id: [name] });
    }
  });

  it("two columns share side files, as in the reference's files", async () => {
    const c = fieldOf("c", BLOB, true, { "ARROW:extension:name": "lance.blob.v2" });
    const id = fieldOf("id", new arrow.Int32());
    const b = blobField(SMALL);
    const expected = new arrow.Table(new arrow.Schema([b, id, c]), {
      b: arrow.vectorFromArray([struct(0, 11), struct(1, 25), struct(2, 3), null], BLOB),
      id: int32s([1, 2, 3, 4]),
      c: arrow.vectorFromArray([struct(4, 70_000), null, struct(5, 8), struct(6, 70_001)], BLOB),
    });
    const [ours, theirs] = [freshName(), freshName()];
    await namespace.createTable({ id: [ours] }, expected);
    await reference.createTable(root, theirs, arrow.tableToIPC(expected));
    expect(await placement(ours)).toEqual(await placement(theirs));
    compareTables(expected, await namespace.table([ours]).scan().toArrow());
  });

  it("no rows", async () => {
    const name = freshName();
    await namespace.createTable({ id: [name] }, tableOf([3]).slice(0, 0));
    expect(await namespace.table([name]).countRows()).toBe(0);
    expect(await reference.fetchBlobs(root, name, "b")).toEqual([]);
    await reference.appendTable(root, name, arrow.tableToIPC(tableOf([3])));
    compareTables(tableOf([3]), await namespace.table([name]).scan().toArrow());
  });

  it("appends and overwrites by turns with the reference, in several batches, with deletions", async () => {
    const name = freshName();
    const parts = [0, 1, 2, 3].map((part) =>
      tableOf(SMALL_SIZES, blobField(SMALL), part * SMALL_SIZES.length),
    );
    await namespace.createTable({ id: [name] }, [
      ...parts[0]!.slice(0, 4).batches,
      ...parts[0]!.slice(4).batches,
    ] as arrow.RecordBatch[]);
    await reference.appendTable(root, name, arrow.tableToIPC(parts[1]!));
    await namespace.insertIntoTable({ id: [name] }, parts[2]!);
    await reference.appendTable(root, name, arrow.tableToIPC(parts[3]!));
    const all = parts[0]!.concat(parts[1]!, parts[2]!, parts[3]!);
    compareTables(all, await namespace.table([name]).scan().toArrow());
    const sizes = parts.flatMap(() => SMALL_SIZES);
    expect(hex(await reference.fetchBlobs(root, name, "b"))).toEqual(expectedBytes(sizes));
    await reference.deleteRows(root, name, "b IS NULL");
    expect(await namespace.table([name]).countRows()).toBe(sizes.filter((size) => size !== null).length);
    const left = hex(sizes.flatMap((size, row) => (size === null ? [] : [bytesOf(row, size)])));
    expect(hex(await reference.fetchBlobs(root, name, "b"))).toEqual(left);
    const lazy = await namespace.table([name]).takeBlobs("b", [...left.keys()]);
    expect(hex(await Promise.all(lazy.map((value) => value!.read())))).toEqual(left);
    await namespace.insertIntoTable({ id: [name], mode: "Overwrite" }, parts[1]!);
    compareTables(parts[1]!, await namespace.table([name]).scan().toArrow());
    await reference.overwriteTable(root, name, arrow.tableToIPC(parts[3]!));
    compareTables(parts[3]!, await namespace.table([name]).scan().toArrow());
  });

  it("random sizes under random bounds", async () => {
    const bound = fc.integer({ min: 1, max: 40 });
    const sizes = fc.array(fc.option(fc.integer({ min: 0, max: 60 })), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(sizes, bound, bound, bound, fc.integer({ min: 1, max: 60 }), async (...drawn) => {
        const [drawnSizes, inline, shared, sideFile, batchRows] = drawn;
        const bounds = { [INLINE]: `${inline}`, [SHARED]: `${shared}`, [SIDE_FILE]: `${sideFile}` };
        const expected = tableOf(drawnSizes, blobField(bounds));
        const batches: arrow.RecordBatch[] = [];
        for (let row = 0; row < drawnSizes.length; row += batchRows) {
          batches.push(...expected.slice(row, row + batchRows).batches);
        }
        const [ours, theirs] = [freshName(), freshName()];
        await namespace.createTable({ id: [ours] }, batches);
        await reference.createTable(root, theirs, arrow.tableToIPC(expected));
        for (const name of [ours, theirs]) {
          compareTables(expected, await namespace.table([name]).scan().toArrow());
          expect(hex(await reference.fetchBlobs(root, name, "b"))).toEqual(expectedBytes(drawnSizes));
        }
        expect(await placement(ours)).toEqual(await placement(theirs));
      }),
      { numRuns: runsOf("BLOB_RUNS", 25) },
    );
  });
});

/** Stores the rows in a table of each engine, which puts the values in the same places. */
async function storedAlike(rows: arrow.Table): Promise<readonly string[]> {
  const [ours, theirs] = [freshName(), freshName()];
  await namespace.createTable({ id: [ours] }, rows);
  await reference.createTable(root, theirs, arrow.tableToIPC(rows));
  expect(await placement(ours)).toEqual(await placement(theirs));
  for (const name of [ours, theirs]) compareTables(rows, await namespace.table([name]).scan().toArrow());
  return [ours, theirs];
}

describe("rows come", () => {
  const appended = async (rows: arrow.Table, base = tableOf([5])): Promise<arrow.Table> => {
    const name = freshName();
    await namespace.createTable({ id: [name] }, base);
    await namespace.insertIntoTable({ id: [name] }, rows);
    const values = await reference.fetchBlobs(root, name, "b");
    const read = await namespace.table([name]).scan().toArrow();
    expect(hex(values)).toEqual(
      hex(Array.from(read.getChild("b")!, (row) => (row === null ? null : (row.data as Uint8Array)))),
    );
    return read.slice(base.numRows);
  };
  const only = (type: arrow.DataType, rows: unknown[]) =>
    new arrow.Table(new arrow.Schema([fieldOf("b", type)]), {
      b: arrow.vectorFromArray(rows as never[], type),
    });

  it("without the extension, and take on the bounds of the table", async () => {
    const read = await appended(tableOf([100], fieldOf("b", BLOB)), tableOf([5], blobField(SMALL)));
    compareTables(tableOf([100], blobField(SMALL)), read);
  });

  it("with members in another order, or without a uri", async () => {
    const swapped = new arrow.Struct([URI, DATA]);
    compareTables(tableOf([70_000, null]), await appended(only(swapped, [struct(0, 70_000), null])));
    const alone = new arrow.Struct([DATA]);
    compareTables(tableOf([7, null]), await appended(only(alone, [{ data: bytesOf(0, 7) }, null])));
  });

  it.each([
    ["large_binary", new arrow.LargeBinary()],
    ["binary", new arrow.Binary()],
  ])("as values of type %s", async (_, type) => {
    const rows = only(type, [bytesOf(0, 70_000), null, bytesOf(2, 0), bytesOf(3, 9)]);
    compareTables(tableOf([70_000, null, 0, 9]), await appended(rows));
  });

  it("without the column, where it is nullable", async () => {
    const id = fieldOf("id", new arrow.Int32());
    const ids = int32s([1]);
    const base = new arrow.Table(new arrow.Schema([blobField(), id]), {
      b: arrow.vectorFromArray([struct(0, 5)], BLOB),
      id: ids,
    });
    const read = await appended(new arrow.Table(new arrow.Schema([id]), { id: ids }), base);
    expect(read.toArray().map((row) => row.toJSON())).toEqual([{ b: null, id: 1 }]);
  });

  it("with a range of the uri, of which the table has none", async () => {
    const type = new arrow.Struct([DATA, URI, ...RANGE]);
    const rows = [{ data: bytesOf(0, 70_000), uri: null, position: null, size: null }, null];
    const expected = new arrow.Table(new arrow.Schema([blobField({}, type)]), {
      b: arrow.vectorFromArray(rows, type),
    });
    for (const name of await storedAlike(expected)) {
      await namespace.insertIntoTable({ id: [name] }, tableOf([5]));
      expect((await reference.fetchBlobs(root, name, "b"))[2]).toEqual(bytesOf(0, 5));
    }
  });
});

describe("in other columns", () => {
  const inner = new arrow.Field("v", BLOB, true, blobField(SMALL).metadata);
  const member = new arrow.Struct([fieldOf("x", new arrow.Int32()), inner]);
  const item = new arrow.Field("item", BLOB, true, blobField(SMALL).metadata);

  it.each<[string, arrow.DataType, unknown[]]>([
    ["structs", member, [{ x: 1, v: struct(0, 15) }, { x: 2, v: null }, null, { x: 3, v: struct(3, 70) }]],
    ["lists", new arrow.List(item), [[struct(0, 15), null], null, [], [struct(3, 3)]]],
    [
      "lists of structs",
      listOf(member),
      [[{ x: 1, v: struct(0, 15) }, null], null, [], [{ x: 4, v: struct(1, 30) }]],
    ],
  ])("%s", async (_, type, rows) => {
    const schema = new arrow.Schema([fieldOf("b", type)]);
    const expected = new arrow.Table(schema, { b: arrow.vectorFromArray(rows as never[], type) });
    for (const name of await storedAlike(expected)) {
      await namespace.insertIntoTable({ id: [name] }, expected);
      compareTables(expected.concat(expected), await namespace.table([name]).scan().toArrow());
    }
  });

  it("structs that lack them are given nulls", async () => {
    const name = freshName();
    const table = (type: arrow.DataType, rows: unknown[]) =>
      new arrow.Table(new arrow.Schema([fieldOf("b", type)]), {
        b: arrow.vectorFromArray(rows as never[], type),
      });
    await namespace.createTable({ id: [name] }, table(member, [{ x: 1, v: struct(0, 15) }]));
    const lacking = new arrow.Struct([fieldOf("x", new arrow.Int32())]);
    await namespace.insertIntoTable({ id: [name] }, table(lacking, [{ x: 2 }, null]));
    const expected = table(member, [{ x: 1, v: struct(0, 15) }, { x: 2, v: null }, null]);
    compareTables(expected, await namespace.table([name]).scan().toArrow());
    expect(hex(await reference.fetchBlobs(root, name, "b.v"))).toEqual(hex([bytesOf(0, 15), null, null]));
  });

  it("maps and fixed-size lists are refused, as the reference does", async () => {
    const entries = new arrow.Struct([
      fieldOf("key", new arrow.Utf8(), false),
      new arrow.Field("value", BLOB, true, item.metadata),
    ]);
    const types = [
      new arrow.Map_(fieldOf("entries", entries, false) as never),
      new arrow.FixedSizeList(2, item),
    ];
    for (const type of types) {
      const rows = [null];
      const table = new arrow.Table(new arrow.Schema([fieldOf("b", type)]), {
        b: arrow.vectorFromArray(rows, type),
      });
      const create = namespace.createTable({ id: [freshName()] }, table);
      await expect(create).rejects.toThrow(UnsupportedError);
    }
  });
});

describe("what is read", () => {
  it("are no side files where other columns are asked for, and of a value its own bytes", async () => {
    const name = freshName();
    const id = fieldOf("id", new arrow.Int32());
    const rows = Array.from({ length: 40 }, (_, row) =>
      struct(row, row % 8 === 7 ? 4_200_000 : 70_000 + row),
    );
    await namespace.createTable(
      { id: [name] },
      new arrow.Table(new arrow.Schema([id, blobField()]), {
        id: int32s([...rows.keys()]),
        b: arrow.vectorFromArray(rows, BLOB),
      }),
    );
    const table = namespace.table([name]);
    const opened = () => new Set(disk.reads.map(({ path }) => path).filter((path) => path.endsWith(".blob")));
    disk.reset();
    expect((await table.scan({ columns: ["id"] }).toArrow()).numRows).toBe(40);
    expect((await table.take([3, 7], ["id"])).numRows).toBe(2);
    expect(await table.countRows()).toBe(40);
    expect(opened()).toEqual(new Set());

    disk.reset();
    expect((await table.take([5], ["b"])).getChild("b")!.get(0)!.data).toEqual(bytesOf(5, 70_005));
    expect(opened().size).toBe(1);
    expect(disk.bytesRead).toBeLessThan(80_000);

    disk.reset();
    const [packed, alone] = await table.takeBlobs("b", [6, 15]);
    expect(opened()).toEqual(new Set());
    expect(await packed!.read(100, 50)).toEqual(bytesOf(6, 70_006).subarray(100, 150));
    expect(await alone!.read(4_000_000, 70)).toEqual(bytesOf(15, 4_200_000).subarray(4_000_000, 4_000_070));
    const ofSideFiles = disk.reads.filter(({ path }) => path.endsWith(".blob"));
    expect(ofSideFiles.map(({ length }) => length)).toEqual([50, 70]);
    await namespace.dropTable({ id: [name] });
  });
});

describe("side files", () => {
  const stems = (name: string, isDirectory: boolean) =>
    readdirSync(join(root, `${name}.lance`, "data"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() === isDirectory)
      .map((entry) => entry.name.replace(/\.lance$/, ""))
      .sort();

  it.each([
    "us",
    "the reference",
  ])("of %s stay as long as a version has their rows, and go with it", async (by) => {
    const name = freshName();
    const [first, second, third] = [0, 1, 2].map((part) =>
      tableOf(SMALL_SIZES, blobField(SMALL), part * SMALL_SIZES.length),
    );
    if (by === "us") {
      await namespace.createTable({ id: [name] }, first!);
      await namespace.insertIntoTable({ id: [name], mode: "Overwrite" }, second!);
      await namespace.insertIntoTable({ id: [name] }, third!);
    } else {
      await reference.createTable(root, name, arrow.tableToIPC(first!));
      await reference.overwriteTable(root, name, arrow.tableToIPC(second!));
      await reference.appendTable(root, name, arrow.tableToIPC(third!));
    }
    await namespace.createTableTag({ id: [name], tag: "kept", version: 1 });
    const before = readdirSync(join(root, `${name}.lance`, "data"), { recursive: true }).sort();
    const all = { id: [name], olderThanMs: 0, deleteUnverified: true };
    expect(await namespace.cleanupTable(all)).toMatchObject({ dataFilesRemoved: 0, versionsRemoved: 1 });
    expect(readdirSync(join(root, `${name}.lance`, "data"), { recursive: true }).sort()).toEqual(before);
    compareTables(first!, await namespace.table([name], { tag: "kept" }).scan().toArrow());

    await namespace.deleteTableTag({ id: [name], tag: "kept" });
    expect(await namespace.cleanupTable(all)).toMatchObject({ dataFilesRemoved: 8, versionsRemoved: 1 });
    expect(stems(name, true)).toEqual(stems(name, false));
    expect(stems(name, true)).toHaveLength(2);
    const expected = second!.concat(third!);
    compareTables(expected, await namespace.table([name]).scan().toArrow());
    expect((await reference.fetchBlobs(root, name, "b")).length).toBe(expected.numRows);
  });

  it("are written anew by a compaction, whoever wrote them, and the old ones go with their versions", async () => {
    const name = freshName();
    const parts = [0, 1, 2].map((part) => tableOf(SMALL_SIZES, blobField(SMALL), part * SMALL_SIZES.length));
    await namespace.createTable({ id: [name] }, parts[0]!);
    await reference.appendTable(root, name, arrow.tableToIPC(parts[1]!));
    await namespace.insertIntoTable({ id: [name] }, parts[2]!);
    await namespace.optimizeTable({ id: [name] });
    expect(stems(name, true)).toHaveLength(4);
    await namespace.cleanupTable({ id: [name], olderThanMs: 0 });
    expect(stems(name, true)).toHaveLength(1);
    const expected = parts[0]!.concat(parts[1]!, parts[2]!);
    compareTables(expected, await namespace.table([name]).scan().toArrow());
    const sizes = parts.flatMap(() => SMALL_SIZES);
    expect(hex(await reference.fetchBlobs(root, name, "b"))).toEqual(expectedBytes(sizes));
  });

  it("are those of the source in a branch", async () => {
    const name = freshName();
    const [first, second] = [0, 1].map((part) =>
      tableOf(SMALL_SIZES, blobField(SMALL), part * SMALL_SIZES.length),
    );
    await namespace.createTable({ id: [name] }, first!);
    await namespace.createTableBranch({ id: [name], name: "dev" });
    const dev = namespace.table([name], { branch: "dev" });
    await dev.insert(second!);
    compareTables(first!.concat(second!), await dev.scan().toArrow());
    await namespace.insertIntoTable({ id: [name], mode: "Overwrite" }, second!);
    await namespace.cleanupTable({ id: [name], olderThanMs: 0, deleteUnverified: true });
    compareTables(first!.concat(second!), await dev.scan().toArrow());
    const there = await reference.fetchBlobs(root, name, "b", { branch: "dev" });
    expect(hex(there)).toEqual(expectedBytes([...SMALL_SIZES, ...SMALL_SIZES]));
  });
});

describe("columns of blobs are changed", () => {
  it("by other columns beside them, another name, other bounds, and are dropped", async () => {
    const name = freshName();
    const id = { id: [name] };
    await namespace.createTable(id, tableOf(SMALL_SIZES, blobField(SMALL)));
    await namespace.alterTableAddColumns({ ...id, newColumns: [{ name: "n", expression: "7" }] });
    const alterations = [
      { path: "b", rename: "c" },
      { path: "n", nullable: true },
    ];
    await namespace.alterTableAlterColumns({ ...id, alterations });
    await namespace.updateFieldMetadata({ ...id, updates: [{ path: "c", metadata: { [INLINE]: "1000" } }] });
    // Values that need a side file by the old bounds need one by the new ones only if they may not share it.
    const more = tableOf([15, 30], blobField(), SMALL_SIZES.length);
    const renamed = new arrow.Table({ c: more.getChild("b")! });
    await namespace.insertIntoTable(id, renamed);
    const { descriptors } = await placement(name);
    expect((descriptors as string[]).slice(-2).map((row) => JSON.parse(row).c.kind)).toEqual([0, 2]);
    const expected = expectedBytes([...SMALL_SIZES, 15, 30]);
    expect(hex(await reference.fetchBlobs(root, name, "c"))).toEqual(expected);
    const read = (await namespace.table([name]).scan().toArrow()).getChild("c")!;
    expect(hex(Array.from(read, (row) => row && (row.data as Uint8Array)))).toEqual(expected);
    await namespace.alterTableDropColumns({ ...id, columns: ["c"] });
    expect((await namespace.table([name]).scan().toArrow()).schema.names).toEqual(["n"]);
    expect(arrow.tableFromIPC(await reference.readTable(root, name)).schema.names).toEqual(["n"]);
  });
});

describe("is refused, and nothing is left:", () => {
  const refused = async (table: arrow.Table, error: new (...args: never[]) => Error): Promise<void> => {
    const name = freshName();
    await expect(namespace.createTable({ id: [name] }, table)).rejects.toThrow(error);
    expect(readdirSync(root)).not.toContain(`${name}.lance`);
    const [field] = table.schema.fields;
    const kept = tableOf([3, 70_000], blobField({}, BLOB, field!.nullable));
    await namespace.createTable({ id: [name] }, kept);
    const data = join(root, `${name}.lance`, "data");
    const before = readdirSync(data, { recursive: true });
    if (field!.type.children.length !== 2) return;
    await expect(namespace.insertIntoTable({ id: [name] }, table)).rejects.toThrow();
    expect(readdirSync(data, { recursive: true })).toEqual(before);
    compareTables(kept, await namespace.table([name]).scan().toArrow());
  };
  const rowsOf = (rows: unknown[], type: arrow.DataType = BLOB) =>
    new arrow.Table(new arrow.Schema([blobField({}, type)]), {
      b: arrow.vectorFromArray(rows as never[], type),
    });
  const good = struct(0, 70_000);

  it("a blob of neither data nor uri, or of both", async () => {
    await refused(rowsOf([good, { data: null, uri: null }]), InvalidInputError);
    await refused(rowsOf([good, { data: bytesOf(0, 3), uri: "" }]), InvalidInputError);
  });

  it("a blob outside the table", async () => {
    await refused(rowsOf([good, { data: null, uri: "file:///somewhere" }]), UnsupportedError);
  });

  it("a range of a value that is in the table", async () => {
    const rows = [{ data: bytesOf(0, 9), uri: null, position: 1n, size: 2n }];
    await refused(rowsOf(rows, new arrow.Struct([DATA, URI, ...RANGE])), InvalidInputError);
  });

  it("a null in a column without", async () => {
    await refused(tableOf([70_000, null], blobField({}, BLOB, false)), TableSchemaValidationError);
  });

  it.each([
    ["values alone", new arrow.LargeBinary()],
    ["no uri", new arrow.Struct([DATA])],
    ["another order", new arrow.Struct([URI, DATA])],
    ["other types", new arrow.Struct([DATA, fieldOf("uri", new arrow.LargeUtf8())])],
    ["non-null data", new arrow.Struct([fieldOf("data", new arrow.LargeBinary(), false), URI])],
    ["a member more", new arrow.Struct([DATA, URI, fieldOf("x", new arrow.Utf8())])],
  ])("a new column of another shape: %s", async (_, type) => {
    const name = freshName();
    const table = new arrow.Table(new arrow.Schema([blobField({}, type)]), {
      b: arrow.vectorFromArray([null], type),
    });
    await expect(namespace.createTable({ id: [name] }, table)).rejects.toThrow(UnsupportedError);
    await expect(reference.createTable(root, name, arrow.tableToIPC(table))).rejects.toThrow(/Blob v2/);
  });

  it.each([
    [INLINE, "x"],
    [INLINE, "-1"],
    [INLINE, " 5"],
    [INLINE, ""],
    [SHARED, "0"],
    [SIDE_FILE, "0"],
  ])("a bound %s of %j", async (key, text) => {
    const table = tableOf([3], blobField({ [key]: text }));
    const name = freshName();
    await expect(namespace.createTable({ id: [name] }, table)).rejects.toThrow(InvalidInputError);
    await expect(reference.createTable(root, name, arrow.tableToIPC(table))).rejects.toThrow(/threshold/);
  });

  it.each(["2.0", "2.1"] as const)("files of version %s", async (dataStorageVersion) => {
    await using newNamespace = new DirectoryNamespace({ root, durability: "none", dataStorageVersion });
    const name = freshName();
    await expect(newNamespace.createTable({ id: [name] }, tableOf([3]))).rejects.toThrow(/version 2\.2/);
    expect(await newNamespace.table([name]).exists()).toBe(false);
  });
});
