/** Equal deletes and updates of equal tables leave equal rows, order, row ids and versions. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { NamespaceError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { fieldOf, float64s, int8s, int32s, listOf, utf8s } from "../support/arrowColumns.js";
import { runsOf } from "../support/effort.js";
import { filterTable, filterTexts } from "../support/filterTexts.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { compareTables, reference } from "../support/reference.js";

const root = sharedDirectory();
const ns = sharedNamespace({ root });

type Statement =
  | { readonly kind: "delete"; readonly predicate: string }
  | {
      readonly kind: "update";
      readonly set: Readonly<Record<string, string>>;
      readonly where: string | undefined;
    };

/** Null if refused, and then nothing changes. */
type Outcome = number | null;

async function byUs(name: string, statement: Statement): Promise<Outcome> {
  try {
    if (statement.kind === "delete") return (await ns.table(name).delete(statement.predicate)).version;
    const { where, set } = statement;
    return (await ns.table(name).update({ where, valuesSql: set })).version;
  } catch (error) {
    if (error instanceof NamespaceError && [0, 12, 13, 20].includes(error.code)) return null;
    throw new Error(`${JSON.stringify(statement)}: ${error}`, { cause: error });
  }
}

async function byThem(name: string, statement: Statement): Promise<Outcome> {
  try {
    if (statement.kind === "delete") {
      return (await reference.deleteRows(root, name, statement.predicate)).version;
    }
    return (await reference.updateRows(root, name, statement.set, statement.where)).version;
  } catch {
    // The reference has one class of errors.
    return null;
  }
}

/** New values of a column; it cannot hold some of them. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  i8: ["i32 % 100", "NULL", "'12'", "u8", "-1"],
  i32: ["id * 2", "i32 % 7", "abs(i8)", "7", "NULL", "length(s)", "f32"],
  i64: ["id", "i32", "i8 * id", "9007199254740993", "NULL"],
  u8: ["id % 7", "NULL", "200", "300"],
  u64: ["id", "18446744073709551615", "u8", "-1"],
  f32: ["f64", "f64 / 3.0", "NULL", "0.1", "i32"],
  f64: ["f32", "f64 * 2", "id", "i64", "-0.0"],
  bo: ["id > 10", "bo AND i8 > 0", "NULL", "true", "s = 'a'"],
  s: ["lower(s)", "s || 'x'", "id", "bo", "dic", "'it''s'", "NULL", "concat(s, '-', id)"],
  Mixed: ["s", "upper(s)", "i64"],
  dic: ["'z'", "s", "NULL", "lower(dic)"],
  d32: ["date '2020-02-29'", "ts", "NULL", "'1999-12-31'"],
  ts: ["d32", "timestamp '2020-01-01T01:02:03'", "NULL", "'2021-05-06T07:08:09'"],
  tz: ["ts", "NULL", "tz"],
  dec: ["id", "1.234", "dec * 2", "NULL", "'3.5'"],
  li: ["NULL", "li", "make_array(1, 2)", "make_array(i64, id)"],
  lt: ["NULL", "make_array('a', s)", "lt"],
  vec: ["NULL", "[1.5, 2]", "vec", "[1, 2]"],
  st: ["NULL", "st"],
};

const where = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(60), fc.nat(20)).map(([low, count]) => `id >= ${low} AND id < ${low + count}`),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("i8 > 0", "s = 'a'", "bo", "st.a < 0", "id % 5 = 3", "dic IS NULL", "false"),
  },
  { weight: 2, arbitrary: filterTexts },
);

const assignment = fc
  .constantFrom(...Object.keys(VALUES))
  .chain((column) => fc.tuple(fc.constant(column), fc.constantFrom(...VALUES[column])));

/** False if an assignment reads an assigned column: the reference's order of assignments is random. */
const isClear = (set: readonly (readonly [string, string])[]): boolean =>
  set.every(([column, text]) =>
    set.every(([assigned]) => assigned === column || !new RegExp(`\\b${assigned}\\b`).test(text)),
  );

