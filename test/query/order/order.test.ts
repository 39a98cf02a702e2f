/** Sorted results beside brute force, in memory and spilled, and what is left behind. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Schema, type Table, tableFromArrays } from "apache-arrow";
import fc from "fast-check";
import {
  type DirectoryNamespace,
  InvalidInputError,
  TableColumnNotFoundError,
  UnsupportedError,
} from "tiltyard";
import { describe, expect } from "vitest";
import type { Column, FixedColumn } from "../../../src/arrow/columns/column.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { TemporaryFile } from "../../../src/io/temporaryFile.js";
import { sortRows } from "../../../src/query/order/externalSort.js";
import type { KeyOrder } from "../../../src/query/order/sortKeys.js";
import type { BatchRows } from "../../../src/query/scan/scan.js";
import { filterTable, orderBy, SORTED_COLUMNS } from "../../support/filterTexts.js";
import { it } from "../../support/fixtures.js";
import { createParts } from "../../support/stage.js";

const KEYS = ["id", ...SORTED_COLUMNS, "st.a", "st.B"];
const order = orderBy(KEYS);

const utf8 = new TextEncoder();

/** Compares plain values: text by bytes, floats in total order. */
function compare(one: unknown, next: unknown): number {
  if (typeof one === "string" && typeof next === "string") {
    return Buffer.compare(utf8.encode(one), utf8.encode(next));
  }
  if (typeof one === "number" && typeof next === "number") {
    const rank = (value: number) => (Number.isNaN(value) ? 2 : Object.is(value, -0) ? -1 : 0);
    if (Number.isNaN(one) || Number.isNaN(next) || one === next) return rank(one) - rank(next);
  }
  const [left, right] = [one as number, next as number];
  return left < right ? -1 : left > right ? 1 : 0;
}

function valueAt(table: Table, path: string, row: number): unknown {
  const [name, member] = path.split(".");
  const value: unknown = table.getChild(name)?.get(row);
  if (value === null || value === undefined) return null;
  if (path === "dec") return BigInt.asIntN(64, BigInt(String((value as { [0]: number })[0] | 0)));
  return member === undefined ? value : (value as Record<string, unknown>)[member];
}

it("an order equals that of brute force, for all types, nulls, NaN and ties", async ({ ns }) => {
  const parts = [filterTable(70, 1), filterTable(90, 2)];
  await createParts(ns, ["t"], parts);
  const all = await ns.table("t").scan().toArrow();
  const offsets = Array.from({ length: all.numRows }, (_, row) => row);
  await fc.assert(
    fc.asyncProperty(
      fc.array(order, { minLength: 1, maxLength: 3 }),
      fc.option(fc.nat(200), { nil: undefined }),
      fc.nat(100),
      async (orderBy, limit, offset) => {
        const sorted = offsets.toSorted((one, next) => {
          for (const { columnName, ascending, nullsFirst } of orderBy) {
            const [left, right] = [valueAt(all, columnName, one), valueAt(all, columnName, next)];
            if (left === null || right === null) {
              if (left === right) continue;
              return (left === null) === nullsFirst ? -1 : 1;
            }
            const by = compare(left, right);
            if (by !== 0) return ascending ? by : -by;
          }
          return one - next;
        });
        const wanted = sorted.slice(offset, limit === undefined ? undefined : offset + limit + 1);
        const more = limit === undefined ? {} : { limit: limit + 1 };
        const scan = ns.table("t").scan({ columns: ["_rowoffset"], orderBy, offset, ...more });
        const rowOffsets = (await scan.toArrow()).getChild("_rowoffset")?.toJSON() ?? [];
        expect(rowOffsets.map(Number)).toEqual(wanted);
      },
    ),
    { numRuns: 150 },
  );
}, 120_000);

it("a query sorts the rows that its filter selects, with all columns", async ({ ns }) => {
  await ns.createTable({ id: ["t"] }, filterTable(200, 3));
  const everything = await ns.table("t").scan({ filter: "i8 > 0" }).toArrow();
  for (const limit of [undefined, 5, 1000]) {
    const orderBy = [{ columnName: "id", ascending: false }];
    const sorted = await ns
      .table("t")
      .scan({ filter: "i8 > 0", orderBy, ...(limit && { limit }) })
      .toArrow();
    const expected = everything.toArray().toReversed().slice(0, limit);
    expect(sorted.toArray().map(String)).toEqual(expected.map(String));
  }
});

