/** Reads and plans of index queries, and effects of damaged index files. */

import { cp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Table } from "apache-arrow";
import { CorruptFileError, DirectoryNamespace, InvalidInputError } from "tiltyard";
import { connect, Index } from "tiltyard-reference/session.js";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { int32s, utf8s } from "../../support/arrowColumns.js";
import { countingDisk } from "../../support/countingDisk.js";
import { sharedDirectory } from "../../support/fixtures.js";
import { makeTempDir } from "../../support/tempDir.js";

const FRAGMENTS = 2;
const ROWS = 150_000;

const root = sharedDirectory();
beforeAll(async () => {
  await using namespace = new DirectoryNamespace({ root, durability: "none" });
  for (let fragment = 0; fragment < FRAGMENTS; fragment++) {
    const ids = Array.from({ length: ROWS }, (_, row) => fragment * ROWS + row);
    const rows = new Table({
      id: int32s(ids),
      mixed: int32s(ids.map((id) => (id * 7919) % (FRAGMENTS * ROWS))),
      text: utf8s(ids.map((id) => `text ${id}`)),
    });
    await (fragment === 0
      ? namespace.createTable({ id: ["t"] }, rows)
      : namespace.insertIntoTable({ id: ["t"] }, rows));
  }
  const connection = await connect(root);
  const table = await connection.openTable("t");
  await table.createIndex("mixed", { config: Index.btree() });
  connection.close();
});

const table = async (directory: string, options: object): Promise<readonly unknown[]> => {
  await using namespace = new DirectoryNamespace({ root: directory, durability: "none" });
  return (await namespace.table("t").scan(options).toArrow()).toArray().map(String);
};

it("a point look-up reads few pages, and only row pages the second time", async () => {
  const disk = countingDisk(new NodeDisk({ durability: "none" }));
  await using namespace = new DirectoryNamespace({ root, durability: "none", disk } as never);
  const find = async (mixed: number) => {
    const rows = await namespace
      .table("t")
      .scan({ filter: `mixed = ${mixed}`, columns: ["id", "text"] })
      .toArrow();
    expect(rows.numRows).toBe(1);
    return rows;
  };
  await find(1000);
  expect(disk.bytesRead).toBeLessThan(800_000);
  disk.reset();
  await find(1001);
  expect(disk.bytesRead).toBeLessThan(400_000);
  // Checks the version, markers that hide or change its table, and one file each of index and data.
  expect(disk.count("stat")).toBeLessThanOrEqual(10);
  disk.reset();
  expect(await namespace.table("t").countRows("mixed = 1001")).toBe(1);
  expect(disk.bytesRead).toBe(0);
});

it("a filter by row address reads only those rows", async () => {
  const disk = countingDisk(new NodeDisk({ durability: "none" }));
  await using namespace = new DirectoryNamespace({ root, durability: "none", disk } as never);
  for (const [filter, ids] of [
    ["_rowid in (5, 4294967296)", [5, ROWS]],
    ["_rowaddr = 7", [7]],
    ["_rowoffset in (0, 150001, 900000)", [0, ROWS + 1]],
    ["_rowoffset in (0, 150001) and id > 3", [ROWS + 1]],
  ] as const) {
    await namespace.table("t").scan({ filter: "_rowid = 0" }).toArrow();
    disk.reset();
    const rows = await namespace
      .table("t")
      .scan({ filter, columns: ["id"] })
      .toArrow();
    expect(Array.from(rows.getChild("id") ?? [])).toEqual(ids);
    expect(disk.bytesRead).toBeLessThan(300_000);
  }
});

