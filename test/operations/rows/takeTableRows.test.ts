/** Rows and blobs by row id and by offset: of every kind of request, and of versions, branches and tags. */

import { Field, Int32, LargeBinary, Schema, Table } from "apache-arrow";
import {
  type DirectoryNamespace,
  InvalidInputError,
  sql,
  TableBranchNotFoundError,
  TableColumnNotFoundError,
} from "tiltyard";
import { int32s, utf8s } from "../../support/arrowColumns.js";
import { describe, expect, it } from "../../support/fixtures.js";
import { WORLDS } from "../../support/restNamespace.js";
import { makeTempDir } from "../../support/tempDir.js";

const id = ["t"];
const WORD = 2n ** 32n;

/** Three fragments of ten rows; rows 3 and 12 are deleted, and row 25 is updated. */
async function fill(ns: DirectoryNamespace, stableRowIds: boolean): Promise<void> {
  const rowsOf = (first: number) =>
    new Table({
      n: int32s(10, (row) => first + row),
      s: utf8s(Array.from({ length: 10 }, (_, row) => `text ${first + row}`)),
    });
  await ns.createTable({ id, stableRowIds }, rowsOf(0));
  await ns.insertIntoTable({ id }, rowsOf(10));
  await ns.createTableTag({ id, tag: "two", version: 2 });
  await ns.insertIntoTable({ id }, rowsOf(20));
  await ns.deleteFromTable({ id, predicate: "n = 3 OR n = 12" });
  await ns.updateTable({ id, where: "n = 25", values: { s: "changed" } });
}

describe.each(WORLDS)("%s", (_, openWorld) => {
  describe.each([true, false])("with stable row ids: %s", (stableRowIds) => {
    const open = async () => {
      const ns = openWorld(await makeTempDir());
      await fill(ns, stableRowIds);
      return ns;
    };
    const idOf = (n: number): bigint =>
      stableRowIds ? BigInt(n) : n === 25 ? 3n * WORD : BigInt(Math.floor(n / 10)) * WORD + BigInt(n % 10);

    it("returns each row of row ids once, in the table's order, and skips ids without a row", async () => {
      await using ns = await open();
      const take = async (rowIds: (number | bigint | string)[]) =>
        (await (await ns.takeTableRows({ id, rowIds, columns: ["n"] })).toArray()).map(({ n }) => n);
      expect(await take([idOf(21), idOf(2), idOf(2), idOf(0), idOf(14)])).toEqual([0, 2, 14, 21]);
      expect(await take([idOf(25), idOf(29)])).toEqual([29, 25]);
      expect(await take([idOf(3), idOf(12)])).toEqual([]);
      expect(await take([10_000n, 900n * WORD, 2n ** 63n, 2n ** 64n - 1n, String(idOf(1)), 2])).toEqual([
        1, 2,
      ]);
      expect(await take([])).toEqual([]);
      const everything = Array.from({ length: 30 }, (_, n) => idOf(n)).reverse();
      expect(await take(everything)).toEqual([
        ...Array.from({ length: 30 }, (_, n) => n).filter((n) => ![3, 12, 25].includes(n)),
        25,
      ]);
    });

    it("returns rows at offsets as often as they are given, and skips offsets beyond the rows", async () => {
      await using ns = await open();
      const take = async (offsets: number[]) =>
        (await (await ns.takeTableRows({ id, offsets, columns: ["n"] })).toArray()).map(({ n }) => n);
      expect(await take([4, 27, 2, 2, 0, 4, 2])).toEqual([0, 2, 2, 2, 5, 5, 25]);
      expect(await take([28, 1000, 2 ** 50, 11])).toEqual([13]);
      expect(await take([])).toEqual([]);
    });

    it("finds the rows of a scan by their ids", async () => {
      await using ns = await open();
      const scan = { id, columns: ["n", "s"], withRowId: true };
      const rows = await (await ns.queryTable({ ...scan, filter: "n % 4 = 1" })).toArray();
      const rowIds = rows.map(({ _rowid }) => _rowid as bigint);
      expect(await (await ns.takeTableRows({ ...scan, rowIds })).toArray()).toEqual(rows);
    });

    it("reads columns, aliases and system columns, and refuses columns that are not there", async () => {
      await using ns = await open();
      const rowIds = [idOf(2), idOf(25)];
      const aliased = await ns.takeTableRows({
        ...{ id, rowIds },
        columns: { columnAliases: { double: "n * 2", id: "_rowid", s: "s" } },
      });
      expect(await aliased.toArray()).toEqual([
        { double: 4, id: idOf(2), s: "text 2" },
        { double: 50, id: idOf(25), s: "changed" },
      ]);
      expect(aliased.schema.fields.map(({ name }) => name)).toEqual(["double", "id", "s"]);
      const wrong = ns.takeTableRows({ id, rowIds, columns: ["m"] });
      await expect(wrong).rejects.toThrow(TableColumnNotFoundError);
    });

    it("reads a version, a tag, a moment and a branch", async () => {
      await using ns = await open();
      const rowIds = [idOf(3), idOf(21)];
      const take = async (point: object) =>
        (await (await ns.takeTableRows({ id, rowIds, columns: ["n"], ...point })).toArray()).map(
          ({ n }) => n,
        );
      expect(await take({ version: 3 })).toEqual([3, 21]);
      expect(await take({ tag: "two" })).toEqual([3]);
      expect(await take({ asOf: new Date(Date.now() + 1000).toISOString() })).toEqual([21]);
      await ns.createTableBranch({ id, name: "b" });
      await ns.deleteFromTable({ id, branch: "b", predicate: "n = 21" });
      expect(await take({ branch: "b" })).toEqual([]);
      await expect(take({ branch: "c" })).rejects.toThrow(TableBranchNotFoundError);
    });
  });

  it("refuses requests without exactly one list of integers", async () => {
    await using ns = openWorld(await makeTempDir());
    await fill(ns, false);
    const bad: object[] = [
      {},
      { rowIds: [1], offsets: [1] },
      { rowIds: [-1] },
      { rowIds: [1.5] },
      { rowIds: ["1e3"] },
      { rowIds: ["99999999999999999999"] },
      { rowIds: [null] },
      { rowIds: 7 },
      { rowIds: [2 ** 53] },
      { offsets: [-1] },
      { offsets: [0.5] },
      { offsets: ["1"] },
    ];
    for (const members of bad) {
      await expect(ns.takeTableRows({ id, ...members }), JSON.stringify(members)).rejects.toThrow(
        InvalidInputError,
      );
    }
  });
});

