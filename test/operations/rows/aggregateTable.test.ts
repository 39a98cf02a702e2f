/** Aggregates of tables: results, their types, errors, versions, and the route over HTTP. */

import { Decimal, Int64, Table, tableFromIPC, Uint64, vectorFromArray } from "apache-arrow";
import {
  col,
  DirectoryNamespace,
  InvalidInputError,
  TableColumnNotFoundError,
  UnsupportedError,
} from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TableHandle } from "../../../src/TableHandle.js";
import { makeTempDir } from "../../support/tempDir.js";

let namespace: DirectoryNamespace;
let orders: TableHandle;
beforeEach(async () => {
  namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  orders = namespace.table("orders");
  await orders.create([
    { city: "Oslo", price: 20, amount: 2n, parts: [1, 2], seen: new Date("2026-01-02") },
    { city: "Oslo", price: null, amount: 1n, parts: [3], seen: new Date("2026-02-03") },
    { city: "Riga", price: 8, amount: null, parts: null, seen: null },
    { city: null, price: Number.NaN, amount: 4n, parts: [], seen: new Date("2026-02-05") },
  ]);
});
afterEach(() => namespace.close());

describe("an aggregation", () => {
  it("returns keys, then values, with stable types", async () => {
    const result = orders.aggregate({
      groupBy: ["city"],
      values: {
        n: "count(*)",
        total: "sum(amount)",
        mean: "avg(amount)",
        last: "max(seen)",
        low: "min(city)",
      },
    });
    const types = (await result.schema()).fields.map(({ name, type }) => `${name}: ${type}`);
    expect(types).toEqual([
      "city: Utf8",
      "n: Int64",
      "total: Int64",
      "mean: Float64",
      "last: Timestamp<MILLISECOND, UTC>",
      "low: Utf8",
    ]);
  });

  it("gives one row without keys, even of no rows", async () => {
    const values = { n: "count(*)", some: "count(price)", total: "sum(price)", first: "first(city)" };
    expect(await orders.aggregate({ values, filter: "city = 'none'" }).toArray()).toEqual([
      { n: 0n, some: 0n, total: null, first: null },
    ]);
    expect(await orders.aggregate({ groupBy: ["city"], values, filter: "city = 'none'" }).toArray()).toEqual(
      [],
    );
  });

  it("names a key by a value, sorts, skips and limits groups", async () => {
    const rows = await orders
      .aggregate({
        groupBy: ["letter"],
        values: { letter: "substr(city, 1, 1)", n: "count(*)" },
        orderBy: [{ columnName: "n", ascending: false }, { columnName: "letter" }],
        offset: 1,
        limit: 1,
      })
      .toArray();
    expect(rows).toEqual([{ letter: "R", n: 1n }]);
  });

  it("takes parameters in every expression, and expressions of programs", async () => {
    const rows = await orders
      .aggregate({
        groupBy: ["upper(CITY)"],
        values: { total: "sum(amount * $factor)" },
        filter: "amount >= $least",
        having: "sum(amount * $factor) > 10 and upper(city) is not null",
        params: { factor: 10n, least: 1n },
      })
      .toArray();
    expect(rows).toEqual([{ "upper(CITY)": "OSLO", total: 30n }]);
  });

  it("returns distinct rows of columns", async () => {
    const cities = await orders.distinct("city", { orderBy: [{ columnName: "city" }] }).toArray();
    expect(cities).toEqual([{ city: "Oslo" }, { city: "Riga" }, { city: null }]);
    expect(await orders.distinct(["city", "price > 10"]).toArray()).toHaveLength(4);
  });

  it("reads the version of its handle", async () => {
    const version = await orders.version();
    await orders.delete("city = 'Oslo'");
    const counted = async (table: TableHandle) =>
      (await table.aggregate({ values: { n: "count(*)" } }).toArray())[0].n;
    expect(await counted(orders)).toBe(2n);
    expect(await counted(namespace.table("orders", { version }))).toBe(4n);
  });

  it("sums integers and decimals exactly, and refuses a sum that does not fit", async () => {
    const large = 2n ** 62n;
    await namespace.createTable(
      { id: ["large"] },
      new Table({
        n: vectorFromArray([large, large, -large, large - 1n], new Int64()),
        u: vectorFromArray([2n ** 63n, 2n ** 63n - 1n, 0n, 0n], new Uint64()),
      }),
    );
    const table = namespace.table("large");
    expect(await table.aggregate({ values: { s: "sum(u)" } }).toArray()).toEqual([{ s: 2n ** 64n - 1n }]);
    expect(await table.aggregate({ values: { s: "sum(n)" }, filter: "n < 0 or n > 5" }).toArray()).toEqual([
      { s: 2n * large - 1n },
    ]);
    const refused = table.aggregate({ values: { s: "sum(n)" }, filter: "n > 0" }).toArray();
    await expect(refused).rejects.toThrow(InvalidInputError);
    await expect(refused).rejects.toThrow(/does not fit in int64/);
    const mean = await table.aggregate({ values: { m: "avg(n)" }, filter: "n > 0" }).toArray();
    expect(mean).toEqual([{ m: 2 ** 62 }]);
    const wide = table.aggregate({ values: { s: "sum(cast(n as decimal(38, 0)))" }, filter: "n > 0" });
    expect((await wide.schema()).fields[0].type).toEqual(new Decimal(0, 38, 128));
    expect(await wide.toArray()).toEqual([{ s: String(3n * large - 1n) }]);
  });

  it.each([
    [{ values: {} }, InvalidInputError, /values: name at least one/],
    [{ values: "count(*)" }, InvalidInputError, /values: must be an object/],
    [{ values: { n: 1 } }, InvalidInputError, /values.n: must be a text/],
    [{ values: { n: "price" } }, InvalidInputError, /many values in a group/],
    [{ values: { n: "sum(max(price))" } }, InvalidInputError, /cannot be inside another/],
    [{ values: { n: "sum(city)" } }, InvalidInputError, /a number is expected, not string/],
    [{ values: { n: "sum(price, 2)" } }, InvalidInputError, /expected 1 operand/],
    [{ values: { n: "sum(*)" } }, InvalidInputError, /values.n/],
    [{ values: { n: "quantile_cont(price, 1.5)" } }, InvalidInputError, /from 0 to 1/],
    [{ values: { n: "quantile_cont(price, price)" } }, TableColumnNotFoundError, /values.n/],
    [{ values: { n: "count(*) filter (where price)" } }, InvalidInputError, /expected a condition/],
    [{ values: { n: "max(parts)" } }, UnsupportedError, /can't be compared/],
    [{ values: { n: "count(distinct parts)" } }, UnsupportedError, /can't be compared/],
    [{ values: { n: "sum(prise)" } }, TableColumnNotFoundError, /price/],
    [{ groupBy: ["parts"], values: {} }, UnsupportedError, /can't be grouped/],
    [{ groupBy: ["count(*)"], values: {} }, InvalidInputError, /cannot be a key/],
    [{ groupBy: ["city", "city"], values: {} }, InvalidInputError, /appears twice/],
    [{ groupBy: ["city"], values: { city: "count(*)" } }, InvalidInputError, /returns a column of that name/],
    [{ groupBy: 7, values: {} }, InvalidInputError, /groupBy: must be a text or an expression/],
    [{ groupBy: ["city"], values: {}, having: "price > 1" }, InvalidInputError, /having/],
    [
      { groupBy: ["city"], values: {}, having: "max(price)" },
      InvalidInputError,
      /having: expected a condition/,
    ],
    [{ values: { n: "count(*)" }, orderBy: [{ columnName: "m" }] }, InvalidInputError, /no column m/],
    [{ values: { n: "count(*)" }, limit: 0 }, InvalidInputError, /limit/],
    [{ values: { n: `count(*)${" + 1".repeat(600)}` } }, InvalidInputError, /in a row/],
  ])("refuses %j", async (options, error, message) => {
    const refused = orders.aggregate(options as Parameters<typeof orders.aggregate>[0]).toArray();
    await expect(refused).rejects.toThrow(error);
    await expect(refused).rejects.toThrow(message);
  });
});

it("an expression of a program that is nested too deeply, or too large, is refused", async () => {
  let deep = col("price");
  for (let level = 0; level < 5000; level++) deep = deep.plus(1);
  let large = col("price");
  for (let level = 0; level < 50; level++) large = large.plus(large);
  await expect(orders.aggregate({ values: { n: large } }).toArray()).rejects.toThrow(/more than .* parts/);
  const message = /nested deeper/;
  await expect(orders.aggregate({ values: { n: deep } }).toArray()).rejects.toThrow(message);
  await expect(orders.aggregate({ groupBy: [deep], values: {} }).toArray()).rejects.toThrow(message);
});

describe("an aggregate function outside an aggregation", () => {
  it.each([
    "count(*) > 1",
    "max(price) > 3",
    "sum(amount) filter (where price > 1) > 2",
  ])("in the filter %s names the call", async (filter) => {
    const refused = orders.scan({ filter }).toArray();
    await expect(refused).rejects.toThrow(/table\.aggregate\(/);
  });

  it("in a selection names the call", async () => {
    await expect(orders.scan({ columns: ["count(*)"] }).toArray()).rejects.toThrow(/table\.aggregate\(/);
    const aliased = orders.scan({ columns: { columnAliases: { top: "max(price)" } } }).toArray();
    await expect(aliased).rejects.toThrow(/table\.aggregate\(/);
  });
});

describe("the route of aggregates", () => {
  const post = async (body: object): Promise<Response> => {
    const handler = createRestHandler(namespace, { auth: { anonymous: true } });
    return handler(
      new Request("http://localhost/v1/table/orders/aggregate", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
  };

  it("answers with the rows that the engine gives", async () => {
    const response = await post({
      group_by: ["city"],
      values: { n: "count(*)", top: "max(price)" },
      filter: "city is not null",
      having: "n > 0",
      order_by: [{ column_name: "n", ascending: false }],
      limit: 1,
    });
    expect(response.status).toBe(200);
    const rows = tableFromIPC(new Uint8Array(await response.arrayBuffer())).toArray();
    expect(rows.map((row) => row?.toJSON())).toEqual([{ city: "Oslo", n: 2n, top: 20 }]);
  });

  it.each([
    [{ group_by: ["city"] }, 400],
    [{ values: { n: "count(*)" }, groupby: ["city"] }, 400],
    [{ values: { n: "count(*" } }, 400],
    [{ values: { n: "max(prise)" } }, 404],
    [{ values: { n: "max(parts)" } }, 406],
  ])("refuses %j with %i", async (body, status) => {
    expect((await post(body)).status).toBe(status);
  });
});

it("an unknown function around a column is named as no aggregate", async () => {
  const call = orders.aggregate({ groupBy: ["city"], values: { x: "summ(price)" } }).toArray();
  await expect(call).rejects.toThrow("`price` has many values in a group, and summ is not an aggregate");
});