it("a filter by stable row id reads only those rows, even after moves", async () => {
  const disk = countingDisk(new NodeDisk({ durability: "none" }));
  await using namespace = new DirectoryNamespace({ root, durability: "none", disk } as never);
  const id = ["stable"];
  const rows = await namespace
    .table("t")
    .scan({ columns: ["id", "text"] })
    .toArrow();
  await namespace.createTable({ id, stableRowIds: true }, rows);
  await namespace.updateTable({ id, predicate: "id IN (7, 200000)", updates: [["text", "'new'"]] });
  await namespace.deleteFromTable({ id, predicate: "id = 8" });
  for (const [filter, ids] of [
    ["_rowid in (6, 8, 200000)", [6, 200_000]],
    ["_rowid = 7", [7]],
    ["id > 7 and _rowid in (7, 9)", [9]],
    ["_rowid = 9 or _rowid = 200000", [9, 200_000]],
    ["_rowaddr = 9", [9]],
    // Two earlier rows moved to the end, and one is gone.
    ["_rowoffset in (7, 299997)", [9, 7]],
  ] as const) {
    const scan = { filter, columns: ["id"] };
    await namespace.table(id).scan(scan).toArrow();
    disk.reset();
    const rows = await namespace.table(id).scan(scan).toArrow();
    expect(Array.from(rows.getChild("id") ?? []), filter).toEqual(ids);
    expect(disk.bytesRead, filter).toBeLessThan(300_000);
    const location = /_row(id|addr|offset)/.exec(filter)?.[0];
    expect(await namespace.explainTableQueryPlan({ id, query: scan }), filter).toMatch(
      new RegExp(`IndexSearch: query=.*values of ${location}`),
    );
  }
});

it("plans name the index of each test", async () => {
  await using namespace = new DirectoryNamespace({ root, durability: "none" });
  const explain = (query: object) => namespace.explainTableQueryPlan({ id: ["t"], query });
  expect(await explain({ filter: "mixed = 5", columns: ["mixed"] })).toBe(
    [
      "Project: columns=[mixed]",
      "  Filter: condition=mixed = 5",
      "    IndexSearch: query=mixed_idx (BTREE, values of mixed), answer=exact, fragments=2, expectedRows=1",
    ].join("\n"),
  );
  expect(await explain({ filter: "mixed >= 5 and mixed < 9 and text like '%7'" })).toMatch(
    /IndexSearch: query=mixed_idx \(BTREE, range of mixed\), answer=candidates, fragments=2/,
  );
  // A scan finds most rows faster.
  expect(await explain({ filter: "mixed > 5" })).not.toMatch(/IndexSearch/);
  expect(await explain({ filter: "mixed > 5", useScalarIndex: true })).toMatch(/IndexSearch/);
  expect(await explain({ filter: "mixed = 5", useScalarIndex: false })).not.toMatch(/IndexSearch/);
  await expect(explain({ filter: "mixed = 5", useScalarIndex: "no" })).rejects.toThrow(InvalidInputError);
  const analyzed = await namespace.analyzeTableQueryPlan({ id: ["t"], filter: "mixed = 5" });
  expect(analyzed).toMatch(/IndexSearch: .*metrics=\[.*milliseconds=/);
});

let damaged: string;
beforeEach(async () => {
  damaged = await makeTempDir();
  await cp(root, damaged, { recursive: true });
});

async function indexFiles(): Promise<string[]> {
  const indices = join(damaged, "t.lance", "_indices");
  const [uuid] = await readdir(indices);
  const names = await readdir(join(indices, uuid));
  return names.sort().map((name) => join(indices, uuid, name));
}

it("a missing or truncated index file fails index queries but not scans", async () => {
  const files = await indexFiles();
  for (const file of files) {
    const bytes = await readFile(file);
    await truncate(file, Math.floor(bytes.length / 2));
    await expect(table(damaged, { filter: "mixed = 5" })).rejects.toThrow(CorruptFileError);
    await rm(file);
    await expect(table(damaged, { filter: "mixed = 5" })).rejects.toThrow(CorruptFileError);
    expect(await table(damaged, { filter: "mixed = 5", useScalarIndex: false })).toHaveLength(1);
    await writeFile(file, bytes);
  }
  expect(await table(damaged, { filter: "mixed = 5" })).toHaveLength(1);
});

it("flipped bytes in index files give an error or correct rows", async () => {
  const expected = await table(root, { filter: "mixed in (5, 70000, 299999)", useScalarIndex: false });
  const files = await indexFiles();
  let failed = 0;
  for (const [offset, file] of files.entries()) {
    const bytes = await readFile(file);
    for (let flip = 0; flip < 12; flip++) {
      const copy = Uint8Array.from(bytes);
      copy[(bytes.length - 1 - ((flip * 7919 + offset * 31) % bytes.length)) % bytes.length] ^=
        1 << (flip % 8);
      await writeFile(file, copy);
      try {
        const rows = await table(damaged, { filter: "mixed in (5, 70000, 299999)" });
        expect(rows).toEqual(expected);
      } catch (error) {
        expect(error).toBeInstanceOf(CorruptFileError);
        failed++;
      }
    }
    await writeFile(file, bytes);
  }
  expect(failed).toBeGreaterThan(0);
});
