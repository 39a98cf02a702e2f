/** Blob columns of 2.0 and 2.1; the test looks up in the file the offsets that the reference returns. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import { CorruptFileError, DirectoryNamespace, InvalidInputError, UnsupportedError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { fieldOf, int32s, largeBinaries } from "../support/arrowColumns.js";
import { countingDisk } from "../support/countingDisk.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { compareTables, reference } from "../support/reference.js";

const BLOB = new Map([["lance-encoding:blob", "true"]]);
const VERSIONS = ["2.0", "2.1"] as const;

const root = sharedDirectory();
const disk = countingDisk(new NodeDisk({ durability: "none" }));
let tableCount = 0;

const SIZES = [5, 0, 63, 64, 65, 1, 3_000, 0, 17];

function blob(row: number, size = SIZES[row % SIZES.length]!): Uint8Array {
  return Uint8Array.from({ length: size }, (_, index) => (row * 31 + index * 7) & 0xff);
}

const blobs = (count: number, first = 0): (Uint8Array | null)[] =>
  Array.from({ length: count }, (_, row) => ((row + first) % 3 === 1 ? null : blob(row + first)));

function tableOf(values: (Uint8Array | null)[], nullable = true): arrow.Table {
  const schema = new arrow.Schema([
    fieldOf("id", new arrow.Int32()),
    new arrow.Field("b", new arrow.LargeBinary(), nullable, BLOB),
  ]);
  return new arrow.Table(schema, {
    id: int32s(values.map((_, row) => row)),
    b: largeBinaries(values),
  });
}

const hex = (values: Iterable<unknown>): unknown[] =>
  Array.from(values, (value) =>
    value instanceof Uint8Array
      ? Buffer.from(value).toString("hex")
      : value === null || value === undefined
        ? null
        : hex(value as Iterable<unknown>),
  );

interface Description {
  position: bigint;
  size: bigint;
}

/** Values that the reference's descriptions of `b` refer to in the only data file of a table. */
async function describedValues(
  name: string,
  version: string,
  pick: (row: Record<string, unknown>) => unknown = (row) => row.b,
): Promise<unknown[]> {
  const [file] = readdirSync(join(root, `${name}.lance`, "data"));
  const bytes = readFileSync(join(root, `${name}.lance`, "data", file!));
  const bytesOf = (description: Description | null): Uint8Array | null => {
    if (description === null) return null;
    const { position, size } = description;
    if (version === "2.0" && position === 1n && size === 0n) return null;
    if (size === 0n) expect(position).toBe(0n);
    return new Uint8Array(bytes.subarray(Number(position), Number(position + size)));
  };
  const rows = arrow.tableFromIPC(await reference.readTable(root, name)).toArray();
  const values = rows.map((row) => {
    const picked = pick(row) as Description | null | Iterable<Description | null>;
    return picked !== null && Symbol.iterator in picked && !("position" in picked)
      ? [...picked].map(bytesOf)
      : bytesOf(picked as Description | null);
  });
  return hex(values);
}

