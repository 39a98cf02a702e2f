/** Columns that SQL expressions compute: the reference reads equal values from its own and from our copy. */

import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Table, tableFromIPC, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { InvalidInputError, NamespaceError, TableColumnNotFoundError, UnsupportedError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { runsOf, seedOf } from "../support/effort.js";
import { filterTable, valueTexts } from "../support/filterTexts.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { reference } from "../support/reference.js";

const EXPRESSIONS = runsOf("COMPUTED_COLUMNS", 150);

const root = sharedDirectory();
const namespace = sharedNamespace({ root });

/** Two equal tables of three fragments; the first has deleted rows. */
async function makeTables(name: string, seed: number, dataStorageVersion: string): Promise<[string, string]> {
  const streams = [0, 1, 2].map((part) => {
    const rows = filterTable(60, seed + part);
    const names = rows.schema.fields.map((field) => field.name);
    // Files of 2.0 hold no null structs.
    const kept = dataStorageVersion === "2.0" ? names.filter((each) => each !== "st") : names;
    return tableToIPC(rows.select(kept), "stream");
  });
  await reference.createTable(root, name, streams[0], { dataStorageVersion });
  await reference.deleteRows(root, name, "id % 7 = 3");
  await reference.appendTable(root, name, streams[1]);
  await reference.appendTable(root, name, streams[2]);
  const theirs = `${name}-theirs`;
  await cp(join(root, `${name}.lance`), join(root, `${theirs}.lance`), { recursive: true });
  return [name, theirs];
}

async function addByUs(table: string, expression: string): Promise<boolean> {
  try {
    await namespace.alterTableAddColumns({ id: [table], newColumns: [{ name: "x", expression }] });
    return true;
  } catch (error) {
    if (error instanceof NamespaceError && [0, 12, 13].includes(error.code)) return false;
    throw new Error(`${expression}: ${error}`, { cause: error });
  }
}

async function addByThem(table: string, expression: string): Promise<boolean> {
  try {
    await reference.addColumns(root, table, { x: expression });
    return true;
  } catch {
    // The reference has one class of errors.
    return false;
  }
}

/** Type and values of a column, without dictionaries and signs of zeros and NaN. */
function shown(rows: Table): string {
  const column = rows.getChild("x");
  const values = Array.from(column ?? [], (value) =>
    JSON.stringify(value, (_, part) =>
      typeof part === "bigint" || Number.isNaN(part) ? String(part) : Object.is(part, -0) ? 0 : part,
    ),
  );
  const type = `${column?.type}`.replace(/^Dictionary<\w+, (\w+)>$/, "$1");
  return `${type}: ${values.join()}`;
}

async function read(table: string): Promise<string> {
  return shown(tableFromIPC(await reference.readTable(root, table, { columns: ["x"] })));
}

describe.each(["2.0", "2.1", "2.2"])("in files of %s", (version) => {
  it("have the same values", async () => {
    const [ours, theirs] = await makeTables(`t${version.replace(".", "-")}`, 11, version);
    let added = 0;
    await fc.assert(
      fc.asyncProperty(valueTexts, async (expression) => {
        const made = [await addByUs(ours, expression), await addByThem(theirs, expression)];
        expect(made, expression).toEqual([made[0], made[0]]);
        if (!made[0]) return;
        added++;
        expect(await read(ours), expression).toBe(await read(theirs));
        const ourRows = await namespace
          .table(ours)
          .scan({ columns: ["x"] })
          .toArrow();
        expect(shown(ourRows), expression).toBe(await read(ours));
        await reference.dropColumns(root, ours, ["x"]);
        await reference.dropColumns(root, theirs, ["x"]);
      }),
      { numRuns: EXPRESSIONS, seed: seedOf(5) },
    );
    expect(added).toBeGreaterThan(EXPRESSIONS / 2);
  });
});

it.each([
  "li",
  "dic",
  "st",
  "vec",
  "make_array(i8, i32)",
  "st.B",
  "coalesce(li, [7])",
  "cast(dec as double)",
])("keep the type of %s", async (expression) => {
  const [ours, theirs] = await makeTables(`k${expression.replace(/\W/g, "")}`, 3, "2.2");
  expect([await addByUs(ours, expression), await addByThem(theirs, expression)]).toEqual([true, true]);
  expect(await read(ours)).toBe(await read(theirs));
});

it("are several at once, beside constants and nulls, and rewrite no other column", async () => {
  const [table] = await makeTables("several", 5, "2.2");
  const files = async () => (await readdir(join(root, `${table}.lance`, "data"))).sort();
  const before = await files();
  await namespace.alterTableAddColumns({
    id: [table],
    newColumns: [
      { name: "a", expression: "i32 + 1" },
      { name: "b", expression: "'x'" },
      { name: "c", dataType: { type: "int32" } },
      { name: "d", expression: "st.a * i8" },
    ],
  });
  const after = await files();
  expect(after.filter((file) => before.includes(file))).toEqual(before);
  expect(after.length).toBe(before.length + 3);
  const rows = tableFromIPC(await reference.readTable(root, table, { columns: ["i32", "a", "b", "c"] }));
  for (const row of rows) {
    expect(row?.a).toBe(row?.i32 === null ? null : (row?.i32 + 1) | 0);
    expect([row?.b, row?.c]).toEqual(["x", null]);
  }
});

it("are computed again where rows come in between, and for live rows only", async () => {
  const [table] = await makeTables("between", 9, "2.1");
  const id = [table];
  await Promise.all([
    namespace.alterTableAddColumns({ id, newColumns: [{ name: "x", expression: "id * 2" }] }),
    reference.deleteRows(root, table, "id = 5"),
    namespace.insertIntoTable({ id }, filterTable(10, 77)),
  ]);
  const rows = tableFromIPC(await reference.readTable(root, table, { columns: ["id", "x"] }));
  for (const row of rows) expect([null, row?.id * 2]).toContain(row?.x);
  await reference.deleteRows(root, table, "i32 = 0");
  await namespace.alterTableAddColumns({ id, newColumns: [{ name: "y", expression: "10 / i32" }] });
});

it("are refused where they can't be, and change nothing", async () => {
  const [table] = await makeTables("refused", 2, "2.2");
  const { version } = await namespace.describeTable({ id: [table] });
  for (const [expression, error] of [
    ["missing + 1", TableColumnNotFoundError],
    ["id +", InvalidInputError],
    ["10 / i32", InvalidInputError],
    ["no_such_function(id)", UnsupportedError],
  ] as const) {
    const adding = namespace.alterTableAddColumns({ id: [table], newColumns: [{ name: "x", expression }] });
    await expect(adding, expression).rejects.toThrow(error);
  }
  expect((await namespace.describeTable({ id: [table] })).version).toBe(version);
});
