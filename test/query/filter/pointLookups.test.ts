/** Look-ups of few rows by an index: what stays in memory between them shows in no answer. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { DirectoryNamespace } from "tiltyard";
import { describe } from "vitest";
import { expect, it } from "../../support/fixtures.js";
import { Random } from "../../support/generators.js";

interface Row {
  readonly i: number;
  readonly Name: string;
}

const rowsOf = (count: number, word = "row"): Row[] =>
  Array.from({ length: count }, (_, i) => ({ i, Name: `${word} ${i}` }));

async function createIndexed(ns: DirectoryNamespace, rows: readonly Row[]): Promise<void> {
  await ns.createTable({ id: "t" }, rows);
  await ns.waitForJob(await ns.createTableIndex({ id: "t", column: "i", indexType: "BTREE" }));
}

type Query = Partial<Parameters<DirectoryNamespace["queryTable"]>[0]>;

const find = async (ns: DirectoryNamespace, query: Query): Promise<object[]> =>
  (
    await ns.queryTable({ id: "t", columns: ["i", "Name"], filter: "i = 5", useScalarIndex: true, ...query })
  ).toArray();

/** Fills what is kept in memory. */
async function warmUp(ns: DirectoryNamespace): Promise<void> {
  for (let time = 0; time < 4; time++) expect(await find(ns, {})).toEqual([{ i: 5, Name: "row 5" }]);
}

describe("a point look-up sees at once", () => {
  it("a version that another namespace committed", async ({ ns, root, open }) => {
    await createIndexed(ns, rowsOf(2000));
    const other = await open({ root });
    await warmUp(ns);
    await other.updateTable({ id: "t", predicate: "i = 5", updates: [["Name", "'changed'"]] });
    expect(await find(ns, {})).toEqual([{ i: 5, Name: "changed" }]);
    await other.deleteFromTable({ id: "t", predicate: "i = 5" });
    expect(await find(ns, {})).toEqual([]);
    await other.insertIntoTable({ id: "t" }, [
      { i: 5, Name: "first" },
      { i: 5, Name: "second" },
    ]);
    expect(await find(ns, {})).toEqual([
      { i: 5, Name: "first" },
      { i: 5, Name: "second" },
    ]);
    expect(await ns.countTableRows({ id: "t", predicate: "i = 5" })).toBe(2);
    expect(await find(ns, { version: 1 })).toEqual([{ i: 5, Name: "row 5" }]);
  });

  it("that the table was dropped, and the table that follows it under its name", async ({
    ns,
    root,
    open,
  }) => {
    await createIndexed(ns, rowsOf(2000));
    await warmUp(ns);
    const other = await open({ root });
    await other.dropTable({ id: "t" });
    await expect(find(ns, {})).rejects.toThrow("does not exist");
    await createIndexed(other, rowsOf(2000, "later"));
    expect(await find(ns, {})).toEqual([{ i: 5, Name: "later 5" }]);
  });

  it("a table whose directory was removed and made again without the engine", async ({ ns, root, open }) => {
    await createIndexed(ns, rowsOf(2000));
    await warmUp(ns);
    await rm(join(root, "t.lance"), { recursive: true });
    await expect(find(ns, {})).rejects.toThrow("does not exist");
    await createIndexed(await open({ root }), rowsOf(2000, "later"));
    expect(await find(ns, {})).toEqual([{ i: 5, Name: "later 5" }]);
  });

  it("an altered schema", async ({ ns }) => {
    await createIndexed(ns, rowsOf(2000));
    await warmUp(ns);
    await ns.alterTableAlterColumns({ id: "t", alterations: [{ path: "Name", rename: "title" }] });
    await expect(find(ns, {})).rejects.toThrow("column Name is not in the table's schema");
    expect(await find(ns, { columns: ["i", "title"] })).toEqual([{ i: 5, title: "row 5" }]);
    await ns.alterTableAddColumns({ id: "t", newColumns: [{ name: "Name", expression: "i * 2" }] });
    expect(await find(ns, {})).toMatchObject([{ i: 5 }]);
    expect(Number(((await find(ns, {})) as { Name: unknown }[])[0].Name)).toBe(10);
  });
});

