/** Tables with data files of version 0.1, which Lance 0.5 to 14 wrote, are read as the reference reads them. */

import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Table, tableFromIPC, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError, UnsupportedError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { int32s } from "../support/arrowColumns.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { exactColumns } from "../support/exactJson.js";
import { buildIndex } from "../support/indexedTable.js";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";
import { randomNumbers } from "../support/vectorTables.js";

const GOLDEN = fileURLToPath(new URL("../golden/legacy", import.meta.url));
const RELEASES = ["0.5.0", "0.8.0", "0.12.0", "14.0.2"];

async function opened(release: string) {
  const root = await makeTempDir();
  await cp(join(GOLDEN, `${release}.lance`), join(root, "t.lance"), { recursive: true });
  const namespace = new DirectoryNamespace({ root, durability: "none" });
  return { root, namespace, table: namespace.table(["t"]) };
}

describe.each(RELEASES)("a table of Lance %s", (release) => {
  it("has the rows that the reference reads, in all types", async () => {
    const { root, namespace, table } = await opened(release);
    await using _ = namespace;
    const here = await table.scan().toArrow();
    const there = tableFromIPC(await reference.readTable(root, "t"));
    expect(here.schema.fields.length).toBeGreaterThan(30);
    compareTables(there, here, { metadata: false });
  });

  it("gives parts of its rows and columns", async () => {
    const { namespace, table } = await opened(release);
    await using _ = namespace;
    const all = exactColumns(await table.scan().toArrow());
    const rowCount = all[0].values.length;
    const pick = (rows: readonly number[]) =>
      all.map((column) => ({ ...column, values: rows.map((row) => column.values[row]) }));
    expect(exactColumns(await table.take([4, 0, 2]))).toEqual(pick([4, 0, 2]));
    expect(exactColumns(await table.scan({ offset: 2, limit: 3 }).toArrow())).toEqual(pick([2, 3, 4]));
    for (const column of all) {
      expect(exactColumns(await table.scan({ columns: [column.name] }).toArrow())).toEqual([column]);
    }
    expect(await table.countRows()).toBe(rowCount);
    expect(await table.countRows("int64 > 3")).toBe(rowCount - 3);
    expect(await table.countRows("utf8 = 'bé' OR dictionary = 'zzz'")).toBeGreaterThan(0);
    const members = await table.scan({ columns: ["struct.x", "struct.z.l"] }).toArrow();
    expect(members.numRows).toBe(rowCount);
    const sorted = await table.scan({ columns: ["id"], orderBy: "-id" } as never).toArray();
    expect(sorted[0].id).toBe(release === "0.5.0" ? 6 : 13);
    const [nearest] = await table
      .search({ vector: [3, 3.5], vectorColumn: "vector", limit: 1 } as never)
      .toArray();
    expect(nearest.id).toBe(3);
  });

  it("refuses writes of rows by name, and stays unchanged", async () => {
    const { root, namespace, table } = await opened(release);
    await using _ = namespace;
    const rows = await table.scan().toArrow();
    const before = await directorySnapshot(join(root, "t.lance", "data"));
    const changes: Record<string, () => Promise<unknown>> = {
      insert: () => table.insert(rows),
      update: () => table.update({ where: "id = 1", values: { int64: 7n } }),
      merge: () =>
        table.mergeInsert("id", rows, { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true } as never),
      delete: () => table.delete("id = 1"),
      drop: () => table.dropColumns("int8"),
      addColumns: () => table.addColumns([{ name: "more", expression: "id + 1" }] as never),
      clone: () => table.cloneTo("clone"),
    };
    for (const [name, change] of Object.entries(changes)) {
      const error = await change().catch((reason: unknown) => reason);
      expect(error, name).toBeInstanceOf(UnsupportedError);
      expect((error as Error).message, name).toMatch(
        /version 0\.1: the legacy format, which is read and not written/,
      );
    }
    expect(await directorySnapshot(join(root, "t.lance", "data"))).toEqual(before);
    compareTables(rows, tableFromIPC(await reference.readTable(root, "t")), { metadata: false });
  });

  it("is copied to a table of the current version", async () => {
    const { root, namespace, table } = await opened(release);
    await using _ = namespace;
    const rows = await table.scan().toArrow();
    await namespace.createTable({ id: ["copy"] }, table.scan() as never);
    compareTables(rows, tableFromIPC(await reference.readTable(root, "copy")), { metadata: false });
  });
});

it("a table without dictionaries loses rows and columns, and gets indexes, as the reference sees", async () => {
  const root = await makeTempDir();
  const rows = new Table({
    id: int32s([1, 2, 3, 4]),
    text: vectorFromArray(["one", "two", "three", "four"], new Utf8()),
  });
  await reference.createTable(root, "t", tableToIPC(rows), { dataStorageVersion: "0.1" });
  await using namespace = new DirectoryNamespace({ root, durability: "none" });
  const id = ["t"];
  await namespace.deleteFromTable({ id, predicate: "id = 2" });
  await buildIndex(namespace, { id, column: "id", indexType: "BTREE" });
  await buildIndex(namespace, { id, column: "text", indexType: "FTS" });
  expect(await reference.countRows(root, "t", "id > 1")).toBe(2);
  const words = await namespace.queryTable({
    id,
    fullTextQuery: { stringQuery: { query: "three" } },
  } as never);
  expect((await words.toArray()).length).toBe(1);
  await namespace.alterTableDropColumns({ id, columns: ["text"] });
  expect(
    tableFromIPC(await reference.readTable(root, "t"))
      .toArray()
      .map((row) => row?.id),
  ).toEqual([1, 3, 4]);
});

it("damaged files give an error that names them, or rows", async () => {
  const { root } = await opened("0.8.0");
  const directory = join(root, "t.lance", "data");
  const [file] = await readdir(directory);
  const path = join(directory, file);
  const whole = await readFile(path);
  const next = randomNumbers(11);
  for (let round = 0; round < 150; round++) {
    const damaged =
      round % 5 === 0 ? whole.subarray(0, Math.floor(next() * whole.length)) : Buffer.from(whole);
    // The page table and the messages are at the end.
    const from = round % 2 === 0 ? 0 : whole.length - 3000;
    if (damaged.length === whole.length)
      damaged[from + Math.floor(next() * (whole.length - from))] ^= 1 + Math.floor(next() * 255);
    await writeFile(path, damaged);
    await using namespace = new DirectoryNamespace({ root, durability: "none" });
    const read = await namespace
      .table(["t"])
      .scan()
      .toArrow()
      .catch((error: unknown) => error);
    if (read instanceof Error) expect(read, String(read)).toBeInstanceOf(NamespaceError);
  }
});
