/** Pages with so many rows that they are decoded by windows: answers equal those of a full scan. */

import { Int32, LargeUtf8, List, Struct, Table, Utf8, vectorFromArray } from "apache-arrow";
import type { QueryTableRequest } from "tiltyard";
import { beforeAll, describe, expect, it } from "vitest";
import { columnsOf, fieldOf, int32s, int64s, utf8s } from "../../support/arrowColumns.js";
import { sharedNamespace } from "../../support/fixtures.js";

const id = ["t"];
const ROWS = 70_000;
const MORE_ROWS = 3000;

interface Row {
  readonly n: number;
  readonly s: string | null;
  readonly l: string | null;
  /** One of a few words. */
  readonly w: string | null;
  /** One of a few numbers that take many bits. */
  readonly b: bigint;
  /** One text in all rows that are not null. */
  readonly c: string | null;
  readonly k: number;
}

const WORDS = ["red", "green", "blue", "17", "a word that is much longer than all the others are"];

const rowOf = (row: number): Row => {
  const n = (Math.imul(row + 1, 2654435761) >>> 0) % 100_000;
  const s = row % 11 === 3 ? null : `name ${String(n).padStart(6, "0")} of row`;
  return {
    n,
    s,
    l: row % 7 === 2 ? null : `${"xyz".repeat(n % 5)}é${n % 1000}`,
    w: row % 13 === 5 ? null : WORDS[n % WORDS.length],
    b: BigInt(n % 6) * 1_234_567_890_123n,
    c: row % 17 === 4 ? null : "always the same",
    k: 7,
  };
};
const rows = Array.from({ length: ROWS + MORE_ROWS }, (_, row) => rowOf(row)).filter(
  ({ n }) => n % 1000 !== 9,
);

function tableOf(first: number, count: number): Table {
  const batchRows = Array.from({ length: count }, (_, row) => rowOf(first + row));
  return new Table({
    n: int32s(batchRows.map(({ n }) => n)),
    s: utf8s(batchRows.map(({ s }) => s)),
    l: columnsOf(new LargeUtf8())(batchRows.map(({ l }) => l)),
    w: utf8s(batchRows.map(({ w }) => w)),
    b: int64s(batchRows.map(({ b }) => b)),
    c: utf8s(batchRows.map(({ c }) => c)),
    k: int32s(batchRows.map(({ k }) => k)),
    st: vectorFromArray(batchRows.map(structOf), MEMBERS),
    li: vectorFromArray(batchRows.map(listOf), NUMBERS),
    ln: vectorFromArray(batchRows.map(sparseListOf), NUMBERS),
  });
}

/** Types of columns that only conditions use. */
const MEMBERS = new Struct([fieldOf("a", new Int32()), fieldOf("w", new Utf8())]);
const NUMBERS = new List(fieldOf("item", new Int32()));
const structOf = ({ n, w }: Row) => (n % 19 === 6 ? null : { a: n, w });
const listOf = ({ n }: Row) => [n % 1000, n % 77];
const sparseListOf = ({ n }: Row) => (n % 5 === 0 ? null : n % 5 === 1 ? [] : [n % 100, null, n % 7]);

const COLUMNS = ["n", "s", "l", "w", "b", "c", "k"];
const ns = sharedNamespace();
beforeAll(async () => {
  await ns.createTable({ id }, tableOf(0, ROWS));
  await ns.insertIntoTable({ id }, tableOf(ROWS, MORE_ROWS));
  await ns.deleteFromTable({ id, predicate: "n % 1000 = 9" });
}, 60_000);

async function ask(request: Partial<QueryTableRequest>): Promise<Row[]> {
  const answer = await ns.queryTable({ id, columns: COLUMNS, ...request });
  return (await answer.toArrow()).toArray().map((row) => ({ ...row.toJSON() }));
}

