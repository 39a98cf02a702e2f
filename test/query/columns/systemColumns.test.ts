/** The columns that every row has besides those of its table: in selections, filters and orders. */

import { Table, tableFromIPC, tableToIPC } from "apache-arrow";
import { type DirectoryNamespace, InvalidInputError, TableColumnNotFoundError } from "tiltyard";
import { connect } from "tiltyard-reference/session.js";
import { describe, expect } from "vitest";
import { int32s, utf8s } from "../../support/arrowColumns.js";
import { it } from "../../support/fixtures.js";
import { reference } from "../../support/reference.js";

const rowsFrom = (first: number, count: number): Table =>
  new Table({
    id: int32s(count, (row) => first + row),
    Name: utf8s(count, (row) => `n${first + row}`),
  });

const PLACES = ["id", "_rowid", "_rowaddr", "_rowoffset"];
const VERSIONS = ["_row_created_at_version", "_row_last_updated_at_version"];
const ALL = [...PLACES, ...VERSIONS];

const ipc = (rows: Table): Uint8Array => tableToIPC(rows, "stream");

const values = (table: { toArray(): unknown[] }): unknown[][] =>
  table.toArray().map((row) => Object.values((row as { toJSON(): object }).toJSON()));

async function ours(
  ns: DirectoryNamespace,
  query: Parameters<ReturnType<DirectoryNamespace["table"]>["scan"]>[0],
): Promise<unknown[][]> {
  return values(await ns.table("t").scan(query).toArrow());
}

describe.each([false, true])("with stable row ids: %s", (stableRowIds) => {
  /** Without stable row ids, the reference says version 1 for each row. */
  const shared = stableRowIds ? ALL : PLACES;

  it.beforeEach(async ({ root }) => {
    await reference.createTable(root, "t", ipc(rowsFrom(0, 8)), { stableRowIds });
    await reference.appendTable(root, "t", ipc(rowsFrom(8, 8)));
    await reference.deleteRows(root, "t", "id in (1, 2, 9)");
    await reference.updateRows(root, "t", { Name: "'new'" }, "id = 5");
  });

  async function theirs(root: string, where?: string): Promise<unknown[][]> {
    const connection = await connect(root);
    const query = (await connection.openTable("t")).query().select(shared);
    const table = await (where === undefined ? query : query.where(where)).toArrow();
    connection.close();
    return values(table as unknown as Table);
  }

  it("have the values that the reference gives them, also after a compaction", async ({ root, ns }) => {
    expect(await ours(ns, { columns: shared })).toEqual(await theirs(root));
    await reference.optimizeTable(root, "t");
    expect(await ours(ns, { columns: shared })).toEqual(await theirs(root));
    await ns.insertIntoTable({ id: ["t"] }, rowsFrom(100, 5));
    expect(await ours(ns, { columns: shared })).toEqual(await theirs(root));
    await ns.optimizeTable({ id: ["t"], targetRowsPerFragment: 1000 });
    expect(await ours(ns, { columns: shared })).toEqual(await theirs(root));
  });

  it.for([
    "_rowid in (3, 4, 12)",
    "_rowaddr >= 4294967296",
    "_rowoffset in (0, 1, 7, 100)",
    ...(stableRowIds
      ? ["_row_created_at_version = 2", "_row_last_updated_at_version > _row_created_at_version"]
      : []),
  ])("select rows: %s", async (filter, { root, ns }) => {
    expect(await ours(ns, { columns: shared, filter })).toEqual(await theirs(root, filter));
    expect(await ns.countTableRows({ id: ["t"], predicate: filter })).toBe(
      (await theirs(root, filter)).length,
    );
  });

  it("are taken, sorted by and computed with", async ({ root, ns }) => {
    const all = await theirs(root);
    const taken = await ns.table("t").take([12, 0, 3, 0], shared);
    expect(values(taken)).toEqual([12, 0, 3, 0].map((offset) => all[offset]));
    const order = { columnName: "_rowoffset", ascending: false };
    expect(await ours(ns, { columns: shared, orderBy: [order], limit: 4 })).toEqual(
      all.toReversed().slice(0, 4),
    );
    expect(await ours(ns, { columns: shared, orderBy: [order] })).toEqual(all.toReversed());
    const columnAliases = { next: "_rowoffset + 1", id: "_rowid" };
    expect(await ours(ns, { columns: { columnAliases }, offset: 2, limit: 2 })).toEqual(
      all.slice(2, 4).map(([, id], row) => [BigInt(row + 3), id]),
    );
  });

  it("select rows together with others, where the reference finds no such column", async ({ root, ns }) => {
    const all = await theirs(root);
    const filter = "_ROWOFFSET < 3 and id > 0";
    expect(await ours(ns, { columns: shared, filter })).toEqual(all.slice(1, 3));
  });

  it("come last where row ids are asked for, whether or not they are named", async ({ ns }) => {
    const names = async (columns: string[]) =>
      (await ns.queryTable({ id: ["t"], columns, withRowId: true })).schema.fields.map(({ name }) => name);
    expect(await names(["id"])).toEqual(["id", "_rowid"]);
    // As with the reference.
    expect(await names(["_rowid", "id"])).toEqual(["id", "_rowid"]);
    const schema = async (columns: string[]) => (await ns.queryTable({ id: ["t"], columns })).schema;
    expect(String(await schema(["_rowid", "*"]))).toBe(
      "Schema<{ 0: _rowid: Uint64, 1: id: Int32, 2: Name: Utf8 }>",
    );
  });
});

