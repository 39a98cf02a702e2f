import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { beforeAll, describe, expect, it } from "vitest";
import { bools, float64s, int32s, int64s, listOf, utf8s } from "../../support/arrowColumns.js";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";

const ROWS = 3000;
const all = <Value>(value: Value): Value[] => new Array<Value>(ROWS).fill(value);
const rows = new Table({
  c: int32s(all(7)),
  w: int64s(all(1n << 60n)),
  f: float64s(all(1.5)),
  s: utf8s(all("abc")),
  b: bools(all(true)),
  n: int32s(all(null)),
  l: vectorFromArray(all([1, 2]), listOf(new Int32())),
  half: int32s(all(5).map((value, row) => (row % 3 === 0 ? null : value))),
  v: int32s(all(0).map((_, row) => row)),
});

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
beforeAll(async () => {
  await namespace.createTable({ id: ["pages"] }, rows);
  const older = new DirectoryNamespace({ root, durability: "none", dataStorageVersion: "2.1" });
  await older.createTable({ id: ["values"] }, rows);
  await older.close();
});

const CONDITIONS = [
  ...[
    "c = 7",
    "c <> 7",
    "c = 8",
    "8 > c",
    "c between 3 and 9",
    "c in (1, 7, 9)",
    "c not in (1, 7, null)",
    "c in (1, null)",
  ],
  ...[
    "w > 5",
    "f < 2.0",
    "s = 'abc'",
    "s like 'a%'",
    "s ilike '%B%'",
    "contains(s, 'bc')",
    "starts_with('abcd', s)",
  ],
  ...[
    "b",
    "not b",
    "b and v > 5",
    "b is true",
    "n is null",
    "n = 5",
    "n > v",
    "coalesce(n, c) = 7",
    "c is null",
    "c is not null",
  ],
  ...[
    "nullif(c, 7) is null",
    "nullif(c, 7) = v",
    "nullif(c, 7) = c",
    "not (nullif(c, 7) = c)",
    "abs(nullif(c, 7)) is not null",
  ],
  ...[
    "c + v > 100",
    "v % c = 3",
    "v = c",
    "c = f",
    "c + 1 = 8 or v = 3",
    "c = 8 and v = 3",
    "c = 7 and v = 3",
    "nullif(c, 7) > 1 or v < 9",
  ],
  ...[
    "upper(s) = 'ABC'",
    "s || 'd' = 'abcd'",
    "concat(s, v) = 'abc12'",
    "length(s) = 3",
    "cast(c as double) = 7.0",
    "cast(s as string) = s",
  ],
  ...[
    "half = 5",
    "half = c",
    "half + c = 12",
    "half is null",
    "nullif(half, 5) is null",
    "coalesce(half, c) = 7",
  ],
  ...[
    "array_has(l, 2)",
    "array_has(l, c)",
    "array_has([7, 8], c)",
    "array_has([7, 8], v)",
    "array_length(l) = 2",
    "l[1] = 1",
  ],
  ...[
    "case when c = 7 then v > 10 else b end",
    "case when v > 10 then c else n end = 7",
    "case c when 7 then s else 'x' end = 'abc'",
  ],
  ...[
    "regexp_like(s, '^a')",
    "random() < c",
    "date_part('year', cast(c as timestamp)) = 1970",
    "c is distinct from v",
    "n is distinct from c",
  ],
];

describe("a condition on columns of one value", () => {
  it.each(CONDITIONS)("%s", async (filter) => {
    const rowsOf = async (name: string) => [
      ...((await namespace.table(name).query().where(filter).select(["v"]).toArrow()).getChild("v") ?? []),
    ];
    const expected = await rowsOf("values");
    expect(await rowsOf("pages")).toEqual(expected);
    expect(await namespace.countTableRows({ id: ["pages"], predicate: filter })).toBe(expected.length);
  });
});

it.each([
  "c + 1",
  "upper(s)",
  "nullif(c, 7)",
  "c",
  "c + v",
  "n",
  "coalesce(n, c)",
  "b and v > 5",
  "l",
  "c = 7",
])("the column %s", async (x) => {
  const valuesOf = async (name: string) => {
    const result = await namespace
      .table(name)
      .query()
      .where("c = 7")
      .select({ columnAliases: { x } })
      .toArrow();
    return result
      .toArray()
      .map((row) => JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value)));
  };
  expect(await valuesOf("pages")).toEqual(await valuesOf("values"));
});