describe("look-ups one after the other", () => {
  it("differ by the case and the blanks of their filters and columns", async ({ ns }) => {
    await createIndexed(ns, rowsOf(2000));
    await warmUp(ns);
    expect(await find(ns, { filter: "I=5" })).toEqual([{ i: 5, Name: "row 5" }]);
    expect(await find(ns, { filter: " i  =  5 AND Name = 'row 5'" })).toEqual([{ i: 5, Name: "row 5" }]);
    expect(await find(ns, { filter: "i = 5 AND Name = 'row  5'" })).toEqual([]);
    expect(await find(ns, { filter: "i = 5 AND Name = 'ROW 5'" })).toEqual([]);
    expect(await find(ns, { columns: ["name"] })).toEqual([{ name: "row 5" }]);
    await expect(find(ns, { columns: ["name "] })).rejects.toThrow("not in the table's schema");
  });

  it("have the options of their own requests", async ({ ns }) => {
    await createIndexed(ns, rowsOf(2000));
    await warmUp(ns);
    expect(await find(ns, { withRowId: true })).toEqual([{ i: 5, Name: "row 5", _rowid: 5n }]);
    expect(await find(ns, {})).toEqual([{ i: 5, Name: "row 5" }]);
    await expect(find(ns, { columns: ["i", "Name", "_rowid"], maxColumns: 1 })).rejects.toThrow("at most 1");
    expect(await find(ns, { columns: ["Name"] })).toEqual([{ Name: "row 5" }]);
    expect(await find(ns, { filter: "i = $key", params: { key: 6 } })).toEqual([{ i: 6, Name: "row 6" }]);
    expect(await find(ns, { filter: "i = $key", params: { key: 7 } })).toEqual([{ i: 7, Name: "row 7" }]);
    expect(await find(ns, { useScalarIndex: false })).toEqual([{ i: 5, Name: "row 5" }]);
  });

  it("keep no columns of a list that changes while it is read", async ({ ns }) => {
    await createIndexed(ns, rowsOf(2000));
    let reads = 0;
    const columns = new Proxy(["i"], {
      get: (list, member) => (member === "0" ? (reads++ === 0 ? "i" : "Name") : Reflect.get(list, member)),
    });
    await find(ns, { columns });
    expect(await find(ns, { columns: ["i"] })).toEqual([{ i: 5 }]);
  });

  it("have a schema of their own, which a program may change", async ({ ns }) => {
    await createIndexed(ns, rowsOf(2000));
    const query = () => ns.queryTable({ id: "t", columns: ["i", "Name"], filter: "i = 5" });
    for (let time = 0; time < 3; time++) {
      const { schema } = await query();
      expect(schema.fields.map(({ name }) => name)).toEqual(["i", "Name"]);
      expect([...schema.metadata, ...schema.fields[0].metadata]).toEqual([]);
      schema.fields.pop();
      schema.metadata.set("a", "b");
      schema.fields[0].metadata.set("a", "b");
    }
  });
});

it("indexed look-ups return what scans return, with offset and limit, over fragments and deleted rows", async ({
  ns,
}) => {
  const random = new Random(5);
  const rows = Array.from({ length: 6000 }, (_, n) => ({
    i: random.below(900),
    Name: `row ${n}`,
  }));
  await ns.createTable({ id: "t" }, rows.slice(0, 2000));
  await ns.insertIntoTable({ id: "t" }, rows.slice(2000, 4000));
  await ns.waitForJob(await ns.createTableIndex({ id: "t", column: "i", indexType: "BTREE" }));
  // The index covers neither these rows nor the deletions.
  await ns.insertIntoTable({ id: "t" }, rows.slice(4000));
  await ns.deleteFromTable({ id: "t", predicate: "i % 5 = 0" });
  for (let time = 0; time < 60; time++) {
    const [first, second] = [random.below(900), random.below(900)];
    const filter = [`i = ${first}`, `i IN (${first}, ${second})`, `i = ${first} OR i IS NULL`][time % 3];
    const limits = time % 2 === 0 ? {} : { offset: time % 4, limit: 1 + (time % 5) };
    // `fastSearch` leaves out what the index does not cover.
    const isFast = time % 6 > 3;
    const covered = isFast ? ` AND _rowaddr < ${2n ** 33n}` : "";
    const found = await find(ns, { filter, fastSearch: isFast, ...limits });
    const scanned = await find(ns, { filter: `(${filter})${covered}`, useScalarIndex: false, ...limits });
    expect(found, filter).toEqual(scanned);
  }
});