describe.each(VERSIONS)("blobs of version %s", (version) => {
  const namespace = sharedNamespace({ root, dataStorageVersion: version, disk });
  const freshName = () => `b${tableCount++}`;

  it.each([
    ["no", 0, true],
    ["one", 1, true],
    ["some", 10, true],
    ["many", 1_100, true],
    ["non-null", 30, false],
  ])("%s rows, ours and theirs", async (_, count, nullable) => {
    const values = nullable ? blobs(count) : Array.from({ length: count }, (_, row) => blob(row));
    const expected = tableOf(values, nullable);
    const [ours, theirs] = [freshName(), freshName()];
    await namespace.createTable({ id: [ours] }, expected);
    await reference.createTable(root, theirs, arrow.tableToIPC(expected), { dataStorageVersion: version });
    for (const name of [ours, theirs]) {
      compareTables(expected, await namespace.table([name]).scan().toArrow());
      if (count > 0) expect(await describedValues(name, version)).toEqual(hex(values));
      const offsets = [0, 1, 2, 7, 9, 1].filter((row) => row < count);
      const taken = (await namespace.table([name]).take(offsets, ["b"])).getChild("b")!;
      expect(hex(taken)).toEqual(hex(offsets.map((row) => values[row])));
    }
    expect(await reference.schemaJson(root, ours)).toEqual(await reference.schemaJson(root, theirs));
  });

  it("all null", async () => {
    const expected = tableOf([null, null, null]);
    const [ours, theirs] = [freshName(), freshName()];
    await namespace.createTable({ id: [ours] }, expected);
    await reference.createTable(root, theirs, arrow.tableToIPC(expected), { dataStorageVersion: version });
    compareTables(expected, await namespace.table([ours]).scan().toArrow());
    compareTables(expected, await namespace.table([theirs]).scan().toArrow());
    expect(await describedValues(ours, version)).toEqual([null, null, null]);
  });

  it("appended by turns, and in batches with deletions", async () => {
    const name = freshName();
    const parts = [blobs(40), blobs(50, 40), blobs(60, 90)];
    const tables = parts.map((part) => tableOf(part));
    await namespace.createTable({ id: [name] }, [
      ...tables[0]!.slice(0, 13).batches,
      ...tables[0]!.slice(13).batches,
    ] as arrow.RecordBatch[]);
    await reference.appendTable(root, name, arrow.tableToIPC(tables[1]!));
    await namespace.insertIntoTable({ id: [name] }, tables[2]!);
    const all = parts.flat();
    const scanned = await namespace
      .table([name])
      .scan({ columns: ["b"] })
      .toArrow();
    expect(hex(scanned.getChild("b")!)).toEqual(hex(all));
    await reference.deleteRows(root, name, "id % 5 = 2");
    const ids = parts.flatMap((part) => part.map((_, row) => row));
    const left = all.filter((_, row) => ids[row]! % 5 !== 2);
    const part = await namespace
      .table([name])
      .scan({ columns: ["b"], offset: 7, limit: 90 })
      .toArrow();
    expect(hex(part.getChild("b")!)).toEqual(hex(left.slice(7, 97)));
    const lazy = await namespace.table([name]).takeBlobs("b", [100, 3, 0, 3]);
    expect(await Promise.all(lazy.map((value) => value?.read() ?? null))).toEqual(
      [100, 3, 0, 3].map((row) => left[row]),
    );
  });

  it("in structs", async () => {
    const type = new arrow.Struct([
      new arrow.Field("b", new arrow.LargeBinary(), true, BLOB),
      fieldOf("x", new arrow.Int32()),
    ]);
    const rows = blobs(200).map((b, x) => (version === "2.1" && x % 7 === 5 ? null : { b, x }));
    const expected = new arrow.Table(new arrow.Schema([fieldOf("s", type)]), {
      s: arrow.vectorFromArray(rows, type),
    });
    const [ours, theirs] = [freshName(), freshName()];
    await namespace.createTable({ id: [ours] }, expected);
    await reference.createTable(root, theirs, arrow.tableToIPC(expected), { dataStorageVersion: version });
    for (const name of [ours, theirs]) {
      compareTables(expected, await namespace.table([name]).scan().toArrow());
      const values = await describedValues(name, version, ({ s }) => (s as { b: unknown } | null)?.b ?? null);
      expect(values).toEqual(hex(rows.map((row) => row?.b ?? null)));
      const lazy = await namespace.table([name]).takeBlobs("s.b", [6, 5, 0]);
      expect(await Promise.all(lazy.map((value) => value?.read() ?? null))).toEqual(
        [6, 5, 0].map((row) => rows[row]?.b ?? null),
      );
    }
  });

  it("in lists", async () => {
    const type = new arrow.List(new arrow.Field("item", new arrow.LargeBinary(), true, BLOB));
    const rows = [[blob(0), blob(2)], null, [], [null, blob(1, 0)], [blob(6)]];
    const expected = new arrow.Table(new arrow.Schema([fieldOf("l", type)]), {
      l: arrow.vectorFromArray(rows, type),
    });
    const [ours, theirs] = [freshName(), freshName()];
    if (version === "2.1") {
      await expect(namespace.createTable({ id: [ours] }, expected)).rejects.toThrow(UnsupportedError);
      return;
    }
    await namespace.createTable({ id: [ours] }, expected);
    await reference.createTable(root, theirs, arrow.tableToIPC(expected), { dataStorageVersion: version });
    for (const name of [ours, theirs]) {
      compareTables(expected, await namespace.table([name]).scan().toArrow());
      expect(await describedValues(name, version, ({ l }) => l)).toEqual(hex(rows));
    }
  });

  it("are read lazily, the bytes asked for and no others", async () => {
    const name = freshName();
    const values = Array.from({ length: 100 }, (_, row) => (row === 9 ? null : blob(row, 40_000)));
    await namespace.createTable({ id: [name] }, tableOf(values));
    const table = namespace.table([name]);
    disk.reset();
    const [first, none, last] = await table.takeBlobs("b", [7, 9, 99]);
    expect(none).toBeNull();
    // Only the descriptions, of 4 MB of blobs.
    expect(disk.bytesRead).toBeLessThan(100_000);
    expect([first!.size, last!.size]).toEqual([40_000, 40_000]);
    disk.reset();
    expect(await first!.read(39_000, 100)).toEqual(values[7]!.subarray(39_000, 39_100));
    expect(disk.reads.map(({ length }) => length)).toEqual([100]);
    expect(await last!.read(39_999)).toEqual(values[99]!.subarray(39_999));
    expect(await last!.read(40_000, 5)).toEqual(new Uint8Array(0));
    expect(await last!.read(39_990, 50)).toEqual(values[99]!.subarray(39_990));
    expect(disk.reads.map(({ length }) => length)).toEqual([100, 1, 10]);
    await expect(first!.read(-1)).rejects.toThrow(InvalidInputError);
    await expect(table.takeBlobs("id", [0])).rejects.toThrow(InvalidInputError);
    await expect(table.takeBlobs("b", [100])).rejects.toThrow(InvalidInputError);
    await namespace.dropTable({ id: [name] });
    await expect(last!.read()).rejects.toThrow(CorruptFileError);
  });

  it("come in batches of a bounded size", async () => {
    const name = freshName();
    const values = Array.from({ length: 9 }, (_, row) => new Uint8Array(10_000_000).fill(row));
    await namespace.createTable({ id: [name] }, tableOf(values));
    let row = 0;
    for await (const batch of namespace.table([name]).scan()) {
      expect(batch.numRows).toBeLessThanOrEqual(3);
      for (const { id, b } of batch) {
        expect([id, b.length, b[0], b[9_999_999]]).toEqual([row, 10_000_000, row, row]);
        row++;
      }
    }
    expect(row).toBe(9);
  });
});

it("are refused by version 2.2, here as there", async () => {
  const table = tableOf(blobs(3));
  await using newNamespace = new DirectoryNamespace({ root, durability: "none", dataStorageVersion: "2.2" });
  await expect(newNamespace.createTable({ id: ["v22"] }, table)).rejects.toThrow(UnsupportedError);
  await expect(reference.createTable(root, "v22", arrow.tableToIPC(table))).rejects.toThrow(/[Ll]egacy blob/);
  expect(await newNamespace.table(["v22"]).exists()).toBe(false);
});