const statement: fc.Arbitrary<Statement> = fc.oneof(
  {
    weight: 1,
    arbitrary: where.map(
      (predicate): Statement => ({ kind: "delete", predicate: `(${predicate}) AND id % 3 = 0` }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.array(assignment, { minLength: 1, maxLength: 3 }).filter(isClear),
        fc.option(where, { nil: undefined, freq: 8 }),
      )
      .map(([set, where]): Statement => ({ kind: "update", set: Object.fromEntries(set), where })),
  },
);

const HIDDEN = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"];

/** The reference's rows: all columns, and with stable row ids also its id and version columns. */
async function rowsOf(name: string, rows: arrow.Table, stable: boolean): Promise<Uint8Array> {
  const columns = rows.schema.fields.map((field) => field.name);
  return reference.readTable(root, name, { columns: stable ? [...columns, ...HIDDEN] : columns });
}

describe("differ on purpose", () => {
  const cases: Record<string, { set: Record<string, string>; theirs: unknown; ours: unknown }> = {
    // As in SQL, our assignments see the values before the update. The reference's order is random.
    "assignments that see each other": {
      set: { i32: "7", s: "i32" },
      theirs: expect.stringMatching(/[17]/),
      ours: "1",
    },
    "a part of a text": { set: { s: "substr('abc', id, 1)" }, theirs: "refused", ours: "a" },
    "arithmetic of a fraction": { set: { f64: "id * 0.5" }, theirs: "refused", ours: 0.5 },
    "a list of columns": { set: { li: "[3, id]" }, theirs: "refused", ours: [3n, 1n] },
    // Null must not become a value unnoticed.
    "a vector of another length": { set: { vec: "[1]" }, theirs: null, ours: "refused" },
  };
  it.each(Object.entries(cases))("%s", async (name, { set, theirs, ours }) => {
    const base = arrow.tableFromArrays({ id: Int32Array.of(1) });
    const rows = base.assign(
      new arrow.Table({
        i8: int8s([127]),
        i32: int32s([1]),
        f64: float64s([0]),
        s: utf8s([""]),
        li: arrow.vectorFromArray([[1n]], listOf(new arrow.Int64())),
        vec: arrow.vectorFromArray(
          [[1, 2]],
          new arrow.FixedSizeList(2, fieldOf("item", new arrow.Float32())),
        ),
      }),
    );
    const column = Object.keys(set).at(-1) as string;
    for (const [who, by, expected] of [
      ["theirs", byThem, theirs],
      ["ours", byUs, ours],
    ] as const) {
      const table = `${who}_${name.replaceAll(" ", "_")}`;
      await reference.createTable(root, table, arrow.tableToIPC(rows, "stream"));
      const version = await by(table, { kind: "update", set, where: undefined });
      if (version === null) expect("refused", who).toBe(expected);
      else {
        const value = arrow
          .tableFromIPC(await reference.readTable(root, table))
          .getChild(column)
          ?.get(0);
        expect(value?.toArray === undefined ? value : Array.from(value), who).toEqual(expected);
      }
    }
  });
});

describe.each([false, true])("with stable row ids: %s", (stableRowIds) => {
  it.each(["2.2", "2.1", "2.0"])("leave the same rows in files of %s", async (dataStorageVersion) => {
    // Files of 2.0 hold no null structs.
    const isOld = dataStorageVersion === "2.0";
    const withoutStructs = (rows: arrow.Table) =>
      isOld ? rows.select(rows.schema.names.filter((name) => name !== "st")) : rows;
    const first = withoutStructs(filterTable(60, 3));
    const more = withoutStructs(filterTable(40, 4));
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(statement, { minLength: 3, maxLength: 7 }), async (statements) => {
        const names = ["ours", "theirs", "both"].map(
          (who) => `${who}_${stableRowIds}_${dataStorageVersion.replace(".", "")}_${run}`,
        );
        run++;
        for (const name of names) {
          await reference.createTable(root, name, arrow.tableToIPC(first, "stream"), {
            dataStorageVersion,
            stableRowIds,
          });
          await reference.appendTable(root, name, arrow.tableToIPC(more, "stream"));
        }
        const [ours, theirs, both] = names;
        for (const [index, each] of statements.entries()) {
          const said = JSON.stringify(statements.slice(0, index + 1));
          const expected = await byThem(theirs, each);
          expect(await byUs(ours, each), said).toBe(expected);
          expect(await (index % 2 === 0 ? byUs : byThem)(both, each), said).toBe(expected);
        }
        const expected = await rowsOf(theirs, first, stableRowIds);
        for (const name of [ours, both]) {
          compareTables(expected, await rowsOf(name, first, stableRowIds));
          compareTables(await reference.readTable(root, theirs), await ns.table(name).scan().toArrow());
        }
      }),
      { numRuns: runsOf("ROW_CHANGE_RUNS", 16), seed: 11 },
    );
  }, 300_000);
});

describe("updates of structs and lists", () => {
  const memberFields = [fieldOf("b", new arrow.Int32()), fieldOf("c", new arrow.Utf8())];
  const rows = new arrow.Table({
    id: int32s([1, 2, 3]),
    a: arrow.vectorFromArray([{ b: 1, c: "x" }, null, { b: 3, c: null }], new arrow.Struct(memberFields)),
    l: arrow.vectorFromArray([[1], [2, 3], null], listOf(new arrow.Int32())),
  });

  it.each<Readonly<Record<string, string>>>([
    { a: "named_struct('b', id + 4, 'c', 'n')" },
    { a: "named_struct('b', a.b, 'c', upper(a.c))" },
    { a: "named_struct('b', 1, 'c', null)" },
    { a: "null" },
    { a: "a", id: "a.b" },
    { l: "array_slice(l, 1, 1)" },
    { l: "range(id)" },
    { l: "array_repeat(id, 2)" },
    // Both refuse a part of a column, and unquoted member paths.
    { "a.b": "7" },
    { "`a`.`b`": "7" },
    { a: "struct(5, 'n')" },
    { a: "5" },
  ])("%j", async (set) => {
    const names = ["ours", "theirs"].map(
      (side) => `${side}${JSON.stringify(set).length}${Object.values(set)[0].length}`,
    );
    const statement: Statement = { kind: "update", set, where: "id < 3" };
    for (const name of names) {
      await reference.createTable(root, name, arrow.tableToIPC(rows, "stream"), { mode: "overwrite" });
    }
    const made = [await byUs(names[0], statement), await byThem(names[1], statement)];
    expect(made[0]).toBe(made[1]);
    const [ours, theirs] = await Promise.all(names.map((name) => reference.readTable(root, name)));
    compareTables(arrow.tableFromIPC(ours), arrow.tableFromIPC(theirs));
    const read = await ns.table(names[0]).scan().toArrow();
    expect(JSON.stringify(read.toArray())).toBe(JSON.stringify(arrow.tableFromIPC(theirs).toArray()));
  });
});
