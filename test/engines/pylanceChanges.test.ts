/** Changes of rows and columns by either engine to one table: both engines see the same rows afterwards. */

import { Int64 } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { listOf } from "../support/arrowColumns.js";
import { compareTables } from "../support/compareTables.js";
import { Random } from "../support/generators.js";
import { MAJORS, openPair, type PylancePair } from "./support/pylance.js";
import { NUMBERS, numbersFrom, rowsOf, sortedBy, TEXTS } from "./support/rows.js";

const ROWS = 400;
const COLUMNS = {
  n: NUMBERS,
  s: TEXTS,
  l: [
    listOf(new Int64()),
    (id: number) => (id % 3 === 0 ? null : Array.from({ length: id % 4 }, (_, index) => BigInt(id + index))),
  ],
} as const;
const rowsFrom = (first: number, count = ROWS) => rowsOf(numbersFrom(first, count), COLUMNS);

interface Change {
  here(pair: PylancePair, name: string): Promise<unknown>;
  there(pair: PylancePair, name: string): Promise<unknown>;
}

/** Changes by each engine. The rows are equal, whichever engine makes the change. */
const CHANGES: Readonly<Record<string, Change>> = {
  "appends rows": {
    here: ({ namespace }, name) => namespace.table([name]).insert(rowsFrom(ROWS)),
    there: (pair, name) => pair.there("write", name, rowsFrom(ROWS), { mode: "append" }),
  },
  "overwrites rows": {
    here: ({ namespace }, name) => namespace.table([name]).insert(rowsFrom(50, 90), { mode: "Overwrite" }),
    there: (pair, name) => pair.there("write", name, rowsFrom(50, 90), { mode: "overwrite" }),
  },
  "deletes rows": {
    here: ({ namespace }, name) => namespace.table([name]).delete("id % 3 = 1"),
    there: (pair, name) => pair.there("delete", name, "id % 3 = 1"),
  },
  "deletes all rows": {
    here: ({ namespace }, name) => namespace.table([name]).delete("true"),
    there: (pair, name) => pair.there("delete", name, "true"),
  },
  "updates rows": {
    here: ({ namespace }, name) =>
      namespace.table([name]).update({ where: "id > 300", valuesSql: { n: "n * 2", s: "upper(s)" } }),
    there: (pair, name) => pair.there("update", name, { n: "n * 2", s: "upper(s)" }, "id > 300"),
  },
  "merges rows by key": {
    here: ({ namespace }, name) =>
      namespace
        .table([name])
        .mergeInsert("id", rowsFrom(200, 300), { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true }),
    there: (pair, name) => pair.there("merge", name, "id", rowsFrom(200, 300)),
  },
  "adds a column by SQL": {
    here: ({ namespace }, name) => namespace.table([name]).addColumns({ name: "twice", expression: "n * 2" }),
    there: (pair, name) => pair.there("add_columns", name, { twice: "n * 2" }),
  },
  "adds a column of nulls": {
    here: ({ namespace }, name) =>
      namespace.table([name]).addColumns({ name: "later", dataType: { type: "utf8" } }),
    there: (pair, name) => pair.there("add_null_column", name, "later"),
  },
  "renames a column": {
    here: ({ namespace }, name) => namespace.table([name]).alterColumns({ path: "s", rename: "text" }),
    there: (pair, name) => pair.there("alter_column", name, { path: "s", name: "text" }),
  },
  "drops columns": {
    here: ({ namespace }, name) => namespace.table([name]).dropColumns(["n", "l"]),
    there: (pair, name) => pair.there("drop_columns", name, ["n", "l"]),
  },
  "compacts fragments": {
    here: ({ namespace }, name) => namespace.table([name]).optimize(),
    there: (pair, name) => pair.there("compact", name),
  },
  "restores a version": {
    here: ({ namespace }, name) => namespace.table([name]).restore(1),
    there: (pair, name) => pair.there("restore", name, 1),
  },
};

async function makeTable(pair: PylancePair, by: "here" | "there", stableRowIds: boolean): Promise<string> {
  const name = pair.freshName();
  if (by === "here") await pair.namespace.createTable({ id: [name], stableRowIds }, rowsFrom(0, ROWS / 2));
  else await pair.there("write", name, rowsFrom(0, ROWS / 2), { enable_stable_row_ids: stableRowIds });
  // Two fragments, the second by the other engine, and a few deletions.
  const rest = rowsFrom(ROWS / 2, ROWS / 2);
  if (by === "there") await pair.namespace.table([name]).insert(rest);
  else await pair.there("write", name, rest, { mode: "append" });
  await pair.namespace.table([name]).delete("id % 10 = 9");
  return name;
}

const ORIGINS = (["here", "there"] as const).flatMap((by) => [
  { by, stableRowIds: false },
  { by, stableRowIds: true },
]);
const saying = (by: string, stableRowIds: boolean): string =>
  `of a table ${by === "here" ? "of ours" : "of its own"} with ${stableRowIds ? "stable row ids" : "row addresses"}`;

describe.each(MAJORS)("pylance %i", (major) => {
  const pair = openPair(major);

  describe.each(Object.keys(CHANGES))("%s", (what) => {
    it.each(
      ORIGINS.map((origin) => ({ ...origin, said: saying(origin.by, origin.stableRowIds) })),
    )("$said, as we do", async ({ by, stableRowIds }) => {
      const [ours, theirs] = [
        await makeTable(pair, by, stableRowIds),
        await makeTable(pair, by, stableRowIds),
      ];
      await CHANGES[what].here(pair, ours);
      await CHANGES[what].there(pair, theirs);
      const expected = sortedBy("id", await pair.rowsHere(ours));
      for (const name of [ours, theirs]) {
        const here = await pair.rowsHere(name);
        compareTables(here, await pair.rowsThere(name), { metadata: false });
        compareTables(expected, sortedBy("id", here), { metadata: false });
        await pair.there("validate", name);
      }
      expect(expected.numRows).toBe(await pair.namespace.table([theirs]).countRows());
    });
  });

  it.each([1, 2, 3])("changes a table in turn with us, seed %i", async (seed) => {
    const random = new Random(seed * 100 + major);
    const name = await makeTable(pair, "here", random.below(2) === 0);
    const repeatable = Object.entries(CHANGES).filter(([what]) => !/column|overwrites|all rows/.test(what));
    for (let step = 0; step < 12; step++) {
      const [, change] = repeatable[random.below(repeatable.length)];
      await (random.below(2) === 0 ? change.here(pair, name) : change.there(pair, name));
      compareTables(await pair.rowsHere(name), await pair.rowsThere(name), { metadata: false });
    }
    await pair.there("validate", name);
  });
});
