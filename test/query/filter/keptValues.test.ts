/** Filters keep column values for the query: selected rows equal those of a full scan, for any pages. */

import { Dictionary, Int32, Struct, Table, Utf8 } from "apache-arrow";
import { beforeAll, expect, it } from "vitest";
import { columnsOf, fieldOf, float64s, int32s, int64s, listOf, utf8s } from "../../support/arrowColumns.js";
import { sharedNamespace } from "../../support/fixtures.js";

/** More than are decoded whole (file/pages/pageWindows). */
const ROWS = 140_000;
const FRAGMENTS = 2;

const namespace = sharedNamespace();
let all: readonly string[] = [];
const columns = ["r", "i", "big", "f", "s", "w", "d", "st", "li"];

const textOf = (row: object): string =>
  JSON.stringify(row, (_, value) => (typeof value === "bigint" ? `${value}n` : value));

async function rowsOf(options: object): Promise<string[]> {
  const table = await namespace
    .table("t")
    .scan({ columns, ...options })
    .toArrow();
  return table.toArray().map((row) => textOf(row.toJSON()));
}

beforeAll(async () => {
  for (let fragment = 0; fragment < FRAGMENTS; fragment++) {
    const numbers = Array.from({ length: ROWS / FRAGMENTS }, (_, row) => fragment * (ROWS / FRAGMENTS) + row);
    const spread = numbers.map((number) => (Math.imul(number + 1, 2654435761) >>> 0) % 100_000);
    const member = new Struct([fieldOf("a", new Int32()), fieldOf("b", new Utf8())]);
    const rows = new Table({
      r: int32s(numbers),
      i: int32s(spread.map((value) => (value % 11 === 0 ? null : value))),
      big: int64s(spread.map((value) => BigInt(value) * 1_000_003n)),
      f: float64s(spread.map((value) => value / 1000)),
      s: utf8s(
        spread.map((value) => (value % 13 === 0 ? null : `name ${String(value).padStart(6, "0")} of row`)),
      ),
      w: utf8s(spread.map((value) => (value % 17 === 0 ? null : `word ${value % 40}`))),
      d: columnsOf(new Dictionary(new Utf8(), new Int32()))(spread.map((value) => `kind ${value % 5}`)),
      st: columnsOf(member)(
        spread.map((value) => (value % 19 === 0 ? null : { a: value, b: `b ${value % 3}` })),
      ),
      li: columnsOf(listOf(new Int32()))(spread.map((value) => [value % 1000, value % 77])),
    });
    if (fragment === 0) await namespace.createTable({ id: ["t"] }, rows);
    else await namespace.insertIntoTable({ id: ["t"] }, rows);
  }
  await namespace.deleteFromTable({ id: ["t"], predicate: "r % 1000 = 7" });
  all = await rowsOf({});
});

it.each([
  "i < 1000",
  "i is null and r % 20 = 0",
  "big < 1000003000",
  "f < 1.0",
  "s < 'name 001'",
  "s like '%077%' and w is not null",
  "s is null and w is null",
  "w = 'word 7' and i % 3 = 0",
  "d = 'kind 2' and r % 50 = 0",
  "st.a < 1000",
  "st is null and r % 10 = 0",
  "array_has(li, 7)",
  "r < 30000 or r % 100 = 0",
  "r between 60000 and 60010 or r > 139990",
  "i < 1000 and f < 0.9 and s > 'name 0005' and w <> 'word 1' and st.a > 3",
])("the filter %s selects rows with the values of a scan", async (filter) => {
  const selected = new Set(
    (
      await namespace
        .table("t")
        .scan({ filter, columns: ["r"] })
        .toArrow()
    ).getChild("r"),
  );
  const expected = all.filter((row) => selected.has(JSON.parse(row).r));
  expect(expected.length).toBeGreaterThan(0);
  expect(await rowsOf({ filter })).toEqual(expected);
  expect(await rowsOf({ filter, offset: 3, limit: 20 })).toEqual(expected.slice(3, 23));
  // What was handed out stays as it is when the memory of its pages is used again.
  const early = await namespace.table("t").scan({ filter, columns }).toArrow();
  await rowsOf({ filter: "i < 3000" });
  expect(early.toArray().map((row) => textOf(row.toJSON()))).toEqual(expected);
});