it("returns batches of bounded size, also of a row that is repeated", async ({ ns }) => {
  await fill(ns, false);
  const table = ns.table<{ n: number; s: string }>(id);
  const sizes: number[] = [];
  const offsets = new Uint32Array(20_001).fill(7);
  offsets[20_000] = 8;
  let last: unknown;
  for await (const batch of table.takeRows({ offsets, batchSize: 6000 })) {
    sizes.push(batch.numRows);
    last = batch.get(batch.numRows - 1)?.n;
  }
  expect(Math.max(...sizes)).toBe(6000);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(20_001);
  expect(last).toBe(9);
});

it("takes expressions, typed arrays and a copy of the caller's list", async ({ ns }) => {
  await fill(ns, false);
  const table = ns.table(id);
  const rowIds = new BigUint64Array([1n, WORD]);
  const rows = table.takeRows({ rowIds, columns: [sql`n + 1`] });
  const taken = await ns.takeTableRows({ id, rowIds });
  rowIds.fill(2n);
  expect((await taken.toArray()).map(({ n }) => n)).toEqual([1, 10]);
  expect((await rows.toArrow()).numRows).toBe(1);
  expect((await table.takeRows({ rowIds: new Int32Array([1, 2]) }).toArray()).length).toBe(2);
  expect(() => table.takeRows({ rowId: [1] } as never)).toThrow(/rowIds/);
});

describe("blobs by row id", () => {
  const schema = new Schema([
    new Field("n", new Int32(), false),
    new Field("b", new LargeBinary(), true, new Map([["lance-encoding:blob", "true"]])),
  ]);

  it.for([true, false])("come in the given order with stable row ids: %s", async (stableRowIds, { open }) => {
    const ns = open({ dataStorageVersion: "2.1" });
    const rows = Array.from({ length: 8 }, (_, n) => ({
      n,
      b: n === 2 ? null : new Uint8Array(n === 4 ? 0 : 500 + n).fill(n),
    }));
    await ns.createTable({ id, schema, stableRowIds }, rows.slice(0, 4));
    await ns.insertIntoTable({ id }, rows.slice(4));
    await ns.deleteFromTable({ id, predicate: "n = 3" });
    const table = ns.table(id);
    const found = await table.scan({ columns: ["n", "_rowid"] }).toArray();
    const idOf = new Map(found.map(({ n, _rowid }) => [n as number, _rowid as bigint]));
    const wanted = [6, 0, 0, 2, 4, 6];
    const blobs = await table.takeBlobs("b", { rowIds: wanted.map((n) => idOf.get(n) as bigint) });
    expect(await Promise.all(blobs.map((blob) => blob?.read() ?? null))).toEqual(
      wanted.map((n) => rows[n].b),
    );
    expect(await table.takeBlobs("b", { rowIds: [] })).toEqual([]);
    for (const rowIds of [[3n], [0n, 4000n], [2n ** 64n - 1n]]) {
      await expect(table.takeBlobs("b", { rowIds })).rejects.toThrow(
        `rowIds: the table has no row with id ${rowIds.at(-1)}`,
      );
    }
    await expect(ns.takeBlobs({ id, column: "b", rowIds: [0], rowOffsets: [0] })).rejects.toThrow(/give one/);
    await expect(ns.takeBlobs({ id, column: "b" })).rejects.toThrow(InvalidInputError);
    await expect(table.takeBlobs("b", { ids: [0] } as never)).rejects.toThrow(InvalidInputError);
    await expect(table.takeBlobs("n", { rowIds: [0] })).rejects.toThrow(InvalidInputError);
  });
});
