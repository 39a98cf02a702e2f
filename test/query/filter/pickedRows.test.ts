/** Aggregations of filtered rows, whether the filter selects many rows or few, over deletions and system columns. */

import { Table } from "apache-arrow";
import { beforeAll, expect, it } from "vitest";
import { float64s, int32s, utf8s } from "../../support/arrowColumns.js";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";

const ROWS = 9000;
const PARTS = 3;
const cityAt = (row: number) => (row % 13 === 0 ? null : `city ${row % 5}`);
const priceAt = (row: number) => (row % 17 === 0 ? null : row / 4);

const namespace = sharedNamespace({ root: sharedDirectory() });
beforeAll(async () => {
  for (let part = 0; part < PARTS; part++) {
    const rows = Array.from({ length: ROWS / PARTS }, (_, index) => (part * ROWS) / PARTS + index);
    const columns = { k: int32s(rows), price: float64s(rows.map(priceAt)), city: utf8s(rows.map(cityAt)) };
    await (part === 0
      ? namespace.createTable({ id: ["t"] }, new Table(columns))
      : namespace.insertIntoTable({ id: ["t"] }, new Table(columns)));
  }
  await namespace.deleteFromTable({ id: ["t"], predicate: "k % 10 = 4" });
});

type Row = { readonly k: number; readonly price: number | null; readonly city: string | null };
const live: readonly Row[] = Array.from({ length: ROWS }, (_, k) => ({
  k,
  price: priceAt(k),
  city: cityAt(k),
})).filter(({ k }) => k % 10 !== 4);

/** Filters that select all, many, few and no rows, of the same and of other columns than the sums. */
const FILTERS: readonly (readonly [string, (row: Row) => boolean])[] = [
  ["k >= 0", () => true],
  ["k % 3 = 1", ({ k }) => k % 3 === 1],
  ["price > 500", ({ price }) => price !== null && price > 500],
  ["city = 'city 2'", ({ city }) => city === "city 2"],
  ["city is null and k < 4000", ({ city, k }) => city === null && k < 4000],
  // The first rows of the fragments do not tell.
  ["k between 2000 and 2999", ({ k }) => k >= 2000 && k <= 2999],
  ["k % 3000 < 100", ({ k }) => k % 3000 < 100],
  ["_rowoffset < 50", ({ k }) => k < live[50].k],
  ["k < 0", () => false],
];

const sumOf = (rows: readonly Row[], value: (row: Row) => number | null) => {
  const present = rows.map(value).filter((each) => each !== null);
  return present.length === 0 ? null : present.reduce((total, each) => total + each, 0);
};

it.each(FILTERS)("aggregations of the rows with %s equal brute force", async (filter, isSelected) => {
  const table = namespace.table("t");
  const rows = live.filter(isSelected);
  const values = {
    n: "count(*)",
    priced: "count(price)",
    k: "sum(k)",
    price: "sum(price)",
    twice: "sum(price * 2 + k)",
    even: "sum(price) filter (where k % 2 = 0)",
    offsets: "sum(_rowoffset)",
    cities: "count(distinct city)",
    top: "max(city)",
    spread: "stddev_pop(price)",
  };
  const [all] = await table.aggregate({ values, filter }).toArray({ bigints: "number" });
  const prices = rows.map(({ price }) => price).filter((price) => price !== null);
  const mean = prices.reduce((total, price) => total + price, 0) / prices.length;
  const squares = prices.reduce((total, price) => total + (price - mean) ** 2, 0);
  const cities = [...new Set(rows.map(({ city }) => city).filter((city) => city !== null))].sort();
  expect(all).toEqual({
    n: rows.length,
    priced: prices.length,
    k: sumOf(rows, ({ k }) => k),
    price: sumOf(rows, ({ price }) => price),
    twice: sumOf(rows, ({ k, price }) => price && price * 2 + k),
    even: sumOf(rows, ({ k, price }) => (k % 2 === 0 ? price : null)),
    offsets: sumOf(rows, (row) => live.indexOf(row)),
    cities: cities.length,
    top: cities.at(-1) ?? null,
    spread: prices.length === 0 ? null : expect.closeTo(Math.sqrt(squares / prices.length), 6),
  });
  const groups = await table
    .aggregate({ groupBy: ["city"], values: { n: "count(*)", price: "sum(price)", k: "sum(k)" }, filter })
    .toArray({ bigints: "number" });
  const expected = [...new Set(rows.map(({ city }) => city))].map((city) => {
    const some = rows.filter((row) => row.city === city);
    return { city, n: some.length, price: sumOf(some, ({ price }) => price), k: sumOf(some, ({ k }) => k) };
  });
  expect(new Set(groups.map((group) => JSON.stringify(group)))).toEqual(
    new Set(expected.map((group) => JSON.stringify(group))),
  );
});