const CONDITIONS: Readonly<Record<string, (row: Row) => boolean>> = {
  "s like '%0077%'": ({ s }) => s?.includes("0077") === true,
  "s not like '%0077%'": ({ s }) => s !== null && !s.includes("0077"),
  "s like 'name 01%'": ({ s }) => s?.startsWith("name 01") === true,
  "s like '%7 of row'": ({ s }) => s?.endsWith("7 of row") === true,
  "s like 'name 0%3 of row'": ({ s }) => s !== null && /^name 0.*3 of row$/.test(s),
  "s = 'name 077777 of row'": ({ s }) => s === "name 077777 of row",
  "contains(s, '00770') or starts_with(s, 'name 0999') or ends_with(l, 'é1')": ({ s, l }) =>
    s?.includes("00770") || s?.startsWith("name 0999") || l?.endsWith("é1") || false,
  "s < 'name 001'": ({ s }) => s !== null && s < "name 001",
  "s >= 'name 099950 of row'": ({ s }) => s !== null && s >= "name 099950 of row",
  "s != 'name 000001 of row'": ({ s }) => s !== null && s !== "name 000001 of row",
  "l like '%é77'": ({ l }) => l?.endsWith("é77") === true,
  "l = 'xyzxyzxyzxyzé99'": ({ l }) => l === "xyzxyzxyzxyzé99",
  "s < 'name 02' and l > 'xyzxyz' and n > 500": ({ s, l, n }) =>
    s !== null && s < "name 02" && l !== null && l > "xyzxyz" && n > 500,
  "w = 'red'": ({ w }) => w === "red",
  "w != 'red' and w like '%e%'": ({ w }) => w !== null && w !== "red" && w.includes("e"),
  "w in ('blue', '17') and n < 30000": ({ w, n }) => (w === "blue" || w === "17") && n < 30_000,
  "w is null and k = 7": ({ w }) => w === null,
  "length(w) > 4 and s < 'name 03'": ({ w, s }) => w !== null && w.length > 4 && s !== null && s < "name 03",
  "case when w = '17' then cast(w as int) else 0 end = 17": ({ w }) => w === "17",
  "w < s": ({ w, s }) => w !== null && s !== null && w < s,
  "b = 3703703670369 or b > 5000000000000": ({ b }) => b === 3703703670369n || b > 5_000_000_000_000n,
  "c = 'always the same' and n < 100": ({ c, n }) => c !== null && n < 100,
  "c != 'always the same'": () => false,
  "c is null and w = 'green'": ({ c, w }) => c === null && w === "green",
  "k = 8 or n = 5": ({ n }) => n === 5,
  "s is null and n < 5000": ({ s, n }) => s === null && n < 5000,
  "n in (5, 77, 1234, 99998, 200000)": ({ n }) => [5, 77, 1234, 99_998].includes(n),
  "n not in (5, 77) and n < 300": ({ n }) => n < 300 && n !== 5 && n !== 77,
  "st.a < 1000": (row) => (structOf(row)?.a ?? 1000) < 1000,
  "st.w = 'red' and st.a > 500": (row) => structOf(row)?.w === "red" && row.n > 500,
  "st.w is null and n < 3000": (row) => (structOf(row)?.w ?? null) === null && row.n < 3000,
  "array_has(li, 7)": (row) => listOf(row).includes(7),
  "array_has_any(li, [3, 900]) and st.a > 50000": (row) =>
    (listOf(row).includes(3) || listOf(row).includes(900)) && (structOf(row)?.a ?? 0) > 50_000,
  "li[2] = 76": ({ n }) => n % 77 === 76,
  "array_has(ln, 3)": (row) => sparseListOf(row)?.includes(3) === true,
  "array_length(ln) = 0 and n < 5000": ({ n }) => n % 5 === 1 && n < 5000,
};

describe.each(Object.entries(CONDITIONS))("the filter %s", (filter, fits) => {
  const wanted = rows.filter(fits);

  it("counts the rows that fit", async () => {
    expect(await ns.countTableRows({ id, predicate: filter })).toBe(wanted.length);
  });

  it("selects the rows that fit", async () => {
    expect(await ask({ filter, limit: 2000 })).toEqual(wanted.slice(0, 2000));
    const offset = Math.max(0, wanted.length - 20);
    expect(await ask({ filter, offset })).toEqual(wanted.slice(offset));
    expect(await ask({ filter, limit: 5, offset: 3 })).toEqual(wanted.slice(3, 8));
  });
});

/** Orders values as a sort does; text by bytes, which for these texts is the order of code points. */
function compareBy(key: keyof Row, ascending: boolean, nullsFirst: boolean) {
  return (one: Row, next: Row): number => {
    const [a, b] = [one[key], next[key]];
    if (a === b) return 0;
    if (a === null) return nullsFirst ? -1 : 1;
    if (b === null) return nullsFirst ? 1 : -1;
    return a < b === ascending ? -1 : 1;
  };
}

const ORDERS = [
  ["n", true, false],
  ["n", false, true],
  ["s", true, false],
  ["s", true, true],
  ["s", false, false],
  ["l", false, false],
  ["l", true, true],
  ["w", true, true],
  ["c", false, false],
] as const;

describe.each(ORDERS)("the first rows by %s (ascending: %s, nulls first: %s)", (...first) => {
  const [columnName, ascending, nullsFirst] = first;
  const key = { columnName, ascending, nullsFirst };
  const compare = compareBy(...first);
  const filter = "n % 3 = 1 and s is not null";
  const offset = 2;

  it.each([
    [10, undefined],
    [6000, undefined],
    [20, filter],
  ])("are answer: %i of those where %s", async (limit, condition) => {
    const answer = await ask({ orderBy: [key], limit, offset, filter: condition });
    const all = condition === undefined ? rows : rows.filter(({ n, s }) => n % 3 === 1 && s !== null);
    // Rows with the same key may come in any order.
    const wanted = all.toSorted(compare).slice(offset, offset + limit);
    expect(answer.map((row) => row[columnName])).toEqual(wanted.map((row) => row[columnName]));
  });

  it("are found by a second key if the first is equal", async () => {
    const second = columnName === "n" ? "s" : "n";
    const orderBy = [key, { columnName: second, ascending: false, nullsFirst: false }];
    const then = compareBy(second, false, false);
    const wanted = rows.toSorted((one, next) => compare(one, next) || then(one, next)).slice(0, 700);
    const answer = await ask({ orderBy, limit: 700 });
    const keys = (all: readonly Row[]) => all.map((row) => [row[columnName], row[second]]);
    expect(keys(answer)).toEqual(keys(wanted));
  });
});