it.for(VERSIONS)("%s is refused in a table without stable row ids, with the option's name", async (name, {
  ns,
}) => {
  await ns.createTable({ id: ["t"] }, rowsFrom(0, 2));
  await ns.insertIntoTable({ id: ["t"] }, rowsFrom(2, 2));
  const table = ns.table("t");
  const reads = [
    () => table.countRows(`${name} > 1`),
    () => table.scan({ columns: [name] }).toArray(),
    () => table.scan({ columns: { columnAliases: { since: `${name} + 1` } } }).toArray(),
    () => table.scan({ filter: `id > 0 AND ${name} > 1` }).toArrow(),
    () => table.scan({ orderBy: [{ columnName: name }] }).toArray(),
    () => table.take([0], [name]),
    () => table.delete(`${name} > 1`),
    () => table.update({ where: `${name} > 1`, values: { id: 0 } }),
  ];
  for (const read of reads) {
    const error = await read().then(String, (thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(String(error)).toContain(`column ${name}: only tables with stable row ids`);
    expect(String(error)).toContain("stableRowIds: true");
  }
  expect(await table.version()).toBe(2);
});

it("match in any case where that is clear, and keep the text that names them", async ({ ns }) => {
  await ns.createTable({ id: ["t"] }, rowsFrom(0, 2));
  const names = async (columns: string[]) =>
    (await ns.queryTable({ id: ["t"], columns })).schema.fields.map(({ name }) => name);
  expect(await names(["NAME", "`id`", "_ROWID"])).toEqual(["NAME", "`id`", "_ROWID"]);
  await expect(names(["id", "id"])).rejects.toThrow(InvalidInputError);
  await expect(names(["nope"])).rejects.toThrow(TableColumnNotFoundError);
});

describe("a table with stable row ids of ours", () => {
  it("is read and changed by the reference, and back", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"], stableRowIds: true }, rowsFrom(0, 6));
    await ns.insertIntoTable({ id: ["t"] }, rowsFrom(6, 6));
    await reference.appendTable(root, "t", ipc(rowsFrom(12, 6)));
    await reference.updateRows(root, "t", { Name: "'x'" }, "id = 7");
    await ns.optimizeTable({ id: ["t"] });
    await reference.createBranch(root, "t", "dev");
    await reference.appendTable(root, "t", ipc(rowsFrom(50, 2)), { branch: "dev" });
    await ns.insertIntoTable({ id: ["t"], branch: "dev" }, rowsFrom(60, 2));
    await ns.restoreTable({ id: ["t"], version: 2 });
    await ns.insertIntoTable({ id: ["t"] }, rowsFrom(80, 1));
    const connection = await connect(root);
    for (const [version, branch] of [[3], [4], [5], [undefined, "dev"], [undefined]] as const) {
      const target = { version, branch };
      const read = await reference.readTable(root, "t", { ...target, columns: ALL });
      const data = tableFromIPC(read);
      const mine = await (await ns.queryTable({ id: ["t"], ...target, columns: ALL })).toArrow();
      expect(values(mine)).toEqual(values(data));
    }
    connection.close();
    const ids = (await ours(ns, { columns: ["_rowid"] })).flat();
    expect(new Set(ids).size).toBe(ids.length);
    // Ids of rows that a restore took away are not given out again.
    expect(ids.at(-1)).toBe(18n);
  });

  it("is decided when a table is made", async ({ ns }) => {
    await ns.createTable({ id: ["t"] }, rowsFrom(0, 1));
    await expect(
      ns.createTable({ id: ["t"], mode: "Overwrite", stableRowIds: true }, rowsFrom(0, 1)),
    ).rejects.toThrow(InvalidInputError);
  });
});