describe("a sort beyond its memory", () => {
  const orders: KeyOrder[] = [
    { type: { kind: "int", bits: 32, signed: true }, ascending: true, nullsFirst: false },
  ];
  const ints = (values: Int32Array): FixedColumn => ({
    kind: "fixed",
    length: values.length,
    validity: null,
    byteWidth: 4,
    values: new Uint8Array(values.buffer),
  });
  async function* batches(count: number, rowCount: number): AsyncGenerator<BatchRows> {
    for (let batch = 0; batch < count; batch++) {
      const keys = Int32Array.from({ length: rowCount }, (_, row) => (batch * 7919 + row * 104_729) % 1000);
      const numbers = Int32Array.from({ length: rowCount }, (_, row) => batch * rowCount + row);
      yield { columns: [ints(keys), ints(numbers)], rowCount };
    }
  }
  const numbersOf = (column: Column): Int32Array =>
    column.kind === "fixed"
      ? new Int32Array(column.values.buffer, column.values.byteOffset, column.length)
      : new Int32Array(0);

  it.for([
    [3, Number.POSITIVE_INFINITY],
    [150, Number.POSITIVE_INFINITY],
    [150, 1234],
  ])("merges %i runs, up to %d rows", async ([count, limit], { root }) => {
    const disk = new NodeDisk({ durability: "none" });
    const modes: number[] = [];
    const makeFile = async () => {
      const file = await TemporaryFile.create(disk, root);
      for (const name of await readdir(root)) modes.push((await stat(join(root, name))).mode & 0o777);
      return file;
    };
    const rows = sortRows(batches(count, 500), { orders, keyPlaces: [0], limit, sortBytes: 1000, makeFile });
    const numbersRead: number[] = [];
    let last = -1;
    for await (const { columns, rowCount } of rows) {
      const keys = numbersOf(columns[0]);
      const numbers = numbersOf(columns[1]);
      for (let row = 0; row < rowCount; row++) {
        const combined = keys[row] * 2 ** 20 + numbers[row];
        expect(combined).toBeGreaterThan(last);
        last = combined;
        numbersRead.push(numbers[row]);
      }
    }
    expect(numbersRead.length).toBe(Math.min(limit, count * 500));
    expect(new Set(numbersRead).size).toBe(numbersRead.length);
    expect(modes.length).toBeGreaterThan(0);
    if (process.platform !== "win32") expect(new Set(modes)).toEqual(new Set([0o600]));
    expect(await readdir(root)).toEqual([]);
  });

  it("leaves no file if the consumer stops or the rows end in an error", async ({ root }) => {
    const disk = new NodeDisk({ durability: "none" });
    const makeFile = () => TemporaryFile.create(disk, root);
    const request = { orders, keyPlaces: [0], limit: Number.POSITIVE_INFINITY, sortBytes: 1000, makeFile };
    for await (const _ of sortRows(batches(10, 500), request)) break;
    expect(await readdir(root)).toEqual([]);
    async function* failing(): AsyncGenerator<BatchRows> {
      yield* batches(5, 500);
      throw new Error("no more");
    }
    await expect(sortRows(failing(), request).next()).rejects.toThrow("no more");
    expect(await readdir(root)).toEqual([]);
  });
});

describe("a query refuses", () => {
  it.beforeEach(({ ns }) => ns.createTable({ id: ["t"] }, filterTable(5, 1)));
  const run = (ns: DirectoryNamespace, orderBy: unknown): Promise<Table> =>
    ns
      .table("t")
      .scan({ orderBy: orderBy as [] })
      .toArrow();

  it.for([
    [[{ columnName: "nope" }], TableColumnNotFoundError],
    [[{ columnName: "i8 + 1" }], TableColumnNotFoundError],
    [[{ columnName: "li" }], UnsupportedError],
    [[{ columnName: "vec" }], UnsupportedError],
    [[{ columnName: "st" }], UnsupportedError],
    [[{}], InvalidInputError],
    [["nope"], TableColumnNotFoundError],
    [["i8 desc"], InvalidInputError],
    [[{ columnName: "i8", ascending: "yes" }], InvalidInputError],
    [{ i8: "down" }, InvalidInputError],
  ])("the order %j", async ([orderBy, error], { ns }) => {
    await expect(run(ns, orderBy)).rejects.toThrow(error);
  });

  it("an order that is aborted", async ({ ns }) => {
    const controller = new AbortController();
    await ns.createTable({ id: ["u"] }, tableFromArrays({ n: new Int32Array(100_000) }));
    const rows = ns.table("u").scan({ orderBy: [{ columnName: "n" }], signal: controller.signal });
    const iterator = rows[Symbol.asyncIterator]();
    controller.abort();
    await expect(iterator.next()).rejects.toThrow();
  });
});

it("an ordered query keeps its schema", async ({ ns }) => {
  await ns.createTable({ id: ["t"] }, filterTable(5, 1));
  const plain: Schema = (await ns.table("t").scan().toArrow()).schema;
  const sorted = await ns
    .table("t")
    .scan({ orderBy: [{ columnName: "dic" }] })
    .toArrow();
  expect(String(sorted.schema)).toBe(String(plain));
});
