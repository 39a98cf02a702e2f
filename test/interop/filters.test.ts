/** Generated filters select the same rows in both engines, or both refuse. Differences have reasons. */

import { tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { NamespaceError } from "tiltyard";
import type { Table } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { openBothEngines } from "../support/bothEngines.js";
import { runsOf, seedOf } from "../support/effort.js";
import { filterTable, filterTexts } from "../support/filterTexts.js";
import { reference } from "../support/reference.js";

const TABLES = 4;
const FILTERS = runsOf("FILTERS", 800);
const ROWS = 150;

const { root, namespace, connection } = await openBothEngines({});

/** A table without rows may have no column. */
const idsOf = (rows: { getChild(name: "id"): Iterable<number> | null }): string =>
  Array.from(rows.getChild("id") ?? []).join();

/** Ids of the rows, or null if the filter is refused. */
async function byUs(table: string, filter: string): Promise<string | null> {
  try {
    const rows = await namespace
      .table(table)
      .scan({ filter, columns: ["id"] })
      .toArrow();
    return idsOf(rows);
  } catch (error) {
    if (error instanceof NamespaceError && [0, 12, 13].includes(error.code)) return null;
    throw new Error(`${filter}: ${error}`, { cause: error });
  }
}

async function byThem(table: Table, filter: string): Promise<string | null> {
  try {
    const rows = await table.query().where(filter).select(["id"]).toArrow();
    return idsOf(rows);
  } catch {
    // The reference has one class of errors.
    return null;
  }
}

async function makeTable(name: string, seed: number, fileVersion: string): Promise<Table> {
  const rows = filterTable(ROWS, seed);
  await reference.createTable(root, name, tableToIPC(rows, "stream"), { dataStorageVersion: fileVersion });
  return connection.openTable(name);
}

/** True if two lists test one column and one holds a null: the reference merges them and forgets the null. */
function hasListsToMerge(filter: string): boolean {
  const lists = [...filter.matchAll(/(\S+) (?:not )?in \(([^)]*)\)/g)];
  const nullable = lists
    .filter(([, , items]) => /\bnull\b/.test(items))
    .map(([, column]) => column.replace(/^\(+/, ""));
  return nullable.some(
    (column) => lists.filter(([, tested]) => tested.replace(/^\(+/, "") === column).length > 1,
  );
}

/** True if an OR has two exclusions of one column: the reference intersects their lists wrongly. */
function hasExclusionsToMerge(filter: string): boolean {
  const excluded = [...filter.matchAll(/(\S+) (not in \(|!=|<>)/g)].map(([, column, how]) => ({
    column: column.replace(/^\(+/, ""),
    isList: how.startsWith("not in"),
  }));
  return excluded.some(
    ({ column, isList }) => isList && excluded.filter((exclusion) => exclusion.column === column).length > 1,
  );
}

it.each(
  Array.from({ length: TABLES }, (_, index) => index),
)("select the same rows of table %i", async (index) => {
  const name = `t${index}`;
  const table = await makeTable(name, index + 1, index % 2 === 0 ? "2.2" : "2.1");
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(filterTexts, async (filter) => {
      fc.pre(!hasListsToMerge(filter) && !hasExclusionsToMerge(filter));
      const ours = await byUs(name, filter);
      expect(ours, filter).toBe(await byThem(table, filter));
      if (ours !== null) answered++;
    }),
    { numRuns: FILTERS, seed: seedOf(7 + index) },
  );
  expect(answered).toBeGreaterThan(FILTERS / 2);
}, 300_000);

describe("differ on purpose", () => {
  /** Which engine answers; `both` with different rows. */
  const KINDS: readonly (readonly [string, "ours" | "theirs" | "both", string])[] = [
    ["i64 > 1.5", "ours", "a number with a fraction beside whole numbers is compared exactly"],
    ["dec > 1.234", "ours", "the same beside decimals"],
    ["i64 in (1.0, 2)", "ours", "the same in lists"],
    ["bo is unknown", "ours", "SQL has it"],
    ["i64 is distinct from 1", "ours", "SQL has it"],
    ["case when i64 > 0 then true else false end", "ours", "SQL has it"],
    ["s like 'x!_y' escape '!'", "ours", "any character escapes"],
    [
      "trim(s) = 'a'",
      "ours",
      "functions that SQL writes in several ways: trim, substr, ceil, floor, position, extract",
    ],
    ["extract(year from ts) = 1970", "ours", "the same"],
    ["lower(mixed) = 'a'", "ours", "names match in any case inside of functions too"],
    ["-u8 = -1", "ours", "unsigned numbers have a sign once it is turned"],
    [
      "bo = (i8 > 0)",
      "ours",
      "literals inside of conditions are not brought to the type of a column outside",
    ],
    ["regexp_match(s, 'a') is null", "both", "theirs is always false"],
    ["i64 = 1; drop table t", "theirs", "what stands behind a semicolon is not passed over"],
    ["i64 = 1 order by 1", "theirs", "nor are other parts of statements"],
    ["i64 = 1)", "theirs", "nor a parenthesis that nothing opens"],
    ["s = 'a' 'b'", "theirs", "two texts in a row are an error"],
    ["d32 + 1 > d32", "theirs", "days are not added to dates"],
    ["digest(s, 'blake3') = x'00'", "theirs", "functions that are not supported"],
    ["-f32 < 0 and f32 > 1000", "both", "NaN has one sign, and is greater than all numbers"],
    [
      "i8 not in (null, 2) and not (i8 not in (0, null))",
      "both",
      "beside a null in its list, no value is known not to be in it",
    ],
    [
      "i8 not in (1, 2) or i8 not in (3)",
      "both",
      "of a null it is not known that it is not in one list or the other; theirs says it is",
    ],
    ["round(f32) = abs(round(f32))", "both", "zeros are equal, whatever their sign"],
  ];

  it.each(KINDS)("%s: %s", async (filter, who) => {
    const name = "kinds";
    const exists = (await connection.tableNames()).includes(name);
    const table = exists ? await connection.openTable(name) : await makeTable(name, 99, "2.2");
    const [ours, theirs] = [await byUs(name, filter), await byThem(table, filter)];
    expect([ours !== null, theirs !== null]).toEqual([who !== "theirs", who !== "ours"]);
    if (who === "both") expect(ours).not.toBe(theirs);
  });
});
